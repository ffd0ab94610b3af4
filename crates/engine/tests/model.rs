//! Random operations against a model table, under option sets that take every path with few rows.
//!
//! Every run prints its seed; `ONLAP_SEED=n cargo test -p onlap --test model` replays one.
//! `ONLAP_STEPS=n` makes the runs longer.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use onlap::{
    AsOf, Csn, DataType, Database, IndexSpec, KeyRange, Options, Row, Scan, Snapshot, SyncMode,
    Table, TableSpec, Transaction, Value,
};
use onlap_base::rng::Rng;

#[path = "model/blind.rs"]
mod blind;
#[path = "model/concurrent.rs"]
mod concurrent;
#[path = "model/lists.rs"]
mod lists;
#[path = "model/predicates.rs"]
mod predicates;
#[path = "model/schema.rs"]
mod schema;

/// Rows by primary key.
type Model = BTreeMap<i64, Row>;

fn spec(blind: bool) -> TableSpec {
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .nullable_column("b", DataType::Text)
        .column("c", DataType::Uuid)
        .nullable_column("d", DataType::Numeric(None))
        .nullable_column("e", DataType::Float8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).descending("a").include(["d"]))
        .index(IndexSpec::new("by_d_e", ["d", "e"]));
    let by_c = IndexSpec::new("by_c", ["c"]);
    match blind {
        true => spec.index(by_c).blind_writes(),
        false => spec.index(by_c.unique()).index(lists::by_letter()),
    }
}

/// How keys arrive and how small everything is.
#[derive(Clone, Debug)]
struct Setting {
    memtable_bytes: usize,
    block_bytes: usize,
    run_file_bytes: u64,
    fan_in: usize,
    rising: bool,
    background_jobs: usize,
    /// Whether the table keeps a history.
    history: bool,
    /// Whether it takes blind writes.
    blind: bool,
    pending_rows: u64,
}

const DAY: Duration = Duration::from_secs(86_400);

impl Setting {
    fn options(&self) -> Options {
        let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
        options.background_jobs = self.background_jobs;
        options.tuning.memtable_bytes = Some(self.memtable_bytes);
        options.tuning.block_bytes = self.block_bytes;
        options.tuning.block_rows = 64;
        options.tuning.run_file_bytes = self.run_file_bytes;
        options.tuning.merge_fan_in = self.fan_in;
        options.tuning.log_file_bytes = 1 << 20;
        options.log_limit = 4 << 20;
        options.tuning.pending_rows = self.pending_rows;
        options
    }
}

fn random_row(rng: &mut Rng, id: i64) -> Row {
    let text = ["", "a", "ab", "b\u{e9}", "zebra", "the same long text again and again, 35 bytes"];
    let maybe = |rng: &mut Rng, v: Value| if rng.below(8) == 0 { Value::Null } else { v };
    let a = Value::Int(rng.below(20) as i64 - 10);
    let a = maybe(rng, a);
    let b = Value::Text(text[rng.below(6) as usize].into());
    let b = maybe(rng, b);
    let mut c = [0; 16];
    c[..8].copy_from_slice(&rng.next_u64().to_be_bytes());
    c[8..].copy_from_slice(&id.to_be_bytes());
    let d = Value::Numeric(onlap::Numeric {
        mantissa: i128::from(rng.below(50)) - 25,
        scale: rng.below(3) as u8,
    });
    let d = maybe(rng, d);
    let e = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, -2.25e10][rng.below(6) as usize];
    let e = maybe(rng, Value::Float(e));
    vec![Value::Int(id), a, b, Value::Uuid(c), d, e]
}

/// Rows compare by how they print, which tells NaN from NULL and 1.0 from 1.00.
fn shown(rows: impl IntoIterator<Item = Row>) -> Vec<String> {
    let mut out: Vec<String> = rows.into_iter().map(|r| format!("{r:?}")).collect();
    out.sort();
    out
}

fn open(dir: &tempfile::TempDir, setting: &Setting) -> Database {
    let db = Database::open(dir.path(), setting.options()).unwrap();
    db.set_formulas(Arc::new(lists::Letters));
    db
}

struct Run {
    seed: u64,
    rng: Rng,
    setting: Setting,
    dir: tempfile::TempDir,
    db: Option<Database>,
    model: Model,
    next_id: i64,
    held: Vec<(Snapshot, Model)>,
    /// What commits showed that the table's history reaches back to.
    past: Vec<(Csn, Model)>,
    schema: schema::Schema,
}

