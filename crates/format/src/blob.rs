//! Where do long values of a segment lie?
//!
//! A value longer than [`INLINE_VALUE_BYTES`] leaves its [block](crate::block) for a *blob frame* of
//! the same file, and the empty string stands in its column. So a reader that does not want the column
//! reads none of it. A frame holds one long value, or several of one column and block, neighbours
//! among the long ones, that together take no more than [`BLOCK_BYTES`]. The block ends in
//! [lists](list) of which rows that concerns and where their frames lie. Long values of a block take
//! at most [`BLOCK_BLOB_BYTES`] together, except for those of a single row.
//!
//! Nothing here knows of files or caches. Frames are immutable and safe to share.
//!
//! A frame:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of everything after it |
//! | 4 | 1 | version, 1 |
//! | 5 | 1 | flags: 1 the values are compressed by zstd |
//! | 6 | 2 | position of the column in the segment |
//! | 8 | 8 | row id of the first value |
//! | 16 | 4 | length of the values before compression |
//! | 20 | | values back to back |
//!
//! ```
//! use onlap_format::blob::{FrameWriter, FRAME_HEADER_BYTES};
//! use onlap_format::block::{Block, BlockEncoder, RowIds};
//! use onlap_format::{Batch, BytesVec, Column, Vector};
//! let mut values = BytesVec::default();
//! values.push(b"short");
//! values.push(&[b'x'; 3000]);
//! values.push(&[b'y'; 5000]);
//! let batch = Batch { columns: vec![Column { data: Vector::Bytes(values), nulls: None }], rows: 3 };
//! let (mut frames, mut out) = (FrameWriter::new(), Vec::new());
//! frames.start(4096); // where the caller will write the frames
//! BlockEncoder::new(1, false).encode_apart(&batch, 0..3, RowIds::Dense(100), &mut frames, &mut out);
//! // version 1, compressed, column 0, row 101, 8000 bytes
//! assert_eq!(&frames.bytes()[4..20], [1, 1, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x1f, 0, 0]);
//!
//! let block = Block::parse(&out)?;
//! let blobs = block.blobs(0).expect("some values lie apart");
//! assert_eq!(blobs.find(0), None);
//! let blob = blobs.find(2).expect("the last is one of them");
//! assert_eq!((blob.frame, blob.at, blob.len), (0, 3000, 5000));
//! let frame = blobs.frame(blob.frame);
//! assert_eq!((frame.offset, frame.len as usize), (4096, frames.bytes().len()));
//! assert_eq!(frame.open(frames.bytes())?[3000..], [b'y'; 5000]);
//! # Ok::<(), onlap_base::Error>(())
//! ```

use std::borrow::Cow;
use std::io::Cursor;
use std::ops::Range;

use onlap_base::limits::{BLOCK_BLOB_BYTES, BLOCK_BYTES, INLINE_VALUE_BYTES, VALUE_BYTES};
use onlap_base::{Error, ErrorKind, Result, RowId};
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

use crate::batch::{Batch, BytesVec, Vector};
use crate::block::decompress;
use crate::wire::Reader;

pub mod list;

#[cfg(test)]
mod tests;

pub use list::{Blob, Blobs};

/// Version of blob frames that this release writes.
pub const BLOB_VERSION: u8 = 1;
/// Bytes before the values of a frame.
pub const FRAME_HEADER_BYTES: usize = 20;
/// Most bytes of the values of a column that one block keeps apart: one row's, or a block's.
pub(crate) const BLOBS_BYTES_MAX: usize = VALUE_BYTES;
/// What a value that lies apart takes in its block, for judging how many rows fit.
const REFERENCE_BYTES: usize = 6;

const FLAG_ZSTD: u8 = 1;

const _: () = assert!(BLOCK_BLOB_BYTES <= BLOBS_BYTES_MAX && BLOCK_BYTES <= BLOBS_BYTES_MAX);
const _: () = assert!(INLINE_VALUE_BYTES < BLOCK_BYTES);

