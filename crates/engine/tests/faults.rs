//! What happens to a handle when a disk, a file or a caller misbehaves?
//!
//! Full disks, failed writes and syncs (I6), torn and damaged logs, flipped bytes in every kind of
//! file (I8), a second opener, a newer format, bad input: each is a typed error that says what to do,
//! reads go on, and nothing acknowledged is lost.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use onlap::{
    DataType, Database, Error, ErrorKind, IndexSpec, Isolation, KeyRange, Options, Result, Row,
    Scan, SyncMode, Table, TableSpec, TransactionOptions, Value,
};
use onlap_base::limits;
use onlap_base::names::FileKind;
use onlap_base::rng::Rng;
use onlap_vfs::{Access, Fault, FaultFs, Fs, MemFs, Operation};
use support::{agreed_rows, small_options};

const DIR: &str = "/db";

fn options(fs: impl Fs + 'static, sync: SyncMode) -> Options {
    let mut options = small_options(sync);
    options.fs = Arc::new(fs);
    options
}

fn open(fs: impl Fs + 'static) -> Result<Database> {
    Database::open(DIR, options(fs, SyncMode::Fsync))
}

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .nullable_column("b", DataType::Varchar(200))
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).include(["id"]))
}

fn row(id: i64) -> Row {
    let b = "words, words".repeat(1 + id as usize % 9);
    vec![Value::Int(id), Value::Int(id * 7 % 100), Value::Text(b)]
}

/// A database with a table of the rows `1..=rows`, one commit each.
fn filled(fs: impl Fs + 'static, rows: i64) -> (Database, Table) {
    let db = open(fs).unwrap();
    let table = db.create_table(spec()).unwrap();
    for id in 1..=rows {
        table.insert(&row(id)).unwrap();
    }
    (db, table)
}

fn assert_rows(db: &Database, ids: impl IntoIterator<Item = i64>) {
    let expected: Vec<Row> = ids.into_iter().map(row).collect();
    let found = agreed_rows(db, "t").unwrap();
    assert_eq!(found.len(), expected.len());
    assert!(found == expected, "other rows than expected");
}

fn read(fs: &dyn Fs, name: &str) -> Vec<u8> {
    let file = fs.open(&Path::new(DIR).join(name), Access::Read).unwrap();
    file.read_at(0, file.len().unwrap() as usize).unwrap().into_vec()
}

fn write(fs: &dyn Fs, name: &str, bytes: &[u8]) {
    let file = fs.create(&Path::new(DIR).join(name), Access::ReadWrite).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync_all().unwrap();
}

fn files(fs: &dyn Fs) -> Vec<String> {
    let mut names = fs.list(Path::new(DIR)).unwrap();
    names.sort();
    names
}

// Disks.

#[test]
fn a_full_disk_is_an_error_that_ends_when_space_returns() {
    for mode in [SyncMode::Fsync, SyncMode::Os] {
        let disk = MemFs::with_capacity(3 << 20);
        let db = Database::open(DIR, options(disk.clone(), mode)).unwrap();
        let table = db.create_table(spec()).unwrap();
        let ballast = Path::new("/ballast");
        let file = disk.create(ballast, Access::ReadWrite).unwrap();
        file.allocate((2 << 20) + (512 << 10)).unwrap();
        let mut rows = 0;
        let e = loop {
            match table.insert(&row(rows + 1)) {
                Ok(_) => rows += 1,
                Err(e) => break e,
            }
            assert!(rows < 1_000_000, "the disk never fills up");
        };
        assert_eq!(e.kind(), ErrorKind::DiskFull, "{e}");
        assert_rows(&db, 1..=rows);
        // Whatever the background tried meanwhile, the handle goes on being usable.
        std::thread::sleep(std::time::Duration::from_millis(50));
        if let Err(e) = table.insert_many((rows + 1..=rows + 3000).map(row)) {
            assert_eq!(e.kind(), ErrorKind::DiskFull, "{e}");
        } else {
            rows += 3000;
        }
        if let Err(e) = db.flush() {
            assert_eq!(e.kind(), ErrorKind::DiskFull, "{e}");
        }
        assert_rows(&db, 1..=rows);
        disk.remove(ballast).unwrap();
        for _ in 0..500 {
            rows += 1;
            table.insert(&row(rows)).unwrap();
        }
        db.flush().unwrap();
        assert_rows(&db, 1..=rows);
        db.close().unwrap();
        drop(table);
        let db = Database::open(DIR, options(disk.clone(), mode)).unwrap();
        assert_rows(&db, 1..=rows);
    }
}

