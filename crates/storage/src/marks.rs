//! Which landed rows are dead, and since when?
//!
//! A [`MarkRun`] answers from a finished file of marks: when a row was deleted and which row took its
//! place, or only that it is dead, where no snapshot is old enough to ask when. A reader asks
//! all mark runs whose row ids overlap, and the memtables; here is one file. The changes of columns
//! that it has, too, are [`changes`]' matter.
//!
//! Thread safety: shared freely behind an `Arc`.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Charge, ColumnId, Csn, FileId, Part, Result, RowId};
use onlap_format::changes::ChangeBlockEntry;
use onlap_format::frame::Kind;
use onlap_format::marks::{
    DEAD_BLOCK_ROWS, MARKS_VERSION, Mark, MarkBlock, MarkBlockEntry, MarkFooter, MarkShift,
    parse_dead_block,
};
use roaring::RoaringBitmap;

use crate::asked::Asked;
use crate::cache::Loaded;
use crate::context::StorageContext;
use crate::file::FileReader;

mod changes;
mod named;
mod writer;

#[cfg(test)]
mod tests;

pub use changes::{ChangeScratch, Patched};
use named::NamedRows;
pub use writer::{MarkRunSpec, MarkRunWriter};

/// Rows of one block up to which they are looked up one by one; more are merged with the block's.
const SINGLE_LOOKUPS: usize = 16;

/// An open mark run.
pub struct MarkRun {
    file: FileReader,
    adopted: Option<MarkShift>,
    footer: MarkFooter,
    /// Whether any row is marked as deleted.
    deletes: bool,
    /// Rows that mark blocks name.
    marked: NamedRows,
    /// Rows that blocks of changes name: per column, and where its blocks begin.
    changed: Box<[(ColumnId, usize, NamedRows)]>,
    _charge: Charge,
}

impl MarkRun {
    /// Opens a finished file and checks header and footer. `adopted` says how to read a file that
    /// was written before its commit.
    pub fn open(
        context: &Arc<StorageContext>,
        id: FileId,
        adopted: Option<MarkShift>,
    ) -> Result<MarkRun> {
        MarkRun::open_counted(context, id, adopted, Arc::default())
    }

    /// The same of a file whose blocks are counted.
    pub fn open_counted(
        context: &Arc<StorageContext>,
        id: FileId,
        adopted: Option<MarkShift>,
        asked: Arc<Asked>,
    ) -> Result<MarkRun> {
        let file = FileReader::open(context, FileKind::Marks, id)?.counted(asked);
        let (bytes, at) = file.footer(Kind::Marks, MARKS_VERSION)?;
        let mut footer = MarkFooter::parse(&bytes).map_err(|e| file.place(e, at))?;
        if let Some(shift) = adopted {
            footer.shift(shift).map_err(|e| file.place(e, at))?;
        }
        let outside = |b: &MarkBlockEntry| b.offset.saturating_add(u64::from(b.len)) > at;
        let changes = |b: &ChangeBlockEntry| b.offset.saturating_add(u64::from(b.len)) > at;
        if footer.marks.iter().chain(&footer.dead).any(outside)
            || footer.changes.iter().any(changes)
        {
            return Err(file.damaged(at, "a block lies outside of the blocks' part of the file"));
        }
        let deletes = footer.mark_count() + footer.dead_count() > 0;
        let marked = NamedRows::of(footer.marks.iter().map(|b| b.first));
        let changed: Box<[_]> = footer
            .changes
            .chunk_by(|a, b| a.column == b.column)
            .scan(0, |next, blocks| {
                let first = *next;
                *next += blocks.len();
                Some((blocks[0].column, first, NamedRows::of(blocks.iter().map(|b| b.first))))
            })
            .collect();
        let named = changed.iter().map(|(.., named)| named.heap_bytes()).sum::<usize>();
        let heap = footer.heap_bytes() + marked.heap_bytes() + named;
        let charge = context.memory.charge(Part::Resident, heap as u64);
        Ok(MarkRun { file, adopted, footer, deletes, marked, changed, _charge: charge })
    }

    /// The file's id.
    pub fn id(&self) -> FileId {
        self.file.id()
    }

    /// Bytes of the block cache that its blocks take now.
    pub fn cached_bytes(&self) -> u64 {
        self.file.cached_bytes()
    }

    /// The file's length.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// What the run says of itself.
    pub fn footer(&self) -> &MarkFooter {
        &self.footer
    }

    /// Whether any row is marked as deleted.
    pub fn has_deletes(&self) -> bool {
        self.deletes
    }

    /// Whether any row of the range may be marked as deleted here.
    pub fn overlaps(&self, rows: &Range<RowId>) -> bool {
        self.deletes && rows.start < self.footer.rows.end && self.footer.rows.start < rows.end
    }

