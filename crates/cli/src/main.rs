//! What did the user ask for?
//!
//! Flags and wiring only: every subcommand has a module with its flags and a `run` that returns what
//! it found. Exit codes: 0 success, 1 a finding or failure, 2 wrong usage or nothing to open, 130
//! interrupted.

#![allow(clippy::disallowed_methods, reason = "reports and arguments are the user's own files")]

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use onlap_base::{Error, ErrorKind, Result};
use onlap_lab::bench;
use onlap_process::exit::{self, Outcome};
use onlap_process::{allocator, interrupt};

mod backup;
mod check;
#[cfg(feature = "server")]
mod config;
mod demo;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod shell;
mod stats;
mod version;
mod wear;

/// A table store whose inserts do not slow down for indexes.
#[derive(Parser)]
#[command(name = "onlap", version = version::SHORT, long_version = version::long())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Insert a year of flights and more under six indexes, and ask meanwhile; under a minute
    Demo(demo::Args),
    /// Tell what is in a database's directory
    Stats(stats::Args),
    /// Read everything in a database's directory and tell what is wrong
    Check(check::Args),
    /// Copy a database into a new directory, by hard links where possible
    Backup(backup::BackupArgs),
    /// Make a database from a backup, and check it
    Restore(backup::RestoreArgs),
    /// Measure how fast rows are inserted and read; onlap-lab compares with other engines
    Bench(bench::Args),
    /// Tell what SMART data say of a drive, and how long it lasts at a rate of writes
    Wear(wear::Args),
    /// Serve a database to PostgreSQL clients
    #[cfg(feature = "server")]
    Serve(serve::Args),
    /// Type statements, for a server or a database's directory
    #[cfg(feature = "server")]
    Shell(shell::Args),
    /// Tell what can be set, and what is
    #[cfg(feature = "server")]
    Config(config::Args),
}

/// What reports of benches say of this program.
const PROGRAM: bench::Program = bench::Program { name: "onlap", commit: version::COMMIT };

fn main() -> ExitCode {
    allocator::configure();
    interrupt::install();
    // Wrong usage ends here, with exit code 2.
    let cli = Cli::parse();
    let result: Result<Outcome> = match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Bench(args) => bench::run(&args, &PROGRAM),
        Command::Wear(args) => wear::run(&args),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(&args),
        #[cfg(feature = "server")]
        Command::Shell(args) => shell::run(&args),
        #[cfg(feature = "server")]
        Command::Config(args) => config::run(&args),
    };
    exit::end("onlap", result)
}

/// Writes a report to a file of the user's.
fn write_json(path: &Path, json: &serde_json::Value) -> Result<()> {
    std::fs::write(path, format!("{json:#}\n"))
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot write {}: {e}", path.display())))
}
