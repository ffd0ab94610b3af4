//! What do functions of bytea and uuid give?

use onlap_pg::{Error, Result};

use crate::text::basic::bits;
use crate::text::parts::{find_first, laid, range};
use crate::{Bytes, Cx, Entry, Int4, Int8, Uuid, four, none, one, three, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("byteacat(bytea,bytea)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, b, cx| {
            cx.room(a.len().saturating_add(b.len()))?;
            Ok([a, b].concat())
        })
    }),
    ("length(bytea)", |_| one::<Bytes, Int4>(|a, _| Ok(a.len() as i32))),
    ("octet_length(bytea)", |_| one::<Bytes, Int4>(|a, _| Ok(a.len() as i32))),
    ("bit_length(bytea)", |_| one::<Bytes, Int4>(|a, _| bits(a.len()))),
    ("bit_count(bytea)", |_| {
        one::<Bytes, Int8>(|a, _| Ok(a.iter().map(|byte| i64::from(byte.count_ones())).sum()))
    }),
    ("substr(bytea,int4)", |_| two::<Bytes, Int4, Bytes>(|a, from, _| Ok(rest(a, from).into()))),
    ("substring(bytea,int4)", |_| two::<Bytes, Int4, Bytes>(|a, from, _| Ok(rest(a, from).into()))),
    ("substr(bytea,int4,int4)", |_| three::<Bytes, Int4, Int4, Bytes>(part)),
    ("substring(bytea,int4,int4)", |_| three::<Bytes, Int4, Int4, Bytes>(part)),
    ("overlay(bytea,bytea,int4)", |_| {
        three::<Bytes, Bytes, Int4, Bytes>(|a, new, from, cx| {
            overlay(a, new, from, new.len() as i32, cx)
        })
    }),
    ("overlay(bytea,bytea,int4,int4)", |_| four::<Bytes, Bytes, Int4, Int4, Bytes>(overlay)),
    ("position(bytea,bytea)", |_| two::<Bytes, Bytes, Int4>(position)),
    ("btrim(bytea,bytea)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, set, cx| trim(a, set, (true, true), cx))
    }),
    ("ltrim(bytea,bytea)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, set, cx| trim(a, set, (true, false), cx))
    }),
    ("rtrim(bytea,bytea)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, set, cx| trim(a, set, (false, true), cx))
    }),
    ("get_byte(bytea,int4)", |_| {
        two::<Bytes, Int4, Int4>(|a, n, _| {
            let at = index(i64::from(n), a.len() as i64)?;
            Ok(i32::from(a[at]))
        })
    }),
    ("set_byte(bytea,int4,int4)", |_| {
        three::<Bytes, Int4, Int4, Bytes>(|a, n, new, cx| {
            let at = index(i64::from(n), a.len() as i64)?;
            cx.room(a.len())?;
            let mut out = a.to_vec();
            out[at] = new as u8;
            Ok(out)
        })
    }),
    ("get_bit(bytea,int8)", |_| {
        two::<Bytes, Int8, Int4>(|a, n, _| {
            let at = index(n, a.len() as i64 * 8)?;
            Ok(i32::from(a[at / 8] >> (at % 8) & 1))
        })
    }),
    ("set_bit(bytea,int8,int4)", |_| {
        three::<Bytes, Int8, Int4, Bytes>(|a, n, new, cx| {
            let at = index(n, a.len() as i64 * 8)?;
            let bit = bit(new)?;
            cx.room(a.len())?;
            let mut out = a.to_vec();
            out[at / 8] = out[at / 8] & !(1 << (at % 8)) | bit << (at % 8);
            Ok(out)
        })
    }),
    ("gen_random_uuid()", |_| none::<Uuid>(|cx| Ok(random_uuid(cx)))),
];

/// The position that a number of a byte or bit is.
///
/// # Errors
/// `2202E`: there is none.
pub(super) fn index(n: i64, count: i64) -> Result<usize> {
    if (0..count).contains(&n) {
        return Ok(n as usize);
    }
    let message = format!("index {n} out of valid range, 0..{}", count - 1);
    Err(Error::new("2202E", message))
}

/// A bit that a number is.
///
/// # Errors
/// `22023`: it is neither 0 nor 1.
pub(super) fn bit(new: i32) -> Result<u8> {
    match new {
        0 | 1 => Ok(new as u8),
        _ => Err(Error::new("22023", "new bit must be 0 or 1")),
    }
}

fn rest(bytes: &[u8], from: i32) -> &[u8] {
    &bytes[(from.max(1) as usize - 1).min(bytes.len())..]
}

fn part(bytes: &[u8], from: i32, length: i32, _: &mut Cx<'_>) -> Result<Vec<u8>> {
    let Some((start, end)) = range(from, length)? else { return Ok(Vec::new()) };
    let end = end.min(bytes.len());
    Ok(bytes[start.min(end)..end].into())
}

fn overlay(bytes: &[u8], new: &[u8], from: i32, length: i32, cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let (from, after) = laid(from, length)?;
    let before = &bytes[..(from as usize - 1).min(bytes.len())];
    let after = rest(bytes, after);
    cx.room(before.len().saturating_add(new.len()).saturating_add(after.len()))?;
    Ok([before, new, after].concat())
}

/// Where bytes begin in others, counted from 1; 0 if they are not there.
fn position(bytes: &[u8], part: &[u8], cx: &mut Cx<'_>) -> Result<i32> {
    let found = find_first(part, bytes, cx)?;
    Ok(found.map_or(0, |at| at as i32 + 1))
}

/// Without the bytes of a set at its front and its back.
fn trim(bytes: &[u8], set: &[u8], ends: (bool, bool), cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut goes = [false; 256];
    cx.pieces(set, |piece| piece.iter().for_each(|byte| goes[usize::from(*byte)] = true))?;
    let mut bytes = bytes;
    while let (true, [first, rest @ ..]) = (ends.0, bytes) {
        cx.worked(1)?;
        if !goes[usize::from(*first)] {
            break;
        }
        bytes = rest;
    }
    while let (true, [rest @ .., last]) = (ends.1, bytes) {
        cx.worked(1)?;
        if !goes[usize::from(*last)] {
            break;
        }
        bytes = rest;
    }
    Ok(bytes.into())
}

/// A uuid of version 4.
fn random_uuid(cx: &Cx<'_>) -> [u8; 16] {
    let (high, low) = (cx.session.random(), cx.session.random());
    let mut bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}
