//! How is the text of a tsvector read and written, and how a word of one?
//!
//! Words in the text of a tsquery are read here, too. Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::vector::{
    ALL_BYTES, Entry, LAST, PLACES, Rest, WORD_BYTES, entries, made, place, position, settled,
    too_long, weight, weight_of,
};
use crate::Cx;
use crate::misc::growth::Growth;

/// Whose words are read: what ends a word, and what quotes and backslashes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Vector,
    Query,
    /// A query as people type it: quotes and backslashes are letters.
    Typed,
}

/// Reads words one behind the other.
#[derive(Debug)]
pub(super) struct Words<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    of: Of,
    places: Vec<u16>,
}

/// Spaces of collation C.
pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// What joins words of a query.
pub(super) fn is_operator(byte: u8) -> bool {
    matches!(byte, b'!' | b'&' | b'|' | b'(' | b')' | b'<')
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str, of: Of) -> Words<'a> {
        Words { text, at: 0, of, places: Vec::new() }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, into: &mut String) {
        let c = self.text[self.at..].chars().next().expect("there is a character");
        into.push(c);
        self.at += c.len_utf8();
    }

    fn syntax(&self) -> Error {
        let what = if self.of == Of::Vector { "tsvector" } else { "tsquery" };
        Error::new("42601", format!("syntax error in {what}: \"{}\"", self.text))
    }

    /// What ends a word that has no quotes around it.
    fn is_end(&self, byte: u8) -> bool {
        is_space(byte)
            || self.of != Of::Vector && is_operator(byte)
            || self.of == Of::Typed && byte == b'"'
    }

    /// The next word; `None` at the end. What follows a word of a query is left.
    ///
    /// # Errors
    /// `42601`
    pub(super) fn next(&mut self) -> Result<Option<String>> {
        self.places.clear();
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        let mut word = String::new();
        match self.peek() {
            None => return Ok(None),
            Some(b'\'') if self.of != Of::Typed => {
                self.at += 1;
                self.quoted(&mut word)?;
            }
            Some(byte) if self.is_end(byte) => return Err(self.syntax()),
            Some(byte) => {
                // It is one of the word, whatever else it means.
                if byte == b'\\' && self.of != Of::Typed {
                    self.escaped(&mut word)?;
                } else {
                    self.take(&mut word);
                }
                self.plain(&mut word)?;
            }
        }
        if word.is_empty() {
            return Err(self.syntax());
        }
        if self.of == Of::Vector && self.peek() == Some(b':') {
            self.at += 1;
            self.read_places()?;
        }
        Ok(Some(word))
    }

    /// A backslash and what it stands before.
    fn escaped(&mut self, word: &mut String) -> Result<()> {
        self.at += 1;
        if self.peek().is_none() {
            let text = format!("there is no escaped character: \"{}\"", self.text);
            return Err(Error::new("42601", text));
        }
        self.take(word);
        Ok(())
    }

    fn plain(&mut self, word: &mut String) -> Result<()> {
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' if self.of != Of::Typed => self.escaped(word)?,
                b':' => break,
                byte if self.is_end(byte) => break,
                _ => self.take(word),
            }
        }
        Ok(())
    }

    /// Up to the quote that is not doubled.
    fn quoted(&mut self, word: &mut String) -> Result<()> {
        loop {
            match self.peek() {
                None => return Err(self.syntax()),
                Some(b'\\') => self.escaped(word)?,
                Some(b'\'') => {
                    self.at += 1;
                    if self.peek() != Some(b'\'') {
                        return Ok(());
                    }
                    self.take(word);
                }
                Some(_) => self.take(word),
            }
        }
    }

    /// Positions with weights, commas between them.
    fn read_places(&mut self) -> Result<()> {
        loop {
            let digits = &self.text.as_bytes()[self.at..];
            let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if length == 0 {
                return Err(self.syntax());
            }
            let number = number(&digits[..length]);
            if number == 0 {
                let text = format!("wrong position info in tsvector: \"{}\"", self.text);
                return Err(Error::new("42601", text));
            }
            self.at += length;
            let weight = self.read_weight()?;
            self.places.push(place(number, weight));
            if self.peek() != Some(b',') {
                return Ok(());
            }
            self.at += 1;
        }
    }

    /// The weight behind a position, up to what ends it. Digits may follow.
    fn read_weight(&mut self) -> Result<u8> {
        let mut weight = 0;
        while let Some(byte) = self.peek() {
            match byte {
                b',' => break,
                byte if is_space(byte) => break,
                byte if byte.is_ascii_digit() => {}
                byte => {
                    let said = if byte == b'*' { Some(3) } else { weight_of(byte) };
                    let Some(said) = said.filter(|_| weight == 0) else {
                        return Err(self.syntax());
                    };
                    weight = said;
                }
            }
            self.at += 1;
        }
        Ok(weight)
    }
}

