//! Which words follow?
//!
//! Statements that are no queries are read word by word. [`Words`] knows where each stands, so that a query inside a
//! statement is found as it was written.

use std::ops::Range;
use std::rc::Rc;

use onlap_pg::grammar::{self, Keyword, Kind, Tokens};

use crate::error::{Result, SqlError, state};
use crate::query::sql_error;

/// The words and symbols of a statement, and how many were read.
#[derive(Clone)]
pub struct Words<'a> {
    text: &'a str,
    tokens: Rc<Tokens<'a>>,
    at: usize,
}

/// A symbol between words, as far as statements that are read word by word have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `,`
    Comma,
    /// `.`
    Period,
    /// `=`
    Eq,
    /// `*`
    Mul,
    /// A word, a literal, or another symbol.
    Other,
}

impl Token {
    fn of(kind: Kind) -> &'static Token {
        match kind {
            Kind::Char('(') => &Token::LParen,
            Kind::Char(')') => &Token::RParen,
            Kind::Char(',') => &Token::Comma,
            Kind::Char('.') => &Token::Period,
            Kind::Char('=') => &Token::Eq,
            Kind::Char('*') => &Token::Mul,
            _ => &Token::Other,
        }
    }
}

impl<'a> Words<'a> {
    /// Of a statement's text.
    ///
    /// # Errors
    /// `42601`.
    pub fn of(text: &'a str) -> Result<Words<'a>> {
        let tokens = Tokens::of(text);
        match &tokens.error {
            Some(error) => Err(sql_error(error, text)),
            None => Ok(Words { text, tokens: Rc::new(tokens), at: 0 }),
        }
    }

    /// A token, before the end.
    fn token(&self, at: usize) -> Option<grammar::Token> {
        self.tokens.all.get(at).copied().filter(|token| token.kind != Kind::End)
    }

    /// Where a token stands.
    fn range(&self, at: usize) -> Option<Range<usize>> {
        self.token(at).map(|token| token.start as usize..token.end as usize)
    }

    /// The next token.
    pub fn peek(&self) -> Option<&'static Token> {
        self.token(self.at).map(|token| Token::of(token.kind))
    }

    /// A word that is not in quotes, as it was written.
    fn word_at(&self, at: usize) -> Option<&str> {
        let token = self.token(at)?;
        let written = &self.text[token.start as usize..token.end as usize];
        let bare = token.kind == Kind::Name && !written.contains('"');
        (bare || token.word().is_some()).then_some(written)
    }

    /// Whether these words come next.
    pub fn begins(&self, words: &[&str]) -> bool {
        let same = |(i, word): (usize, &&str)| {
            self.word_at(self.at + i).is_some_and(|w| w.eq_ignore_ascii_case(word))
        };
        words.iter().enumerate().all(same)
    }

    /// Reads these words, if they come next.
    pub fn accept(&mut self, words: &[&str]) -> bool {
        let found = self.begins(words);
        if found {
            self.at += words.len();
        }
        found
    }

