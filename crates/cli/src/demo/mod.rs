//! `onlap demo`: the main job on real data, in under a minute.
//!
//! Loads a year of flights with six secondary indexes and answers a first question; measures what an
//! index entry costs beside the same table without indexes; then keeps inserting rows of the same
//! distribution while it queries by index, and ends with a table and with answers checked against a
//! scan.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use onlap::{
    Batch, Database, IndexSpec, KeyRange, Options, Result, Scan, Snapshot, SyncMode, Table, Value,
};
use onlap_base::rng::Rng;
use onlap_lab::measure::process::{Resident, Usage};
use onlap_lab::units;

use crate::{Outcome, interrupt};

mod data;
mod report;

use data::{FLIGHTS, OTHERS, Source};
use report::{Answer, EntryCost, Report};

/// Flags of `onlap demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Keep the database in this directory (a temporary one otherwise)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// How long to insert and query after the load
    #[arg(long, value_name = "S", default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Memory limit of the database
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::parse_bytes)]
    memory: u64,
    /// When a commit is acknowledged: fsync, interval:MS or os
    #[arg(long, value_name = "MODE", default_value = "os")]
    sync: SyncMode,
    /// Folder with the compressed data, where it is not inside the binary
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Rows per commit while loading and inserting.
const COMMIT_ROWS: usize = 100;
/// Rows of each table from which the cost of an index entry is told.
const COST_ROWS: usize = 1_000_000;

/// The six secondary indexes of flights.
const INDEXES: [(&str, &[&str]); 6] = [
    ("by_tailnum", &["tailnum", "time_hour"]),
    ("by_carrier", &["carrier", "flight"]),
    ("by_route", &["origin", "dest", "dep_delay"]),
    ("by_flight", &["flight", "month", "day"]),
    ("by_delay", &["dep_delay"]),
    ("by_hour", &["time_hour", "carrier"]),
];

/// Runs the demo.
pub fn run(args: &Args) -> Result<Outcome> {
    let (dir, _keep) = directory(args)?;
    let options = Options::default().memory_limit(args.memory).sync(args.sync);
    let db = Database::open(&dir, options)?;
    let began = Instant::now();
    eprintln!("onlap demo in {} (memory {})", dir.display(), units::bytes(args.memory));
    let mut spec = FLIGHTS.table("flights");
    for (name, columns) in INDEXES {
        spec = spec.index(IndexSpec::new(name, columns.iter().copied()));
    }
    let flights = db.create_table(spec)?;
    let (rows, first_answer) = load_flights(args, &db, &flights, began)?;
    load_others(args, &db)?;
    let loaded = began.elapsed();
    eprintln!("loaded {} flights and four tables in {:.1} s", rows.rows, loaded.as_secs_f64());
    let cost = entry_cost(&db, &rows)?;
    let grown = grow(args, &db, &flights, &rows)?;
    let finish = Instant::now();
    db.flush()?;
    let answers = check_answers(&db, &flights)?;
    let stats = db.stats()?;
    let report = Report {
        first_answer,
        loaded,
        cost,
        grown,
        flush: finish.elapsed(),
        stats,
        answers,
        peak_memory: Resident::now().peak,
        wall: began.elapsed(),
    };
    report.print();
    if let Some(path) = &args.json {
        report.write_json(path)?;
    }
    let agree = report.answers.iter().all(|a| a.by_index == a.by_scan);
    db.close()?;
    if interrupt::requested() {
        return Err(onlap::Error::new(onlap::ErrorKind::Cancelled, "interrupted"));
    }
    Ok(if agree { Outcome::Good } else { Outcome::Finding })
}

fn directory(args: &Args) -> Result<(PathBuf, Option<tempfile::TempDir>)> {
    if let Some(dir) = &args.dir {
        return Ok((dir.clone(), None));
    }
    let temporary = tempfile::Builder::new().prefix("onlap-demo-").tempdir()?;
    Ok((temporary.path().to_owned(), Some(temporary)))
}

/// Loads flights as they are decompressed; the first question is asked after the first piece.
fn load_flights(
    args: &Args,
    db: &Database,
    flights: &Table,
    began: Instant,
) -> Result<(Batch, Duration)> {
    let mut all = Batch::default();
    let mut first_answer = None;
    data::read(&FLIGHTS, args.data.as_ref(), 20_000, |piece| {
        for start in (0..piece.rows).step_by(COMMIT_ROWS) {
            let end = piece.rows.min(start + COMMIT_ROWS);
            flights.insert_batch(data::with_counter(&FLIGHTS, &piece, start..end))?;
        }
        if first_answer.is_none() {
            let late = worst_delays(&db.snapshot()?, flights, 1)?;
            let took = began.elapsed();
            eprintln!(
                "first answer after {:.2} s: the longest delay so far is {} minutes",
                took.as_secs_f64(),
                late.first().map_or(0, |d| *d)
            );
            first_answer = Some(took);
        }
        if all.columns.is_empty() {
            all = piece;
        } else {
            all.extend_range(&piece, 0..piece.rows);
        }
        Ok(())
    })?;
    Ok((all, first_answer.unwrap_or_default()))
}