/// The position that digits are, as C reads them: what is too large for 32 bits loses its higher ones.
fn number(digits: &[u8]) -> u16 {
    let add = |sum: i64, byte: &u8| sum.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
    let number = digits.iter().fold(0, add) as i32;
    if number > i32::from(LAST) { LAST } else { number as u16 & LAST }
}

/// Reads a text.
///
/// # Errors
/// `42601`, `54000`, `53200`, `57014`
pub(crate) fn parse(text: &str, cx: &Cx<'_>) -> Result<Vec<u8>> {
    cx.worked(text.len())?;
    let mut words = Words::new(text, Of::Vector);
    let mut found: Vec<(String, Vec<u16>)> = Vec::new();
    let (mut sum, mut growth) = (0, Growth::new());
    while let Some(word) = words.next()? {
        if found.len().is_multiple_of(1024) {
            cx.go_on()?;
            growth.memory(cx, found.len() * 2 * size_of::<(String, Vec<u16>)>() + 3 * words.at)?;
        }
        if word.len() >= WORD_BYTES {
            let text =
                format!("word is too long ({} bytes, max {} bytes)", word.len(), WORD_BYTES - 1);
            return Err(Error::new("54000", text));
        }
        if sum > ALL_BYTES {
            return Err(too_long(sum));
        }
        sum += word.len();
        let mut places = std::mem::take(&mut words.places);
        if places.len() > PLACES {
            settled(&mut places);
        }
        found.push((word, places));
    }
    made(found.iter_mut().map(|(word, places)| (&**word, std::mem::take(places))).collect())
}

/// Writes a word in quotes.
pub(super) fn quote(word: &str, out: &mut String) {
    out.push('\'');
    for c in word.chars() {
        if matches!(c, '\'' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('\'');
}

/// Writes a value.
///
/// # Errors
/// `57014`
pub(crate) fn print(bytes: &[u8], cx: &Cx<'_>, out: &mut String) -> Result<()> {
    for (at, entry) in entries(bytes).iter().enumerate() {
        cx.worked(entry.word.len() + 2 * entry.len())?;
        out.push_str(if at > 0 { " " } else { "" });
        quote(entry.word, out);
        print_places(entry, out);
    }
    Ok(())
}

fn print_places(entry: &Entry<'_>, out: &mut String) {
    for (at, place) in entry.places().enumerate() {
        out.push(if at > 0 { ',' } else { ':' });
        out.push_str(&position(place).to_string());
        out.push_str(["", "C", "B", "A"][usize::from(weight(place))]);
    }
}

/// Reads the binary form.
///
/// # Errors
/// `08P01`, `22021`, `22P03`, `XX000`, `54000`, `53200`, `57014`
pub(crate) fn recv(bytes: &[u8], cx: &Cx<'_>) -> Result<Vec<u8>> {
    let short = || Error::new("08P01", "insufficient data left in message");
    let mut rest = Rest(bytes);
    let count = rest.u32().ok_or_else(short)?;
    // PostgreSQL takes no memory for more.
    if count > 0x3fff_ffff / 4 {
        return Err(Error::internal("invalid size of tsvector"));
    }
    let mut words: Vec<(&str, Vec<u16>)> = Vec::new();
    let (mut sum, mut growth) = (0, Growth::new());
    for at in 0..count {
        if at % 1024 == 0 {
            cx.go_on()?;
            growth.memory(cx, words.len() * 2 * size_of::<(&str, Vec<u16>)>())?;
        }
        let word = rest.text().ok_or_else(short)??;
        if word.len() > WORD_BYTES {
            return Err(Error::internal("invalid tsvector: lexeme too long"));
        }
        if sum > ALL_BYTES {
            let text = "invalid tsvector: maximum total lexeme length exceeded";
            return Err(Error::internal(text));
        }
        sum += word.len();
        let length = rest.u16().ok_or_else(short)?;
        if usize::from(length) > PLACES {
            return Err(Error::internal("unexpected number of tsvector positions"));
        }
        let mut places = Vec::with_capacity(usize::from(length));
        for _ in 0..length {
            let next = rest.u16().ok_or_else(short)?;
            if places.last().is_some_and(|last| position(next) <= position(*last)) {
                return Err(Error::internal("position information is misordered"));
            }
            places.push(next);
        }
        words.push((word, places));
    }
    match rest.0.is_empty() {
        true => made(words),
        false => Err(Error::new("22P03", "incorrect binary data format")),
    }
}
