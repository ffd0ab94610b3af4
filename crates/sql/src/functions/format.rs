//! `format(template, …)`: which text does a template make?

use onlap_base::limits::COMPUTED_BYTES;

use super::texts::literal;
use crate::catalog::names::quote;
use crate::error::{Result, SqlError};
use crate::system::rows::Datum;

/// `%[n$][-][width]kind`, where a width may be `*` or `*n$`, and the kind is s, I, L or %.
///
/// # Errors
/// A kind that is none; too few arguments; NULL as a name.
pub fn format(arguments: &[Datum]) -> Result<Datum> {
    let mut out = String::new();
    Ok(if fill(arguments, &mut out)? { out.into() } else { Datum::Null })
}

/// How many bytes [`format`] makes of the same, without making them. It stops counting where they are too many for
/// any value.
///
/// # Errors
/// The same.
pub fn length(arguments: &[Datum]) -> Result<u64> {
    let mut length = Length(0);
    fill(arguments, &mut length)?;
    Ok(length.0)
}

/// What a template's text goes to.
trait Out {
    /// Whether it may become longer.
    fn has_room(&self) -> bool;
    fn text(&mut self, text: &str);
    fn blanks(&mut self, n: usize);
}

impl Out for String {
    fn has_room(&self) -> bool {
        true
    }
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }
    fn blanks(&mut self, n: usize) {
        self.extend(std::iter::repeat_n(' ', n));
    }
}

/// Bytes alone.
struct Length(u64);

impl Out for Length {
    fn has_room(&self) -> bool {
        self.0 <= COMPUTED_BYTES as u64
    }
    fn text(&mut self, text: &str) {
        self.0 += text.len() as u64;
    }
    fn blanks(&mut self, n: usize) {
        self.0 += n as u64;
    }
}

/// Whether there is a template.
fn fill(arguments: &[Datum], out: &mut impl Out) -> Result<bool> {
    let template = match arguments.first() {
        None | Some(Datum::Null) => return Ok(false),
        Some(template) => template.text(),
    };
    let mut reader = Reader { rest: &template, arguments, next: 1 };
    while let Some((before, after)) = reader.rest.split_once('%') {
        out.text(before);
        reader.rest = after;
        reader.field(out)?;
        if !out.has_room() {
            break;
        }
    }
    out.text(reader.rest);
    Ok(true)
}

struct Reader<'a> {
    rest: &'a str,
    arguments: &'a [Datum],
    /// The argument that a field without a number takes.
    next: usize,
}

impl Reader<'_> {
    /// Digits; `None` where there are none.
    fn number(&mut self) -> Result<Option<usize>> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            return Ok(None);
        }
        self.rest = rest;
        let wide = || SqlError::new("22003", "number is out of range");
        digits.parse().ok().filter(|n| *n <= 1_000_000).map(Some).ok_or_else(wide)
    }
    fn accept(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
    /// The argument of this number, or the next one.
    fn argument(&mut self, number: Option<usize>) -> Result<Datum> {
        let at = number.unwrap_or(self.next);
        if at == 0 {
            let text = "format specifies argument 0, but arguments are numbered from 1";
            return Err(SqlError::new("22023", text));
        }
        self.next = at + 1;
        let found = self.arguments.get(at).cloned();
        found.ok_or_else(|| SqlError::new("22023", "too few arguments for format()"))
    }
    fn field(&mut self, out: &mut impl Out) -> Result<()> {
        if self.accept('%') {
            out.text("%");
            return Ok(());
        }
        let (mut position, mut width) = (None, None);
        match self.number()? {
            Some(number) if self.accept('$') => position = Some(number),
            number => width = number,
        }
        let mut left = false;
        if width.is_none() {
            while self.accept('-') {
                left = true;
            }
            if self.accept('*') {
                let number = self.number()?;
                if number.is_some() && !self.accept('$') {
                    let text = "width argument position must be ended by \"$\"";
                    return Err(SqlError::new("22023", text));
                }
                let given = self.argument(number)?.int().unwrap_or(0).clamp(-1_000_000, 1_000_000);
                left |= given < 0;
                width = Some(given.unsigned_abs() as usize);
            } else {
                width = self.number()?;
            }
        }
        let kind = self.rest.chars().next();
        let Some(kind) = kind.filter(|c| matches!(c, 's' | 'I' | 'L')) else {
            let text = match kind {
                Some(c) => format!("unrecognized format() type specifier \"{c}\""),
                None => "unterminated format() type specifier".to_string(),
            };
            return Err(SqlError::new("22023", text));
        };
        self.rest = &self.rest[1..];
        let value = self.argument(position)?;
        let text = match (kind, &value) {
            ('I', Datum::Null) => {
                let text = "null values cannot be formatted as an SQL identifier";
                return Err(SqlError::new("22004", text));
            }
            ('I', value) => quote(&value.text()),
            ('L', Datum::Null) => "NULL".to_string(),
            ('L', value) => literal(&value.text()),
            (_, value) => value.text(),
        };
        let blanks = match width {
            Some(width) => width.saturating_sub(text.chars().count()),
            None => 0,
        };
        if !left {
            out.blanks(blanks);
        }
        out.text(&text);
        if left {
            out.blanks(blanks);
        }
        Ok(())
    }
}
