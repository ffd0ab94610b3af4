//! Which texts are booleans?

use super::{invalid, scan};
use crate::Result;

/// boolin: any unambiguous beginning of true, false, yes, no, on, off; 1 and 0.
pub fn parse(text: &str) -> Result<bool> {
    let word = scan::trim(text).to_ascii_lowercase();
    let begins = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
        Ok(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(invalid("boolean", text))
    }
}

/// boolout.
pub fn print(value: bool) -> &'static str {
    if value { "t" } else { "f" }
}
