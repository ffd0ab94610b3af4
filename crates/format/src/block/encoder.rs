//! How are rows made a block?
//!
//! An encoder learns from block to block what makes the strings of each column small and how large
//! rows become. It belongs to one thread.

use std::ops::Range;

use onlap_base::RowId;
use onlap_base::limits::{BLOCK_BYTES, BLOCK_ROWS_MAX, BLOCK_ROWS_MIN};

use super::{BLOCK_HEADER_BYTES, FLAG_BLOBS, FLAG_ZSTD, VERSION_BLOBS, VERSION_PLAIN};
use crate::batch::{Batch, Column, NullMask, Vector};
use crate::blob::{self, FrameWriter};
use crate::encode::int;
use crate::encode::{ColumnEncoder, Effort};

/// Which row ids the rows of a block have.
#[derive(Clone, Copy, Debug)]
pub enum RowIds<'a> {
    /// Consecutive ones from the first.
    Dense(RowId),
    /// One per row, ascending.
    List(&'a [RowId]),
}

/// Encodes the blocks of one segment, learning their size as it goes.
#[derive(Debug)]
pub struct BlockEncoder {
    columns: Vec<ColumnEncoder>,
    compress: bool,
    /// Encoded bytes per 1024 raw bytes in the blocks so far.
    ratio: usize,
}

impl BlockEncoder {
    /// For rows of `columns` columns; `compress` adds zstd where it saves an eighth.
    pub fn new(columns: usize, compress: bool) -> BlockEncoder {
        let columns = (0..columns).map(|_| ColumnEncoder::default()).collect();
        BlockEncoder { columns, compress, ratio: 512 }
    }

