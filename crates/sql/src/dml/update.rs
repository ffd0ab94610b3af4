//! UPDATE.

use datafusion::arrow::array::RecordBatch;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Update, UpdateTableFromKind,
};
use onlap::{RowId, RowLock, Value};

use super::Described;
use super::delete::parameters;
use super::returning::{self, Written};
use super::target::{Asked, Target, ids_of};
use crate::catalog::names::{fold, parts};
use crate::ddl::defaults;
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Need};
use crate::session::answer::Answer;
use crate::session::{Parameter, Session};
use crate::types::{PgType, names, value_of_array};
use crate::view::View;

/// Columns by position, and the expression each is set to; `None` for DEFAULT.
///
/// # Errors
/// An unknown column, one that is set twice, one that its sequence alone fills.
pub fn assignments(
    view: &View,
    target: &Target,
    assignments: &[Assignment],
) -> Result<Vec<(usize, Option<String>)>> {
    let mut all: Vec<(usize, Option<String>)> = Vec::new();
    for Assignment { target: to, value } in assignments {
        let pairs: Vec<(String, &Expr)> = match (to, value) {
            (AssignmentTarget::ColumnName(name), value) => {
                vec![(parts(name)?.pop().unwrap_or_default(), value)]
            }
            (AssignmentTarget::Tuple(columns), Expr::Tuple(values))
                if columns.len() == values.len() =>
            {
                let name = |c| Ok(parts(c)?.pop().unwrap_or_default());
                let columns = columns.iter().map(name).collect::<Result<Vec<_>>>()?;
                columns.into_iter().zip(values).collect()
            }
            _ => return Err(SqlError::unsupported(format!("SET {to} = {value}"))),
        };
        for (column, value) in pairs {
            let at = target.schema.position_by_name(&column).ok_or_else(|| {
                let table = &target.name.name;
                let text = format!("column \"{column}\" of relation \"{table}\" does not exist");
                SqlError::new(state::NO_COLUMN, text)
            })?;
            if all.iter().any(|(c, _)| *c == at) {
                let text = format!("multiple assignments to same column \"{column}\"");
                return Err(SqlError::new(state::SYNTAX, text));
            }
            let set = expression(value, target.schema.columns[at].ty);
            let id = target.schema.columns[at].id;
            if set.is_some() && defaults::is_always(view, target.schema.id, id) {
                return Err(only_default(&column));
            }
            all.push((at, set));
        }
    }
    Ok(all)
}

fn only_default(column: &str) -> SqlError {
    let text = format!("column \"{column}\" can only be updated to DEFAULT");
    let detail = format!("Column \"{column}\" is an identity column defined as GENERATED ALWAYS.");
    SqlError::new("428C9", text).detail(detail)
}

/// A bare parameter takes the column's type.
fn expression(value: &Expr, ty: onlap::DataType) -> Option<String> {
    match value {
        Expr::Identifier(ident) if ident.quote_style.is_none() && fold(ident) == "default" => None,
        Expr::Value(v) if v.to_string().starts_with('$') => {
            Some(format!("CAST({v} AS {})", names::of_engine(ty)))
        }
        other => Some(other.to_string()),
    }
}

fn query(target: &Target, update: &Update, set: &[(usize, Option<String>)]) -> Result<Asked> {
    let items: Vec<String> = set
        .iter()
        .enumerate()
        .map(|(i, (_, e))| format!("{} AS \"set {i}\"", e.as_deref().unwrap_or("NULL")))
        .collect();
    let from = match &update.from {
        None => String::new(),
        Some(UpdateTableFromKind::AfterSet(tables)) => {
            tables.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(SqlError::new(state::SYNTAX, "FROM comes after SET"));
        }
    };
    Ok(target.query(&items, update.returning.is_some(), &from, update.selection.as_ref(), ""))
}

/// What is known before it runs.
pub fn describe(
    session: &Session,
    view: &View,
    update: &Update,
    given: &[Option<PgType>],
) -> Result<Described> {
    let target = Target::of(view, &update.table)?;
    let set = assignments(view, &target, &update.assignments)?;
    let plan = target.plan(session, view, &query(&target, update, &set)?, given)?;
    let columns = returning::describe(session, view, &target, update.returning.as_deref())?;
    Ok((parameters(&plan, given.len())?, columns))
}

/// What the statement needs to change what it sets, and to return what it returns.
fn own_needs(
    target: &Target,
    update: &Update,
    set: &[(usize, Option<String>)],
) -> Result<Vec<Need>> {
    let mut needs = vec![target.need(Action::Update, set.iter().map(|s| s.0))];
    needs.extend(returning::needs(target, update.returning.as_deref())?);
    Ok(needs)
}

/// All that the statement needs.
pub fn needs(session: &Session, view: &View, update: &Update) -> Result<Vec<Need>> {
    let target = Target::of(view, &update.table)?;
    let set = assignments(view, &target, &update.assignments)?;
    let mut needs = own_needs(&target, update, &set)?;
    needs.extend(target.plan(session, view, &query(&target, update, &set)?, &[])?.needs);
    Ok(needs)
}

