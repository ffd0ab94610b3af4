//! Which texts are JSON, and what is in them?
//!
//! A [`Reader`] gives what it meets, one [`Event`] after the other, with the place in the text; it keeps what is open on the
//! heap, so that depth costs no stack. Messages and details are PostgreSQL's.
//! Thread safety: plain data.

use std::borrow::Cow;

use onlap_pg::{Error, Result, worked};

use super::form::{MAX_DEPTH, too_deep};

/// What stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    /// A string: what it means if the reader was asked to, else what stands between the quotes.
    Text(Cow<'a, str>),
    /// A key, likewise.
    Key(Cow<'a, str>),
    BeginArray,
    EndArray,
    BeginObject,
    EndObject,
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// The value that the text is.
    Whole,
    /// Nothing.
    End,
    /// After `[`.
    First,
    /// After an element.
    Next,
    /// After a comma.
    Element,
    /// After `{`.
    FirstPair,
    /// After a pair.
    NextPair,
    /// After a comma.
    Pair,
    /// After a key.
    Value,
}

/// A token that is none of these is an error of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Punctuation(u8),
    Text,
    Number,
    Word,
    End,
}

/// Reads a text.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    /// Where the last event begins and where it ends.
    start: usize,
    at: usize,
    /// Of what is open, whether it is an object.
    open: Vec<bool>,
    wanted: Wanted,
    unescape: bool,
}

/// White space of JSON.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// What belongs to a word that is no JSON.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn invalid(detail: String) -> Error {
    Error::new("22P02", "invalid input syntax for type json").detail(detail)
}

impl<'a> Reader<'a> {
    /// Reads a text; strings are turned into what they mean, or only looked at.
    pub(crate) fn new(text: &'a str, unescape: bool) -> Reader<'a> {
        Reader { text, start: 0, at: 0, open: Vec::new(), wanted: Wanted::Whole, unescape }
    }

    /// Where the last event begins.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Where the last event ends.
    pub(crate) fn end(&self) -> usize {
        self.at
    }

    /// How many containers are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// What comes next; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Event<'a>>> {
        loop {
            let token = self.token()?;
            match (self.wanted, token) {
                (Wanted::End, Token::End) => return Ok(None),
                (Wanted::First, Token::Punctuation(b']'))
                | (Wanted::Next, Token::Punctuation(b']')) => {
                    self.close();
                    return Ok(Some(Event::EndArray));
                }
                (Wanted::FirstPair | Wanted::NextPair, Token::Punctuation(b'}')) => {
                    self.close();
                    return Ok(Some(Event::EndObject));
                }
                (Wanted::Next, Token::Punctuation(b',')) => self.wanted = Wanted::Element,
                (Wanted::NextPair, Token::Punctuation(b',')) => self.wanted = Wanted::Pair,
                (Wanted::FirstPair | Wanted::Pair, Token::Text) => {
                    let key = self.string()?;
                    let place = (self.start, self.at);
                    if self.token()? != Token::Punctuation(b':') {
                        return Err(self.unexpected("\":\""));
                    }
                    (self.start, self.at) = (place.0, self.at);
                    self.wanted = Wanted::Value;
                    return Ok(Some(Event::Key(key)));
                }
                (Wanted::Whole | Wanted::First | Wanted::Element | Wanted::Value, token) => {
                    return self.value(token).map(Some);
                }
                _ => return Err(self.refused()),
            }
        }
    }

