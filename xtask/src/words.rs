//! Which words say less than another would?
//!
//! [`AVOIDED`] has them with what to write instead: the name of the actor, or the field's standard term. Looked at are
//! Rust files, tests among them, and Markdown; a comment's lines are read as one, so that a line break hides nothing.
//! Pure.

use std::collections::BTreeMap;

use crate::SourceFile;
use crate::functions::crate_of;

/// What to avoid, and what to write instead.
const AVOIDED: [(&str, &str); 11] = [
    ("nobody", "no reader, no task, no client: name the actor"),
    ("somebody", "another task, a client: name the actor"),
    ("everybody", "every client: name the actor"),
    ("anybody", "any client: name the actor"),
    ("whoever", "the task that, a client that: name the actor"),
    ("whom", "two sentences"),
    ("so many", "the number, and its reason"),
    ("so much", "the amount, and its reason"),
    ("but for", "except for, except"),
    ("at hand", "in memory, available"),
    ("beside", "next to, in addition to, compared with"),
];

/// The list itself is no prose.
const SELF: [&str; 2] = ["xtask/src/words.rs", "xtask/src/words/tests.rs"];

/// Places by crate; Markdown outside of crates is `docs`.
pub(crate) fn find(files: &[SourceFile]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let is_prose = file.path.ends_with(".md");
        if SELF.contains(&file.path.as_str()) || !(is_prose || file.path.ends_with(".rs")) {
            continue;
        }
        let places = found.entry(crate_of(&file.path).unwrap_or("docs").to_owned()).or_default();
        for (line, word, instead) in of_text(&file.text) {
            places.push(format!("{}:{line}: `{word}`; better: {instead}", file.path));
        }
    }
    found
}

/// Line, word and what to write instead.
fn of_text(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let words = words(text);
    let mut found = Vec::new();
    for (at, (line, _)) in words.iter().enumerate() {
        for (avoided, instead) in AVOIDED {
            let mut rest = words[at..].iter().map(|(_, word)| word);
            if avoided.split(' ').all(|part| rest.next().is_some_and(|word| word == part)) {
                found.push((*line, avoided, instead));
            }
        }
    }
    found
}

/// Words in lower case, each with its line. An identifier is one word; other signs end a phrase, comment marks do not.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start().trim_start_matches(['/', '!', '*', '|', '>', ' ']);
        let mut word = String::new();
        for c in line.chars().chain([' ']) {
            if c.is_alphanumeric() || c == '_' {
                word.extend(c.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push((at + 1, std::mem::take(&mut word)));
            }
            if !c.is_whitespace() {
                words.push((at + 1, c.to_string()));
            }
        }
    }
    words
}

#[cfg(test)]
mod tests;
