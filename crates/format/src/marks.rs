//! What happened to rows after they landed?
//!
//! A mark run is a file of deletes and column changes: a [header](crate::frame), blocks of marks, of
//! dead rows and of changes, and a footer. A [`Mark`] says that a row was deleted at a CSN, and which row took its place if an update
//! did it. Below the horizon no reader asks when a row died: a merge leaves one dead bit per row. Knows
//! nothing of snapshots; finished files are never modified (I5). Pure.
//!
//! * A **mark block** is a [block](crate::block) whose row ids are the marked rows and whose columns
//!   are the CSN and the successor (NULL without one).
//! * A **change block** ([`crate::changes`]) has changes of one column. There are none in version 1.
//! * A **dead block** is the set of dead rows among 65,536 row ids: a roaring bitmap in its portable
//!   form, followed by its CRC-32C (4 bytes). Its number is row id / 65,536.
//!
//! Footer:
//!
//! | bytes | what |
//! |---|---|
//! | varints | table id, first row id, end of the row ids less first, first CSN, end of the CSNs less first, marks, dead rows |
//! | varint, then integer streams | number of mark blocks; per block: offset, length, first row id, marks |
//! | varint, then integer streams | number of dead blocks; per block: number, offset, length, rows |
//! | varint, then integer streams | from version 2: number of change blocks; per block: column, offset, length, first row id, one behind the last, changes |
//! | varints | first CSN of the changes, end of the CSNs less first |
//! | varint, then per column | number of columns; column, what its changes may do to a row: most that is added (16 bytes), whether numbers are set (1), the least and the greatest (16 each) |
//!
//! ```
//! use onlap_format::marks::{Mark, MarkBlock, encode_mark_block};
//! let marks = [Mark { row: 7, csn: 3, successor: None }, Mark { row: 9, csn: 4, successor: Some(20) }];
//! let mut bytes = Vec::new();
//! encode_mark_block(&marks, &mut bytes);
//! let block = MarkBlock::parse(&bytes).unwrap();
//! assert_eq!(block.get(9).unwrap(), Some(marks[1]));
//! assert_eq!(block.get(8).unwrap(), None);
//! ```

use std::ops::Range;

use onlap_base::{ColumnId, Csn, Error, Result, RowId, TableId, limits};
use roaring::RoaringBitmap;

use crate::batch::{Batch, Column, Vector};
use crate::block::{Block, BlockEncoder, RowIds};
use crate::changes::{ChangeBlockEntry, ChangeBounds, put_bounds, read_bounds};
use crate::encode::Effort;
use crate::encode::int::{self, IntView};
use crate::run::shifted;
use crate::types::Physical;
use crate::wire::{self, Reader};

#[cfg(test)]
mod tests;

/// Version of mark files that this release writes.
pub const MARKS_VERSION: u16 = 2;
/// Most marks of a block.
pub const BLOCK_MARKS: usize = limits::BLOCK_ROWS_MAX;
/// Row ids of a dead block.
pub const DEAD_BLOCK_ROWS: u64 = 1 << 16;
/// Most blocks of a file: one per 64 rows of 2^30.
const BLOCKS_MAX: usize = 1 << 24;

/// A row was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The row.
    pub row: RowId,
    /// The commit that deleted it.
    pub csn: Csn,
    /// The row that replaced it, where an update did it.
    pub successor: Option<RowId>,
}

/// Appends a block of marks: 1 to [`BLOCK_MARKS`], rising by row id.
pub fn encode_mark_block(marks: &[Mark], out: &mut Vec<u8>) {
    assert!(marks.is_sorted_by(|a, b| a.row < b.row), "one mark per row, in row order");
    let rows: Vec<RowId> = marks.iter().map(|m| m.row).collect();
    let mut successors = Column::new(Physical::Int);
    for mark in marks {
        match (mark.successor, &mut successors.data) {
            (Some(row), Vector::Int(v)) => {
                v.push(row as i64);
                successors.pushed();
            }
            _ => successors.push_null(),
        }
    }
    let csns = marks.iter().map(|m| m.csn as i64).collect();
    let csns = Column { data: Vector::Int(csns), nulls: None };
    let batch = Batch { columns: vec![csns, successors], rows: marks.len() };
    BlockEncoder::new(2, false).encode(&batch, 0..marks.len(), RowIds::List(&rows), out);
}

/// How the marks of a file that was written before their commit are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkShift {
    /// Added to the marked rows.
    pub rows: RowId,
    /// Added to the successors.
    pub successors: RowId,
    /// The commit that all marks came with; 0: those that the file says.
    pub csn: Csn,
}

