//! What do literals mean where `standard_conforming_strings` is off?
//!
//! The scanner knows texts with the setting on. With it off, a backslash in a plain literal is an escape, as in one with an E
//! before it: so such literals get an E before the text is read. Places of errors are those of the text as the client sent it.
//! Bodies of routines are read by the rules of the setting that is on.
//!
//! Thread safety: pure functions.

use super::Session;
use crate::error::{Result, SqlError, state};
use crate::settings::Id;

/// Bytes of a text that is marked: it is held several times meanwhile.
const LONGEST: usize = 16 << 20;

/// A text with an E before literals that need it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marked {
    /// The text.
    pub text: String,
    /// How many characters came in, and behind how many of the client's each of them, rising.
    marks: Vec<usize>,
    /// What is to be said of each literal that has one: where it is, and what its first backslash is before.
    escapes: Vec<(usize, Option<char>)>,
}

impl Marked {
    /// An error of the text, at its place in the client's, which shows no mark.
    pub(super) fn back(&self, error: SqlError) -> SqlError {
        let places = || self.marks.iter().enumerate().map(|(n, mark)| mark + n + 1);
        let is_marked = error.position().is_some_and(|at| places().any(|place| place == at));
        let shown = error.message().replacen(" at or near \"E'", " at or near \"'", 1);
        let error = if is_marked { error.with_message(shown) } else { error };
        error.moved(|position| position - places().take_while(|place| *place < position).count())
    }
}

impl Session {
    /// The text with its literals marked, where the setting is off and any has a backslash.
    ///
    /// # Errors
    /// `0A000`: a literal with Unicode escapes, which are not safe then; `54000`.
    pub(super) fn marked(&self, sql: &str) -> Result<Option<Marked>> {
        if self.settings.flag(Id::StandardConformingStrings) || !sql.contains('\\') {
            return Ok(None);
        }
        if sql.len() > LONGEST {
            let text = "a text this long is not read while standard_conforming_strings is off";
            return Err(SqlError::new(state::TOO_LARGE, text));
        }
        let marked = mark(sql)?;
        if self.settings.flag(Id::EscapeStringWarning) {
            marked.escapes.iter().for_each(|(at, first)| self.between.warn(warning(*at, *first)));
        }
        Ok(Some(marked))
    }
}

fn warning(at: usize, first: Option<char>) -> SqlError {
    let (what, hint) = match first {
        Some('\'') => {
            ("\\'", "Use '' to write quotes in strings, or use the escape string syntax (E'...').")
        }
        Some('\\') => ("\\\\", "Use the escape string syntax for backslashes, e.g., E'\\\\'."),
        _ => ("escape", "Use the escape string syntax for escapes, e.g., E'\\r\\n'."),
    };
    let text = format!("nonstandard use of {what} in a string literal");
    SqlError::new("22P06", text).hint(hint).at(at + 1)
}

fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

/// Which kind of literal a quote begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    /// Without a letter before it.
    Plain,
    /// E'…'
    Escapes,
    /// B'…', X'…'
    Bits,
    /// U&'…'
    Unicode,
}

/// How a literal ends.
#[derive(Clone, Copy)]
struct End {
    /// Behind it.
    at: usize,
    /// What is behind its first backslash.
    escape: Option<usize>,
    is_closed: bool,
}

struct Marker {
    all: Vec<char>,
    at: usize,
    out: Marked,
}

fn mark(sql: &str) -> Result<Marked> {
    let out = Marked { text: String::new(), marks: Vec::new(), escapes: Vec::new() };
    let mut marker = Marker { all: sql.chars().collect(), at: 0, out };
    while let Some(c) = marker.peek(0) {
        match (c, marker.peek(1)) {
            ('-', Some('-')) => marker.take_while(|c| c != '\n'),
            ('/', Some('*')) => marker.comment(),
            ('"', _) => {
                marker.take(1);
                marker.take_while(|c| c != '"');
                marker.take(1);
            }
            ('$', _) if !marker.is_in_word() => marker.dollars(),
            ('\'', _) => marker.literal()?,
            _ => marker.take(1),
        }
    }
    Ok(marker.out)
}

impl Marker {
    fn peek(&self, further: usize) -> Option<char> {
        self.all.get(self.at + further).copied()
    }

    fn take(&mut self, count: usize) {
        let end = (self.at + count).min(self.all.len());
        self.out.text.extend(&self.all[self.at..end]);
        self.at = end;
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) {
        let count = self.all[self.at..].iter().take_while(|c| wanted(**c)).count();
        self.take(count);
    }

    /// Whether a word goes on here.
    fn is_in_word(&self) -> bool {
        self.at > 0 && is_word(self.all[self.at - 1])
    }

