//! From a text to tokens, by PostgreSQL's lexical rules; `standard_conforming_strings` is on unless that is said.
//!
//! The whole text is scanned before it is parsed. Where it breaks a rule a token [`Kind::Bad`] ends the list, so that
//! an error of syntax before that place is told first, as PostgreSQL tells it.

use super::escapes;
use super::keyword::Keyword;
use super::token::{Kind, NO_VALUE, Token};
use crate::{Error, Result};

/// Bytes of a name, with PostgreSQL's ending zero; longer ones are cut.
const NAME_BYTES: usize = 64;

/// The tokens of a text; the last is [`Kind::Bad`] or [`Kind::End`].
#[derive(Debug)]
pub struct Tokens<'a> {
    /// The text.
    pub text: &'a str,
    /// In their order.
    pub all: Vec<Token>,
    values: Vec<Box<str>>,
    /// What [`Kind::Bad`] stands for.
    pub error: Option<Error>,
    /// Plain literals with a backslash that is an escape: where each begins, and the byte behind its first backslash.
    pub escapes: Vec<(u32, u8)>,
    /// Where the first literal begins in which a backslash stands before a quote.
    pub quote: Option<u32>,
}

impl<'a> Tokens<'a> {
    /// Scans a text of less than 4 GiB.
    pub fn of(text: &'a str) -> Tokens<'a> {
        Tokens::scanned(text, true)
    }

    /// Scans one with `standard_conforming_strings` off: backslashes are escapes in plain literals, too.
    pub fn of_escapes(text: &'a str) -> Tokens<'a> {
        Tokens::scanned(text, false)
    }

    fn scanned(text: &'a str, is_standard: bool) -> Tokens<'a> {
        let all = Vec::with_capacity(text.len() / 5 + 2);
        let (values, escapes) = (Vec::new(), Vec::new());
        let tokens = Tokens { text, all, values, error: None, escapes, quote: None };
        let mut scanner = Scanner { tokens, bytes: text.as_bytes(), at: 0, is_standard };
        scanner.run();
        scanner.tokens
    }

    /// The value of a name, of a literal or of a number, or an operator's name.
    pub fn value(&self, token: Token) -> &str {
        match token.value {
            NO_VALUE => &self.text[token.start as usize..token.end as usize],
            at => &self.values[at as usize],
        }
    }
}

struct Scanner<'a> {
    tokens: Tokens<'a>,
    bytes: &'a [u8],
    at: usize,
    /// Whether backslashes are themselves in plain literals.
    is_standard: bool,
}

impl Scanner<'_> {
    fn run(&mut self) {
        loop {
            match self.space().and_then(|()| self.token()) {
                Ok(true) => {}
                Ok(false) => return,
                Err(e) => {
                    self.push(Kind::Bad, self.at);
                    self.tokens.error = Some(e);
                    return;
                }
            }
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// An error about what stands from one place to another.
    fn error(&self, message: &str, from: usize, to: usize) -> Error {
        error(self.tokens.text, message, from, to)
    }

    /// Skips blanks and comments.
    fn space(&mut self) -> Result<()> {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0c => self.at += 1,
                b'-' if self.peek(1) == b'-' => self.line_comment(),
                b'/' if self.peek(1) == b'*' => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn line_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len());
    }

    fn comment(&mut self) -> Result<()> {
        let start = self.at;
        let mut depth = 0;
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => (depth, self.at) = (depth + 1, self.at + 2),
                (b'*', b'/') => {
                    (depth, self.at) = (depth - 1, self.at + 2);
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.at += 1,
            }
        }
        Err(self.error("unterminated /* comment", start, self.at))
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.push_value(kind, start, NO_VALUE);
    }

    fn push_value(&mut self, kind: Kind, start: usize, value: u32) {
        if let (Kind::Word(word), Some(last)) = (kind, self.tokens.all.last_mut()) {
            last.kind = before(last.kind, word);
        }
        self.tokens.all.push(Token { kind, start: start as u32, end: self.at as u32, value });
    }

    fn keep(&mut self, kind: Kind, start: usize, value: impl Into<Box<str>>) {
        let at = self.tokens.values.len() as u32;
        self.tokens.values.push(value.into());
        self.push_value(kind, start, at);
    }

    /// Scans one token; false at the end.
    fn token(&mut self) -> Result<bool> {
        let start = self.at;
        let Some(&first) = self.bytes.get(start) else {
            self.push(Kind::End, start);
            return Ok(false);
        };
        match (first, self.peek(1), self.peek(2)) {
            (b'\'', ..) if !self.is_standard => self.escaped(0)?,
            (b'\'', ..) => self.literal(Kind::Text, 0, "unterminated quoted string")?,
            (b'b' | b'B', b'\'', _) => {
                self.literal(Kind::Bits, 1, "unterminated bit string literal")?;
            }
            (b'x' | b'X', b'\'', _) => {
                self.literal(Kind::Hex, 1, "unterminated hexadecimal string literal")?;
            }
            (b'e' | b'E', b'\'', _) => self.escaped(1)?,
            (b'n' | b'N', b'\'', _) => {
                self.at += 1;
                self.push(Kind::Word(Keyword::Nchar), start);
            }
            (b'u' | b'U', b'&', b'\'') if !self.is_standard => return Err(unsafe_text(start)),
            (b'u' | b'U', b'&', b'\'' | b'"') => self.unicode()?,
            (b'"', ..) => {
                let name = self.quoted_name(1)?;
                self.keep(Kind::Name, start, cut(&name));
            }
            (b'$', b'0'..=b'9', _) => self.param()?,
            (b'$', ..) => self.dollar()?,
            (b'0'..=b'9', ..) | (b'.', b'0'..=b'9', _) => self.number()?,
            _ if is_name_start(first) => self.name(),
            _ => self.sign(first)?,
        }
        Ok(true)
    }

    /// The inner text of what stands in quotes from here on, in several pieces where a line's end is between them.
    fn quoted(&mut self, start: usize, message: &str) -> Result<String> {
        let mut value = String::new();
        self.at += 1;
        loop {
            let Some(length) = self.bytes[self.at..].iter().position(|b| *b == b'\'') else {
                return Err(self.error(message, start, self.bytes.len()));
            };
            value.push_str(&self.tokens.text[self.at..self.at + length]);
            self.at += length + 1;
            if self.peek(0) == b'\'' {
                value.push('\'');
                self.at += 1;
            } else if !self.continues() {
                return Ok(value);
            }
        }
    }

    /// Whether a literal goes on behind a line's end, in another quote, which is passed then.
    fn continues(&mut self) -> bool {
        let from = self.at;
        let mut lines = false;
        loop {
            match self.peek(0) {
                b'\n' | b'\r' => (lines, self.at) = (true, self.at + 1),
                b' ' | b'\t' | 0x0c => self.at += 1,
                b'-' if self.peek(1) == b'-' => self.line_comment(),
                b'\'' if lines => {
                    self.at += 1;
                    return true;
                }
                _ => {
                    self.at = from;
                    return false;
                }
            }
        }
    }

    fn literal(&mut self, kind: Kind, prefix: usize, message: &str) -> Result<()> {
        let start = self.at;
        self.at += prefix;
        let value = self.quoted(start, message)?;
        self.keep(kind, start, value);
        Ok(())
    }

    /// `E'…'`, or `'…'` where that is the same.
    fn escaped(&mut self, prefix: usize) -> Result<()> {
        let start = self.at;
        self.at += prefix + 1;
        let mut is_noted = prefix > 0;
        let mut value = Vec::new();
        loop {
            match self.peek(0) {
                _ if self.at >= self.bytes.len() => {
                    return Err(self.error("unterminated quoted string", start, self.at));
                }
                b'\'' if self.peek(1) == b'\'' => {
                    value.push(b'\'');
                    self.at += 2;
                }
                b'\'' => {
                    self.at += 1;
                    if !self.continues() {
                        break;
                    }
                }
                b'\\' => {
                    let is_last = self.at + 1 == self.bytes.len();
                    if !is_last && !std::mem::replace(&mut is_noted, true) {
                        self.tokens.escapes.push((start as u32, self.peek(1)));
                    }
                    if self.peek(1) == b'\'' {
                        self.tokens.quote.get_or_insert(start as u32);
                    }
                    self.at = escapes::backslash(self.tokens.text, self.at, &mut value)?;
                }
                byte => {
                    value.push(byte);
                    self.at += 1;
                }
            }
        }
        let value = escapes::text(value)?;
        self.keep(Kind::Text, start, value);
        Ok(())
    }

    /// `U&'…'` or `U&"…"`, with UESCAPE where that follows.
    fn unicode(&mut self) -> Result<()> {
        let start = self.at;
        let is_name = self.peek(2) == b'"';
        self.at += 2;
        let raw = match is_name {
            true => {
                self.at = start;
                self.quoted_name(3)?
            }
            false => self.quoted(start, "unterminated quoted string")?,
        };
        let escape = self.uescape()?;
        let value = escapes::unicode(&raw, escape, start as u32 + 3)?;
        match is_name {
            true => self.keep(Kind::Name, start, cut(&value)),
            false => self.keep(Kind::Text, start, value),
        }
        Ok(())
    }

    /// The character that UESCAPE names, or the usual one.
    fn uescape(&mut self) -> Result<char> {
        let end = self.at;
        self.space()?;
        let word = self.name_end(self.at);
        if !self.tokens.text[self.at..word].eq_ignore_ascii_case("uescape") {
            self.at = end;
            return Ok('\\');
        }
        self.at = word;
        self.space()?;
        self.token()?;
        let token = self.tokens.all.pop().expect("it was just scanned");
        let (from, to) = (token.start as usize, token.end as usize);
        if token.kind != Kind::Text {
            let message = "UESCAPE must be followed by a simple string literal";
            return Err(self.error(message, from, to));
        }
        let mut chars = self.tokens.value(token).chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) if c.is_ascii() && !is_no_escape(c) => Ok(c),
            _ => Err(self.error("invalid Unicode escape character", from, to)),
        }
    }

    /// A name in quotes, after a prefix that ends with the first of them.
    fn quoted_name(&mut self, prefix: usize) -> Result<String> {
        let start = self.at;
        self.at += prefix;
        let mut name = String::new();
        loop {
            let Some(length) = self.bytes[self.at..].iter().position(|b| *b == b'"') else {
                let message = "unterminated quoted identifier";
                return Err(self.error(message, start, self.bytes.len()));
            };
            name.push_str(&self.tokens.text[self.at..self.at + length]);
            self.at += length + 1;
            if self.peek(0) != b'"' {
                break;
            }
            name.push('"');
            self.at += 1;
        }
        match name.is_empty() {
            true => Err(self.error("zero-length delimited identifier", start, self.at)),
            false => Ok(name),
        }
    }

    fn name_end(&self, from: usize) -> usize {
        let rest = &self.bytes[from..];
        from + rest.iter().position(|b| !is_name_part(*b)).unwrap_or(rest.len())
    }

    fn name(&mut self) {
        let start = self.at;
        self.at = self.name_end(start);
        let word = &self.tokens.text[start..self.at];
        let mut lower = [0; 24];
        let folded = match lower.get_mut(..word.len()) {
            Some(buffer) => {
                buffer.copy_from_slice(word.as_bytes());
                buffer.make_ascii_lowercase();
                std::str::from_utf8(buffer).ok().and_then(Keyword::of)
            }
            // No keyword is as long.
            None => None,
        };
        if let Some(keyword) = folded {
            return self.push(Kind::Word(keyword), start);
        }
        if word.len() < NAME_BYTES && !word.bytes().any(|b| b.is_ascii_uppercase()) {
            return self.push(Kind::Name, start);
        }
        let name = cut(&word.to_ascii_lowercase());
        self.keep(Kind::Name, start, name);
    }

    fn param(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
        if is_name_start(self.peek(0)) {
            self.at = self.name_end(self.at);
            return Err(self.error("trailing junk after parameter", start, self.at));
        }
        let number = self.tokens.text[start + 1..self.at].parse::<i64>().unwrap_or(i64::MAX);
        // PostgreSQL keeps the lower 32 bits.
        self.push(Kind::Param(number as i32), start);
        Ok(())
    }

    /// `$tag$ … $tag$`.
    fn dollar(&mut self) -> Result<()> {
        let start = self.at;
        let after = self.bytes.get(start + 1).copied().unwrap_or(0);
        let tag = if is_name_start(after) {
            let rest = &self.bytes[start + 1..];
            let end = rest.iter().position(|b| !is_name_part(*b) || *b == b'$');
            start + 1 + end.unwrap_or(rest.len())
        } else {
            start + 1
        };
        if self.bytes.get(tag) != Some(&b'$') {
            self.at += 1;
            self.push(Kind::Char('$'), start);
            return Ok(());
        }
        let (delimiter, from) = (&self.tokens.text[start..=tag], tag + 1);
        match self.tokens.text[from..].find(delimiter) {
            Some(length) => {
                self.at = from + length + delimiter.len();
                let value: Box<str> = self.tokens.text[from..from + length].into();
                self.keep(Kind::Text, start, value);
                Ok(())
            }
            None => Err(self.error("unterminated dollar-quoted string", start, self.bytes.len())),
        }
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<()> {
        let start = self.at;
        let mut is_whole = true;
        self.digits();
        if self.peek(0) == b'.' && !(self.at > start && self.peek(1) == b'.') {
            is_whole = false;
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let signed = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + signed).is_ascii_digit() {
                is_whole = false;
                self.at += 1 + signed;
                self.digits();
            } else if signed == 1 {
                self.at += 2;
                return Err(self.error("trailing junk after numeric literal", start, self.at));
            }
        }
        if is_name_start(self.peek(0)) {
            self.at = self.name_end(self.at);
            return Err(self.error("trailing junk after numeric literal", start, self.at));
        }
        match self.tokens.text[start..self.at].parse() {
            Ok(number) if is_whole => self.push(Kind::Int(number), start),
            _ => self.push(Kind::Number, start),
        }
        Ok(())
    }

    /// An operator, or a character that stands for itself.
    fn sign(&mut self, first: u8) -> Result<()> {
        let start = self.at;
        let two = match (first, self.peek(1)) {
            (b':', b':') => Some(Kind::Typecast),
            (b':', b'=') => Some(Kind::ColonEquals),
            (b'.', b'.') => Some(Kind::DotDot),
            _ => None,
        };
        if let Some(kind) = two {
            self.at += 2;
            self.push(kind, start);
            return Ok(());
        }
        if !is_operator(first) {
            self.at += 1;
            self.push(Kind::Char(first as char), start);
            return Ok(());
        }
        let rest = &self.bytes[start..];
        let length = rest.iter().position(|b| !is_operator(*b)).unwrap_or(rest.len());
        let mut name = &rest[..length];
        if let Some(at) = name.windows(2).position(|pair| matches!(pair, b"/*" | b"--")) {
            name = &name[..at];
        }
        // `a*-b` is two operators; only what SQL's own operators cannot be made of may end with a sign.
        if !name.iter().any(|b| b"~!@#^&|`?%".contains(b)) {
            while name.len() > 1 && matches!(name.last(), Some(b'+' | b'-')) {
                name = &name[..name.len() - 1];
            }
        }
        self.at += name.len();
        let kind = match name {
            b"=>" => Kind::EqualsGreater,
            b">=" => Kind::GreaterEquals,
            b"<=" => Kind::LessEquals,
            b"<>" | b"!=" => Kind::NotEquals,
            [one] if b"+-*/%^<>=".contains(one) => Kind::Char(*one as char),
            _ if name.len() >= NAME_BYTES => {
                return Err(self.error("operator too long", start, self.at));
            }
            _ => Kind::Op,
        };
        self.push(kind, start);
        Ok(())
    }
}

