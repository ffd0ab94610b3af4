//! Does a text match a pattern?
//!
//! `%` stands for any characters, `_` for one, `\` takes the next character as it is. A text is tried
//! from left to right; where a character does not fit, the last `%` takes one more. That is at most
//! length of text times length of pattern steps.

use onlap_base::{Error, ErrorKind, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Any,
    One,
    Just(char),
}

/// A pattern, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Part>);

impl Pattern {
    pub(super) fn parse(pattern: &str) -> Result<Pattern> {
        let mut parts = Vec::with_capacity(pattern.len());
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '%' => Part::Any,
                '_' => Part::One,
                '\\' => Part::Just(chars.next().ok_or_else(|| {
                    let text = format!("the pattern {pattern:?} ends with its escape character");
                    Error::new(ErrorKind::InvalidInput, text)
                })?),
                c => Part::Just(c),
            });
        }
        Ok(Pattern(parts))
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let (mut at, mut rest) = (0, text);
        // Behind the last `%`: where the pattern goes on, and the text that it has not taken.
        let mut retry: Option<(usize, &str)> = None;
        loop {
            let first = rest.chars().next();
            let after = |c: char| &rest[c.len_utf8()..];
            match (self.0.get(at), first) {
                (None, None) => return true,
                (Some(Part::Any), _) => {
                    at += 1;
                    retry = Some((at, rest));
                    continue;
                }
                (Some(Part::One), Some(c)) => {
                    (at, rest) = (at + 1, after(c));
                    continue;
                }
                (Some(Part::Just(p)), Some(c)) if *p == c => {
                    (at, rest) = (at + 1, after(c));
                    continue;
                }
                _ => {}
            }
            let Some((pattern_at, taken)) = retry else { return false };
            let Some(c) = taken.chars().next() else { return false };
            let taken = &taken[c.len_utf8()..];
            retry = Some((pattern_at, taken));
            (at, rest) = (pattern_at, taken);
        }
    }
}
