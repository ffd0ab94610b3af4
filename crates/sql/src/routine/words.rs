//! The words of a body.
//!
//! They are those of SQL, by the same scanner. Words of PL/pgSQL are names to it, unless they are quoted.

use onlap_pg::grammar::{Kind, Token, Tokens};

use crate::error::{Result, SqlError, state};
use crate::query::sql_error;

/// The words of a text, from one of them on.
pub struct Words<'a> {
    tokens: &'a Tokens<'a>,
    at: usize,
    /// Where lines end.
    ends: Vec<usize>,
}

impl<'a> Words<'a> {
    /// From the first.
    pub fn new(tokens: &'a Tokens<'a>) -> Words<'a> {
        let ends = tokens.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Words { tokens, at: 0, ends: ends.map(|(at, _)| at).collect() }
    }

    /// The place among all words, to come back to.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Goes back to a place.
    pub fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    fn token_at(&self, at: usize) -> Token {
        let all = &self.tokens.all;
        all[at.min(all.len() - 1)]
    }

    /// What comes next.
    pub fn kind(&self) -> Kind {
        self.token_at(self.at).kind
    }

    /// What comes after some more.
    pub fn ahead(&self, by: usize) -> Kind {
        self.token_at(self.at + by).kind
    }

    /// Where the next one begins, in bytes.
    pub fn start(&self) -> usize {
        self.token_at(self.at).start as usize
    }

    /// Where the last one ended.
    pub fn last_end(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |at| self.token_at(at).end as usize)
    }

    /// Passes it, but not the end.
    pub fn advance(&mut self) {
        if !matches!(self.kind(), Kind::End | Kind::Bad) {
            self.at += 1;
        }
    }

    /// The line of the next one, from 1.
    pub fn line(&self) -> usize {
        1 + self.ends.partition_point(|end| *end < self.start())
    }

    /// A part of the text.
    pub fn text(&self, from: usize, to: usize) -> &'a str {
        self.tokens.text.get(from..to).unwrap_or_default()
    }

    /// The word after some more, if it is one: a keyword or a name without quotes.
    pub fn word_ahead(&self, by: usize) -> Option<&'a str> {
        let token = self.token_at(self.at + by);
        if let Some(word) = token.word() {
            return Some(word.word());
        }
        let quoted = self.tokens.text.as_bytes().get(token.start as usize) == Some(&b'"');
        (token.kind == Kind::Name && !quoted).then(|| self.tokens.value(token))
    }

    /// The next word.
    pub fn word(&self) -> Option<&'a str> {
        self.word_ahead(0)
    }

    /// Whether it is this one.
    pub fn is(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    /// Passes it, if it is this one.
    pub fn accept(&mut self, word: &str) -> bool {
        let is = self.is(word);
        if is {
            self.advance();
        }
        is
    }

    /// Passes it.
    ///
    /// # Errors
    /// It is another.
    pub fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Passes a character, if it comes next.
    pub fn accept_char(&mut self, c: char) -> bool {
        let is = self.kind() == Kind::Char(c);
        if is {
            self.advance();
        }
        is
    }

    /// Passes a character.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn expect_char(&mut self, c: char) -> Result<()> {
        if self.accept_char(c) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The value of a name or literal that comes next, which is passed.
    pub fn value(&mut self) -> String {
        let token = self.token_at(self.at);
        let value = match token.word() {
            Some(word) => word.word().to_string(),
            None => self.tokens.value(token).to_string(),
        };
        self.advance();
        value
    }

    /// A name.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn name(&mut self) -> Result<String> {
        match self.is_name(0) {
            true => Ok(self.value()),
            false => Err(self.unexpected()),
        }
    }

    /// Whether a name may come after some more.
    pub fn is_name(&self, by: usize) -> bool {
        let token = self.token_at(self.at + by);
        token.kind == Kind::Name
            || token.word().is_some_and(|word| !RESERVED.contains(&word.word()))
    }

    /// A literal text.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn literal(&mut self) -> Result<String> {
        match self.kind() {
            Kind::Text => Ok(self.value()),
            _ => Err(self.unexpected()),
        }
    }

    /// An operator of this name, which is passed.
    pub fn accept_operator(&mut self, operator: &str) -> bool {
        let token = self.token_at(self.at);
        let text = self.text(token.start as usize, token.end as usize);
        let is = text == operator;
        if is {
            self.advance();
        }
        is
    }

    /// The next one cannot stand where it does.
    pub fn unexpected(&self) -> SqlError {
        let token = self.token_at(self.at);
        match (token.kind, &self.tokens.error) {
            (Kind::Bad, Some(e)) => sql_error(e, "").nowhere(),
            (Kind::End | Kind::Bad, _) => {
                SqlError::new(state::SYNTAX, "syntax error at end of input")
            }
            _ => {
                let near = self.text(token.start as usize, token.end as usize);
                SqlError::new(state::SYNTAX, format!("syntax error at or near \"{near}\""))
            }
        }
    }
}

/// Words of PL/pgSQL that are no names.
const RESERVED: &[&str] = &[
    "all", "begin", "by", "case", "declare", "else", "end", "execute", "for", "foreach", "from",
    "if", "in", "into", "loop", "not", "null", "or", "strict", "then", "to", "using", "when",
    "while",
];
