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

fn is_source(path: &str) -> bool {
    [".rs", ".py", ".js"].iter().any(|end| path.ends_with(end))
}

pub(crate) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/examples/")
}

#[cfg(test)]
mod tests;
