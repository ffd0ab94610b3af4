//! sysbench's tables: how long do loads, index builds and scans take, and how fast are small statements?
//!
//! Four tables; the step `update` changes every row of every table once, in random order, and what comes
//! after it meets tables that are fragmented.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use onlap_base::rng::Rng;
use onlap_base::{Error, ErrorKind, Result};

use super::Stage;
use super::clients::{self, Act, Actor, Tally, Until};
use crate::report::RunReport;
use crate::wire::{Arg, Dialect, Session, number, table_options};

pub(super) const STEPS: [&str; 19] = [
    "load",
    "create",
    "settle",
    "scan.1",
    "scans.1",
    "points",
    "range.pk",
    "range.pk.covered",
    "range.k",
    "range.k.covered",
    "update-index",
    "update-nonindex",
    "update-inlist",
    "write-only",
    "read-write",
    "delete-insert",
    "update",
    "scan.2",
    "scans.2",
];

/// Tables.
const TABLES: u64 = 4;
const NAMES: [&str; TABLES as usize] = ["sbtest1", "sbtest2", "sbtest3", "sbtest4"];
/// Rows of a range.
const RANGE: u64 = 100;
/// Keys of a list.
const KEYS: usize = 10;

pub(super) fn run(stage: &Stage<'_>, report: &mut RunReport) -> Result<()> {
    create(stage)?;
    let rows = stage.plan.rows / TABLES;
    let sum = AtomicI64::new(0);
    for (nth, step) in stage.plan.steps.iter().enumerate() {
        let done = match step.as_str() {
            "load" => {
                let done = stage.measure(step, || load(stage, rows, &sum))?;
                check_load(stage, rows, &sum, report)?;
                done
            }
            "create" => stage.measure(step, || create_indexes(stage, rows))?,
            "settle" => stage.settle(&NAMES)?,
            "scan.1" | "scan.2" => stage.measure(step, || scan(stage, rows, 1))?,
            "scans.1" | "scans.2" => stage.measure(step, || scan(stage, rows, TABLES as usize))?,
            "update" => {
                let next = AtomicU64::new(0);
                let make = |_| Whole { rows, next: &next };
                let clients = stage.plan.clients;
                stage.measure(step, || {
                    clients::run(stage, clients, Until::Done(rows * TABLES), 7, &make)
                })?
            }
            name => {
                let test = test_of(name)?;
                let make = |_| Client { rows, test };
                let until = Until::Seconds(stage.plan.seconds);
                let (clients, seed) = (stage.plan.clients, nth as u64 + 100);
                stage.measure(step, || clients::run(stage, clients, until, seed, &make))?
            }
        };
        report.steps.push(done);
    }
    Ok(())
}

fn create(stage: &Stage<'_>) -> Result<()> {
    let options = table_options(stage.kind());
    // SQLite's own row numbers are the key only of a column of exactly this type.
    let key = if stage.dialect() == Dialect::Sqlite { "integer" } else { "int" };
    let create = |name: &&str| {
        format!(
            "CREATE TABLE {name} (id {key} PRIMARY KEY, k int NOT NULL DEFAULT 0, \
             c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT ''){options}"
        )
    };
    stage.run(&NAMES.iter().map(create).collect::<Vec<_>>())
}

/// Groups of eleven digits.
fn digits(rng: &mut Rng, groups: usize) -> String {
    let group = |rng: &mut Rng| format!("{:011}", rng.below(100_000_000_000));
    (0..groups).map(|_| group(rng)).collect::<Vec<_>>().join("-")
}

fn value(rng: &mut Rng, rows: u64) -> i64 {
    rng.below(rows) as i64 + 1
}

/// Key order within each table; clients take stretches in turn.
fn load(stage: &Stage<'_>, rows: u64, sum: &AtomicI64) -> Result<Tally> {
    let next = AtomicU64::new(0);
    let make = |_| Loader { rows, commit_rows: stage.plan.commit_rows as u64, next: &next, sum };
    clients::run(stage, stage.plan.clients, Until::Done(rows * TABLES), 3, &make)
}

struct Loader<'a> {
    rows: u64,
    commit_rows: u64,
    next: &'a AtomicU64,
    sum: &'a AtomicI64,
}

