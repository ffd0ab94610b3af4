//! How do digits become the text that a template asks for?
//!
//! Every 9, 0 and point of the template is a place. Blanks or zeros fill places before the first digit, the sign is written
//! before the first place that shows something, or behind the last one. FM leaves blanks out, and zeros at the end of decimals
//! for which the template has 9.

use onlap_pg::{Error, Result};

use super::roman::WIDTH;
use super::{Anchor, Part, Pattern, Shape};

/// The digits of a number, as [`super::values`] makes them.
#[derive(Debug, Default)]
pub(super) struct Digits {
    /// Without a sign.
    pub(super) text: String,
    pub(super) negative: bool,
    /// Places before the point that have no digit.
    pub(super) blanks: i32,
}

/// Writes a number.
///
/// # Errors
/// `22P02`: TH behind what is no digit.
pub(super) fn write(parts: &[Part], shape: &Shape, digits: &Digits) -> Result<String> {
    let mut writer = Writer::new(shape, digits);
    for part in parts {
        match part {
            Part::Text(c) => writer.out.push(*c),
            Part::Pattern(pattern) => writer.pattern(*pattern)?,
        }
    }
    // Places behind the last digit of a number that has fewer end the text.
    let end = writer.out.find('\0').unwrap_or(writer.out.len());
    writer.out.truncate(end);
    Ok(writer.out)
}

struct Writer<'a> {
    shape: Shape,
    /// The digits, and where the next one is.
    text: &'a [u8],
    at: usize,
    negative: bool,
    blanks: i32,
    /// The place that comes next, and the number of places.
    place: i32,
    places: i32,
    /// Whether a digit was written, and the sign.
    begun: bool,
    signed: bool,
    /// With FM: where the last decimal is that counts; the point if there is none.
    last: Option<usize>,
    out: String,
}