impl Run {
    fn new(seed: u64, setting: Setting) -> Run {
        let dir = tempfile::tempdir().unwrap();
        let db = open(&dir, &setting);
        let spec = spec(setting.blind);
        let spec = if setting.history { spec.history(DAY) } else { spec };
        db.create_table(spec).unwrap();
        Run {
            seed,
            rng: Rng::new(seed),
            setting,
            dir,
            db: Some(db),
            model: Model::new(),
            next_id: 1,
            held: Vec::new(),
            past: Vec::new(),
            schema: schema::Schema::new(),
        }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().unwrap()
    }

    fn table(&self) -> Table {
        self.db().table("t").unwrap()
    }

    fn new_id(&mut self) -> i64 {
        self.next_id += 1;
        if self.setting.rising { self.next_id } else { self.rng.below(1 << 40) as i64 }
    }

    fn some_id(&mut self) -> i64 {
        let n = self.model.len() as u64;
        if n == 0 || self.rng.below(10) == 0 {
            return self.rng.below(1 << 40) as i64;
        }
        *self.model.keys().nth(self.rng.below(n) as usize).unwrap()
    }

    fn step(&mut self) {
        if self.setting.blind && self.rng.below(2) == 0 {
            self.blind_step();
            return;
        }
        match self.rng.below(100) {
            0..30 => self.insert_many(),
            30..40 => self.delete_one(),
            40..52 => self.update_one(),
            52..60 => self.by_predicate(),
            60..67 => self.transaction(),
            67..72 => self.concurrent(),
            72..77 => self.insert_duplicate(),
            77..79 => self.delete_by_index(),
            79 => self.retain(),
            80..84 => self.hold_snapshot(),
            84..86 => self.check_held(),
            86 => self.check_past(),
            87..90 => self.db().flush().unwrap(),
            90..92 => self.db().settle().unwrap(),
            92..94 => self.reopen(),
            94..97 => self.change_schema(),
            _ => self.check(),
        }
    }

    fn insert_many(&mut self) {
        let most = if self.rng.below(10) == 0 { 2000 } else { 60 };
        let mut fresh = Model::new();
        let mut rows = Vec::new();
        for _ in 0..1 + self.rng.below(most) {
            let id = self.new_id();
            if !self.model.contains_key(&id) && !fresh.contains_key(&id) {
                rows.push(self.row(id));
                fresh.insert(id, rows[rows.len() - 1].clone());
            }
        }
        self.table().insert_many(&rows).unwrap();
        self.model.extend(fresh);
    }

    fn delete_one(&mut self) {
        let id = self.some_id();
        let found = self.table().delete(&[Value::Int(id)]).unwrap();
        assert_eq!(found, self.model.remove(&id).is_some(), "delete of {id}");
    }

    fn update_one(&mut self) {
        let id = self.some_id();
        let changes = self.changes();
        let given: Vec<(&str, Value)> = changes.iter().map(|(n, v)| (*n, v.clone())).collect();
        let found = self.table().update(&[Value::Int(id)], &given).unwrap();
        assert_eq!(found, self.model.contains_key(&id), "update of {id}");
        if let Some(row) = self.model.get_mut(&id) {
            apply(row, &changes);
        }
    }

    fn changes(&mut self) -> Vec<(&'static str, Value)> {
        let row = random_row(&mut self.rng, 0);
        let mut changes = vec![("a", row[1].clone())];
        if self.rng.below(2) == 0 {
            changes.push(("d", row[4].clone()));
        }
        changes
    }

    fn transaction(&mut self) {
        let mut tx = self.db().begin().unwrap();
        let table = self.table();
        let mut model = self.model.clone();
        let schema = self.schema.clone();
        let changes_indexes = self.rng.below(4) == 0;
        for _ in 0..self.rng.below(12) {
            let id = self.some_id();
            match self.rng.below(5) {
                4 if changes_indexes => self.change_indexes_in(&mut tx, &table, model.len()),
                0 => {
                    let id = self.new_id();
                    if let Entry::Vacant(free) = model.entry(id) {
                        let row = self.row(id);
                        tx.insert(&table, &row).unwrap();
                        free.insert(row);
                    }
                }
                1 => {
                    let found = tx.delete(&table, &[Value::Int(id)]).unwrap();
                    assert_eq!(found, model.remove(&id).is_some());
                }
                2 => {
                    let changes = self.changes();
                    let found = tx.update(&table, &[Value::Int(id)], &changes).unwrap();
                    assert_eq!(found, model.contains_key(&id));
                    if let Some(row) = model.get_mut(&id) {
                        apply(row, &changes);
                    }
                }
                _ => {
                    let got = tx.get(&table, &[Value::Int(id)]).unwrap();
                    assert_eq!(shown(got), shown(model.get(&id).cloned()));
                }
            }
        }
        self.end(tx, model, schema);
    }

