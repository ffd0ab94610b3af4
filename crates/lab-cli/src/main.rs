//! How does Onlap fare next to other engines?
//!
//! Flags and wiring only: everything is in `onlap_lab`, here with the clients of other servers built in, which the
//! `onlap` binary leaves out. Exit codes are those of `onlap`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use onlap_lab::bench;
use onlap_process::{allocator, exit, interrupt};

/// Published experiments on Onlap and on other engines.
#[derive(Parser)]
#[command(name = "onlap-lab", version = VERSION)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure how fast rows are inserted and read, and compare engines
    Bench(Box<bench::Args>),
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ONLAP_COMMIT"), ")");

/// What reports say of this program.
const PROGRAM: bench::Program = bench::Program { name: "onlap-lab", commit: env!("ONLAP_COMMIT") };

fn main() -> ExitCode {
    allocator::configure();
    interrupt::install();
    // Wrong usage ends here, with exit code 2.
    let Command::Bench(args) = Cli::parse().command;
    exit::end("onlap-lab", bench::run(&args, &PROGRAM))
}
