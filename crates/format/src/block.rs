//! How do rows of a segment lie in a block, one column after the other?
//!
//! A block is the unit of reading: fetching a row is one read, and a scan of a cached block touches
//! only the columns it needs. Row ids travel with the rows, so a block explains itself. Blocks are
//! closed by encoded size ([`BlockEncoder::rows_that_fit`]). Nothing here knows of files or caches;
//! blocks are immutable and safe to share.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of everything after it |
//! | 4 | 1 | version, 1 |
//! | 5 | 1 | flags: 1 the body is compressed by zstd |
//! | 6 | 2 | number of columns |
//! | 8 | 4 | number of rows, at least 1 |
//! | 12 | 4 | length of the body before compression |
//! | 16 | | body |
//!
//! The body: per column the end (4 bytes) of its bytes, counted from the first column's start; the
//! row ids as an [integer stream](crate::encode::int) (a dense block costs a few bytes: base and
//! slope 1); the columns ([`encode::column`](crate::encode::column)).
//!
//! ```
//! use onlap_format::block::{Block, BlockEncoder, RowIds};
//! use onlap_format::{Batch, Column, Vector};
//! let batch = Batch { columns: vec![Column { data: Vector::Int(vec![4, 5, 4]), nulls: None }], rows: 3 };
//! let mut out = Vec::new();
//! BlockEncoder::new(1, false).encode(&batch, 0..3, RowIds::Dense(100), &mut out);
//! assert_eq!(&out[4..16], [1, 0, 1, 0, 3, 0, 0, 0, 13, 0, 0, 0]);
//! // the column ends at 4; row ids: width 0, slope flag, base 100, slope 1; column: int, width 1, base 4
//! assert_eq!(&out[16..], [4, 0, 0, 0, 0x80, 1, 200, 1, 2, 0, 1, 8, 0b010]);
//! let block = Block::parse(&out)?;
//! assert_eq!(block.position(102), Some(2));
//! assert_eq!(block.column(0)?.int(1), 5);
//! # Ok::<(), onlap_base::Error>(())
//! ```

use std::ops::Range;

use onlap_base::limits::{BLOCK_BYTES, BLOCK_ROWS_MAX, BLOCK_ROWS_MIN};
use onlap_base::{Error, ErrorKind, Result, RowId};

use crate::batch::{Batch, Column, Vector};
use crate::encode::int::{self, IntView};
use crate::encode::{ColumnEncoder, ColumnView, Effort, column};
use crate::wire::Reader;

#[cfg(test)]
mod tests;

/// Version of the block layout that this release writes.
pub const BLOCK_VERSION: u8 = 1;
/// Bytes before the body.
pub const BLOCK_HEADER_BYTES: usize = 16;
/// Most bytes of a body: 64 rows of the row limit.
const BODY_BYTES_MAX: usize = u32::MAX as usize;

