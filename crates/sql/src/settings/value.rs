//! How is a value of a setting read and written?
//!
//! As PostgreSQL does it: `on`, `1`, `yes`, `t` and their beginnings; numbers with units of time or
//! memory, shown in the largest unit that divides them. Sizes also take KiB, MiB, GiB, which are the
//! same as kB, MB, GB.

use super::Kind;
use crate::error::{SqlError, state};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// on or off.
    Flag(bool),
    /// In the setting's unit.
    Int(i64),
    /// Any number.
    Real(f64),
    /// Text or a word.
    Text(String),
}

/// What a whole number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    None,
    /// Bytes.
    Bytes,
    /// 1024 bytes.
    Kb,
    /// 8192 bytes.
    Blocks,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

/// Names of units and how many of the smallest they are, largest first; the first of each size is shown.
const MEMORY: [(&str, i64); 11] = [
    ("TB", 1 << 40),
    ("TiB", 1 << 40),
    ("GB", 1 << 30),
    ("GiB", 1 << 30),
    ("G", 1 << 30),
    ("MB", 1 << 20),
    ("MiB", 1 << 20),
    ("M", 1 << 20),
    ("kB", 1 << 10),
    ("KiB", 1 << 10),
    ("B", 1),
];
const TIME: [(&str, i64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1000),
    ("us", 1),
];

/// Why a text is no value of a setting, in what PostgreSQL says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is none.
    Value,
    /// It is none, for this reason.
    Detail(String),
    /// It is none; these are.
    Hint(String),
    /// It is neither on nor off.
    Flag,
    /// It is a number, and beyond these limits: all three as they are shown.
    Range(String, String, String),
}

impl Wrong {
    /// The error of a setting that was given such a text.
    pub(super) fn error(self, name: &str, text: &str) -> SqlError {
        let none = format!("invalid value for parameter \"{name}\": \"{text}\"");
        let wrong = |text: String| SqlError::new(state::BAD_PARAMETER, text);
        match self {
            Wrong::Value => wrong(none),
            Wrong::Detail(why) => wrong(none).detail(why),
            Wrong::Hint(which) => wrong(none).hint(which),
            Wrong::Flag => wrong(format!("parameter \"{name}\" requires a Boolean value")),
            Wrong::Range(value, least, most) => wrong(format!(
                "{value} is outside the valid range for parameter \"{name}\" ({least} .. {most})"
            )),
        }
    }
}

impl Unit {
    /// Units that may be given, in the smallest of them, and how many of those one of ours is.
    fn names(self) -> (&'static [(&'static str, i64)], i64) {
        match self {
            Unit::None => (&[], 1),
            Unit::Bytes => (&MEMORY, 1),
            Unit::Kb => (&MEMORY, 1 << 10),
            Unit::Blocks => (&MEMORY, 8 << 10),
            Unit::Ms => (&TIME, 1000),
            Unit::S => (&TIME, 1_000_000),
        }
    }
    /// What is said of a unit that is none of these.
    fn told(self) -> &'static str {
        match self {
            Unit::Ms | Unit::S => {
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\"."
            }
            _ => "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
        }
    }
    /// As pg_settings names it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::Bytes => Some("B"),
            Unit::Kb => Some("kB"),
            Unit::Blocks => Some("8kB"),
            Unit::Ms => Some("ms"),
            Unit::S => Some("s"),
        }
    }
}

/// Reads a value.
pub(super) fn parse(kind: Kind, text: &str) -> Result<Value, Wrong> {
    match kind {
        Kind::Flag => flag(text).map(Value::Flag).ok_or(Wrong::Flag),
        Kind::Number(unit, least, most) => {
            let n = number(unit, text, most)?;
            match (least..=most).contains(&n) {
                true => Ok(Value::Int(n)),
                false => {
                    let unit = unit.name().map(|unit| format!(" {unit}")).unwrap_or_default();
                    Err(Wrong::Range(format!("{n}{unit}"), least.to_string(), most.to_string()))
                }
            }
        }
        Kind::Real(least, most) => match real(text).ok_or(Wrong::Value)? {
            x if x.is_nan() => Err(Wrong::Value),
            x if x >= least && x <= most => Ok(Value::Real(x)),
            x => Err(Wrong::Range(general(x), general(least), general(most))),
        },
        Kind::Word(words) => word(words, text)
            .map(|w| Value::Text(w.to_string()))
            .ok_or_else(|| Wrong::Hint(format!("Available values: {}.", words.join(", ")))),
        Kind::Text => Ok(Value::Text(text.to_string())),
        Kind::Checked(check) => match check(text) {
            Ok(text) => Ok(Value::Text(text)),
            Err(why) if why.is_empty() => Err(Wrong::Value),
            Err(why) => Err(Wrong::Detail(why)),
        },
    }
}

/// As SHOW gives it.
pub(super) fn show(kind: Kind, value: &Value) -> String {
    match (kind, value) {
        (Kind::Number(unit, ..), Value::Int(n)) => show_number(unit, *n),
        (_, Value::Flag(on)) => if *on { "on" } else { "off" }.to_string(),
        (_, Value::Int(n)) => n.to_string(),
        (_, Value::Real(x)) => general(*x),
        (_, Value::Text(text)) => text.clone(),
    }
}