fn load_others(args: &Args, db: &Database) -> Result<()> {
    for source in &OTHERS {
        let mut spec = source.table(source.name);
        if source.name == "weather" {
            spec = spec.index(IndexSpec::new("by_place", ["origin", "time_hour"]));
        }
        let table = db.create_table(spec)?;
        data::read(source, args.data.as_ref(), 1000, |piece| {
            let rows = 0..piece.rows;
            table.insert_batch(data::with_counter(source, &piece, rows)).map(|_| ())
        })?;
    }
    Ok(())
}

/// The same rows into a table without secondary indexes and into one with six; the difference in CPU
/// and bytes written, final flush included, is what the entries cost.
fn entry_cost(db: &Database, rows: &Batch) -> Result<EntryCost> {
    let plain = measure_load(db, rows, "cost_plain", &[])?;
    let indexed = measure_load(db, rows, "cost_indexed", &INDEXES)?;
    let entries = (COST_ROWS * INDEXES.len()) as f64;
    Ok(EntryCost {
        plain_rate: plain.rate,
        indexed_rate: indexed.rate,
        cpu_us: (indexed.cpu_us as f64 - plain.cpu_us as f64) / entries,
        bytes: (indexed.bytes as f64 - plain.bytes as f64) / entries,
    })
}

struct Load {
    rate: f64,
    cpu_us: u64,
    bytes: u64,
}

fn measure_load(
    db: &Database,
    rows: &Batch,
    name: &str,
    indexes: &[(&str, &[&str])],
) -> Result<Load> {
    let mut spec = FLIGHTS.table(name);
    for (index, columns) in indexes {
        spec = spec.index(IndexSpec::new(*index, columns.iter().copied()));
    }
    let table = db.create_table(spec)?;
    db.settle()?;
    let (before, began) = (Usage::now(), Instant::now());
    let bytes = db.stats()?.written.total();
    let mut done = 0;
    while done < COST_ROWS && !interrupt::requested() {
        let start = done % (rows.rows - COMMIT_ROWS);
        table.insert_batch(data::with_counter(&FLIGHTS, rows, start..start + COMMIT_ROWS))?;
        done += COMMIT_ROWS;
    }
    let rate = done as f64 / began.elapsed().as_secs_f64();
    db.flush()?;
    let cpu_us = Usage::now().since(&before).cpu_us;
    let load = Load { rate, cpu_us, bytes: db.stats()?.written.total() - bytes };
    db.drop_table(name)?;
    Ok(load)
}

/// What the growing phase did.
pub struct Grown {
    /// Rows inserted.
    pub rows: u64,
    /// Seconds of inserting.
    pub seconds: f64,
    /// Queries answered meanwhile.
    pub queries: u64,
    /// Longest commit.
    pub longest_commit: Duration,
    /// Bytes written before it began.
    pub written_before: onlap::WrittenReport,
}