impl Actor for Loader<'_> {
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>> {
        let commits = self.rows.div_ceil(self.commit_rows);
        let nth = self.next.fetch_add(1, Relaxed);
        if nth >= commits * TABLES {
            return Ok(None);
        }
        let table = NAMES[(nth / commits) as usize];
        let from = nth % commits * self.commit_rows + 1;
        let to = (from + self.commit_rows).min(self.rows + 1);
        let mut sum = 0;
        let row = |id: u64| {
            let k = value(rng, self.rows);
            sum += k;
            format!("({id},{k},'{}','{}')", digits(rng, 10), digits(rng, 5))
        };
        let values = (from..to).map(row).collect::<Vec<_>>().join(",");
        session.run(&format!("INSERT INTO {table} (id, k, c, pad) VALUES {values}"))?;
        self.sum.fetch_add(sum, Relaxed);
        Ok(Some(Act { rows: to - from, ..Act::of("insert") }))
    }
}

/// What is there is what was sent.
fn check_load(stage: &Stage<'_>, rows: u64, sum: &AtomicI64, report: &mut RunReport) -> Result<()> {
    let mut session = stage.session()?;
    let whole = stage.dialect().whole();
    let (mut found, mut sums) = (0, 0);
    for name in NAMES {
        found += number(&mut *session, &format!("SELECT count(*) FROM {name}"), &[])?;
        let sql = format!("SELECT CAST(sum(k) AS {whole}) FROM {name}");
        sums += number(&mut *session, &sql, &[])?;
    }
    let expected = ((rows * TABLES) as i64, sum.load(Relaxed));
    if (found, sums) != expected {
        let text = format!("rows and sum of k are ({found}, {sums}), not {expected:?}");
        return Err(Error::new(ErrorKind::Corruption, text));
    }
    report.answers.insert("rows".into(), found);
    Ok(())
}

fn create_indexes(stage: &Stage<'_>, rows: u64) -> Result<Tally> {
    let (mut tally, began) = (Tally::new()?, Instant::now());
    let create = |(n, name): (usize, &&str)| format!("CREATE INDEX k_{} ON {name} (k)", n + 1);
    stage.run(&NAMES.iter().enumerate().map(create).collect::<Vec<_>>())?;
    tally.seconds = Some(began.elapsed().as_secs_f64());
    tally.rows = rows * TABLES;
    Ok(tally)
}

/// Scans so many tables at once, one client each.
fn scan(stage: &Stage<'_>, rows: u64, tables: usize) -> Result<Tally> {
    let make = |client: usize| Scanner { table: client, rows, done: false };
    clients::run(stage, tables, Until::Done(tables as u64), 5, &make)
}

struct Scanner {
    table: usize,
    rows: u64,
    done: bool,
}

impl Actor for Scanner {
    fn act(&mut self, session: &mut dyn Session, _: &mut Rng) -> Result<Option<Act>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let sql = format!("SELECT * FROM {} WHERE LENGTH(c) < 0", NAMES[self.table]);
        let found = session.query(&sql, &[], &mut |_| {})?;
        match found {
            0 => Ok(Some(Act { scanned: self.rows, ..Act::of("scan") })),
            n => Err(Error::new(ErrorKind::Corruption, format!("{n} rows have no length"))),
        }
    }
}

/// Updates each row once, in an order that hits all blocks again and again.
struct Whole<'a> {
    rows: u64,
    next: &'a AtomicU64,
}

impl Actor for Whole<'_> {
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>> {
        let nth = self.next.fetch_add(1, Relaxed);
        if nth >= self.rows * TABLES {
            return Ok(None);
        }
        // A step that shares no factor with the rows visits all of them.
        let mut step = (self.rows * 5 / 8) | 1;
        while common(step, self.rows) != 1 {
            step += 2;
        }
        let id = (nth / TABLES) * step % self.rows + 1;
        let sql = format!("UPDATE {} SET c = ? WHERE id = ?", NAMES[(nth % TABLES) as usize]);
        let text = digits(rng, 10);
        session.execute(&sql, &[Arg::Text(&text), Arg::Int(id as i64)])?;
        Ok(Some(Act::of("update")))
    }
}

/// Greatest common divisor.
fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// A test of small statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Points,
    Range(&'static str),
    UpdateIndex,
    UpdateNonindex,
    UpdateInlist,
    DeleteInsert,
    WriteOnly,
    ReadWrite,
}

fn test_of(step: &str) -> Result<Test> {
    Ok(match step {
        "points" => Test::Points,
        "range.pk" => Test::Range("SELECT c FROM {} WHERE id BETWEEN ? AND ?"),
        "range.pk.covered" => Test::Range("SELECT id FROM {} WHERE id BETWEEN ? AND ?"),
        "range.k" => Test::Range("SELECT c FROM {} WHERE k BETWEEN ? AND ?"),
        "range.k.covered" => Test::Range("SELECT k FROM {} WHERE k BETWEEN ? AND ?"),
        "update-index" => Test::UpdateIndex,
        "update-nonindex" => Test::UpdateNonindex,
        "update-inlist" => Test::UpdateInlist,
        "delete-insert" => Test::DeleteInsert,
        "write-only" => Test::WriteOnly,
        "read-write" => Test::ReadWrite,
        other => return Err(Error::new(ErrorKind::InvalidInput, format!("step {other}"))),
    })
}

