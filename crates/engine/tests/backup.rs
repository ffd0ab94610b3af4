//! Is a backup what was committed when it began, and nothing else?
//!
//! Under writers, flushes and merges; with the power or a single operation failing at each file
//! operation; on a full disk; with flipped bits; between directories that cannot share files.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use onlap::{
    BackupOptions, CheckOptions, Csn, DataType, Database, Error, ErrorKind, IndexSpec, Options,
    RestoreOptions, Result, Row, SyncMode, TableSpec, Value,
};
use onlap_base::names::FileKind;
use onlap_base::rng::Rng;
use onlap_vfs::{Access, Fault, FaultFs, Fs, MemFs, Operation};
use support::{agreed_rows, integer, small_options};

fn options(fs: impl Fs + 'static, sync: SyncMode) -> Options {
    let mut options = small_options(sync);
    // What is in the log alone is half of a backup.
    options.tuning.spill_bytes = None;
    options.fs = Arc::new(fs);
    options
}

fn open(fs: impl Fs + 'static, dir: &str) -> Result<Database> {
    Database::open(dir, options(fs, SyncMode::Fsync).create(false))
}

fn restore_options<'a>(fs: impl Fs + 'static) -> RestoreOptions<'a> {
    RestoreOptions { options: options(fs, SyncMode::Fsync), ..RestoreOptions::default() }
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .column("b", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).include(["id"]))
}

fn row(id: i64) -> Row {
    let b = "words, words".repeat(1 + id.unsigned_abs() as usize % 9);
    vec![Value::Int(id), Value::Int(id * 7 % 100), Value::Text(b)]
}

/// A database with rows in segments, runs, mark runs and in the log alone, and a table that has never
/// been flushed.
fn filled(disk: &MemFs) -> Database {
    let db = Database::open("/db", options(disk.clone(), SyncMode::Fsync)).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert_many((1..=600).map(row)).unwrap();
    db.flush().unwrap();
    for id in (1..=600).step_by(7) {
        assert!(table.delete(&[Value::Int(id)]).unwrap());
    }
    db.flush().unwrap();
    table.insert_many((601..=700).map(row)).unwrap();
    db.create_table(spec("small")).unwrap().insert(&row(1)).unwrap();
    db
}

fn contents(db: &Database) -> Vec<Vec<Row>> {
    ["t", "small"].iter().map(|t| agreed_rows(db, t).unwrap()).collect()
}

fn names(fs: &dyn Fs, dir: &str) -> Vec<String> {
    if fs.exists(Path::new(dir)).unwrap() { fs.list(Path::new(dir)).unwrap() } else { Vec::new() }
}

// Under load.

/// What each commit did to the set of ids.
type Journal = Mutex<BTreeMap<Csn, (Vec<i64>, Vec<i64>)>>;

fn write(db: &Database, thread: i64, stop: &AtomicBool, journal: &Journal) {
    let mut rng = Rng::new(thread as u64);
    let (t, small) = (db.table("t").unwrap(), db.table("small").unwrap());
    let mut own: Vec<i64> = Vec::new();
    let mut next = thread << 40;
    while !stop.load(Ordering::Relaxed) {
        let mut tx = db.begin().unwrap();
        let (mut added, mut gone) = (Vec::new(), Vec::new());
        for _ in 0..1 + rng.below(10) {
            next += 1;
            tx.insert(&t, &row(next)).unwrap();
            added.push(next);
        }
        while own.len() > 40 && gone.len() < 3 {
            let id = own.swap_remove(rng.index(own.len()));
            assert!(tx.delete(&t, &[Value::Int(id)]).unwrap());
            gone.push(id);
        }
        tx.insert(&small, &row(next)).unwrap();
        let csn = tx.commit().unwrap();
        own.extend(&added);
        journal.lock().unwrap().insert(csn, (added, gone));
    }
}