impl<'a> Writer<'a> {
    fn new(shape: &Shape, digits: &'a Digits) -> Writer<'a> {
        let mut shape = shape.clone();
        let (negative, mut blanks) = (digits.negative, digits.blanks);
        shape.first_zero -= i32::from(shape.first_zero > 0);
        if shape.roman {
            shape = Shape { roman: true, fills: shape.fills, ..Shape::default() };
            blanks = 0;
        }
        let signed = if shape.plus || shape.minus {
            !shape.plus || shape.minus
        } else {
            shape.brackets &= negative || !shape.fills;
            if shape.anchor == Anchor::Before && shape.before == shape.before_sign {
                shape.anchor = Anchor::Behind;
            }
            !negative && !shape.roman && shape.fills && !shape.signed
        };
        let last = if shape.fills && shape.has_point { last_decimal(&shape, digits) } else { None };
        let mut places = shape.before + shape.behind - 1;
        places += i32::from(!signed && blanks == 0);
        Writer {
            shape,
            text: digits.text.as_bytes(),
            at: 0,
            negative,
            blanks,
            place: 0,
            places,
            begun: false,
            signed,
            last,
            out: String::new(),
        }
    }

    /// The next digit or point; 0 behind the end.
    fn next(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn sign(&self) -> char {
        if self.negative { '-' } else { '+' }
    }

    /// A blank, unless FM leaves it out.
    fn blank(&mut self) {
        if !self.shape.fills {
            self.out.push(' ');
        }
    }

    fn pattern(&mut self, pattern: Pattern) -> Result<()> {
        match pattern {
            Pattern::Nine | Pattern::Zero | Pattern::Point => self.place(pattern),
            Pattern::Comma | Pattern::Group if self.begun => self.out.push(','),
            Pattern::Comma | Pattern::Group => self.blank(),
            Pattern::Currency => self.out.push(' '),
            Pattern::Minus if self.negative => self.out.push('-'),
            Pattern::Plus if !self.negative => self.out.push('+'),
            Pattern::Minus | Pattern::Plus => self.blank(),
            Pattern::Sign => self.out.push(self.sign()),
            Pattern::Roman { upper } => {
                let text = String::from_utf8_lossy(self.text);
                let text = if upper { text.into_owned() } else { text.to_ascii_lowercase() };
                let width = if self.shape.fills { 0 } else { WIDTH };
                self.out += &format!("{text:>width$}");
            }
            Pattern::Ordinal { upper } => self.ordinal(upper)?,
            Pattern::Silent => {}
        }
        Ok(())
    }

    fn ordinal(&mut self, upper: bool) -> Result<()> {
        let none = self.shape.roman || self.shape.has_point || self.negative;
        if none || self.text.first() == Some(&b'#') {
            return Ok(());
        }
        let last = self.text.last().copied().unwrap_or(0);
        if !last.is_ascii_digit() {
            let text = String::from_utf8_lossy(self.text);
            return Err(Error::new("22P02", format!("\"{text}\" is not a number")));
        }
        let is_teen = self.text.len() > 1 && self.text[self.text.len() - 2] == b'1';
        let ending = match last {
            b'1' if !is_teen => "st",
            b'2' if !is_teen => "nd",
            b'3' if !is_teen => "rd",
            _ => "th",
        };
        self.out += &if upper { ending.to_ascii_uppercase() } else { ending.to_owned() };
        Ok(())
    }

    /// A zero before the point, which is left out where decimals follow and no 0 asks for it.
    fn is_bare_zero(&self) -> bool {
        !self.shape.has_zero && self.at == 0 && self.next() == b'0' && self.shape.behind != 0
    }

    /// Whether FM cuts all decimals.
    fn ends_at_point(&self) -> bool {
        self.last.is_some_and(|last| self.text[last] == b'.')
    }

    fn place(&mut self, pattern: Pattern) {
        if self.shape.roman {
            return;
        }
        self.begun = false;
        let zeros = self.shape.has_zero && self.shape.first_zero <= self.place;
        let shows = self.place >= self.blanks
            || (self.shape.has_zero && self.shape.first_zero == self.place);
        if !self.signed && shows && (!self.is_bare_zero() || self.ends_at_point()) {
            self.sign_before();
        }
        if self.place < self.blanks && !zeros {
            self.blank();
        } else if self.place < self.blanks {
            self.out.push('0');
            self.begun = true;
        } else {
            self.digit(pattern);
            self.at += usize::from(self.at < self.text.len());
        }
        let mut end = self.places + i32::from(self.blanks > 0) + i32::from(self.shape.has_point);
        if self.last == Some(self.at) {
            end = self.place;
        }
        if self.place + 1 == end {
            self.sign_behind();
        }
        self.place += 1;
    }

    fn sign_before(&mut self) {
        if self.shape.signed {
            if self.shape.anchor == Anchor::Before {
                self.out.push(self.sign());
                self.signed = true;
            }
            return;
        }
        self.signed = true;
        match (self.shape.brackets, self.negative) {
            (true, negative) => self.out.push(if negative { '<' } else { ' ' }),
            (false, true) => self.out.push('-'),
            (false, false) => self.blank(),
        }
    }

    fn sign_behind(&mut self) {
        if self.signed && self.shape.brackets {
            self.out.push(if self.negative { '>' } else { ' ' });
        } else if self.shape.signed && self.shape.anchor == Anchor::Behind {
            self.out.push(self.sign());
        }
    }

    /// The next digit or the point.
    fn digit(&mut self, pattern: Pattern) {
        if self.next() == b'.' {
            if !self.ends_at_point() || self.shape.fills {
                self.out.push('.');
            }
        } else if self.last.is_some_and(|last| self.at > last) && pattern != Pattern::Zero {
            // FM leaves it out.
        } else if self.is_bare_zero() {
            if !self.shape.fills {
                self.out.push(' ');
            } else if self.ends_at_point() {
                self.out.push('0');
            }
        } else {
            self.out.push(char::from(self.next()));
            self.begun = true;
        }
    }
}

/// With FM: where the last decimal is that is not zero, or for which the template has a 0; the point if there is none.
fn last_decimal(shape: &Shape, digits: &Digits) -> Option<usize> {
    let text = digits.text.as_bytes();
    let point = text.iter().position(|b| *b == b'.')?;
    let counts = text[point..].iter().rposition(|b| *b != b'0').unwrap_or(0);
    let last = point + counts;
    let Ok(zero) = usize::try_from(shape.last_zero - digits.blanks) else { return Some(last) };
    Some(if zero == 0 { last } else { last.max(zero.min(text.len() - 1)) })
}
