//! Is it noticed when a log file is missing, empty or another one?
//!
//! The newest file above all: nothing behind it says that it was there. In each sync mode; in backups; while
//! a new file is begun on a full disk. More ways and seeds: `onlap-proofs damage`.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onlap::{
    CheckOptions, DataType, Database, ErrorKind, Options, RestoreOptions, SyncMode, TableSpec,
    Value, check, restore,
};
use onlap_base::names::FileKind;
use onlap_vfs::{Access, Fault, FaultFs, Fs, MemFs, Operation};
use support::{agreed_rows, small_options};

const DIR: &str = "/db";
const MODES: [SyncMode; 3] =
    [SyncMode::Fsync, SyncMode::Interval(Duration::from_millis(5)), SyncMode::Os];

fn options(fs: impl Fs + 'static, sync: SyncMode) -> Options {
    let mut options = small_options(sync);
    // One file is begun after the other, and few are given up.
    options.tuning.log_file_bytes = 8 << 10;
    options.log_limit = 1 << 20;
    options.fs = Arc::new(fs);
    options
}

fn row(id: i64) -> [Value; 2] {
    [Value::Int(id), Value::Text("some words ".repeat(20))]
}

/// A database with rows in several log files, closed or left.
fn filled(disk: &MemFs, dir: &str, sync: SyncMode, rows: i64, close: bool) {
    let db = Database::open(dir, options(disk.clone(), sync)).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("text", DataType::Text);
    let table = match db.table("t") {
        Ok(table) => table,
        Err(_) => db.create_table(spec.primary_key(["id"])).unwrap(),
    };
    let from = table_rows(&db);
    for id in from..from + rows {
        table.insert(&row(id)).unwrap();
    }
    drop(table);
    if close {
        db.close().unwrap();
    }
}

fn table_rows(db: &Database) -> i64 {
    agreed_rows(db, "t").unwrap().len() as i64
}

fn path(dir: &str, name: &str) -> PathBuf {
    Path::new(dir).join(name)
}

fn read(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, Access::Read).unwrap();
    file.read_at(0, file.len().unwrap() as usize).unwrap().into_vec()
}

fn write(fs: &dyn Fs, path: &Path, bytes: &[u8]) {
    let file = fs.create(path, Access::ReadWrite).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync_all().unwrap();
}

/// Names of log files with a header of their own, oldest first.
fn logs(fs: &dyn Fs, dir: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(dir)).unwrap();
    names.retain(|name| match FileKind::parse(name) {
        Some(FileKind::Log(n)) => {
            let bytes = read(fs, &path(dir, name));
            onlap_format::log::FileHeader::parse(n, &bytes).unwrap().is_some()
        }
        _ => false,
    });
    names.sort();
    names
}

/// An open or a check of the database tells of this file.
fn assert_named(disk: &MemFs, dir: &str, name: &str, what: &str) {
    let opened = || Database::open(dir, options(disk.clone(), SyncMode::Fsync)).map(drop);
    let e = opened().expect_err(what);
    assert_eq!(e.kind(), ErrorKind::Corruption, "{what}: {e}");
    assert_eq!(e.place().expect("damage has a place").file, name, "{what}: {e}");
    let report = check(dir, &CheckOptions { options: options(disk.clone(), SyncMode::Fsync) });
    let findings = report.unwrap().findings;
    assert!(findings.iter().any(|f| f.text.contains(name)), "{what}: {findings:?}");
    // Looking at it makes nothing worse.
    assert_eq!(opened().expect_err(what).place().unwrap().file, name, "{what}");
}

/// What can become of a log file; `other` is one of the same number of another database.
fn harm(disk: &MemFs, name: &str, other: &[u8], what: &str) -> MemFs {
    let disk = disk.crash(1, 1.0);
    let at = path(DIR, name);
    match what {
        "removed" => disk.remove(&at).unwrap(),
        "empty" => write(&disk, &at, &[]),
        "zeros" => write(&disk, &at, &vec![0; read(&disk, &at).len()]),
        "foreign" => write(&disk, &at, other),
        _ => {
            let bytes = read(&disk, &at);
            write(&disk, &at, &bytes[..bytes.len() - 1]);
        }
    }
    disk
}

#[test]
fn the_newest_log_file_is_missed() {
    for mode in MODES {
        // In mode `os` what was not synced may go; closing syncs.
        for close in [true, mode == SyncMode::Os] {
            let (disk, foreign) = (MemFs::new(), MemFs::new());
            filled(&disk, DIR, mode, 100, close);
            filled(&foreign, "/elsewhere", mode, 100, close);
            let newest = logs(&disk, DIR).pop().unwrap();
            let other = logs(&foreign, "/elsewhere").pop().unwrap();
            assert_eq!(newest, other, "the same history");
            let other = read(&foreign, &path("/elsewhere", &other));
            for what in ["removed", "empty", "zeros", "foreign", "cut"] {
                let harmed = harm(&disk, &newest, &other, what);
                assert_named(&harmed, DIR, &newest, &format!("{newest} {what}, {mode:?}"));
            }
            let db = Database::open(DIR, options(disk, mode)).unwrap();
            assert_eq!(table_rows(&db), 100);
        }
    }
}

