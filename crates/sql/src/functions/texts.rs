//! Which functions of PostgreSQL work on values alone?

use onlap_base::clock::{Clock, SystemClock};
use ring::rand::{SecureRandom, SystemRandom};

use super::rowwise::Rowwise;
use crate::catalog::names::quote;
use crate::error::{SqlError, state};
use crate::system::rows::Datum;
use crate::types::oid;

/// All of them.
pub fn all() -> Vec<Rowwise> {
    let mut all = quoting();
    all.extend(numbers());
    all.push(Rowwise::strict("gen_random_uuid", oid::UUID, |_| random_uuid()).volatile());
    let now = |_: &[Datum]| Ok(SystemClock.unix_us().into());
    all.push(Rowwise::strict("clock_timestamp", oid::TIMESTAMPTZ, now).volatile());
    all
}

fn arg(arguments: &[Datum], at: usize) -> Datum {
    arguments.get(at).cloned().unwrap_or_default()
}

/// As quote_literal() gives it.
pub fn literal(text: &str) -> String {
    match text.contains('\\') {
        true => format!(" E'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

fn quoting() -> Vec<Rowwise> {
    let nullable = |a: &[Datum]| match arg(a, 0) {
        Datum::Null => Ok("NULL".into()),
        value => Ok(literal(&value.text()).into()),
    };
    vec![
        Rowwise::strict("quote_ident", oid::TEXT, |a| Ok(quote(&arg(a, 0).text()).into())),
        Rowwise::strict("quote_literal", oid::TEXT, |a| Ok(literal(&arg(a, 0).text()).into())),
        Rowwise::strict("quote_nullable", oid::TEXT, nullable).with_nulls(),
        Rowwise::strict("format", oid::TEXT, super::format::format).with_nulls(),
        // What stands for a literal of bytes that is none (`crate::rewrite`).
        Rowwise::strict("onlap_bad_bytes", oid::BYTEA, |a| {
            Err(match arg(a, 0).text().strip_prefix("\\x") {
                Some(_) => SqlError::new("22023", "invalid hexadecimal data"),
                None => SqlError::new(state::BAD_TEXT, "invalid input syntax for type bytea"),
            })
        }),
        Rowwise::strict("onlap_text", oid::TEXT, |a| Ok(arg(a, 0).text().into())),
    ]
}

fn numbers() -> Vec<Rowwise> {
    let encoding = |a: &[Datum]| Ok(if arg(a, 0).int() == Some(6) { "UTF8" } else { "" }.into());
    let number = |a: &[Datum]| {
        let known = matches!(&*arg(a, 0).text().to_uppercase(), "UTF8" | "UTF-8" | "UNICODE");
        Ok(if known { 6 } else { -1 }.into())
    };
    vec![
        Rowwise::strict("pg_size_pretty", oid::TEXT, |a| {
            Ok(size_pretty(arg(a, 0).int().unwrap_or(0)).into())
        }),
        Rowwise::strict("pg_encoding_to_char", oid::NAME, encoding),
        Rowwise::strict("pg_char_to_encoding", oid::INT4, number),
    ]
}

/// As PostgreSQL: the largest unit in which at least ten are left, rounded half up.
fn size_pretty(bytes: i64) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let (sign, mut left) = (if bytes < 0 { "-" } else { "" }, bytes.unsigned_abs());
    if left < 10 * 1024 {
        return format!("{sign}{left} bytes");
    }
    // One more bit than the unit has, for rounding.
    left >>= 9;
    let mut unit = 1;
    while left >= 20 * 1024 - 1 && unit + 1 < UNITS.len() {
        left >>= 10;
        unit += 1;
    }
    format!("{sign}{} {}", left.div_ceil(2), UNITS[unit])
}

fn random_uuid() -> crate::error::Result<Datum> {
    let mut bytes = [0u8; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| SqlError::new("58000", "the system gives no random numbers"))?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::new();
    let value = onlap::Value::Uuid(bytes);
    onlap::convert::format_text(onlap::DataType::Uuid, &value, &mut text);
    Ok(text.into())
}
