//! How registers, lists, sets and slots lie in tables, and the ways to read and write them.
//!
//! | object | table | read | written |
//! |---|---|---|---|
//! | register | `registers(id, part, number, tag)`, one row | by key; by the index on `part`; by that on `number`, where entries move at each write and hold all that is wanted; by a scan | at first by an insert; by an update by key, by an update of rows found through an index, which are looked at again, by delete and insert, or by an upsert: an insert, and where that finds its key taken an update |
//! | list | `lists(id, part, items)`, one row with a text | by key, by the index on `part` or by a scan | the same |
//! | set | `members(id, of, note)`, one row per element | by the index on `of`, by row ids from there, or by a scan | by an insert, and by a delete, by key or by row id |
//! | slot | `slots(id, part, tag)`, one row, of a table that takes blind writes | by key; by the index on `part`; by that on `tag`, where entries move; by a scan | by blind upserts and blind deletes, at READ COMMITTED; by updates and inserts, which look |

mod lists;
mod registers;
mod sets;
mod slots;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, KeyRange, LockWait, Result, Row, RowId, RowLock,
    Scan, Table, TableSpec, Transaction, Value,
};
use onlap_base::rng::Rng;
use onlap_testkit::cycles::{Key, Op};

pub const REGISTERS: i64 = 6;
pub const LISTS: i64 = 2;
pub const SETS: i64 = 2;
pub const SLOTS: i64 = 6;
/// Registers, lists and slots that the index on `part` finds together.
const PARTS: i64 = 2;

/// What a reader of indexes does wrong, in controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexFault {
    /// Some entry is not there.
    Dropped,
    /// Some entry leads to a row as it was before.
    Stale,
}

/// Rows as they were once, by table, number of columns and key.
type Before = HashMap<(String, usize, i64), Row>;

#[derive(Clone)]
pub struct Tables {
    pub registers: Table,
    pub lists: Table,
    pub members: Table,
    pub slots: Table,
    fault: Option<(IndexFault, Arc<Mutex<Before>>)>,
}

pub fn int(value: &Value) -> i64 {
    match value {
        Value::Int(v) => *v,
        other => panic!("{other:?} is no integer"),
    }
}

fn ints<const N: usize>(values: [i64; N]) -> Vec<Value> {
    values.map(Value::Int).to_vec()
}

impl Tables {
    pub fn create(db: &Database) {
        let column = DataType::Int8;
        let registers = TableSpec::new("registers").column("id", column).column("part", column);
        let registers = registers.column("number", column).column("tag", column);
        let registers = registers.primary_key(["id"]).index(IndexSpec::new("by_part", ["part"]));
        let by_number = IndexSpec::new("by_number", ["number"]).include(["id", "tag"]);
        let registers = registers.index(by_number);
        let registers = registers.index(IndexSpec::new("by_tag", ["tag"]).unique());
        let lists = TableSpec::new("lists").column("id", column).column("part", column);
        let lists = lists.column("items", DataType::Text).primary_key(["id"]);
        let lists = lists.index(IndexSpec::new("by_part", ["part"]));
        let members = TableSpec::new("members").column("id", column).column("of", column);
        let members = members.column("note", DataType::Text).primary_key(["id"]);
        let members = members.index(IndexSpec::new("by_of", ["of"]));
        let slots = TableSpec::new("slots").column("id", column).column("part", column);
        let slots = slots.column("tag", column).primary_key(["id"]).blind_writes();
        let slots = slots.index(IndexSpec::new("by_part", ["part"]));
        let slots = slots.index(IndexSpec::new("by_tag", ["tag"]).include(["part"]));
        for table in [registers, lists, members, slots] {
            db.create_table(table).unwrap();
        }
    }

    pub fn open(db: &Database, fault: Option<IndexFault>) -> Tables {
        let table = |name| db.table(name).unwrap();
        Tables {
            registers: table("registers"),
            lists: table("lists"),
            members: table("members"),
            slots: table("slots"),
            fault: fault.map(|fault| (fault, Arc::default())),
        }
    }

