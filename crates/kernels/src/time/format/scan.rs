//! How are numbers and names read where a template has a field?

use onlap_pg::{Error, Result};

use super::template::{Field, Part, is_space};

/// A text, read from its beginning.
pub struct Scan<'a> {
    pub text: &'a str,
    pub at: usize,
}

const FILL_HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";

impl<'a> Scan<'a> {
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next byte, 0 at the end.
    pub fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// The byte before.
    pub fn last(&self) -> u8 {
        self.at.checked_sub(1).map_or(0, |at| self.text.as_bytes()[at])
    }

    /// Goes on by a character.
    pub fn skip(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    /// Goes on behind white space; how much there was.
    pub fn spaces(&mut self) -> i64 {
        let blanks = self.rest().bytes().take_while(|b| is_space(*b)).count();
        self.at += blanks;
        blanks as i64
    }

    /// A whole number for a field: so many bytes of it, or all digits if no digit may follow. The number, and how
    /// many bytes it took.
    pub fn number(
        &mut self,
        width: usize,
        field: &Field,
        next: Option<&Part>,
    ) -> Result<(i32, usize)> {
        let begin = self.at;
        self.spaces();
        let rest = self.rest();
        let value = if field.fill || may_run_on(field, next) {
            // White space was gone over; what follows is a number or nothing.
            let (value, length) = leading_number(rest.as_bytes());
            self.at = if length == 0 { begin } else { self.at + length };
            value
        } else {
            if rest.len() < width {
                return Err(too_short(field, width, rest.len()));
            }
            let head = &rest.as_bytes()[..width];
            let (value, length) = leading_number(head);
            if length > 0 && length < width {
                return Err(invalid(head, field)
                    .detail(format!(
                        "Field requires {width} characters, but only {length} could be parsed."
                    ))
                    .hint(FILL_HINT));
            }
            self.at += length;
            value
        };
        if self.at == begin {
            let head = &rest.as_bytes()[..rest.len().min(width)];
            return Err(invalid(head, field).detail("Value must be an integer."));
        }
        let value = value.and_then(|value| i32::try_from(value).ok()).ok_or_else(|| {
            let text = format!("value for \"{}\" in source string is out of range", field.name);
            let range = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
            Error::new("22008", text).detail(range)
        })?;
        Ok((value, self.at - begin))
    }

    /// Which of some names stands here, whatever its case.
    pub fn name(&mut self, names: &[&str], field: &Field) -> Result<usize> {
        let rest = self.rest();
        let begins = |name: &&str| {
            rest.as_bytes()
                .get(..name.len())
                .is_some_and(|b| b.eq_ignore_ascii_case(name.as_bytes()))
        };
        if let Some(at) = names.iter().position(begins) {
            self.at += names[at].len();
            return Ok(at);
        }
        let word = rest.split([' ', '\t', '\n', '\r', '\u{c}']).next().unwrap_or("");
        let detail = "The given value did not match any of the allowed values for this field.";
        Err(invalid(word.as_bytes(), field).detail(detail))
    }
}

fn invalid(value: &[u8], field: &Field) -> Error {
    let value = String::from_utf8_lossy(value);
    Error::new("22007", format!("invalid value \"{value}\" for \"{}\"", field.name))
}

fn too_short(field: &Field, width: usize, remain: usize) -> Error {
    let text = format!("source string too short for \"{}\" formatting field", field.name);
    let detail = format!("Field requires {width} characters, but only {remain} remain.");
    Error::new("22007", text).detail(detail).hint(FILL_HINT)
}

/// The number that bytes begin with, as C's strtol reads it, and its length; no number if it is too large.
fn leading_number(bytes: &[u8]) -> (Option<i64>, usize) {
    let blanks = bytes.iter().take_while(|b| is_space(**b)).count();
    let sign = usize::from(matches!(bytes.get(blanks), Some(b'-' | b'+')));
    let begin = blanks + sign;
    let digits = bytes[begin..].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return (Some(0), 0);
    }
    let text = std::str::from_utf8(&bytes[begin - sign..begin + digits]).expect("digits are ASCII");
    (text.parse().ok(), begin + digits)
}

/// Whether what follows a field cannot be a digit of it.
fn may_run_on(field: &Field, next: Option<&Part>) -> bool {
    field.ordinal.is_some()
        || match next {
            None => true,
            Some(Part::Field(next)) => !next.kind.is_digits(),
            Some(Part::Char(char) | Part::Separator(char) | Part::Space(char)) => {
                !char.is_ascii_digit()
            }
        }
}
