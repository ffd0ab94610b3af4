//! Do random statements come out as in PostgreSQL? And would a difference be seen?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::served::can_run;
use onlap_proofs::sql::offer::Offer;
use onlap_proofs::sql::{Control, Plan, accepted, run_with};
use onlap_proofs::{Counts, control};

/// A part of what a seed of the command does.
const SHORT: Plan =
    Plan { worlds: 6, statements: 100, changes: true, reduces: true, judges_errors: false };
/// Errors that differ among the statements of the seeds, at most: the number may only fall.
const ERRORS: u64 = 24;
/// What is found at once.
const BRIEF: Plan =
    Plan { worlds: 1, statements: 60, changes: true, reduces: false, judges_errors: true };
const SEEDS: u64 = 2;

#[test]
fn hundreds_of_statements() {
    if !can_run(true) {
        return;
    }
    let mut counts = Counts::default();
    for seed in 0..SEEDS {
        let found = run_with(seed, SHORT, None);
        counts.extend(&found.unwrap_or_else(|finding| panic!("seed {seed}: {finding}")));
    }
    println!("sql: {counts}");
    assert!(counts.of("errors that differ") <= ERRORS, "{counts}");
    assert!(counts.of("answered alike") > counts.of("statements") / 3, "{counts}");
    assert!(counts.of("not served") < counts.of("statements") / 200, "{counts}");
}

#[test]
fn two_postgresqls_do_not_differ() {
    if can_run(true) {
        let plan = Plan { worlds: 4, changes: true, ..SHORT };
        let counts = run_with(0, plan, Some(Control::Itself)).expect("nothing to find");
        assert!(counts.of("answered alike") > 100, "{counts}");
    }
}

/// What is found of a fault.
fn found(fault: Control) -> Option<String> {
    // Which of two errors comes first is no finding, so that one has to be left alone.
    let plan = Plan { reduces: fault == Control::OneState, ..BRIEF };
    let run = |seed| run_with(seed, plan, Some(fault));
    can_run(true).then(|| control(&format!("{fault:?}"), 12, run))
}

#[test]
fn control_another_value_is_found() {
    assert!(found(Control::OneValue).is_none_or(|text| text.contains("Rows")));
}

#[test]
fn control_a_missing_row_is_found() {
    assert!(found(Control::OneRow).is_none_or(|text| text.contains("Rows")));
}

#[test]
fn control_another_modifier_is_found() {
    assert!(found(Control::OneType).is_none_or(|text| text.contains("Types")));
}

#[test]
fn control_another_error_is_found() {
    assert!(found(Control::OneState).is_none_or(|text| text.contains("42P99")));
}

#[test]
fn control_an_internal_error_is_found() {
    assert!(found(Control::Internal).is_none_or(|text| text.contains("Internal")));
}

#[test]
fn control_a_statement_that_is_refused_as_not_served_is_found() {
    let plan = Plan { judges_errors: false, ..BRIEF };
    let run = |seed| run_with(seed, plan, Some(Control::Unserved));
    if can_run(true) {
        let text = control("Unserved", 12, run);
        assert!(text.contains("Refused(\"0A000\")"), "{text}");
    }
}

#[test]
fn only_words_of_the_list_are_not_served() {
    assert!(accepted::is_unserved("encoding \"WIN1258\" is not supported"));
    for message in ["", "encoding", "this clause is not supported", "operator ~ is not supported"] {
        assert!(!accepted::is_unserved(message), "{message}");
    }
}

#[test]
fn control_a_query_that_disagrees_with_itself_is_found() {
    assert!(found(Control::Logic).is_none_or(|text| text.contains("disagrees with itself")));
}

#[test]
fn what_is_offered_is_drawn() {
    let offer = Offer::new();
    assert!(offer.calls.len() > 1_800, "{}", offer.calls.len());
}

#[test]
fn accepted_differences_have_reasons() {
    assert!(accepted::all().iter().all(|one| one.reason.len() > 20));
}
