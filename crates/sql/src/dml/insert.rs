//! INSERT.

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::sql::sqlparser::ast::{
    Expr, Insert, OnInsert, SelectItem, SetExpr, TableObject, UnaryOperator, Value as AstValue,
};
use onlap::{Batch, Row, Value, convert};

use super::conflict::{self, Conflict};
use super::returning::{self, Written};
use super::target::Target;
use super::{Described, ask};
use crate::assign::assign;
use crate::catalog::names::{fold, parts};
use crate::ddl::defaults;
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Overriding, literal_text};
use crate::plan::{Batches, Known};
use crate::rights::ask::sequences;
use crate::rights::{Action, Need};
use crate::session::answer::Answer;
use crate::session::missing_parameter;
use crate::session::values::fields_of;
use crate::session::{Parameter, Session};
use crate::types::{Cell, PgType, value_of_array};
use crate::view::View;

fn target(view: &View, insert: &Insert) -> Result<Target> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(SqlError::unsupported(insert));
    };
    let (found, table) = view.table(&parts(name)?)?;
    let alias = insert.table_alias.as_ref().map_or(found.name.clone(), |a| fold(&a.alias));
    Ok(Target { name: found, schema: table.schema(), table, alias })
}

/// Positions of the columns that are given.
fn columns(target: &Target, insert: &Insert) -> Result<Vec<usize>> {
    if insert.columns.is_empty() {
        return Ok((0..target.schema.columns.len()).collect());
    }
    let position = |name: &datafusion::sql::sqlparser::ast::ObjectName| {
        let name = parts(name)?.pop().unwrap_or_default();
        target.schema.position_by_name(&name).ok_or_else(|| {
            let table = &target.name.name;
            let text = format!("column \"{name}\" of relation \"{table}\" does not exist");
            SqlError::new(state::NO_COLUMN, text)
        })
    };
    insert.columns.iter().map(position).collect()
}

/// What writing the rows needs: to insert the columns that are given, and the sequences of others.
fn needs(view: &View, target: &Target, insert: &Insert) -> Result<Vec<Need>> {
    let mut columns = columns(target, insert)?;
    if let Some(rows) = value_rows(insert) {
        let width = rows.iter().map(|row| row.content.len()).max();
        columns.truncate(width.unwrap_or_default());
    } else if let Some(query) = &insert.source {
        columns.truncate(width_of(&query.body).unwrap_or(columns.len()));
    } else {
        columns.clear();
    }
    let sequences = sequences(view, &target.schema, &columns)?;
    let mut needs = vec![target.need(Action::Insert, columns)];
    needs.extend(sequences);
    Ok(needs)
}

/// How many columns a query gives, where it names each of them.
fn width_of(query: &SetExpr) -> Option<usize> {
    match query {
        SetExpr::Select(select) => {
            let named = |item: &SelectItem| {
                matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
            };
            select.projection.iter().all(named).then_some(select.projection.len())
        }
        SetExpr::SetOperation { left, .. } => width_of(left),
        SetExpr::Query(query) => width_of(&query.body),
        _ => None,
    }
}

/// All that the statement needs, to write and to return what it returns; its query aside.
pub fn needs_of(view: &View, insert: &Insert) -> Result<Vec<Need>> {
    let target = target(view, insert)?;
    let mut needs = needs(view, &target, insert)?;
    needs.extend(returning::needs(&target, insert.returning.as_deref())?);
    Ok(needs)
}

/// The rows of VALUES, if that is what is inserted.
fn value_rows(insert: &Insert) -> Option<&Vec<datafusion::sql::sqlparser::ast::Parens<Vec<Expr>>>> {
    let query = insert.source.as_ref()?;
    match &*query.body {
        SetExpr::Values(values) if query.order_by.is_none() && query.limit_clause.is_none() => {
            Some(&values.rows)
        }
        _ => None,
    }
}

