//! Do the source files keep the house rules that a reader of text can check?
//!
//! Length, the opening `//!` of every module, and nothing left over. Pure.

use crate::SourceFile;

/// No source file is longer.
const LINES_MAX: usize = 1000;

/// ARCHITECTURE.md is read in one sitting.
const ARCHITECTURE_LINES_MAX: usize = 400;

/// README.md is read in a minute.
const README_LINES_MAX: usize = 120;

pub(crate) fn check_lengths(files: &[SourceFile]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let limit = match file.path.as_str() {
            "ARCHITECTURE.md" => ARCHITECTURE_LINES_MAX,
            "README.md" => README_LINES_MAX,
            path if is_source(path) => LINES_MAX,
            _ => continue,
        };
        let lines = file.text.lines().count();
        if lines > limit {
            found.push(format!("{}: {lines} lines, at most {limit}", file.path));
        }
    }
    found
}

/// Every module of production code opens with the question it answers.
pub(crate) fn check_openings(files: &[SourceFile]) -> Vec<String> {
    let modules = files.iter().filter(|file| file.path.ends_with(".rs") && !is_test(&file.path));
    modules
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| format!("{}: does not open with //! and its question", file.path))
        .collect()
}

/// Markers of work that was put off. Written in halves, so that this file has none.
const LEFTOVERS: [(&str, &str); 5] =
    [("todo", "!("), ("unimplemented", "!("), ("#[ig", "nore"), ("FIX", "ME"), ("dbg", "!(")];

pub(crate) fn check_leftovers(files: &[SourceFile]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_source(&file.path)) {
        for (number, line) in file.text.lines().enumerate() {
            for (head, tail) in LEFTOVERS {
                let marker = format!("{head}{tail}");
                if line.contains(&marker) {
                    found.push(format!("{}:{}: {marker}", file.path, number + 1));
                }
            }
        }
    }
    found
}

/// Where XX000 may stand in the sources of what clients talk to, and as what.
const INTERNAL: [&str; 5] = [
    // Errors with it are made here alone: in PostgreSQL's words, or as defects, whose words stay in the log.
    "crates/pg/src/error.rs",
    "crates/sql/src/error.rs",
    // Files of a newer release, which keep a database from opening.
    "crates/base/src/error.rs",
    // The name that PL/pgSQL has for it.
    "crates/sql/src/routine/conditions.rs",
    // Constants with such errors are calculated again when the query runs.
    "crates/query/src/compile.rs",
];

/// Words of ours do not reach a client under XX000: `internal` and `defect` make such errors.
pub(crate) fn check_internal(files: &[SourceFile]) -> Vec<String> {
    let mut found = Vec::new();
    let rigs = |path: &str| path.starts_with("crates/proofs/") || path.starts_with("xtask/");
    for file in files {
        let path = file.path.as_str();
        if !path.ends_with(".rs") || is_test(path) || rigs(path) || INTERNAL.contains(&path) {
            continue;
        }
        let lines = file.text.lines().enumerate();
        let said = lines.filter(|(_, line)| line.contains("\"XX000\""));
        found.extend(said.map(|(number, _)| {
            format!("{path}:{}: XX000; call defect, or internal for PostgreSQL's words", number + 1)
        }));
    }
    found
}

fn is_source(path: &str) -> bool {
    [".rs", ".py", ".js"].iter().any(|end| path.ends_with(end))
}

pub(crate) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/examples/")
}

#[cfg(test)]
mod tests;
