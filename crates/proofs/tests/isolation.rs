//! Do histories of random transactions have nothing that their levels forbid? And would it be seen?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap::Rule;
use onlap_proofs::isolation::{
    IndexFault, kinds_with_fault, kinds_without, refusals, run_with_threads,
};
use onlap_proofs::{ISOLATION, prove};
use onlap_testkit::cycles::{Kind, Level};

const CONTROL_SEEDS: u64 = 6;

#[test]
fn fifty_thousand_transactions_per_level() {
    let counts = prove(ISOLATION, "transactions at SERIALIZABLE", 50_000);
    let levels = counts.iter().filter(|(what, _)| what.starts_with("transactions at"));
    let all: u64 = levels.map(|(_, n)| n).sum();
    assert!(counts.of("committed") > all / 2 && counts.of("committed") < all, "{counts}");
}

#[test]
fn threads() {
    for seed in 0..2 {
        println!("{}", run_with_threads(seed).unwrap_or_else(|e| panic!("seed {seed}: {e}")));
    }
}

#[test]
fn without_validation_of_reads_there_is_write_skew() {
    let kinds = kinds_without(Rule::ReadValidation, Level::Serializable, CONTROL_SEEDS);
    assert!(kinds.contains(&Kind::WriteSkew) || kinds.contains(&Kind::Phantom), "{kinds:?}");
}

#[test]
fn without_the_first_updater_updates_are_lost() {
    let kinds = kinds_without(Rule::FirstUpdaterWins, Level::RepeatableRead, CONTROL_SEEDS);
    assert!(kinds.contains(&Kind::LostUpdate), "{kinds:?}");
}

#[test]
fn without_a_second_look_updates_are_lost() {
    let kinds = kinds_without(Rule::Recheck, Level::ReadCommitted, CONTROL_SEEDS);
    assert!(kinds.contains(&Kind::LostUpdate), "{kinds:?}");
}

#[test]
fn without_unique_keys_there_are_two_first_versions() {
    let kinds = kinds_without(Rule::UniqueKeys, Level::ReadCommitted, CONTROL_SEEDS);
    assert!(kinds.contains(&Kind::LostUpdate), "{kinds:?}");
}

#[test]
fn without_marks_of_blind_rows_indexes_lead_to_old_ones() {
    let kinds = kinds_without(Rule::BlindMarks, Level::RepeatableRead, CONTROL_SEEDS);
    assert!(kinds.contains(&Kind::Stale) || kinds.contains(&Kind::ReadSkew), "{kinds:?}");
}

#[test]
fn a_reader_whom_an_index_leads_astray_is_found() {
    for fault in [IndexFault::Dropped, IndexFault::Stale] {
        for level in [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable] {
            assert!(
                !kinds_with_fault(fault, level, CONTROL_SEEDS).is_empty(),
                "{fault:?} {level:?}"
            );
        }
    }
}

/// How many of those that SERIALIZABLE refused would have closed no cycle. A figure, and a bound on it.
#[test]
fn false_alarms_at_serializable() {
    let all = refusals(16);
    println!("{all:?}");
    assert!(all.refused > 0 && all.needless < all.refused, "{all:?}");
}