fn len_of(values: &BytesVec, i: usize) -> usize {
    (values.offsets[i + 1] - values.offsets[i]) as usize
}

fn is_long(len: usize) -> bool {
    len > INLINE_VALUE_BYTES
}

fn any_long(values: &BytesVec, range: Range<usize>) -> bool {
    range.into_iter().any(|i| is_long(len_of(values, i)))
}

fn strings(batch: &Batch) -> impl Iterator<Item = &BytesVec> {
    batch.columns.iter().filter_map(|c| match &c.data {
        Vector::Bytes(v) => Some(v),
        _ => None,
    })
}

/// Whether a batch has a value that does not stay in its block.
pub fn has_long(batch: &Batch) -> bool {
    strings(batch).any(|v| any_long(v, 0..batch.rows))
}

/// Bytes of these strings that stay in the block, references included.
pub(crate) fn inline_bytes(values: &BytesVec, range: Range<usize>) -> usize {
    let of = |i| match len_of(values, i) {
        len if is_long(len) => REFERENCE_BYTES,
        len => len,
    };
    range.map(of).sum()
}

/// How many of the `rows` rows from `start` on may share a block: their long values take at most
/// [`BLOCK_BLOB_BYTES`] together, and what stays of each column at most `inline_max`. At least 1.
pub fn rows_within(batch: &Batch, start: usize, rows: usize, inline_max: usize) -> usize {
    let columns: Vec<&BytesVec> = strings(batch).collect();
    let mut inline = vec![0; columns.len()];
    let mut apart = 0;
    for i in start..start + rows {
        for (values, inline) in columns.iter().zip(&mut inline) {
            match len_of(values, i) {
                len if is_long(len) => apart += len,
                len => *inline += len,
            }
        }
        if apart > BLOCK_BLOB_BYTES || inline.iter().any(|n| *n > inline_max) {
            return (i - start).max(1);
        }
    }
    rows
}

/// Where a frame lies, and what its block says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRef {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Bytes of its values before compression.
    pub values_len: usize,
    /// Position of the column in the segment.
    pub column: usize,
    /// Id of the row of its first value.
    pub row_id: RowId,
}

impl FrameRef {
    /// Checks the frame that fills all of `bytes` and returns its values.
    ///
    /// # Errors
    /// `Corruption`, `NewerFormat`.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        let mut r = Reader::new(bytes);
        let sum = r.u32()?;
        let found = crc32c::crc32c(&bytes[4..]);
        if sum != found {
            let message = format!("blob checksum {found:08x}, expected {sum:08x}");
            return Err(Error::corruption("", 0, message));
        }
        let version = r.u8()?;
        if version > BLOB_VERSION {
            return Err(Error::new(
                ErrorKind::NewerFormat,
                format!("blob version {version}; this release reads up to {BLOB_VERSION}"),
            ));
        }
        let flags = r.u8()?;
        let (column, row_id) = (usize::from(r.u16()?), r.u64()?);
        if (column, row_id) != (self.column, self.row_id) {
            let message = format!(
                "a blob of column {column}, row {row_id}, expected column {}, row {}",
                self.column, self.row_id
            );
            return Err(Error::corruption("", 0, message));
        }
        let len = r.u32()? as usize;
        match flags {
            _ if len != self.values_len => {
                Err(r.damaged(format!("a blob of {len} bytes, expected {}", self.values_len)))
            }
            0 if r.remaining() == len => Ok(Cow::Borrowed(r.rest())),
            FLAG_ZSTD => Ok(Cow::Owned(decompress(r.rest(), len)?)),
            _ => Err(r.damaged(format!("blob flags {flags} with {len} bytes"))),
        }
    }
}

