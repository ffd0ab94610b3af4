//! Which number does to_number find in a text?
//!
//! Each place of the template takes a digit or the point; signs may stand before the first digit or behind the last. Other
//! patterns and text of the template pass over characters.

use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result};

use super::{Anchor, Part, Pattern, Shape};

/// Reads a number; `None` for an empty template.
///
/// # Errors
/// `22P02`, `22003`; `0A000`: patterns that are only for writing.
pub(super) fn read(text: &str, template: &str) -> Result<Option<Numeric>> {
    if template.is_empty() {
        return Ok(None);
    }
    let (parts, shape) = super::parse::parse(template)?;
    let unsupported =
        |name: &str| Err(Error::new("0A000", format!("\"{name}\" not supported for input")));
    if shape.exponent {
        return unsupported("EEEE");
    }
    if shape.roman {
        return unsupported("RN");
    }
    let mut reader = Reader {
        shape: &shape,
        text: text.as_bytes(),
        at: 0,
        sign: None,
        digits: String::new(),
        before: 0,
        behind: 0,
        point: false,
        begun: false,
    };
    for part in &parts {
        if reader.is_done() {
            break;
        }
        reader.part(*part);
    }
    let digits = reader.digits.strip_suffix('.').unwrap_or(&reader.digits);
    let number = format!("{}{digits}", reader.sign.unwrap_or(' '));
    let (precision, scale) = (shape.before + shape.shift + reader.behind, reader.behind);
    let value = Numeric::parse_with(&number, (precision << 16 | scale) + 4)?;
    if !shape.shifts {
        return Ok(Some(value));
    }
    let power = Numeric::from(10).power(&i64::from(-shape.shift).into())?;
    value.mul(&power).map(Some)
}

struct Reader<'a> {
    shape: &'a Shape,
    text: &'a [u8],
    at: usize,
    /// The sign, once there was one.
    sign: Option<char>,
    digits: String,
    /// Digits read before the point and behind it, and whether the point was read.
    before: i32,
    behind: i32,
    point: bool,
    begun: bool,
}

impl Reader<'_> {
    fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn part(&mut self, part: Part) {
        let Part::Pattern(pattern) = part else { return self.skip_char() };
        match pattern {
            Pattern::Nine | Pattern::Zero | Pattern::Point => {
                self.place(pattern);
                self.at += 1;
            }
            Pattern::Comma | Pattern::Group => {
                if self.byte() == b',' && (self.begun || !self.shape.fills) {
                    self.at += 1;
                }
            }
            Pattern::Currency => self.skip(1),
            Pattern::Ordinal { .. } => self.skip(2),
            Pattern::Minus => self.take_sign(b"-"),
            Pattern::Plus => self.take_sign(b"+"),
            Pattern::Sign => self.take_sign(b"-+"),
            Pattern::Roman { .. } | Pattern::Silent => {}
        }
    }

    /// A whole character.
    fn skip_char(&mut self) {
        self.at += 1;
        while self.text.get(self.at).is_some_and(|b| b & 0xc0 == 0x80) {
            self.at += 1;
        }
    }

    /// Characters that are no part of a number.
    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            if self.is_done() || b"0123456789.,+-".contains(&self.byte()) {
                return;
            }
            self.skip_char();
        }
    }

    fn take_sign(&mut self, signs: &[u8]) {
        if signs.contains(&self.byte()) {
            self.sign = Some(char::from(self.byte()));
            self.at += 1;
        } else {
            self.skip(1);
        }
    }

    /// A sign that stands here, and in brackets of PR.
    fn sign_here(&mut self, brackets: bool) -> bool {
        let sign = match self.byte() {
            b'-' => '-',
            b'<' if brackets => '-',
            b'+' => '+',
            _ => return false,
        };
        self.sign = Some(sign);
        true
    }

    /// A digit or the point: leaves the last character of what was read.
    fn place(&mut self, pattern: Pattern) {
        self.at += usize::from(self.byte() == b' ');
        if self.is_done() {
            return;
        }
        let none_read = self.before + self.behind == 0;
        if self.sign.is_none() && pattern != Pattern::Point && none_read {
            if self.shape.signed && self.shape.anchor == Anchor::Before {
                self.at += usize::from(self.sign_here(false));
            } else {
                self.at += usize::from(self.sign_here(self.shape.brackets));
            }
        }
        if self.is_done() {
            return;
        }
        let mut read = false;
        if self.byte().is_ascii_digit() {
            if self.point && self.behind == self.shape.behind {
                return;
            }
            self.digits.push(char::from(self.byte()));
            *(if self.point { &mut self.behind } else { &mut self.before }) += 1;
            read = true;
        } else if self.shape.has_point && !self.point && self.byte() == b'.' {
            self.digits.push('.');
            self.point = true;
            read = true;
        }
        if self.sign.is_none() && self.before + self.behind > 0 {
            self.sign_behind(read);
        }
    }

    /// S is looked for behind a digit that no other follows; MI, PL and SG where no digit was found.
    fn sign_behind(&mut self, read: bool) {
        let next = self.text.get(self.at + 1);
        if self.shape.signed && read && next.is_some_and(|b| !b.is_ascii_digit()) {
            self.at += 1;
            if !self.sign_here(false) {
                self.at -= 1;
            }
        } else if !read && !self.shape.signed && (self.shape.plus || self.shape.minus) {
            self.sign_here(false);
        }
    }
}