/// A parsed block of marks.
#[derive(Debug)]
pub struct MarkBlock {
    block: Block,
    shift: Option<MarkShift>,
}

impl MarkBlock {
    /// Checks and opens a block.
    ///
    /// # Errors
    /// `Corruption`.
    pub fn parse(bytes: &[u8]) -> Result<MarkBlock> {
        let block = Block::parse(bytes)?;
        if block.columns() != 2 {
            return Err(Error::damaged("a mark block has two columns"));
        }
        Ok(MarkBlock { block, shift: None })
    }
    /// The same block, read as `shift` says.
    ///
    /// # Errors
    /// `Corruption` where row ids leave 64 bits.
    pub fn shifted(self, shift: MarkShift) -> Result<MarkBlock> {
        Ok(MarkBlock { block: self.block.shifted(shift.rows)?, shift: Some(shift) })
    }
    fn mark(&self, row: RowId, csn: i64, successor: Option<i64>) -> Mark {
        let successor = successor.map(|s| s as RowId);
        match self.shift {
            None => Mark { row, csn: csn as Csn, successor },
            Some(shift) => {
                let successor = successor.map(|s| shift.successors.wrapping_add(s));
                Mark { row, csn: if shift.csn == 0 { csn as Csn } else { shift.csn }, successor }
            }
        }
    }
    /// Number of marks, at least 1.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.block.rows()
    }
    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.block.heap_bytes()
    }
    /// Number of marks of rows below `row`.
    pub fn lower_bound(&self, row: RowId) -> usize {
        self.block.lower_bound(row)
    }
    /// The mark of a row.
    pub fn get(&self, row: RowId) -> Result<Option<Mark>> {
        let Some(i) = self.block.position(row) else { return Ok(None) };
        let successors = self.block.column(1)?;
        let successor = (!successors.is_null(i)).then(|| successors.int(i));
        Ok(Some(self.mark(row, self.block.column(0)?.int(i), successor)))
    }
    /// Appends marks `range`.
    pub fn marks(&self, range: Range<usize>, out: &mut Vec<Mark>) -> Result<()> {
        let mut rows = Vec::with_capacity(range.len());
        self.block.row_ids(range.clone(), &mut rows);
        let (csns, successors) = (self.block.column(0)?, self.block.column(1)?);
        out.extend(range.zip(rows).map(|(i, row)| {
            let successor = (!successors.is_null(i)).then(|| successors.int(i));
            self.mark(row, csns.int(i), successor)
        }));
        Ok(())
    }
    /// Whether a row is marked; with a commit, at or before it.
    pub fn contains(&self, row: RowId, upto: Option<Csn>) -> Result<bool> {
        match upto {
            None => Ok(self.block.position(row).is_some()),
            Some(upto) => Ok(self.get(row)?.is_some_and(|m| m.csn <= upto)),
        }
    }
    /// Appends the rows of marks `range`; with a commit, of those at or before it.
    pub fn rows(&self, range: Range<usize>, upto: Option<Csn>, out: &mut Vec<RowId>) -> Result<()> {
        let from = out.len();
        self.block.row_ids(range.clone(), out);
        let Some(upto) = upto else { return Ok(()) };
        if let Some(shift) = self.shift.filter(|s| s.csn != 0) {
            if shift.csn > upto {
                out.truncate(from);
            }
            return Ok(());
        }
        let mut csns = Column::new(Physical::Int);
        self.block.column(0)?.append_to(range, &mut csns)?;
        let Vector::Int(csns) = csns.data else {
            return Err(Error::damaged("commits of a mark block are no numbers"));
        };
        let mut to = from;
        for (i, csn) in csns.into_iter().enumerate() {
            out[to] = out[from + i];
            to += usize::from(csn as Csn <= upto);
        }
        out.truncate(to);
        Ok(())
    }
}