    /// A value that may stand here.
    fn value(&mut self, token: Token) -> Result<Event<'a>> {
        let event = match token {
            Token::Punctuation(b'[') => self.begin(false, Event::BeginArray)?,
            Token::Punctuation(b'{') => self.begin(true, Event::BeginObject)?,
            Token::Text => Event::Text(self.string()?),
            Token::Number => Event::Number(&self.text[self.start..self.at]),
            Token::Word => match &self.text[self.start..self.at] {
                "null" => Event::Null,
                word => Event::Bool(word == "true"),
            },
            _ => return Err(self.refused()),
        };
        if !matches!(event, Event::BeginArray | Event::BeginObject) {
            self.wanted = self.after();
        }
        Ok(event)
    }

    fn begin(&mut self, object: bool, event: Event<'a>) -> Result<Event<'a>> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.open.push(object);
        self.wanted = if object { Wanted::FirstPair } else { Wanted::First };
        Ok(event)
    }

    fn close(&mut self) {
        self.open.pop();
        self.wanted = self.after();
    }

    fn after(&self) -> Wanted {
        match self.open.last() {
            None => Wanted::End,
            Some(false) => Wanted::Next,
            Some(true) => Wanted::NextPair,
        }
    }

    /// The token that stands here cannot.
    fn refused(&self) -> Error {
        let wanted = match self.wanted {
            Wanted::Whole | Wanted::Element | Wanted::Value => "JSON value",
            Wanted::End => "end of input",
            Wanted::First => "array element or \"]\"",
            Wanted::Next => "\",\" or \"]\"",
            Wanted::FirstPair => "string or \"}\"",
            Wanted::NextPair => "\",\" or \"}\"",
            Wanted::Pair => "string",
        };
        self.unexpected(wanted)
    }

    fn unexpected(&self, wanted: &str) -> Error {
        if self.start == self.text.len() {
            return self.invalid(self.at, "The input string ended unexpectedly.".into());
        }
        let found = &self.text[self.start..self.at];
        self.invalid(self.at, format!("Expected {wanted}, but found \"{found}\"."))
    }

    /// What is wrong with the token, as far as it was read, with the end of the line up to there.
    fn invalid(&self, end: usize, detail: String) -> Error {
        const SHOWN_BYTES: usize = 50;
        let before = &self.text[..self.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        let shown = self.text.get(line_start..end).unwrap_or_default();
        let mut chars = shown.char_indices();
        let cut = chars.find(|(at, _)| shown.len() - at < SHOWN_BYTES).map_or(0, |(at, _)| at);
        // As much as the dots would take is shown instead.
        let cut = if cut <= 3 { 0 } else { cut };
        let prefix = if cut > 0 { "..." } else { "" };
        let is_cut = !matches!(self.text.as_bytes().get(end), None | Some(b'\n' | b'\r'));
        let suffix = if is_cut { "..." } else { "" };
        invalid(detail)
            .context(format!("JSON data, line {line}: {prefix}{}{suffix}", &shown[cut..]))
    }

    /// Goes over a token.
    fn token(&mut self) -> Result<Token> {
        let bytes = self.text.as_bytes();
        // The one before.
        worked(self.at - self.start)?;
        self.start = self.at;
        while bytes.get(self.start).is_some_and(|byte| is_space(*byte)) {
            self.start += 1;
        }
        self.at = self.start;
        let Some(first) = bytes.get(self.start) else { return Ok(Token::End) };
        match first {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                self.at += 1;
                Ok(Token::Punctuation(*first))
            }
            b'"' => self.quoted(),
            b'-' | b'0'..=b'9' => self.number(),
            byte if is_word(*byte) => {
                self.at += bytes[self.at..].iter().take_while(|byte| is_word(**byte)).count();
                match &self.text[self.start..self.at] {
                    "true" | "false" | "null" => Ok(Token::Word),
                    _ => Err(self.bad_token()),
                }
            }
            _ => {
                self.at += 1;
                Err(self.bad_token())
            }
        }
    }

    fn bad_token(&self) -> Error {
        let found = &self.text[self.start..self.at];
        self.invalid(self.at, format!("Token \"{found}\" is invalid."))
    }

    fn number(&mut self) -> Result<Token> {
        let bytes = self.text.as_bytes();
        let digits =
            |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut at = self.start + usize::from(bytes[self.start] == b'-');
        let mut good = true;
        match bytes.get(at) {
            Some(b'0') => at += 1,
            _ => {
                good &= digits(at) > 0;
                at += digits(at);
            }
        }
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            good &= digits(at) > 0;
            at += digits(at);
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            good &= digits(at) > 0;
            at += digits(at);
        }
        let junk = bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
        self.at = at + junk;
        if good && junk == 0 { Ok(Token::Number) } else { Err(self.bad_token()) }
    }

    /// Goes over a string and checks what it may have.
    fn quoted(&mut self) -> Result<Token> {
        let bytes = self.text.as_bytes();
        let mut at = self.start + 1;
        loop {
            match bytes.get(at) {
                None => {
                    self.at = at;
                    return Err(self.bad_token());
                }
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(Token::Text);
                }
                Some(byte @ 0..=31) => {
                    let detail = format!("Character with value 0x{byte:02x} must be escaped.");
                    return Err(self.invalid(at, detail));
                }
                Some(b'\\') => {
                    worked(1)?;
                    at = self.escape(at)?;
                }
                Some(_) => {
                    worked(1)?;
                    at += 1;
                }
            }
        }
    }

    /// Goes over what begins with a backslash.
    fn escape(&mut self, at: usize) -> Result<usize> {
        match self.text.as_bytes().get(at + 1) {
            None => {
                self.at = self.text.len();
                Err(self.bad_token())
            }
            Some(b'u') => match hex(self.text, at + 2) {
                Some(_) => Ok(at + 6),
                None => {
                    let digits = &self.text[at + 2..];
                    let good = digits.bytes().take(3).take_while(u8::is_ascii_hexdigit).count();
                    let wrong = digits[good..].chars().next().map_or(0, char::len_utf8);
                    let detail = "\"\\u\" must be followed by four hexadecimal digits.";
                    Err(self.invalid(at + 2 + good + wrong, detail.into()))
                }
            },
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(_) => {
                let found = self.text[at + 1..].chars().next().expect("there is a byte");
                let end = at + 1 + found.len_utf8();
                Err(self.invalid(end, format!("Escape sequence \"\\{found}\" is invalid.")))
            }
        }
    }

    /// The string that the token is.
    fn string(&self) -> Result<Cow<'a, str>> {
        let inside = &self.text[self.start + 1..self.at - 1];
        if self.unescape { meaning(inside) } else { Ok(Cow::Borrowed(inside)) }
    }
}