/// An error about what stands from one place of a text to another, worded as PostgreSQL's scanner words it.
pub(super) fn error(text: &str, message: &str, from: usize, to: usize) -> Error {
    let message = match text.get(from..to) {
        None | Some("") => format!("{message} at end of input"),
        Some(near) => format!("{message} at or near \"{near}\""),
    };
    Error::new("42601", message).at(from as u32)
}

fn unsafe_text(at: usize) -> Error {
    let detail = "String constants with Unicode escapes cannot be used when \
                  standard_conforming_strings is off.";
    let error = Error::new("0A000", "unsafe use of string constant with Unicode escapes");
    Error { detail: Some(detail.to_owned()), ..error.at(at as u32) }
}

/// What a token is when a keyword follows it.
fn before(kind: Kind, next: Keyword) -> Kind {
    use Keyword::{Between, First, Ilike, In, Last, Like, Ordinality, Similar, Time};
    match (kind, next) {
        (Kind::Word(Keyword::Not), Between | In | Like | Ilike | Similar) => Kind::NotBefore,
        (Kind::Word(Keyword::Nulls), First | Last) => Kind::NullsBefore,
        (Kind::Word(Keyword::With), Time | Ordinality) => Kind::WithBefore,
        _ => kind,
    }
}

/// A name of at most 63 bytes.
fn cut(name: &str) -> Box<str> {
    name[..name.floor_char_boundary(NAME_BYTES - 1)].into()
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_name_part(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

fn is_operator(byte: u8) -> bool {
    b"~!@#^&|`?+-*/%<>=".contains(&byte)
}

/// Whether UESCAPE may not name a character.
fn is_no_escape(c: char) -> bool {
    c.is_ascii_hexdigit() || matches!(c, '+' | '\'' | '"' | ' ' | '\t' | '\n' | '\r' | '\u{c}')
}
