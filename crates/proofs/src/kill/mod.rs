//! What is there after `kill -9`?
//!
//! A child process, which is the command `onlap-proofs` run again, commits from eight threads and keeps an
//! expected-state file per thread outside the database. The parent kills it at a random moment, opens
//! the database and compares: everything acknowledged is there, nothing is there by half, and every
//! index agrees with its table. Then the next child goes on where this one stopped. A seed draws the moments; it
//! does not repeat them.
//!
//! The controls: children with a fault ([`KillFault`]), which the comparison must find.

mod fault;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onlap::{
    CheckOptions, DataType, Database, ErrorKind, IndexSpec, Options, Row, SyncMode, TableSpec,
    Transaction, Value,
};
use onlap_base::rng::Rng;
use onlap_testkit::kill::{Expected, Promise, run_and_kill};

use crate::rows::{agreed, int};
use crate::{Counts, Verdict};
pub use fault::KillFault;

const THREADS: u64 = 8;
/// Kills of a seed, half of them in each mode.
const KILLS: u64 = 10;
/// How the command is told that it is a child.
const CHILD: &str = "child-that-writes";
/// Row ids of different threads are this far apart.
const STRIDE: u64 = 1 << 40;

type Model = BTreeMap<i64, Row>;

fn rows_spec() -> TableSpec {
    TableSpec::new("rows")
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .nullable_column("b", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).descending("a"))
        .index(IndexSpec::new("by_a_id", ["a", "id"]).unique())
}

/// One row per thread: the number of its last commit.
fn progress_spec() -> TableSpec {
    TableSpec::new("progress")
        .column("thread", DataType::Int8)
        .column("commits", DataType::Int8)
        .primary_key(["thread"])
        .index(IndexSpec::new("by_commits", ["commits"]))
}

/// A change of the table `rows`.
enum Change {
    Insert(Row),
    Delete(i64),
    Update(i64, i64),
}

fn id(thread: u64, commit: u64, ordinal: u64) -> i64 {
    (thread * STRIDE + commit * 128 + ordinal) as i64
}

/// What commit number `commit` of a thread does, which nothing but these two numbers decides.
fn changes(thread: u64, commit: u64) -> Vec<Change> {
    let mut out = Vec::new();
    // Some transactions have more rows than memory is allowed to hold of them.
    let large = if (commit + thread).is_multiple_of(13) { 120 } else { 0 };
    for ordinal in 0..2 + (commit * 7 + thread) % 4 + large {
        let b = match commit % 5 {
            0 => Value::Null,
            n => Value::Text("text of a row".repeat(n as usize)),
        };
        let a = Value::Int(((commit * 31 + ordinal) % 1000) as i64);
        out.push(Change::Insert(vec![Value::Int(id(thread, commit, ordinal)), a, b]));
    }
    if commit > 2 && commit.is_multiple_of(3) {
        out.push(Change::Delete(id(thread, commit - 2, 0)));
    }
    if commit > 40 && commit % 4 == 1 {
        out.push(Change::Update(id(thread, commit - 40, 1), (commit % 500) as i64));
    }
    out
}

/// What a thread's rows are after so many commits.
fn expected(thread: u64, commits: u64) -> Model {
    let mut model = Model::new();
    for change in (1..=commits).flat_map(|commit| changes(thread, commit)) {
        match change {
            Change::Insert(row) => {
                model.insert(int(&row[0]), row);
            }
            Change::Delete(id) => assert!(model.remove(&id).is_some()),
            Change::Update(id, a) => {
                model.get_mut(&id).expect("the plan changes rows that are there")[1] =
                    Value::Int(a);
            }
        }
    }
    model
}

fn expected_path(dir: &Path, thread: u64) -> PathBuf {
    dir.join(format!("expected-{thread}"))
}

/// Writes until it is killed, if the words say that this process is the child.
pub(crate) fn child(words: &[&str]) -> Option<ExitCode> {
    let [CHILD, dir, mode, fault] = words else { return None };
    let dir = PathBuf::from(dir);
    let fault::Word(fault) = fault.parse().expect("the parent names a fault");
    let mut options = options(mode);
    if fault == Some(KillFault::HoldsLogBack) {
        options.fs = Arc::new(fault::holding_back());
    }
    let db = Database::open(dir.join("db"), options).expect("the database opens");
    for spec in [rows_spec(), progress_spec()] {
        match db.create_table(spec) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => panic!("{e}"),
            _ => {}
        }
    }
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, dir) = (&db, &dir);
            scope.spawn(move || write_until_killed(db, dir, thread, fault));
        }
    });
    Some(ExitCode::SUCCESS)
}

/// Small memtables, blocks, files and merges.
fn options(mode: &str) -> Options {
    let mode: SyncMode = mode.parse().expect("the parent names a mode");
    let mut options = Options::default().sync(mode).memory_limit(64 << 20);
    options.tuning.memtable_bytes = Some(40_000);
    options.tuning.spill_bytes = Some(8000);
    options.tuning.block_bytes = 600;
    options.tuning.block_rows = 64;
    options.tuning.run_file_bytes = 4000;
    options.tuning.merge_fan_in = 2;
    options.tuning.log_file_bytes = 32 << 10;
    options.log_limit = 128 << 10;
    options
}

