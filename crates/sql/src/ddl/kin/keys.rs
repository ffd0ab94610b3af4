//! PARTITION BY: by what does a table divide its rows?

use onlap::{Table, TableSchema};
use onlap_kernels::number::hash::divides;
use onlap_pg::ast::{Expr, PartitionBy, PartitionElement};
use onlap_pg::bind::is_system_column;
use onlap_pg::bound::{Bound, Expr as BoundExpr, Part};
use onlap_pg::catalog::Volatility;

use super::super::columns::{collation, kept};
use super::super::keys::has_no_class;
use crate::catalog::families::{Divided, Key, Strategy};
use crate::columns::{ColumnType, Types};
use crate::error::{Result, SqlError, state};
use crate::plan::TableHandle;
use crate::query::{self, keys};
use crate::source::Source;
use crate::system::{definitions, fixed};
use crate::types::PgType;
use crate::view::{PG_CATALOG, View};

/// Keys of a table, at most.
const KEYS: usize = 32;

/// What PARTITION BY says before there is a table.
///
/// # Errors
/// A strategy that is none; too many keys.
pub fn prepare(by: &PartitionBy) -> Result<Strategy> {
    let strategy = match by.strategy.to_lowercase().as_str() {
        "list" => Strategy::List,
        "range" => Strategy::Range,
        "hash" => Strategy::Hash,
        _ => {
            let text = format!("unrecognized partitioning strategy \"{}\"", by.strategy);
            return Err(SqlError::new(state::BAD_PARAMETER, text));
        }
    };
    if strategy == Strategy::List && by.elements.len() != 1 {
        let text = "cannot use \"list\" partition strategy with more than one column";
        return Err(SqlError::new("42P17", text));
    }
    if by.elements.len() > KEYS {
        let text = format!("cannot partition using more than {KEYS} columns");
        return Err(SqlError::new("54011", text));
    }
    Ok(strategy)
}

/// What PARTITION BY says of a table that is there.
///
/// # Errors
/// Columns that there are not; expressions that say something else each time; types without an order.
pub fn divided(
    view: &View,
    source: Source<'_>,
    by: &PartitionBy,
    table: &Table,
) -> Result<Divided> {
    let strategy = prepare(by)?;
    let handle = TableHandle::new(view, table.clone());
    let mut made = Vec::with_capacity(by.elements.len());
    for element in &by.elements {
        made.push(key(view, source, element, &handle, strategy)?);
    }
    Ok(Divided { strategy, keys: made })
}

fn key(
    view: &View,
    source: Source<'_>,
    element: &PartitionElement,
    table: &TableHandle,
    strategy: Strategy,
) -> Result<Key> {
    if let Some(class) = &element.class
        && !class.last().is_some_and(|name| is_class(name))
    {
        let method = if strategy == Strategy::Hash { "hash" } else { "btree" };
        let text = format!(
            "operator class \"{}\" does not exist for access method \"{method}\"",
            class.join(".")
        );
        return Err(SqlError::new(state::NO_OBJECT, text));
    }
    let named = element.column.clone().or_else(|| {
        // An expression that is a column alone is the column.
        match element.said.map(|said| source.tree.expr(said.expr)) {
            Some(Expr::Column(path)) if path.len() == 1 => path.last().cloned(),
            _ => None,
        }
    });
    if let Some(name) = named {
        return column(view, source, element, table, &name, strategy);
    }
    let Some(said) = element.said else { return Err(SqlError::defect("no partition key")) };
    // What it calls is known when it was bound.
    let _ = judged(view, table, &format!("({})", source.of(said.span)));
    let sql = kept(view, source, said.span, Vec::new());
    let ty = judged(view, table, &format!("({sql})")).map_err(|e| match e.state() {
        "42P17" if e.message().ends_with("generated column in partition key") => {
            source.at(e, element.place)
        }
        _ => e,
    })?;
    must_compare(view, strategy, element, ty)?;
    Ok(Key::Expr(sql, ty))
}

/// Whether there is an operator class of this name.
fn is_class(name: &str) -> bool {
    let definition = definitions::find(PG_CATALOG, "pg_opclass");
    let rows = definition.and_then(|definition| fixed::rows(&definition));
    rows.is_some_and(|rows| rows.column("opcname").any(|known| known.text() == name))
}

fn column(
    view: &View,
    source: Source<'_>,
    element: &PartitionElement,
    table: &TableHandle,
    name: &str,
    strategy: Strategy,
) -> Result<Key> {
    let Some(at) = table.schema.position_by_name(name) else {
        let error = match is_system_column(name) {
            true => {
                let text = format!("cannot use system column \"{name}\" in partition key");
                SqlError::new("42P17", text)
            }
            false => {
                let text = format!("column \"{name}\" named in partition key does not exist");
                SqlError::new(state::NO_COLUMN, text)
            }
        };
        return Err(source.at(error, element.place));
    };
    if table.schema.is_generated(at) {
        return Err(source.at(of_generated(name), element.place));
    }
    must_compare(view, strategy, element, table.types[at].pg)?;
    Ok(Key::Column(table.schema.columns[at].id))
}

fn of_generated(name: &str) -> SqlError {
    let detail = format!("Column \"{name}\" is a generated column.");
    SqlError::new("42P17", "cannot use generated column in partition key").detail(detail)
}

