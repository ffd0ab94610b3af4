//! Which rows of a block have their values in blob frames, and in which?
//!
//! A block that has any ends in one list per column concerned, in the order of the columns:
//!
//! | bytes | what |
//! |---|---|
//! | varints | position of the column; number of values; number of frames, at least 1 each |
//! | integer streams | per value: row in the block, rising; length |
//! | integer streams | per frame: offset in the file; length; number of values up to its end |
//!
//! The bytes of a block with lists are the golden file
//! `crates/format/tests/golden/block-blobs.bin`. Lists are checked when their block is parsed.

use onlap_base::{Error, Result};

use super::{BLOBS_BYTES_MAX, FRAME_HEADER_BYTES, FrameRef};
use crate::block::Block;
use crate::encode::Effort;
use crate::encode::int::{self, IntView};
use crate::wire::{self, Reader};

/// A list under construction.
#[derive(Default)]
pub(super) struct ListBuilder {
    rows: Vec<i64>,
    lens: Vec<i64>,
    frame_offsets: Vec<i64>,
    frame_lens: Vec<i64>,
    frame_ends: Vec<i64>,
}

impl ListBuilder {
    pub(super) fn push_value(&mut self, row: usize, len: usize) {
        self.rows.push(row as i64);
        self.lens.push(len as i64);
    }

    /// A frame of the values since the last one.
    pub(super) fn push_frame(&mut self, offset: u64, len: usize) {
        self.frame_offsets.push(offset as i64);
        self.frame_lens.push(len as i64);
        self.frame_ends.push(self.rows.len() as i64);
    }

    pub(super) fn encode(&self, column: usize, out: &mut Vec<u8>) {
        let bytes: i64 = self.lens.iter().sum();
        assert!(
            bytes <= BLOBS_BYTES_MAX as i64,
            "a block's long values are limited when it is cut"
        );
        for n in [column, self.rows.len(), self.frame_ends.len()] {
            wire::put_varint(out, n as u64);
        }
        let streams =
            [&self.rows, &self.lens, &self.frame_offsets, &self.frame_lens, &self.frame_ends];
        streams.into_iter().for_each(|values| int::encode(values, Effort::Small, out));
    }
}

/// A list, parsed; the numbers stay packed.
struct ListView<'a> {
    column: usize,
    rows: IntView<'a>,
    lens: IntView<'a>,
    frame_offsets: IntView<'a>,
    frame_lens: IntView<'a>,
    frame_ends: IntView<'a>,
}

impl<'a> ListView<'a> {
    /// `rows` and `columns` are those of the block.
    fn take(r: &mut Reader<'a>, rows: usize, columns: usize) -> Result<ListView<'a>> {
        let column = r.varint_max(columns - 1, "the column of a blob list")?;
        let values = r.varint_max(rows, "the number of blobs")?;
        let frames = r.varint_max(values, "the number of blob frames")?;
        Ok(ListView {
            column,
            rows: IntView::parse(r, values)?,
            lens: IntView::parse(r, values)?,
            frame_offsets: IntView::parse(r, frames)?,
            frame_lens: IntView::parse(r, frames)?,
            frame_ends: IntView::parse(r, frames)?,
        })
    }

    fn check(&self, rows: usize) -> Result<()> {
        let (mut next_row, mut bytes) = (0, 0);
        for i in 0..self.rows.len() {
            let (row, len) = (self.rows.get(i), self.lens.get(i));
            if row < next_row || row >= rows as i64 {
                return Err(Error::damaged(format!("a blob of row {row} after row {next_row}")));
            }
            if !(0..=BLOBS_BYTES_MAX as i64 - bytes).contains(&len) {
                return Err(Error::damaged(format!("a blob of {len} bytes after {bytes}")));
            }
            next_row = row + 1;
            bytes += len;
        }
        let mut end = 0;
        for i in 0..self.frame_ends.len() {
            let (offset, len) = (self.frame_offsets.get(i), self.frame_lens.get(i));
            let fits = (FRAME_HEADER_BYTES as i64..=i64::from(u32::MAX)).contains(&len);
            if offset < 0 || !fits || self.frame_ends.get(i) <= end {
                return Err(Error::damaged(format!("a blob frame of {len} bytes at {offset}")));
            }
            end = self.frame_ends.get(i);
        }
        if end == 0 || end != self.rows.len() as i64 {
            let n = self.rows.len();
            return Err(Error::damaged(format!("blob frames of {end} values, expected {n}")));
        }
        Ok(())
    }
}

/// Checks the lists at the end of a block's body; returns of each the column and where it begins in
/// the body, of which `r` has read everything before them.
pub(crate) fn check_lists(
    r: &mut Reader<'_>,
    rows: usize,
    columns: usize,
) -> Result<Box<[(u32, u32)]>> {
    let mut lists: Vec<(u32, u32)> = Vec::new();
    while !r.is_empty() {
        let at = r.position() as u32;
        let list = ListView::take(r, rows, columns)?;
        list.check(rows)?;
        let column = list.column as u32;
        if lists.last().is_some_and(|(before, _)| *before >= column) {
            return Err(r.error("blob lists are not in the order of the columns"));
        }
        lists.push((column, at));
    }
    Ok(lists.into())
}

/// A value that lies in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Number of the frame among those of its column and block.
    pub frame: usize,
    /// Where the value begins among the frame's values.
    pub at: usize,
    /// Bytes.
    pub len: usize,
}

/// The values of one column of a block that lie in frames.
pub struct Blobs<'a> {
    block: &'a Block,
    list: ListView<'a>,
}

impl<'a> Blobs<'a> {
    /// `bytes` begin with a list that was checked with the block.
    pub(crate) fn new(block: &'a Block, bytes: &'a [u8]) -> Blobs<'a> {
        let list = ListView::take(&mut Reader::new(bytes), block.rows(), block.columns());
        Blobs { block, list: list.expect("the lists were checked when the block was parsed") }
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.list.frame_ends.len()
    }

    /// The value of a row of the block, where it lies in a frame.
    pub fn find(&self, row: usize) -> Option<Blob> {
        let list = &self.list;
        let i = list.rows.lower_bound(row as i64);
        if i == list.rows.len() || list.rows.get(i) != row as i64 {
            return None;
        }
        let frame = list.frame_ends.lower_bound(i as i64 + 1);
        let at = (self.first_value(frame)..i).map(|j| list.lens.get(j) as usize).sum();
        Some(Blob { frame, at, len: list.lens.get(i) as usize })
    }

    fn first_value(&self, frame: usize) -> usize {
        frame.checked_sub(1).map_or(0, |before| self.list.frame_ends.get(before) as usize)
    }

    /// Where a frame lies.
    pub fn frame(&self, frame: usize) -> FrameRef {
        let list = &self.list;
        let first = self.first_value(frame);
        let end = list.frame_ends.get(frame) as usize;
        FrameRef {
            offset: list.frame_offsets.get(frame) as u64,
            len: list.frame_lens.get(frame) as u32,
            values_len: (first..end).map(|i| list.lens.get(i) as usize).sum(),
            column: list.column,
            row_id: self.block.stored_row_id(list.rows.get(first) as usize),
        }
    }
}
