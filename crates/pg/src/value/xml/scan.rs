//! The reader: elements and what stands in them.
//!
//! One pass, one loop; what is open is a list of names. Words and places of faults are those of PostgreSQL's library where it
//! has one fault to tell of.

use std::collections::HashSet;

use onlap_base::stop::STRIDE;

use super::Worked;
use super::declaration::is_blank;
use crate::Error;

/// Elements within each other.
const DEPTH: usize = 256;
/// Bytes of a name, or of the parts before and behind its first colon.
const NAME: usize = 50_000;
/// Bytes of a comment, a section, an instruction or an attribute's value.
const LENGTH: usize = 10_000_000;
/// Attributes from which on names are looked up in a set.
const MANY: usize = 16;
/// Bytes of a line that a detail shows.
const SHOWN: usize = 80;

/// What is wrong, and where.
#[derive(Debug)]
pub(super) struct Fault {
    at: usize,
    words: String,
}

impl Fault {
    /// The detail of an error: the line's number, what is wrong, the line, the place.
    pub(super) fn detail(&self, text: &str) -> String {
        let before = &text.as_bytes()[..self.at];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        // At the end of a line it is shown.
        let end = before.iter().rposition(|b| !matches!(b, b'\n' | b'\r')).map_or(0, |at| at + 1);
        let end = if self.at < text.len() { self.at } else { end };
        let begin = text[..end].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let begin = text.ceil_char_boundary(begin.max(end.saturating_sub(SHOWN)));
        let shown = text[begin..].split(['\n', '\r']).next().unwrap_or_default();
        let shown = &shown[..shown.floor_char_boundary(SHOWN)];
        let column = (self.at - begin).min(shown.len());
        let blank = |b: u8| if b == b'\t' { '\t' } else { ' ' };
        let before: String = shown.bytes().take(column).map(blank).collect();
        format!("line {line}: {}\n{shown}\n{before}^", self.words)
    }
}

/// What ends the reading early.
#[derive(Debug)]
pub(super) enum End {
    Fault(Fault),
    Stopped(Error),
}

pub(super) type Read<T> = Result<T, End>;

/// A text that is being read.
pub(super) struct Scanner<'t, 'w> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// Names of open elements, and where they began.
    open: Vec<(&'t str, usize)>,
    /// How many may be open.
    depth: usize,
    /// Whether entities may be declared elsewhere, so that none is unknown.
    pub(super) has_external: bool,
    worked: &'w mut Worked<'w>,
}

/// Reads content.
pub(super) fn content<'w>(text: &str, worked: &'w mut Worked<'w>) -> Read<()> {
    let mut scanner = Scanner::new(text, DEPTH, worked);
    scanner.elements(false)
}

/// Reads a document.
pub(super) fn document<'w>(text: &str, worked: &'w mut Worked<'w>) -> Read<()> {
    let mut scanner = Scanner::new(text, DEPTH + 1, worked);
    scanner.prolog()?;
    if !scanner.is_at("<") {
        return scanner.fault("Start tag expected, '<' not found");
    }
    if !scanner.start_tag()? {
        scanner.elements(true)?;
    }
    scanner.misc()?;
    match scanner.rest().is_empty() {
        true => Ok(()),
        false => scanner.fault("Extra content at the end of the document"),
    }
}

/// Whether XML has a character.
pub(super) fn is_char(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        c => c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'),
    }
}

/// Whether a name of the fifth edition may begin with a character.
fn is_name_start(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '_' | ':' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}'
        | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn is_name_part(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '0'..='9' | '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}'
            | '\u{203f}'..='\u{2040}')
}

