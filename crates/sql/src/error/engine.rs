//! How does PostgreSQL say what the engine says of waits and of other transactions?
//!
//! The engine knows tables by names of its own, which programs never see: names of another database or schema have it before
//! them, and some characters are written in another way ([`crate::catalog::names`]). Its sentences have them behind few words.

use std::sync::Arc;

use onlap::{Error, ErrorKind};

use super::SqlError;
use crate::catalog::Name;

/// Words before which the engine names a table or sequence.
const BEFORE_NAMES: [&str; 4] = ["table", "sequence", "named", "name"];

/// The error of a wait, or of a conflict with another transaction; others are told in the engine's words.
pub(super) fn told(e: &Error) -> SqlError {
    if let Some(defect) = e.as_defect() {
        return SqlError::of_defect(Arc::clone(defect));
    }
    let text = e.to_string();
    let plain = |text: &str| SqlError::new(e.sqlstate(), text);
    let is_of = |begins: &str| text.starts_with(begins);
    let mut error = match e.kind() {
        ErrorKind::LockNotAvailable => plain("canceling statement due to lock timeout"),
        ErrorKind::Conflict if is_of("a row of table") && text.contains(" was deleted by ") => {
            plain("could not serialize access due to concurrent delete")
        }
        ErrorKind::Conflict if is_of("a row of table") || is_of("a child row") => {
            SqlError::concurrent_update()
        }
        ErrorKind::Conflict if is_of("what this transaction read") => {
            plain("could not serialize access due to read/write dependencies among transactions")
                .hint("The transaction might succeed if retried.")
        }
        ErrorKind::Conflict => plain(&shown(&text)).hint("Run the transaction again."),
        _ => plain(&shown(&text)),
    };
    if let Some(detail) = e.detail() {
        error = error.detail(shown(detail));
    }
    error
}

/// A sentence with the names that programs know.
fn shown(text: &str) -> String {
    let mut is_name = false;
    let word = |word: &str| {
        let named = std::mem::replace(&mut is_name, BEFORE_NAMES.contains(&word));
        let end = word.trim_end_matches([',', ';', ':', '.']);
        match named && end.contains(['.', '/', '%']) {
            true => format!("{}{}", Name::of_engine(end).1.name, &word[end.len()..]),
            false => word.to_string(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn names_of_the_engine_are_not_shown() {
        for (text, wanted) in [
            ("there is no table named d/s.t", "there is no table named t"),
            ("table s.a%2Eb was changed; run it again", "table a.b was changed; run it again"),
            ("rows came to table d/public.t.", "rows came to table t."),
            ("table t has 1.5 rows", "table t has 1.5 rows"),
            ("another transaction holds the name d/s.t", "another transaction holds the name t"),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }
}