#[test]
fn a_backup_under_load_holds_every_commit_up_to_its_point_and_no_other() {
    for (mode, copy) in [(SyncMode::Fsync, false), (SyncMode::Os, true)] {
        let disk = MemFs::new();
        let db = Database::open("/db", options(disk.clone(), mode)).unwrap();
        db.create_table(spec("t")).unwrap();
        db.create_table(spec("small")).unwrap();
        let (stop, journal) = (AtomicBool::new(false), Journal::default());
        let mut points = Vec::new();
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                let (db, stop, journal) = (&db, &stop, &journal);
                scope.spawn(move || write(db, thread, stop, journal));
            }
            for n in 0..5 {
                // Between two backups there are commits, however slow the machine is.
                let last = points.last().copied().unwrap_or(0);
                let before = loop {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    let newest = journal.lock().unwrap().keys().next_back().copied().unwrap_or(0);
                    if newest > last + 200 {
                        break newest;
                    }
                };
                let options = BackupOptions { copy, ..BackupOptions::default() };
                let report = db.backup_with(format!("/backup{n}"), options).unwrap();
                assert!(report.csn >= before);
                points.push(report.csn);
            }
            stop.store(true, Ordering::Relaxed);
        });
        db.close().unwrap();
        let journal = journal.into_inner().unwrap();
        assert!(points.windows(2).all(|w| w[0] < w[1]), "{points:?}");
        for (n, point) in points.into_iter().enumerate() {
            let dir = format!("/restored{n}");
            let restored = restored(&disk, &format!("/backup{n}"), &dir);
            let mut ids = std::collections::BTreeSet::new();
            let mut lasts = 0;
            for (added, gone) in journal.range(..=point).map(|(_, change)| change) {
                ids.extend(added);
                gone.iter().for_each(|id| assert!(ids.remove(id)));
                lasts += 1;
            }
            let expected: Vec<Row> = ids.into_iter().map(row).collect();
            assert!(agreed_rows(&restored, "t").unwrap() == expected, "backup {n}");
            assert_eq!(agreed_rows(&restored, "small").unwrap().len(), lasts, "backup {n}");
            assert_eq!(restored.snapshot().unwrap().csn(), point);
        }
    }
}

/// Restores with a check and opens what came of it.
fn restored(disk: &MemFs, backup: &str, dir: &str) -> Database {
    let report = onlap::restore(backup, dir, restore_options(disk.clone())).unwrap();
    let findings = report.check.expect("a check was asked for").findings;
    assert!(findings.is_empty(), "{findings:?}");
    open(disk.clone(), dir).unwrap()
}

#[test]
fn a_backup_outlives_its_source_and_goes_on_as_a_database() {
    let disk = MemFs::new();
    let db = filled(&disk);
    let expected = contents(&db);
    let report = db.backup("/safe/deep/backup").unwrap();
    assert!(report.linked_bytes > report.copied_bytes, "{report:?}");
    db.table("t").unwrap().insert_many((1000..3000).map(row)).unwrap();
    db.settle().unwrap();
    db.close().unwrap();
    for name in names(&disk, "/db") {
        disk.remove(&Path::new("/db").join(name)).unwrap();
    }
    let backup = restored(&disk, "/safe/deep/backup", "/db");
    assert_eq!(contents(&backup), expected);
    let direct = open(disk.clone(), "/safe/deep/backup").unwrap();
    assert_eq!(contents(&direct), expected);
    direct.table("t").unwrap().insert_many((1000..3000).map(row)).unwrap();
    direct.settle().unwrap();
    direct.close().unwrap();
    backup.table("t").unwrap().insert(&row(5000)).unwrap();
    drop(backup);
    assert_eq!(agreed_rows(&open(disk, "/db").unwrap(), "t").unwrap().len(), expected[0].len() + 1);
}

#[test]
fn directories_that_cannot_share_files_get_copies() {
    let disk = MemFs::new();
    let expected = contents(&filled(&disk));
    let fs = FaultFs::new(Arc::new(disk.clone()));
    let db = open(fs.clone(), "/db").unwrap();
    fs.fail(Fault::on(Operation::Link).with(ErrorKind::Unsupported).for_ever());
    let report = db.backup("/backup").unwrap();
    assert_eq!((report.linked_bytes, fs.struck()), (0, 1), "the first refusal stands for all");
    assert_eq!(contents(&restored(&disk, "/backup", "/new")), expected);
}

// Failures.

#[test]
fn power_that_goes_at_any_operation_of_a_backup_leaves_the_source_untouched() {
    let source = MemFs::new();
    let expected = contents(&filled(&source));
    let mut whole = 0;
    for (for_ever, copy) in [(true, false), (true, true), (false, false), (false, true)] {
        for n in 0.. {
            let disk = source.crash(n, 1.0);
            let fs = FaultFs::new(Arc::new(disk.clone()));
            let db = open(fs.clone(), "/db").unwrap();
            let fault = Fault::any().named("backup").after(n);
            fs.fail(if for_ever { fault.for_ever() } else { fault });
            let options = BackupOptions { copy, ..BackupOptions::default() };
            let result = db.backup_with("/backup", options);
            fs.heal();
            if fs.struck() == 0 {
                assert!(result.is_ok(), "{result:?}");
                break;
            }
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Io);
            if !for_ever {
                assert_eq!(names(&disk, "/backup"), [""; 0], "operation {n}");
                assert!(!disk.exists(Path::new("/backup")).unwrap(), "operation {n}");
            }
            db.table("t").unwrap().insert(&row(9999)).unwrap();
            drop(db);
            for share in [0.0, 0.5, 1.0] {
                let after = disk.crash(n, share);
                let db = open(after.clone(), "/db").unwrap();
                assert!(db.table("t").unwrap().delete(&[Value::Int(9999)]).unwrap());
                assert_eq!(contents(&db), expected, "operation {n}");
                whole += u32::from(is_whole_or_refused(&after, &expected));
            }
        }
    }
    assert!(whole > 0, "no cut came after CURRENT");
}

