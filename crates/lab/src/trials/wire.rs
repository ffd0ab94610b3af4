//! Onlap's server next to PostgreSQL: the same client, memory and durability, one after the other.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use onlap::SyncMode;
use onlap_base::{Error, ErrorKind, Result};

use super::{COMMIT_ROWS, Stage, figure};
use crate::figures::{Better, Figure};
use crate::generate::Workload;
use crate::report::median;
use crate::wire::{self, Kind, Server, ServerOptions, of_client};

mod documents;
mod point;
mod programs;
mod replaced;
mod shards;
mod statements;
mod temporary;

pub(super) use documents::documents;
pub(super) use point::point;
pub(super) use programs::{pgbench, sysbench};
pub(super) use replaced::replaced;
pub(super) use shards::shards;
pub(super) use statements::statements;
pub(super) use temporary::temporary;

/// Bytes of a row of the insert benchmark with its entries, about, in PostgreSQL.
const ROW_BYTES: u64 = 230;
const BOTH: [Kind; 2] = [Kind::Onlap, Kind::Postgres];

/// What a server gets.
#[derive(Clone, Copy)]
struct Memory {
    /// Its own budget.
    budget: u64,
    /// All that it may take with the page cache.
    confined: Option<u64>,
}

impl Memory {
    /// Enough for everything.
    fn roomy(budget: u64) -> Memory {
        Memory { budget, confined: None }
    }

    /// A third of the data, or what was asked for.
    fn scarce(stage: &Stage<'_>, row_bytes: u64) -> Memory {
        let confined = stage.plan.cgroup_memory;
        let third = (stage.plan.rows * row_bytes / 3).clamp(64 << 20, 4 << 30);
        Memory { budget: confined.map_or(third, |all| all * 3 / 5), confined }
    }

    /// For a figure's note.
    fn text(self) -> String {
        let within = self.confined.map_or(String::new(), |n| format!(" in {} MiB", n >> 20));
        format!("{} MiB{within}", self.budget >> 20)
    }
}

fn start(
    stage: &Stage<'_>,
    kind: Kind,
    name: &str,
    memory: Memory,
    sync: SyncMode,
) -> Result<Server> {
    start_in(stage, kind, name, (memory, sync), None)
}

/// The same in a cgroup that is there already.
fn start_in(
    stage: &Stage<'_>,
    kind: Kind,
    name: &str,
    (memory, sync): (Memory, SyncMode),
    group: Option<&Path>,
) -> Result<Server> {
    let dir = stage.dir.join(format!("{name}-{}", kind.name()));
    let options = ServerOptions {
        dir: &dir,
        memory: memory.budget,
        confined: memory.confined,
        group,
        sync,
        clients: 1,
    };
    Server::start(kind, &options)
}

/// An Onlap server with enough memory.
pub(super) fn start_onlap(stage: &Stage<'_>, name: &str, memory: u64) -> Result<Server> {
    start(stage, Kind::Onlap, name, Memory::roomy(memory), SyncMode::Os)
}

/// Rows per second of multi-row INSERTs.
fn inserts_of(stage: &Stage<'_>, server: &Server, rows: u64, indexes: usize) -> Result<f64> {
    let mut client = server.connect()?;
    let shape = Workload::Ibench.shape();
    for sql in wire::create_table(shape, indexes, server.kind()) {
        client.batch_execute(&sql).map_err(|e| of_client(&e))?;
    }
    let mut text = String::new();
    stage.load(rows, COMMIT_ROWS, &mut |batch| {
        wire::insert_text(shape, &batch, &mut text);
        client.batch_execute(&text).map_err(|e| of_client(&e))
    })
}

/// Multi-row INSERT with three indexes and without, in rows per second.
pub(super) fn inserts(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows;
    let memory = Memory::scarce(stage, ROW_BYTES);
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    for run in 0..stage.plan.repeat {
        for (i, (kind, indexes)) in
            [(Kind::Onlap, 3), (Kind::Postgres, 3), (Kind::Onlap, 0)].into_iter().enumerate()
        {
            let name = format!("inserts{run}-{indexes}");
            let server = start(stage, kind, &name, memory, SyncMode::Os)?;
            rates[i].push(inserts_of(stage, &server, rows, indexes)?);
            server.stop()?;
        }
    }
    let [ours, theirs, bare] = rates.map(|mut r| median(&mut r));
    let note = format!("{ours:.0} against {theirs:.0} rows/s; {rows} rows, {}", memory.text());
    Ok(vec![
        figure(
            "multi-row INSERT, 100 per statement, 3 indexes / PostgreSQL",
            ours / theirs,
            (5.0, 15.0),
            Better::Higher,
            "x",
        )
        .noting(note),
        figure("the same with 3 indexes / without", ours / bare, (0.7, 0.9), Better::Higher, "x")
            .noting(format!("{bare:.0} rows/s without")),
    ])
}

