//! What do literals mean where `standard_conforming_strings` is off, and which escapes may they have?
//!
//! The scanner says which literals have a backslash that is an escape ([`Tokens::of_escapes`]). Each of them gets an E before it, so
//! that the text means the same with the setting on, which all that reads it afterwards goes by. Places of errors are those of the
//! text as the client sent it. Bodies of routines are read by the rules of the setting that is on.
//!
//! Thread safety: pure functions.

use onlap_pg::grammar::{Keyword, Kind, Tokens};

use super::Session;
use crate::encoding::Encoding;
use crate::error::{Result, SqlError};
use crate::parse;
use crate::settings::Id;

/// A text with an E before literals that need it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marked {
    /// The text.
    pub text: String,
    /// How many characters came in, and behind how many of the client's each of them, rising.
    marks: Vec<usize>,
}

impl Marked {
    /// The text of tokens.
    fn of(tokens: &Tokens<'_>) -> Marked {
        let text = tokens.text;
        let mut made = Marked { text: String::with_capacity(text.len() + 16), marks: Vec::new() };
        let (mut copied, mut counted) = (0, 0);
        for (start, _) in &tokens.escapes {
            let start = *start as usize;
            let before = &text[copied..start];
            made.text.push_str(before);
            counted += before.chars().count();
            let mark = mark(tokens, start);
            made.text.push_str(mark);
            made.marks.extend(mark.chars().map(|_| counted));
            copied = start;
        }
        made.text.push_str(&text[copied..]);
        made
    }

    /// An error of the text, at its place in the client's, which shows no mark.
    pub(super) fn back(&self, error: SqlError) -> SqlError {
        let places = || self.marks.iter().enumerate().map(|(n, mark)| mark + n + 1);
        let is_marked = error.position().is_some_and(|at| places().any(|place| place == at));
        let shown = error.message().replacen(" at or near \"E'", " at or near \"'", 1);
        let error = if is_marked { error.with_message(shown) } else { error };
        error.moved(|position| position - places().take_while(|place| *place < position).count())
    }
}

