//! Is every acknowledged upsert there? And would it be seen if one was not?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::control;
use onlap_proofs::served::can_run;
use onlap_proofs::upserts::{Plan, UpsertFault, run_with};

#[test]
fn upserts_by_eight_clients_with_kills_beside_postgresql() {
    if !can_run(true) {
        return;
    }
    let counts = run_with(0, Plan::SHORT).unwrap_or_else(|e| panic!("seed 0: {e}"));
    println!("upserts: {counts}");
    for what in ["committed", "committed by PostgreSQL", "counter upserts", "kills"] {
        assert!(counts.of(what) > 0, "{what}: {counts}");
    }
}

/// What is found of a fault that one client has.
fn found(fault: UpsertFault) -> Option<String> {
    let plan = Plan { fault: Some(fault), ..Plan::FAULTY };
    can_run(false).then(|| control(&format!("{fault:?}"), 3, |seed| run_with(seed, plan)))
}

#[test]
fn control_an_append_that_was_acknowledged_and_dropped_is_found() {
    let found = found(UpsertFault::DropsAppend);
    assert!(found.is_none_or(|text| text.contains("lost")));
}

#[test]
fn control_an_append_that_is_there_twice_is_found() {
    let found = found(UpsertFault::AppendsTwice);
    assert!(found.is_none_or(|text| text.contains("twice")));
}

#[test]
fn control_a_counter_raised_by_what_was_read_is_found() {
    let found = found(UpsertFault::RaisesWhatItRead);
    assert!(found.is_none_or(|text| text.contains("raised")));
}
