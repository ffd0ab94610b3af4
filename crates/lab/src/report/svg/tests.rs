use std::path::Path;

use super::*;

/// The picture of the README, by the command that `README.md` names under it.
const TITLE: &str = "Rows inserted per second, three indexes, data three times memory";

#[test]
fn the_readmes_picture_is_that_of_the_saved_report() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read =
        |path: &str| std::fs::read_to_string(root.join(path)).expect("it is in the repository");
    let report = Comparison::from_json(&read("benchmarks/lab-ibench-3x.json")).expect("a report");
    let drawn = picture(&report, TITLE).expect("it has rates");
    assert!(drawn == read("docs/inserts.svg"), "docs/inserts.svg is out of date");
    for engine in ["onlap-wire", "myrocks", "innodb", "postgres"] {
        assert!(drawn.contains(&format!(">{engine}</text>")), "{drawn}");
    }
    assert!(drawn.contains(">489,481</text>"), "{drawn}");
}

#[test]
fn a_report_without_a_rate_has_no_picture_and_titles_are_escaped() {
    assert!(picture(&Comparison::default(), "").is_err());
    assert_eq!(escaped("a < \"b\" & c"), "a &lt; &quot;b&quot; &amp; c");
}
