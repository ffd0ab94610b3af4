//! `format(template, …)`: which text does a template make?

use super::texts::literal;
use crate::catalog::names::quote;
use crate::error::{Result, SqlError};
use crate::system::rows::Datum;

/// `%[n$][-][width]kind`, where a width may be `*` or `*n$`, and the kind is s, I, L or %.
///
/// # Errors
/// A kind that is none; too few arguments; NULL as a name.
pub fn format(arguments: &[Datum]) -> Result<Datum> {
    let template = match arguments.first() {
        None | Some(Datum::Null) => return Ok(Datum::Null),
        Some(template) => template.text(),
    };
    let mut reader = Reader { rest: &template, arguments, next: 1 };
    let mut out = String::new();
    while let Some((before, after)) = reader.rest.split_once('%') {
        out += before;
        reader.rest = after;
        reader.field(&mut out)?;
    }
    out += reader.rest;
    Ok(out.into())
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
    fn field(&mut self, out: &mut String) -> Result<()> {
        if self.accept('%') {
            out.push('%');
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
        let blanks = " ".repeat(width.unwrap_or(0).saturating_sub(text.chars().count()));
        match left {
            true => out.extend([text, blanks]),
            false => out.extend([blanks, text]),
        }
        Ok(())
    }
}
