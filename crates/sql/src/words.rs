//! Which words follow?
//!
//! Statements that sqlparser does not know, or takes apart wrongly, are read word by word. [`Words`] knows
//! where each stands, so that a query inside a statement is found as it was written.

use std::ops::Range;

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Word};

use crate::error::{Result, SqlError, state};

/// The words and symbols of a statement, and how many were read.
#[derive(Clone)]
pub struct Words<'a> {
    text: &'a str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
}

impl<'a> Words<'a> {
    /// Of a statement's text.
    ///
    /// # Errors
    /// `42601`.
    pub fn of(text: &'a str) -> Result<Words<'a>> {
        let dialect = PostgreSqlDialect {};
        let tokens = Tokenizer::new(&dialect, text)
            .tokenize_with_location()
            .map_err(|e| SqlError::new(state::SYNTAX, e.to_string()))?;
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let offset = |line: u64, column: u64| {
            let from = starts.get((line as usize).saturating_sub(1)).copied().unwrap_or(text.len());
            let skip = (column as usize).saturating_sub(1);
            text[from..].char_indices().nth(skip).map_or(text.len(), |(at, _)| from + at)
        };
        let tokens = tokens
            .into_iter()
            .filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF))
            .map(|t| {
                let (start, end) = (t.span.start, t.span.end);
                let range = offset(start.line, start.column)..offset(end.line, end.column);
                (t.token, range)
            })
            .collect();
        Ok(Words { text, tokens, at: 0 })
    }

    /// The next token.
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    fn word_at(&self, at: usize) -> Option<&str> {
        match &self.tokens.get(at)?.0 {
            Token::Word(Word { value, quote_style: None, .. }) => Some(value),
            _ => None,
        }
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
        let found = match self.peek() {
            Some(Token::Word(Word { value, quote_style: None, .. })) => Some(value.to_lowercase()),
            Some(Token::Word(Word { value, .. })) => Some(value.clone()),
            _ => None,
        };
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
        let found = match self.peek()? {
            Token::SingleQuotedString(s)
            | Token::EscapedStringLiteral(s)
            | Token::NationalStringLiteral(s) => s.clone(),
            Token::DollarQuotedString(s) => s.value.clone(),
            _ => return None,
        };
        self.at += 1;
        Some(found)
    }

    /// Reads an integer with its sign, if one comes next.
    pub fn integer(&mut self) -> Option<i64> {
        let sign = match self.peek()? {
            Token::Minus => "-",
            Token::Plus => "+",
            _ => "",
        };
        match &self.tokens.get(self.at + sign.len())?.0 {
            Token::Number(n, _) => {
                let n = format!("{sign}{n}").parse().ok()?;
                self.at += 1 + sign.len();
                Some(n)
            }
            _ => None,
        }
    }

    /// Reads a number with its sign as text, if one comes next.
    pub fn number(&mut self) -> Option<String> {
        let sign = if self.peek()? == &Token::Minus { "-" } else { "" };
        match &self.tokens.get(self.at + sign.len())?.0 {
            Token::Number(n, _) => {
                let n = format!("{sign}{n}");
                self.at += 1 + sign.len();
                Some(n)
            }
            _ => None,
        }
    }

    /// Reads what is in parentheses, as it was written.
    ///
    /// # Errors
    /// `42601`: no opening parenthesis comes, or none closes it.
    pub fn parenthesized(&mut self) -> Result<&'a str> {
        if self.peek() != Some(&Token::LParen) {
            return Err(self.error());
        }
        let from = self.tokens[self.at].1.end;
        let mut depth = 0;
        while let Some((token, range)) = self.tokens.get(self.at) {
            self.at += 1;
            match token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(&self.text[from..range.start]);
            }
        }
        Err(self.error())
    }

    /// What is left, in pieces between commas, as it was written.
    pub fn pieces(&mut self) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut from = self.tokens.get(self.at).map_or(self.text.len(), |t| t.1.start);
        let mut depth = 0;
        for (token, range) in &self.tokens[self.at.min(self.tokens.len())..] {
            match token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth -= 1,
                Token::Comma if depth == 0 => {
                    pieces.push(&self.text[from..range.start]);
                    from = range.end;
                }
                _ => {}
            }
        }
        pieces.push(&self.text[from..]);
        self.at = self.tokens.len();
        pieces
    }

    /// Where the next token stands in the text.
    pub fn next_range(&self) -> Option<Range<usize>> {
        self.tokens.get(self.at).map(|token| token.1.clone())
    }

    /// Leaves out a token.
    pub fn skip(&mut self) {
        self.at += 1;
    }

    /// What is left, as it was written.
    pub fn rest(&mut self) -> &'a str {
        let from = self.tokens.get(self.at).map_or(self.text.len(), |t| t.1.start);
        self.at = self.tokens.len();
        &self.text[from..]
    }

    /// Whether everything was read.
    pub fn is_end(&self) -> bool {
        self.at >= self.tokens.len()
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
        match self.tokens.get(self.at) {
            Some((_, range)) => {
                let near = &self.text[range.clone()];
                let position = self.text[..range.start].chars().count() + 1;
                let text = format!("syntax error at or near \"{near}\"");
                SqlError::new(state::SYNTAX, text).at(position)
            }
            None => SqlError::new(state::SYNTAX, "syntax error at end of input"),
        }
    }
}