/// A backup that a cut met: true when it is there as a whole.
fn is_whole_or_refused(disk: &MemFs, expected: &[Vec<Row>]) -> bool {
    match onlap::restore("/backup", "/new", restore_options(disk.clone())) {
        Ok(report) => {
            assert_eq!(report.check.unwrap().findings, []);
            assert_eq!(contents(&open(disk.clone(), "/new").unwrap()), expected);
            true
        }
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::NotFound, "{e}");
            assert_eq!(names(disk, "/new"), [""; 0]);
            let files = names(disk, "/backup");
            if files.iter().any(|n| FileKind::parse(n).is_some_and(|k| k.file_id().is_some())) {
                assert!(e.message().contains("incomplete"), "{e}");
                let opened = Database::open("/backup", options(disk.clone(), SyncMode::Os));
                assert_eq!(opened.map(drop).unwrap_err().kind(), ErrorKind::Corruption);
                assert!(files.iter().all(|f| disk.exists(&Path::new("/backup").join(f)).unwrap()));
            }
            false
        }
    }
}

#[test]
fn failures_and_cancelling_leave_nothing_behind() {
    let disk = MemFs::with_capacity(4 << 20);
    let db = filled(&disk);
    let expected = contents(&db);
    // A file that the background removes makes room again, so the disk is filled until it is full.
    let mut ballasts = Vec::new();
    let (dest, e) = (0..100)
        .find_map(|n| {
            let (ballast, dest) = (format!("/ballast-{n}"), format!("/full-{n}"));
            let file = disk.create(Path::new(&ballast), Access::ReadWrite).unwrap();
            ballasts.push(ballast);
            let room = disk.free_bytes(Path::new("/")).unwrap();
            file.allocate(room.saturating_sub(20_000)).unwrap();
            let options = BackupOptions { copy: true, ..BackupOptions::default() };
            db.backup_with(&dest, options).err().map(|e| (dest, e))
        })
        .expect("a disk that fills up");
    assert_eq!(e.kind(), ErrorKind::DiskFull, "{e}");
    assert!(!disk.exists(Path::new(&dest)).unwrap());
    for ballast in ballasts {
        disk.remove(Path::new(&ballast)).unwrap();
    }
    let mut last = None;
    let mut stop = |at: &onlap::BackupProgress| {
        last = Some(*at);
        match at.files_done {
            5.. => Err(Error::new(ErrorKind::Cancelled, "enough")),
            _ => Ok(()),
        }
    };
    let options = BackupOptions { copy: false, progress: Some(&mut stop) };
    let e = db.backup_with("/new/backup", options).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Cancelled);
    assert!(last.is_some_and(|l| l.files > 5 && l.bytes_done < l.bytes), "{last:?}");
    assert!(!disk.exists(Path::new("/new")).unwrap(), "directories it made go too");
    db.backup("/backup").unwrap();
    let mut stop = |_: &onlap::BackupProgress| Err(Error::new(ErrorKind::Cancelled, "enough"));
    let mut options = restore_options(disk.clone());
    options.progress = Some(&mut stop);
    assert_eq!(
        onlap::restore("/backup", "/new", options).unwrap_err().kind(),
        ErrorKind::Cancelled
    );
    assert!(!disk.exists(Path::new("/new")).unwrap());
    assert_eq!(contents(&db), expected);
}