/// What comes before a literal. A letter would become part of a token that ends there; N is one of its own only where the quote
/// follows it.
fn mark(tokens: &Tokens<'_>, start: usize) -> &'static str {
    let count = tokens.all.partition_point(|token| (token.start as usize) < start);
    let last = count.checked_sub(1).map(|at| tokens.all[at]);
    match last.filter(|last| last.end as usize >= start) {
        None => "E",
        Some(last) if last.kind == Kind::Word(Keyword::Nchar) && last.end == last.start + 1 => {
            "CHAR E"
        }
        Some(_) => " E",
    }
}

impl Session {
    /// The text with its literals marked, where the setting is off and any has a backslash.
    ///
    /// # Errors
    /// Those of a text whose tokens end before it does.
    pub(super) fn marked(&mut self, sql: &str) -> Result<Option<Marked>> {
        self.must_quote_safely(sql)?;
        let may_differ = sql.contains('\\') || sql.contains("&'");
        if self.settings.flag(Id::StandardConformingStrings) || !may_differ {
            return Ok(None);
        }
        self.make_room(sql)?;
        let tokens = Tokens::of_escapes(sql);
        // With the setting on it might have an end.
        let failed = tokens.error.is_some().then(|| parse::unread(&tokens));
        if self.settings.flag(Id::EscapeStringWarning) {
            let last = failed.as_ref().and_then(SqlError::position).unwrap_or(usize::MAX);
            let place = |at: u32| sql[..at as usize].chars().count() + 1;
            let escapes = tokens.escapes.iter().map(|(at, first)| (place(*at), *first));
            for (place, first) in escapes.take_while(|(place, _)| *place <= last) {
                self.between.warn(warning(place, first));
            }
        }
        if let Some(e) = failed {
            return Err(e);
        }
        Ok((!tokens.escapes.is_empty()).then(|| Marked::of(&tokens)))
    }

    /// Fails for `\'` in a literal where `backslash_quote` or the client's encoding forbids it.
    fn must_quote_safely(&mut self, sql: &str) -> Result<()> {
        if !sql.contains("\\'") {
            return Ok(());
        }
        let is_safe = match self.settings.text(Id::BackslashQuote) {
            "on" => true,
            "off" => false,
            _ => {
                let encoding = Encoding::named(self.settings.text(Id::ClientEncoding));
                !encoding.has_backslashes_within()
            }
        };
        if is_safe {
            return Ok(());
        }
        self.make_room(sql)?;
        let tokens = match self.settings.flag(Id::StandardConformingStrings) {
            true => Tokens::of(sql),
            false => Tokens::of_escapes(sql),
        };
        let Some(start) = tokens.quote else { return Ok(()) };
        let hint = "Use '' to write quotes in strings. \\' is insecure in client-only encodings.";
        let place = sql[..start as usize].chars().count() + 1;
        Err(SqlError::new("22P06", "unsafe use of \\' in a string literal").hint(hint).at(place))
    }
}

fn warning(place: usize, first: u8) -> SqlError {
    let (what, hint) = match first {
        b'\'' => {
            ("\\'", "Use '' to write quotes in strings, or use the escape string syntax (E'...').")
        }
        b'\\' => ("\\\\", "Use the escape string syntax for backslashes, e.g., E'\\\\'."),
        _ => ("escape", "Use the escape string syntax for escapes, e.g., E'\\r\\n'."),
    };
    let text = format!("nonstandard use of {what} in a string literal");
    SqlError::new("22P06", text).hint(hint).at(place)
}

#[cfg(test)]
mod tests {
    use onlap_base::rng::Rng;

    use super::*;

    fn marked(sql: &str) -> Marked {
        let tokens = Tokens::of_escapes(sql);
        assert_eq!(tokens.error, None, "{sql}");
        Marked::of(&tokens)
    }

    /// Kinds and values.
    fn said<'t>(tokens: &'t Tokens<'_>) -> Vec<(String, &'t str)> {
        let said = |token: &onlap_pg::grammar::Token| {
            let value = if token.kind == Kind::Text { tokens.value(*token) } else { "" };
            (format!("{:?}", token.kind), value)
        };
        tokens.all.iter().map(said).collect()
    }

    #[test]
    fn only_plain_literals_with_a_backslash_are_marked() {
        for (sql, expected) in [
            (r"select 'a\'b', 'c'", r"select E'a\'b', 'c'"),
            (r"select'\n'", r"select E'\n'"),
            (r"select n'\n', N 'c'", r"select nCHAR E'\n', N 'c'"),
            (r"select E'\'', b'1\', x'\'", r"select E'\'', b'1\', x'\'"),
            (r#"select "a\", '\\'"#, r#"select "a\", E'\\'"#),
            (r"select $$'\'$$, $a$'\$b$$a$, $1, '\t'", r"select $$'\'$$, $a$'\$b$$a$, $1, E'\t'"),
            (
                r"-- '\
select /* '\ /* */ */ '\x'",
                r"-- '\
select /* '\ /* */ */ E'\x'",
            ),
            ("select 'a' -- it's\n 'b\\n'", "select E'a' -- it's\n 'b\\n'"),
        ] {
            assert_eq!(marked(sql).text, expected);
        }
    }

    #[test]
    fn a_marked_text_means_the_same_with_the_setting_on() {
        let pieces = [
            "'", "'", "\\", "\\'", "''", "e", "E", "n'", "u&'", "x'", "\"", "$", "$$", "$a$", "--",
            "\n", "\r", "/*", "*/", " ", "1", "a", "é", ";", "&", "\u{b}", "uescape", "\\0",
            "\\x41",
        ];
        let mut rng = Rng::new(7);
        let mut compared = 0;
        for _ in 0..200_000 {
            let count = 1 + rng.below(12);
            let sql: String = (0..count).map(|_| *rng.pick(&pieces)).collect();
            let tokens = Tokens::of_escapes(&sql);
            if tokens.error.is_some() || tokens.escapes.is_empty() {
                continue;
            }
            let made = Marked::of(&tokens);
            assert_eq!(said(&Tokens::of(&made.text)), said(&tokens), "{sql:?} {:?}", made.text);
            compared += 1;
        }
        assert!(compared > 1000, "{compared}");
    }

    #[test]
    fn errors_are_at_the_clients_places() {
        let made = marked(r"select '\n', '\t', x");
        let at = |position: usize| SqlError::new("42703", "").at(position);
        // The texts with marks: select E'\n', E'\t', x
        for (position, expected) in [(1, 1), (9, 8), (16, 14), (22, 20)] {
            assert_eq!(made.back(at(position)), at(expected), "{position}");
        }
    }
}