    /// When the row was deleted, and which row took its place. CSN 0: before every snapshot there
    /// is. `None`: not deleted as far as this run knows.
    pub fn deleted(&self, row: RowId) -> Result<Option<(Csn, Option<RowId>)>> {
        if !self.footer.rows.contains(&row) {
            return Ok(None);
        }
        if self.marks_row(row)? != Some(false)
            && let Some(i) = self.footer.block_of(row)
        {
            let block = self.block(i)?;
            if let Some(mark) = block.get(row).map_err(|e| self.place(&self.footer.marks[i], e))? {
                return Ok(Some((mark.csn, mark.successor)));
            }
        }
        let Some(i) = self.footer.dead_block_of(row) else { return Ok(None) };
        let dead = self.dead_block(i)?.contains((row % DEAD_BLOCK_ROWS) as u32);
        Ok(dead.then_some((0, None)))
    }

    /// Sets `dead[i]` where `rows[i]` is dead for a snapshot at `csn`; never clears one. The rows
    /// rise; each block is read once.
    pub fn filter_dead(&self, rows: &[RowId], csn: Csn, dead: &mut [bool]) -> Result<()> {
        assert_eq!(rows.len(), dead.len(), "one answer per row");
        debug_assert!(rows.is_sorted(), "row ids rise");
        let from = rows.partition_point(|r| *r < self.footer.rows.start);
        let to = rows.partition_point(|r| *r < self.footer.rows.end);
        let (rows, dead) = (&rows[from..to], &mut dead[from..to]);
        if csn >= self.footer.csns.start && !self.footer.marks.is_empty() {
            self.filter_marked(rows, csn, dead)?;
        }
        if self.footer.dead.is_empty() {
            return Ok(());
        }
        let mut at = 0;
        while at < rows.len() {
            let number = rows[at] / DEAD_BLOCK_ROWS;
            let end = at + rows[at..].partition_point(|r| r / DEAD_BLOCK_ROWS == number);
            if let Some(i) = self.footer.dead_block_of(rows[at]) {
                let block = self.dead_block(i)?;
                for (row, dead) in rows[at..end].iter().zip(&mut dead[at..end]) {
                    *dead |= block.contains((row % DEAD_BLOCK_ROWS) as u32);
                }
            }
            at = end;
        }
        Ok(())
    }

    fn filter_marked(&self, rows: &[RowId], csn: Csn, dead: &mut [bool]) -> Result<()> {
        let blocks = &self.footer.marks;
        if rows.len() <= SINGLE_LOOKUPS {
            for (row, dead) in rows.iter().zip(dead) {
                *dead = *dead || self.is_marked(*row, csn)?;
            }
            return Ok(());
        }
        let mut marks = Vec::new();
        let mut at = blocks.first().map_or(rows.len(), |b| rows.partition_point(|r| *r < b.first));
        while at < rows.len() {
            let i =
                self.footer.block_of(rows[at]).expect("rows before the first block were left out");
            let next = blocks.get(i + 1).map_or(RowId::MAX, |b| b.first);
            let end = at + rows[at..].partition_point(|r| *r < next).max(1);
            let place = |e| self.place(&blocks[i], e);
            if end - at <= SINGLE_LOOKUPS {
                for (row, dead) in rows[at..end].iter().zip(&mut dead[at..end]) {
                    *dead = *dead || self.is_marked(*row, csn)?;
                }
            } else {
                let block = self.block(i)?;
                marks.clear();
                let wanted = block.lower_bound(rows[at])..block.lower_bound(rows[end - 1] + 1);
                block.rows(wanted, self.unless_all(csn), &mut marks).map_err(place)?;
                let mut known = 0;
                for (row, dead) in rows[at..end].iter().zip(&mut dead[at..end]) {
                    while marks.get(known).is_some_and(|m| m < row) {
                        known += 1;
                    }
                    *dead |= marks.get(known) == Some(row);
                }
            }
            at = end;
        }
        Ok(())
    }

    /// Whether a mark says that a row is dead for a snapshot at `csn`.
    fn is_marked(&self, row: RowId, csn: Csn) -> Result<bool> {
        let upto = self.unless_all(csn);
        match self.marks_row(row)? {
            Some(false) => Ok(false),
            Some(true) if upto.is_none() => Ok(true),
            _ => {
                let Some(i) = self.footer.block_of(row) else { return Ok(false) };
                let block = self.block(i)?;
                block.contains(row, upto).map_err(|e| self.place(&self.footer.marks[i], e))
            }
        }
    }

