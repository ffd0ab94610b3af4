//! Do databases that earlier releases wrote still open, with all that is in them?
//!
//! `tests/fixtures/N` is a database as it lay on the disk while it was open, `N-backup` a backup of it, in the
//! order in which formats changed: 1 has the first version of every file, 2 and later ones what [`story`] made when
//! they were committed. A new one is added, and none is ever changed, when a version is raised:
//! `ONLAP_FIXTURE=5 cargo test -p onlap --test fixtures`.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onlap::expr::Comparison;
use onlap::{
    Action, AsOf, Change, CheckOptions, DataType, Database, ErrorKind, Expr, FORMAT_VERSIONS,
    ForeignKeySpec, IndexSpec, Isolation, KeysKept, Options, RestoreOptions, Row, SequenceSpec,
    SyncMode, TableChanges, TableSpec, TransactionOptions, Value, check, restore,
};
use onlap_base::names::FileKind;
use onlap_vfs::{Access, Fs, MemFs};
use support::{agreed_rows, integer, rows_of, small_options};

const DIR: &str = "/db";
const YEARS: Duration = Duration::from_secs(40 * 365 * 86_400);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn options(disk: &MemFs) -> Options {
    let mut options = small_options(SyncMode::Fsync);
    options.tuning.log_file_bytes = 16 << 10;
    options.log_limit = 64 << 10;
    options.fs = Arc::new(disk.clone());
    options
}

/// Numbers of fixtures, rising.
fn numbers() -> Vec<u32> {
    let names = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name());
    let mut numbers: Vec<u32> = names.filter_map(|n| n.to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// A copy of a fixture.
fn loaded(name: &str, dir: &str) -> MemFs {
    let disk = MemFs::new();
    disk.create_dir_all(Path::new(dir)).unwrap();
    for entry in std::fs::read_dir(folder().join(name)).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        let path = Path::new(dir).join(entry.file_name());
        let file = disk.create(&path, Access::ReadWrite).unwrap();
        file.write_at(&bytes, 0).unwrap();
        file.sync_all().unwrap();
    }
    disk.sync_dir(Path::new(dir)).unwrap();
    disk
}

/// Commits a directory of a disk; what an open makes anew stays out.
fn save(disk: &MemFs, dir: &str, name: &str) {
    let to = folder().join(name);
    std::fs::create_dir(&to).expect("a fixture is written once");
    for name in disk.list(Path::new(dir)).unwrap() {
        let left_out = matches!(
            FileKind::parse(&name),
            None | Some(
                FileKind::Lock | FileKind::Temporary | FileKind::MarginLog | FileKind::MarginRoom
            )
        );
        if !left_out {
            let file = disk.open(&Path::new(dir).join(&name), Access::Read).unwrap();
            let bytes = file.read_at(0, file.len().unwrap() as usize).unwrap();
            std::fs::write(to.join(name), &*bytes).unwrap();
        }
    }
}

fn int(v: i64) -> Value {
    Value::Int(v)
}

fn text(v: String) -> Value {
    Value::Text(v)
}

// What is in the first fixture: four hundred rows whose keys came in no order, some of which were updated; a
// benchmark of that release wrote them and was killed. Some updates lie in files, others in the log.

/// What became of the values, row by row in a sum.
const FIRST_VALUES: i64 = -5_686_359_843_171_946_259;

/// The key of the n-th row.
fn first_key(n: u64) -> i64 {
    const MASK: u64 = (1 << 63) - 1;
    let mut x = n;
    for odd in [0x1E37_79B9_7F4A_7C15, 0x3F58_476D_1CE4_E5B9] {
        x = x.wrapping_mul(odd) & MASK;
        x ^= x >> 32;
    }
    x as i64
}

fn first_is_whole(db: &Database) {
    let mut keys: Vec<i64> = (0..400).map(first_key).collect();
    keys.sort_unstable();
    let rows = agreed_rows(db, "keyed").unwrap();
    assert_eq!(rows.iter().map(|row| integer(&row[0])).collect::<Vec<_>>(), keys);
    let weigh = |sum: i64, row: &Row| sum.wrapping_mul(31).wrapping_add(integer(&row[1]));
    assert_eq!(rows.iter().fold(0, weigh), FIRST_VALUES);
}

// What is in the others.

