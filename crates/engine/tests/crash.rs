//! What is there after the power went?
//!
//! Random histories over two tables, one of which takes blind writes, in mode `fsync` on a file system in memory, with the power cut at
//! a random file operation: in the middle of commits, flushes, merges, schema changes, closing, and
//! of the recovery from the cut before. Of everything unsynced a random share survives. Whatever a
//! database shows when it is open again is acknowledged or was asked for, is there as a whole, and
//! from then on never goes away (I3). In the other modes the last commits may go, in order and whole.
//!
//! `ONLAP_SEED=n` replays a history as far as threads allow, `ONLAP_HISTORIES=n` runs more.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap::{
    DataType, Database, IndexSpec, Isolation, KeysKept, Result, Row, SyncMode, TableSpec,
    TransactionOptions, Value,
};
use onlap_base::rng::Rng;
use onlap_testkit::for_seeds;
use onlap_vfs::{Fault, FaultFs, Fs, MemFs};
use support::{agreed_rows, integer, small_options};

/// Histories in a test run, and how often the power goes in each.
const HISTORIES: u64 = 100;
const CUTS: u64 = 6;

/// Rows of the first table by primary key. The second one repeats key and `a`.
type Model = BTreeMap<i64, Row>;

fn first_spec() -> TableSpec {
    TableSpec::new("first")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .nullable_column("b", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).descending("a"))
        .index(IndexSpec::new("by_b_short", ["b", "id"]).keys(KeysKept::Short))
        .index(IndexSpec::new("by_a_id", ["a", "id"]).unique())
}

fn second_spec() -> TableSpec {
    TableSpec::new("second")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .blind_writes()
}

fn random_row(rng: &mut Rng, id: i64) -> Row {
    let a = match rng.below(6) {
        0 => Value::Null,
        _ => Value::Int(rng.below(30) as i64 - 15),
    };
    let b = match rng.below(6) {
        0 => Value::Null,
        n => Value::Text("some text to fill a block".repeat(n as usize)),
    };
    vec![Value::Int(id), a, b]
}

/// A database and what it may hold.
struct History {
    rng: Rng,
    disk: MemFs,
    mode: SyncMode,
    /// What was acknowledged, or seen since the last cut.
    kept: Model,
    /// Outside mode `fsync`: what it was after each commit that the last cut may have undone.
    before: Vec<Model>,
    /// The power has gone since `kept` was last seen.
    cut: bool,
    /// With the commit that was under way when the power went.
    asked: Option<Model>,
    next_id: i64,
}

impl History {
    fn new(rng: Rng, mode: SyncMode) -> History {
        let (kept, before) = (Model::new(), Vec::new());
        History { rng, disk: MemFs::new(), mode, kept, before, cut: false, asked: None, next_id: 0 }
    }

    /// Opens the database and works on it until the power goes, at a file operation of the recovery
    /// or later.
    fn live(&mut self) {
        let fs = FaultFs::new(Arc::new(self.disk.clone()));
        let most = if self.rng.chance(0.4) { 60 } else { 1500 };
        let fault = Fault::any().after(self.rng.below(most)).for_ever();
        fs.fail(if self.rng.chance(0.5) { fault.torn() } else { fault });
        let steps = 20 + self.rng.below(150);
        if let Err(e) = self.work(&fs, steps) {
            assert!(fs.struck() > 0, "with power on: {e:?}");
        }
        let share = [0.0, 0.1, 0.5, 0.9, 1.0][self.rng.index(5)];
        self.disk = self.disk.crash(self.rng.next_u64(), share);
        self.cut = true;
    }

    fn work(&mut self, fs: &FaultFs, steps: u64) -> Result<()> {
        let mut db = self.open(Arc::new(fs.clone()))?;
        for _ in 0..steps {
            match self.rng.below(100) {
                0..85 => self.commit(&db)?,
                85..91 => db.flush()?,
                91..93 => db.settle()?,
                93..95 => toggle_index(&db)?,
                95..98 => {
                    if self.rng.chance(0.5) {
                        db.close()?;
                    } else {
                        drop(db);
                    }
                    db = self.open(Arc::new(fs.clone()))?;
                }
                _ => self.compare(&db)?,
            }
        }
        Ok(())
    }

    /// Opens the database and finds out whether the commit that the cut met is there.
    fn open(&mut self, fs: Arc<dyn Fs>) -> Result<Database> {
        let mut options = small_options(self.mode);
        options.fs = fs;
        let db = Database::open("/db", options)?;
        for spec in [first_spec(), second_spec()] {
            if db.tables().iter().all(|t| t.name() != spec.name()) {
                db.create_table(spec)?;
            }
        }
        self.compare(&db)?;
        Ok(db)
    }

