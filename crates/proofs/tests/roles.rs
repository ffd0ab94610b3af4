//! Do random statements of random roles come out as in PostgreSQL? And would a right too many be seen?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::roles::{Control, run_with};
use onlap_proofs::served::can_run;
use onlap_proofs::{ROLES, control, prove};

/// Statements of a control: a fault in the middle of them is met soon.
const STATEMENTS: usize = 600;
const CONTROL_SEEDS: u64 = 3;

#[test]
fn thousands_of_statements() {
    if can_run(true) {
        let counts = prove(ROLES, "statements of roles", 2_000);
        let refused = counts.of("refused for lack of rights");
        assert!(refused > 200 && counts.of("allowed") > 200, "{counts}");
    }
}

#[test]
fn two_postgresqls_do_not_differ() {
    if can_run(true) {
        let counts = run_with(0, STATEMENTS, Some(Control::Itself)).expect("nothing to find");
        assert!(counts.of("answers about rights") > 1_000, "{counts}");
    }
}

#[test]
fn a_right_too_many_is_found() {
    if can_run(true) {
        let found = control("a superuser here alone", CONTROL_SEEDS, |seed| {
            run_with(seed, STATEMENTS, Some(Control::TooMuch))
        });
        assert!(found.contains("an escape") || found.contains("only Onlap"), "{found}");
    }
}

#[test]
fn a_right_too_few_is_found() {
    if can_run(true) {
        let found = control("a superuser there alone", CONTROL_SEEDS, |seed| {
            run_with(seed, STATEMENTS, Some(Control::TooLittle))
        });
        assert!(found.contains("a refusal") || found.contains("only PostgreSQL"), "{found}");
    }
}

#[test]
fn a_grant_that_is_not_used_is_found() {
    if can_run(true) {
        let found = control("a grant here alone", CONTROL_SEEDS, |seed| {
            run_with(seed, STATEMENTS, Some(Control::Unspent))
        });
        assert!(found.contains("only Onlap"), "{found}");
    }
}