#[test]
fn memory_that_cannot_be_flushed_is_an_error_and_no_endless_wait() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let db = open(fs.clone()).unwrap();
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("long", DataType::Bytea)
        .primary_key(["id"]);
    let table = db.create_table(spec).unwrap();
    let row = |id: i64| vec![Value::Int(id), Value::Bytes(vec![id as u8; 100_000])];
    fs.fail(Fault::on(Operation::Create).named(".seg").with(ErrorKind::DiskFull).for_ever());
    let mut rows = 0;
    let e = loop {
        match table.insert(&row(rows + 1)) {
            Ok(_) => rows += 1,
            Err(e) => break e,
        }
        assert!(rows < 3000, "memory has a limit");
    };
    assert_eq!(e.kind(), ErrorKind::DiskFull, "{e}");
    fs.heal();
    db.flush().unwrap();
    for _ in 0..20 {
        rows += 1;
        table.insert(&row(rows)).unwrap();
    }
    assert_eq!(agreed_rows(&db, "t").unwrap().len() as i64, rows);
}

#[test]
fn a_failed_write_or_sync_of_the_log_ends_writing_until_reopened() {
    for (n, operation) in [Operation::Write, Operation::Sync].into_iter().enumerate() {
        for torn in [false, true] {
            let disk = MemFs::new();
            let fs = FaultFs::new(Arc::new(disk.clone()));
            let (db, table) = filled(fs.clone(), 50);
            let fault = Fault::on(operation).named(".log");
            fs.fail(if torn { fault.torn() } else { fault });
            let e = table.insert(&row(51)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::ReadOnly, "{e}");
            assert_eq!(fs.struck(), 1);
            // The disk is well again, but nobody knows what it holds.
            for e in [
                table.insert(&row(52)).unwrap_err(),
                table.delete(&[Value::Int(1)]).unwrap_err(),
                db.create_table(TableSpec::new("u").column("c", DataType::Int4))
                    .map(drop)
                    .unwrap_err(),
                db.drop_index("t", "by_a").unwrap_err(),
                db.flush().unwrap_err(),
            ] {
                assert_eq!(e.kind(), ErrorKind::ReadOnly, "{e}");
                assert!(e.message().contains("injected fault"), "the cause is named: {e}");
            }
            assert_rows(&db, 1..=50);
            reads_go_on(&db, &table);
            let stats = db.stats().unwrap();
            assert!(stats.write_error.is_some_and(|e| e.message().contains("injected fault")));
            db.close().unwrap();
            drop(table);
            let left = disk.crash(n as u64, 0.5);
            let db = open(left).unwrap();
            let last = agreed_rows(&db, "t").unwrap().len() as i64;
            assert!(last == 50 || last == 51, "{last} rows");
            assert_rows(&db, 1..=last);
            db.table("t").unwrap().insert(&row(last + 1)).unwrap();
        }
    }
}

/// Transactions that only read begin, read and commit at each level; those that write are refused.
fn reads_go_on(db: &Database, table: &Table) {
    for level in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
        assert_eq!(tx.get(table, &[Value::Int(7)]).unwrap(), Some(row(7)));
        assert_eq!(tx.count(table).unwrap(), 50);
        tx.commit().unwrap();
        let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
        assert_eq!(tx.count(table).unwrap(), 50);
        assert_eq!(tx.insert(table, &row(60)).unwrap_err().kind(), ErrorKind::ReadOnly);
        assert_eq!(tx.create_table(spec()).map(drop).unwrap_err().kind(), ErrorKind::ReadOnly);
        tx.commit().unwrap();
    }
}

