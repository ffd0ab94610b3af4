//! What does a row get in a column that it leaves out?
//!
//! Constants and values of sequences are the engine's. Defaults that are computed (`now()`,
//! `gen_random_uuid()`) are kept as text next to it, and become part of the statement that inserts.

use onlap::{
    Column, ColumnDefault, ColumnId, ColumnSchema, DataType, Row, Table, TableId, Value, convert,
};

use serde_json::{Value as Json, json};

use super::columns::Default;
use crate::assign::assign;
use crate::catalog::{Kind, extensions};
use crate::columns::{ColumnType, Types};
use crate::error::Result;
use crate::parse;
use crate::query::{Bound, stored};
use crate::types::{Cell, PgType};
use crate::view::View;

/// What stands for a value that is left out, and that must keep to a domain.
pub const NULL: &str = "NULL";

/// The name under which the default of a column is kept.
pub fn key(table: TableId, column: ColumnId) -> String {
    format!("{}:{}", table.0, column.0)
}

/// The expression that computes a column's default; `None` where the engine knows it.
pub fn expression(view: &View, table: TableId, column: ColumnId) -> Option<String> {
    let object = view.objects.get(Kind::Default, &key(table, column))?;
    object.body["sql"].as_str().map(str::to_string)
}

/// What was written of a default whose value the engine knows, where the value does not say that.
pub fn written(view: &View, table: TableId, column: ColumnId) -> Option<String> {
    let object = view.objects.get(Kind::Default, &key(table, column))?;
    object.body["written"].as_str().map(str::to_string)
}

/// What is noted of a column's default, if the engine does not know all of it.
pub fn note(default: &Default) -> Option<Json> {
    match default {
        Default::Computed(sql) => Some(json!({ "sql": sql })),
        Default::Constant(_, Some(written)) => Some(json!({ "written": written })),
        Default::Constant(_, None) | Default::None | Default::Sequence(_) => None,
    }
}

/// The expression that computes what a row gets in a column that it leaves out; `None` where the engine knows it. What goes
/// into a domain has the domain's default where the column has none, and keeps to its conditions, even if it is NULL.
pub fn computed(view: &View, table: TableId, column: &ColumnSchema) -> Option<String> {
    if let Some(own) = expression(view, table, column.id) {
        return Some(own);
    }
    let ty = view.objects.column_types().of_table(table)?.get(&column.id)?.ty;
    if column.default.is_some() {
        return None;
    }
    of_domain(view, ty)
}

/// What stands for a value of a domain that is left out; `None` where that is NULL, or the type is no domain.
pub fn of_domain(view: &View, ty: PgType) -> Option<String> {
    let types = view.objects.made_types();
    if let Some(default) = types.domain(ty.oid)?.default.clone() {
        return Some(default);
    }
    let mut domains = std::iter::successors(types.domain(ty.oid), |of| types.domain(of.base.oid));
    let judges = domains.any(|domain| domain.not_null || !domain.checks.is_empty());
    judges.then(|| NULL.to_string())
}

