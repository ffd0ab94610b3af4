//! How do INCLUDE columns lie in a block?
//!
//! Each behind its length, for random access by entry. Pure.

use std::ops::Range;

use onlap_base::{Error, Result};

use crate::batch::{Batch, Column};
use crate::encode::{ColumnView, Effort, encode_column};

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
        encode_column(column, range.clone(), Effort::Small, out);
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

/// Appends entries `range` of a column of `rows` entries.
pub(super) fn append(
    bytes: &[u8],
    rows: usize,
    range: Range<usize>,
    column: &mut Column,
) -> Result<()> {
    ColumnView::parse(bytes, rows)?.append_to(range, column)
}
