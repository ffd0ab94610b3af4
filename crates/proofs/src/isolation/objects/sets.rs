//! Sets: rows that come and go, found by an index or by a condition.

use onlap::{KeyRange, Result, Row, Scan, Value};
use onlap_base::rng::Rng;
use onlap_testkit::cycles::{Element, Op};

use super::{Doing, SETS, int, ints};

impl Doing<'_> {
    pub fn read_set(&mut self, rng: &mut Rng) -> Result<()> {
        let (table, key) = (&self.tables.members, rng.range(0..SETS));
        let range = KeyRange::eq([Value::Int(key)]);
        let rows: Vec<Row> = match rng.below(3) {
            0 => self.by_index(rng, table, "by_of", range, Scan::all())?,
            1 => self.tx.scan(table, Scan::all())?.rows()?,
            _ => {
                let ids = self.tx.index_row_ids(table, "by_of", range)?;
                let batch = self.tx.fetch(table, &ids, None)?;
                (0..batch.len()).map(|i| batch.row(i)).collect()
            }
        };
        let of_key = rows.iter().filter(|row| int(&row[1]) == key);
        self.ops.push(Op::ReadSet(key, of_key.map(|row| int(&row[0]) as u64).collect()));
        Ok(())
    }

    /// Removes the oldest or any element of a set.
    pub fn remove(&mut self, rng: &mut Rng) -> Result<()> {
        self.read_set(rng)?;
        let Some(Op::ReadSet(key, elements)) = self.ops.last().cloned() else {
            unreachable!("noted by the read")
        };
        if elements.is_empty() {
            return Ok(());
        }
        let oldest = rng.chance(0.5);
        let element = if oldest { elements[0] } else { *rng.pick(&elements) };
        let (table, id) = (&self.tables.members, Value::Int(element as i64));
        let removed = if rng.chance(0.5) {
            self.tx.delete(table, &[id])?
        } else {
            let rows = self.tx.index_row_ids(table, "members_pkey", KeyRange::eq([id]))?;
            self.tx.delete_rows(table, &rows)? == 1
        };
        if removed {
            self.ops.push(Op::Remove(key, element));
        }
        Ok(())
    }

    pub fn add(&mut self, rng: &mut Rng, element: Element) -> Result<()> {
        let key = rng.range(0..SETS);
        let mut row = ints([element as i64, key]);
        row.push(Value::Text("of a set".into()));
        self.tx.insert(&self.tables.members, &row)?;
        self.ops.push(Op::Add(key, element));
        Ok(())
    }
}
