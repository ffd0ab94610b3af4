//! What did the user ask for?
//!
//! Flags and wiring only: every subcommand has a module with its flags and a `run` that returns what
//! it found. Exit codes: 0 success, 1 a finding or failure, 2 wrong usage or nothing to open, 130
//! interrupted. The binary and the Python package's command are nothing but a call of [`run`].

#![allow(clippy::disallowed_methods, reason = "reports and arguments are the user's own files")]

use std::ffi::OsString;
use std::path::Path;

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
mod health;
mod reference;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod shards;
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
    /// Ask a server whether it is well; exit code 1 where it is not
    Health(health::Args),
    /// Print what a shell needs to complete commands and flags
    Completions(reference::CompletionArgs),
    /// Print the page of all commands, or write manual pages
    #[command(hide = true)]
    Reference(reference::Args),
    /// Serve a database to PostgreSQL clients
    #[cfg(feature = "server")]
    Serve(serve::Args),
    /// Type statements, for a server or a database's directory
    #[cfg(feature = "server")]
    Shell(shell::Args),
    /// Write the SQL that divides a table over several servers
    #[cfg(feature = "server")]
    #[command(subcommand)]
    Shards(shards::Shards),
    /// Tell what can be set, and what is
    #[cfg(feature = "server")]
    Config(config::Args),
}

/// What reports of benches say of this program.
const PROGRAM: bench::Program = bench::Program { name: "onlap", commit: version::COMMIT };

/// Does what the arguments say, of which the first is the program's name: the process is the command's from now on,
/// its signals too. The exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    allocator::configure();
    interrupt::install();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(usage) => {
            // An output that is closed has no reader.
            let _ = usage.print();
            return u8::try_from(usage.exit_code()).unwrap_or(2);
        }
    };
    let result: Result<Outcome> = match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Bench(args) => bench::run(&args, &PROGRAM),
        Command::Wear(args) => wear::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Completions(args) => reference::completions(&args),
        Command::Reference(args) => reference::run(&args),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(&args),
        #[cfg(feature = "server")]
        Command::Shell(args) => shell::run(&args),
        #[cfg(feature = "server")]
        Command::Shards(asked) => shards::run(&asked),
        #[cfg(feature = "server")]
        Command::Config(args) => config::run(&args),
    };
    exit::told("onlap", result)
}

/// Writes a report to a file of the user's.
fn write_json(path: &Path, json: &serde_json::Value) -> Result<()> {
    std::fs::write(path, format!("{json:#}\n"))
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot write {}: {e}", path.display())))
}
