use std::panic::{catch_unwind, resume_unwind};

use super::*;

#[test]
fn the_client_learns_an_id_and_the_log_all_of_it_once() {
    let defect = Defect::new("column 7 of 3");
    let (sentence, same) = (defect.sentence(), Arc::clone(&defect));
    assert!(!sentence.contains("column") && !sentence.contains(".rs"), "{sentence}");
    same.within_statement(|| "select 1".into());
    same.within_statement(|| "another".into());
    same.within_plan(|| "Limit |   Scan".into());
    let report = defect.report().expect("it was not told yet");
    let id = sentence.split([' ', ';']).nth(2).expect("an id");
    assert_eq!(id.len(), 8);
    assert!(report.starts_with(&format!("internal error {id}: column 7 of 3 (")), "{report}");
    assert!(report.contains("defect/tests.rs:"), "{report}");
    assert!(report.ends_with("; statement: select 1; plan: Limit |   Scan"), "{report}");
    assert_eq!(same.report(), None, "it was told");
}

#[test]
fn ids_differ() {
    let mut ids: Vec<u32> = (0..10_000).map(|_| next_id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 10_000);
}

#[test]
fn a_panic_keeps_its_defect_on_its_way() {
    let caught = catch_unwind(|| panic!("row {}", 7)).expect_err("it panics");
    let first = Defect::of_panic(caught);
    first.within_plan(|| "Scan".into());
    let again = Arc::clone(&first);
    let caught = catch_unwind(move || resume_unwind(Box::new(again))).expect_err("it goes on");
    let second = Defect::of_panic(caught);
    assert!(Arc::ptr_eq(&first, &second));
    assert!(second.report().is_some_and(|text| text.ends_with("a panic: row 7; plan: Scan")));
}

#[test]
fn texts_are_bounded() {
    let defect = Defect::new("é".repeat(DEFECT_BYTES));
    defect.within_plan(|| "é".repeat(DEFECT_BYTES));
    let report = defect.report().expect("it was not told yet");
    assert!(report.len() < 2 * DEFECT_BYTES + 200, "{}", report.len());
}