    /// Compares both tables and all indexes with what must be there.
    fn compare(&mut self, db: &Database) -> Result<()> {
        let first = agreed_rows(db, "first")?;
        let second = agreed_rows(db, "second")?;
        let repeated: Vec<Row> = first.iter().map(|row| row[..2].to_vec()).collect();
        assert!(repeated == second, "a commit reached one of its two tables");
        let found: Model = first.into_iter().map(|row| (integer(&row[0]), row)).collect();
        if let Some(asked) = self.asked.take()
            && found == asked
        {
            self.kept = asked;
        }
        if std::mem::take(&mut self.cut) {
            let before = std::mem::take(&mut self.before);
            let same = before.into_iter().find(|model| *model == found);
            self.kept = same.unwrap_or(std::mem::take(&mut self.kept));
        }
        if found != self.kept {
            let lost: Vec<_> = self.kept.iter().filter(|(k, v)| found.get(k) != Some(v)).collect();
            let more: Vec<_> = found.iter().filter(|(k, v)| self.kept.get(k) != Some(v)).collect();
            panic!(
                "{} rows are there, {} should be; not as they should be: {:?}; not asked for: {:?}",
                found.len(),
                self.kept.len(),
                &lost[..lost.len().min(3)],
                &more[..more.len().min(3)]
            );
        }
        Ok(())
    }

    fn commit(&mut self, db: &Database) -> Result<()> {
        let (first, second) = (db.table("first")?, db.table("second")?);
        let mut model = self.kept.clone();
        let blind = self.rng.chance(0.6);
        let level = if blind { Isolation::ReadCommitted } else { Isolation::RepeatableRead };
        let mut tx = db.begin_with(TransactionOptions::at(level))?;
        let most = if self.rng.below(20) == 0 { 300 } else { 8 };
        for _ in 0..1 + self.rng.below(most) {
            let known = !model.is_empty() && self.rng.chance(0.4);
            if !known {
                self.next_id += 1;
                let id = self.next_id ^ (self.rng.below(4) as i64) << 40;
                let row = random_row(&mut self.rng, id);
                tx.insert(&first, &row)?;
                if blind {
                    tx.upsert(&second, &row[..2])?;
                } else {
                    tx.insert(&second, &row[..2])?;
                }
                model.insert(id, row);
                continue;
            }
            let at = self.rng.index(model.len());
            let id = *model.keys().nth(at).expect("the index is below the length");
            let key = [Value::Int(id)];
            if self.rng.chance(0.5) {
                assert!(tx.delete(&first, &key)?, "row {id}");
                if blind {
                    tx.delete_blind(&second, &key)?;
                } else {
                    assert!(tx.delete(&second, &key)?, "row {id}");
                }
                model.remove(&id);
            } else {
                let row = random_row(&mut self.rng, id);
                let b = [("b", row[2].clone()), ("a", row[1].clone())];
                assert!(tx.update(&first, &key, &b)?, "row {id}");
                if blind {
                    tx.upsert(&second, &row[..2])?;
                } else {
                    assert!(tx.update(&second, &key, &b[1..])?, "row {id}");
                }
                model.insert(id, row);
            }
        }
        self.asked = Some(model.clone());
        tx.commit()?;
        let before = std::mem::replace(&mut self.kept, model);
        self.asked = None;
        if self.mode != SyncMode::Fsync {
            self.before.push(before);
        }
        Ok(())
    }
}

fn toggle_index(db: &Database) -> Result<()> {
    let table = db.table("first")?;
    if table.schema().indexes.iter().any(|i| i.name == "extra") {
        db.drop_index("first", "extra")
    } else {
        db.create_index("first", IndexSpec::new("extra", ["b"]).include(["a"]))
    }
}

fn histories() -> u64 {
    let histories = std::env::var("ONLAP_HISTORIES").ok();
    histories.map_or(HISTORIES, |n| n.parse().expect("a number of histories"))
}

#[test]
fn power_goes_at_random_operations_and_again_during_recovery() {
    for_seeds("power cuts", histories(), |rng| cut_again_and_again(rng, SyncMode::Fsync));
}

#[test]
fn without_syncs_the_power_leaves_whole_commits_in_order() {
    for_seeds("power cuts, os", histories() / 2, |rng| cut_again_and_again(rng, SyncMode::Os));
    let interval = SyncMode::Interval(std::time::Duration::from_millis(1));
    for_seeds("power cuts, interval", histories() / 2, |rng| cut_again_and_again(rng, interval));
}

fn cut_again_and_again(rng: Rng, mode: SyncMode) {
    let mut history = History::new(rng, mode);
    for _ in 0..CUTS {
        history.live();
    }
    let disk: Arc<dyn Fs> = Arc::new(history.disk.clone());
    let db = history.open(Arc::clone(&disk)).unwrap();
    db.settle().unwrap();
    history.compare(&db).unwrap();
    db.close().unwrap();
    let mut options = onlap::CheckOptions { options: small_options(mode) };
    options.options.fs = disk;
    let report = onlap::check("/db", &options).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(report.rows as usize, 2 * history.kept.len());
}
