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
//! | 4 | 1 | version, 1; 2 with flag 2 |
//! | 5 | 1 | flags: 1 the body is compressed by zstd, 2 it ends in lists of blobs |
//! | 6 | 2 | number of columns |
//! | 8 | 4 | number of rows, at least 1 |
//! | 12 | 4 | length of the body before compression |
//! | 16 | | body |
//!
//! The body: per column the end (4 bytes) of its bytes, counted from the first column's start; the
//! row ids as an [integer stream](crate::encode::int) (a dense block costs a few bytes: base and
//! slope 1); the columns ([`encode::column`](crate::encode::column)); with flag 2 the
//! [lists](crate::blob::list) of values that lie in [blob frames](crate::blob). Such a value reads as
//! the empty string from its column: ask [`Block::blobs`] too.
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

use onlap_base::limits::BLOCK_ROWS_MAX;
use onlap_base::{Error, ErrorKind, Result, RowId};

use crate::batch::Column;
use crate::blob::list::{Blobs, check_lists};
use crate::encode::int::IntView;
use crate::encode::{ColumnView, column};
use crate::wire::Reader;

mod encoder;

#[cfg(test)]
mod tests;

pub use encoder::{BlockEncoder, RowIds};

/// Newest version of the block layout that this release reads and writes.
pub const BLOCK_VERSION: u8 = VERSION_BLOBS;
/// Version of a block without lists of blobs.
const VERSION_PLAIN: u8 = 1;
/// Version of a block with lists of blobs.
const VERSION_BLOBS: u8 = 2;
/// Bytes before the body.
pub const BLOCK_HEADER_BYTES: usize = 16;
/// Most bytes of a body: 64 rows of the row limit.
const BODY_BYTES_MAX: usize = u32::MAX as usize;

const FLAG_ZSTD: u8 = 1;
const FLAG_BLOBS: u8 = 2;

/// A block in memory, checked and uncompressed.
#[derive(Debug)]
pub struct Block {
    rows: usize,
    columns: usize,
    body: Box<[u8]>,
    /// Start of the first column in the body.
    first_column: usize,
    first_row_id: RowId,
    /// Added to the row ids of the body; see [`Block::shifted`].
    base: RowId,
    dense: bool,
    /// Columns with values in blob frames, and where their lists begin in the body.
    lists: Box<[(u32, u32)]>,
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
        let has_lists = flags & FLAG_BLOBS != 0 && version >= VERSION_BLOBS && columns > 0;
        let body: Box<[u8]> = match if has_lists { flags & !FLAG_BLOBS } else { flags } {
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
        let lists = Box::default();
        let mut block =
            Block { rows, columns, body, first_column, first_row_id, base: 0, dense, lists };
        if has_lists {
            let mut r = Reader::new(&block.body);
            r.take(block.column_end(columns - 1))?;
            block.lists = check_lists(&mut r, rows, columns)?;
        }
        Ok(block)
    }

    /// The same block, every row id `base` higher: of a file whose row ids count from there.
    ///
    /// # Errors
    /// `Corruption` where row ids leave 64 bits.
    pub fn shifted(mut self, base: RowId) -> Result<Block> {
        let last = self.row_id(self.rows - 1);
        if last.checked_add(base).is_none_or(|last| last == RowId::MAX) {
            return Err(Error::damaged("row ids run over"));
        }
        self.first_row_id += base;
        self.base += base;
        Ok(self)
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
        if self.dense {
            self.first_row_id + i as u64
        } else {
            self.base.wrapping_add(self.ids().get(i) as RowId)
        }
    }

    /// Id of row `i` as the file has it.
    pub(crate) fn stored_row_id(&self, i: usize) -> RowId {
        self.row_id(i) - self.base
    }

    /// Appends the ids of rows `range`.
    pub fn row_ids(&self, range: Range<usize>, out: &mut Vec<RowId>) {
        assert!(range.end <= self.rows);
        if self.dense {
            let first = self.first_row_id;
            out.extend(range.map(|i| first + i as u64));
        } else {
            let (ids, base) = (self.ids(), self.base);
            out.extend(range.map(|i| base.wrapping_add(ids.get(i) as RowId)));
        }
    }

    /// Number of rows whose id is below `id`: where `id` is, or would be.
    pub fn lower_bound(&self, id: RowId) -> usize {
        if self.dense {
            return id.saturating_sub(self.first_row_id).min(self.rows as u64) as usize;
        }
        let Some(id) = id.checked_sub(self.base) else { return 0 };
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

    /// The values of column `k` that lie in blob frames, if any do. Costs a comparison where the
    /// block has none.
    #[inline]
    pub fn blobs(&self, k: usize) -> Option<Blobs<'_>> {
        let (_, at) = self.lists.iter().find(|(column, _)| *column as usize == k)?;
        Some(Blobs::new(self, &self.body[*at as usize..]))
    }

    /// Where column `k` ends in the body.
    fn column_end(&self, k: usize) -> usize {
        let bytes = self.body[4 * k..].first_chunk::<4>().expect("checked when parsed");
        self.first_column.saturating_add(u32::from_le_bytes(*bytes) as usize)
    }

    /// Where column `k` begins in the block, and its bytes.
    fn column_bytes(&self, k: usize) -> Result<(u64, &[u8])> {
        assert!(k < self.columns, "column {k} of {}", self.columns);
        let start = if k == 0 { self.first_column } else { self.column_end(k - 1) };
        match self.body.get(start..self.column_end(k)) {
            Some(bytes) => Ok(((BLOCK_HEADER_BYTES + start) as u64, bytes)),
            None => Err(Error::damaged(format!("column {k} lies outside of its block"))),
        }
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.body.len() + size_of_val(&*self.lists)
    }
}

/// Decompresses what becomes `len` bytes.
pub(crate) fn decompress(compressed: &[u8], len: usize) -> Result<Vec<u8>> {
    // The header's length is not believed before the frame agrees with it.
    match zstd::zstd_safe::get_frame_content_size(compressed) {
        Ok(Some(n)) if n == len as u64 => {}
        _ => return Err(Error::damaged("compressed bytes state another length")),
    }
    match zstd::bulk::decompress(compressed, len) {
        Ok(body) if body.len() == len => Ok(body),
        Ok(body) => {
            Err(Error::damaged(format!("{} bytes after decompression, expected {len}", body.len())))
        }
        Err(e) => Err(Error::damaged(format!("zstd: {e}"))),
    }
}
