//! How do INCLUDE columns lie in a block?
//!
//! Each behind its length, for random access by entry. Pure.

use std::ops::Range;

use onlap_base::{Error, Result};

use crate::batch::{Batch, Column, NullMask, Vector};

const SAMPLE: usize = 256;

/// Bits per entry that the columns will take, by a sample.
pub(super) fn bits_per_entry(batch: &Batch, range: Range<usize>) -> usize {
    if batch.columns.is_empty() {
        return 0;
    }
    let n = range.len().min(SAMPLE);
    let mut trial = Vec::new();
    encode(batch, range.start..range.start + n, &mut trial);
    trial.len() * 8 / n
}

/// Appends rows `range` of every column.
pub(super) fn encode(batch: &Batch, range: Range<usize>, out: &mut Vec<u8>) {
    for column in &batch.columns {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        encode_column(column, range.clone(), out);
        let len = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    }
}

/// Finds the columns; `at` is 0 without any.
pub(super) fn parse(bytes: &[u8], at: usize) -> Result<Vec<Range<usize>>> {
    let mut places = Vec::new();
    let mut next = at;
    while at > 0 && next < bytes.len() {
        let damaged = || Error::corruption("", next as u64, "an INCLUDE column ends early");
        let len = bytes[next..].first_chunk().ok_or_else(damaged)?;
        let end = next + 4 + u32::from_le_bytes(*len) as usize;
        if end > bytes.len() {
            return Err(damaged());
        }
        places.push(next + 4..end);
        next = end;
    }
    Ok(places)
}

fn encode_column(column: &Column, range: Range<usize>, out: &mut Vec<u8>) {
    let nulls = column.nulls.is_some();
    out.push(u8::from(nulls));
    if nulls {
        out.extend(range.clone().map(|i| u8::from(column.is_null(i))));
    }
    match &column.data {
        Vector::Int(v) => range.for_each(|i| out.extend_from_slice(&v[i].to_le_bytes())),
        Vector::Wide(v) => range.for_each(|i| out.extend_from_slice(&v[i].to_le_bytes())),
        Vector::Numeric(m, s) => range.for_each(|i| {
            out.extend_from_slice(&m[i].to_le_bytes());
            out.push(s[i]);
        }),
        Vector::Bytes(v) => {
            let base = v.offsets[range.start];
            for i in range.clone() {
                out.extend_from_slice(&(v.offsets[i + 1] - base).to_le_bytes());
            }
            out.extend_from_slice(&v.data[base as usize..v.offsets[range.end] as usize]);
        }
    }
}

/// Appends entries `range` of a column of `rows` entries.
pub(super) fn append(
    bytes: &[u8],
    rows: usize,
    range: Range<usize>,
    column: &mut Column,
) -> Result<()> {
    let damaged = || Error::damaged("an INCLUDE column ends early");
    let (flag, rest) = bytes.split_first().ok_or_else(damaged)?;
    let (nulls, data) = if *flag == 1 {
        let (nulls, data) = rest.split_at_checked(rows).ok_or_else(damaged)?;
        (Some(nulls), data)
    } else {
        (None, rest)
    };
    let before = column.len();
    let field = |size: usize, i: usize| data.get(size * i..size * i + size).ok_or_else(damaged);
    for i in range.clone() {
        match &mut column.data {
            Vector::Int(v) => {
                v.push(i64::from_le_bytes(field(8, i)?.try_into().expect("8 bytes")));
            }
            Vector::Wide(v) => {
                v.push(i128::from_le_bytes(field(16, i)?.try_into().expect("16 bytes")));
            }
            Vector::Numeric(m, s) => {
                let raw = field(17, i)?;
                m.push(i128::from_le_bytes(raw[..16].try_into().expect("16 bytes")));
                s.push(raw[16]);
            }
            Vector::Bytes(v) => {
                let end = |i: usize| -> Result<usize> {
                    Ok(u32::from_le_bytes(field(4, i)?.try_into().expect("4 bytes")) as usize)
                };
                let start = if i == 0 { 0 } else { end(i - 1)? };
                v.push(data[4 * rows..].get(start..end(i)?).ok_or_else(damaged)?);
            }
        }
    }
    if nulls.is_some() || column.nulls.is_some() {
        let mask = column.nulls.get_or_insert_with(|| NullMask::none(before));
        range.for_each(|i| mask.push(nulls.is_some_and(|n| n[i] == 1)));
    }
    Ok(())
}