/// Four hexadecimal digits.
fn hex(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    u32::from_str_radix(digits, 16).ok()
}

/// What stands between the quotes of a checked string, without escapes.
fn meaning(inside: &str) -> Result<Cow<'_, str>> {
    let Some(first) = inside.find('\\') else { return Ok(Cow::Borrowed(inside)) };
    let mut out = String::with_capacity(inside.len());
    out.push_str(&inside[..first]);
    let mut rest = &inside[first..];
    while let Some(at) = rest.find('\\') {
        worked(at + 1)?;
        out.push_str(&rest[..at]);
        let kind = rest.as_bytes()[at + 1];
        rest = &rest[at + 2..];
        match kind {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let (c, length) = unicode(rest)?;
                out.push(c);
                rest = &rest[length..];
            }
            other => out.push(char::from(other)),
        }
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

/// The character that digits after `\u` mean, with a second half if it has one; and how much of the text that is.
fn unicode(rest: &str) -> Result<(char, usize)> {
    let first = hex(rest, 0).expect("four digits were checked");
    let lone_low = || invalid("Unicode low surrogate must follow a high surrogate.".into());
    match first {
        0 => Err(Error::new("22P05", "unsupported Unicode escape sequence")
            .detail("\\u0000 cannot be converted to text.")),
        0xdc00..=0xdfff => Err(lone_low()),
        0xd800..=0xdbff => {
            let second = rest[4..].strip_prefix("\\u").and_then(|_| hex(rest, 6));
            match second {
                Some(low @ 0xdc00..=0xdfff) => {
                    let code = 0x10000 + ((first & 0x3ff) << 10) + (low & 0x3ff);
                    Ok((char::from_u32(code).expect("a pair of surrogates is a character"), 10))
                }
                Some(0xd800..=0xdbff) => {
                    Err(invalid("Unicode high surrogate must not follow a high surrogate.".into()))
                }
                _ => Err(lone_low()),
            }
        }
        code => Ok((char::from_u32(code).expect("no surrogate is left"), 4)),
    }
}

/// Whether a text is JSON.
pub(crate) fn check(text: &str) -> Result<()> {
    let mut reader = Reader::new(text, false);
    while reader.next()?.is_some() {}
    Ok(())
}
