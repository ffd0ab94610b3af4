//! Slots: rows that come and go blindly, and by statements that look.

use onlap::{ErrorKind, Isolation, KeyRange, Result, Row, Scan, Value};
use onlap_base::rng::Rng;
use onlap_testkit::cycles::{Element, Key, Op};

use super::{Doing, PARTS, SLOTS, int, ints};

impl Doing<'_> {
    fn note_slots(&mut self, rows: &[(i64, i64)], keys: impl Iterator<Item = Key>) {
        for key in keys {
            let found = rows.iter().filter(|row| row.0 == key).map(|row| row.1 as Element);
            let before = self.ops.len();
            self.ops.extend(found.map(|tag| Op::ReadSlot(key, tag)));
            if self.ops.len() == before {
                self.ops.push(Op::ReadSlot(key, 0));
            }
        }
    }

    pub fn read_slots(&mut self, rng: &mut Rng) -> Result<()> {
        let table = &self.tables.slots;
        let whole = |rows: Vec<Row>| -> Vec<(i64, i64)> {
            rows.iter().map(|row| (int(&row[0]), int(&row[2]))).collect()
        };
        let rows = match rng.below(4) {
            0 => {
                let key = rng.range(0..SLOTS);
                let rows = whole(Vec::from_iter(self.tx.get(table, &[Value::Int(key)])?));
                self.note_slots(&rows, [key].into_iter());
                return Ok(());
            }
            1 => {
                let part = rng.range(0..PARTS);
                let range = KeyRange::eq([Value::Int(part)]);
                let rows = whole(self.by_index(rng, table, "by_part", range, Scan::all())?);
                self.note_slots(&rows, (0..SLOTS).filter(|key| key % PARTS == part));
                return Ok(());
            }
            2 => {
                let range = KeyRange::from([Value::Int(0)]);
                let scan = Scan::all();
                // The entries hold all that is wanted.
                let scan = if rng.chance(0.5) { scan.columns(["id", "part", "tag"]) } else { scan };
                whole(self.by_index(rng, table, "by_tag", range, scan)?)
            }
            _ => whole(self.tx.scan(table, Scan::all())?.rows()?),
        };
        self.note_slots(&rows, 0..SLOTS);
        Ok(())
    }

    pub fn put(&mut self, rng: &mut Rng, tag: Element) -> Result<()> {
        let (table, key) = (&self.tables.slots, rng.range(0..SLOTS));
        let row = ints([key, key % PARTS, tag as i64]);
        // What looked at a row sees others' blind rows next to its own until it is refused: see
        // `docs/guarantees.md`. A blind write on top would save it.
        let looked = self.ops.iter().any(|op| matches!(op, Op::Put(k, _, Some(_)) if *k == key));
        let blind = self.tx.isolation() == Isolation::ReadCommitted && !looked;
        let (done, tag) = match rng.below(10) {
            0..5 if blind => (self.tx.upsert(table, &row), tag),
            5..8 if blind => (self.tx.delete_blind(table, &[Value::Int(key)]), 0),
            _ => return self.update_slot(key, tag),
        };
        match done {
            // One that has outgrown its memory does not write blindly.
            Err(e) if e.kind() == ErrorKind::Unsupported => Ok(()),
            done => done.map(|()| self.ops.push(Op::Put(key, tag, None))),
        }
    }

    fn update_slot(&mut self, key: Key, tag: Element) -> Result<()> {
        let (table, mut seen) = (&self.tables.slots, 0);
        let set = |row: &mut Row| {
            seen = int(&row[2]) as Element;
            row[2] = Value::Int(tag as i64);
            Ok(())
        };
        let found = self.tx.update_with(table, &[Value::Int(key)], &["tag"], set)?;
        self.ops.push(Op::ReadSlot(key, seen));
        // A snapshot does not see that a key was taken and given up again, which nobody forbids.
        if !found && self.tx.isolation() == Isolation::RepeatableRead {
            return Ok(());
        }
        if !found {
            self.tx.insert(table, &ints([key, key % PARTS, tag as i64]))?;
        }
        self.ops.push(Op::Put(key, tag, Some(seen)));
        Ok(())
    }
}
