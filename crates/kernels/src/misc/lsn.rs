//! What is a place in the log, and what do its functions give?
//!
//! pg_lsn is a number of 64 bits; its 8 bytes, the highest first, are in its order. Thread safety: pure functions.

use std::cmp::Ordering;

use onlap_pg::value::numeric::{Class, Numeric};
use onlap_pg::{Error, Result};

use crate::aggregate::AggregateEntry;
use crate::array::extreme;
use crate::{Bool, Bytes, Entry, Int4, Num, Text, one, two};

/// Aggregates.
pub(super) const AGGREGATES: &[AggregateEntry] = &[
    ("max(pg_lsn)", |types| extreme(types, Ordering::Greater)),
    ("min(pg_lsn)", |types| extreme(types, Ordering::Less)),
];

/// Functions. Those of hashes are with the others.
pub(super) const ENTRIES: &[Entry] = &[
    ("pg_lsn_eq(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a == b))),
    ("pg_lsn_ne(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a != b))),
    ("pg_lsn_lt(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a < b))),
    ("pg_lsn_le(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a <= b))),
    ("pg_lsn_gt(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a > b))),
    ("pg_lsn_ge(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a >= b))),
    ("pg_lsn_cmp(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Int4>(|a, b, _| Ok(a.cmp(b) as i32))),
    ("pg_lsn_larger(pg_lsn,pg_lsn)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, b, _| Ok(a.max(b).to_vec()))
    }),
    ("pg_lsn_smaller(pg_lsn,pg_lsn)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, b, _| Ok(a.min(b).to_vec()))
    }),
    ("pg_lsn_mi(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Num>(|a, b, _| Ok(between(a, b)))),
    ("pg_wal_lsn_diff(pg_lsn,pg_lsn)", |_| two::<Bytes, Bytes, Num>(|a, b, _| Ok(between(a, b)))),
    ("pg_lsn_pli(pg_lsn,numeric)", |_| two::<Bytes, Num, Bytes>(|a, b, _| onward(a, &b))),
    ("numeric_pl_pg_lsn(numeric,pg_lsn)", |_| two::<Num, Bytes, Bytes>(|a, b, _| onward(b, &a))),
    ("pg_lsn_mii(pg_lsn,numeric)", |_| two::<Bytes, Num, Bytes>(|a, b, _| back(a, &b))),
    ("pg_walfile_name(pg_lsn)", |_| one::<Bytes, Text>(|a, _| Ok(file_of(load(a))))),
];

/// The file in which PostgreSQL has what ends at a place: the first timeline, and files of 16 MiB, 256 of each number.
fn file_of(place: u64) -> String {
    const FILE_BYTES: u64 = 16 << 20;
    const FILES: u64 = (1 << 32) / FILE_BYTES;
    let file = place.wrapping_sub(1) / FILE_BYTES;
    format!("{:08X}{:08X}{:08X}", 1, file / FILES, file % FILES)
}

/// The number that the form has.
pub(crate) fn load(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// pg_lsn_in: two numbers of one to eight hexadecimal digits, and nothing else.
pub(crate) fn parse(text: &str) -> Result<[u8; 8]> {
    let part = |text: &str| {
        let is_number =
            (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(text, 16).ok().filter(|_| is_number)
    };
    let parts = text.split_once('/').and_then(|(high, low)| Some((part(high)?, part(low)?)));
    let (high, low) = parts.ok_or_else(|| {
        Error::new("22P02", format!("invalid input syntax for type pg_lsn: \"{text}\""))
    })?;
    Ok((u64::from(high) << 32 | u64::from(low)).to_be_bytes())
}

/// pg_lsn_out.
pub(crate) fn print(bytes: &[u8]) -> String {
    let number = load(bytes);
    format!("{:X}/{:X}", number >> 32, number as u32)
}

fn number(bytes: &[u8]) -> Numeric {
    Numeric::from_units(load(bytes).into(), 0)
}

fn between(a: &[u8], b: &[u8]) -> Numeric {
    Numeric::from_units(i128::from(load(a)) - i128::from(load(b)), 0)
}

fn onward(a: &[u8], by: &Numeric) -> Result<Vec<u8>> {
    match by.class() == Class::NaN {
        true => Err(Error::new("0A000", "cannot add NaN to pg_lsn")),
        false => place(&number(a).add(by)?),
    }
}

fn back(a: &[u8], by: &Numeric) -> Result<Vec<u8>> {
    match by.class() == Class::NaN {
        true => Err(Error::new("0A000", "cannot subtract NaN from pg_lsn")),
        false => place(&number(a).sub(by)?),
    }
}

/// The place of a number, which is rounded.
fn place(number: &Numeric) -> Result<Vec<u8>> {
    if !number.is_finite() {
        return Err(Error::new("0A000", "cannot convert infinity to pg_lsn"));
    }
    let whole: std::result::Result<u64, _> = number.round(0)?.to_string().parse();
    let whole = whole.map_err(|_| Error::new("22023", "pg_lsn out of range"))?;
    Ok(whole.to_be_bytes().to_vec())
}