    /// Commits, or goes back to the schema from before.
    fn end(&mut self, tx: Transaction, model: Model, before: schema::Schema) {
        if self.rng.below(3) == 0 {
            tx.rollback();
            self.schema = before;
        } else {
            tx.commit().unwrap();
            self.model = model;
        }
    }

    fn insert_duplicate(&mut self) {
        let id = self.some_id();
        if self.model.contains_key(&id) {
            let row = self.row(id);
            let e = self.table().insert(&row).unwrap_err();
            assert_eq!(e.kind(), onlap::ErrorKind::DuplicateKey, "{e}");
        }
    }

    fn delete_by_index(&mut self) {
        let a = Value::Int(self.rng.below(20) as i64 - 10);
        let table = self.table();
        let snapshot = self.db().snapshot().unwrap();
        let rows = snapshot.index_row_ids(&table, "by_a", KeyRange::eq([a.clone()])).unwrap();
        let mut tx = self.db().begin().unwrap();
        let n = tx.delete_rows(&table, &rows).unwrap();
        tx.commit().unwrap();
        let before = self.model.len();
        self.model.retain(|_, r| r[1] != a);
        assert_eq!(n as usize, before - self.model.len());
    }

    fn hold_snapshot(&mut self) {
        if self.held.len() == 4 {
            let at = self.rng.below(4) as usize;
            self.held.swap_remove(at);
        }
        let snapshot = self.db().snapshot().unwrap();
        if self.setting.history {
            if self.past.len() == 6 {
                let at = self.rng.below(6) as usize;
                self.past.swap_remove(at);
            }
            self.past.push((snapshot.csn(), self.model.clone()));
        }
        self.held.push((snapshot, self.model.clone()));
    }

    fn check_past(&mut self) {
        let table = self.table();
        for (csn, model) in &self.past {
            let snapshot = self.db().snapshot_as_of(AsOf::Csn(*csn)).unwrap();
            check_rows(self.seed, &snapshot, &table, model);
        }
    }

    /// Removes rows below a bound that a small part of the rows is below.
    fn retain(&mut self) {
        let (column, at) = if self.rng.below(2) == 0 { ("id", 0) } else { ("a", 1) };
        let share = 1 + self.rng.below(8) as usize;
        let mut values: Vec<i64> = (self.model.values())
            .filter_map(|row| match row[at] {
                Value::Int(i) => Some(i),
                _ => None,
            })
            .collect();
        values.sort_unstable();
        let Some(&bound) = values.get(values.len() * share / 40) else { return };
        let removed = self.table().retain(column, &Value::Int(bound)).unwrap();
        let before = self.model.len();
        self.model.retain(|_, row| !matches!(row[at], Value::Int(i) if i < bound));
        assert_eq!(removed as usize, before - self.model.len(), "{column} from {bound}");
    }

    fn check_held(&mut self) {
        let table = self.table();
        for (snapshot, model) in &self.held {
            check_rows(self.seed, snapshot, &table, model);
        }
    }

    fn reopen(&mut self) {
        self.held.clear();
        let db = self.db.take().unwrap();
        if self.rng.below(2) == 0 {
            db.close().unwrap();
        } else {
            drop(db);
        }
        self.db = Some(open(&self.dir, &self.setting));
        self.check();
    }

    fn check(&mut self) {
        let table = self.table();
        let snapshot = self.db().snapshot().unwrap();
        check_rows(self.seed, &snapshot, &table, &self.model);
        for _ in 0..5 {
            let id = self.some_id();
            let got = snapshot.get(&table, &[Value::Int(id)], None).unwrap();
            assert_eq!(shown(got), shown(self.model.get(&id).cloned()), "seed {}", self.seed);
        }
        self.check_ranges(&snapshot, &table);
    }

    /// Ranges of an index, both ways, with limits, against the model.
    fn check_ranges(&mut self, snapshot: &Snapshot, table: &Table) {
        let (low, high) = (self.rng.below(20) as i64 - 10, self.rng.below(20) as i64 - 10);
        let range = KeyRange::between([Value::Int(low)], [Value::Int(high)]);
        let limit = 1 + self.rng.below(30) as usize;
        let reverse = self.rng.below(2) == 0;
        let mut scan = Scan::all().columns(["a", "id"]).limit(limit);
        if reverse {
            scan = scan.reverse();
        }
        let got = snapshot.index_scan(table, "by_a", range, scan).unwrap().rows().unwrap();
        let mut expected: Vec<i64> = (self.model.values())
            .filter_map(|r| match r[1] {
                Value::Int(a) if a >= low && a <= high => Some(a),
                _ => None,
            })
            .collect();
        expected.sort_unstable();
        if reverse {
            expected.reverse();
        }
        expected.truncate(limit);
        let keys: Vec<i64> = got.iter().map(|r| int(&r[0])).collect();
        assert_eq!(keys, expected, "seed {}: a in {low}..={high}", self.seed);
        for row in &got {
            assert_eq!(self.model[&int(&row[1])][1], row[0], "seed {}", self.seed);
        }
    }
}

