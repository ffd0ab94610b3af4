//! Which promises were tried to be broken, how, and how often?
//!
//! Each *rig* attacks one kind of promise: a function of a seed that does its worst and either counts what it
//! tried or says what it found. Tests run few seeds of each; the command `onlap-proofs` runs as many as it is
//! given and notes them in a log ([`record`]), so that figures add up over many runs. A rig comes with
//! controls: a fault planted on purpose that it must find.
//!
//! The crate knows the engine by its public interface alone, and the server by its wire ([`served`]). Single-threaded unless a rig says otherwise.

#![allow(clippy::disallowed_methods, reason = "rigs stand outside the simulation")]

use std::panic::{AssertUnwindSafe, catch_unwind};

pub mod cgroup;
pub mod crash;
pub mod damage;
pub mod decoders;
pub mod disk;
pub mod dumps;
pub mod faults;
pub mod figures;
pub mod isolation;
pub mod kill;
pub mod letters;
pub mod options;
pub mod regression;
pub mod roles;
pub mod rows;
pub mod served;
pub mod sql;
pub mod statements;
pub mod suites;
pub mod upserts;

pub use onlap_testkit::record::{self, Counts};

/// What a rig says: what it tried, or what it found.
pub type Verdict = Result<Counts, String>;

/// A rig: its name, and what it does with a seed.
#[derive(Clone, Copy)]
pub struct Rig {
    /// As the command and the log name it.
    pub name: &'static str,
    /// Tries its worst.
    pub run: fn(u64) -> Verdict,
}

/// All rigs.
pub const RIGS: [Rig; 13] = [
    CRASH, FAULTS, DAMAGE, ISOLATION, KILL, DECODERS, FULL, SLOW, CGROUP, UPSERTS, ROLES,
    STATEMENTS, SQL,
];

/// Power that goes, at any operation.
pub const CRASH: Rig = Rig { name: "crash", run: crash::run };
/// Operations that fail.
pub const FAULTS: Rig = Rig { name: "faults", run: faults::run };
/// Files that change by themselves.
pub const DAMAGE: Rig = Rig { name: "damage", run: damage::run };

/// Transactions at the same time.
pub const ISOLATION: Rig = Rig { name: "isolation", run: isolation::run_seed };

/// Processes that are killed.
pub const KILL: Rig = Rig { name: "kill", run: kill::run };
/// Bytes that nobody wrote.
pub const DECODERS: Rig = Rig { name: "decoders", run: decoders::run };

/// A disk without room.
pub const FULL: Rig = Rig { name: "full", run: disk::run_full };
/// A disk without speed.
pub const SLOW: Rig = Rig { name: "slow", run: disk::run_slow };

/// A server with little memory and many clients.
pub const CGROUP: Rig = Rig { name: "cgroup", run: cgroup::run };
/// Upserts that are lost.
pub const UPSERTS: Rig = Rig { name: "upserts", run: upserts::run };
/// Statements of roles next to PostgreSQL.
pub const ROLES: Rig = Rig { name: "roles", run: roles::run };
/// Statements that mean to hurt a server.
pub const STATEMENTS: Rig = Rig { name: "statements", run: statements::run };

/// Statements of all kinds next to PostgreSQL.
pub const SQL: Rig = Rig { name: "sql", run: sql::run };

/// Runs one seed; a panic is a finding.
pub fn attempt(rig: Rig, seed: u64) -> Verdict {
    let outcome = catch_unwind(AssertUnwindSafe(|| (rig.run)(seed)));
    outcome.unwrap_or_else(|panic| Err(format!("panic: {}", text_of(&*panic))))
}

pub(crate) fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// The line that repeats a seed of a rig.
pub fn replay(rig: &str, seed: u64) -> String {
    format!("cargo run -p onlap-proofs -- {rig} --seeds {seed}..{} --no-log", seed + 1)
}

/// Runs seeds of a rig from 0 on until it has tried at least so many of something; only the seed in the
/// environment variable `ONLAP_SEED`, if there is one. What tests call.
///
/// # Panics
/// With the line that replays it, when a seed finds something.
pub fn prove(rig: Rig, what: &str, least: u64) -> Counts {
    let one = std::env::var("ONLAP_SEED").ok().map(|text| text.parse().expect("a number"));
    let mut counts = Counts::default();
    for seed in one.map_or(0..u64::MAX, |seed: u64| seed..seed + 1) {
        match attempt(rig, seed) {
            Ok(more) => counts.extend(&more),
            Err(finding) => panic!("seed {seed}: {finding}\nreplay: {}", replay(rig.name, seed)),
        }
        if counts.of(what) >= least {
            break;
        }
    }
    println!("{}: {counts}", rig.name);
    counts
}

/// What a planted fault makes a rig find, with the first seed that does.
///
/// # Panics
/// When none of the seeds below `count` does: the rig is blind to the fault.
pub fn control(name: &str, count: u64, run: impl Fn(u64) -> Verdict) -> String {
    for seed in 0..count {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(seed)));
        let outcome = outcome.unwrap_or_else(|panic| Err(format!("panic: {}", text_of(&*panic))));
        if let Err(finding) = outcome {
            println!("{name}: found by seed {seed}: {finding}");
            return finding;
        }
    }
    panic!("{name}: a planted fault went unseen in {count} seeds");
}

/// What this program does as the child of a rig; `None` when it is none.
pub fn child(words: &[&str]) -> Option<std::process::ExitCode> {
    kill::child(words)
}