#[test]
fn every_log_file_that_is_needed_is_missed() {
    let (disk, foreign) = (MemFs::new(), MemFs::new());
    for _ in 0..2 {
        filled(&disk, DIR, SyncMode::Fsync, 60, false);
        filled(&foreign, "/elsewhere", SyncMode::Fsync, 60, false);
    }
    let names = logs(&disk, DIR);
    assert!(names.len() > 3, "{names:?}");
    for (i, name) in names.iter().enumerate() {
        let other = read(&foreign, &path("/elsewhere", name));
        for what in ["removed", "empty", "zeros", "foreign"] {
            let harmed = harm(&disk, name, &other, what);
            assert_named(&harmed, DIR, name, &format!("{name} {what}"));
        }
        let next = &names[(i + 1) % names.len()];
        let harmed = disk.crash(1, 1.0);
        let bytes = [name, next].map(|n| read(&disk, &path(DIR, n)));
        write(&harmed, &path(DIR, name), &bytes[1]);
        write(&harmed, &path(DIR, next), &bytes[0]);
        let e = Database::open(DIR, options(harmed, SyncMode::Fsync)).map(drop).unwrap_err();
        let place = e.place().expect("damage has a place");
        assert!([name, next].contains(&&place.file), "{name} and {next} exchanged: {e}");
    }
}

/// Files of a database that went its own way after it was copied have the same numbers.
#[test]
fn a_file_of_another_time_is_foreign() {
    let disk = MemFs::new();
    filled(&disk, DIR, SyncMode::Fsync, 40, true);
    let copy = disk.crash(1, 1.0);
    for disk in [&disk, &copy] {
        filled(disk, DIR, SyncMode::Fsync, 40, true);
    }
    let newest = logs(&disk, DIR).pop().unwrap();
    write(&disk, &path(DIR, &newest), &read(&copy, &path(DIR, &newest)));
    assert_named(&disk, DIR, &newest, "of another time");
}

#[test]
fn backups_know_their_newest_log_file() {
    for mode in MODES {
        let disk = MemFs::new();
        filled(&disk, DIR, mode, 60, true);
        let db = Database::open(DIR, options(disk.clone(), mode)).unwrap();
        db.table("t").unwrap().insert(&row(60)).unwrap();
        db.backup("/backup").unwrap();
        let newest = logs(&disk, "/backup").pop().unwrap();
        let whole = RestoreOptions { options: options(disk.clone(), mode), ..Default::default() };
        assert!(restore("/backup", "/whole", whole).unwrap().check.unwrap().findings.is_empty());
        disk.remove(&path("/backup", &newest)).unwrap();
        assert_named(&disk, "/backup", &newest, "a backup's");
    }
}

/// Where the manifest has no room for its record, the file is not begun, and the one before goes on.
#[test]
fn a_file_that_cannot_be_recorded_is_not_begun() {
    let disk = MemFs::new();
    filled(&disk, DIR, SyncMode::Fsync, 1, true);
    let fs = FaultFs::new(Arc::new(disk.clone()));
    let db = Database::open(DIR, options(fs.clone(), SyncMode::Fsync)).unwrap();
    let table = db.table("t").unwrap();
    let mut rows = 1;
    let full = Fault::on(Operation::Resize).named("manifest").with(ErrorKind::DiskFull).for_ever();
    fs.fail(full);
    let mut refused = 0;
    // The room that the manifest has ahead is enough for many files; then each is refused.
    while refused < 3 && rows < 200_000 {
        match table.insert_many((rows..rows + 25).map(row)) {
            Ok(_) => rows += 25,
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::DiskFull, "{e}");
                refused += 1;
                // Smaller ones may still fit into the file that goes on.
                if table.insert(&row(rows)).is_ok() {
                    rows += 1;
                }
            }
        }
    }
    assert_eq!(refused, 3, "the manifest never fills up");
    assert_eq!(table_rows(&db), rows);
    let left = disk.crash(3, 0.5);
    assert_eq!(table_rows(&Database::open(DIR, options(left, SyncMode::Fsync)).unwrap()), rows);
    fs.heal();
    table.insert_many((rows..rows + 25).map(row)).unwrap();
    drop((table, db));
    let db = Database::open(DIR, options(disk, SyncMode::Fsync)).unwrap();
    assert_eq!(table_rows(&db), rows + 25);
}

/// A part of a page that an earlier life of a file had would be read from the device before the rest of it is
/// written, by a commit. So the first write to a page covers it.
#[test]
fn pages_of_files_used_again_are_written_whole() {
    for sync in MODES {
        let disk = MemFs::new();
        filled(&disk, DIR, sync, 1, true);
        let db = Database::open(DIR, options(disk.clone(), sync)).unwrap();
        let table = db.table("t").unwrap();
        let mut stale = 0;
        for id in 1..400 {
            table.insert(&row(id)).unwrap();
            if id % 40 == 0 {
                // Files are given up, and used again.
                db.flush().unwrap();
            }
            let name = logs(&disk, DIR).pop().unwrap();
            let Some(FileKind::Log(number)) = FileKind::parse(&name) else { panic!("{name}") };
            let bytes = read(&disk, &path(DIR, &name));
            let header = onlap_format::log::FileHeader::parse(number, &bytes).unwrap().unwrap();
            let mut reader = onlap_format::log::LogReader::new(&name, &header, &bytes, None);
            while reader.next_record().unwrap().is_some() {}
            let end = reader.position().offset() as usize;
            let page_end = end.next_multiple_of(4096).min(bytes.len());
            let rest = &bytes[end..page_end];
            assert!(rest.iter().all(|b| *b == 0), "{sync:?}: {name} has an old page at {end}");
            stale += bytes[page_end..].iter().filter(|b| **b != 0).count();
        }
        assert!(stale > 0, "{sync:?}: no file was used again");
    }
}
