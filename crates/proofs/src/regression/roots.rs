//! Which error does a difference come from?
//!
//! A statement that Onlap alone refuses leaves something out: the object that it would have made, the rows that it would have
//! changed, the rest of its transaction. [`Roots`] remembers what, and the error; a later statement that misses
//! it has that error as its root.

use std::collections::HashMap;

use onlap_testkit::simple::Outcome;

use super::judge::Verdict;

/// What is missing so far, and why.
#[derive(Debug, Default)]
pub struct Roots {
    /// Names that were not made, and the roots.
    missing: HashMap<String, String>,
    /// Tables whose rows are others, and the roots.
    changed: HashMap<String, String>,
    /// Why the transaction is aborted.
    aborted: Option<String>,
}

impl Roots {
    /// The root of a difference; takes note of what it leaves out.
    pub fn root(&mut self, text: &str, verdict: Verdict, ours: &Outcome) -> Option<String> {
        if ours.state() != "25P02" && matches!(verdict, Verdict::Same | Verdict::SameError) {
            return None;
        }
        let words = words(text);
        let own = ours.error.as_ref().map(|(state, text)| format!("{state} {}", normal(text)));
        let root = match &ours.error {
            Some((state, _)) if state == "25P02" => self.aborted.clone().or(own),
            Some((_, text)) => {
                let missed = quoted(text).and_then(|name| self.missing.get(&plain(name)).cloned());
                missed.or(own)
            }
            None => words.iter().find_map(|word| {
                self.changed.get(word).or_else(|| self.missing.get(word)).cloned()
            }),
        };
        if matches!(verdict, Verdict::Refused | Verdict::Died) {
            let root = root.clone().unwrap_or_else(|| verdict.name().into());
            for name in made(&words) {
                self.missing.entry(name).or_insert_with(|| root.clone());
            }
            if let Some(name) = target(&words) {
                self.changed.entry(name).or_insert_with(|| root.clone());
            }
            if ours.state() != "25P02" {
                self.aborted = Some(root);
            }
        }
        root
    }
}

/// An error's text without what differs between statements.
pub fn normal(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '"' => {
                inside = !inside;
                out.push_str(if inside { "\"…" } else { "\"" });
            }
            _ if inside => {}
            c if c.is_ascii_digit() => {
                if !out.ends_with('N') {
                    out.push('N');
                }
            }
            c => out.push(c),
        }
    }
    out
}

fn quoted(text: &str) -> Option<&str> {
    let begin = text.find('"')? + 1;
    let end = begin + text[begin..].find('"')?;
    Some(&text[begin..end])
}

/// A name without its schema.
fn plain(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_lowercase()
}

/// Words in lower case; a name with dots is one.
fn words(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || "_.$".contains(c);
    let words = text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Names of what a statement would make.
fn made(words: &[String]) -> Vec<String> {
    const KINDS: &[&str] = &[
        "table",
        "view",
        "type",
        "domain",
        "sequence",
        "function",
        "procedure",
        "schema",
        "index",
        "role",
        "user",
        "aggregate",
        "collation",
        "prepare",
        "declare",
        "column",
        "constraint",
        "into",
    ];
    const SKIPPED: &[&str] = &["if", "not", "exists", "temp", "temporary", "unlogged", "table"];
    let Some(first) = words.first() else { return Vec::new() };
    if !["create", "alter", "prepare", "declare", "select", "with"].contains(&first.as_str()) {
        return Vec::new();
    }
    let Some(kind) = words.iter().position(|word| KINDS.contains(&word.as_str())) else {
        return Vec::new();
    };
    let name = words[kind + 1..].iter().find(|word| !SKIPPED.contains(&word.as_str()));
    let mut names: Vec<String> = name.map(|name| plain(name)).into_iter().collect();
    if first == "alter" {
        // ALTER TABLE t ADD [COLUMN] c: the table is there.
        let added = words.iter().position(|word| word == "add" || word == "to");
        let is_name = |word: &&String| {
            !["column", "constraint", "if", "not", "exists"].contains(&word.as_str())
        };
        names = added
            .and_then(|at| words[at + 1..].iter().find(is_name))
            .map(|name| plain(name))
            .into_iter()
            .collect();
    }
    names
}

/// The table whose rows a statement would change.
fn target(words: &[String]) -> Option<String> {
    let after = |word: &str| {
        let at = words.iter().position(|w| w == word)?;
        let skipped = ["only", "table"];
        words[at + 1..].iter().find(|w| !skipped.contains(&w.as_str())).map(|name| plain(name))
    };
    match words.first()?.as_str() {
        "insert" | "merge" => after("into"),
        "update" => after("update"),
        "delete" => after("from"),
        "copy" => after("copy"),
        "truncate" => after("truncate"),
        "alter" => after("table"),
        "with" => ["update", "into", "from"].iter().find_map(|word| after(word)),
        _ => None,
    }
}
