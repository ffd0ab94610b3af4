//! Which columns have a type that the engine does not have?
//!
//! A row of the catalog for each, by table and column; see [`crate::columns`]. A column without a row is of the engine's
//! own type, as all are in databases of older releases. Thread safety: read only.

use std::collections::{BTreeMap, HashMap};

use onlap::{ColumnId, TableId};
use serde_json::{Value as Json, json};

use super::objects::Object;
use crate::types::PgType;

/// The types of columns by table.
#[derive(Clone, Debug, Default)]
pub struct ColumnTypes(HashMap<TableId, BTreeMap<ColumnId, PgType>>);

impl ColumnTypes {
    /// Those of a table.
    pub fn of_table(&self, table: TableId) -> Option<&BTreeMap<ColumnId, PgType>> {
        self.0.get(&table)
    }

    /// That of a column by the name of its row.
    pub fn of_key(&self, key: &str) -> Option<PgType> {
        let (table, column) = ids(key)?;
        self.0.get(&table)?.get(&column).copied()
    }

    /// Takes a row over; `None` of one that no release wrote.
    pub fn apply(&mut self, name: &str, object: Option<&Object>) -> Option<()> {
        let (table, column) = ids(name)?;
        match object {
            Some(object) => {
                self.0.entry(table).or_default().insert(column, read(&object.body)?);
            }
            None => {
                if let Some(columns) = self.0.get_mut(&table) {
                    columns.remove(&column);
                    if columns.is_empty() {
                        self.0.remove(&table);
                    }
                }
            }
        }
        Some(())
    }
}

/// The table and the column of a row's name; defaults are kept by the same.
pub fn ids(key: &str) -> Option<(TableId, ColumnId)> {
    let (table, column) = key.split_once(':')?;
    Some((TableId(table.parse().ok()?), ColumnId(column.parse().ok()?)))
}

/// A type as it is kept.
pub fn body(ty: PgType) -> Json {
    json!({ "oid": ty.oid, "modifier": ty.modifier })
}

fn read(body: &Json) -> Option<PgType> {
    let oid = u32::try_from(body["oid"].as_u64()?).ok()?;
    Some(PgType { oid, modifier: i32::try_from(body["modifier"].as_i64()?).ok()? })
}
