//! Which patterns does a template have, and do they go together?

use onlap_pg::{Error, Result};

use super::{Anchor, Part, Pattern, Shape};

/// What a pattern does to the shape.
#[derive(Clone, Copy)]
enum Key {
    Plain(Pattern),
    Blank,
    Fill,
    Exponent,
    Sign,
    Brackets,
    Shift,
    Nothing,
}

/// Patterns in the order in which they are looked for; each in upper or lower case as a whole.
const KEYS: [(&str, Key); 20] = [
    (",", Key::Plain(Pattern::Comma)),
    (".", Key::Plain(Pattern::Point)),
    ("0", Key::Plain(Pattern::Zero)),
    ("9", Key::Plain(Pattern::Nine)),
    ("B", Key::Blank),
    ("C", Key::Nothing),
    ("D", Key::Plain(Pattern::Point)),
    ("EEEE", Key::Exponent),
    ("FM", Key::Fill),
    ("G", Key::Plain(Pattern::Group)),
    ("L", Key::Plain(Pattern::Currency)),
    ("MI", Key::Plain(Pattern::Minus)),
    ("PL", Key::Plain(Pattern::Plus)),
    ("PR", Key::Brackets),
    ("RN", Key::Plain(Pattern::Roman { upper: true })),
    ("SG", Key::Plain(Pattern::Sign)),
    ("SP", Key::Nothing),
    ("S", Key::Sign),
    ("TH", Key::Plain(Pattern::Ordinal { upper: true })),
    ("V", Key::Shift),
];

fn key(text: &str) -> Option<(Key, usize)> {
    let (name, key) = KEYS.iter().find(|(name, _)| {
        let begins = |i: usize, b: u8| text.as_bytes().get(i) == Some(&b);
        let all = |f: fn(u8) -> u8| name.bytes().enumerate().all(|(i, b)| begins(i, f(b)));
        all(|b| b) || all(|b| b.to_ascii_lowercase())
    })?;
    let upper = text.starts_with(name);
    let key = match key {
        Key::Plain(Pattern::Roman { .. }) => Key::Plain(Pattern::Roman { upper }),
        Key::Plain(Pattern::Ordinal { .. }) => Key::Plain(Pattern::Ordinal { upper }),
        other => *other,
    };
    Some((key, name.len()))
}

/// Reads a template.
///
/// # Errors
/// `42601`: patterns that do not go together.
pub(super) fn parse(template: &str) -> Result<(Vec<Part>, Shape)> {
    let mut parts = Vec::new();
    let mut shape = Shape::default();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        if let Some((key, length)) = key(rest) {
            parts.push(Part::Pattern(shape.take(key)?));
            rest = &rest[length..];
        } else if first == '"' {
            rest = quoted(&rest[1..], &mut parts);
        } else {
            // A backslash is one, unless it stands before a quote.
            let text = rest.strip_prefix('\\').filter(|after| after.starts_with('"'));
            let text = text.unwrap_or(rest);
            let mut chars = text.chars();
            parts.extend(chars.next().map(Part::Text));
            rest = chars.as_str();
        }
    }
    Ok((parts, shape))
}

/// Text up to a quote, in which a backslash takes the next character as it is; what follows it.
fn quoted<'a>(text: &'a str, parts: &mut Vec<Part>) -> &'a str {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => parts.push(Part::Text(chars.next().unwrap_or('\\'))),
            c => parts.push(Part::Text(c)),
        }
    }
    chars.as_str()
}

fn refused<T>(message: &str) -> Result<T> {
    Err(Error::new("42601", message))
}

impl Shape {
    fn take(&mut self, key: Key) -> Result<Pattern> {
        if self.exponent && !matches!(key, Key::Exponent) {
            return refused("\"EEEE\" must be the last pattern used");
        }
        match key {
            Key::Plain(pattern) => {
                self.take_plain(pattern)?;
                return Ok(pattern);
            }
            Key::Blank => {
                self.blank |= self.before == 0 && self.behind == 0 && !self.has_zero;
            }
            Key::Fill => self.fills = true,
            Key::Sign => self.take_sign()?,
            Key::Brackets => {
                if self.signed || self.plus || self.minus {
                    let message = "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together";
                    return refused(message);
                }
                self.brackets = true;
            }
            Key::Shift => {
                if self.has_point {
                    return refused("cannot use \"V\" and decimal point together");
                }
                self.shifts = true;
            }
            Key::Exponent => self.take_exponent()?,
            Key::Nothing => {}
        }
        Ok(Pattern::Silent)
    }

    fn take_plain(&mut self, pattern: Pattern) -> Result<()> {
        let with_sign = |name: &str| refused(&format!("cannot use \"S\" and \"{name}\" together"));
        match pattern {
            Pattern::Nine if self.brackets => return refused("\"9\" must be ahead of \"PR\""),
            Pattern::Nine if self.shifts => self.shift += 1,
            Pattern::Nine => *self.places() += 1,
            Pattern::Zero => {
                if self.brackets {
                    return refused("\"0\" must be ahead of \"PR\"");
                }
                if !self.has_zero && !self.has_point {
                    self.has_zero = true;
                    self.first_zero = self.before + 1;
                }
                *self.places() += 1;
                self.last_zero = self.before + self.behind;
            }
            Pattern::Point => {
                if self.has_point {
                    return refused("multiple decimal points");
                }
                if self.shifts {
                    return refused("cannot use \"V\" and decimal point together");
                }
                self.has_point = true;
            }
            Pattern::Minus if self.signed => return with_sign("MI"),
            Pattern::Plus if self.signed => return with_sign("PL"),
            Pattern::Sign if self.signed => return with_sign("SG"),
            Pattern::Minus => self.minus = true,
            Pattern::Plus => self.plus = true,
            Pattern::Sign => (self.minus, self.plus) = (true, true),
            Pattern::Roman { .. } => self.roman = true,
            _ => {}
        }
        Ok(())
    }

    /// The number of places on this side of the point.
    fn places(&mut self) -> &mut i32 {
        if self.has_point { &mut self.behind } else { &mut self.before }
    }

    fn take_sign(&mut self) -> Result<()> {
        if self.signed {
            return refused("cannot use \"S\" twice");
        }
        if self.plus || self.minus || self.brackets {
            return refused("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
        }
        self.signed = true;
        if !self.has_point {
            self.anchor = Anchor::Before;
            self.before_sign = self.before;
        } else if self.anchor == Anchor::None {
            self.anchor = Anchor::Behind;
        }
        Ok(())
    }

    fn take_exponent(&mut self) -> Result<()> {
        if self.exponent {
            return refused("cannot use \"EEEE\" twice");
        }
        let others = [
            self.blank,
            self.fills,
            self.signed,
            self.brackets,
            self.minus,
            self.plus,
            self.roman,
            self.shifts,
        ];
        if others.contains(&true) {
            let detail =
                "\"EEEE\" may only be used together with digit and decimal point patterns.";
            let error = Error::new("42601", "\"EEEE\" is incompatible with other formats");
            return Err(error.detail(detail));
        }
        self.exponent = true;
        Ok(())
    }
}
