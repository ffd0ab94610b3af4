//! How is the text of an hstore read?

use onlap_pg::{Error, Result};

use super::form::{Pair, store};
use crate::Cx;
use crate::misc::growth::Growth;

/// Reads a text.
///
/// # Errors
/// `XX000`, as PostgreSQL has it; `53200`, `57014`.
pub fn parse(text: &str, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut reader = Reader { text, at: 0 };
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    let mut growth = Growth::new();
    while let Some((key, _)) = reader.word(false)? {
        if found.len().is_multiple_of(1024) {
            cx.go_on()?;
            // The words, the places of pairs in order, and the value.
            let place = size_of::<(String, Option<String>)>() + size_of::<Pair<'_>>();
            growth.memory(cx, found.capacity() * place + reader.at * 2)?;
        }
        reader.arrow()?;
        let Some((value, quoted)) = reader.word(true)? else { return Err(ends()) };
        let is_null = !quoted && value.eq_ignore_ascii_case("null");
        found.push((key, (!is_null).then_some(value)));
        reader.skip_blanks();
        match reader.peek() {
            None => break,
            Some(b',') => reader.at += 1,
            Some(_) => return Err(reader.syntax()),
        }
    }
    let pairs: Vec<Pair<'_>> =
        found.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect();
    Ok(store(pairs))
}

fn ends() -> Error {
    Error::internal("Unexpected end of string")
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn syntax(&self) -> Error {
        let near = self.text[self.at..].chars().next().map_or(String::new(), String::from);
        let text = format!("Syntax error near \"{near}\" at position {}", self.at);
        Error::internal(text)
    }

    /// Takes a character as it stands.
    fn take(&mut self, into: &mut String) -> Result<()> {
        let c = self.text[self.at..].chars().next().ok_or_else(ends)?;
        into.push(c);
        self.at += c.len_utf8();
        Ok(())
    }

    /// `=>`
    fn arrow(&mut self) -> Result<()> {
        self.skip_blanks();
        for wanted in *b"=>" {
            match self.peek() {
                None => return Err(ends()),
                Some(byte) if byte == wanted => self.at += 1,
                Some(_) => return Err(self.syntax()),
            }
        }
        Ok(())
    }

    /// A key or a value, and whether it has quotes; `None` at the end. A value may have `=` in it, a key `,`.
    fn word(&mut self, is_value: bool) -> Result<Option<(String, bool)>> {
        self.skip_blanks();
        let mut word = String::new();
        match self.peek() {
            None => return Ok(None),
            Some(b'"') => {
                self.at += 1;
                loop {
                    match self.peek() {
                        None => return Err(ends()),
                        Some(b'"') => break,
                        Some(b'\\') => {
                            self.at += 1;
                            self.take(&mut word)?;
                        }
                        Some(_) => self.take(&mut word)?,
                    }
                }
                self.at += 1;
                return Ok(Some((word, true)));
            }
            Some(b'=') if !is_value => return Err(self.syntax()),
            // The first character is one of the word, whatever it is.
            Some(b'\\') => {}
            Some(_) => self.take(&mut word)?,
        }
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => {
                    self.at += 1;
                    self.take(&mut word)?;
                }
                b'=' if !is_value => break,
                b',' if is_value => break,
                byte if is_blank(byte) => break,
                _ => self.take(&mut word)?,
            }
        }
        Ok(Some((word, false)))
    }
}
