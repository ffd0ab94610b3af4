//! How are all rows of a segment's range read at the device's speed?
//!
//! Blocks that are in the cache are taken from there. Others are read many at once: the first read
//! is one block, so that a scan with a small limit stays cheap, and each following one four times as
//! large up to 2 MiB; from then on the next one is under way while the caller works. What was read
//! goes into the cache only while that has free space, so a scan of a table larger than memory
//! leaves the cache as it is. Blocks that zone maps rule out are not read.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Result, RowId};
use onlap_format::Batch;
use onlap_format::block::Block;
use onlap_format::zone::ZoneProbe;

use super::{BlockRef, Segment};
use crate::entry::Direction;
use crate::file::{SCAN_READ_BYTES, SpanReader};

/// Read-ahead grows by this factor from one block to [`SCAN_READ_BYTES`].
const GROWTH: usize = 4;

/// A block that a scan came to.
pub struct ScanBlock {
    /// The block.
    pub block: BlockRef,
    /// Its number in the segment.
    pub number: usize,
    /// Its rows that lie in the scan's range.
    pub rows: Range<usize>,
}

/// Walks the blocks of a row-id range.
pub struct SegmentScan {
    segment: Arc<Segment>,
    row_ids: Range<RowId>,
    direction: Direction,
    /// Blocks still to come, in the order of the file.
    blocks: VecDeque<u32>,
    reader: SpanReader,
    /// Bytes of the next read.
    span: usize,
}

impl SegmentScan {
    /// A scan of the rows whose ids lie in `row_ids`.
    pub fn new(segment: &Arc<Segment>, row_ids: Range<RowId>, direction: Direction) -> SegmentScan {
        let blocks = &segment.footer.blocks;
        let first = segment.footer.block_of(row_ids.start).unwrap_or(0);
        let end = blocks.partition_point(|b| b.first_row_id < row_ids.end).max(first);
        SegmentScan {
            segment: segment.clone(),
            direction,
            row_ids,
            blocks: (first as u32..end as u32).collect(),
            reader: SpanReader::new(segment.file.clone()),
            span: 0,
        }
    }