    /// How many rows from `start` make a block of about [`BLOCK_BYTES`], at least 1 where there are
    /// any, judged by how well the rows before them were encoded. `apart`: long values do not count,
    /// as [`BlockEncoder::encode_apart`] will keep them out of the block.
    pub fn rows_that_fit(&self, batch: &Batch, start: usize, apart: bool) -> usize {
        let left = batch.rows - start;
        if left <= BLOCK_ROWS_MIN {
            return left;
        }
        let raw_wanted = BLOCK_BYTES * 1024 / self.ratio.max(1);
        let most = left.min(BLOCK_ROWS_MAX);
        let (mut low, mut high) = (BLOCK_ROWS_MIN, most);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if raw_bytes(batch, start..start + middle, apart) <= raw_wanted {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Appends rows `range` (at least one, at most [`BLOCK_ROWS_MAX`]) as a block, long values and
    /// all.
    pub fn encode(
        &mut self,
        batch: &Batch,
        range: Range<usize>,
        row_ids: RowIds<'_>,
        out: &mut Vec<u8>,
    ) {
        self.put_block(batch, range, row_ids, None, out);
    }

    /// As [`BlockEncoder::encode`], but puts long values into `frames`.
    pub fn encode_apart(
        &mut self,
        batch: &Batch,
        range: Range<usize>,
        row_ids: RowIds<'_>,
        frames: &mut FrameWriter,
        out: &mut Vec<u8>,
    ) {
        self.put_block(batch, range, row_ids, Some(frames), out);
    }

    fn put_block(
        &mut self,
        batch: &Batch,
        range: Range<usize>,
        row_ids: RowIds<'_>,
        mut frames: Option<&mut FrameWriter>,
        out: &mut Vec<u8>,
    ) {
        let columns = self.columns.len();
        assert_eq!(batch.columns.len(), columns, "a segment's rows have the same columns");
        assert!((1..=BLOCK_ROWS_MAX).contains(&range.len()), "1 to 4096 rows per block");
        let start = out.len();
        out.extend_from_slice(&[0; BLOCK_HEADER_BYTES]);
        let body = out.len();
        out.resize(body + 4 * columns, 0);
        put_row_ids(row_ids, range.len(), out);
        let first_column = out.len();
        let mut lists = Vec::new();
        for (k, (column, encoder)) in batch.columns.iter().zip(&mut self.columns).enumerate() {
            let inline = frames.as_mut().and_then(|frames| {
                take_long(frames, k, column, range.clone(), row_ids, &mut lists)
            });
            match inline {
                Some(inline) => encoder.encode(&inline, 0..range.len(), out),
                None => encoder.encode(column, range.clone(), out),
            }
            let end = u32::try_from(out.len() - first_column).expect("a block is below 4 GiB");
            out[body + 4 * k..][..4].copy_from_slice(&end.to_le_bytes());
        }
        out.extend_from_slice(&lists);
        let body_len = out.len() - body;
        let raw = raw_bytes(batch, range.clone(), frames.is_some());
        self.ratio = (body_len * 1024 / raw.max(1)).clamp(1, 4096);
        let zstd = if self.compress && compress_body(out, body) { FLAG_ZSTD } else { 0 };
        let (version, blobs) =
            if lists.is_empty() { (VERSION_PLAIN, 0) } else { (VERSION_BLOBS, FLAG_BLOBS) };
        let header = &mut out[start..body];
        header[4] = version;
        header[5] = zstd | blobs;
        header[6..8].copy_from_slice(&(columns as u16).to_le_bytes());
        header[8..12].copy_from_slice(&(range.len() as u32).to_le_bytes());
        header[12..16].copy_from_slice(&(body_len as u32).to_le_bytes());
        let sum = crc32c::crc32c(&out[start + 4..]);
        out[start..start + 4].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Puts the long values of rows `range` into frames; returns what stays, or `None` where all does.
fn take_long(
    frames: &mut FrameWriter,
    k: usize,
    column: &Column,
    range: Range<usize>,
    row_ids: RowIds<'_>,
    lists: &mut Vec<u8>,
) -> Option<Column> {
    let Vector::Bytes(values) = &column.data else { return None };
    let row_id = |i: usize| match row_ids {
        RowIds::Dense(first) => first + i as u64,
        RowIds::List(ids) => ids[i],
    };
    let inline = frames.take_long(k, values, range.clone(), row_id, lists)?;
    let nulls = column.nulls.as_ref().map(|nulls| {
        let mut mask = NullMask::none(0);
        range.for_each(|i| mask.push(nulls.get(i)));
        mask
    });
    Some(Column { data: Vector::Bytes(inline), nulls })
}

/// Bytes of the values as they lie in memory, without long ones where these lie apart.
fn raw_bytes(batch: &Batch, range: Range<usize>, apart: bool) -> usize {
    let n = range.len();
    let of = |data: &Vector| match data {
        Vector::Int(_) => 8 * n,
        Vector::Wide(_) => 16 * n,
        Vector::Numeric(..) => 17 * n,
        Vector::Bytes(v) if apart => 2 * n + blob::inline_bytes(v, range.clone()),
        Vector::Bytes(v) => 2 * n + (v.offsets[range.end] - v.offsets[range.start]) as usize,
    };
    batch.columns.iter().map(|c| of(&c.data)).sum()
}

fn put_row_ids(row_ids: RowIds<'_>, rows: usize, out: &mut Vec<u8>) {
    match row_ids {
        RowIds::Dense(first) => int::put_line(first as i64, 1, out),
        RowIds::List(ids) => {
            assert_eq!(ids.len(), rows, "one row id per row");
            debug_assert!(ids.is_sorted());
            let ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
            int::encode(&ids, Effort::Fast, out);
        }
    }
}

/// Replaces the body by its compressed form where that saves an eighth.
fn compress_body(out: &mut Vec<u8>, body: usize) -> bool {
    let Ok(compressed) = zstd::bulk::compress(&out[body..], 1) else { return false };
    if compressed.len() > (out.len() - body) / 8 * 7 {
        return false;
    }
    out.truncate(body);
    out.extend_from_slice(&compressed);
    true
}
