//! Lists, small ones.

use super::*;

fn files(rig: &str, binder: &str) -> Vec<SourceFile> {
    let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
    vec![file(RIG, rig), file(BINDER, binder)]
}

#[test]
fn lists_are_counted_and_shown() {
    let files = files(
        "# Said.\nrows\ta||b\tno rule says which one comes\n",
        "literals\t7\tthey are read when it is carried out\n",
    );
    let counted = [("accepted", "proofs", 1), ("accepted", "pg", 1), ("known", "pg", 7)];
    assert_eq!(counts(&files).as_deref(), Ok(&counted[..]));
    let shown = tables(&files).unwrap();
    assert!(shown.starts_with("The rig accepts 1 differences:"), "{shown}");
    assert!(shown.contains("| rows | `a\\|\\|b` | no rule says which one comes |\n"), "{shown}");
    assert!(
        shown.ends_with("| literals | 7 | they are read when it is carried out |\n"),
        "{shown}"
    );
}

#[test]
fn lines_without_a_reason_are_found() {
    for (rig, binder) in [("rows\tx\n", ""), ("rows\tx\tso\n", ""), ("", "views\t1\tso\n")] {
        assert_eq!(tables(&files(rig, binder)).unwrap_err().len(), 1);
    }
    let found = counts(&files("", "views\tmany\tthey are applied behind the binder\n"));
    assert!(found.unwrap_err()[0].contains("views: a number"));
}
