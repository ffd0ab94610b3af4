//! Which digits does a number bring for a template?

use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result};

use super::roman::roman;
use super::write::{Digits, write};
use super::{Part, Shape, parse::parse, read::read};
use crate::{Cx, Entry, Float4, Float8, Int4, Int8, Null, Num, Text, two};

/// to_char and to_number.
pub const ENTRIES: &[Entry] = &[
    ("to_char(int4,text)", |_| {
        two::<Int4, Text, Text>(|a, template, cx| to_char(&Int::of4(a), template, cx))
    }),
    ("to_char(int8,text)", |_| {
        two::<Int8, Text, Text>(|a, template, cx| to_char(&Int::of8(a), template, cx))
    }),
    ("to_char(float4,text)", |_| {
        two::<Float4, Text, Text>(|a, template, cx| {
            to_char(&Float { value: f64::from(a), digits: 6 }, template, cx)
        })
    }),
    ("to_char(float8,text)", |_| {
        two::<Float8, Text, Text>(|a, template, cx| {
            to_char(&Float { value: a, digits: 15 }, template, cx)
        })
    }),
    ("to_char(numeric,text)", |_| {
        two::<Num, Text, Text>(|a, template, cx| to_char(&a, template, cx))
    }),
    ("to_number(text,text)", |_| {
        two::<Text, Text, Null<Num>>(|text, template, cx| {
            cx.room(text.len().saturating_add(template.len().saturating_mul(PARSED_PER_BYTE)))?;
            read(text, template)
        })
    }),
];

/// A number that a template is for.
trait Number {
    /// As an integer, for letters.
    fn roman(&self) -> Result<i32>;
    /// With an exponent and so many decimals; `None` if it has no digits.
    fn scientific(&self, decimals: usize) -> Result<Option<String>>;
    /// Times ten to a power where the template has V, with the decimals that the shape asks for, which may be changed.
    fn plain(&self, shape: &mut Shape) -> Result<String>;
}

/// The most bytes that a pattern of one byte is written as: a roman number of two.
const MOST_PER_BYTE: usize = 8;
/// What a byte of a template takes when it is understood, in a list that has just grown.
const PARSED_PER_BYTE: usize = 2 * size_of::<Part>();

fn to_char(number: &dyn Number, template: &str, cx: &mut Cx<'_>) -> Result<String> {
    if template.is_empty() {
        return Ok(String::new());
    }
    cx.room(template.len().saturating_mul(MOST_PER_BYTE + PARSED_PER_BYTE))?;
    let (parts, mut shape) = parse(template)?;
    if shape.roman {
        let text = roman(number.roman()?);
        return write(&parts, &shape, &Digits { text, ..Digits::default() });
    }
    if shape.exponent {
        let text = number.scientific(shape.behind as usize)?;
        return Ok(match text {
            Some(text) if text.starts_with('-') => text,
            Some(text) => format!(" {text}"),
            None => {
                let (before, behind) = (shape.before as usize, shape.behind as usize);
                format!(" {}.{}", "#".repeat(before), "#".repeat(behind + 4))
            }
        });
    }
    let text = number.plain(&mut shape)?;
    let (negative, text) = match text.strip_prefix('-') {
        Some(size) => (true, size.to_owned()),
        None => (false, text),
    };
    let whole = text.find('.').unwrap_or(text.len()) as i32;
    let digits = match shape.before - whole {
        blanks @ 0.. => Digits { text, negative, blanks },
        _ => {
            let (before, behind) = (shape.before as usize, shape.behind as usize);
            let text = format!("{}.{}", "#".repeat(before), "#".repeat(behind));
            Digits { text, negative, blanks: 0 }
        }
    };
    write(&parts, &shape, &digits)
}

/// An integer, and whether it is an int8.
struct Int {
    value: i64,
    long: bool,
}

impl Int {
    fn of4(value: i32) -> Int {
        Int { value: i64::from(value), long: false }
    }

    fn of8(value: i64) -> Int {
        Int { value, long: true }
    }
}

impl Number for Int {
    fn roman(&self) -> Result<i32> {
        i32::try_from(self.value).map_err(|_| Error::new("22003", "integer out of range"))
    }

    fn scientific(&self, decimals: usize) -> Result<Option<String>> {
        if self.long {
            return Numeric::from(self.value).scientific(decimals);
        }
        Ok(Some(exponential(self.value as f64, decimals)))
    }

    fn plain(&self, shape: &mut Shape) -> Result<String> {
        let mut value = self.value;
        if shape.shifts && self.long {
            let none = || Error::new("22003", "bigint out of range");
            let power = 10_i64.checked_pow(shape.shift as u32).ok_or_else(none)?;
            value = value.checked_mul(power).ok_or_else(none)?;
        } else if shape.shifts {
            // int4 wraps around here; a power that does not fit is the least number.
            let power = 10_i32.checked_pow(shape.shift as u32).unwrap_or(i32::MIN);
            value = i64::from((value as i32).wrapping_mul(power));
        }
        shape.before += shape.shift;
        Ok(match shape.behind {
            0 => value.to_string(),
            behind => format!("{value}.{}", "0".repeat(behind as usize)),
        })
    }
}

struct Float {
    value: f64,
    /// Digits that its type keeps.
    digits: i32,
}

/// As C's %e.
fn exponential(value: f64, decimals: usize) -> String {
    // Digits beyond the 350th are zeros.
    let text = format!("{value:.*e}", decimals.min(350));
    let (mantissa, exponent) = text.split_once('e').expect("{:e} writes an exponent");
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    let zeros = "0".repeat(decimals.saturating_sub(350));
    format!("{mantissa}{zeros}e{sign}{exponent:0>2}")
}

/// As C's %f, with the names of what is no number.
fn fixed(value: f64, decimals: i32) -> String {
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        format!("{value:.*}", decimals.max(0) as usize)
    }
}

impl Number for Float {
    fn roman(&self) -> Result<i32> {
        // What is no int4 has no letters either.
        let rounded = self.value.round_ties_even();
        Ok(if rounded.abs() < 4000.0 { rounded as i32 } else { 0 })
    }

    fn scientific(&self, decimals: usize) -> Result<Option<String>> {
        Ok(self.value.is_finite().then(|| exponential(self.value, decimals)))
    }

    fn plain(&self, shape: &mut Shape) -> Result<String> {
        let mut value = self.value;
        if shape.shifts {
            let power = 10_f64.powi(shape.shift);
            value = match self.digits {
                6 => f64::from(value as f32 * power as f32),
                _ => value * power,
            };
            shape.before += shape.shift;
        }
        let whole = fixed(value.abs(), 0).len() as i32;
        shape.behind = shape.behind.min((self.digits - whole).max(0));
        Ok(fixed(value, shape.behind))
    }
}

impl Number for Numeric {
    fn roman(&self) -> Result<i32> {
        self.to_int4()
    }

    fn scientific(&self, decimals: usize) -> Result<Option<String>> {
        if !self.is_finite() {
            return Ok(None);
        }
        let (exponent, mantissa) = self.scientific_parts(decimals as i32)?;
        let sign = if exponent < 0 { '-' } else { '+' };
        Ok(Some(format!("{mantissa}e{sign}{:02}", exponent.abs())))
    }

    fn plain(&self, shape: &mut Shape) -> Result<String> {
        let mut value = self.clone();
        if shape.shifts {
            let power = Numeric::from(10).power(&i64::from(shape.shift).into())?;
            value = value.mul(&power)?;
            shape.before += shape.shift;
        }
        value.round(shape.behind).map(|value| value.to_string())
    }
}
