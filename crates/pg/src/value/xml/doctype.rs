//! What stands before and behind the element of a document?

use super::declaration::unblanked;
use super::scan::{End, Read, Scanner, is_char};
use crate::Error;

/// Encodings that a declaration may name: what is read has another one already.
const ENCODINGS: &[&str] = &[
    "utf-8",
    "utf8",
    "utf-16",
    "utf16",
    "utf-16le",
    "utf-16be",
    "ucs-2",
    "ucs-4",
    "iso-10646-ucs-2",
    "ascii",
    "us-ascii",
    "latin1",
    "latin-1",
    "koi8-r",
    "koi8-u",
    "shift_jis",
    "sjis",
    "euc-jp",
    "euc-kr",
    "euc-cn",
    "euc-tw",
    "big5",
    "gb2312",
    "gbk",
    "gb18030",
    "iso-2022-jp",
    "tis-620",
];

/// Whether DOCTYPE comes before anything that is no comment, instruction or blank.
pub(super) fn is_next(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = unblanked(rest);
        let behind = match rest.strip_prefix("<!--") {
            Some(inside) => inside.split_once("--").and_then(|(_, end)| end.strip_prefix('>')),
            None => rest.strip_prefix("<?").and_then(|inside| inside.split_once("?>")).map(|p| p.1),
        };
        match behind {
            Some(behind) => rest = behind,
            None => return rest.starts_with("<!DOCTYPE"),
        }
    }
}

impl<'t> Scanner<'t, '_> {
    /// What may stand before the element.
    pub(super) fn prolog(&mut self) -> Read<()> {
        if self.text.is_empty() {
            return self.fault("switching encoding : no input\n\n^\nline 1: Document is empty");
        }
        if self.rest().strip_prefix("<?xml").is_some_and(|rest| unblanked(rest) != rest) {
            self.declaration()?;
        }
        self.misc()?;
        if self.accept("<!DOCTYPE") {
            self.doctype()?;
            self.misc()?;
        }
        Ok(())
    }

    /// Comments, instructions and blanks.
    pub(super) fn misc(&mut self) -> Read<()> {
        loop {
            self.blanks();
            match () {
                () if self.is_at("<?") => self.instruction()?,
                () if self.is_at("<!--") => self.comment()?,
                () => return Ok(()),
            }
        }
    }

    fn declaration(&mut self) -> Read<()> {
        self.at += "<?xml".len();
        self.blanks();
        let version = match self.accept("version") {
            true => self.quoted()?,
            false => "",
        };
        let digits = version.split_once('.').is_some_and(|(major, minor)| {
            let is_digit = |c: char| c.is_ascii_digit();
            major.len() == 1 && major.chars().all(is_digit) && minor.chars().all(is_digit)
        });
        if !digits {
            return self.fault("Malformed declaration expecting version");
        }
        if !version.starts_with("1.") {
            return self.fault(format!("Unsupported version '{version}'"));
        }
        let mut blank = self.blanks();
        if blank && self.accept("encoding") {
            let encoding = self.quoted()?;
            self.encoding(encoding)?;
            blank = self.blanks();
        }
        if blank && self.accept("standalone") {
            if !matches!(self.quoted()?, "yes" | "no") {
                return self.fault("standalone accepts only 'yes' or 'no'");
            }
            blank = self.blanks();
        }
        match self.accept("?>") {
            true => Ok(()),
            false if !blank => self.fault("Blank needed here"),
            false => self.fault("parsing XML declaration: '?>' expected"),
        }
    }

    fn encoding(&self, encoding: &str) -> Read<()> {
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let begins = encoding.starts_with(|c: char| c.is_ascii_alphabetic());
        if !begins || !encoding.chars().all(part) {
            // In front of the name and the quote behind it.
            let at = self.at - encoding.len() - 1;
            return self.fault_at(at, "Invalid XML encoding name");
        }
        let name = encoding.to_ascii_lowercase();
        let families = ["iso-8859-", "iso8859-", "windows-", "cp"];
        let is_numbered = families
            .iter()
            .filter_map(|family| name.strip_prefix(family))
            .any(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
        match is_numbered || ENCODINGS.contains(&&*name) {
            true => Ok(()),
            false => self.fault(format!("Unsupported encoding {encoding}")),
        }
    }

    /// What stands in quotes, behind `=` where it is one of the declaration's.
    fn quoted(&mut self) -> Read<&'t str> {
        self.blanks();
        if !self.accept("=") {
            return self.fault("expected '='");
        }
        self.blanks();
        self.literal("String not started expecting ' or \"")
    }

    fn literal(&mut self, words: &str) -> Read<&'t str> {
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return self.fault(words);
        };
        let Some((value, _)) = rest[1..].split_once(quote) else {
            return self.fault("String not closed expecting \" or '");
        };
        self.at += value.len() + 2;
        Ok(value)
    }

    fn doctype(&mut self) -> Read<()> {
        self.blanks();
        if self.name().is_none() {
            return self.fault("xmlParseDocTypeDecl : no DOCTYPE name !");
        }
        self.blanks();
        if self.accept("SYSTEM") {
            if !self.blanks() {
                return self.fault("Space required after 'SYSTEM'");
            }
            self.system()?;
        } else if self.accept("PUBLIC") {
            if !self.blanks() {
                return self.fault("Space required after 'PUBLIC'");
            }
            let public = self.literal("PubidLiteral \" or ' expected")?;
            let is_part =
                |c: char| c.is_ascii_alphanumeric() || " \r\n-'()+,./:=?;!*#@$_%".contains(c);
            if !public.chars().all(is_part) {
                return self.fault("PubidLiteral \" or ' expected");
            }
            if !self.blanks() {
                return self.fault("Space required after the Public Identifier");
            }
            self.system()?;
        }
        self.blanks();
        if self.accept("[") {
            self.blanks();
            if !self.accept("]") {
                let text = "a DOCTYPE that declares something is not supported";
                return Err(End::Stopped(Error::unserved(text)));
            }
            self.blanks();
        }
        match self.accept(">") {
            true => Ok(()),
            false => self.fault("DOCTYPE improperly terminated"),
        }
    }

    fn system(&mut self) -> Read<()> {
        let system = self.literal("SystemLiteral \" or ' expected")?;
        match system.chars().all(is_char) {
            true => {
                self.has_external = true;
                Ok(())
            }
            false => self.fault("Unfinished System or Public ID \" or ' expected"),
        }
    }
}