#[test]
fn a_failed_roll_of_the_log_is_no_half_roll() {
    // The first commit of a new log file meets a fault in each of the steps of beginning that file.
    for operation in [
        Operation::Create,
        Operation::Resize,
        Operation::Write,
        Operation::Sync,
        Operation::Directory,
        Operation::Rename,
    ] {
        for kind in [ErrorKind::Io, ErrorKind::DiskFull] {
            let disk = MemFs::new();
            let fs = FaultFs::new(Arc::new(disk.clone()));
            let (db, table) = filled(fs.clone(), 10);
            let mut rows = 10;
            fs.fail(Fault::on(operation).named("00000002.log").with(kind));
            if operation == Operation::Directory {
                fs.heal();
                fs.fail(Fault::on(operation).with(kind));
            }
            for _ in 0..2000 {
                match table.insert(&row(rows + 1)) {
                    Ok(_) => rows += 1,
                    Err(e) if e.kind() == ErrorKind::DiskFull => assert_eq!(kind, e.kind(), "{e}"),
                    Err(e) => {
                        assert_eq!(e.kind(), ErrorKind::ReadOnly, "{operation:?}: {e}");
                        break;
                    }
                }
            }
            let after = if table.insert(&row(rows + 1)).is_ok() { 1 } else { 0 };
            assert_rows(&db, 1..=rows + after);
            drop((db, table));
            let db = open(disk.crash(3, 0.0)).unwrap();
            let found = agreed_rows(&db, "t").unwrap().len() as i64;
            assert!(found >= rows + after, "{operation:?} {kind:?}: {found} of {rows} rows");
            assert_rows(&db, 1..=found);
        }
    }
}

#[test]
fn what_is_seen_after_a_failed_sync_stays() {
    for name in [".log", "manifest"] {
        for seed in 0..20 {
            let disk = MemFs::new();
            let (db, table) = filled(disk.clone(), 40);
            disk.fail_next_sync(name);
            // The bytes stay readable, and the kernel takes them for written.
            if name == ".log" {
                let e = table.insert(&row(41)).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::ReadOnly, "{e}");
            } else {
                let e = db.flush().unwrap_err();
                assert_eq!(e.kind(), ErrorKind::ReadOnly, "{e}");
            }
            drop((db, table));
            let db = open(disk.clone()).unwrap();
            let seen = agreed_rows(&db, "t").unwrap().len() as i64;
            assert!(seen >= 40);
            assert_rows(&db, 1..=seen);
            if seed % 2 == 0 {
                db.flush().unwrap();
            }
            drop(db);
            let db = open(disk.crash(seed, [0.0, 0.5, 1.0][seed as usize % 3])).unwrap();
            assert_rows(&db, 1..=seen);
        }
    }
}

// Damage.

/// Where each commit of one row ended, taken from the file as it grows.
fn log_with_marks(disk: &MemFs, rows: i64) -> (Vec<u8>, Vec<usize>) {
    let (db, table) = filled(disk.clone(), 0);
    let mut ends = Vec::new();
    for id in 1..=rows {
        table.insert(&row(id)).unwrap();
        let bytes = read(disk, "00000001.log");
        ends.push(bytes.iter().rposition(|&b| b != 0).expect("the log holds a commit"));
    }
    drop((db, table));
    (read(disk, "00000001.log"), ends)
}

#[test]
fn a_torn_log_tail_is_cut_and_damage_in_the_middle_is_named() {
    let disk = MemFs::new();
    let (bytes, ends) = log_with_marks(&disk, 30);
    for at in ends[28] + 2..=ends[29] {
        let mut torn = bytes.clone();
        torn[at..].fill(0);
        let disk = copy_of(&disk);
        write(&disk, "00000001.log", &torn);
        let db = open(disk).unwrap();
        let found = agreed_rows(&db, "t").unwrap().len() as i64;
        assert!(found == 29 || found == 30 && bytes[at..=ends[29]].iter().all(|&b| b == 0));
        assert_rows(&db, 1..=found);
    }
    for commit in [0, 5, 20, 27] {
        let mut damaged = bytes.clone();
        damaged[(ends[commit] + ends[commit + 1]) / 2] ^= 0x10;
        let disk = copy_of(&disk);
        write(&disk, "00000001.log", &damaged);
        let e = open(disk).map(drop).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
        let place = e.place().expect("damage has a place");
        assert_eq!(place.file, "00000001.log");
        let offset = place.offset as usize;
        assert!((ends[commit].saturating_sub(8)..=ends[commit + 1]).contains(&offset), "{e}");
    }
}

