//! Does every recovery show what it must? And would the rig notice if not?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap::Rule;
use onlap_proofs::crash::{Setting, run_with};
use onlap_proofs::{CRASH, control, prove};
use onlap_vfs::{Fault, Operation};

#[test]
fn twenty_thousand_recoveries() {
    let counts = prove(CRASH, "recoveries", 20_000);
    assert!(counts.of("crashes during recovery") >= 1000 || std::env::var("ONLAP_SEED").is_ok());
}

#[test]
fn a_sync_that_is_left_out_is_found() {
    let lie = Fault::on(Operation::Sync).named(".log").lying().for_ever();
    let setting = Setting { lie: Some(lie), ..Setting::default() };
    control("syncs of the log left out", 4, |seed| run_with(seed, &setting));
}

#[test]
fn a_sync_of_a_directory_that_is_left_out_is_found() {
    // The first makes the directory.
    let lie = Fault::on(Operation::Directory).after(1).lying().for_ever();
    let setting = Setting { lie: Some(lie), ..Setting::default() };
    control("syncs of the directory left out", 4, |seed| run_with(seed, &setting));
}

#[test]
fn rows_that_do_not_die_are_found() {
    let setting = Setting { without: Some(Rule::BlindMarks), ..Setting::default() };
    control("marks of blind writes left out", 10, |seed| run_with(seed, &setting));
}
