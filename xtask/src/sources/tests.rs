use super::*;

fn file(path: &str, text: impl Into<String>) -> SourceFile {
    SourceFile { path: path.to_owned(), text: text.into() }
}

#[test]
fn long_files_are_found() {
    let lines = |n: usize| "x\n".repeat(n);
    let files = [
        file("a.rs", lines(1000)),
        file("b.rs", lines(1001)),
        file("ARCHITECTURE.md", lines(401)),
        file("CHANGELOG.md", lines(5000)),
    ];
    let found = check_lengths(&files);
    assert_eq!(
        found,
        ["b.rs: 1001 lines, at most 1000", "ARCHITECTURE.md: 401 lines, at most 400"]
    );
}

#[test]
fn modules_open_with_their_question() {
    let files = [
        file("crates/a/src/x.rs", "//! Which?\n"),
        file("crates/a/src/y.rs", "use std::fmt;\n"),
        file("crates/a/src/y/tests.rs", "use super::*;\n"),
        file("crates/a/tests/z.rs", "fn main() {}\n"),
    ];
    assert_eq!(
        check_openings(&files),
        ["crates/a/src/y.rs: does not open with //! and its question"]
    );
}

#[test]
fn makers_of_internal_errors_are_found() {
    let text = "    Error::new(\n        \"XX000\",\n        text,\n    )\n";
    let files = [
        file("crates/sql/src/error.rs", text),
        file("crates/sql/src/ddl/x.rs", text),
        file("crates/sql/src/ddl/x/tests.rs", text),
        file("crates/kernels/src/y.rs", "/// `XX000`: it is none.\n"),
    ];
    assert_eq!(
        check_internal(&files),
        ["crates/sql/src/ddl/x.rs:2: XX000; call defect, or internal for PostgreSQL's words"]
    );
}

#[test]
fn leftovers_are_found() {
    let text = format!("fn a() {{\n    {}{}x)\n}}\n", "dbg", "!(");
    assert_eq!(check_leftovers(&[file("a.rs", text)]).len(), 1);
    assert_eq!(check_leftovers(&[file("a.rs", "fn a() {}\n")]).len(), 0);
}
