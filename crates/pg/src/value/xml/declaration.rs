//! What does the declaration at the beginning of a text of XML say?
//!
//! PostgreSQL reads it by itself, in its own way, wherever it puts texts together or writes them.

use super::names::is_part;

/// What a declaration says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration<'t> {
    /// Bytes of the text that it takes; 0 where there is none.
    pub length: usize,
    /// version
    pub version: Option<&'t str>,
    /// encoding
    pub encoding: Option<&'t str>,
    /// standalone
    pub standalone: Option<bool>,
}

/// What is wrong with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A character that is not ASCII.
    Character,
    /// No blank where one must be.
    Space,
    /// Another word for standalone.
    Standalone,
    /// No version.
    Version,
    /// No encoding behind the word.
    Encoding,
    /// It does not end.
    End,
}

impl Wrong {
    /// PostgreSQL's words for it.
    pub fn words(self) -> &'static str {
        match self {
            Wrong::Character => "Invalid character value.",
            Wrong::Space => "Space required.",
            Wrong::Standalone => "standalone accepts only 'yes' or 'no'.",
            Wrong::Version => "Malformed declaration: missing version.",
            Wrong::Encoding => "Missing encoding in text declaration.",
            Wrong::End => "Parsing XML declaration: '?>' expected.",
        }
    }
}

/// Blanks of XML.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// The text without blanks at its beginning.
pub(super) fn unblanked(text: &str) -> &str {
    text.trim_start_matches(is_blank)
}

/// Reads the declaration of a text; one of nothing where there is none.
///
/// # Errors
/// It is none of XML.
pub fn declaration(text: &str) -> Result<Declaration<'_>, Wrong> {
    let mut read = Declaration::default();
    let Some(rest) = text.strip_prefix("<?xml") else { return Ok(read) };
    // A processing instruction whose name begins so.
    if rest.chars().next().is_some_and(is_part) {
        return Ok(read);
    }
    if !rest.starts_with(is_blank) {
        return Err(Wrong::Space);
    }
    let rest = unblanked(rest).strip_prefix("version").ok_or(Wrong::Version)?;
    let (version, mut rest) = value(rest).ok_or(Wrong::Version)?;
    read.version = Some(version);
    if let Some(behind) = word(rest, "encoding")? {
        let (encoding, behind) = value(behind).ok_or(Wrong::Encoding)?;
        read.encoding = Some(encoding);
        rest = behind;
    }
    if let Some(behind) = word(rest, "standalone")? {
        let behind = unblanked(behind).strip_prefix('=').ok_or(Wrong::Standalone)?;
        let behind = unblanked(behind);
        let of = |text: &str| {
            behind
                .strip_prefix(&format!("'{text}'")[..])
                .or_else(|| behind.strip_prefix(&format!("\"{text}\"")[..]))
        };
        (read.standalone, rest) = match (of("yes"), of("no")) {
            (Some(behind), _) => (Some(true), behind),
            (None, Some(behind)) => (Some(false), behind),
            (None, None) => return Err(Wrong::Standalone),
        };
    }
    let rest = unblanked(rest).strip_prefix("?>").ok_or(Wrong::End)?;
    read.length = text.len() - rest.len();
    match text[..read.length].is_ascii() {
        true => Ok(read),
        false => Err(Wrong::Character),
    }
}

/// What is behind a word, if that comes next; blanks must be before it.
fn word<'t>(text: &'t str, word: &str) -> Result<Option<&'t str>, Wrong> {
    match unblanked(text).strip_prefix(word) {
        Some(_) if !text.starts_with(is_blank) => Err(Wrong::Space),
        behind => Ok(behind),
    }
}

/// What stands in quotes behind `=`, and what is behind that.
fn value(text: &str) -> Option<(&str, &str)> {
    let text = unblanked(unblanked(text).strip_prefix('=')?);
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// Writes a declaration if it says more than the default does; whether it did.
pub fn declare(version: Option<&str>, standalone: Option<bool>, out: &mut String) -> bool {
    if version.is_none_or(|version| version == "1.0") && standalone.is_none() {
        return false;
    }
    out.push_str(&format!("<?xml version=\"{}\"", version.unwrap_or("1.0")));
    match standalone {
        Some(true) => out.push_str(" standalone=\"yes\""),
        Some(false) => out.push_str(" standalone=\"no\""),
        None => {}
    }
    out.push_str("?>");
    true
}

/// A value as it is written: with a declaration only where that says more than the default.
pub fn print(text: &str, out: &mut String) {
    let Ok(read) = declaration(text) else {
        out.push_str(text);
        return;
    };
    let rest = &text[read.length..];
    let rest = match declare(read.version, read.standalone, out) {
        true => rest,
        // No empty first line.
        false => rest.strip_prefix('\n').unwrap_or(rest),
    };
    out.push_str(rest);
}