fn row(id: i64, hits: i64) -> Row {
    let long = (id % 50 == 0).then(|| Value::Bytes(vec![id as u8; 2500]));
    let word = text(format!("word {} {}", id % 11, "x".repeat(id as usize % 5)));
    vec![int(id), int(id * 7 % 50), word, int(hits), long.unwrap_or(Value::Null)]
}

fn at_least_zero(column: &str) -> Expr<String> {
    let column = Box::new(Expr::Column(column.into()));
    Expr::Compare(Comparison::GreaterOrEqual, column, Box::new(Expr::Constant(int(0))))
}

/// Makes everything that a file can hold.
fn story(db: &Database) -> onlap::Result<()> {
    let numbers = db.create_sequence(SequenceSpec::new("numbers").start(5).increment(2))?;
    assert_eq!((numbers.next_value()?, numbers.next_value()?), (5, 7));
    rows_and_marks(db)?;
    families(db)?;
    let events = TableSpec::new("events").serial("n").column("at", DataType::Int8);
    let events = events.primary_key(["n"]).index(IndexSpec::new("by_at", ["at"]).fences_only());
    let events = db.create_table(events)?;
    events.insert_many((1..=200).map(|n| [Value::Null, int(1000 + n / 3)]))?;

    let past = TableSpec::new("past").column("id", DataType::Int8).column("moment", DataType::Int8);
    let past = db.create_table(past.primary_key(["id"]).history(YEARS))?;
    let moment = past.insert_many((1..=20).map(|id| [int(id), int(0)]))?;
    for id in 1..=10 {
        past.delete(&[int(id)])?;
    }
    past.insert(&[int(100), int(moment as i64)])?;

    let blind = TableSpec::new("blind").column("id", DataType::Int8).column("a", DataType::Int8);
    let blind = blind.primary_key(["id"]).index(IndexSpec::new("by_a", ["a"])).blind_writes();
    let blind = db.create_table(blind)?;
    blind.insert_many((1..=60).map(|id| [int(id), int(id)]))?;
    let short = TableSpec::new("short").column("id", DataType::Int8).column("k", DataType::Bytea);
    let by_k = IndexSpec::new("by_k", ["k"]).keys(KeysKept::Short);
    let short = db.create_table(short.primary_key(["id"]).index(by_k))?;
    for part in [1..=150, 151..=300] {
        short.insert_many(part.map(|id| [int(id), long_key(id)]))?;
        db.flush()?;
    }
    db.flush()?;
    let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted))?;
    for id in 1..=30 {
        tx.upsert(&blind, &[int(id), int(-id)])?;
    }
    tx.delete_blind(&blind, &[int(60)])?;
    tx.commit()?;
    // From here on the log alone has it.
    let t = db.table("t")?;
    t.insert_many((301..=320).map(|id| {
        let mut row = row(id, 0);
        row.push(int(4));
        row
    }))?;
    t.delete(&[int(5)])?;
    t.update(&[int(6)], &[("hits", int(1000))])?;
    t.update(&[int(8)], &[("b", text("other".into()))])?;
    Ok(())
}

/// As good as random, and not in the order of the ids.
fn long_key(id: i64) -> Value {
    let half = |by: u64| (id as u64).wrapping_mul(by).to_be_bytes();
    Value::Bytes([half(0x9e37_79b9_7f4a_7c15), half(0xc2b2_ae3d_27d4_eb4f)].concat())
}

fn short_keys_are_whole(db: &Database) {
    let expected = (1..=300).map(|id| vec![int(id), long_key(id)]);
    assert!(agreed_rows(db, "short").unwrap() == expected.collect::<Vec<Row>>());
    let stats = db.stats().unwrap();
    let short = stats.tables.iter().find(|t| t.name == "short").unwrap();
    let by_k = short.indexes.iter().find(|i| i.name == "by_k").unwrap();
    assert!(by_k.runs.iter().any(|run| run.form == "short"), "{:?}", by_k.runs);
}

fn rows_and_marks(db: &Database) -> onlap::Result<()> {
    let t = TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .column("b", DataType::Text)
        .column("hits", DataType::Int8)
        .nullable_column("long", DataType::Bytea)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).include(["id"]));
    let t = db.create_table(t)?;
    for part in [1..=120, 121..=240, 241..=300] {
        t.insert_many(part.map(|id| row(id, 0)))?;
        db.flush()?;
    }
    for id in (7..=300).step_by(7) {
        t.delete(&[int(id)])?;
    }
    db.flush()?;
    let mut tx = db.begin()?;
    for id in (10..=300).step_by(10).filter(|id| id % 7 > 0) {
        tx.change(&t, &[int(id)], &[("hits", Change::Add(int(2)))])?;
    }
    tx.commit()?;
    db.flush()?;
    db.alter_table("t", &TableChanges::new().add_column("extra", DataType::Int4, Some(int(3))))
}