/// COPY FROM STDIN with three indexes.
pub(super) fn copy(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows;
    let memory = Memory::scarce(stage, ROW_BYTES);
    let mut rates = [Vec::new(), Vec::new()];
    for run in 0..stage.plan.repeat {
        for (i, kind) in BOTH.into_iter().enumerate() {
            let server = start(stage, kind, &format!("copy{run}"), memory, SyncMode::Os)?;
            rates[i].push(copy_of(stage, &server, rows)?);
            server.stop()?;
        }
    }
    let [ours, theirs] = rates.map(|mut r| median(&mut r));
    let work = "COPY in of the same rows / PostgreSQL";
    let note = format!("{ours:.0} against {theirs:.0} rows/s");
    Ok(vec![figure(work, ours / theirs, (5.0, 20.0), Better::Higher, "x").noting(note)])
}

fn copy_of(stage: &Stage<'_>, server: &Server, rows: u64) -> Result<f64> {
    let mut client = server.connect()?;
    let shape = Workload::Ibench.shape();
    for sql in wire::create_table(shape, 3, server.kind()) {
        client.batch_execute(&sql).map_err(|e| of_client(&e))?;
    }
    let names: Vec<&str> = shape.columns[1..].iter().map(|(name, _)| *name).collect();
    let sql = format!("COPY {} ({}) FROM STDIN", shape.name, names.join(", "));
    let mut writer = client.copy_in(&sql).map_err(|e| of_client(&e))?;
    let mut text = String::new();
    let began = Instant::now();
    stage.load(rows, 1000, &mut |batch| {
        text.clear();
        (0..batch.rows).for_each(|row| wire::row_text(shape, &batch, row, &mut text));
        let io = |e: std::io::Error| Error::new(ErrorKind::Io, e.to_string());
        writer.write_all(text.as_bytes()).map_err(io)
    })?;
    writer.finish().map_err(|e| of_client(&e))?;
    Ok(rows as f64 / began.elapsed().as_secs_f64())
}

/// count and sum over all rows, cached.
pub(super) fn sums(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows.min(10_000_000);
    let memory = Memory::roomy(4 << 30);
    let mut seconds = [[0.0; 2]; 2];
    for (i, kind) in BOTH.into_iter().enumerate() {
        let server = start(stage, kind, "sums", memory, SyncMode::Os)?;
        copy_of(stage, &server, rows)?;
        let mut client = server.connect()?;
        let settled = if kind == Kind::Postgres { "VACUUM ANALYZE" } else { "CHECKPOINT" };
        client.batch_execute(settled).map_err(|e| of_client(&e))?;
        let asked = ["SELECT count(*) FROM purchases", "SELECT sum(price) FROM purchases"];
        for (q, sql) in asked.into_iter().enumerate() {
            let mut took = Vec::new();
            for _ in 0..5 {
                stage.check()?;
                let began = Instant::now();
                client.simple_query(sql).map_err(|e| of_client(&e))?;
                took.push(began.elapsed().as_secs_f64());
            }
            seconds[i][q] = median(&mut took);
        }
        server.stop()?;
    }
    let figures = ["count(*)", "sum of a column"].into_iter().enumerate().map(|(q, what)| {
        let (ours, theirs) = (seconds[0][q], seconds[1][q]);
        let work = format!("{what} over {rows} rows / PostgreSQL");
        let note = format!("{:.4} against {:.4} s", ours, theirs);
        figure(&work, theirs / ours, (5.0, 20.0), Better::Higher, "x").noting(note)
    });
    Ok(figures.collect())
}

/// How long a server takes to answer on data that is there.
pub(super) fn open(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows;
    let memory = Memory::scarce(stage, ROW_BYTES);
    let server = start(stage, Kind::Onlap, "open", memory, SyncMode::Os)?;
    copy_of(stage, &server, rows)?;
    server.stop()?;
    let mut took = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let server = start(stage, Kind::Onlap, "open", memory, SyncMode::Os)?;
        took.push(began.elapsed().as_secs_f64());
        server.stop()?;
    }
    let bytes: u64 = std::fs::read_dir(stage.dir.join("open-onlap-wire"))
        .map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?
        .filter_map(|entry| entry.ok()?.metadata().ok())
        .map(|meta| meta.len())
        .sum();
    let work = "start on an existing directory, closed cleanly";
    let note = format!(
        "{:.2} GB, {rows} rows; the first answer, looked for every 20 ms",
        bytes as f64 / 1e9
    );
    Ok(vec![figure(work, median(&mut took), (1.0, 0.2), Better::Lower, "s").noting(note)])
}