const FLAG_ZSTD: u8 = 1;

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
    /// any, judged by how well the rows before them were encoded.
    pub fn rows_that_fit(&self, batch: &Batch, start: usize) -> usize {
        let left = batch.rows - start;
        if left <= BLOCK_ROWS_MIN {
            return left;
        }
        let raw_wanted = BLOCK_BYTES * 1024 / self.ratio.max(1);
        let most = left.min(BLOCK_ROWS_MAX);
        let (mut low, mut high) = (BLOCK_ROWS_MIN, most);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if raw_bytes(batch, start..start + middle) <= raw_wanted {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Appends rows `range` (at least one, at most [`BLOCK_ROWS_MAX`]) as a block.
    pub fn encode(
        &mut self,
        batch: &Batch,
        range: Range<usize>,
        row_ids: RowIds<'_>,
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
        for (k, (column, encoder)) in batch.columns.iter().zip(&mut self.columns).enumerate() {
            encoder.encode(column, range.clone(), out);
            let end = u32::try_from(out.len() - first_column).expect("a block is below 4 GiB");
            out[body + 4 * k..][..4].copy_from_slice(&end.to_le_bytes());
        }
        let body_len = out.len() - body;
        self.ratio = (body_len * 1024 / raw_bytes(batch, range.clone()).max(1)).clamp(1, 4096);
        let flags = if self.compress && compress_body(out, body) { FLAG_ZSTD } else { 0 };
        let header = &mut out[start..body];
        header[4] = BLOCK_VERSION;
        header[5] = flags;
        header[6..8].copy_from_slice(&(columns as u16).to_le_bytes());
        header[8..12].copy_from_slice(&(range.len() as u32).to_le_bytes());
        header[12..16].copy_from_slice(&(body_len as u32).to_le_bytes());
        let sum = crc32c::crc32c(&out[start + 4..]);
        out[start..start + 4].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Bytes of the values as they lie in memory.
fn raw_bytes(batch: &Batch, range: Range<usize>) -> usize {
    let n = range.len();
    let of = |data: &Vector| match data {
        Vector::Int(_) => 8 * n,
        Vector::Wide(_) => 16 * n,
        Vector::Numeric(..) => 17 * n,
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

/// A block in memory, checked and uncompressed.
#[derive(Debug)]
pub struct Block {
    rows: usize,
    columns: usize,
    body: Box<[u8]>,
    /// Start of the first column in the body.
    first_column: usize,
    first_row_id: RowId,
    dense: bool,
}

impl Block {
    /// Checks and takes over a block that fills all of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Block> {
        let mut r = Reader::new(bytes);
        let sum = r.u32()?;
        let found = crc32c::crc32c(&bytes[4..]);
        if sum != found {
            return Err(Error::corruption(
                "",
                0,
                format!("block checksum {found:08x}, expected {sum:08x}"),
            ));
        }
        let version = r.u8()?;
        if version > BLOCK_VERSION {
            return Err(Error::new(
                ErrorKind::NewerFormat,
                format!("block version {version}; this release reads up to {BLOCK_VERSION}"),
            ));
        }
        let flags = r.u8()?;
        let columns = usize::from(r.u16()?);
        let rows = r.u32()? as usize;
        let body_len = r.u32()? as usize;
        if rows == 0 || rows > BLOCK_ROWS_MAX {
            return Err(r.damaged(format!("a block of {rows} rows")));
        }
        let body: Box<[u8]> = match flags {
            0 if r.remaining() == body_len => r.rest().into(),
            FLAG_ZSTD if body_len <= BODY_BYTES_MAX => decompress(r.rest(), body_len)?.into(),
            _ => return Err(r.damaged(format!("block flags {flags} with {body_len} bytes"))),
        };
        let mut r = Reader::new(&body);
        r.take(4 * columns)?;
        let ids = IntView::parse(&mut r, rows)?;
        let first_row_id = ids.get(0) as RowId;
        let dense = ids.exact_line().is_some_and(|(_, slope)| slope == 1 || rows == 1);
        if first_row_id.checked_add(rows as u64).is_none() {
            return Err(r.damaged("row ids run over"));
        }
        let first_column = r.position();
        Ok(Block { rows, columns, first_column, first_row_id, dense, body })
    }

    /// Number of rows, at least 1.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The first row's id.
    pub fn first_row_id(&self) -> RowId {
        self.first_row_id
    }

    /// Whether row `i` has id `first_row_id + i`.
    pub fn is_dense(&self) -> bool {
        self.dense
    }

    fn ids(&self) -> IntView<'_> {
        let mut r = Reader::new(&self.body[4 * self.columns..]);
        IntView::parse(&mut r, self.rows).expect("the row ids were parsed when the block was")
    }

    /// Id of row `i`.
    pub fn row_id(&self, i: usize) -> RowId {
        assert!(i < self.rows);
        if self.dense { self.first_row_id + i as u64 } else { self.ids().get(i) as RowId }
    }

    /// Appends the ids of rows `range`.
    pub fn row_ids(&self, range: Range<usize>, out: &mut Vec<RowId>) {
        assert!(range.end <= self.rows);
        if self.dense {
            let first = self.first_row_id;
            out.extend(range.map(|i| first + i as u64));
        } else {
            let ids = self.ids();
            out.extend(range.map(|i| ids.get(i) as RowId));
        }
    }

    /// Number of rows whose id is below `id`: where `id` is, or would be.
    pub fn lower_bound(&self, id: RowId) -> usize {
        if self.dense {
            return id.saturating_sub(self.first_row_id).min(self.rows as u64) as usize;
        }
        self.ids().lower_bound(i64::try_from(id).unwrap_or(i64::MAX))
    }

    /// Which row has this id, if one does.
    pub fn position(&self, id: RowId) -> Option<usize> {
        let i = self.lower_bound(id);
        (i < self.rows && self.row_id(i) == id).then_some(i)
    }

    /// Column `k`, in the order in which the segment names its columns.
    pub fn column(&self, k: usize) -> Result<ColumnView<'_>> {
        let (start, bytes) = self.column_bytes(k)?;
        ColumnView::parse(bytes, self.rows).map_err(|e| e.at("", start))
    }

    /// Appends the given rows of column `k`; the cheapest way to fetch a single one.
    pub fn append_selected(&self, k: usize, rows: &[u32], out: &mut Column) -> Result<()> {
        let (start, bytes) = self.column_bytes(k)?;
        column::append_selected(bytes, self.rows, rows, out).map_err(|e| e.at("", start))
    }

    /// Where column `k` begins in the block, and its bytes.
    fn column_bytes(&self, k: usize) -> Result<(u64, &[u8])> {
        assert!(k < self.columns, "column {k} of {}", self.columns);
        let end = |k: usize| {
            let bytes = self.body[4 * k..].first_chunk::<4>().expect("checked when parsed");
            self.first_column.saturating_add(u32::from_le_bytes(*bytes) as usize)
        };
        let start = if k == 0 { self.first_column } else { end(k - 1) };
        match self.body.get(start..end(k)) {
            Some(bytes) => Ok(((BLOCK_HEADER_BYTES + start) as u64, bytes)),
            None => Err(Error::damaged(format!("column {k} lies outside of its block"))),
        }
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.body.len()
    }
}

fn decompress(compressed: &[u8], len: usize) -> Result<Vec<u8>> {
    // The header's length is not believed before the frame agrees with it.
    match zstd::zstd_safe::get_frame_content_size(compressed) {
        Ok(Some(n)) if n == len as u64 => {}
        _ => return Err(Error::damaged("a compressed block states another length")),
    }
    match zstd::bulk::decompress(compressed, len) {
        Ok(body) if body.len() == len => Ok(body),
        Ok(body) => Err(Error::damaged(format!("a block of {} bytes, expected {len}", body.len()))),
        Err(e) => Err(Error::damaged(format!("zstd: {e}"))),
    }
}