/// Makes the frames of a block.
pub struct FrameWriter {
    /// None where zstd found no memory for one.
    compressor: Option<Compressor<'static>>,
    offset: u64,
    bytes: Vec<u8>,
    /// Values of a frame that has several.
    joined: Vec<u8>,
}

impl Default for FrameWriter {
    fn default() -> Self {
        FrameWriter::new()
    }
}

impl FrameWriter {
    /// A writer of no frames yet.
    pub fn new() -> FrameWriter {
        let compressor = Compressor::new(1).ok();
        FrameWriter { compressor, offset: 0, bytes: Vec::new(), joined: Vec::new() }
    }

    /// Forgets what was made; the frames of the next block will lie from `offset` on.
    pub fn start(&mut self, offset: u64) {
        self.offset = offset;
        self.bytes.clear();
        // The longest values are rare, and their buffer is large.
        self.bytes.shrink_to(2 * BLOCK_BLOB_BYTES);
    }

    /// The frames since the start.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Heap bytes in use, by capacity.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.joined.capacity()
    }

    /// Makes frames of the long ones among rows `range` of a column and appends their list to
    /// `lists`. Returns the range with empty strings in their place; `None` where none is long.
    pub(crate) fn take_long(
        &mut self,
        column: usize,
        values: &BytesVec,
        range: Range<usize>,
        row_id: impl Fn(usize) -> RowId,
        lists: &mut Vec<u8>,
    ) -> Option<BytesVec> {
        if !any_long(values, range.clone()) {
            return None;
        }
        let mut inline = BytesVec::default();
        let mut long = Vec::new();
        for i in range.clone() {
            let is_long = is_long(len_of(values, i));
            inline.push(if is_long { b"" } else { values.get(i) });
            long.extend(is_long.then_some(i));
        }
        let mut list = list::ListBuilder::default();
        let mut rest = &long[..];
        while let Some(&first) = rest.first() {
            let mut bytes = 0;
            let fits = |i: &&usize| {
                bytes += len_of(values, **i);
                bytes <= BLOCK_BYTES
            };
            let (here, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            rest = later;
            for &i in here {
                list.push_value(i - range.start, len_of(values, i));
            }
            let before = self.bytes.len();
            self.put_frame(column, row_id(first - range.start), values, here);
            list.push_frame(self.offset + before as u64, self.bytes.len() - before);
        }
        list.encode(column, lists);
        Some(inline)
    }

    fn put_frame(&mut self, column: usize, row_id: RowId, values: &BytesVec, rows: &[usize]) {
        self.joined.clear();
        let values = match rows {
            [row] => values.get(*row),
            _ => {
                rows.iter().for_each(|i| self.joined.extend_from_slice(values.get(*i)));
                &self.joined
            }
        };
        let start = self.bytes.len();
        let column = u16::try_from(column).expect("a table has at most 1600 columns");
        self.bytes.extend_from_slice(&[0, 0, 0, 0, BLOB_VERSION, 0]);
        self.bytes.extend_from_slice(&column.to_le_bytes());
        self.bytes.extend_from_slice(&row_id.to_le_bytes());
        let len = u32::try_from(values.len()).expect("a value is at most 16 MiB");
        self.bytes.extend_from_slice(&len.to_le_bytes());
        let body = self.bytes.len();
        let compressed = self.compressor.as_mut().and_then(|compressor| {
            self.bytes.reserve(compress_bound(values.len()));
            let mut end = Cursor::new(&mut self.bytes);
            end.set_position(body as u64);
            compressor.compress_to_buffer(values, &mut end).ok()
        });
        if compressed.is_some_and(|len| len <= values.len() / 8 * 7) {
            self.bytes[start + 5] = FLAG_ZSTD;
        } else {
            self.bytes.truncate(body);
            self.bytes.extend_from_slice(values);
        }
        let sum = crc32c::crc32c(&self.bytes[start + 4..]);
        self.bytes[start..start + 4].copy_from_slice(&sum.to_le_bytes());
    }
}