/// A closed database whose rows lie in segments, runs and mark files.
fn closed_database() -> (MemFs, Vec<Row>) {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 0);
    table.insert_many((1..=700).map(row)).unwrap();
    db.flush().unwrap();
    table.insert_many((701..=900).map(row)).unwrap();
    for id in (1..=900).step_by(7) {
        assert!(table.delete(&[Value::Int(id)]).unwrap());
    }
    for id in (2..=900).step_by(35) {
        assert!(table.update(&[Value::Int(id)], &[("a", Value::Int(-5))]).unwrap());
    }
    let expected = agreed_rows(&db, "t").unwrap();
    db.close().unwrap();
    (disk, expected)
}

/// Opens and reads everything in every way. `Ok` holds the rows of the scan and of each index.
fn read_everything(disk: &MemFs) -> Result<Vec<Vec<Row>>> {
    let mut options = options(disk.clone(), SyncMode::Os);
    options.tuning.log_file_bytes = 4096;
    let db = Database::open(DIR, options)?;
    let table = db.table("t")?;
    let snapshot = db.snapshot()?;
    let mut all = vec![snapshot.scan(&table, Scan::all())?.rows()?];
    for index in &table.schema().indexes {
        all.push(snapshot.index_scan(&table, &index.name, KeyRange::all(), Scan::all())?.rows()?);
    }
    for id in (1..=900).step_by(97) {
        all.push(snapshot.get(&table, &[Value::Int(id)], None)?.into_iter().collect());
    }
    all.push(vec![vec![Value::Int(snapshot.count(&table)? as i64)]]);
    Ok(all)
}

fn copy_of(disk: &MemFs) -> MemFs {
    disk.crash(1, 1.0)
}