/// UPDATE.
pub fn run(
    session: &mut Session,
    view: &View,
    update: &Update,
    values: &[Parameter],
) -> Result<Answer> {
    let target = Target::of(view, &update.table)?;
    let set = assignments(view, &target, &update.assignments)?;
    view.must(&own_needs(&target, update, &set)?)?;
    let asked = query(&target, update, &set)?;
    let found = target.find(session, view, &asked, values, lock_mode(&target, &set))?;
    let set = Setting::of(session, view, &target, &set, &found.batches)?;
    set.write(view)?;
    let rows = if update.returning.is_some() { set.whole_rows()? } else { Vec::new() };
    let written = Written { tag: "UPDATE", n: set.places.len() as u64, rows };
    returning::answer(session, view, &target, update.returning.as_deref(), written, values)
}

/// How rows are locked whose columns are set: more strongly where one is part of a unique key.
pub fn lock_mode(target: &Target, set: &[(usize, Option<String>)]) -> RowLock {
    let keyed = |column: &(usize, Option<String>)| {
        let id = target.schema.columns[column.0].id;
        let mut unique = target.schema.indexes.iter().filter(|i| i.unique);
        unique.any(|i| i.key.iter().any(|k| k.column == id))
    };
    if set.iter().any(keyed) { RowLock::Update } else { RowLock::NoKeyUpdate }
}

/// What rows become that were found and locked.
struct Setting<'a> {
    target: &'a Target,
    set: &'a [(usize, Option<String>)],
    batches: &'a [RecordBatch],
    /// Rows by id, with their places in the batches.
    places: Vec<(RowId, usize, usize)>,
    /// Per row, values of the columns that are set to DEFAULT.
    defaults: Vec<Vec<Value>>,
}

impl<'a> Setting<'a> {
    fn of(
        session: &Session,
        view: &View,
        target: &'a Target,
        set: &'a [(usize, Option<String>)],
        batches: &'a [RecordBatch],
    ) -> Result<Setting<'a>> {
        let mut places = Vec::new();
        for (b, batch) in batches.iter().enumerate() {
            let ids = ids_of(std::slice::from_ref(batch)).into_iter().enumerate();
            places.extend(ids.map(|(row, id)| (id, b, row)));
        }
        places.sort_unstable();
        let of_default = set.iter().filter(|(_, e)| e.is_none());
        let of_default: Vec<usize> = of_default.map(|(at, _)| *at).collect();
        let mut defaults = Vec::new();
        if !of_default.is_empty() {
            for _ in &places {
                let value = |at: &usize| defaults::value(session, view, &target.table, *at);
                defaults.push(of_default.iter().map(value).collect::<Result<_>>()?);
            }
        }
        Ok(Setting { target, set, batches, places, defaults })
    }

    /// The values that are set in the row at a place.
    fn values(&self, at: usize) -> Result<Vec<Value>> {
        let (_, batch, row) = self.places[at];
        let mut defaults = self.defaults.get(at).into_iter().flatten();
        let value = |(i, (column, e)): (usize, &(usize, Option<String>))| match e {
            Some(_) => {
                let ty = self.target.schema.columns[*column].ty;
                value_of_array(self.batches[batch].column(i + 1), row, ty)
            }
            None => Ok(defaults.next().expect("one for each of these columns").clone()),
        };
        self.set.iter().enumerate().map(value).collect()
    }

    /// Changes the rows, all of them at once: what one row's change brings about in another does not hide that.
    fn write(&self, view: &View) -> Result<()> {
        let ids: Vec<RowId> = self.places.iter().map(|place| place.0).collect();
        let name =
            |(at, _): &(usize, Option<String>)| self.target.schema.columns[*at].name.as_str();
        let columns: Vec<&str> = self.set.iter().map(name).collect();
        let mut failed = None;
        let mut values = |id: RowId| {
            self.values(self.place(id)).map_err(|e| {
                let text = e.to_string();
                failed = Some(e);
                onlap::Error::new(onlap::ErrorKind::InvalidInput, text)
            })
        };
        let table = &self.target.table;
        let changed = view.scope.tx()?.change_each(table, &ids, &columns, &mut values);
        match failed {
            Some(e) => Err(e),
            None => Ok(changed?),
        }
    }

    /// The rows as they are then, in the order in which they were found.
    fn whole_rows(&self) -> Result<Vec<Vec<Value>>> {
        let first = self.set.len() + 1;
        let mut rows = Vec::with_capacity(self.places.len());
        for batch in self.batches {
            for (row, id) in ids_of(std::slice::from_ref(batch)).into_iter().enumerate() {
                let value = |(i, c): (usize, &onlap::ColumnSchema)| {
                    value_of_array(batch.column(first + i), row, c.ty)
                };
                let columns = self.target.schema.columns.iter().enumerate();
                let mut whole: Vec<Value> = columns.map(value).collect::<Result<_>>()?;
                for ((column, _), value) in self.set.iter().zip(self.values(self.place(id))?) {
                    whole[*column] = value;
                }
                rows.push(whole);
            }
        }
        Ok(rows)
    }

    fn place(&self, id: RowId) -> usize {
        let at = self.places.binary_search_by_key(&id, |place| place.0);
        at.expect("a row that was found")
    }
}