    /// Whether a mark names a row, where that is known without its block.
    fn marks_row(&self, row: RowId) -> Result<Option<bool>> {
        self.marked.has(&self.file.context().memory, row, |blocks, names| {
            let mut rows = Vec::new();
            for i in blocks {
                let block = self.block(i)?;
                rows.clear();
                block
                    .rows(0..block.len(), None, &mut rows)
                    .map_err(|e| self.place(&self.footer.marks[i], e))?;
                if !rows.iter().all(|row| names.add(*row..row + 1)) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// The commit, unless all deletes came at or before it.
    fn unless_all(&self, csn: Csn) -> Option<Csn> {
        Some(csn).filter(|csn| csn.saturating_add(1) < self.footer.csns.end)
    }

    /// Sets bit `row - range.start` (64 per word, lowest first) of every row of the range that is
    /// dead for a snapshot at `csn`; never clears one. Gives whether it set any.
    pub fn dead_in(&self, range: Range<RowId>, csn: Csn, bits: &mut [u64]) -> Result<bool> {
        assert!(bits.len() as u64 * 64 >= range.end.saturating_sub(range.start), "a bit per row");
        let mut any = false;
        let mut set = |row: RowId| {
            let bit = row - range.start;
            bits[(bit / 64) as usize] |= 1 << (bit % 64);
            any = true;
        };
        if !self.overlaps(&range) {
            return Ok(false);
        }
        if csn >= self.footer.csns.start {
            let mut marks = Vec::new();
            for i in overlapping(&self.footer.marks, range.start, range.end) {
                marks.clear();
                let block = self.block(i)?;
                let wanted = block.lower_bound(range.start)..block.lower_bound(range.end);
                block
                    .rows(wanted, self.unless_all(csn), &mut marks)
                    .map_err(|e| self.place(&self.footer.marks[i], e))?;
                marks.iter().for_each(|row| set(*row));
            }
        }
        let numbers = (range.start / DEAD_BLOCK_ROWS, range.end.div_ceil(DEAD_BLOCK_ROWS));
        let from = self.footer.dead.partition_point(|b| b.first < numbers.0);
        let to = self.footer.dead.partition_point(|b| b.first < numbers.1);
        for i in from..to {
            let first = self.footer.dead[i].first * DEAD_BLOCK_ROWS;
            let start = range.start.max(first) - first;
            let end = range.end.min(first + DEAD_BLOCK_ROWS) - first;
            let block = self.dead_block(i)?;
            block.range(start as u32..end as u32).for_each(|r| set(first + u64::from(r)));
        }
        Ok(any)
    }

    /// Number of mark blocks.
    pub fn mark_blocks(&self) -> usize {
        self.footer.marks.len()
    }

    /// Appends all marks of mark block `i`, for merges and checks.
    pub fn read_marks(&self, i: usize, out: &mut Vec<Mark>) -> Result<()> {
        let block = self.block(i)?;
        block.marks(0..block.len(), out).map_err(|e| self.place(&self.footer.marks[i], e))
    }

    /// Number of dead blocks.
    pub fn dead_blocks(&self) -> usize {
        self.footer.dead.len()
    }

    /// First row id and dead rows, counted from there, of dead block `i`.
    pub fn read_dead(&self, i: usize) -> Result<(RowId, Arc<Loaded<RoaringBitmap>>)> {
        Ok((self.footer.dead[i].first * DEAD_BLOCK_ROWS, self.dead_block(i)?))
    }

    fn block(&self, i: usize) -> Result<Arc<Loaded<MarkBlock>>> {
        let entry = &self.footer.marks[i];
        let block = self.file.block(entry.offset, entry.len as usize, |bytes| {
            let block = MarkBlock::parse(bytes)?;
            let block = match self.adopted {
                Some(shift) => block.shifted(shift)?,
                None => block,
            };
            let heap = block.heap_bytes();
            Ok((block, heap))
        })?;
        if block.len() != entry.count as usize {
            return Err(self.differs(entry));
        }
        Ok(block)
    }

    fn dead_block(&self, i: usize) -> Result<Arc<Loaded<RoaringBitmap>>> {
        let entry = &self.footer.dead[i];
        let block = self.file.block(entry.offset, entry.len as usize, |bytes| {
            let rows = parse_dead_block(bytes)?;
            let heap = rows.serialized_size();
            Ok((rows, heap))
        })?;
        if block.len() != u64::from(entry.count) {
            return Err(self.differs(entry));
        }
        Ok(block)
    }

    fn differs(&self, entry: &MarkBlockEntry) -> onlap_base::Error {
        self.file.damaged(entry.offset, "a block differs from what the footer says of it")
    }

    fn place(&self, entry: &MarkBlockEntry, error: onlap_base::Error) -> onlap_base::Error {
        self.file.place(error, entry.offset)
    }
}

impl Drop for MarkRun {
    fn drop(&mut self) {
        let cache = &self.file.context().cache;
        let blocks = self.footer.marks.iter().chain(&self.footer.dead);
        let changes = self.footer.changes.iter().map(|b| b.offset);
        blocks.map(|b| b.offset).chain(changes).for_each(|at| cache.remove(self.file.id(), at));
    }
}

/// Blocks that may hold row ids from `start` to below `end`.
fn overlapping(blocks: &[MarkBlockEntry], start: RowId, end: RowId) -> Range<usize> {
    let first = blocks.partition_point(|b| b.first <= start).saturating_sub(1);
    let last = blocks.partition_point(|b| b.first < end);
    first..last.max(first)
}
