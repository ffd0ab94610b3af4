//! How much faster are inserts through a PostgreSQL 15 that divides a table over two servers than over one?
//!
//! The coordinator makes the rows itself and hands them over by postgres_fdw, a thousand by a statement, to hash partitions with
//! three indexes each; some clients at once, since it waits for a shard at a time.
//!
//! A shard stands for a machine, so each gets a fixed share of a core, and the coordinator what is left. The same is measured
//! without that: then two shards on two cores have no core more than one has, and the ratio is the least that machines of their
//! own would reach.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use onlap::SyncMode;
use onlap_base::Result;

use super::{Memory, start_in};
use crate::confine::Limit;
use crate::figures::{Better, Figure};
use crate::report::median;
use crate::trials::{Stage, figure};
use crate::wire::{Kind, Server, of_client};

const CLIENTS: usize = 4;
/// Rows of a statement of the coordinator's client.
const EACH: u64 = 10_000;
const ROWS_MAX: u64 = 4_000_000;
const ROOMY: u64 = 1 << 30;
/// Of a core, what each shard gets that stands for a machine: with two of them the coordinator has most of two cores left.
const SHARE: f64 = 0.3;
const COLUMNS: &str = "id bigint NOT NULL, customer int, price int, at timestamptz, note text";

/// Rows per second over two shards over those over one, by shards of a fixed size and by those that share all cores, and the
/// same of the shards' own work.
pub(in super::super) fn shards(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let work = "inserts by postgres_fdw into two shards / into one, 3 indexes, 4 clients";
    let mut figures = Vec::new();
    match Limit::of_core(SHARE) {
        Ok(_) => {
            let of = compared(stage, Some(SHARE))?;
            let note = of.note(&format!("each shard has {SHARE} of a core"));
            let work = format!("{work}, each shard of a fixed share of a core");
            figures.push(of.figure(&work).noting(note));
        }
        Err(e) => eprintln!("shards of a fixed size are left out: {e}"),
    }
    let of = compared(stage, None)?;
    let note = of.note(&format!("shards and coordinator share {cores} cores"));
    figures.push(of.figure(work).noting(note));
    let [cpu, divided] = of.cpu_us;
    let own = "CPU of the shards per row, of two / of one";
    let own_note =
        format!("{divided:.2} against {cpu:.2} us; what a machine for each would divide");
    figures.push(figure(own, divided / cpu, (1.3, 1.1), Better::Lower, "x").noting(own_note));
    Ok(figures)
}

/// Medians of one shard and of two.
struct Compared {
    rows: u64,
    /// Rows per second.
    rates: [f64; 2],
    /// Microseconds of CPU of all shards for each row.
    cpu_us: [f64; 2],
}

impl Compared {
    fn figure(&self, work: &str) -> Figure {
        let [one, two] = self.rates;
        figure(work, two / one, (1.4, 1.8), Better::Higher, "x")
    }

    fn note(&self, what: &str) -> String {
        let [one, two] = self.rates;
        format!("{two:.0} against {one:.0} rows/s; {} rows; {what}", self.rows)
    }
}

fn compared(stage: &Stage<'_>, share: Option<f64>) -> Result<Compared> {
    let rows = stage.plan.rows.min(ROWS_MAX);
    let (mut rates, mut works) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for run in 0..stage.plan.repeat {
        for i in 0..2 {
            let (rate, cpu_us) = over(stage, run, i + 1, rows, share)?;
            rates[i].push(rate);
            works[i].push(cpu_us);
        }
    }
    let [rates, cpu_us] = [rates, works].map(|of| of.map(|mut runs| median(&mut runs)));
    Ok(Compared { rows, rates, cpu_us })
}

