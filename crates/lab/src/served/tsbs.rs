//! Time series of hosts: ten metrics each, many indexes, late rows, and the newest row of every host.
//!
//! Times are timestamps of whole seconds, metrics doubles. Every host sends a row each ten seconds; one row in a hundred comes up to an
//! hour late. Twelve indexes: by host and time, by time, and one for every metric.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onlap_base::rng::Rng;
use onlap_base::{Error, ErrorKind, Result};

use super::Stage;
use super::clients::{self, Act, Actor, Until};
use crate::report::RunReport;
use crate::wire::{Arg, Dialect, Session, number, table_options, time_text};

pub(super) const STEPS: [&str; 6] = ["load", "settle", "last", "last.all", "groups", "top"];

const HOSTS: u64 = 100;
const METRICS: usize = 10;
/// Seconds between two rows of a host, and where time begins.
const PERIOD: u64 = 10;
const BEGIN: u64 = 1_700_000_000;
/// One row in so many is late, by at most so many seconds.
const LATE: u64 = 100;
const LATE_SECONDS: u64 = 3600;

pub(super) fn run(stage: &Stage<'_>, report: &mut RunReport) -> Result<()> {
    create(stage)?;
    let rows = stage.plan.rows;
    for (nth, step) in stage.plan.steps.iter().enumerate() {
        let done = match step.as_str() {
            "load" => {
                let next = AtomicU64::new(0);
                let commit_rows = stage.plan.commit_rows as u64;
                let times_are_text = stage.dialect() != Dialect::Sqlite;
                let walks = [50.0; METRICS];
                let make =
                    |_| Loader { rows, commit_rows, next: &next, metrics: walks, times_are_text };
                let clients = stage.plan.clients;
                stage.measure(step, || clients::run(stage, clients, Until::Done(rows), 1, &make))?
            }
            "settle" => stage.settle(&["cpu"])?,
            query => {
                let query = query_of(query)?;
                let make = |_| Client { rows, query, dialect: stage.dialect() };
                let until = Until::Seconds(stage.plan.seconds);
                let (clients, seed) = (stage.plan.clients, nth as u64 + 10);
                stage.measure(step, || clients::run(stage, clients, until, seed, &make))?
            }
        };
        report.steps.push(done);
    }
    let found = number(&mut *stage.session()?, "SELECT count(*) FROM cpu", &[])?;
    let loads = stage.plan.steps.iter().filter(|s| *s == "load").count() as u64;
    if found as u64 != rows * loads {
        let text = format!("{} rows were sent, {found} are there", rows * loads);
        return Err(Error::new(ErrorKind::Corruption, text));
    }
    report.answers.insert("rows".into(), found);
    Ok(())
}

fn create(stage: &Stage<'_>) -> Result<()> {
    let options = table_options(stage.kind());
    // RocksDB in MariaDB has no descending indexes and reads ascending ones backwards.
    let newest_first = if stage.dialect() == Dialect::Mysql { "" } else { " DESC" };
    let serial = stage.dialect().serial();
    // Of whole seconds; SQLite has no times.
    let time = match stage.dialect() {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql => "datetime",
        Dialect::Sqlite => "integer",
    };
    let metrics: Vec<_> = (0..METRICS).map(|m| format!("m{m} double precision NOT NULL")).collect();
    let metrics = metrics.join(", ");
    let hosts = (0..HOSTS).map(|h| format!("({h}, 'host_{h}', 'region_{}')", h % 8));
    let mut statements = vec![
        format!(
            "CREATE TABLE tags (id int PRIMARY KEY, hostname varchar(64) NOT NULL, \
             region varchar(64) NOT NULL){options}"
        ),
        format!("INSERT INTO tags VALUES {}", hosts.collect::<Vec<_>>().join(", ")),
        format!(
            "CREATE TABLE cpu (id {serial} PRIMARY KEY, time {time} NOT NULL, tags_id int NOT NULL, \
             {metrics}){options}"
        ),
        format!("CREATE INDEX cpu_host ON cpu (tags_id, time{newest_first})"),
        format!("CREATE INDEX cpu_time ON cpu (time{newest_first})"),
    ];
    statements.extend((0..METRICS).map(|m| format!("CREATE INDEX cpu_m{m} ON cpu (m{m}, time)")));
    stage.run(&statements)
}