#[test]
fn a_flipped_byte_is_corruption_or_does_not_matter() {
    let (disk, expected) = closed_database();
    let intact = read_everything(&copy_of(&disk)).unwrap();
    let mut sorted = intact[0].clone();
    sorted.sort_by_key(|row| support::integer(&row[0]));
    assert!(sorted == expected);
    let mut rng = Rng::new(1);
    let mut found = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for name in files(&disk) {
        let kind = FileKind::parse(&name).expect("the directory holds files of the database only");
        let immutable = kind.file_id().is_some();
        if !immutable && !matches!(kind, FileKind::Manifest(_) | FileKind::Current) {
            continue;
        }
        kinds.insert(name.rsplit('.').next().expect("a split has a part").to_owned());
        let bytes = read(&disk, &name);
        let flips = if immutable { 40 } else { 150 };
        for flip in 0..flips {
            // The ends of files hold headers and footers.
            let at = match flip % 4 {
                0 => rng.index(bytes.len().min(64)),
                1 => bytes.len() - 1 - rng.index(bytes.len().min(200)),
                _ => rng.index(bytes.len()),
            };
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << rng.below(8);
            let copy = copy_of(&disk);
            write(&copy, &name, &damaged);
            let what = format!("{name} of {} bytes, flipped at {at}", bytes.len());
            let answer = catch_unwind(AssertUnwindSafe(|| read_everything(&copy)));
            match answer.unwrap_or_else(|_| panic!("{what}: panic")) {
                Ok(answer) => assert!(answer == intact, "{what}: a wrong answer"),
                Err(e) => {
                    assert_damage(&e, &what);
                    found += 1;
                }
            }
        }
    }
    println!("{found} flips found, files of kinds {kinds:?}");
    for kind in ["seg", "run", "mrk"] {
        assert!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
}

fn assert_damage(e: &Error, what: &str) {
    match e.kind() {
        ErrorKind::Corruption => {
            let place = e.place().unwrap_or_else(|| panic!("{what}: no place in {e:?}"));
            assert!(!place.file.is_empty(), "{what}: no file in {e:?}");
        }
        // One bit of the version number.
        ErrorKind::NewerFormat => {}
        _ => panic!("{what}: {e:?}"),
    }
}

#[test]
fn a_newer_format_is_refused() {
    let (disk, _) = closed_database();
    let mut refused = 0;
    for name in files(&disk) {
        let version_at = match FileKind::parse(&name) {
            Some(FileKind::Manifest(_) | FileKind::Log(_)) => 8,
            Some(kind) if kind.file_id().is_some() => 8,
            _ => continue,
        };
        let copy = copy_of(&disk);
        let mut bytes = read(&copy, &name);
        if bytes[version_at] > 9 {
            continue;
        }
        bytes[version_at] = 99;
        write(&copy, &name, &bytes);
        let Err(e) = read_everything(&copy) else {
            // What a merge replaced just before the close is removed by the next open, unread.
            assert!(!files(&copy).contains(&name), "{name} is in force in a newer format");
            continue;
        };
        refused += 1;
        assert_eq!(e.kind(), ErrorKind::NewerFormat, "{name}: {e:?}");
        assert!(e.message().contains("reads up to"), "{name}: {e}");
    }
    assert!(refused > 1, "the manifest and a log at least");
}

// Callers.

#[test]
fn a_second_opener_is_told_who_was_first() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), small_options(SyncMode::Os)).unwrap();
    let second = || Database::open(dir.path(), small_options(SyncMode::Os));
    let e = second().map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Locked);
    assert!(e.message().contains(&std::process::id().to_string()), "{e}");
    let e = onlap::check(dir.path(), &onlap::CheckOptions::default()).map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Locked);
    db.clone().close().unwrap();
    drop(db);
    second().unwrap().close().unwrap();
}

#[test]
fn a_closed_handle_says_so() {
    let (db, table) = filled(MemFs::new(), 3);
    let (other, snapshot) = (db.clone(), db.snapshot().unwrap());
    db.close().unwrap();
    for e in [
        other.begin().map(drop).unwrap_err(),
        other.snapshot().map(drop).unwrap_err(),
        other.table("t").map(drop).unwrap_err(),
        other.flush().unwrap_err(),
        other.create_table(spec()).map(drop).unwrap_err(),
        table.insert(&row(4)).map(drop).unwrap_err(),
        table.delete(&[Value::Int(1)]).map(drop).unwrap_err(),
        snapshot.get(&table, &[Value::Int(1)], None).map(drop).unwrap_err(),
        other.close().unwrap_err(),
    ] {
        assert_eq!(e.kind(), ErrorKind::Closed, "{e}");
    }
}

#[test]
fn a_missing_database_is_not_created_unasked() {
    let options = options(MemFs::new(), SyncMode::Os).create(false);
    let e = Database::open("/nowhere", options).map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
}

#[test]
fn bad_input_is_a_typed_error_and_the_handle_goes_on() {
    let (db, table) = filled(MemFs::new(), 5);
    let text = |n: usize| Value::Text("x".repeat(n));
    let id = Value::Int(6);
    let cases: [(ErrorKind, Row); 8] = [
        (ErrorKind::WrongType, vec![text(1), Value::Null, Value::Null]),
        (ErrorKind::WrongType, vec![id.clone(), Value::Float(1.5), Value::Null]),
        (ErrorKind::OutOfRange, vec![id.clone(), Value::Int(1 << 40), Value::Null]),
        (ErrorKind::TooLong, vec![id.clone(), Value::Null, text(201)]),
        (ErrorKind::NotNull, vec![Value::Null, Value::Null, Value::Null]),
        (ErrorKind::DuplicateKey, vec![Value::Int(3), Value::Null, Value::Null]),
        (ErrorKind::InvalidText, vec![id.clone(), Value::Null, Value::Text("a\0b".into())]),
        (ErrorKind::InvalidInput, vec![id.clone(), Value::Null]),
    ];
    for (kind, values) in cases {
        let e = table.insert(&values).unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        // In a transaction only the statement fails; a duplicate fails the commit.
        let mut tx = db.begin().unwrap();
        if kind != ErrorKind::DuplicateKey {
            assert_eq!(tx.insert(&table, &values).unwrap_err().kind(), kind);
            tx.insert(&table, &row(6)).unwrap();
            tx.commit().unwrap();
            assert_rows(&db, 1..=6);
            assert!(table.delete(&[Value::Int(6)]).unwrap());
        }
        assert_rows(&db, 1..=5);
    }
    assert_unknown_names(&db, &table);
    table.insert(&row(6)).unwrap();
    assert_rows(&db, 1..=6);
    db.close().unwrap();
}