    /// Leaves out the blocks of which `keep`, given the block's number, says that nothing in them is
    /// wanted.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        self.blocks.retain(|i| keep(*i as usize));
    }

    /// Leaves out the blocks that have no value of the probe's range in the column. The caller makes
    /// sure that no column changes of the column are pending.
    pub fn prune(&mut self, column: ColumnId, probe: &ZoneProbe) -> Result<()> {
        if let Some(zones) = self.segment.zones(column)? {
            self.retain(|i| probe.may_match(&zones[i]));
        }
        Ok(())
    }

    /// The segment.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// How many blocks are still to come.
    pub fn blocks_left(&self) -> usize {
        self.blocks.len()
    }

    /// The next block; `None` at the end.
    pub fn next_block(&mut self) -> Result<Option<ScanBlock>> {
        loop {
            let next = match self.direction {
                Direction::Forward => self.blocks.pop_front(),
                Direction::Backward => self.blocks.pop_back(),
            };
            let Some(number) = next.map(|i| i as usize) else { return Ok(None) };
            let block = self.load(number)?;
            let rows = block.lower_bound(self.row_ids.start)..block.lower_bound(self.row_ids.end);
            if !rows.is_empty() {
                return Ok(Some(ScanBlock { block, number, rows }));
            }
        }
    }

    fn load(&mut self, number: usize) -> Result<BlockRef> {
        let segment = self.segment.clone();
        let (entry, file) = (&segment.footer.blocks[number], &segment.file);
        let cache = &file.context().cache;
        if let Some(block) = cache.get(file.id(), entry.offset) {
            return Ok(block);
        }
        let len = entry.len as usize;
        if !self.reader.holds(entry.offset, len) {
            if !self.reader.take_ahead(entry.offset, len)? {
                let (offset, bytes) = self.span_from(number);
                self.reader.read(offset, bytes)?;
                self.span = (bytes * GROWTH).max(self.span).min(SCAN_READ_BYTES);
            }
            if self.span == SCAN_READ_BYTES {
                self.read_ahead();
            }
        }
        let bytes = self.reader.get(entry.offset, len);
        let (block, heap) =
            segment.parse(number, bytes).map_err(|e| file.place(e, entry.offset))?;
        Ok(cache.insert_if_room(file.id(), entry.offset, block, heap))
    }

    /// Has the span read that follows the one at hand.
    fn read_ahead(&mut self) {
        let (entries, held) = (&self.segment.footer.blocks, self.reader.range());
        let outside = |i: &&u32| {
            let offset = entries[**i as usize].offset;
            if self.direction == Direction::Forward {
                offset >= held.end
            } else {
                offset < held.start
            }
        };
        let next = match self.direction {
            Direction::Forward => self.blocks.iter().find(outside),
            Direction::Backward => self.blocks.iter().rev().find(outside),
        };
        let Some(number) = next.map(|i| *i as usize) else { return };
        let file = &self.segment.file;
        if file.context().cache.get::<Block>(file.id(), entries[number].offset).is_none() {
            let (offset, bytes) = self.span_from(number);
            self.reader.read_ahead(offset, bytes);
        }
    }

    /// What to read so that block `number` and as many of those after it as the read-ahead allows
    /// are there.
    fn span_from(&self, number: usize) -> (u64, usize) {
        let entries = &self.segment.footer.blocks;
        let mut start = entries[number].offset;
        let mut end = start + u64::from(entries[number].len);
        let mut last = number;
        let after = self.blocks.partition_point(|i| *i as usize <= number);
        let before = self.blocks.partition_point(|i| (*i as usize) < number);
        let mut next: Box<dyn Iterator<Item = &u32>> = match self.direction {
            Direction::Forward => Box::new(self.blocks.range(after..)),
            Direction::Backward => Box::new(self.blocks.range(..before).rev()),
        };
        for i in next.by_ref().map(|i| *i as usize) {
            let entry = &entries[i];
            let entry_end = entry.offset + u64::from(entry.len);
            let (from, to) = (start.min(entry.offset), end.max(entry_end));
            if i.abs_diff(last) > 1 || (to - from) as usize > self.span {
                break;
            }
            (start, end, last) = (from, to, i);
        }
        (start, (end - start) as usize)
    }

    /// Empties `out` and `row_ids` and fills them with the rows of the next block, decoding only the
    /// projection; a column that the segment does not have reads as NULL. Backward, rows fall. False:
    /// the end.
    pub fn next(
        &mut self,
        projection: &[ColumnId],
        out: &mut Batch,
        row_ids: &mut Vec<RowId>,
    ) -> Result<bool> {
        out.truncate(0);
        out.columns.iter_mut().for_each(|c| c.nulls = None);
        row_ids.clear();
        let Some(found) = self.next_block()? else { return Ok(false) };
        let backward = self.direction == Direction::Backward;
        found.block.row_ids(found.rows.clone(), row_ids);
        out.rows = 0;
        if backward {
            row_ids.reverse();
            let positions: Vec<u32> = found.rows.clone().rev().map(|i| i as u32).collect();
            self.append_selected(&found, &positions, projection, out)?;
        } else {
            self.append(&found, found.rows.clone(), projection, out)?;
        }
        Ok(true)
    }

    /// Appends rows `rows` of a block that this scan came to, columns `projection`; a column that the
    /// segment does not have reads as NULL.
    pub fn append(
        &self,
        found: &ScanBlock,
        rows: Range<usize>,
        projection: &[ColumnId],
        out: &mut Batch,
    ) -> Result<()> {
        for (id, to) in projection.iter().zip(&mut out.columns) {
            match self.segment.footer.position(*id) {
                Some(k) => found
                    .block
                    .column(k)
                    .and_then(|view| view.append_to(rows.clone(), to))
                    .map_err(|e| self.segment.place(found.number, e))?,
                None => rows.clone().for_each(|_| to.push_null()),
            }
        }
        out.rows += rows.len();
        Ok(())
    }

    /// As [`SegmentScan::append`] for rows in any order.
    pub fn append_selected(
        &self,
        found: &ScanBlock,
        positions: &[u32],
        projection: &[ColumnId],
        out: &mut Batch,
    ) -> Result<()> {
        for (id, to) in projection.iter().zip(&mut out.columns) {
            let k = self.segment.footer.position(*id);
            self.segment.append_selected(found.number, &found.block, k, positions, to)?;
        }
        out.rows += positions.len();
        Ok(())
    }
}
