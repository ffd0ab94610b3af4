//! What number does a text with a unit mean, and how is a number printed for people?

use onlap_base::{Error, ErrorKind, Result};

use crate::names;

#[cfg(test)]
mod tests;

const SIZES: [(&str, u64); 13] = [
    ("", 1),
    ("B", 1),
    ("k", 1 << 10),
    ("K", 1 << 10),
    ("kB", 1 << 10),
    ("KB", 1 << 10),
    ("KiB", 1 << 10),
    ("M", 1 << 20),
    ("MB", 1 << 20),
    ("MiB", 1 << 20),
    ("G", 1 << 30),
    ("GB", 1 << 30),
    ("GiB", 1 << 30),
];

const COUNTS: [(&str, u64); 6] = [
    ("", 1),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("B", 1_000_000_000),
    ("G", 1_000_000_000),
];

/// A size in bytes: `256MiB`, `1G`, `65536`. Units are powers of 1024, as in PostgreSQL's settings.
pub fn parse_size(text: &str) -> Result<u64> {
    parse(text, "size", &SIZES)
}

/// A count: `5M`, `250k`, `1000`. Units are powers of 1000.
pub fn parse_count(text: &str) -> Result<u64> {
    parse(text, "count", &COUNTS)
}

fn parse(text: &str, what: &str, units: &[(&str, u64)]) -> Result<u64> {
    let trimmed = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let end = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
    let (digits, unit) = (trimmed[..end].replace('_', ""), trimmed[end..].trim());
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let valid: Vec<&str> = units.iter().map(|u| u.0).filter(|n| !n.is_empty()).collect();
        return Err(names::unknown(&format!("unit of a {what}"), unit, &valid));
    };
    let whole = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(*factor));
    let fraction = || digits.parse::<f64>().ok().map(|n| n * *factor as f64);
    whole
        .or_else(|| fraction().filter(|n| n.is_finite() && *n < u64::MAX as f64).map(|n| n as u64))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidInput,
                format!("'{text}' is not a {what}: a number and a unit are needed, such as 5M"),
            )
        })
}

/// A count with thousands separated: `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Three significant digits, or a whole number.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => grouped(value.round() as u64),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A size for people: `12.3 MiB`.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}