/// What is known before it runs.
pub fn describe(
    session: &Session,
    view: &View,
    insert: &Insert,
    given: &[Option<PgType>],
) -> Result<Described> {
    let target = target(view, insert)?;
    let columns = columns(&target, insert)?;
    let mut types = given.to_vec();
    let mut note = |expr: &Expr, ty: PgType| {
        if let Some(n) = placeholder(expr) {
            if types.len() < n {
                types.resize(n, None);
            }
            types[n - 1].get_or_insert(ty);
        }
    };
    match value_rows(insert) {
        Some(rows) => {
            for row in rows {
                for (expr, &at) in row.content.iter().zip(&columns) {
                    note(expr, PgType::of_engine(target.schema.columns[at].ty));
                }
            }
        }
        None => {
            if let Some(query) = &insert.source {
                let statement = parse::one(&query.to_string())?;
                let planner = &session.instance.planner;
                let query = planner.plan(view, statement, fields_of(given), &Known::default())?;
                types = super::delete::parameters(&query, given.len())?;
            }
        }
    }
    if let Some(OnInsert::OnConflict(clause)) = &insert.on {
        types = conflict::parameters(session, view, &target, clause, &types)?;
    }
    let columns = returning::describe(session, view, &target, insert.returning.as_deref())?;
    Ok((types, columns))
}

/// The number of a bare parameter.
pub fn placeholder(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(v) => match &v.value {
            AstValue::Placeholder(text) => text.strip_prefix('$')?.parse().ok().filter(|n| *n > 0),
            _ => None,
        },
        _ => None,
    }
}

/// The rows that a statement brings, whole.
fn rows_of(
    session: &Session,
    view: &View,
    target: &Target,
    insert: &Insert,
    overriding: Option<Overriding>,
    values: &[Parameter],
) -> Result<Vec<Row>> {
    let columns = columns(target, insert)?;
    let given = match (value_rows(insert), &insert.source) {
        (Some(rows), _) => of_values(session, view, target, &columns, rows, values)?,
        (None, Some(query)) => of_query(session, view, target, &columns, query, values)?,
        (None, None) => vec![vec![None; 0]],
    };
    completed(session, view, target, &columns, overriding, given)
}

/// Rows that were given in part, whole.
fn completed(
    session: &Session,
    view: &View,
    target: &Target,
    columns: &[usize],
    overriding: Option<Overriding>,
    mut given: Vec<Given>,
) -> Result<Vec<Row>> {
    for (i, at) in columns.iter().enumerate() {
        let column = &target.schema.columns[*at];
        let Some(always) = defaults::identity(view, target.schema.id, column.id) else { continue };
        let mut slots = given.iter_mut().filter_map(|row| row.get_mut(i));
        match overriding {
            Some(Overriding::System) => {}
            Some(Overriding::User) => slots.for_each(|value| *value = None),
            None if always && slots.any(|value| value.is_some()) => {
                return Err(generated_always(&column.name));
            }
            None => {}
        }
    }
    let given = given.into_iter().map(|row| in_order(target, columns, row)).collect();
    defaults::complete(session, view, &target.table, given)
}

/// UPSERT INTO: rows replace those with their primary key, which nobody looks at.
pub fn upsert(
    session: &mut Session,
    view: &View,
    insert: &Insert,
    values: &[Parameter],
) -> Result<Answer> {
    if insert.on.is_some() || insert.returning.is_some() {
        return Err(SqlError::unsupported("ON CONFLICT or RETURNING with UPSERT INTO")
            .hint("It reads nothing, so it does not know what it replaced; use INSERT."));
    }
    let target = target(view, insert)?;
    let mut needs = needs(view, &target, insert)?;
    needs.push(target.need(Action::Delete, []));
    view.must(&needs)?;
    let rows = rows_of(session, view, &target, insert, None, values)?;
    view.scope.tx()?.upsert_batch(&target.table, batch_of(&target, &rows)?)?;
    Ok(Answer::Done(format!("INSERT 0 {}", rows.len())))
}

