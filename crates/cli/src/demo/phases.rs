//! What does the demo do, step by step?
//!
//! Loading, the cost of index entries, and inserting beside queries. Every step ends early when the
//! user interrupts or its time is up, and leaves what it has.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onlap::{
    Batch, Database, ErrorKind, IndexSpec, KeyRange, Result, Scan, Table, TableSpec, Value,
    WrittenReport,
};
use onlap_base::rng::Rng;
use onlap_lab::measure::process::Usage;

use super::answers::worst_delays;
use super::data::{self, FLIGHTS, OTHERS};
use super::ticker::{Phase, Ticker};
use super::{COMMIT_ROWS, INDEXES};
use onlap_process::interrupt;

/// Rows of each table from which the cost of an index entry is told, and the longest time for one.
const COST_ROWS: usize = 1_000_000;
const COST_TIME: Duration = Duration::from_secs(6);

/// Flights with the six indexes, or with none.
pub fn flights_table(name: &str, indexed: bool) -> TableSpec {
    let indexes = if indexed { &INDEXES[..] } else { &[] };
    indexes.iter().fold(FLIGHTS.table(name), |spec, (index, columns)| {
        spec.index(IndexSpec::new(*index, columns.iter().copied()))
    })
}

/// What was loaded.
#[derive(Default)]
pub struct Loaded {
    /// The flights, to draw more from.
    pub rows: Batch,
    /// From the start to the first answer.
    pub first_answer: Duration,
}

/// Loads flights as they are decompressed; the first question is asked after the first piece.
pub fn load_flights(
    folder: Option<&PathBuf>,
    db: &Database,
    flights: &Table,
    ticker: &Ticker,
    began: Instant,
) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    let outcome = data::read(&FLIGHTS, folder, 20_000, |piece| {
        for start in (0..piece.rows).step_by(COMMIT_ROWS) {
            if interrupt::requested() {
                return Err(super::interrupted());
            }
            let end = piece.rows.min(start + COMMIT_ROWS);
            flights.insert_batch(data::with_counter(&FLIGHTS, &piece, start..end))?;
            ticker.committed(end - start);
        }
        if loaded.rows.columns.is_empty() {
            let worst = worst_delays(&db.snapshot()?, flights, 1)?;
            ticker.answered(1);
            loaded.first_answer = began.elapsed();
            eprintln!(
                "first answer after {:.2} s: the longest delay so far is {} minutes",
                loaded.first_answer.as_secs_f64(),
                worst.first().unwrap_or(&0)
            );
            loaded.rows = piece;
        } else {
            loaded.rows.extend_range(&piece, 0..piece.rows);
        }
        Ok(())
    });
    match outcome {
        Err(e) if e.kind() != ErrorKind::Cancelled => Err(e),
        _ => Ok(loaded),
    }
}

/// Loads the tables beside it.
pub fn load_others(folder: Option<&PathBuf>, db: &Database, ticker: &Ticker) -> Result<()> {
    for source in &OTHERS {
        if interrupt::requested() {
            return Ok(());
        }
        let mut spec = source.table(source.name);
        if source.name == "weather" {
            spec = spec.index(IndexSpec::new("by_place", ["origin", "time_hour"]));
        }
        let table = db.create_table(spec)?;
        data::read(source, folder, 1000, |piece| {
            let rows = 0..piece.rows;
            ticker.committed(piece.rows);
            table.insert_batch(data::with_counter(source, &piece, rows)).map(|_| ())
        })?;
    }
    Ok(())
}

/// What an index entry costs beyond its row.
pub struct EntryCost {
    /// Rows per second without secondary indexes.
    pub plain_rate: f64,
    /// Rows per second with all of them.
    pub indexed_rate: f64,
    /// CPU of the whole process per entry, in microseconds.
    pub cpu_us: f64,
    /// Bytes written per entry.
    pub bytes: f64,
}

/// The same rows into a table without secondary indexes and into one with six; the difference in CPU
/// and bytes written, final flush included, is what the entries cost. `None` when interrupted.
pub fn entry_cost(db: &Database, rows: &Batch, ticker: &Ticker) -> Result<Option<EntryCost>> {
    ticker.begin(Phase::CostPlain);
    let plain = measure_load(db, rows, flights_table("cost_key_only", false), ticker)?;
    ticker.begin(Phase::CostIndexed);
    let indexed = measure_load(db, rows, flights_table("cost_indexed", true), ticker)?;
    if interrupt::requested() {
        return Ok(None);
    }
    let entries = INDEXES.len() as f64;
    Ok(Some(EntryCost {
        plain_rate: plain.rate,
        indexed_rate: indexed.rate,
        cpu_us: (indexed.cpu_us - plain.cpu_us) / entries,
        bytes: (indexed.bytes - plain.bytes) / entries,
    }))
}

