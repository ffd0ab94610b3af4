//! `onlap check`: is everything in a database's directory as it should be?
//!
//! Wiring and words only; what is checked stands at [`onlap::check`].

use std::path::PathBuf;

use onlap::{CheckOptions, CheckReport, ErrorKind, Result};
use onlap_base::clock::{Clock, SystemClock};
use onlap_lab::units;
use serde_json::json;

use onlap_process::exit::Outcome;

/// Flags of `onlap check`.
#[derive(clap::Args)]
pub struct Args {
    /// The database's directory
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Says who calculates for indexes on expressions.
#[cfg(feature = "server")]
fn prepare(db: &onlap::Database) {
    onlap_sql::attach(db);
}

/// Without SQL these indexes cannot be calculated again, and are left out.
#[cfg(not(feature = "server"))]
fn prepare(_: &onlap::Database) {}

/// Runs `onlap check`.
pub fn run(args: &Args) -> Result<Outcome> {
    let began = SystemClock.monotonic_ns();
    let report = match onlap::check_with(&args.dir, &CheckOptions::default(), &prepare) {
        Ok(report) => report,
        // Damage that shows first while checking is a finding, not a directory that does not open.
        Err(error) if error.kind() == ErrorKind::Corruption => return Err(error),
        Err(error) => return Ok(Outcome::NotOpened(error)),
    };
    match args.json {
        true => println!("{:#}", to_json(&report)),
        false => {
            print(&report);
            let seconds = (SystemClock.monotonic_ns() - began) as f64 / 1e9;
            println!("{seconds:.2} s, {:.0} MB/s", report.bytes as f64 / 1e6 / seconds.max(1e-9));
        }
    }
    Ok(if report.findings.is_empty() { Outcome::Good } else { Outcome::Finding })
}

/// A report as JSON.
pub fn to_json(report: &CheckReport) -> serde_json::Value {
    let findings = report.findings.iter().map(|f| json!({"table": f.table, "text": f.text}));
    json!({
        "tables": report.tables,
        "rows": report.rows,
        "entries": report.entries,
        "marks": report.marks,
        "bytes": report.bytes,
        "findings": findings.collect::<Vec<_>>(),
    })
}

/// Prints a report for people.
pub fn print(report: &CheckReport) {
    for finding in &report.findings {
        match &finding.table {
            Some(table) => println!("table {table}: {}", finding.text),
            None => println!("{}", finding.text),
        }
    }
    println!(
        "{} tables, {} rows, {} index entries, {} marks in {}: {} findings",
        report.tables,
        units::grouped(report.rows),
        units::grouped(report.entries),
        units::grouped(report.marks),
        units::size(report.bytes),
        report.findings.len()
    );
}
