//! `onlap demo`: the main job on real data, in under a minute.
//!
//! Loads a year of flights with six secondary indexes and answers a first question; measures what an
//! index entry costs beside the same table without indexes; then keeps inserting rows of the same
//! distribution while it queries by index, and ends with a table and with answers checked against a
//! scan. Ctrl-C ends every step early; the table comes all the same.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use onlap::{Database, Error, ErrorKind, Options, Result, SyncMode};
use onlap_lab::measure::environment::Environment;
use onlap_lab::measure::process::Resident;
use onlap_lab::units;

use crate::version;
use onlap_process::exit::Outcome;
use onlap_process::interrupt;

mod answers;
mod data;
mod phases;
mod report;
mod ticker;

use report::Report;
use ticker::{Phase, Ticker};

/// Flags of `onlap demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Keep the database in this directory, which must hold none [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Write the results as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// How long to insert and query after the load, in seconds [default: 25, and less where all
    /// would take longer than a minute]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
    /// The engine's memory budget; units k, M, G
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::parse_size)]
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

/// Seconds of inserting where `--seconds` is not given.
const GROW_TIME: Duration = Duration::from_secs(25);
/// When inserting ends without `--seconds`, so that all ends within a minute: the last flush and a
/// scan of what 40 seconds can insert take less than the rest.
const GROW_UNTIL: Duration = Duration::from_secs(42);

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
    let began = Instant::now();
    let (dir, _temporary) = directory(args)?;
    let options = Options::default().memory_limit(args.memory).sync(args.sync);
    let db = Database::open(&dir, options)?;
    println!("{}", Environment::of(&dir, version::COMMIT).line());
    eprintln!(
        "onlap demo in {}, memory {}, sync {}",
        dir.display(),
        units::size(args.memory),
        args.sync
    );
    let ticker = Ticker::default();
    let report = ticker.during(began, || steps(args, &db, &ticker, began))?;
    report.print();
    if let Some(path) = &args.json {
        report.write_json(path)?;
    }
    db.close()?;
    if !report.answers.iter().all(answers::Answer::agrees) {
        return Ok(Outcome::Finding);
    }
    if interrupt::requested() { Err(interrupted()) } else { Ok(Outcome::Good) }
}

fn steps(args: &Args, db: &Database, ticker: &Ticker, began: Instant) -> Result<Report> {
    ticker.begin(Phase::Load);
    let folder = args.data.as_ref();
    let flights = db.create_table(phases::flights_table("flights", true))?;
    let loaded = phases::load_flights(folder, db, &flights, ticker, began)?;
    phases::load_others(folder, db, ticker)?;
    let loaded_after = began.elapsed();
    let cost = match interrupt::requested() {
        true => None,
        false => phases::entry_cost(db, &loaded.rows, ticker)?,
    };
    let end = match args.seconds {
        Some(seconds) => Instant::now() + Duration::from_secs(seconds),
        None => (Instant::now() + GROW_TIME).min(began + GROW_UNTIL),
    };
    let grown = phases::grow(db, &flights, &loaded.rows, ticker, end)?;
    ticker.begin(Phase::Check);
    db.flush()?;
    let answers = answers::check(&db.snapshot()?, &flights)?;
    Ok(Report {
        first_answer: loaded.first_answer,
        loaded: loaded_after,
        cost,
        grown,
        stats: db.stats()?,
        answers,
        peak_memory: Resident::now().peak,
        wall: began.elapsed(),
    })
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Cancelled, "interrupted")
}

fn directory(args: &Args) -> Result<(PathBuf, Option<tempfile::TempDir>)> {
    let Some(dir) = &args.dir else {
        let temporary = tempfile::Builder::new().prefix("onlap-demo-").tempdir()?;
        return Ok((temporary.path().to_owned(), Some(temporary)));
    };
    if dir.join(onlap_base::names::CURRENT).exists() {
        let text = format!("{} holds a database already; name another folder", dir.display());
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    Ok((dir.clone(), None))
}