/// Appends the dead rows of one dead block; `rows` are row ids less the block's first.
pub fn encode_dead_block(rows: &RoaringBitmap, out: &mut Vec<u8>) {
    debug_assert!(rows.max().is_none_or(|m| u64::from(m) < DEAD_BLOCK_ROWS));
    let start = out.len();
    rows.serialize_into(&mut *out).expect("writing to a vector does not fail");
    let sum = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Reads the dead rows of one dead block.
///
/// # Errors
/// `Corruption`.
pub fn parse_dead_block(bytes: &[u8]) -> Result<RoaringBitmap> {
    let damaged = |text: &str| Error::corruption("", 0, text);
    let Some((body, sum)) = bytes.split_last_chunk::<4>() else {
        return Err(damaged("a dead block ends early"));
    };
    if crc32c::crc32c(body) != u32::from_le_bytes(*sum) {
        return Err(damaged("a dead block's checksum is wrong"));
    }
    let rows =
        RoaringBitmap::deserialize_from(body).map_err(|_| damaged("a dead block is no bitmap"))?;
    if rows.max().is_some_and(|m| u64::from(m) >= DEAD_BLOCK_ROWS) {
        return Err(damaged("a dead block names rows of another"));
    }
    Ok(rows)
}

/// Where a block of marks or of dead rows lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkBlockEntry {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Mark block: first row id. Dead block: its number, row id / 65,536.
    pub first: u64,
    /// Marks or dead rows.
    pub count: u32,
}

/// What a mark run says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkFooter {
    /// Whose rows.
    pub table: TableId,
    /// Row ids that the run may name.
    pub rows: Range<RowId>,
    /// Commits whose deletes it holds; dead rows died before.
    pub csns: Range<Csn>,
    /// Blocks of marks, by row id.
    pub marks: Vec<MarkBlockEntry>,
    /// Blocks of dead rows, by number.
    pub dead: Vec<MarkBlockEntry>,
    /// Blocks of changes, by column and row id.
    pub changes: Vec<ChangeBlockEntry>,
    /// Commits whose changes it holds.
    pub change_csns: Range<Csn>,
    /// What the changes of a column may do to a row.
    pub bounds: Vec<(ColumnId, ChangeBounds)>,
}

impl MarkFooter {
    /// Number of marks.
    pub fn mark_count(&self) -> u64 {
        self.marks.iter().map(|b| u64::from(b.count)).sum()
    }
    /// Number of rows known only as dead.
    pub fn dead_count(&self) -> u64 {
        self.dead.iter().map(|b| u64::from(b.count)).sum()
    }
    /// Number of changes.
    pub fn change_count(&self) -> u64 {
        self.changes.iter().map(|b| u64::from(b.count)).sum()
    }
    /// Blocks that may have changes of a column for any of the rows.
    pub fn change_blocks(&self, column: ColumnId, rows: &Range<RowId>) -> Range<usize> {
        let start = self.changes.partition_point(|b| (b.column, b.end) <= (column, rows.start));
        let end = self.changes.partition_point(|b| (b.column, b.first) < (column, rows.end));
        start..end.max(start)
    }
    /// The mark block that names `row` if any does.
    pub fn block_of(&self, row: RowId) -> Option<usize> {
        self.marks.partition_point(|b| b.first <= row).checked_sub(1)
    }
    /// The dead block that names `row` if any does.
    pub fn dead_block_of(&self, row: RowId) -> Option<usize> {
        self.dead.binary_search_by_key(&(row / DEAD_BLOCK_ROWS), |b| b.first).ok()
    }
    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        (self.marks.capacity() + self.dead.capacity()) * size_of::<MarkBlockEntry>()
            + self.changes.capacity() * size_of::<ChangeBlockEntry>()
    }

    /// Reads the run as `shift` says.
    ///
    /// # Errors
    /// `Corruption` where row ids leave 64 bits, and for dead blocks, whose places are not to be
    /// shifted: they have no commit either.
    pub fn shift(&mut self, shift: MarkShift) -> Result<()> {
        if !self.dead.is_empty() || shift.rows > 0 && !self.changes.is_empty() {
            return Err(Error::damaged("a mark run that knows its rows was adopted elsewhere"));
        }
        self.rows = shifted(&self.rows, shift.rows)?;
        if shift.csn > 0 {
            self.csns = shift.csn..shift.csn.saturating_add(1);
            if !self.changes.is_empty() {
                self.change_csns = self.csns.clone();
            }
        }
        for block in &mut self.marks {
            let first = block.first.checked_add(shift.rows);
            block.first = first.ok_or_else(|| Error::damaged("row ids leave 64 bits"))?;
        }
        Ok(())
    }

    /// Appends the footer's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for v in [
            u64::from(self.table.0),
            self.rows.start,
            self.rows.end - self.rows.start,
            self.csns.start,
            self.csns.end - self.csns.start,
            self.mark_count(),
            self.dead_count(),
        ] {
            wire::put_varint(out, v);
        }
        for blocks in [&self.marks, &self.dead] {
            wire::put_varint(out, blocks.len() as u64);
            let stream = |of: fn(&MarkBlockEntry) -> u64| {
                blocks.iter().map(|b| of(b) as i64).collect::<Vec<_>>()
            };
            int::encode(&stream(|b| b.offset), Effort::Small, out);
            int::encode(&stream(|b| u64::from(b.len)), Effort::Small, out);
            int::encode(&stream(|b| b.first), Effort::Small, out);
            int::encode(&stream(|b| u64::from(b.count)), Effort::Small, out);
        }
        wire::put_varint(out, self.changes.len() as u64);
        let streams: [fn(&ChangeBlockEntry) -> u64; 6] = [
            |b| u64::from(b.column.0),
            |b| b.offset,
            |b| u64::from(b.len),
            |b| b.first,
            |b| b.end,
            |b| u64::from(b.count),
        ];
        for of in streams {
            let values: Vec<i64> = self.changes.iter().map(|b| of(b) as i64).collect();
            int::encode(&values, Effort::Small, out);
        }
        wire::put_varint(out, self.change_csns.start);
        wire::put_varint(out, self.change_csns.end - self.change_csns.start);
        put_bounds(&self.bounds, out);
    }

    /// Parses a footer that fills all of `bytes`; that of version 1 ends before the changes.
    ///
    /// # Errors
    /// `Corruption`.
    pub fn parse(bytes: &[u8]) -> Result<MarkFooter> {
        let mut r = Reader::new(bytes);
        let table = TableId(r.varint32()?);
        let rows = read_range(&mut r)?;
        let csns = read_range(&mut r)?;
        let counts = (r.varint()?, r.varint()?);
        let marks = read_blocks(&mut r)?;
        let dead = read_blocks(&mut r)?;
        let (mut changes, mut change_csns, mut bounds) = (Vec::new(), 0..0, Vec::new());
        if !r.is_empty() {
            changes = read_change_blocks(&mut r)?;
            change_csns = read_range(&mut r)?;
            bounds = read_bounds(&mut r)?;
        }
        r.finish()?;
        let footer = MarkFooter { table, rows, csns, marks, dead, changes, change_csns, bounds };
        if counts != (footer.mark_count(), footer.dead_count()) {
            return Err(Error::damaged("a mark run's blocks do not add up to its count"));
        }
        Ok(footer)
    }
}

