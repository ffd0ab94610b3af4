//! Blind writes next to the model, alone and mixed with statements that read.

use onlap::{Batch, DataType, Isolation, TransactionOptions, convert};

use super::*;

fn batch_of(types: &[DataType], rows: &[Row]) -> Batch {
    let mut batch = Batch::new(types.iter().map(|ty| ty.physical()));
    for row in rows {
        for ((ty, column), value) in types.iter().zip(&mut batch.columns).zip(row) {
            match value {
                Value::Null => column.push_null(),
                value => convert::push_value(*ty, value, column, "a column").unwrap(),
            }
        }
        batch.rows += 1;
    }
    batch
}

impl Run {
    /// One that was written before, most of the time.
    fn blind_id(&mut self) -> i64 {
        if self.rng.below(4) == 0 { self.new_id() } else { self.some_id() }
    }

    pub(super) fn blind_step(&mut self) {
        match self.rng.below(10) {
            0..4 => self.upsert_some(),
            4..6 => self.delete_some_blindly(),
            6 => self.upsert_many(),
            _ => self.blind_transaction(),
        }
    }

    fn upsert_some(&mut self) {
        for _ in 0..1 + self.rng.below(4) {
            let id = self.blind_id();
            let row = self.row(id);
            self.table().upsert(&row).unwrap();
            self.model.insert(id, row);
        }
    }

    fn upsert_many(&mut self) {
        let most = if self.rng.below(6) == 0 { 1000 } else { 60 };
        let mut rows = Vec::new();
        for _ in 0..1 + self.rng.below(most) {
            let id = self.blind_id();
            let row = self.row(id);
            rows.push(row);
        }
        let types: Vec<DataType> = self.table().schema().columns.iter().map(|c| c.ty).collect();
        self.table().upsert_batch(batch_of(&types, &rows)).unwrap();
        self.model.extend(rows.into_iter().map(|row| (int(&row[0]), row)));
    }

    fn delete_some_blindly(&mut self) {
        let ids: Vec<i64> = (0..1 + self.rng.below(4)).map(|_| self.blind_id()).collect();
        if self.rng.below(2) == 0 {
            let rows: Vec<Row> = ids.iter().map(|id| vec![Value::Int(*id)]).collect();
            self.table().delete_blind_batch(batch_of(&[DataType::Int8], &rows)).unwrap();
        } else {
            let mut tx = self.db().begin_with(read_committed()).unwrap();
            ids.iter().for_each(|id| tx.delete_blind(&self.table(), &[Value::Int(*id)]).unwrap());
            tx.commit().unwrap();
        }
        self.model.retain(|id, _| !ids.contains(id));
    }

    fn blind_transaction(&mut self) {
        let mut tx = self.db().begin_with(read_committed()).unwrap();
        let table = self.table();
        let mut model = self.model.clone();
        let schema = self.schema.clone();
        let mut saved = None;
        let mut used = Vec::new();
        for _ in 0..self.rng.below(14) {
            // Keys of this transaction come up again.
            let id = match self.rng.below(2) {
                0 if !used.is_empty() => used[self.rng.below(used.len() as u64) as usize],
                _ => self.blind_id(),
            };
            used.push(id);
            let key = [Value::Int(id)];
            match self.rng.below(10) {
                0..3 => {
                    let row = self.row(id);
                    tx.upsert(&table, &row).unwrap();
                    model.insert(id, row);
                }
                3 | 4 => {
                    tx.delete_blind(&table, &key).unwrap();
                    model.remove(&id);
                }
                5 => {
                    let row = self.row(id);
                    match (tx.insert(&table, &row), model.entry(id)) {
                        (Ok(()), Entry::Vacant(free)) => drop(free.insert(row)),
                        (Err(e), Entry::Occupied(_)) => {
                            assert_eq!(e.kind(), onlap::ErrorKind::DuplicateKey, "{e}");
                        }
                        (got, _) => panic!("seed {}: insert of {id}: {got:?}", self.seed),
                    }
                }
                6 => {
                    let found = tx.delete(&table, &key).unwrap();
                    assert_eq!(found, model.remove(&id).is_some(), "seed {}", self.seed);
                }
                7 => {
                    let changes = self.changes();
                    let found = tx.update(&table, &key, &changes).unwrap();
                    assert_eq!(found, model.contains_key(&id), "seed {}", self.seed);
                    if let Some(row) = model.get_mut(&id) {
                        apply(row, &changes);
                    }
                }
                8 => match saved.take() {
                    Some((savepoint, before)) => {
                        tx.rollback_to(&savepoint).unwrap();
                        model = before;
                    }
                    None => saved = Some((tx.savepoint(), model.clone())),
                },
                _ => self.compare_inside(&mut tx, &table, &model, id),
            }
        }
        self.end(tx, model, schema);
    }

    fn compare_inside(&mut self, tx: &mut Transaction, table: &Table, model: &Model, id: i64) {
        let seed = self.seed;
        let got = tx.get(table, &[Value::Int(id)]).unwrap();
        assert_eq!(shown(got), shown(model.get(&id).cloned()), "seed {seed}");
        let got = tx.get_by(table, "t_pkey", &[Value::Int(id)], None).unwrap();
        assert_eq!(shown(got), shown(model.get(&id).cloned()), "seed {seed}");
        let expected = shown(model.values().cloned());
        let rows = tx.scan(table, Scan::all()).unwrap().rows().unwrap();
        assert_eq!(shown(rows), expected, "seed {seed}");
        let rows = tx.index_scan(table, "by_a", KeyRange::all(), Scan::all()).unwrap();
        assert_eq!(shown(rows.rows().unwrap()), expected, "seed {seed}");
        assert_eq!(tx.count(table).unwrap() as usize, model.len(), "seed {seed}");
        let n = tx.index_count(table, "by_b_a", KeyRange::all()).unwrap();
        assert_eq!(n as usize, model.len(), "seed {seed}");
    }
}

fn read_committed() -> TransactionOptions {
    TransactionOptions::at(Isolation::ReadCommitted)
}

#[test]
fn blind_writes() {
    let setting = Setting { blind: true, pending_rows: 80, ..small() };
    for seed in 41..=46 {
        run("blind", setting.clone(), seed, 250);
    }
}

#[test]
fn blind_writes_with_rising_keys_and_rare_flushes() {
    let large = Setting { blind: true, memtable_bytes: 4 << 20, block_bytes: 16 << 10, ..small() };
    for seed in 51..=53 {
        run("blind, rising", Setting { blind: true, rising: true, ..small() }, seed, 250);
        run("blind, large memtables", large.clone(), seed, 250);
    }
}
