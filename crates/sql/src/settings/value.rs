//! How is a value of a setting read and written?
//!
//! As PostgreSQL does it: `on`, `1`, `yes`, `t` and their beginnings; numbers with units of time or
//! memory, shown in the largest unit that divides them. Sizes also take KiB, MiB, GiB, which are the
//! same as kB, MB, GB.

use super::Kind;

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
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

/// Names of units and how many base units they are, largest first; the first of each size is shown.
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
const TIME: [(&str, i64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];

impl Unit {
    /// Units that may be given, in the smallest of them, and how many of those one of ours is.
    fn names(self) -> (&'static [(&'static str, i64)], i64) {
        match self {
            Unit::None => (&[], 1),
            Unit::Bytes => (&MEMORY, 1),
            Unit::Kb => (&MEMORY, 1 << 10),
            Unit::Ms => (&TIME, 1),
            Unit::S => (&TIME, 1000),
        }
    }
    /// As pg_settings names it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::Bytes => Some("B"),
            Unit::Kb => Some("kB"),
            Unit::Ms => Some("ms"),
            Unit::S => Some("s"),
        }
    }
}

/// Reads a value; the error is a hint, which may be empty.
pub(super) fn parse(kind: Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Flag => flag(text).map(Value::Flag).ok_or_else(String::new),
        Kind::Number(unit, least, greatest) => {
            let n = number(unit, text)?;
            match (least..=greatest).contains(&n) {
                true => Ok(Value::Int(n)),
                false => Err(format!("Valid are {least} to {greatest}.")),
            }
        }
        Kind::Real(least, greatest) => match text.trim().parse::<f64>() {
            Ok(x) if x >= least && x <= greatest => Ok(Value::Real(x)),
            _ => Err(format!("Valid are {least} to {greatest}.")),
        },
        Kind::Word(words) => word(words, text)
            .map(|w| Value::Text(w.to_string()))
            .ok_or_else(|| format!("Available values: {}.", words.join(", "))),
        Kind::Text => Ok(Value::Text(text.to_string())),
        Kind::Checked(check) => check(text).map(Value::Text),
    }
}

/// As SHOW gives it.
pub(super) fn show(kind: Kind, value: &Value) -> String {
    match (kind, value) {
        (Kind::Number(unit, ..), Value::Int(n)) => show_number(unit, *n),
        (_, Value::Flag(on)) => if *on { "on" } else { "off" }.to_string(),
        (_, Value::Int(n)) => n.to_string(),
        (_, Value::Real(x)) => x.to_string(),
        (_, Value::Text(text)) => text.clone(),
    }
}

/// As pg_settings gives it: numbers without unit.
pub(super) fn plain(value: &Value) -> String {
    show(Kind::Text, value)
}

/// Words of PostgreSQL for on and off; a beginning is enough where it says which.
fn flag(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if text == "1" || begins("true", 1) || begins("yes", 1) || text == "on" {
        return Some(true);
    }
    (text == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2)).then_some(false)
}

/// The word as the registry writes it. Words for on and off stand for each other where both are there.
fn word(words: &[&'static str], text: &str) -> Option<&'static str> {
    let text = text.trim();
    let same = |w: &&&str| w.eq_ignore_ascii_case(text);
    words.iter().find(same).copied().or_else(|| {
        let stands_for = if flag(text)? { "on" } else { "off" };
        words.iter().find(|w| **w == stands_for).copied()
    })
}

fn number(unit: Unit, text: &str) -> Result<i64, String> {
    let (names, ours) = unit.names();
    let units = || match names.is_empty() {
        true => "A whole number is needed.".to_string(),
        false => {
            let names: Vec<&str> = names.iter().rev().map(|(name, _)| *name).collect();
            format!("Valid units for this parameter are {}.", names.join(", "))
        }
    };
    let text = text.trim();
    let is_unit = |c: char| c.is_ascii_alphabetic();
    let (digits, name) = text.split_at(text.find(is_unit).unwrap_or(text.len()));
    let digits = digits.trim();
    let factor = match name {
        "" => ours,
        _ => names.iter().find(|(n, _)| *n == name).ok_or_else(units)?.1,
    };
    if let Ok(n) = digits.parse::<i64>() {
        let total = n.checked_mul(factor).ok_or_else(|| "It is too large.".to_string())?;
        // Half of our unit rounds up, as PostgreSQL does it.
        return Ok((total + ours / 2).div_euclid(ours));
    }
    let n = digits.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(units)?;
    let total = (n * factor as f64 / ours as f64).round();
    match total.abs() < i64::MAX as f64 {
        true => Ok(total as i64),
        false => Err("It is too large.".to_string()),
    }
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
