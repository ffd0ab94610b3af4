//! How much faster are inserts through a PostgreSQL 15 that divides a table over two servers than over one?
//!
//! The coordinator makes the rows itself and hands them over by postgres_fdw, a thousand by a statement, to hash partitions with
//! three indexes each; some clients at once, since it waits for a shard at a time. All of it shares this machine's cores: two
//! shards on two cores have no core more than one has, and the ratio is the least that machines of their own would reach.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use onlap::SyncMode;
use onlap_base::Result;

use super::{Memory, start};
use crate::figures::{Better, Figure};
use crate::report::median;
use crate::trials::{Stage, figure};
use crate::wire::{Kind, Server, of_client};

const CLIENTS: usize = 4;
/// Rows of a statement of the coordinator's client.
const EACH: u64 = 10_000;
const ROWS_MAX: u64 = 4_000_000;
const ROOMY: u64 = 1 << 30;
const COLUMNS: &str = "id bigint NOT NULL, customer int, price int, at timestamptz, note text";

/// Rows per second over two shards over those over one, and the same of the shards' own work.
pub(in super::super) fn shards(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows.min(ROWS_MAX);
    let (mut rates, mut works) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for run in 0..stage.plan.repeat {
        for i in 0..2 {
            let (rate, cpu_us) = over(stage, run, i + 1, rows)?;
            rates[i].push(rate);
            works[i].push(cpu_us);
        }
    }
    let [one, two] = rates.map(|mut r| median(&mut r));
    let [cpu, divided] = works.map(|mut r| median(&mut r));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let work = "inserts by postgres_fdw into two shards / into one, 3 indexes, 4 clients";
    let note = format!(
        "{two:.0} against {one:.0} rows/s; {rows} rows; shards and coordinator share {cores} cores"
    );
    let own = "CPU of the shards per row, of two / of one";
    let own_note =
        format!("{divided:.2} against {cpu:.2} us; what a machine for each would divide");
    Ok(vec![
        figure(work, two / one, (1.4, 1.8), Better::Higher, "x").noting(note),
        figure(own, divided / cpu, (1.3, 1.1), Better::Lower, "x").noting(own_note),
    ])
}

/// Rows per second over this many shards, and microseconds of CPU that these have used for each row.
fn over(stage: &Stage<'_>, run: usize, count: usize, rows: u64) -> Result<(f64, f64)> {
    let named = |what: &str| format!("{what}{run}-{count}");
    let memory = Memory::roomy(ROOMY);
    let coordinator = start(stage, Kind::Postgres, &named("coordinator"), memory, SyncMode::Os)?;
    let shards = (0..count)
        .map(|at| start(stage, Kind::Onlap, &named(&format!("shard{at}-")), memory, SyncMode::Os));
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
