//! Registers: rows that are replaced, each version by one with the next number.

use onlap::{KeyRange, LockWait, Result, Row, RowId, RowLock, Scan, Value};
use onlap_base::rng::Rng;
use onlap_testkit::cycles::{Key, Op, Version};

use super::{Doing, PARTS, REGISTERS, int, ints};

fn version(row: &Row) -> Version {
    Version { number: int(&row[2]) as u64, tag: int(&row[3]) as u64 }
}

impl Doing<'_> {
    fn note_registers(&mut self, rows: &[Row], keys: impl Iterator<Item = Key>) {
        for key in keys {
            let before = self.ops.len();
            let found = rows.iter().filter(|row| int(&row[0]) == key);
            self.ops.extend(found.map(|row| Op::Read(key, version(row))));
            if self.ops.len() == before {
                self.ops.push(Op::Read(key, Version::default()));
            }
        }
    }

    pub fn read_register(&mut self, key: Key) -> Result<()> {
        let row = self.tx.get(&self.tables.registers, &[Value::Int(key)])?;
        self.note_registers(row.as_slice(), [key].into_iter());
        Ok(())
    }

    /// Reads several registers with one statement.
    pub fn read_registers(&mut self, rng: &mut Rng) -> Result<()> {
        let table = &self.tables.registers;
        let rows = match rng.below(4) {
            0 => {
                let part = rng.range(0..PARTS);
                let range = KeyRange::eq([Value::Int(part)]);
                let rows = self.by_index(rng, table, "by_part", range, Scan::all())?;
                self.note_registers(&rows, (0..REGISTERS).filter(|key| key % PARTS == part));
                return Ok(());
            }
            1 => {
                let range = KeyRange::from([Value::Int(0)]);
                self.by_index(rng, table, "by_number", range, Scan::all())?
            }
            2 => {
                // The entries hold all that is wanted.
                let range = KeyRange::from([Value::Int(0)]);
                let scan = Scan::all().columns(["id", "number", "tag"]);
                let mut rows = self.by_index(rng, table, "by_number", range, scan)?;
                rows.iter_mut().for_each(|row| row.insert(1, Value::Null));
                rows
            }
            _ => self.tx.scan(table, Scan::all())?.rows()?,
        };
        self.note_registers(&rows, 0..REGISTERS);
        Ok(())
    }

    /// Puts a new version in the place of the newest, whichever the transaction has seen.
    pub fn write_register(&mut self, rng: &mut Rng, key: Key, tag: u64) -> Result<()> {
        match rng.below(4) {
            0 => self.update_by_key(key, tag),
            1 => self.update_if_same(key, tag),
            2 => self.upsert_register(key, tag),
            _ => self.delete_and_insert(key, tag),
        }
    }

    fn insert_first(&mut self, key: Key, tag: u64) -> Result<()> {
        self.ops.push(Op::Read(key, Version::default()));
        let row = ints([key, key % PARTS, 1, tag as i64]);
        self.tx.insert(&self.tables.registers, &row)?;
        self.ops.push(Op::Write(key, Version { number: 1, tag }));
        Ok(())
    }

    fn update_by_key(&mut self, key: Key, tag: u64) -> Result<()> {
        let mut number = 0;
        let set = |row: &mut Row| {
            number = int(&row[2]) as u64 + 1;
            row[2] = Value::Int(number as i64);
            row[3] = Value::Int(tag as i64);
            Ok(())
        };
        let table = &self.tables.registers;
        if !self.tx.update_with(table, &[Value::Int(key)], &["number", "tag"], set)? {
            return self.insert_first(key, tag);
        }
        self.ops.push(Op::Write(key, Version { number, tag }));
        Ok(())
    }

    /// Finds the row through an index and replaces it if it is still the one that was found.
    fn update_if_same(&mut self, key: Key, tag: u64) -> Result<()> {
        let table = &self.tables.registers;
        let range = KeyRange::eq([Value::Int(key % PARTS)]);
        let mut found = None;
        for batch in self.tx.index_scan(table, "by_part", range, Scan::all())? {
            let batch = batch?;
            let at = (0..batch.len()).find(|&i| int(&batch.value(i, 0)) == key);
            found = found.or(at.map(|i| (batch.row_ids[i], batch.row(i))));
        }
        let Some((id, row)) = found else { return self.insert_first(key, tag) };
        let seen = version(&row);
        self.ops.push(Op::Read(key, seen));
        let mut same = |_: RowId, row: &Row| Ok(version(row).number == seen.number);
        let lock = RowLock::Update;
        let locked = self.tx.lock_rows(table, &[id], lock, LockWait::Block, &mut same)?;
        if locked.is_empty() {
            return Ok(());
        }
        let number = seen.number + 1;
        let set = [("number", Value::Int(number as i64)), ("tag", Value::Int(tag as i64))];
        if self.tx.update_rows(table, &locked, &set)? == 1 {
            self.ops.push(Op::Write(key, Version { number, tag }));
        }
        Ok(())
    }

    fn delete_and_insert(&mut self, key: Key, tag: u64) -> Result<()> {
        let table = &self.tables.registers;
        let (index, range) = ("registers_pkey", KeyRange::eq([Value::Int(key)]));
        // Somebody may do the same meanwhile, which leaves no successor.
        for _ in 0..20 {
            let found = self.tx.index_row_ids(table, index, range.clone())?;
            if found.is_empty() {
                return self.insert_first(key, tag);
            }
            let mut any = |_: RowId, _: &Row| Ok(true);
            let lock = RowLock::Update;
            let locked = self.tx.lock_rows(table, &found, lock, LockWait::Block, &mut any)?;
            let Some(&id) = locked.first() else { continue };
            let batch = self.tx.fetch(table, &[id], None)?;
            if batch.is_empty() {
                // Only without the rule that keeps newer versions from a snapshot.
                return Ok(());
            }
            let number = version(&batch.row(0)).number + 1;
            assert!(self.tx.delete(table, &[Value::Int(key)])?, "a locked row is there");
            let row = ints([key, key % PARTS, number as i64, tag as i64]);
            self.tx.insert(table, &row)?;
            self.ops.push(Op::Write(key, Version { number, tag }));
            return Ok(());
        }
        Ok(())
    }

    fn upsert_register(&mut self, key: Key, tag: u64) -> Result<()> {
        let first = ints([key, key % PARTS, 1, tag as i64]);
        let next = |row: &Row| ints([int(&row[2]) + 1, tag as i64]);
        let row = self.upsert(&self.tables.registers, &first, &["number", "tag"], next)?;
        self.ops.extend(row.map(|row| Op::Write(key, version(&row))));
        Ok(())
    }
}