struct Client {
    rows: u64,
    test: Test,
}

impl Client {
    fn table(&self, rng: &mut Rng) -> &'static str {
        NAMES[rng.below(TABLES) as usize]
    }

    fn point(&self, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let sql = format!("SELECT c FROM {} WHERE id = ?", self.table(rng));
        let id = value(rng, self.rows);
        match session.query(&sql, &[Arg::Int(id)], &mut |_| {})? {
            1 => Ok(()),
            n => Err(Error::new(ErrorKind::Corruption, format!("{n} rows with the key {id}"))),
        }
    }

    fn range(&self, session: &mut dyn Session, rng: &mut Rng, sql: &str) -> Result<()> {
        let from = value(rng, self.rows.saturating_sub(RANGE).max(1));
        let values = [Arg::Int(from), Arg::Int(from + RANGE as i64 - 1)];
        session.query(&sql.replace("{}", self.table(rng)), &values, &mut |_| {}).map(drop)
    }

    fn update_index(&self, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let sql = format!("UPDATE {} SET k = k + 1 WHERE id = ?", self.table(rng));
        session.execute(&sql, &[Arg::Int(value(rng, self.rows))]).map(drop)
    }

    fn update_nonindex(&self, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let sql = format!("UPDATE {} SET c = ? WHERE id = ?", self.table(rng));
        let text = digits(rng, 10);
        session.execute(&sql, &[Arg::Text(&text), Arg::Int(value(rng, self.rows))]).map(drop)
    }

    fn update_inlist(&self, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let places = ["?"; KEYS].join(", ");
        let sql = format!("UPDATE {} SET k = k + 1 WHERE id IN ({places})", self.table(rng));
        let mut keys: Vec<i64> = (0..KEYS).map(|_| value(rng, self.rows)).collect();
        // In one order, so that clients do not wait for each other in a circle.
        keys.sort_unstable();
        let keys: Vec<Arg<'_>> = keys.into_iter().map(Arg::Int).collect();
        session.execute(&sql, &keys).map(drop)
    }

    fn delete_insert(&self, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let (table, id, k) = (self.table(rng), value(rng, self.rows), value(rng, self.rows));
        let delete = format!("DELETE FROM {table} WHERE id = ?");
        session.execute(&delete, &[Arg::Int(id)])?;
        let (c, pad) = (digits(rng, 10), digits(rng, 5));
        let insert = format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)");
        let values = [Arg::Int(id), Arg::Int(k), Arg::Text(&c), Arg::Text(&pad)];
        session.execute(&insert, &values).map(drop)
    }

    /// sysbench's transaction: ten points and four ranges where it reads, then four writes.
    fn transaction(&self, session: &mut dyn Session, rng: &mut Rng, reads: bool) -> Result<()> {
        session.run("BEGIN")?;
        if reads {
            (0..10).try_for_each(|_| self.point(session, rng))?;
            for tail in ["", " ORDER BY c"] {
                let sql = format!("SELECT c FROM {{}} WHERE id BETWEEN ? AND ?{tail}");
                self.range(session, rng, &sql)?;
            }
            self.range(session, rng, "SELECT sum(k) FROM {} WHERE id BETWEEN ? AND ?")?;
            let distinct = "SELECT DISTINCT c FROM {} WHERE id BETWEEN ? AND ? ORDER BY c";
            self.range(session, rng, distinct)?;
        }
        self.update_index(session, rng)?;
        self.update_nonindex(session, rng)?;
        self.delete_insert(session, rng)?;
        session.run("COMMIT")
    }
}

impl Actor for Client {
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>> {
        let name = match self.test {
            Test::Points => self.point(session, rng).map(|()| "point"),
            Test::Range(sql) => self.range(session, rng, sql).map(|()| "range"),
            Test::UpdateIndex => self.update_index(session, rng).map(|()| "update-index"),
            Test::UpdateNonindex => self.update_nonindex(session, rng).map(|()| "update-nonindex"),
            Test::UpdateInlist => self.update_inlist(session, rng).map(|()| "update-inlist"),
            Test::DeleteInsert => {
                session.run("BEGIN")?;
                self.delete_insert(session, rng)?;
                session.run("COMMIT").map(|()| "delete-insert")
            }
            Test::WriteOnly => self.transaction(session, rng, false).map(|()| "write-only"),
            Test::ReadWrite => self.transaction(session, rng, true).map(|()| "read-write"),
        }?;
        Ok(Some(Act::of(name)))
    }
}