/// As pg_settings gives it: numbers without unit.
pub(super) fn plain(value: &Value) -> String {
    show(Kind::Text, value)
}

/// Words of PostgreSQL for on and off; a beginning is enough where it says which.
fn flag(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if text == "1" || begins("true", 1) || begins("yes", 1) || text == "on" {
        return Some(true);
    }
    (text == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2)).then_some(false)
}

/// Words that are taken and not told of: where the last one is among a setting's, the first stands for the second.
const UNTOLD: [(&str, &str, &str); 8] = [
    ("debug", "debug2", "debug2"),
    ("info", "info", "debug2"),
    ("true", "on", "on"),
    ("yes", "on", "on"),
    ("1", "on", "on"),
    ("false", "off", "off"),
    ("no", "off", "off"),
    ("0", "off", "off"),
];

/// The word as the registry writes it.
fn word(words: &[&'static str], text: &str) -> Option<&'static str> {
    let untold = || {
        let mut of = UNTOLD.iter().filter(|(said, _, _)| said.eq_ignore_ascii_case(text));
        // Words for on and off stand for each other where both are there.
        let both =
            |at: &str| at != "off" && at != "on" || ["on", "off"].iter().all(|w| words.contains(w));
        of.find(|(_, _, among)| words.contains(among) && both(among)).map(|(_, meant, _)| *meant)
    };
    words.iter().find(|word| word.eq_ignore_ascii_case(text)).copied().or_else(untold)
}

/// A whole number as C reads it, with the unit behind it.
fn number(unit: Unit, text: &str, most: i64) -> Result<i64, Wrong> {
    let (names, ours) = unit.names();
    let (n, name) = leading(text).ok_or(Wrong::Value)?;
    let total = match name {
        "" => n,
        _ if names.is_empty() => return Err(Wrong::Value),
        _ => {
            let found = names.iter().find(|(n, _)| *n == name);
            let (_, size) = found.ok_or_else(|| Wrong::Hint(unit.told().to_owned()))?;
            let whole = n * *size as f64;
            // A fraction is one of the next smaller unit.
            let next = names.iter().map(|(_, next)| *next).find(|next| next < size);
            let whole = match next {
                Some(next) => (whole / next as f64).round_ties_even() * next as f64,
                None => whole,
            };
            whole / ours as f64
        }
    };
    let total = total.round_ties_even();
    let limit =
        if most > i64::from(i32::MAX) { i64::MAX as f64 } else { f64::from(i32::MAX) + 1.0 };
    match total >= -limit && total < limit {
        true => Ok(total as i64),
        false => Err(Wrong::Hint("Value exceeds integer range.".to_owned())),
    }
}

/// The number that a text begins with, in decimal, hexadecimal (0x) or octal (0) form, and the word behind it.
fn leading(text: &str) -> Option<(f64, &str)> {
    let space = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    let text = text.trim_start_matches(space);
    let signed = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let ends = |text: &str, is: fn(char) -> bool| text.find(|c| !is(c)).unwrap_or(text.len());
    let based = |digits: &str, base: u32| {
        u64::from_str_radix(digits, base).map(|n| n as f64).unwrap_or(f64::INFINITY)
    };
    let hexadecimal = signed.strip_prefix("0x").or_else(|| signed.strip_prefix("0X"));
    let (n, rest) = match hexadecimal {
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            let end = ends(digits, |c| c.is_ascii_hexdigit());
            (based(&digits[..end], 16), &digits[end..])
        }
        _ => {
            let end = decimal_end(signed);
            let digits = &signed[..end];
            let octal = digits.len() > 1
                && digits.starts_with('0')
                && digits.bytes().all(|digit| (b'0'..b'8').contains(&digit));
            let n = if octal { based(digits, 8) } else { digits.parse().ok()? };
            (n, &signed[end..])
        }
    };
    Some((sign * n, rest.trim_matches(space)))
}

/// Where a number in decimal form ends, with its fraction and exponent.
fn decimal_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if end > 0 && bytes.get(end).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'e')) {
        let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits(signed);
        if after > signed {
            end = after;
        }
    }
    end
}

/// A text that is a number and nothing else.
fn real(text: &str) -> Option<f64> {
    match leading(text) {
        Some((x, "")) => Some(x),
        Some(_) => None,
        // "nan" and "inf".
        None => text.trim().parse().ok(),
    }
}

/// A number of six digits, as C writes it with %g.
pub(super) fn general(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let scientific = format!("{x:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    trimmed(&format!("{x:.*}", usize::try_from(5 - exponent).unwrap_or(0)))
}

fn show_number(unit: Unit, n: i64) -> String {
    let (names, ours) = unit.names();
    if n <= 0 || names.is_empty() {
        return n.to_string();
    }
    let total = i128::from(n) * i128::from(ours);
    let fits = |(_, size): &&(&str, i64)| total % i128::from(*size) == 0;
    match names.iter().find(fits) {
        Some((name, size)) => format!("{}{name}", total / i128::from(*size)),
        None => n.to_string(),
    }
}