    /// What a reader with a fault makes of rows that an index led to, their key first.
    fn spoil(&self, table: &Table, rows: &mut Vec<Row>, rng: &mut Rng) {
        let Some((fault, before)) = &self.fault else { return };
        let strikes = rng.chance(0.05) && !rows.is_empty();
        match fault {
            IndexFault::Dropped if strikes => drop(rows.swap_remove(rng.index(rows.len()))),
            IndexFault::Dropped => {}
            IndexFault::Stale => {
                let mut before = before.lock().unwrap();
                for row in rows.iter_mut() {
                    let key = (table.name(), row.len(), int(&row[0]));
                    let old = before.entry(key).or_insert_with(|| row.clone());
                    if strikes {
                        std::mem::swap(row, old);
                    }
                }
            }
        }
    }
}

/// A transaction on the tables, and what it did so far.
pub struct Doing<'a> {
    pub tables: &'a Tables,
    pub tx: Transaction,
    pub ops: Vec<Op>,
}

impl Doing<'_> {
    /// Rows of part of an index.
    fn by_index(
        &mut self,
        rng: &mut Rng,
        table: &Table,
        index: &str,
        range: KeyRange,
        scan: Scan,
    ) -> Result<Vec<Row>> {
        let scan = if rng.chance(0.3) { scan.reverse() } else { scan };
        let mut rows = self.tx.index_scan(table, index, range, scan)?.rows()?;
        self.tables.spoil(table, &mut rows, rng);
        Ok(rows)
    }

    /// The newest version of the row with this key, locked.
    fn lock_newest(&mut self, table: &Table, key: Key) -> Result<Option<(RowId, Row)>> {
        let index = format!("{}_pkey", table.name());
        let ids = self.tx.index_row_ids(table, &index, KeyRange::eq([Value::Int(key)]))?;
        let mut newest = None;
        let mut any = |_: RowId, row: &Row| {
            newest = Some(row.clone());
            Ok(true)
        };
        let locked = self.tx.lock_rows(table, &ids, RowLock::Update, LockWait::Block, &mut any)?;
        let Some(&id) = locked.first() else { return Ok(None) };
        if let Some(row) = newest {
            return Ok(Some((id, row)));
        }
        let batch = self.tx.fetch(table, &[id], None)?;
        Ok((!batch.is_empty()).then(|| (id, batch.row(0))))
    }

    /// Inserts a row whose key is free; otherwise `change` is asked for a row in the place of the newest one
    /// with that key, as by ON CONFLICT DO UPDATE. Whether that was done; nothing is where the other row
    /// cannot be seen.
    fn upsert(
        &mut self,
        table: &Table,
        row: &[Value],
        columns: &[&str],
        change: impl FnOnce(&Row) -> Vec<Value>,
    ) -> Result<Option<Row>> {
        let key = int(&row[0]);
        for _ in 0..20 {
            let before = self.tx.savepoint();
            let taken = match self.tx.insert(table, row) {
                Ok(()) => return Ok(Some(row.to_vec())),
                Err(e) if e.kind() == ErrorKind::DuplicateKey => e,
                Err(e) => return Err(e),
            };
            self.tx.rollback_to(&before)?;
            let Some((id, mut row)) = self.lock_newest(table, key)? else {
                if self.tx.isolation() == onlap::Isolation::ReadCommitted {
                    self.tx.begin_statement()?;
                    continue;
                }
                return Err(taken);
            };
            let values = change(&row);
            let set: Vec<_> = columns.iter().copied().zip(values.iter().cloned()).collect();
            if self.tx.update_rows(table, &[id], &set)? == 0 {
                return Ok(None);
            }
            let at = row.len() - values.len();
            row.splice(at.., values);
            return Ok(Some(row));
        }
        Ok(None)
    }
}