fn assert_unknown_names(db: &Database, table: &Table) {
    let snapshot = db.snapshot().unwrap();
    let key = [Value::Int(1)];
    let range = KeyRange::all;
    let long = |n: usize| TableSpec::new("n".repeat(n)).column("c", DataType::Int4);
    let cases: Vec<(ErrorKind, Error)> = vec![
        (ErrorKind::UnknownTable, db.table("no").map(drop).unwrap_err()),
        (ErrorKind::UnknownTable, db.drop_table("no").unwrap_err()),
        (ErrorKind::UnknownIndex, db.drop_index("t", "no").unwrap_err()),
        (ErrorKind::UnknownColumn, db.create_index("t", IndexSpec::new("i", ["no"])).unwrap_err()),
        (ErrorKind::UnknownColumn, table.update(&key, &[("no", Value::Null)]).unwrap_err()),
        (ErrorKind::UnknownColumn, snapshot.get(table, &key, Some(&["no"])).unwrap_err()),
        (
            ErrorKind::UnknownIndex,
            snapshot.index_scan(table, "no", range(), Scan::all()).map(drop).unwrap_err(),
        ),
        (
            ErrorKind::UnknownColumn,
            snapshot.scan(table, Scan::all().columns(["no"])).map(drop).unwrap_err(),
        ),
        (ErrorKind::WrongType, table.update(&key, &[("a", Value::Bool(true))]).unwrap_err()),
        (ErrorKind::WrongType, table.delete(&[Value::Bool(true)]).unwrap_err()),
        (ErrorKind::InvalidInput, table.delete(&[]).unwrap_err()),
        (ErrorKind::AlreadyExists, db.create_table(spec()).map(drop).unwrap_err()),
        (
            ErrorKind::AlreadyExists,
            db.create_index("t", IndexSpec::new("by_a", ["a"])).unwrap_err(),
        ),
        (
            ErrorKind::TooLong,
            db.create_table(long(limits::RELATION_NAME_BYTES + 1)).map(drop).unwrap_err(),
        ),
    ];
    for (at, (kind, e)) in cases.into_iter().enumerate() {
        assert_eq!(e.kind(), kind, "case {at}: {e}");
        assert_rows(db, 1..=5);
    }
}

#[test]
fn keys_and_values_above_the_limits_are_refused_before_the_log_sees_them() {
    let db = open(MemFs::new()).unwrap();
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("key", DataType::Text)
        .nullable_column("long", DataType::Bytea)
        .primary_key(["id"])
        .index(IndexSpec::new("by_key", ["key"]));
    let table = db.create_table(spec).unwrap();
    let text = |n: usize| Value::Text("k".repeat(n));
    let bytes = |n: usize| Value::Bytes(vec![7; n]);
    let cases = [
        (text(4000), Value::Null),
        (Value::Null, bytes((16 << 20) + 1)),
        (text(17 << 20), bytes(16 << 20)),
    ];
    for (key, long) in cases {
        let e = table.insert(&[Value::Int(1), key, long]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::TooLong, "{e}");
        assert!(agreed_rows(&db, "t").unwrap().is_empty());
    }
    table.insert(&[Value::Int(1), text(100), bytes(100_000)]).unwrap();
    db.flush().unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 1);
}