/// Values of computed defaults for so many rows, one column each.
///
/// # Errors
/// Those of the expressions.
pub fn columns(
    view: &View,
    expressions: &[(ColumnType, &str)],
    rows: usize,
) -> Result<Vec<Column>> {
    // A length is asked for when the value is assigned: a cast would cut it off.
    let whole = |ty: ColumnType| match ty.engine {
        _ if !ty.is_own() => ty,
        DataType::Varchar(_) | DataType::Char(_) => ColumnType::own(DataType::Text),
        DataType::Numeric(_) => ColumnType::own(DataType::Numeric(None)),
        _ => ty,
    };
    let catalog = view.objects.made_types().catalog();
    // By names that mean the same in each search path.
    let cast = |(ty, e): &(ColumnType, &str)| {
        format!("({e})::{}", extensions::written(view, whole(*ty).pg))
    };
    let items: Vec<String> = expressions.iter().map(cast).collect();
    let text = format!("SELECT {} FROM pg_catalog.generate_series(1, {rows})", items.join(", "));
    let depth = parse::depth_of(&text);
    let bound = Bound::kept_alone(view, &text, depth)?;
    let mut columns: Vec<Column> =
        expressions.iter().map(|(ty, _)| Column::new(ty.engine.physical())).collect();
    let mut batches = bound.batches(view, &text)?;
    while let Some(batch) = batches.next()? {
        for ((array, (ty, _)), column) in batch.columns().iter().zip(expressions).zip(&mut columns)
        {
            for row in 0..batch.num_rows() {
                let mut value = stored::value_of(catalog, array, row, whole(*ty))?;
                if ty.is_own() {
                    value = assign(Cell::of_value(&value), ty.engine)?;
                }
                convert::push_value(ty.engine, &value, column, "default")?;
            }
        }
    }
    Ok(columns)
}

/// Whether an expression may depend on what sequences have given.
fn asks_sequences(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    ["currval", "lastval", "nextval", "setval"].iter().any(|function| sql.contains(function))
}

/// Whether a column is filled by its sequence alone, and a value of the caller's refused.
pub fn is_always(view: &View, table: TableId, column: ColumnId) -> bool {
    identity(view, table, column) == Some(true)
}

/// Of an identity column, whether it is GENERATED ALWAYS; `None` for other columns.
pub fn identity(view: &View, table: TableId, column: ColumnId) -> Option<bool> {
    let object = view.objects.get(Kind::Identity, &key(table, column))?;
    Some(object.body["always"].as_bool() == Some(true))
}

/// The default of one column, for one row.
///
/// # Errors
/// Those of expressions and sequences.
pub fn value(view: &View, table: &Table, at: usize) -> Result<Value> {
    let schema = table.schema();
    let column = &schema.columns[at];
    if let Some(sql) = computed(view, schema.id, column) {
        let ty = Types::of(&view.objects, &schema)[at];
        let values = columns(view, &[(ty, &sql)], 1)?;
        return Ok(convert::read_value(column.ty, &values[0], 0));
    }
    let value = table.default_value(&column.name)?;
    if let (Some(ColumnDefault::NextVal(id)), Value::Int(v)) = (&column.default, &value) {
        view.taken.lock().note(table.sequence_origin(*id), *v);
    }
    Ok(value)
}

/// Rows with defaults in the place of `None`.
///
/// # Errors
/// Those of expressions and sequences.
pub fn complete(view: &View, table: &Table, rows: Vec<Vec<Option<Value>>>) -> Result<Vec<Row>> {
    let schema = table.schema();
    let types = Types::of(&view.objects, &schema);
    let mut rows = rows;
    let computed_by = |column: &ColumnSchema| computed(view, schema.id, column);
    if rows.len() > 1 && schema.columns.iter().filter_map(computed_by).any(|e| asks_sequences(&e)) {
        // What a sequence has given to a row is seen by its other columns, and by no other row's.
        let alone = |row| Ok(complete(view, table, vec![row])?.pop().unwrap_or_default());
        return rows.into_iter().map(alone).collect();
    }
    for (i, column) in schema.columns.iter().enumerate() {
        let missing: Vec<usize> =
            rows.iter().enumerate().filter(|(_, row)| row[i].is_none()).map(|(r, _)| r).collect();
        if missing.is_empty() {
            continue;
        }
        if let Some(sql) = computed(view, schema.id, column) {
            let values = columns(view, &[(types[i], &sql)], missing.len())?;
            for (at, row) in missing.into_iter().enumerate() {
                rows[row][i] = Some(convert::read_value(column.ty, &values[0], at));
            }
            continue;
        }
        for row in missing {
            rows[row][i] = Some(value(view, table, i)?);
        }
    }
    Ok(rows.into_iter().map(|row| row.into_iter().flatten().collect()).collect())
}