/// Inserts for a while, one line per second, while another thread queries by index.
fn grow(args: &Args, db: &Database, flights: &Table, rows: &Batch) -> Result<Grown> {
    let (inserted, queries) = (AtomicU64::new(0), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let written_before = db.stats()?.written;
    let began = Instant::now();
    let end = began + Duration::from_secs(args.seconds);
    let longest = std::thread::scope(|scope| -> Result<Duration> {
        let reader = scope.spawn(|| query_until(&stop, &queries, db, flights));
        let clock = scope.spawn(|| tell_every_second(&stop, &inserted, &queries, began));
        let longest = insert_until(end, &inserted, flights, rows);
        stop.store(true, Ordering::Release);
        clock.join().expect("the clock does not panic");
        reader.join().expect("queries do not panic")?;
        longest
    })?;
    Ok(Grown {
        rows: inserted.load(Ordering::Relaxed),
        seconds: began.elapsed().as_secs_f64(),
        queries: queries.load(Ordering::Relaxed),
        longest_commit: longest,
        written_before,
    })
}

fn insert_until(
    end: Instant,
    inserted: &AtomicU64,
    flights: &Table,
    rows: &Batch,
) -> Result<Duration> {
    let mut rng = Rng::new(2013);
    let mut longest = Duration::ZERO;
    while Instant::now() < end && !interrupt::requested() {
        let start = rng.below((rows.rows - COMMIT_ROWS) as u64) as usize;
        let batch = data::with_counter(&FLIGHTS, rows, start..start + COMMIT_ROWS);
        let began = Instant::now();
        flights.insert_batch(batch)?;
        longest = longest.max(began.elapsed());
        inserted.fetch_add(COMMIT_ROWS as u64, Ordering::Relaxed);
    }
    Ok(longest)
}

/// Asks by index at a steady pace, as a dashboard would: as many queries as possible would measure
/// the queries, not what inserts feel of them.
fn query_until(
    stop: &AtomicBool,
    queries: &AtomicU64,
    db: &Database,
    flights: &Table,
) -> Result<()> {
    let mut rng = Rng::new(7);
    while !stop.load(Ordering::Acquire) {
        for _ in 0..10 {
            let carrier = *rng.pick(&["UA", "B6", "EV", "DL", "AA"]);
            let range = KeyRange::eq([Value::Text(carrier.into())]);
            let scan = Scan::all().columns(["carrier", "flight"]).limit(10);
            db.snapshot()?.index_scan(flights, "by_carrier", range, scan)?.rows()?;
            worst_delays(&db.snapshot()?, flights, 10)?;
            queries.fetch_add(2, Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn tell_every_second(
    stop: &AtomicBool,
    inserted: &AtomicU64,
    queries: &AtomicU64,
    began: Instant,
) {
    let (mut last_rows, mut last_queries) = (0, 0);
    let mut next = began + Duration::from_secs(1);
    while !stop.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(20));
        if Instant::now() < next {
            continue;
        }
        let (rows, asked) = (inserted.load(Ordering::Relaxed), queries.load(Ordering::Relaxed));
        eprintln!(
            "{:>3} s  {:>12} rows  {:>10} rows/s  {:>6} queries/s  {:>8} resident",
            next.duration_since(began).as_secs(),
            units::count(rows),
            units::count(rows - last_rows),
            asked - last_queries,
            units::bytes(Resident::now().now)
        );
        (last_rows, last_queries) = (rows, asked);
        next += Duration::from_secs(1);
    }
}

/// The longest departure delays in minutes, from the end of the index on them.
fn worst_delays(snapshot: &Snapshot, flights: &Table, n: usize) -> Result<Vec<i64>> {
    let scan = Scan::all().columns(["dep_delay"]).reverse().limit(n);
    let range = KeyRange::to([Value::Int(i64::from(i16::MAX))]);
    let rows = snapshot.index_scan(flights, "by_delay", range, scan)?.rows()?;
    Ok(rows.into_iter().flatten().filter_map(int).collect())
}

fn int(value: Value) -> Option<i64> {
    match value {
        Value::Int(i) => Some(i),
        _ => None,
    }
}

/// Answers found through indexes, each beside the same answer from a scan of the table.
fn check_answers(db: &Database, flights: &Table) -> Result<Vec<Answer>> {
    let snapshot = db.snapshot()?;
    let mut longest = i64::MIN;
    let (mut to_lax, mut united, mut rows) = (0u64, 0u64, 0u64);
    let columns = ["carrier", "origin", "dest", "dep_delay"];
    for batch in snapshot.scan(flights, Scan::all().columns(columns))? {
        for row in batch?.rows(&flights.schema(), &columns) {
            rows += 1;
            united += u64::from(row[0] == Value::Text("UA".into()));
            let lax = row[1] == Value::Text("JFK".into()) && row[2] == Value::Text("LAX".into());
            to_lax += u64::from(lax);
            longest = longest.max(int(row[3].clone()).unwrap_or(i64::MIN));
        }
    }
    let text = |s: &str| Value::Text(s.into());
    let count = |index: &str, range: KeyRange| -> Result<String> {
        Ok(units::count(snapshot.index_row_ids(flights, index, range)?.len() as u64))
    };
    let delay = worst_delays(&snapshot, flights, 1)?.first().copied().unwrap_or(i64::MIN);
    Ok(vec![
        Answer {
            question: "flights of United",
            by_index: count("by_carrier", KeyRange::eq([text("UA")]))?,
            by_scan: units::count(united),
        },
        Answer {
            question: "flights from JFK to Los Angeles",
            by_index: count("by_route", KeyRange::eq([text("JFK"), text("LAX")]))?,
            by_scan: units::count(to_lax),
        },
        Answer {
            question: "longest departure delay, minutes",
            by_index: delay.to_string(),
            by_scan: longest.to_string(),
        },
        Answer {
            question: "rows",
            by_index: units::count(snapshot.count(flights)?),
            by_scan: units::count(rows),
        },
    ])
}

/// The growing table's source, for tests.
#[cfg(test)]
pub(crate) fn flights_source() -> &'static Source {
    &FLIGHTS
}