/// Per row, but for the rate.
struct Load {
    rate: f64,
    cpu_us: f64,
    bytes: f64,
}

fn measure_load(db: &Database, rows: &Batch, spec: TableSpec, ticker: &Ticker) -> Result<Load> {
    let table = db.create_table(spec)?;
    // Work left from before must not count here.
    db.settle()?;
    let (before, began) = (Usage::now(), Instant::now());
    let written = db.stats()?.written.total();
    let mut done = 0;
    while done < COST_ROWS && began.elapsed() < COST_TIME && !interrupt::requested() {
        let start = done % (rows.rows - COMMIT_ROWS).max(1);
        table.insert_batch(data::with_counter(&FLIGHTS, rows, start..start + COMMIT_ROWS))?;
        done += COMMIT_ROWS;
        ticker.committed(COMMIT_ROWS);
    }
    let rate = done as f64 / began.elapsed().as_secs_f64();
    db.flush()?;
    let cpu_us = Usage::now().since(&before).cpu_us as f64;
    let bytes = (db.stats()?.written.total() - written) as f64;
    db.drop_table(&table.name())?;
    let n = done.max(1) as f64;
    Ok(Load { rate, cpu_us: cpu_us / n, bytes: bytes / n })
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
    /// CPU of the whole process, queries included, in microseconds.
    pub cpu_us: u64,
    /// Bytes written before it began.
    pub written_before: WrittenReport,
}

/// Inserts until `end` while another thread queries by index.
pub fn grow(
    db: &Database,
    flights: &Table,
    rows: &Batch,
    ticker: &Ticker,
    end: Instant,
) -> Result<Grown> {
    ticker.begin(Phase::Grow);
    let written_before = db.stats()?.written;
    let (before, began, counts) = (Usage::now(), Instant::now(), ticker.counts());
    let stop = AtomicBool::new(false);
    let longest_commit = std::thread::scope(|scope| {
        let reader = scope.spawn(|| query_until(&stop, db, flights, ticker));
        let longest = insert_until(end, flights, rows, ticker);
        stop.store(true, Ordering::Release);
        reader.join().expect("queries do not panic")?;
        longest
    })?;
    let now = ticker.counts();
    Ok(Grown {
        rows: now.0 - counts.0,
        seconds: began.elapsed().as_secs_f64(),
        queries: now.1 - counts.1,
        longest_commit,
        cpu_us: Usage::now().since(&before).cpu_us,
        written_before,
    })
}

/// Commits stretches of the flights that are drawn at random, which keeps their distribution.
fn insert_until(end: Instant, flights: &Table, rows: &Batch, ticker: &Ticker) -> Result<Duration> {
    let mut rng = Rng::new(2013);
    let mut longest = Duration::ZERO;
    while rows.rows > COMMIT_ROWS && Instant::now() < end && !interrupt::requested() {
        let start = rng.index(rows.rows - COMMIT_ROWS);
        let batch = data::with_counter(&FLIGHTS, rows, start..start + COMMIT_ROWS);
        let began = Instant::now();
        flights.insert_batch(batch)?;
        longest = longest.max(began.elapsed());
        ticker.committed(COMMIT_ROWS);
    }
    Ok(longest)
}

/// Asks by index at a steady pace, as a dashboard would: as many queries as possible would measure
/// the queries, not what inserts feel of them.
fn query_until(stop: &AtomicBool, db: &Database, flights: &Table, ticker: &Ticker) -> Result<()> {
    let mut rng = Rng::new(7);
    while !stop.load(Ordering::Acquire) {
        for _ in 0..10 {
            let carrier = *rng.pick(&["UA", "B6", "EV", "DL", "AA"]);
            let range = KeyRange::eq([Value::Text(carrier.into())]);
            let scan = Scan::all().columns(["carrier", "flight"]).limit(10);
            db.snapshot()?.index_scan(flights, "by_carrier", range, scan)?.rows()?;
            worst_delays(&db.snapshot()?, flights, 10)?;
            ticker.answered(2);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
