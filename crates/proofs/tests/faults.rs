//! Does every operation of the standard history fail as promised, in every way?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::faults::run_with;
use onlap_proofs::{FAULTS, control, prove};
use onlap_vfs::{Fault, Operation};

#[test]
fn every_operation_of_the_standard_history() {
    let counts = prove(FAULTS, "histories", 1);
    assert!(counts.of("faults") > counts.of("operations"));
}

#[test]
fn a_sync_that_is_left_out_is_found() {
    let lie = Fault::on(Operation::Sync).named(".log").lying().for_ever();
    control("syncs of the log left out", 1, |seed| run_with(seed, Some(&lie)));
}
