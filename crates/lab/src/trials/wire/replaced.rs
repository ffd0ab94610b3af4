//! How fast does a table go on whose oldest rows leave as new ones come?
//!
//! The insert benchmark with deletes: a client inserts 50 rows and deletes the 50 oldest by a subquery, again and again, next
//! to a client that asks for ten rows of one of three indexes. Each server by itself, in turn.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use onlap::SyncMode;
use onlap_base::{Result, Rng};

use super::{BOTH, Memory, start};
use crate::figures::{Better, Figure};
use crate::generate::Workload;
use crate::report::median;
use crate::trials::{Stage, figure};
use crate::wire::{self, Kind, Server, of_client};

/// Rows that are there.
const ROWS: u64 = 1_000_000;
/// Rows of a statement.
const EACH: u64 = 50;
/// How long rows are replaced.
const LASTS: Duration = Duration::from_secs(15);
const ROOMY: u64 = 1 << 30;

/// The benchmark's queries, each by an index that has all it asks for.
const QUERIES: [(&str, u32); 3] = [
    (
        "SELECT productid, customerid, price FROM purchases WHERE productid >= {} \
         ORDER BY productid, customerid, price LIMIT 10",
        10_000,
    ),
    (
        "SELECT cashregisterid, customerid, price FROM purchases WHERE cashregisterid > {} \
         ORDER BY cashregisterid, customerid, price LIMIT 10",
        1_000,
    ),
    (
        "SELECT price, dateandtime, customerid FROM purchases WHERE price >= {} \
         ORDER BY price, dateandtime, customerid LIMIT 10",
        500,
    ),
];

/// Rows replaced per second, over PostgreSQL's.
pub(in super::super) fn replaced(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let (mut rows, mut asked) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for run in 0..stage.plan.repeat {
        for (i, kind) in BOTH.into_iter().enumerate() {
            let name = format!("replaced{run}");
            let server = start(stage, kind, &name, Memory::roomy(ROOMY), SyncMode::Os)?;
            let rates = of_server(stage, &server)?;
            rows[i].push(rates[0]);
            asked[i].push(rates[1]);
            server.stop()?;
        }
    }
    let ([ours, theirs], [q, their_q]) =
        (rows.map(|mut r| median(&mut r)), asked.map(|mut r| median(&mut r)));
    let work = "insert benchmark with deletes of 50 next to a query thread, 1M rows / PostgreSQL";
    let note =
        format!("{ours:.0} against {theirs:.0} rows/s; {q:.0} against {their_q:.0} queries/s");
    Ok(vec![figure(work, ours / theirs, (2.0, 4.0), Better::Higher, "x").noting(note)])
}

/// Rows and queries per second.
fn of_server(stage: &Stage<'_>, server: &Server) -> Result<[f64; 2]> {
    super::copy_of(stage, server, ROWS)?;
    let mut client = server.connect()?;
    let settled = if server.kind() == Kind::Postgres { "VACUUM ANALYZE" } else { "CHECKPOINT" };
    client.batch_execute(settled).map_err(|e| of_client(&e))?;
    let (ends, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut reader = server.connect()?;
    std::thread::scope(|scope| {
        let (ends, asked) = (&ends, &asked);
        let queries = scope.spawn(move || {
            let mut rng = Rng::new(7);
            while !ends.load(Ordering::Relaxed) {
                let (text, below) = rng.pick(&QUERIES);
                let text = text.replace("{}", &rng.below(u64::from(*below)).to_string());
                reader.simple_query(&text).map_err(|e| of_client(&e))?;
                asked.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        let done = replace(stage, &mut client);
        ends.store(true, Ordering::Relaxed);
        let asks: Result<()> = queries.join().expect("the query thread does not panic");
        let (rate, seconds) = done?;
        asks?;
        Ok([rate, asked.load(Ordering::Relaxed) as f64 / seconds])
    })
}

fn replace(stage: &Stage<'_>, client: &mut postgres::Client) -> Result<(f64, f64)> {
    let shape = Workload::Ibench.shape();
    let mut generator = Workload::Ibench.generator(2, 1);
    let (mut text, mut rows, began) = (String::new(), 0, Instant::now());
    while began.elapsed() < LASTS {
        stage.check()?;
        let batch = generator.batch(EACH as usize, 1_700_000_000_000_000);
        wire::insert_text(shape, &batch, &mut text);
        client.simple_query(&text).map_err(|e| of_client(&e))?;
        let delete = format!(
            "DELETE FROM purchases WHERE transactionid IN (SELECT transactionid FROM purchases \
             WHERE transactionid >= {rows} ORDER BY transactionid ASC LIMIT {EACH})"
        );
        client.simple_query(&delete).map_err(|e| of_client(&e))?;
        rows += EACH;
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok((rows as f64 / seconds, seconds))
}