/// Rows per second over this many shards, and microseconds of CPU that these have used for each row.
fn over(
    stage: &Stage<'_>,
    run: usize,
    count: usize,
    rows: u64,
    share: Option<f64>,
) -> Result<(f64, f64)> {
    let size = share.map_or("", |_| "-limited");
    let named = |what: &str| format!("{what}{run}-{count}{size}");
    let with = (Memory::roomy(ROOMY), SyncMode::Os);
    let coordinator = start_in(stage, Kind::Postgres, &named("coordinator"), with, None)?;
    let limits = (0..count).map(|_| share.map(Limit::of_core).transpose());
    // Servers end before their groups are removed: what is declared later is dropped first.
    let limits = limits.collect::<Result<Vec<Option<Limit>>>>()?;
    let shards = limits.iter().enumerate().map(|(at, limit)| {
        let group = limit.as_ref().map(Limit::path);
        start_in(stage, Kind::Onlap, &named(&format!("shard{at}-")), with, group)
    });
    let shards = shards.collect::<Result<Vec<Server>>>()?;
    divide(&coordinator, &shards)?;
    let used = |shards: &[Server]| -> u64 {
        shards.iter().filter_map(Server::usage).map(|usage| usage.cpu_us).sum()
    };
    let before = used(&shards);
    let (next, began) = (AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        let (next, coordinator) = (&next, &coordinator);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(move || insert(stage, coordinator, next, rows)))
            .collect();
        clients.into_iter().try_for_each(|client| client.join().expect("a client does not panic"))
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let cpu_us = used(&shards) - before;
    let mut client = coordinator.connect()?;
    let there = client.query_one("SELECT count(*) FROM events", &[]).map_err(|e| of_client(&e))?;
    assert_eq!(there.get::<_, i64>(0) as u64, rows, "rows that were inserted are there");
    shards.into_iter().try_for_each(Server::stop)?;
    coordinator.stop()?;
    Ok((rows as f64 / seconds, cpu_us as f64 / rows as f64))
}

/// Makes the table on the shards, and its partitions on the coordinator.
fn divide(coordinator: &Server, shards: &[Server]) -> Result<()> {
    let mut sql = format!(
        "CREATE EXTENSION postgres_fdw; CREATE TABLE events ({COLUMNS}) PARTITION BY HASH (id);"
    );
    for (at, shard) in shards.iter().enumerate() {
        let made = format!(
            "CREATE TABLE events ({COLUMNS}, PRIMARY KEY (id)); CREATE INDEX ON events (customer, at); \
             CREATE INDEX ON events (price); CREATE INDEX ON events (at)"
        );
        shard.connect()?.batch_execute(&made).map_err(|e| of_client(&e))?;
        sql.push_str(&format!(
            "CREATE SERVER s{at} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{}', \
             dbname 'postgres', async_capable 'true', fetch_size '10000', batch_size '1000'); \
             CREATE USER MAPPING FOR CURRENT_USER SERVER s{at} OPTIONS (user 'postgres'); \
             CREATE FOREIGN TABLE events_{at} PARTITION OF events FOR VALUES WITH (MODULUS {}, REMAINDER {at}) \
             SERVER s{at} OPTIONS (table_name 'events');",
            shard.port(),
            shards.len(),
        ));
    }
    coordinator.connect()?.batch_execute(&sql).map_err(|e| of_client(&e))
}

/// Inserts rows as long as there are some to do.
fn insert(stage: &Stage<'_>, coordinator: &Server, next: &AtomicU64, rows: u64) -> Result<()> {
    let mut client = coordinator.connect()?;
    loop {
        stage.check()?;
        let from = next.fetch_add(EACH, Ordering::Relaxed);
        let to = (from + EACH).min(rows);
        if from >= to {
            return Ok(());
        }
        let sql = format!(
            "INSERT INTO events SELECT i, i * 7919 % 100000, i * 104729 % 500, \
             timestamptz '2026-01-01' + i * interval '1 ms', 'note ' || i \
             FROM generate_series({from}::bigint, {to} - 1) i"
        );
        client.batch_execute(&sql).map_err(|e| of_client(&e))?;
    }
}
