//! What do statements cost that applications send as text?
//!
//! Onlap's server and PostgreSQL's run at once, with the same memory; a statement runs on one, then on the other, in turn, and
//! medians are compared.

use std::time::Instant;

use onlap::SyncMode;
use onlap_base::Result;

use super::{Memory, start};
use crate::figures::{Better, Figure};
use crate::report::median;
use crate::trials::{Stage, figure};
use crate::wire::{Kind, Server, of_client};

/// Rows of the table that small deletes are from.
const ROWS: u64 = 1_000_000;
/// Rows of the large UPDATE.
const UPDATED: u64 = 160_000;
/// Rows that are sorted without an index, of about 150 bytes.
const SORTED: u64 = 3_000_000;
/// What servers get for statements that are long or many.
const ROOMY: u64 = 1 << 30;
/// What they get for the sort: less than what is sorted.
const MEMORY: u64 = 256 << 20;
/// How often a small statement runs.
const TIMES: usize = 15;

struct Pair {
    ours: postgres::Client,
    theirs: postgres::Client,
}

impl Pair {
    fn each(&mut self, sql: &str) -> Result<()> {
        for client in [&mut self.ours, &mut self.theirs] {
            client.batch_execute(sql).map_err(|e| of_client(&e))?;
        }
        Ok(())
    }

    /// Median seconds of a statement here and there, each time with a text of its own.
    fn time(
        &mut self,
        stage: &Stage<'_>,
        times: usize,
        text: &dyn Fn(usize) -> String,
    ) -> Result<[f64; 2]> {
        let mut took = [Vec::new(), Vec::new()];
        for n in 0..times {
            stage.check()?;
            let sql = text(n);
            for (i, client) in [&mut self.ours, &mut self.theirs].into_iter().enumerate() {
                let began = Instant::now();
                client.simple_query(&sql).map_err(|e| of_client(&e))?;
                took[i].push(began.elapsed().as_secs_f64());
            }
        }
        Ok(took.map(|mut all| median(&mut all)))
    }
}

fn compared(work: &str, [ours, theirs]: [f64; 2], bounds: (f64, f64)) -> Figure {
    let note = format!("{:.2} against {:.2} ms", ours * 1e3, theirs * 1e3);
    figure(work, ours / theirs, bounds, Better::Lower, "x").noting(note)
}

/// The figures, each a time here over PostgreSQL's unless it says otherwise.
pub(in super::super) fn statements(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    both(stage, "statements", ROOMY, &mut |pair, _| {
        figures.extend(inserts(stage, pair)?);
        figures.extend(small(stage, pair)?);
        figures.push(updates(stage, pair)?);
        Ok(())
    })?;
    both(stage, "sorts", MEMORY, &mut |pair, ours| {
        figures.extend(sorts(stage, pair, ours)?);
        Ok(())
    })?;
    Ok(figures)
}

/// Starts both servers for some trials, and stops them.
fn both(
    stage: &Stage<'_>,
    name: &str,
    memory: u64,
    trials: &mut dyn FnMut(&mut Pair, &Server) -> Result<()>,
) -> Result<()> {
    let memory = Memory::roomy(memory);
    let ours = start(stage, Kind::Onlap, name, memory, SyncMode::Os)?;
    let theirs = start(stage, Kind::Postgres, name, memory, SyncMode::Os)?;
    let mut pair = Pair { ours: ours.connect()?, theirs: theirs.connect()? };
    trials(&mut pair, &ours)?;
    drop(pair);
    ours.stop()?;
    theirs.stop()
}

/// INSERT of 4,000 rows, each value with a cast.
fn inserts(stage: &Stage<'_>, pair: &mut Pair) -> Result<Vec<Figure>> {
    pair.each(
        "CREATE TABLE casts (id bigint, name varchar(40), at timestamp, price numeric(12,2))",
    )?;
    let text = |n: usize| {
        let row = |i: usize| {
            let id = n * 4000 + i;
            format!(
                "('{id}'::bigint, 'name {id}'::varchar(40), '2024-01-{:02} 12:00:00'::timestamp, \
                 '{}.5'::numeric(12,2))",
                i % 28 + 1,
                i
            )
        };
        let rows: Vec<String> = (0..4000).map(row).collect();
        format!("INSERT INTO casts VALUES {}", rows.join(", "))
    };
    let took = pair.time(stage, TIMES, &text)?;
    Ok(vec![compared("INSERT of 4,000 rows with four casts / PostgreSQL", took, (1.5, 1.0))])
}