/// Fails where values of a type have no order, or no hash, or not the collation that was written.
fn must_compare(
    view: &View,
    strategy: Strategy,
    element: &PartitionElement,
    ty: PgType,
) -> Result<()> {
    let catalog = view.objects.made_types().catalog();
    if let Some(name) = &element.collation {
        collation(catalog, name, ty.oid)?;
    }
    let made = ColumnType::of(catalog, ty);
    let method = if strategy == Strategy::Hash { "hash" } else { "btree" };
    if made.is_none_or(has_no_class) {
        let shown = catalog.shown_with(onlap_pg::TypeRef { oid: ty.oid, modifier: ty.modifier });
        let text = format!(
            "data type {shown} has no default operator class for access method \"{method}\""
        );
        let hint = format!(
            "You must specify a {method} operator class or define a default {method} operator \
             class for the data type."
        );
        return Err(SqlError::new(state::NO_OBJECT, text).hint(hint));
    }
    if strategy == Strategy::Hash && !divides(catalog, ty.oid) {
        let shown = catalog.shown_with(onlap_pg::TypeRef { oid: ty.oid, modifier: ty.modifier });
        return Err(SqlError::unsupported(format!("partitioning by the hash of type {shown}")));
    }
    Ok(())
}

/// The type of an expression that can be a key.
fn judged(view: &View, table: &TableHandle, sql: &str) -> Result<PgType> {
    let (bound, id) = keys::bound(view, table, &[sql.to_string()])?;
    let made = bound.query(id);
    let wrong = |state: &'static str, text: &str| Err(SqlError::new(state, text));
    if made.has_subqueries {
        return wrong("0A000", "cannot use subquery in partition key expression");
    }
    if made.has_aggregates {
        return wrong("42803", "aggregate functions are not allowed in partition key expressions");
    }
    if made.has_windows {
        return wrong("42P20", "window functions are not allowed in partition key expressions");
    }
    if made.has_sets {
        return wrong(
            "0A000",
            "set-returning functions are not allowed in partition key expressions",
        );
    }
    let value = made.targets[0].value;
    let (mut columns, mut whole, mut changes) = (false, false, false);
    let mut generated = None;
    bound.visit_part(Part::Expr(value), 0, &mut |id, _| {
        match bound.expr(id) {
            BoundExpr::Var { column, .. } => {
                columns = true;
                whole |= *column == 0;
                let at = usize::try_from(*column - 1).ok();
                generated = generated.or(at.filter(|at| table.schema.is_generated(*at)));
            }
            expr => changes |= !is_immutable(&bound, expr),
        }
        true
    });
    if whole {
        return wrong("42P17", "partition key expressions cannot contain whole-row references");
    }
    if let Some(at) = generated {
        return Err(of_generated(&table.schema.columns[at].name));
    }
    if changes {
        return wrong("42P17", "functions in partition key expression must be marked IMMUTABLE");
    }
    if !columns {
        return wrong("42P17", "cannot use constant expression as partition key");
    }
    let ty = bound.ty(value);
    if ty.oid == 705 {
        return wrong("42P17", "partition key column 1 has pseudo-type unknown");
    }
    Ok(PgType { oid: ty.oid, modifier: ty.modifier })
}

/// Whether an expression gives the same for the same, whatever the session.
fn is_immutable(_: &Bound, expr: &BoundExpr) -> bool {
    let proc = match expr {
        BoundExpr::Call(call) => call.proc,
        BoundExpr::Op(op) | BoundExpr::Distinct(op) | BoundExpr::NullIf(op) => op.proc,
        BoundExpr::ArrayOp(op, _) => op.proc,
        BoundExpr::Param(_) | BoundExpr::SubQuery(_) => return false,
        _ => return true,
    };
    let proc = query::catalog().proc(proc);
    proc.is_some_and(|proc| proc.volatility == Volatility::Immutable)
}

/// Fails where a unique key of a partitioned table does not have what its rows are divided by: no partition knows the keys of
/// the others.
///
/// # Errors
/// `0A000`.
pub fn must_cover(
    schema: &TableSchema,
    divided: &Divided,
    key: &[String],
    word: &str,
) -> Result<()> {
    let text = "unique constraint on partitioned table must include all partitioning columns";
    for part in &divided.keys {
        let Key::Column(id) = part else {
            let text = format!("unsupported {word} constraint with partition key definition");
            let detail = format!(
                "{word} constraints cannot be used when partition keys include expressions."
            );
            return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
        };
        let at = schema.position(*id);
        let name = at.map_or("", |at| schema.columns[at].name.as_str());
        if !key.iter().any(|column| column == name) {
            let table = crate::rights::ask::shown(schema);
            let detail = format!(
                "{word} constraint on table \"{table}\" lacks column \"{name}\" which is part of \
                 the partition key."
            );
            return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
        }
    }
    Ok(())
}

/// The types of a table's keys.
pub fn types_of(view: &View, schema: &TableSchema, divided: &Divided) -> Vec<PgType> {
    let types = Types::of(&view.objects, schema);
    let ty = |key: &Key| match key {
        Key::Expr(_, ty) => *ty,
        Key::Column(id) => schema.position(*id).map_or(PgType::new(25), |at| types[at].pg),
    };
    divided.keys.iter().map(ty).collect()
}

/// The name of a key's column, for messages.
pub fn name_of(schema: &TableSchema, key: &Key) -> String {
    match key {
        Key::Column(id) => {
            schema.position(*id).map_or_else(String::new, |at| schema.columns[at].name.clone())
        }
        Key::Expr(sql, _) => sql.clone(),
    }
}