fn read_change_blocks(r: &mut Reader<'_>) -> Result<Vec<ChangeBlockEntry>> {
    let count = r.varint_max(BLOCKS_MAX, "a number of blocks")?;
    let mut streams = Vec::with_capacity(6);
    for _ in 0..6 {
        streams.push(IntView::parse(r, count)?);
    }
    let mut blocks: Vec<ChangeBlockEntry> = Vec::new();
    for i in 0..count {
        let small = |k: usize| {
            u32::try_from(streams[k].get(i)).map_err(|_| Error::damaged("an impossible block"))
        };
        let block = ChangeBlockEntry {
            column: ColumnId(small(0)?),
            offset: streams[1].get(i) as u64,
            len: small(2)?,
            first: streams[3].get(i) as u64,
            end: streams[4].get(i) as u64,
            count: small(5)?,
        };
        let order = |b: &ChangeBlockEntry| (b.column, b.first, b.end);
        if block.first >= block.end || blocks.last().is_some_and(|b| order(b) > order(&block)) {
            return Err(Error::damaged("blocks of changes are out of order"));
        }
        blocks.push(block);
    }
    Ok(blocks)
}

fn read_range(r: &mut Reader<'_>) -> Result<Range<u64>> {
    let (start, len) = (r.varint()?, r.varint()?);
    let end = start.checked_add(len).ok_or_else(|| r.damaged("a range leaves 64 bits"))?;
    Ok(start..end)
}

fn read_blocks(r: &mut Reader<'_>) -> Result<Vec<MarkBlockEntry>> {
    let count = r.varint_max(BLOCKS_MAX, "a number of blocks")?;
    let offsets = IntView::parse(r, count)?;
    let lens = IntView::parse(r, count)?;
    let firsts = IntView::parse(r, count)?;
    let counts = IntView::parse(r, count)?;
    let mut blocks: Vec<MarkBlockEntry> = Vec::new();
    for i in 0..count {
        let small = |v: i64| u32::try_from(v).map_err(|_| Error::damaged("an impossible block"));
        let block = MarkBlockEntry {
            offset: offsets.get(i) as u64,
            len: small(lens.get(i))?,
            first: firsts.get(i) as u64,
            count: small(counts.get(i))?,
        };
        if blocks.last().is_some_and(|b| b.first >= block.first) {
            return Err(Error::damaged("blocks of a mark run are out of order"));
        }
        blocks.push(block);
    }
    Ok(blocks)
}