fn write_until_killed(db: &Database, dir: &Path, thread: u64, fault: Option<KillFault>) {
    let mut file = Expected::open(&expected_path(dir, thread)).unwrap();
    let key = [Value::Int(thread as i64)];
    let (rows, progress) = (db.table("rows").unwrap(), db.table("progress").unwrap());
    let done = db.snapshot().unwrap().get(&progress, &key, None).unwrap();
    let mut commit = done.map_or(0, |row| int(&row[1]) as u64);
    // A child whose parent has gone must not write for ever.
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(60) {
        commit += 1;
        let mut tx = db.begin().unwrap();
        if commit == 1 {
            tx.insert(&progress, &[key[0].clone(), Value::Int(1)]).unwrap();
        } else {
            let changed = [("commits", Value::Int(commit as i64))];
            assert!(tx.update(&progress, &key, &changed).unwrap());
        }
        apply(&mut tx, &rows, changes(thread, commit));
        file.ask(commit).unwrap();
        if fault == Some(KillFault::AcknowledgesEarly) {
            file.acknowledge(commit).unwrap();
        }
        tx.commit().unwrap();
        file.acknowledge(commit).unwrap();
    }
}

fn apply(tx: &mut Transaction, rows: &onlap::Table, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Insert(row) => tx.insert(rows, &row).unwrap(),
            Change::Delete(id) => assert!(tx.delete(rows, &[Value::Int(id)]).unwrap(), "{id}"),
            Change::Update(id, a) => {
                let found = tx.update(rows, &[Value::Int(id)], &[("a", Value::Int(a))]).unwrap();
                assert!(found, "row {id}");
            }
        }
    }
}

/// Kills the program that this is, some times in each mode.
///
/// # Errors
/// What was lost, or is there by half.
pub fn run(seed: u64) -> Verdict {
    let program = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
    run_with(&program, seed, None)
}

/// Kills `program`, which has to be the command `onlap-proofs`, with a fault if one is given.
///
/// # Errors
/// As [`run`].
pub fn run_with(program: &Path, seed: u64, fault: Option<KillFault>) -> Verdict {
    let mut rng = Rng::new(seed);
    let mut counts = Counts::default();
    for mode in ["os", "fsync"] {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        for _ in 0..KILLS / 2 {
            let mut child = Command::new(program);
            child.arg(CHILD).arg(dir.path()).arg(mode).arg(KillFault::word(fault));
            let most = Duration::from_millis(1000);
            let status = run_and_kill(&mut child, &mut rng, most).map_err(|e| e.to_string())?;
            if status.code().is_some() {
                return Err(format!("mode {mode}: the child ended by itself: {status}"));
            }
            let commits = verify(dir.path(), mode).map_err(|e| format!("mode {mode}: {e}"))?;
            counts.add("kills", 1);
            counts.add("commits that were found again", commits);
        }
        if dir.path().join("db/CURRENT").exists() {
            let report =
                onlap::check(dir.path().join("db"), &CheckOptions { options: options(mode) });
            let report = report.map_err(|e| format!("check: {e:?}"))?;
            if let Some(finding) = report.findings.first() {
                return Err(format!("mode {mode}: check: {finding:?}"));
            }
        }
    }
    Ok(counts)
}

/// Compares what is there with what was promised; returns how many commits are there.
fn verify(dir: &Path, mode: &str) -> Result<u64, String> {
    let db = Database::open(dir.join("db"), options(mode)).map_err(|e| format!("open: {e:?}"))?;
    let snapshot = db.snapshot().map_err(|e| format!("{e:?}"))?;
    let read = |name: &str| match db.table(name) {
        Err(e) if e.kind() == ErrorKind::UnknownTable => Ok(Vec::new()),
        table => {
            let rows = table.and_then(|table| agreed(&snapshot, &table));
            let rows = rows.map_err(|e| format!("{name}: {e:?}"))??;
            Ok::<_, String>(rows.into_iter().map(|(_, row)| row).collect())
        }
    };
    let (rows, progress) = (read("rows")?, read("progress")?);
    let mut by_thread = vec![Model::new(); THREADS as usize];
    for row in rows {
        let id = int(&row[0]);
        by_thread[(id as u64 / STRIDE) as usize].insert(id, row);
    }
    let mut all = 0;
    for (thread, found) in by_thread.into_iter().enumerate() {
        let row = progress.iter().find(|row| int(&row[0]) == thread as i64);
        let commits = row.map_or(0, |row| int(&row[1]) as u64);
        let promise = Promise::read(&expected_path(dir, thread as u64));
        let promise = promise.map_err(|e| e.to_string())?;
        if !promise.allows(commits) {
            return Err(format!("thread {thread}: {commits} commits, {promise:?}"));
        }
        if found != expected(thread as u64, commits) {
            return Err(format!("thread {thread}: other rows than {commits} commits made"));
        }
        all += commits;
    }
    drop(snapshot);
    db.close().map_err(|e| format!("close: {e:?}"))?;
    Ok(all)
}
