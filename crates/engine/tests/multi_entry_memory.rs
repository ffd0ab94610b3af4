//! Is what an index with several entries of a row holds bounded, however many there are?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::sync::{Arc, Mutex};

use onlap::{
    BytesVec, CheckOptions, Column, DataType, Database, DerivedSpec, Formula, Formulas, IndexSpec,
    KeyRange, Options, Result, SyncMode, Table, TableSchema, TableSpec, Value, Vector, check_with,
    entries,
};
use onlap_base::memory::Part;
use onlap_testkit::heap::{self, CountingAllocator};

const MIB: usize = 1 << 20;

/// The tests of this file run one after the other.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Many keys of a short text: numbers that follow from it.
struct Many;

/// Keys of a row.
const KEYS: u64 = 500;
/// Different keys.
const WORDS: u64 = 20_000;

fn keys_of(seed: u64) -> Vec<[u8; 8]> {
    let mut state = seed;
    (0..KEYS).map(|_| (onlap_base::rng::splitmix(&mut state) % WORDS).to_be_bytes()).collect()
}

impl Formulas for Many {
    fn calculate(
        &self,
        _: &TableSchema,
        _: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column> {
        let Vector::Int(seeds) = &inputs[0].data else { panic!("seeds are numbers") };
        let mut lists = BytesVec::default();
        for seed in &seeds[..rows] {
            lists.push(&entries::pack(&mut keys_of(*seed as u64))?);
        }
        Ok(Column { data: Vector::Bytes(lists), nulls: None })
    }
}

fn by_number() -> IndexSpec {
    let lists = DerivedSpec {
        name: "numbers".into(),
        ty: DataType::Bytea,
        reads: vec!["id".into()],
        program: "numbers".into(),
    };
    IndexSpec::new("by_number", [] as [&str; 0]).entries(lists)
}

fn options() -> Options {
    Options::default().sync(SyncMode::Os).memory_limit(64 << 20)
}

fn open(dir: &tempfile::TempDir) -> Database {
    let db = Database::open(dir.path(), options()).unwrap();
    db.set_formulas(Arc::new(Many));
    db
}

fn spec() -> TableSpec {
    TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"])
}

fn right(db: &Database, table: &Table, rows: i64) {
    let snapshot = db.snapshot().unwrap();
    for word in [0, 7, WORDS - 1, WORDS] {
        let key = KeyRange::eq([Value::Bytes(word.to_be_bytes().to_vec())]);
        let found = snapshot.index_count(table, "by_number", key).unwrap();
        let has = |id: &i64| keys_of(*id as u64).contains(&word.to_be_bytes());
        assert_eq!(found, (0..rows).filter(has).count() as u64, "{word}");
    }
}

fn runs(db: &Database) -> usize {
    let stats = db.stats_without_keys().unwrap();
    let index = stats.tables[0].indexes.iter().find(|i| i.name == "by_number").unwrap();
    index.runs.len()
}

fn checked(dir: &tempfile::TempDir) {
    let options = CheckOptions { options: options() };
    let report = check_with(dir.path(), &options, &|db| db.set_formulas(Arc::new(Many))).unwrap();
    assert_eq!((report.findings, report.unchecked), (Vec::new(), 0));
}

/// 10 million entries, 90 MB of lists, for a build that may use 9 MiB.
#[test]
fn a_build_of_more_entries_than_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir);
    let table = db.create_table(spec()).unwrap();
    let rows = 20_000;
    table.insert_many((0..rows).map(|id| [Value::Int(id)])).unwrap();
    db.flush().unwrap();
    let before = heap::begin();
    db.create_index("t", by_number()).unwrap();
    let peak = heap::peak() - before;
    println!("{} KiB of a build", peak >> 10);
    // All that the database may use: the cache takes what is idle.
    assert!(peak < 64 * MIB, "{peak}");
    assert!(runs(&db) <= 8 + 2, "{}", runs(&db));
    right(&db, &table, rows);
    drop(table);
    db.close().unwrap();
    checked(&dir);
}

/// The same entries come with their rows: memtables are flushed before they outgrow their part.
#[test]
fn memtables_with_more_entries_than_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir);
    let table = db.create_table(spec().index(by_number())).unwrap();
    let before = heap::begin();
    let rows = 20_000;
    for from in (0..rows).step_by(50) {
        table.insert_many((from..from + 50).map(|id| [Value::Int(id)])).unwrap();
        let memory = db.stats_without_keys().unwrap().memory;
        let part = memory.iter().find(|m| m.part == Part::Memtables).unwrap();
        assert!(part.used <= part.limit + part.limit / 4, "{part:?}");
    }
    let peak = heap::peak() - before;
    println!("{} KiB of inserts", peak >> 10);
    assert!(peak < 80 * MIB, "{peak}");
    right(&db, &table, rows);
    db.flush().unwrap();
    db.settle().unwrap();
    right(&db, &table, rows);
    drop(table);
    db.close().unwrap();
    checked(&dir);
}