fn families(db: &Database) -> onlap::Result<()> {
    let parents = TableSpec::new("parents").column("id", DataType::Int8);
    let parents = parents.nullable_column("note", DataType::Text).primary_key(["id"]);
    let parents = db.create_table(parents)?;
    parents.insert_many((1..=20).map(|id| [int(id), Value::Null]))?;
    let key = ForeignKeySpec::new("parent", ["parent"], "parents").on_delete(Action::Cascade);
    let children = TableSpec::new("children")
        .serial("id")
        .column("parent", DataType::Int8)
        .column("n", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_parent", ["parent"]))
        .foreign_key(key);
    let children = db.create_table(children)?;
    children.insert_many((0..60).map(|i| [Value::Null, int(1 + i % 20), int(i)]))?;
    db.add_check("children", "n_is_not_negative", &at_least_zero("n"))?;
    assert!(parents.delete(&[int(20)])?);
    Ok(())
}

/// Looks at everything that [`story`] made.
fn story_is_whole(db: &Database) {
    let hits = |id: i64| match id {
        6 => 1000,
        _ if id % 10 == 0 && id <= 300 => 2,
        _ => 0,
    };
    let expected = |id: i64| {
        let mut row = row(id, hits(id));
        row.push(int(if id > 300 { 4 } else { 3 }));
        if id == 8 {
            row[2] = text("other".into());
        }
        row
    };
    let there = |id: &i64| *id != 5 && (*id > 300 || id % 7 > 0);
    let rows: Vec<Row> = (1..=320).filter(there).map(expected).collect();
    assert!(agreed_rows(db, "t").unwrap() == rows);
    let events: Vec<Row> = (1..=200).map(|n| vec![int(n), int(1000 + n / 3)]).collect();
    assert!(agreed_rows(db, "events").unwrap() == events);
    assert_eq!(agreed_rows(db, "parents").unwrap().len(), 19);
    let children = (0..60).filter(|i| 1 + i % 20 != 20);
    let children: Vec<Row> = children.map(|i| vec![int(i + 1), int(1 + i % 20), int(i)]).collect();
    assert!(agreed_rows(db, "children").unwrap() == children);
    let blind = (1..=59).map(|id| vec![int(id), int(if id <= 30 { -id } else { id })]);
    assert!(agreed_rows(db, "blind").unwrap() == blind.collect::<Vec<Row>>());

    let past = db.table("past").unwrap();
    let now = agreed_rows(db, "past").unwrap();
    assert_eq!(now.len(), 11);
    let moment = integer(&now[10][1]) as u64;
    let then = rows_of(&db.snapshot_as_of(AsOf::Csn(moment)).unwrap(), &past).unwrap();
    assert!(then == (1..=20).map(|id| vec![int(id), int(0)]).collect::<Vec<Row>>());
}

/// The table of rows, and a column of integers.
fn main_table(number: u32) -> (&'static str, &'static str) {
    if number == 1 { ("keyed", "v") } else { ("t", "a") }
}

/// Rules still hold, counters go on, and rows come, change and go.
fn story_goes_on(db: &Database) {
    let children = db.table("children").unwrap();
    let kind = |e: onlap::Result<onlap::Csn>| e.unwrap_err().kind();
    assert_eq!(
        kind(children.insert(&[Value::Null, int(99), int(0)])),
        ErrorKind::ForeignKeyViolation
    );
    assert_eq!(kind(children.insert(&[Value::Null, int(1), int(-1)])), ErrorKind::CheckViolation);
    assert!(db.sequence("numbers").unwrap().next_value().unwrap() > 7);
    assert!(db.table("parents").unwrap().delete(&[int(1)]).unwrap());
    assert_eq!(agreed_rows(db, "children").unwrap().len(), 54);
    let events = db.table("events").unwrap();
    events.insert(&[Value::Null, int(5000)]).unwrap();
    let last = agreed_rows(db, "events").unwrap().pop().unwrap();
    assert!(integer(&last[0]) > 200);
}

fn goes_on(db: &Database, (name, column): (&str, &str)) {
    let before = agreed_rows(db, name).unwrap();
    let table = db.table(name).unwrap();
    let key = |at: usize| before[at][0].clone();
    let mut new = before[0].clone();
    new[0] = int(i64::MAX);
    table.insert(&new).unwrap();
    assert_eq!(table.insert(&new).unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert!(table.update(&[key(1)], &[(column, int(-3))]).unwrap());
    assert!(table.delete(&[key(0)]).unwrap());
    db.flush().unwrap();
    db.settle().unwrap();
    let after = agreed_rows(db, name).unwrap();
    assert_eq!(after.len(), before.len());
    assert_eq!((&after[0][1], after.last()), (&int(-3), Some(&new)));
}

fn is_sound(disk: &MemFs) {
    let report = check(DIR, &CheckOptions { options: options(disk) }).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(report.rows > 0 && report.entries >= report.rows);
}

#[test]
fn databases_of_each_release_open_and_go_on() {
    if let Ok(number) = std::env::var("ONLAP_FIXTURE") {
        let disk = MemFs::new();
        let db = Database::open(DIR, options(&disk)).unwrap();
        story(&db).unwrap();
        story_is_whole(&db);
        short_keys_are_whole(&db);
        save(&disk.crash(0, 1.0), DIR, &number);
        db.backup("/backup").unwrap();
        save(&disk, "/backup", &format!("{number}-backup"));
    }
    let numbers = numbers();
    assert!(numbers.len() >= 2);
    for number in numbers {
        let disk = loaded(&number.to_string(), DIR);
        let db = Database::open(DIR, options(&disk)).unwrap();
        match number {
            1 => first_is_whole(&db),
            _ => story_is_whole(&db),
        }
        if number > 1 {
            story_goes_on(&db);
        }
        if number > 3 {
            short_keys_are_whole(&db);
        }
        goes_on(&db, main_table(number));
        let name = main_table(number).0;
        let rows = agreed_rows(&db, name).unwrap();
        db.close().unwrap();
        is_sound(&disk);
        let db = Database::open(DIR, options(&disk)).unwrap();
        assert!(agreed_rows(&db, name).unwrap() == rows);
    }
}

#[test]
fn a_fixture_that_nobody_wrote_to_is_sound() {
    for number in numbers() {
        is_sound(&loaded(&number.to_string(), DIR));
    }
}

#[test]
fn backups_of_each_release_are_restored() {
    for number in numbers().into_iter().filter(|n| *n > 1) {
        let disk = loaded(&format!("{number}-backup"), "/backup");
        let restored = RestoreOptions { options: options(&disk), ..RestoreOptions::default() };
        let report = restore("/backup", DIR, restored).unwrap();
        assert!(report.check.unwrap().findings.is_empty());
        let db = Database::open(DIR, options(&disk)).unwrap();
        story_is_whole(&db);
        story_goes_on(&db);
        goes_on(&db, main_table(number));
    }
}

#[test]
fn every_version_of_every_file_has_a_fixture() {
    let mut seen: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for number in numbers() {
        for entry in std::fs::read_dir(folder().join(number.to_string())).unwrap() {
            let entry = entry.unwrap();
            let kind = match entry.file_name().to_str().and_then(FileKind::parse) {
                Some(FileKind::Manifest(_)) => "manifest",
                Some(FileKind::Log(_)) => "log",
                Some(FileKind::Segment(_)) => "segment",
                Some(FileKind::Run(_)) => "run",
                Some(FileKind::Marks(_)) => "marks",
                _ => continue,
            };
            let bytes = std::fs::read(entry.path()).unwrap();
            // The version stands behind eight bytes in all of them, in two bytes or in four.
            let four = matches!(kind, "manifest" | "log");
            let version = &bytes[8..if four { 12 } else { 10 }];
            let version = version.iter().rev().fold(0, |v, byte| v << 8 | u32::from(*byte));
            seen.entry(kind).or_default().insert(version);
        }
    }
    for (kind, newest) in FORMAT_VERSIONS {
        // Blocks and blob frames have theirs inside segments.
        if !matches!(kind, "block" | "blob") {
            let all: BTreeSet<u32> = (1..=newest).collect();
            assert_eq!(seen.get(kind), Some(&all), "{kind}");
        }
    }
}
