//! What is there after `kill -9`?
//!
//! A child process, which is this test binary run again, commits from four threads and keeps an
//! expected-state file per thread outside the database. The parent kills it at a random moment, opens
//! the database and compares: everything acknowledged is there, nothing is there by half, and every
//! index agrees with its table. Then the next child goes on where this one stopped.
//!
//! `ONLAP_KILLS=n` makes the loops longer, `ONLAP_SEED=n` kills at other moments.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, Row, SyncMode, TableSpec, Transaction, Value,
};
use onlap_base::rng::Rng;
use onlap_testkit::kill::{Expected, Promise, run_and_kill};
use support::{agreed_rows, integer, small_options};

const THREADS: u64 = 4;
/// Kills in a test run.
const KILLS: u64 = 5;
/// Where the child finds its directory and its sync mode.
const DIR: &str = "ONLAP_KILL_DIR";
const MODE: &str = "ONLAP_KILL_MODE";
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
                model.insert(integer(&row[0]), row);
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

/// Not a test of its own: without the directory in the environment there is nothing to do.
#[test]
fn child_process() {
    let (Ok(dir), Ok(mode)) = (std::env::var(DIR), std::env::var(MODE)) else { return };
    let dir = PathBuf::from(dir);
    let mode: SyncMode = mode.parse().expect("the parent names a mode");
    let db = Database::open(dir.join("db"), small_options(mode)).expect("the database opens");
    for spec in [rows_spec(), progress_spec()] {
        match db.create_table(spec) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => panic!("{e}"),
            _ => {}
        }
    }
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, dir) = (&db, &dir);
            scope.spawn(move || write_until_killed(db, dir, thread));
        }
    });
}

fn write_until_killed(db: &Database, dir: &Path, thread: u64) {
    let mut file = Expected::open(&expected_path(dir, thread)).unwrap();
    let key = [Value::Int(thread as i64)];
    let (rows, progress) = (db.table("rows").unwrap(), db.table("progress").unwrap());
    let done = db.snapshot().unwrap().get(&progress, &key, None).unwrap();
    let mut commit = done.map_or(0, |row| integer(&row[1]) as u64);
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

fn kill_loop(mode: &str) {
    let number = |name| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("a number"));
    let seed = number("ONLAP_SEED").unwrap_or(1);
    println!("mode {mode}, seed {seed}");
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut commits = 0;
    for _ in 0..number("ONLAP_KILLS").unwrap_or(KILLS) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "child_process", "--nocapture"]);
        child.env(DIR, dir.path()).env(MODE, mode);
        let status = run_and_kill(&mut child, &mut rng, Duration::from_millis(700)).unwrap();
        assert!(status.code().is_none(), "the child ended by itself: {status}");
        commits = verify(dir.path(), mode);
    }
    println!("{commits} commits");
    let options = onlap::CheckOptions { options: small_options(mode.parse().unwrap()) };
    if dir.path().join("db/CURRENT").exists() {
        let report = onlap::check(dir.path().join("db"), &options).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

/// Compares what is there with what was promised; returns how many commits are there.
fn verify(dir: &Path, mode: &str) -> u64 {
    let db = Database::open(dir.join("db"), small_options(mode.parse().unwrap())).unwrap();
    let read = |table: &str| match agreed_rows(&db, table) {
        Err(e) if e.kind() == ErrorKind::UnknownTable => Vec::new(),
        rows => rows.unwrap(),
    };
    let (rows, progress) = (read("rows"), read("progress"));
    let mut by_thread = vec![Model::new(); THREADS as usize];
    for row in rows {
        let id = integer(&row[0]);
        by_thread[(id as u64 / STRIDE) as usize].insert(id, row);
    }
    let mut all = 0;
    for (thread, found) in by_thread.into_iter().enumerate() {
        let row = progress.iter().find(|row| integer(&row[0]) == thread as i64);
        let commits = row.map_or(0, |row| integer(&row[1]) as u64);
        let promise = Promise::read(&expected_path(dir, thread as u64)).unwrap();
        assert!(promise.allows(commits), "thread {thread}: {commits} commits, {promise:?}");
        let expected = expected(thread as u64, commits);
        assert_eq!(found.len(), expected.len(), "thread {thread}: rows after {commits} commits");
        assert!(found == expected, "thread {thread}: other rows after {commits} commits");
        all += commits;
    }
    db.close().unwrap();
    all
}

#[test]
fn killed_in_mode_os() {
    kill_loop("os");
}

#[test]
fn killed_in_mode_fsync() {
    kill_loop("fsync");
}
