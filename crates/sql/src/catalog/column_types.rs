//! Which columns have a type that the engine does not have, or another collation than their type's?
//!
//! A row of the catalog for each, by table and column; see [`crate::columns`]. A column without a row is of the engine's
//! own type, and has its type's collation, as all have in databases of older releases. Thread safety: read only.

use std::collections::{BTreeMap, HashMap};

use onlap::{ColumnId, TableId};
use onlap_pg::Oid;
use serde_json::{Value as Json, json};

use super::objects::Object;
use crate::columns::ColumnType;
use crate::types::PgType;

/// What is known of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Its type.
    pub ty: PgType,
    /// Its collation, where that is not its type's.
    pub collation: Option<Oid>,
}

/// The types of columns by table.
#[derive(Clone, Debug, Default)]
pub struct ColumnTypes(HashMap<TableId, BTreeMap<ColumnId, Noted>>);

impl ColumnTypes {
    /// Those of a table.
    pub fn of_table(&self, table: TableId) -> Option<&BTreeMap<ColumnId, Noted>> {
        self.0.get(&table)
    }

    /// That of a column by the name of its row.
    pub fn of_key(&self, key: &str) -> Option<PgType> {
        let (table, column) = ids(key)?;
        Some(self.0.get(&table)?.get(&column)?.ty)
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

/// What is kept of a column; `None` where the engine knows all of it.
pub fn body(ty: ColumnType, collation: Option<Oid>) -> Option<Json> {
    let PgType { oid, modifier } = ty.pg;
    match collation {
        Some(collation) => {
            Some(json!({ "oid": oid, "modifier": modifier, "collation": collation }))
        }
        None => (!ty.is_own()).then(|| json!({ "oid": oid, "modifier": modifier })),
    }
}

fn read(body: &Json) -> Option<Noted> {
    let number = |json: &Json| u32::try_from(json.as_u64()?).ok();
    let modifier = i32::try_from(body["modifier"].as_i64()?).ok()?;
    let collation = match &body["collation"] {
        Json::Null => None,
        known => Some(number(known)?),
    };
    Some(Noted { ty: PgType { oid: number(&body["oid"])?, modifier }, collation })
}