    /// Reads one of these words, if it comes next.
    pub fn one_of<'w>(&mut self, words: &[&'w str]) -> Option<&'w str> {
        let found = words.iter().find(|w| self.begins(&[w])).copied();
        self.at += usize::from(found.is_some());
        found
    }

    /// Reads these words.
    ///
    /// # Errors
    /// `42601`: something else comes.
    pub fn expect(&mut self, words: &[&str]) -> Result<()> {
        if self.accept(words) { Ok(()) } else { Err(self.error()) }
    }

    /// Reads a symbol, if it comes next.
    pub fn symbol(&mut self, symbol: &Token) -> bool {
        let found = self.peek() == Some(symbol);
        self.at += usize::from(found);
        found
    }

    /// Reads a name of one part, as PostgreSQL folds it.
    ///
    /// # Errors
    /// `42601`: something else comes.
    pub fn ident(&mut self) -> Result<String> {
        let found = self.token(self.at).and_then(|token| match token.kind {
            Kind::Name => Some(self.tokens.value(token).to_string()),
            _ => token.word().map(Keyword::word).map(str::to_string),
        });
        let found = found.ok_or_else(|| self.error())?;
        self.at += 1;
        Ok(found)
    }

    /// Reads a name of one to three parts.
    ///
    /// # Errors
    /// `42601`: something else comes.
    pub fn name(&mut self) -> Result<Vec<String>> {
        let mut parts = vec![self.ident()?];
        while self.symbol(&Token::Period) {
            parts.push(self.ident()?);
        }
        if parts.len() > 3 {
            let text = format!("improper qualified name: {}", parts.join("."));
            return Err(SqlError::new(state::SYNTAX, text));
        }
        Ok(parts)
    }

    /// Reads names with commas between.
    ///
    /// # Errors
    /// `42601`: something else comes.
    pub fn names(&mut self) -> Result<Vec<Vec<String>>> {
        let mut names = vec![self.name()?];
        while self.symbol(&Token::Comma) {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// Reads names of one part in parentheses, if they come next.
    ///
    /// # Errors
    /// `42601`: something else is in the parentheses.
    pub fn columns(&mut self) -> Result<Vec<String>> {
        if !self.symbol(&Token::LParen) {
            return Ok(Vec::new());
        }
        let mut names = vec![self.ident()?];
        while self.symbol(&Token::Comma) {
            names.push(self.ident()?);
        }
        match self.symbol(&Token::RParen) {
            true => Ok(names),
            false => Err(self.error()),
        }
    }

    /// Reads a literal of text, if one comes next.
    pub fn string(&mut self) -> Option<String> {
        let token = self.token(self.at).filter(|token| token.kind == Kind::Text)?;
        self.at += 1;
        Some(self.tokens.value(token).to_string())
    }

    /// Reads an integer with its sign, if one comes next.
    pub fn integer(&mut self) -> Option<i64> {
        let (n, end) = self.signed(&['-', '+'])?;
        let n = n.parse().ok()?;
        self.at = end;
        Some(n)
    }

    /// Reads a number with its sign as text, if one comes next.
    pub fn number(&mut self) -> Option<String> {
        let (n, end) = self.signed(&['-'])?;
        self.at = end;
        Some(n)
    }

    /// The number that comes next, behind one of these signs or none, and the token behind it.
    fn signed(&self, signs: &[char]) -> Option<(String, usize)> {
        let sign = match self.token(self.at)?.kind {
            Kind::Char(sign) if signs.contains(&sign) => Some(sign),
            _ => None,
        };
        let at = self.at + usize::from(sign.is_some());
        let token = self.token(at)?;
        matches!(token.kind, Kind::Int(_) | Kind::Number).then(|| {
            let digits = self.tokens.value(token);
            (sign.into_iter().chain(digits.chars()).collect(), at + 1)
        })
    }

    /// Reads what is in parentheses, as it was written.
    ///
    /// # Errors
    /// `42601`: no opening parenthesis comes, or none closes it.
    pub fn parenthesized(&mut self) -> Result<&'a str> {
        if self.peek() != Some(&Token::LParen) {
            return Err(self.error());
        }
        let from = self.tokens.all[self.at].end as usize;
        let mut depth = 0;
        while let Some(token) = self.token(self.at) {
            self.at += 1;
            match token.kind {
                Kind::Char('(') => depth += 1,
                Kind::Char(')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(&self.text[from..token.start as usize]);
            }
        }
        Err(self.error())
    }

    /// What is left, in pieces between commas, as it was written.
    pub fn pieces(&mut self) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut from = self.next_start();
        let mut depth = 0;
        while let Some(token) = self.token(self.at) {
            self.at += 1;
            match token.kind {
                Kind::Char('(' | '[') => depth += 1,
                Kind::Char(')' | ']') => depth -= 1,
                Kind::Char(',') if depth == 0 => {
                    pieces.push(&self.text[from..token.start as usize]);
                    from = token.end as usize;
                }
                _ => {}
            }
        }
        pieces.push(&self.text[from..]);
        pieces
    }

    /// Where the next token begins, or the text ends.
    fn next_start(&self) -> usize {
        self.range(self.at).map_or(self.text.len(), |range| range.start)
    }

    /// Where the next token stands in the text.
    pub fn next_range(&self) -> Option<Range<usize>> {
        self.range(self.at)
    }

    /// Leaves out a token.
    pub fn skip(&mut self) {
        self.at += 1;
    }

    /// What is left, as it was written.
    pub fn rest(&mut self) -> &'a str {
        let from = self.next_start();
        self.at = self.tokens.all.len();
        &self.text[from..]
    }

    /// Whether everything was read.
    pub fn is_end(&self) -> bool {
        self.token(self.at).is_none()
    }

    /// Fails unless everything was read.
    ///
    /// # Errors
    /// `42601`.
    pub fn end(&self) -> Result<()> {
        if self.is_end() { Ok(()) } else { Err(self.error()) }
    }

    /// What is wrong with the next token.
    pub fn error(&self) -> SqlError {
        match self.range(self.at) {
            Some(range) => {
                let near = &self.text[range.clone()];
                let position = self.text[..range.start].chars().count() + 1;
                let text = format!("syntax error at or near \"{near}\"");
                SqlError::new(state::SYNTAX, text).at(position)
            }
            None => SqlError::new(state::SYNTAX, "syntax error at end of input"),
        }
    }
}