#[test]
fn directories_that_will_not_do_are_refused() {
    let disk = MemFs::new();
    let db = filled(&disk);
    db.backup("/backup").unwrap();
    let before = names(&disk, "/backup");
    for (dest, kind) in [
        ("/backup", ErrorKind::AlreadyExists),
        ("/db", ErrorKind::AlreadyExists),
        ("/db/backup", ErrorKind::InvalidInput),
        ("/db/deep/er/backup", ErrorKind::InvalidInput),
    ] {
        let e = db.backup(dest).unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
    }
    let restore = |from: &str, to: &str| {
        onlap::restore(from, to, restore_options(disk.clone())).map(drop).unwrap_err()
    };
    assert_eq!(restore("/backup", "/db").kind(), ErrorKind::AlreadyExists);
    assert_eq!(restore("/nothing", "/new").kind(), ErrorKind::NotFound);
    assert_eq!(restore("/db", "/new").kind(), ErrorKind::Locked);
    assert_eq!(names(&disk, "/backup"), before);
    disk.create_dir_all(Path::new("/empty")).unwrap();
    db.backup("/empty").unwrap();
    disk.remove(Path::new("/empty/CURRENT")).unwrap();
    let e = restore("/empty", "/new");
    assert!(e.message().contains("incomplete"), "{e}");
    drop(db);
    assert!(
        onlap::restore("/db", "/new", restore_options(disk.clone())).is_ok(),
        "a closed database"
    );
}

// Damage.

#[test]
fn a_check_finds_flipped_bits_in_a_backup() {
    let source = MemFs::new();
    let db = filled(&source);
    let expected = contents(&db);
    db.backup("/backup").unwrap();
    let log_end = log_end(&db);
    drop(db);
    let mut rng = Rng::new(7);
    let (mut found, mut harmless) = (0, 0);
    for name in names(&source, "/backup") {
        let kind = FileKind::parse(&name).expect("files of the database only");
        let path = Path::new("/backup").join(&name);
        let file = source.open(&path, Access::Read).unwrap();
        let bytes = file.read_at(0, file.len().unwrap() as usize).unwrap().into_vec();
        if kind == FileKind::Lock {
            continue;
        }
        for _ in 0..25 {
            let disk = source.crash(1, 1.0);
            let at = rng.index(bytes.len());
            let file = disk.open(&path, Access::ReadWrite).unwrap();
            file.write_at(&[bytes[at] ^ 1 << rng.below(8)], at as u64).unwrap();
            let check = CheckOptions { options: options(disk.clone(), SyncMode::Fsync) };
            match onlap::check("/backup", &check) {
                Ok(report) if report.findings.is_empty() => {
                    let in_log = FileKind::Log(log_end.0) == kind && (at as u64) < log_end.1;
                    assert!(!in_log, "{name}, flipped at {at}: a commit may be lost in silence");
                    assert_eq!(
                        contents(&open(disk, "/backup").unwrap()),
                        expected,
                        "{name} at {at}"
                    );
                    harmless += 1;
                }
                Ok(_) => found += 1,
                Err(e) => {
                    assert!(matches!(e.kind(), ErrorKind::NewerFormat), "{name} at {at}: {e:?}");
                    found += 1;
                }
            }
        }
    }
    assert!(found > 3 * harmless, "{found} found, {harmless} without effect");
}

/// The log file that is written to, and where its records end.
fn log_end(db: &Database) -> (u64, u64) {
    // One more backup ends its log in a note of known length.
    let mut log = (0, 0);
    let mut end = |at: &onlap::BackupProgress| {
        if at.files_done == 0 {
            log.1 = at.bytes_done;
        }
        Ok(())
    };
    let options = BackupOptions { copy: true, progress: Some(&mut end) };
    db.backup_with("/other", options).unwrap();
    log.0 = db.stats().unwrap().log_bytes;
    assert_eq!(log.0, log.1, "one log file is enough for this database");
    (1, log.1)
}

#[test]
fn rows_restored_to_a_real_directory() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    let db = Database::open(at("db"), small_options(SyncMode::Os)).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert_many((0..500).map(row)).unwrap();
    db.flush().unwrap();
    table.insert_many((500..510).map(row)).unwrap();
    assert!(db.backup(at("linked")).unwrap().linked_bytes > 0);
    let options = BackupOptions { copy: true, ..BackupOptions::default() };
    assert_eq!(db.backup_with(at("copied"), options).unwrap().linked_bytes, 0);
    let links = |dir: &str, name: &str| std::fs::metadata(at(dir).join(name)).unwrap().nlink();
    assert_eq!((links("linked", "000000000001.seg"), links("copied", "000000000001.seg")), (2, 1));
    drop((table, db));
    for (n, backup) in ["linked", "copied"].into_iter().enumerate() {
        let dir = at(&format!("restored{n}"));
        let report = onlap::restore(at(backup), &dir, RestoreOptions::default()).unwrap();
        assert_eq!(report.check.unwrap().findings, []);
        let db = Database::open(&dir, small_options(SyncMode::Os)).unwrap();
        let ids: Vec<i64> = agreed_rows(&db, "t").unwrap().iter().map(|r| integer(&r[0])).collect();
        assert_eq!(ids, (0..510).collect::<Vec<_>>());
    }
}
