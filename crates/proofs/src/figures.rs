//! How fast and how frugal is the server where it once stood still?
//!
//! `onlap-proofs figures` prints what issues ask for and no rig judges, since it depends on the machine: UPDATE of an
//! indexed column next to PostgreSQL, the peak of memory of large sorts, and how long a superuser waits next to
//! connections that say nothing. Ratios are of medians of runs in turn; both servers acknowledge before a sync.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator as _;

use crate::served::{Postgres, Served, connect};

/// Rows that are updated.
const UPDATED: u32 = 160_000;
/// Rows that are sorted.
const SORTED: u32 = 5_000_000;
/// The server's memory limit while it sorts.
const SORT_MIB: u64 = 256;
/// Connections that say nothing.
const SILENT: usize = 2000;
/// Runs of which the median counts.
const RUNS: usize = 3;

/// Prints all of them.
///
/// # Errors
/// A server did not start, or ended.
pub fn print() -> Result<(), String> {
    update()?;
    sorts()?;
    silent()
}

fn timed(client: &mut Client, sql: &str) -> Result<Duration, String> {
    let began = Instant::now();
    client.batch_execute(sql).map_err(|e| format!("{sql}: {e:?}"))?;
    Ok(began.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn update() -> Result<(), String> {
    let (served, postgres) = (Served::start(&["--sync", "os"])?, Postgres::start());
    let mut clients = [served.client()?, connect(postgres.port(), "postgres")?];
    let fill = format!(
        "create table u (id int primary key, a int, b text); create index on u (a); \
         insert into u select g, g, 'row ' || g from generate_series(1, {UPDATED}) g"
    );
    for client in &mut clients {
        timed(client, &fill)?;
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            times.push(timed(client, "update u set a = a + 1")?);
        }
    }
    let [ours, theirs] = times.map(median);
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "UPDATE of an indexed column, {UPDATED} rows: {ours:.0?}, PostgreSQL {theirs:.0?}, ratio {ratio:.2}"
    );
    Ok(())
}

fn sorts() -> Result<(), String> {
    let limit = format!("{SORT_MIB}MiB");
    let served = Served::start(&["--sync", "os", "--memory-limit", &limit])?;
    let mut client = served.client()?;
    let fill = format!(
        "create table s (id int primary key, a bigint, b text); \
         insert into s select g, (g::bigint * 7919) % 5000011, 'the text of row ' || g \
         from generate_series(1, {SORTED}) g"
    );
    timed(&mut client, &fill)?;
    for sql in ["select * from s order by a, id", "select distinct b from s"] {
        let began = Instant::now();
        let mut rows = client
            .query_raw(sql, std::iter::empty::<i32>())
            .map_err(|e| format!("{sql}: {e:?}"))?;
        let mut n = 0;
        while rows.next().map_err(|e| format!("{sql}: {e:?}"))?.is_some() {
            n += 1;
        }
        let (took, peak) = (began.elapsed(), served.peak_bytes()? >> 20);
        let above = peak as i64 - SORT_MIB as i64;
        println!("{sql}, {n} rows: {took:.1?}, peak {peak} MiB, {above} MiB above memory_limit");
    }
    Ok(())
}

fn silent() -> Result<(), String> {
    let served = Served::start(&["--sync", "os"])?;
    let silent: Vec<TcpStream> = (0..SILENT)
        .map(|_| TcpStream::connect(("127.0.0.1", served.port())).map_err(|e| e.to_string()))
        .collect::<Result<_, _>>()?;
    let mut waits = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        drop(served.client()?);
        waits.push(began.elapsed());
    }
    let longest = waits.iter().max().copied().unwrap_or_default();
    println!(
        "a superuser's connection beside {} silent ones: {:.1?}, longest of 20 {longest:.1?}",
        silent.len(),
        median(waits)
    );
    Ok(())
}