impl<'t, 'w> Scanner<'t, 'w> {
    fn new(text: &'t str, depth: usize, worked: &'w mut Worked<'w>) -> Scanner<'t, 'w> {
        Scanner { text, at: 0, open: Vec::new(), depth, has_external: false, worked }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn is_at(&self, start: &str) -> bool {
        self.rest().starts_with(start)
    }

    pub(super) fn accept(&mut self, start: &str) -> bool {
        let found = self.is_at(start);
        self.at += if found { start.len() } else { 0 };
        found
    }

    /// Goes over blanks; whether there were some.
    pub(super) fn blanks(&mut self) -> bool {
        let from = self.at;
        self.at = self.text.len() - self.rest().trim_start_matches(is_blank).len();
        self.at > from
    }

    pub(super) fn fault<T>(&self, words: impl Into<String>) -> Read<T> {
        self.fault_at(self.at, words)
    }

    pub(super) fn fault_at<T>(&self, at: usize, words: impl Into<String>) -> Read<T> {
        Err(End::Fault(Fault { at, words: words.into() }))
    }

    fn line_of(&self, at: usize) -> usize {
        self.text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1
    }

    /// A name; `None` where none begins.
    pub(super) fn name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return None;
        }
        let length = rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
        let name = &rest[..length];
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        if prefix.len() > NAME || local.len() > NAME {
            return None;
        }
        self.at += length;
        Some(name)
    }

    /// Reads what may stand in an element: to the end of the text, or of the element that is open where `one`.
    fn elements(&mut self, one: bool) -> Read<()> {
        loop {
            (self.worked)(1).map_err(End::Stopped)?;
            let rest = self.rest();
            if rest.is_empty() {
                return match self.open.last() {
                    None => Ok(()),
                    Some((name, from)) => {
                        let line = self.line_of(*from);
                        self.fault(format!("Premature end of data in tag {name} line {line}"))
                    }
                };
            }
            match rest.as_bytes() {
                [b'<', b'?', ..] => self.instruction()?,
                [b'<', b'!', b'-', b'-', ..] => self.comment()?,
                [b'<', b'!', ..] if rest.starts_with("<![CDATA[") => self.section()?,
                [b'<', b'/', ..] if self.open.is_empty() => {
                    return self.fault("chunk is not well balanced");
                }
                [b'<', b'/', ..] => {
                    self.end_tag()?;
                    if one && self.open.is_empty() {
                        return Ok(());
                    }
                }
                [b'<', ..] => {
                    self.start_tag()?;
                }
                [b'&', ..] => self.reference()?,
                _ => self.characters()?,
            }
        }
    }

    /// Texts between tags.
    fn characters(&mut self) -> Read<()> {
        let from = self.at;
        let rest = self.rest();
        let end = rest.find(['<', '&']).unwrap_or(rest.len());
        let run = &rest[..end];
        self.all_chars(run, "PCDATA invalid Char value")?;
        match run.contains("]]>") {
            true => self.fault_at(from, "Sequence ']]>' not allowed in content"),
            false => {
                self.at += end;
                Ok(())
            }
        }
    }

    /// That XML has all characters of a part that begins here.
    fn all_chars(&mut self, part: &str, words: &str) -> Read<()> {
        let mut at = 0;
        while at < part.len() {
            let end = part.ceil_char_boundary(at + STRIDE);
            let piece = &part[at..end];
            (self.worked)(piece.len()).map_err(End::Stopped)?;
            if let Some((bad, c)) = piece.char_indices().find(|(_, c)| !is_char(*c)) {
                let place = self.at + at + bad;
                return self.fault_at(place, format!("{words} {}", u32::from(c)));
            }
            at = end;
        }
        Ok(())
    }

    /// A start tag; whether it is one of an element that ends in it. It is opened otherwise.
    fn start_tag(&mut self) -> Read<bool> {
        let from = self.at;
        self.at += 1;
        let Some(name) = self.name() else {
            return self.fault("StartTag: invalid element name");
        };
        if self.open.len() >= self.depth {
            let words = "Excessive depth in document: 256 use XML_PARSE_HUGE option";
            return self.fault(words);
        }
        self.attributes()?;
        if self.accept("/>") {
            return Ok(true);
        }
        if !self.accept(">") {
            let line = self.line_of(from);
            return self.fault(format!("Couldn't find end of Start Tag {name} line {line}"));
        }
        self.open.push((name, from));
        Ok(false)
    }

    fn attributes(&mut self) -> Read<()> {
        let (mut few, mut many) = (Vec::new(), HashSet::new());
        let mut separated = self.blanks();
        while !self.rest().is_empty() && !self.is_at(">") && !self.is_at("/>") {
            if !separated {
                return self.fault("attributes construct error");
            }
            (self.worked)(1).map_err(End::Stopped)?;
            let Some(name) = self.name() else {
                return self.fault("error parsing attribute name");
            };
            self.blanks();
            if !self.accept("=") {
                return self.fault(format!("Specification mandates value for attribute {name}"));
            }
            self.blanks();
            self.attribute_value()?;
            let is_known = few.contains(&name) || many.contains(name);
            if is_known {
                return self.fault_at(self.at, format!("Attribute {name} redefined"));
            }
            match few.len() < MANY {
                true => few.push(name),
                false => {
                    many.insert(name);
                }
            }
            separated = self.blanks();
        }
        Ok(())
    }

    fn attribute_value(&mut self) -> Read<()> {
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return self.fault("AttValue: \" or ' expected");
        };
        self.at += 1;
        let from = self.at;
        loop {
            let rest = self.rest();
            let end = rest.find([quote, '<', '&']).unwrap_or(rest.len());
            self.all_chars(&rest[..end], "invalid character in attribute value")?;
            self.at += end;
            if self.at - from > LENGTH {
                return self.fault_at(from, "AttValue length too long");
            }
            match rest.as_bytes().get(end) {
                None => return self.fault("AttValue: ' expected"),
                Some(b'<') => {
                    return self.fault("Unescaped '<' not allowed in attributes values");
                }
                Some(b'&') => self.reference()?,
                Some(_) => {
                    self.at += 1;
                    return Ok(());
                }
            }
        }
    }

    fn end_tag(&mut self) -> Read<()> {
        let (open, from) = self.open.pop().expect("an element is open");
        self.at += 2;
        let name = self.name();
        self.blanks();
        if !self.accept(">") {
            return self.fault("expected '>'");
        }
        if name == Some(open) {
            return Ok(());
        }
        let (line, name) = (self.line_of(from), name.unwrap_or("unparsable"));
        self.fault(format!("Opening and ending tag mismatch: {open} line {line} and {name}"))
    }

    /// A reference to a character or an entity.
    fn reference(&mut self) -> Read<()> {
        self.at += 1;
        if self.accept("#") {
            return self.character_reference();
        }
        let Some(name) = self.name() else {
            return self.fault("xmlParseEntityRef: no name");
        };
        if !self.accept(";") {
            return self.fault("EntityRef: expecting ';'");
        }
        match name {
            "lt" | "gt" | "amp" | "quot" | "apos" => Ok(()),
            _ if self.has_external => Ok(()),
            name => self.fault(format!("Entity '{name}' not defined")),
        }
    }

    fn character_reference(&mut self) -> Read<()> {
        let radix = if self.accept("x") { 16 } else { 10 };
        let mut code = 0_u32;
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_digit(radix)).unwrap_or(rest.len());
        for digit in rest[..end].chars().filter_map(|c| c.to_digit(radix)) {
            code = code.saturating_mul(radix).saturating_add(digit);
        }
        self.at += end;
        if !self.accept(";") {
            let kind = if radix == 16 { "hexadecimal" } else { "decimal" };
            return self.fault(format!("xmlParseCharRef: invalid {kind} value"));
        }
        match char::from_u32(code) {
            Some(c) if is_char(c) => Ok(()),
            _ if code > u32::from(char::MAX) => {
                self.fault("xmlParseCharRef: character reference out of bounds")
            }
            _ => self.fault(format!("xmlParseCharRef: invalid xmlChar value {code}")),
        }
    }

    pub(super) fn comment(&mut self) -> Read<()> {
        let from = self.at;
        self.at += "<!--".len();
        let rest = self.rest();
        let end = rest.find("--");
        self.all_chars(
            &rest[..end.unwrap_or(rest.len())],
            "xmlParseComment: invalid xmlChar value",
        )?;
        let Some(end) = end else {
            return self.fault_at(self.text.len(), "Comment not terminated");
        };
        if end > LENGTH {
            return self.fault_at(from + 4, "Comment too big found");
        }
        self.at += end;
        if !self.is_at("-->") {
            let held = &rest[..rest.floor_char_boundary(end.min(50))];
            return self.fault(format!("Double hyphen within comment: <!--{held}"));
        }
        self.at += "-->".len();
        Ok(())
    }

    fn section(&mut self) -> Read<()> {
        self.at += "<![CDATA[".len();
        let rest = self.rest();
        let end = rest.find("]]>");
        self.all_chars(&rest[..end.unwrap_or(rest.len())], "CData section: invalid char value")?;
        let Some(end) = end else {
            return self.fault_at(self.text.len(), "CData section not finished");
        };
        self.at += end;
        if end > LENGTH {
            return self.fault("CData section too big found");
        }
        self.at += "]]>".len();
        Ok(())
    }

    /// A processing instruction.
    pub(super) fn instruction(&mut self) -> Read<()> {
        self.at += "<?".len();
        let Some(name) = self.name() else {
            return self.fault("xmlParsePI : no target name");
        };
        if name == "xml" {
            return self.fault("XML declaration allowed only at the start of the document");
        }
        if name.eq_ignore_ascii_case("xml") {
            return self.fault("Invalid PI name");
        }
        if self.accept("?>") {
            return Ok(());
        }
        if !self.blanks() {
            return self.fault(format!("ParsePI: PI {name} space expected"));
        }
        let rest = self.rest();
        let end = rest.find("?>");
        self.all_chars(&rest[..end.unwrap_or(rest.len())], "ParsePI: invalid char value")?;
        let Some(end) = end else {
            return self.fault_at(self.text.len(), format!("ParsePI: PI {name} never end ..."));
        };
        self.at += end;
        if end > LENGTH {
            return self.fault(format!("PI {name} too big found"));
        }
        self.at += "?>".len();
        Ok(())
    }
}