fn int(v: &Value) -> i64 {
    match v {
        Value::Int(i) => *i,
        other => panic!("{other:?} is no integer"),
    }
}

fn apply(row: &mut Row, changes: &[(&'static str, Value)]) {
    for (name, value) in changes {
        let at = ["id", "a", "b", "c", "d", "e"].iter().position(|n| n == name).unwrap();
        row[at] = value.clone();
    }
}

/// The table and every index, read whole, hold exactly the model's rows (I4).
fn check_rows(seed: u64, snapshot: &Snapshot, table: &Table, model: &Model) {
    let expected = shown(model.values().cloned());
    let scanned = snapshot.scan(table, Scan::all()).unwrap().rows().unwrap();
    assert_eq!(shown(scanned), expected, "seed {seed}: table scan");
    assert_eq!(snapshot.count(table).unwrap() as usize, model.len(), "seed {seed}");
    for index in &table.schema().indexes {
        if index.multi_entry {
            lists::check_letters(seed, snapshot, table, model);
            continue;
        }
        let rows = snapshot.index_scan(table, &index.name, KeyRange::all(), Scan::all()).unwrap();
        assert_eq!(shown(rows.rows().unwrap()), expected, "seed {seed}: index {}", index.name);
        let back = Scan::all().reverse().columns(["id"]);
        let back = snapshot.index_scan(table, &index.name, KeyRange::all(), back).unwrap();
        let there = Scan::all().columns(["id"]);
        let there = snapshot.index_scan(table, &index.name, KeyRange::all(), there).unwrap();
        let (back, mut there) = (back.rows().unwrap(), there.rows().unwrap());
        there.reverse();
        assert_eq!(back, there, "seed {seed}: index {} backward", index.name);
    }
}

fn run(name: &str, setting: Setting, seed: u64, steps: u64) {
    let seed = env("ONLAP_SEED").unwrap_or(seed);
    let steps = env("ONLAP_STEPS").unwrap_or(steps);
    let setting = Setting { history: seed.is_multiple_of(2), ..setting };
    println!("{name}: seed {seed}, {steps} steps, {setting:?}");
    let mut run = Run::new(seed, setting);
    for _ in 0..steps {
        run.step();
    }
    run.check_held();
    run.check_past();
    run.held.clear();
    run.check();
    let db = run.db.take().unwrap();
    db.close().unwrap();
    let options = onlap::CheckOptions { options: run.setting.options() };
    let report = onlap::check_with(run.dir.path(), &options, &|db| {
        db.set_formulas(Arc::new(lists::Letters));
    });
    let report = report.unwrap();
    assert!(report.findings.is_empty(), "seed {seed}: {:?}", report.findings);
    assert_eq!(report.rows as usize, run.model.len(), "seed {seed}");
}

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|v| v.parse().unwrap_or_else(|_| panic!("{name}={v}: no number")))
}

fn small() -> Setting {
    Setting {
        memtable_bytes: 40_000,
        block_bytes: 600,
        run_file_bytes: 4000,
        fan_in: 2,
        rising: false,
        background_jobs: 2,
        history: false,
        blind: false,
        pending_rows: 1 << 20,
    }
}

#[test]
fn tiny_everything_random_keys() {
    for seed in 1..=4 {
        run("tiny", small(), seed, 250);
    }
}

#[test]
fn tiny_everything_rising_keys() {
    for seed in 11..=14 {
        run("tiny, rising", Setting { rising: true, ..small() }, seed, 250);
    }
}

#[test]
fn memtables_flush_rarely() {
    let setting = Setting { memtable_bytes: 4 << 20, block_bytes: 16 << 10, ..small() };
    for seed in 21..=23 {
        run("large memtables", setting.clone(), seed, 250);
    }
}

#[test]
fn one_background_job_large_fan_in() {
    let setting = Setting { fan_in: 8, background_jobs: 1, ..small() };
    for seed in 31..=33 {
        run("one job", setting.clone(), seed, 250);
    }
}
