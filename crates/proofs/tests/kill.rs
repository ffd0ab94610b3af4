//! Is everything acknowledged there after `kill -9`?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::path::Path;

use onlap_proofs::control;
use onlap_proofs::kill::{KillFault, run_with};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_onlap-proofs"))
}

#[test]
fn thirty_kills() {
    for seed in 0..3 {
        let counts = run_with(program(), seed, None).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        println!("kill: {counts}");
    }
}

#[test]
fn acknowledging_before_the_commit_is_found() {
    let fault = Some(KillFault::AcknowledgesEarly);
    let found = control("acknowledging early", 3, |seed| run_with(program(), seed, fault));
    assert!(found.contains("acknowledged"), "{found}");
}

#[test]
fn a_log_that_stays_in_the_process_is_found() {
    let fault = Some(KillFault::HoldsLogBack);
    let found = control("a log held back", 3, |seed| run_with(program(), seed, fault));
    assert!(found.contains("mode os"), "{found}");
}