/// INSERT.
pub fn run(
    session: &mut Session,
    view: &View,
    insert: &Insert,
    overriding: Option<Overriding>,
    values: &[Parameter],
) -> Result<Answer> {
    let target = target(view, insert)?;
    let mut needs = needs(view, &target, insert)?;
    needs.extend(returning::needs(&target, insert.returning.as_deref())?);
    view.must(&needs)?;
    if insert.on.is_none()
        && insert.returning.is_none()
        && value_rows(insert).is_none()
        && let Some(query) = &insert.source
    {
        let text = query.to_string();
        let n = stream(session, view, &target, insert, overriding, (&text, values))?;
        return Ok(Answer::Done(format!("INSERT 0 {n}")));
    }
    let mut rows = rows_of(session, view, &target, insert, overriding, values)?;
    if let Some(OnInsert::OnConflict(clause)) = &insert.on {
        let mut conflict = Conflict::new(session, view, &target, values, clause)?;
        let mut kept = Vec::with_capacity(rows.len());
        for row in rows {
            kept.extend(conflict.put(row)?);
        }
        rows = kept;
    } else {
        write(view, &target, &rows)?;
    }
    let n = rows.len() as u64;
    let written = Written { tag: "INSERT 0", n, rows };
    returning::answer(session, view, &target, insert.returning.as_deref(), written, values)
}

/// Inserts the rows of a query as they come, and says how many.
fn stream(
    session: &Session,
    view: &View,
    target: &Target,
    insert: &Insert,
    overriding: Option<Overriding>,
    (query, values): (&str, &[Parameter]),
) -> Result<u64> {
    let columns = columns(target, insert)?;
    let (given, batches) = ask::begin(session, view, query, values, &Known::default())?;
    if given.len() > columns.len() {
        return Err(too_many());
    }
    pour(session, view, target, &columns, overriding, batches)
}

/// Inserts the rows of a query into all columns of a table, and says how many.
///
/// # Errors
/// Those of the query; values that do not fit.
pub fn fill(session: &Session, view: &View, target: &Target, batches: Batches) -> Result<u64> {
    let columns: Vec<usize> = (0..target.schema.columns.len()).collect();
    pour(session, view, target, &columns, None, batches)
}

/// The query sees none of its rows: it sees what was there when the statement began.
fn pour(
    session: &Session,
    view: &View,
    target: &Target,
    columns: &[usize],
    overriding: Option<Overriding>,
    mut batches: Batches,
) -> Result<u64> {
    let mut n = 0;
    while let Some(batch) = batches.next()? {
        let given = of_batch(target, columns, &batch)?;
        let rows = completed(session, view, target, columns, overriding, given)?;
        write(view, target, &rows)?;
        n += rows.len() as u64;
    }
    Ok(n)
}

/// From so many rows on they go to the engine in column form.
const MANY: usize = 4;

fn write(view: &View, target: &Target, rows: &[Row]) -> Result<()> {
    let mut tx = view.scope.tx()?;
    if rows.len() < MANY {
        return Ok(rows.iter().try_for_each(|row| tx.insert(&target.table, row))?);
    }
    Ok(tx.insert_batch(&target.table, batch_of(target, rows)?)?)
}

fn batch_of(target: &Target, rows: &[Row]) -> Result<Batch> {
    let columns = &target.schema.columns;
    let mut batch = Batch::new(columns.iter().map(|c| c.ty.physical()));
    for (i, column) in columns.iter().enumerate() {
        let out = &mut batch.columns[i];
        for row in rows {
            convert::push_value(column.ty, &row[i], out, &column.name)?;
        }
    }
    batch.rows = rows.len();
    Ok(batch)
}

/// A row's values in the order given; `None` for DEFAULT.
type Given = Vec<Option<Value>>;

/// In the order of the table's columns.
fn in_order(target: &Target, columns: &[usize], given: Given) -> Given {
    let mut row: Given = vec![None; target.schema.columns.len()];
    for (at, value) in columns.iter().zip(given) {
        row[*at] = value;
    }
    row
}

fn generated_always(column: &str) -> SqlError {
    let text = format!("cannot insert a non-DEFAULT value into column \"{column}\"");
    let detail = format!("Column \"{column}\" is an identity column defined as GENERATED ALWAYS.");
    let hint = "Use OVERRIDING SYSTEM VALUE to override.";
    SqlError::new("428C9", text).detail(detail).hint(hint)
}

