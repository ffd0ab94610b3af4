//! Which differences are accepted?
//!
//! Those of `accepted.tsv`, each with its reason; see there. They are counted, and the list may only become shorter. Pure.

use super::judge::Kind;
use super::reduce::Reduced;

const LIST: &str = include_str!("accepted.tsv");
/// The kind of what Onlap alone refuses with 0A000, by its words.
const NOT_SERVED: &str = "not served";

/// A difference that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    kind: &'static str,
    word: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// All of them.
///
/// # Panics
/// A line has not its three parts.
pub fn all() -> Vec<Accepted> {
    let lines = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &'static str| {
        let parts: Vec<&str> = line.split('\t').collect();
        let [kind, word, reason] = parts[..] else { panic!("a line of three parts: {line}") };
        Accepted { kind, word, reason }
    };
    lines.map(read).collect()
}

/// Whether a difference is one of them.
pub fn covers(found: &Reduced) -> Option<Accepted> {
    let kind = match &found.kind {
        Kind::Refused(state) => format!("refused {state}"),
        Kind::Accepted(state) => format!("accepted {state}"),
        Kind::Otherwise(ours, theirs) => format!("otherwise {ours} {theirs}"),
        other => format!("{other:?}").to_lowercase(),
    };
    let text = found.statement.tree.text();
    all().into_iter().find(|one| is_kind(&kind, one.kind) && text.contains(one.word))
}

/// Whether a 0A000 of Onlap, by its message, is one of what is not served.
pub fn is_unserved(message: &str) -> bool {
    all().into_iter().any(|one| one.kind == NOT_SERVED && is_like(message, one.word))
}

/// Whether a text is a pattern, in which a `*` stands for any text.
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((first, last)) => {
            text.len() >= first.len() + last.len()
                && text.starts_with(first)
                && text.ends_with(last)
        }
    }
}

/// Whether a kind is another one, in which `*` stands for any word.
fn is_kind(kind: &str, wanted: &str) -> bool {
    let (words, wanted) = (kind.split(' '), wanted.split(' '));
    words.clone().count() == wanted.clone().count()
        && words.zip(wanted).all(|(word, wanted)| wanted == "*" || word == wanted)
}