/// Statements whose costs are those of understanding them, and small deletes from a large table.
fn small(stage: &Stage<'_>, pair: &mut Pair) -> Result<Vec<Figure>> {
    pair.each("CREATE TABLE rows (id bigint PRIMARY KEY, a int, b text)")?;
    pair.each("CREATE TABLE others (id bigint PRIMARY KEY, rows_id bigint, c text)")?;
    pair.each(&format!(
        "INSERT INTO rows SELECT n, n % 1000, 'text of ' || n FROM generate_series(1, {ROWS}) n"
    ))?;
    pair.each("INSERT INTO others SELECT n, n * 7, 'other' FROM generate_series(1, 10000) n")?;
    pair.ours.batch_execute("CHECKPOINT").map_err(|e| of_client(&e))?;
    pair.theirs.batch_execute("VACUUM ANALYZE").map_err(|e| of_client(&e))?;
    let asked = "SELECT r.a, o.c FROM rows r JOIN others o ON o.rows_id = r.id WHERE o.id =";
    let same = pair.time(stage, 300, &|_| format!("{asked} 77"))?;
    let fresh = pair.time(stage, 300, &|n| format!("{asked} {}", n + 1))?;
    let wide = |n: usize| {
        let arm = |i: usize| format!("(a = {} AND b LIKE 'x{i}%')", n * 100 + i);
        let arms: Vec<String> = (0..65).map(arm).collect();
        format!("SELECT id FROM rows WHERE id = 5 AND ({})", arms.join(" OR "))
    };
    let wide = pair.time(stage, 60, &wide)?;
    let delete = "DELETE FROM rows WHERE id IN (SELECT id FROM rows ORDER BY id LIMIT 50)";
    let deletes = pair.time(stage, 40, &|_| delete.to_string())?;
    let ms = |work: &str, [ours, theirs]: [f64; 2], bounds| {
        let note = format!("{:.3} against {:.3} ms", ours * 1e3, theirs * 1e3);
        figure(work, ours * 1e3, bounds, Better::Lower, "ms").noting(note)
    };
    Ok(vec![
        compared("two-table select as text, the same again / PostgreSQL", same, (1.5, 1.0)),
        compared("two-table select as text, another each time / PostgreSQL", fresh, (1.5, 1.0)),
        ms("a WHERE of 2 KB, another each time", wide, (3.0, 1.0)),
        ms("DELETE of 50 rows by a subquery, of 1M rows", deletes, (1.0, 0.3)),
    ])
}

/// UPDATE of an indexed column of many rows.
fn updates(stage: &Stage<'_>, pair: &mut Pair) -> Result<Figure> {
    pair.each("CREATE TABLE updated (id bigint PRIMARY KEY, k bigint, pad text)")?;
    pair.each("CREATE UNIQUE INDEX ON updated (k)")?;
    pair.each(&format!(
        "INSERT INTO updated SELECT n, n, repeat('x', 60) FROM generate_series(1, {UPDATED}) n"
    ))?;
    let sql = |n: usize| format!("UPDATE updated SET k = k + {}", (n + 1) * 1_000_000);
    let took = pair.time(stage, 5, &sql)?;
    let work = "UPDATE of a uniquely indexed column, 160,000 rows / PostgreSQL";
    Ok(compared(work, took, (1.0, 0.3)))
}

/// ORDER BY without an index, of more than memory: seconds, and what the server took above its limit.
fn sorts(stage: &Stage<'_>, pair: &mut Pair, ours: &Server) -> Result<Vec<Figure>> {
    pair.each("CREATE TABLE sorted (id bigint, k bigint, pad text)")?;
    pair.each(&format!(
        "INSERT INTO sorted SELECT n, (n * 7919) % 1000003, repeat('y', 100) || n \
         FROM generate_series(1::bigint, {SORTED}) n"
    ))?;
    pair.ours.batch_execute("CHECKPOINT").map_err(|e| of_client(&e))?;
    pair.theirs.batch_execute("VACUUM ANALYZE sorted").map_err(|e| of_client(&e))?;
    pair.each("BEGIN")?;
    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        for (i, client) in [&mut pair.ours, &mut pair.theirs].into_iter().enumerate() {
            stage.check()?;
            let began = Instant::now();
            let mut run = |sql: &str| client.simple_query(sql).map_err(|e| of_client(&e));
            run("DECLARE c NO SCROLL CURSOR FOR SELECT * FROM sorted ORDER BY k, id")?;
            // What a client holds is no part of the sort.
            let is_row = |m: &postgres::SimpleQueryMessage| {
                matches!(m, postgres::SimpleQueryMessage::Row(_))
            };
            while run("FETCH 10000 FROM c")?.iter().any(is_row) {}
            run("CLOSE c")?;
            took[i].push(began.elapsed().as_secs_f64());
        }
    }
    pair.each("COMMIT")?;
    let took = took.map(|mut all| median(&mut all));
    let over = ours
        .resident()
        .map_or(0.0, |resident| resident.peak as f64 / (1 << 20) as f64 - (MEMORY >> 20) as f64);
    let work = "peak memory of the server above its limit of 256 MiB";
    Ok(vec![
        compared("ORDER BY without index, 3M rows of 120 bytes / PostgreSQL", took, (2.0, 1.0)),
        figure(work, over, (96.0, 64.0), Better::Lower, "MiB"),
    ])
}