fn of_values(
    session: &Session,
    view: &View,
    target: &Target,
    columns: &[usize],
    rows: &[datafusion::sql::sqlparser::ast::Parens<Vec<Expr>>],
    values: &[Parameter],
) -> Result<Vec<Given>> {
    let mut given = Vec::with_capacity(rows.len());
    // Expressions that are more than a value are computed together, in one query.
    let mut computed: Vec<(usize, usize, &Expr)> = Vec::new();
    for (r, row) in rows.iter().enumerate() {
        if row.content.len() > columns.len() {
            return Err(too_many());
        }
        let mut out: Given = Vec::with_capacity(row.content.len());
        for (c, expr) in row.content.iter().enumerate() {
            let ty = target.schema.columns[columns[c]].ty;
            out.push(match simple(expr, ty, values)? {
                Simple::Value(value) => Some(value),
                Simple::Default => None,
                Simple::Computed => {
                    computed.push((r, c, expr));
                    None
                }
            });
        }
        given.push(out);
    }
    if !computed.is_empty() {
        let items: Vec<String> = computed.iter().map(|(_, _, e)| e.to_string()).collect();
        let text = format!("SELECT {}", items.join(", "));
        let batches = ask::rows(session, view, &text, values, &Known::default())?;
        let batch = batches.first().ok_or_else(|| SqlError::new(state::INTERNAL, "no row"))?;
        for (i, (r, c, _)) in computed.into_iter().enumerate() {
            let ty = target.schema.columns[columns[c]].ty;
            given[r][c] = Some(value_of_array(batch.column(i), 0, ty)?);
        }
    }
    Ok(given)
}

enum Simple {
    Value(Value),
    Default,
    Computed,
}

/// A literal or parameter as a value of a column.
fn simple(expr: &Expr, ty: onlap::DataType, values: &[Parameter]) -> Result<Simple> {
    if let Some(n) = placeholder(expr) {
        let parameter = values.get(n - 1).ok_or_else(|| missing_parameter(n))?;
        return Ok(Simple::Value(assign(Cell::of_value(&parameter.value), ty)?));
    }
    match expr {
        Expr::Value(v) => match &v.value {
            AstValue::Null => Ok(Simple::Value(Value::Null)),
            AstValue::Boolean(b) => Ok(Simple::Value(assign(Cell::Bool(*b), ty)?)),
            other => match literal_text(other) {
                Some(text) => Ok(Simple::Value(assign_literal(other, &text, ty)?)),
                None => Ok(Simple::Computed),
            },
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(v) => match (&v.value, literal_text(&v.value)) {
                (AstValue::Number(..), Some(text)) => {
                    let text = format!("-{text}");
                    Ok(Simple::Value(assign_literal(&v.value, &text, ty)?))
                }
                _ => Ok(Simple::Computed),
            },
            _ => Ok(Simple::Computed),
        },
        Expr::Identifier(ident) if ident.quote_style.is_none() && fold(ident) == "default" => {
            Ok(Simple::Default)
        }
        Expr::Nested(expr) => simple(expr, ty, values),
        _ => Ok(Simple::Computed),
    }
}

/// A number is assigned as a number, text as text.
fn assign_literal(literal: &AstValue, text: &str, ty: onlap::DataType) -> Result<Value> {
    if !matches!(literal, AstValue::Number(..)) {
        return assign(Cell::Text(text), ty);
    }
    if let Ok(v) = text.parse::<i64>() {
        return assign(Cell::Int(v), ty);
    }
    let numeric = crate::types::text_value(PgType::new(crate::types::oid::NUMERIC), text)?;
    assign(Cell::of_value(&numeric), ty)
}

fn of_query(
    session: &Session,
    view: &View,
    target: &Target,
    columns: &[usize],
    query: &datafusion::sql::sqlparser::ast::Query,
    values: &[Parameter],
) -> Result<Vec<Given>> {
    let batches = ask::rows(session, view, &query.to_string(), values, &Known::default())?;
    let mut given = Vec::new();
    for batch in &batches {
        given.extend(of_batch(target, columns, batch)?);
    }
    Ok(given)
}

fn too_many() -> SqlError {
    SqlError::new(state::SYNTAX, "INSERT has more expressions than target columns")
}

fn of_batch(target: &Target, columns: &[usize], batch: &RecordBatch) -> Result<Vec<Given>> {
    if batch.num_columns() > columns.len() {
        return Err(too_many());
    }
    let row = |row| {
        let value = |(i, array): (usize, &ArrayRef)| {
            value_of_array(array, row, target.schema.columns[columns[i]].ty).map(Some)
        };
        batch.columns().iter().enumerate().map(value).collect()
    };
    (0..batch.num_rows()).map(row).collect()
}
