//! What does a text of JSON say?
//!
//! Values keep the piece of text that they came from, for json is given back as it was written; numbers
//! are never read as floats. [`normal`] is the form in which PostgreSQL shows jsonb.

use onlap::{DataType, Value, convert};

use crate::error::{Result, SqlError, state};

/// Arrays and objects may be nested so deep: what a thread's stack bears with ease.
const DEPTH: usize = 400;

/// A value and the text that it was read from.
#[derive(Debug)]
pub struct Json<'a> {
    /// Its text, without blanks around it.
    pub source: &'a str,
    /// What it is.
    pub kind: Kind<'a>,
}

/// Kinds of values.
#[derive(Debug)]
pub enum Kind<'a> {
    /// null
    Null,
    /// true, false
    Bool,
    /// a number, which is its text
    Number,
    /// a text without escapes
    Text(String),
    /// an array
    Array(Vec<Json<'a>>),
    /// an object, in the order of its text, with repeated names
    Object(Vec<(String, Json<'a>)>),
}

/// Reads a text.
///
/// # Errors
/// It is no JSON.
pub fn read(text: &str) -> Result<Json<'_>> {
    Reader { text, at: 0, keeps: true }.whole()
}

/// Reads a text, and keeps nothing of what it says: a tree takes a hundred times as much as a text of short numbers.
///
/// # Errors
/// It is no JSON.
pub fn check(text: &str) -> Result<()> {
    Reader { text, at: 0, keeps: false }.whole().map(drop)
}

/// Bytes that [`read`] takes for a text, at most: a part for each sign that begins a value, in a list that has grown by
/// doubling, and the texts.
pub fn tree_bytes(text: &str) -> u64 {
    const PART: u64 = 2 * size_of::<(String, Json<'_>)>() as u64;
    let parts = text.bytes().filter(|b| matches!(b, b',' | b'[' | b'{')).count() as u64;
    parts.saturating_mul(PART).saturating_add(text.len() as u64)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Whether what arrays and objects have is kept.
    keeps: bool,
}

impl<'a> Reader<'a> {
    fn whole(mut self) -> Result<Json<'a>> {
        let value = self.value(0)?;
        self.blanks();
        if self.at < self.text.len() { Err(self.wrong()) } else { Ok(value) }
    }
    fn wrong(&self) -> SqlError {
        SqlError::new(state::BAD_TEXT, "invalid input syntax for type json")
    }
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
    /// Goes over this byte, if it comes after blanks.
    fn accept(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }
    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.accept(byte) { Ok(()) } else { Err(self.wrong()) }
    }
    fn value(&mut self, depth: usize) -> Result<Json<'a>> {
        if depth > DEPTH {
            return Err(SqlError::new("54001", format!("JSON is nested more than {DEPTH} deep")));
        }
        self.blanks();
        let from = self.at;
        let kind = match self.peek().ok_or_else(|| self.wrong())? {
            b'{' => self.object(depth)?,
            b'[' => self.array(depth)?,
            b'"' => Kind::Text(self.string()?),
            b'-' | b'0'..=b'9' => self.number()?,
            _ => self.word()?,
        };
        Ok(Json { source: &self.text[from..self.at], kind })
    }
    fn object(&mut self, depth: usize) -> Result<Kind<'a>> {
        self.at += 1;
        let mut fields = Vec::new();
        if self.accept(b'}') {
            return Ok(Kind::Object(fields));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.wrong());
            }
            let name = self.string()?;
            self.expect(b':')?;
            let value = self.value(depth + 1)?;
            if self.keeps {
                fields.push((name, value));
            }
            if !self.accept(b',') {
                self.expect(b'}')?;
                return Ok(Kind::Object(fields));
            }
        }
    }
    fn array(&mut self, depth: usize) -> Result<Kind<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        if self.accept(b']') {
            return Ok(Kind::Array(items));
        }
        loop {
            let value = self.value(depth + 1)?;
            if self.keeps {
                items.push(value);
            }
            if !self.accept(b',') {
                self.expect(b']')?;
                return Ok(Kind::Array(items));
            }
        }
    }
    fn digits(&mut self) -> Result<()> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(self.wrong()) }
    }
    fn number(&mut self) -> Result<Kind<'a>> {
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        match self.peek() {
            Some(b) if b.is_ascii_alphanumeric() => Err(self.wrong()),
            _ => Ok(Kind::Number),
        }
    }
    fn word(&mut self) -> Result<Kind<'a>> {
        for (word, kind) in [("null", Kind::Null), ("true", Kind::Bool), ("false", Kind::Bool)] {
            if let Some(rest) = self.text[self.at..].strip_prefix(word)
                && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            {
                self.at += word.len();
                return Ok(kind);
            }
        }
        Err(self.wrong())
    }
    fn string(&mut self) -> Result<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let c = self.text[self.at..].chars().next().ok_or_else(|| self.wrong())?;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => {
                    let escape = self.peek().ok_or_else(|| self.wrong())?;
                    self.at += 1;
                    out.push(match escape {
                        b'"' => '"',
                        b'\\' => '\\',
                        b'/' => '/',
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => self.code()?,
                        _ => return Err(self.wrong()),
                    });
                }
                c if c < ' ' => return Err(self.wrong()),
                c => out.push(c),
            }
        }
    }
    fn hex(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).ok_or_else(|| self.wrong())?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(self.wrong());
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.wrong())
    }
    /// A character given by its number, or by two surrogates.
    fn code(&mut self) -> Result<char> {
        let mut code = self.hex()?;
        if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.hex()?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(self.wrong());
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        char::from_u32(code).filter(|c| *c != '\0').ok_or_else(|| self.wrong())
    }
}

/// Appends a text as JSON has it.
pub fn push_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Appends the form of jsonb: names by length and bytes, the last of equal ones, one blank after `:` and `,`.
pub fn normal(value: &Json<'_>, out: &mut String) {
    match &value.kind {
        Kind::Null | Kind::Bool => out.push_str(value.source),
        Kind::Number => push_number(value.source, out),
        Kind::Text(text) => push_string(text, out),
        Kind::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                normal(item, out);
            }
            out.push(']');
        }
        Kind::Object(fields) => {
            let mut sorted: Vec<&(String, Json<'_>)> = fields.iter().rev().collect();
            sorted.sort_by(|a, b| (a.0.len(), &a.0).cmp(&(b.0.len(), &b.0)));
            sorted.dedup_by(|later, first| later.0 == first.0);
            out.push('{');
            for (i, (name, value)) in sorted.into_iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                push_string(name, out);
                out.push_str(": ");
                normal(value, out);
            }
            out.push('}');
        }
    }
}

/// A number without an exponent, as numeric shows it.
fn push_number(source: &str, out: &mut String) {
    let plain = match convert::parse_text(DataType::Numeric(None), source) {
        Ok(value @ Value::Numeric(_)) => {
            let mut text = String::new();
            convert::format_text(DataType::Numeric(None), &value, &mut text);
            Some(text)
        }
        _ => None,
    };
    out.push_str(plain.as_deref().unwrap_or(source));
}
