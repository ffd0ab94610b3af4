//! Does the server keep what it promises where things go wrong?
//!
//! Killed at random moments under eight clients it has everything it acknowledged; the schedules of the
//! hermitage suite come to what PostgreSQL 15 makes of them; no message harms anybody but who sent it.
//! Longer runs: `ONLAP_KILLS=n` and `ONLAP_MESSAGES=n`, other ones by `ONLAP_SEED=n`; `ONLAP_LOG=1` notes them in
//! `benchmarks/proofs.jsonl`.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "../common/mod.rs"]
mod common;
mod hermitage;
mod kills;
mod malformed;
#[allow(dead_code, reason = "shared with the tests of clients")]
#[path = "../clients/support/mod.rs"]
mod support;

/// Not a test of its own: the server, where the environment names its directory.
#[test]
fn server_process() {
    support::server::serve_if_asked();
}

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}
