//! Which name did the user mean?
//!
//! Names given on the command line are looked up here, so that every unknown one is answered with
//! the nearest valid one.

use onlap_base::{Error, ErrorKind, Result};

#[cfg(test)]
mod tests;

/// The given name if it is one of `valid`; else an error that names the nearest and all of them.
pub fn choose<'a>(what: &str, given: &str, valid: &[&'a str]) -> Result<&'a str> {
    if let Some(name) = valid.iter().find(|v| **v == given) {
        return Ok(name);
    }
    Err(unknown(what, given, valid))
}

/// The error [`choose`] gives.
pub fn unknown(what: &str, given: &str, valid: &[&str]) -> Error {
    let hint = match nearest(given, valid) {
        Some(name) => format!("did you mean '{name}'? "),
        None => String::new(),
    };
    let list = valid.join(", ");
    Error::new(
        ErrorKind::InvalidInput,
        format!("unknown {what} '{given}'; {hint}valid are: {list}"),
    )
}

/// The valid name with the fewest edits, ignoring case.
pub fn nearest<'a>(given: &str, valid: &[&'a str]) -> Option<&'a str> {
    let given = given.to_lowercase();
    valid.iter().copied().min_by_key(|v| edits(&given, &v.to_lowercase()))
}

/// Levenshtein distance, by rows of the dynamic program.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
