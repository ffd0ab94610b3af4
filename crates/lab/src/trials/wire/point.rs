//! What does a point select cost above the engine?

use std::time::Instant;

use onlap::{Database, Options, SyncMode, TransactionOptions, Value};
use onlap_base::{Error, ErrorKind, Result};

use super::{Memory, start};
use crate::figures::{Better, Figure};
use crate::trials::{Stage, figure};
use crate::wire::{Kind, of_client};

/// Rows of the table, all cached.
const ROWS: u64 = 100_000;
const QUERY: &str = "SELECT c FROM points WHERE id = $1";

/// Keys in an order that is not theirs.
fn key(i: u64) -> u64 {
    i * 7919 % ROWS
}

/// CPU of this thread in seconds.
fn thread_cpu() -> f64 {
    // SAFETY: a plain system call fills a value of this process.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }
}

/// Seconds of CPU per read of the engine itself, on the server's data.
fn engine_cost(stage: &Stage<'_>, memory: u64, times: u64) -> Result<f64> {
    let dir = stage.dir.join(format!("point-{}", Kind::Onlap.name()));
    let db = Database::open(dir, Options::default().sync(SyncMode::Os).memory_limit(memory))?;
    let table = db.table("points")?;
    let mut began = 0.0;
    // The first round fills the cache.
    for i in 0..times + ROWS {
        if i == ROWS {
            began = thread_cpu();
        }
        let key = [Value::Int(key(i) as i64)];
        let mut tx = db.begin_with(TransactionOptions::default())?;
        if tx.get_by(&table, "points_pkey", &key, Some(&["c"]))?.is_none() {
            return Err(Error::new(ErrorKind::Corruption, "a row is missing"));
        }
        tx.commit()?;
    }
    let took = thread_cpu() - began;
    db.close()?;
    Ok(took / times as f64)
}

/// Prepared point selects by several connections: CPU of the server above the engine's, and sends per query.
pub(in super::super) fn point(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let memory = 512 << 20;
    let server = start(stage, Kind::Onlap, "point", Memory::roomy(memory), SyncMode::Os)?;
    let mut client = server.connect()?;
    let mut run = |sql: &str| client.batch_execute(sql).map_err(|e| of_client(&e));
    run("CREATE TABLE points (id int PRIMARY KEY, k int, c text, pad text)")?;
    run(&format!(
        "INSERT INTO points SELECT n, n * 31 % {ROWS}, repeat(md5(n::text), 4), 'pad' \
         FROM generate_series(0, {}) g(n)",
        ROWS - 1
    ))?;
    run("CHECKPOINT")?;
    // Enough of them that no core sleeps: waking one costs more than a query.
    let clients = std::thread::available_parallelism().map_or(2, usize::from) as u64 * 2;
    let ask = |from: u64, seconds: f64| -> Result<u64> {
        let one = |client: u64| -> Result<u64> {
            let mut connection = server.connect()?;
            let query = connection.prepare(QUERY).map_err(|e| of_client(&e))?;
            let (began, mut asked) = (Instant::now(), 0);
            while began.elapsed().as_secs_f64() < seconds {
                stage.check()?;
                for _ in 0..1000 {
                    let id = key(from + client * ROWS / clients + asked) as i32;
                    connection.query_one(&query, &[&id]).map_err(|e| of_client(&e))?;
                    asked += 1;
                }
            }
            Ok(asked)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..clients).map(|client| scope.spawn(move || one(client))).collect();
            threads.into_iter().map(|t| t.join().expect("a client does not panic")).sum()
        })
    };
    ask(0, 3.0)?;
    let (user, system) = server.cpu()?;
    let sends = server.counter("onlap_sends_total")?;
    let asked = ask(1, (stage.plan.seconds / 4.0).max(5.0))?;
    let sends = server.counter("onlap_sends_total")? - sends;
    let per_query = |from: f64, to: f64| (to - from) / asked as f64 * 1e6;
    let (user_end, system_end) = server.cpu()?;
    let (user, system) = (per_query(user, user_end), per_query(system, system_end));
    server.stop()?;
    let engine = engine_cost(stage, memory, asked.min(500_000))? * 1e6;
    let note = format!(
        "{user:.1} us of its own, {system:.1} us in the kernel, of which the engine {engine:.1}; \
         {asked} queries, {clients} clients"
    );
    Ok(vec![
        figure(
            "prepared point select: server CPU above the engine's, without the kernel's",
            user - engine,
            (10.0, 5.0),
            Better::Lower,
            "us",
        )
        .noting(note),
        figure(
            "send calls per prepared query",
            sends as f64 / asked as f64,
            (1.2, 1.0),
            Better::Lower,
            "",
        ),
    ])
}