    fn comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return,
                (Some('/'), Some('*')) => {
                    depth += 1;
                    self.take(2);
                }
                (Some('*'), Some('/')) => {
                    depth -= 1;
                    self.take(2);
                }
                _ => self.take(1),
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// A text between dollar signs, or one dollar sign.
    fn dollars(&mut self) {
        let inner = self.all[self.at + 1..].iter().take_while(|c| is_word(**c) && **c != '$');
        let length = inner.count() + 2;
        let is_parameter = self.peek(1).is_some_and(|c| c.is_ascii_digit());
        if is_parameter || self.peek(length - 1) != Some('$') {
            return self.take(1);
        }
        let tag: Vec<char> = self.all[self.at..self.at + length].to_vec();
        let behind = &self.all[self.at + length..];
        let found = behind.windows(length).position(|window| window == tag);
        self.take(found.map_or(usize::MAX - self.at, |found| found + 2 * length));
    }

    fn kind(&self) -> Quote {
        let before = |further: usize| self.at.checked_sub(further).map(|at| self.all[at]);
        let begins = |further: usize| before(further).is_none_or(|c| !is_word(c));
        match (before(1), before(2)) {
            (Some('e' | 'E'), _) if begins(2) => Quote::Escapes,
            (Some('b' | 'B' | 'x' | 'X' | 'n' | 'N'), _) if begins(2) => Quote::Bits,
            (Some('&'), Some('u' | 'U')) if begins(3) => Quote::Unicode,
            _ => Quote::Plain,
        }
    }

    fn literal(&mut self) -> Result<()> {
        let kind = self.kind();
        if kind == Quote::Unicode {
            let text = "unsafe use of string constant with Unicode escapes";
            let detail = "String constants with Unicode escapes cannot be used when \
                          standard_conforming_strings is off.";
            return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail).at(self.at - 1));
        }
        let start = self.at;
        let end = self.end(kind != Quote::Bits);
        if let (Quote::Plain, Some(first)) = (kind, end.escape) {
            // A letter would become part of a word before it.
            let mark = if self.is_in_word() { " E" } else { "E" };
            self.out.text.push_str(mark);
            self.out.marks.extend(mark.chars().map(|_| start));
            if end.is_closed {
                self.out.escapes.push((start, self.all.get(first).copied()));
            }
        }
        self.take(end.at - start);
        Ok(())
    }

    /// Where the literal ends that begins here, with those that go on behind a line's end.
    fn end(&self, escapes: bool) -> End {
        let mut end = End { at: self.at + 1, escape: None, is_closed: false };
        loop {
            match self.all.get(end.at) {
                None => return End { at: self.all.len(), ..end },
                Some('\\') if escapes => {
                    end.escape = end.escape.or(Some(end.at + 1));
                    end.at += 2;
                }
                Some('\'') if self.all.get(end.at + 1) == Some(&'\'') => end.at += 2,
                Some('\'') => match self.goes_on(end.at + 1) {
                    Some(next) => end.at = next + 1,
                    None => return End { at: end.at + 1, is_closed: true, ..end },
                },
                Some(_) => end.at += 1,
            }
        }
    }

    /// The quote with which the literal goes on behind a line's end.
    fn goes_on(&self, from: usize) -> Option<usize> {
        let blank = self.all[from..].iter().take_while(|c| c.is_ascii_whitespace());
        let blank: Vec<&char> = blank.collect();
        let next = from + blank.len();
        (blank.contains(&&'\n') && self.all.get(next) == Some(&'\'')).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(sql: &str) -> String {
        mark(sql).expect("it can be read").text
    }

    #[test]
    fn only_plain_literals_with_a_backslash_are_marked() {
        for (sql, expected) in [
            (r"select 'a\'b', 'c'", r"select E'a\'b', 'c'"),
            (r"select'\n'", r"select E'\n'"),
            (r"select E'\'', b'1\', x'\'", r"select E'\'', b'1\', x'\'"),
            (r#"select "a\", '\\'"#, r#"select "a\", E'\\'"#),
            (r"select $$'\'$$, $a$'\$b$$a$, $1, '\t'", r"select $$'\'$$, $a$'\$b$$a$, $1, E'\t'"),
            (
                r"-- '\
select /* '\ /* */ */ '\x'",
                r"-- '\
select /* '\ /* */ */ E'\x'",
            ),
            ("select 'a'\n 'b\\n'", "select E'a'\n 'b\\n'"),
            (r"select 'never ended \'", r"select E'never ended \'"),
            ("select $a$ '\\", "select $a$ '\\"),
        ] {
            assert_eq!(marked(sql), expected);
        }
        assert_eq!(mark("select u&'\\0041'").expect_err("it is not safe").state(), "0A000");
    }

    #[test]
    fn errors_are_at_the_clients_places() {
        let made = mark(r"select '\n', '\t', x").expect("it can be read");
        let at = |position: usize| SqlError::new("42703", "").at(position);
        // The texts with marks: select E'\n', E'\t', x
        for (position, expected) in [(1, 1), (9, 8), (16, 14), (22, 20)] {
            assert_eq!(made.back(at(position)), at(expected), "{position}");
        }
    }
}
