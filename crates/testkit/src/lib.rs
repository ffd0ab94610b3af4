//! What should have happened?
//!
//! Tools for tests of any layer: a model of tables that is right because it is simple
//! ([`ModelTable`]), a checker of what concurrent clients saw ([`History`]), one of what their levels of
//! isolation forbid ([`cycles`]), a driver that cuts the power at every operation ([`crash`]), one that kills
//! processes ([`kill`]), one that gives them little memory ([`mod@cgroup`]), files that behave otherwise ([`wrapped`]), a disk that takes its time ([`slow`]), an allocator that counts ([`heap`]), a log of what was tried
//! ([`record`]), a PostgreSQL to compare with ([`postgres`]), what it makes of
//! statements ([`described`], [`nodes`]) and of all operators, functions and casts ([`resolution`]), and a client of either ([`simple`]). The crate knows the file system seam
//! but neither values nor formats: rows are whatever type the test chooses. Tests of upper layers reach
//! the doubles of that seam through it ([`vfs`]).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

pub mod cgroup;
pub mod crash;
pub mod cycles;
pub mod described;
pub mod heap;
pub mod history;
pub mod kill;
pub mod model;
pub mod nodes;
pub mod postgres;
pub mod programs;
pub mod record;
pub mod resolution;
pub mod simple;
pub mod slow;
pub mod wrapped;

pub use history::History;
pub use model::ModelTable;
pub use onlap_vfs as vfs;
pub use wrapped::WrappedFs;

use onlap_base::Rng;

/// Runs `test` for `count` seeds, or for the one in the environment variable `ONLAP_SEED`. A panic
/// is preceded by the line that replays it.
///
/// # Panics
/// When the test does, or when `ONLAP_SEED` is not a number.
pub fn for_seeds(name: &str, count: u64, test: impl Fn(Rng)) {
    let seeds = match std::env::var("ONLAP_SEED") {
        Ok(text) => {
            let seed: u64 = text.parse().expect("ONLAP_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..count,
    };
    for seed in seeds {
        let telling = TellSeed { name, seed };
        test(Rng::new(seed));
        std::mem::forget(telling);
    }
}

/// Says the seed when dropped, which only happens while a panic unwinds.
struct TellSeed<'a> {
    name: &'a str,
    seed: u64,
}

impl Drop for TellSeed<'_> {
    fn drop(&mut self) {
        eprintln!("{}: replay with ONLAP_SEED={}", self.name, self.seed);
    }
}

#[cfg(test)]
mod tests;