/// When the n-th row of all was measured.
fn time_of(nth: u64) -> u64 {
    BEGIN + nth / HOSTS * PERIOD
}

struct Loader<'a> {
    rows: u64,
    commit_rows: u64,
    next: &'a AtomicU64,
    /// Walks at random between 0 and 100, in steps of at most 1.
    metrics: [f64; METRICS],
    times_are_text: bool,
}

impl Actor for Loader<'_> {
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>> {
        use std::fmt::Write as _;
        let from = self.next.fetch_add(self.commit_rows, Relaxed);
        let to = (from + self.commit_rows).min(self.rows);
        if from >= to {
            return Ok(None);
        }
        let mut sql =
            "INSERT INTO cpu (time, tags_id, m0, m1, m2, m3, m4, m5, m6, m7, m8, m9) VALUES "
                .to_owned();
        for nth in from..to {
            let late = if rng.below(LATE) == 0 { rng.below(LATE_SECONDS) } else { 0 };
            let comma = if nth > from { "," } else { "" };
            let time = time_of(nth) - late;
            let _ = match self.times_are_text {
                true => write!(sql, "{comma}('{}',{}", time_text(time as i64), nth % HOSTS),
                false => write!(sql, "{comma}({time},{}", nth % HOSTS),
            };
            for metric in &mut self.metrics {
                *metric = (*metric + rng.unit() * 2.0 - 1.0).clamp(0.0, 100.0);
                let _ = write!(sql, ",{:.2}", *metric);
            }
            sql.push(')');
        }
        session.run(&sql)?;
        Ok(Some(Act { rows: to - from, ..Act::of("insert") }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Query {
    /// Newest row of one host.
    Last,
    /// Newest row of each host in one statement.
    LastAll,
    /// Greatest value of each minute of an hour of one host.
    Groups,
    /// The ten greatest values since a time.
    Top,
}

fn query_of(step: &str) -> Result<Query> {
    match step {
        "last" => Ok(Query::Last),
        "last.all" => Ok(Query::LastAll),
        "groups" => Ok(Query::Groups),
        "top" => Ok(Query::Top),
        other => Err(Error::new(ErrorKind::InvalidInput, format!("step {other}"))),
    }
}

struct Client {
    rows: u64,
    query: Query,
    dialect: Dialect,
}

impl Actor for Client {
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>> {
        let host = Arg::Int(rng.below(HOSTS) as i64);
        let last = time_of(self.rows.saturating_sub(1));
        let from = (BEGIN + rng.below((last - BEGIN).max(1))) as i64;
        let (name, found, expected) = match self.query {
            Query::Last => {
                let sql = "SELECT * FROM cpu WHERE tags_id = ? ORDER BY time DESC LIMIT 1";
                ("last", session.query(sql, &[host], &mut |_| {})?, Some(1))
            }
            Query::LastAll => {
                let sql = "SELECT c.tags_id, c.time, c.m0 FROM cpu c JOIN (SELECT tags_id, \
                           max(time) AS newest FROM cpu GROUP BY tags_id) n ON c.tags_id = n.tags_id \
                           AND c.time = n.newest";
                ("last.all", session.query(sql, &[], &mut |_| {})?, Some(HOSTS.min(self.rows)))
            }
            Query::Groups => {
                let minute = match self.dialect {
                    Dialect::Postgres => "date_trunc('minute', time)",
                    Dialect::Mysql => "time - INTERVAL SECOND(time) SECOND",
                    Dialect::Sqlite => "time / 60",
                };
                let sql = format!(
                    "SELECT {minute} AS minute, max(m0) FROM cpu WHERE tags_id = ? AND time >= ? \
                     AND time < ? GROUP BY {minute} ORDER BY minute"
                );
                let values = [host, Arg::Time(from), Arg::Time(from + 3600)];
                ("groups", session.query(&sql, &values, &mut |_| {})?, None)
            }
            Query::Top => {
                let sql = "SELECT m0, time FROM cpu WHERE m0 >= ? ORDER BY m0, time LIMIT 10";
                let least = Arg::Float(rng.below(60) as f64);
                ("top", session.query(sql, &[least], &mut |_| {})?, None)
            }
        };
        match expected {
            // A late row may share the newest time.
            Some(n) if found < n => {
                let text = format!("{name} found {found} rows, not {n}");
                Err(Error::new(ErrorKind::Corruption, text))
            }
            _ => Ok(Some(Act::of(name))),
        }
    }
}
