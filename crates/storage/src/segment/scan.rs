//! How are all rows of a segment's range read at the device's speed?
//!
//! Blocks that are in the cache are taken from there, and decoded ahead by tasks where the scan says
//! which columns it wants ([`SegmentScan::decode_ahead`]) and has come past a mebibyte. Others are read many at once: the first read
//! is one block, so that a scan with a small limit stays cheap, and each following one four times as
//! large up to [`SPAN_BYTES`]; from then on tasks read ahead ([`super::ahead`]), into the next segment
//! too where the caller has one ([`SegmentScan::follow`]). What was read goes into the cache only
//! while that has free space, so a scan of a table larger than memory leaves the cache as it is.
//! Blocks that zone maps rule out are not read.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Result, RowId};
use onlap_format::Batch;
use onlap_format::zone::ZoneProbe;

use super::ahead::{AHEAD_SPANS, Coming, Ready, SPAN_BYTES, Span, SpanPlan};
use super::blobs::Keep;
use super::decoded::{DecodeAhead, Decoded};
use super::{BlockRef, Segment};
use crate::entry::Direction;

/// Spans grow by this factor from one block to [`SPAN_BYTES`].
const GROWTH: usize = 4;

/// A block that a scan came to.
pub struct ScanBlock {
    /// The block.
    pub block: BlockRef,
    /// Its number in the segment.
    pub number: usize,
    /// Its rows that lie in the scan's range.
    pub rows: Range<usize>,
    pub(super) decoded: Option<Decoded>,
}

/// Walks the blocks of a row-id range.
pub struct SegmentScan {
    segment: Arc<Segment>,
    row_ids: Range<RowId>,
    direction: Direction,
    /// Blocks still to come, in the order of the file.
    blocks: VecDeque<u32>,
    /// Blocks read last.
    at_hand: Span,
    /// Spans under way, in the order of the scan.
    coming: VecDeque<Coming>,
    /// Bytes of the next span.
    span: usize,
    /// Bytes of blocks that were found in the cache, up to the first task.
    cached: usize,
    decode: Option<Arc<DecodeAhead>>,
    /// Whether no block is left for which a read would have to be started.
    all_asked: bool,
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
            at_hand: Span::default(),
            coming: VecDeque::new(),
            span: 0,
            cached: 0,
            decode: None,
            all_asked: false,
        }
    }

    /// Has tasks decode the rows of blocks ahead; the scan's projection is that of `decode`.
    pub fn decode_ahead(mut self, decode: &Arc<DecodeAhead>) -> SegmentScan {
        self.decode = decode.has_columns().then(|| decode.clone());
        self
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
            let Ready { block, decoded } = self.load(number)?;
            let rows = block.lower_bound(self.row_ids.start)..block.lower_bound(self.row_ids.end);
            if !rows.is_empty() {
                return Ok(Some(ScanBlock { block, number, rows, decoded }));
            }
        }
    }

    /// Whether this scan reads ahead and has its last blocks under way: time for the scan of the
    /// next segment to [`follow`](SegmentScan::follow).
    pub fn is_read_out(&self) -> bool {
        self.all_asked && self.coming.len() < AHEAD_SPANS
    }

    /// Goes on as the scan before this one did, which may mean to read ahead, with the spans that
    /// the one before does not need any more.
    pub fn follow(&mut self, before: &SegmentScan) {
        self.span = before.span;
        if self.span == SPAN_BYTES {
            self.read_ahead(AHEAD_SPANS - before.coming.len());
        }
    }

    fn load(&mut self, number: usize) -> Result<Ready> {
        if let Some(block) = self.at_hand.take(number) {
            return block;
        }
        // Before the cache: a span under way has its blocks there too, and has to make room for the
        // next one.
        while self.coming.front().is_some_and(|span| !self.is_before(number, &span.numbers())) {
            let span = self.coming.pop_front().expect("it was looked at");
            if span.numbers().contains(&number) {
                // Let go of the old one first: there is never more than one in memory.
                self.at_hand = Span::default();
                if let Some(decode) = &self.decode {
                    decode.note(!span.is_there());
                }
                self.at_hand = span.wait()?;
            }
        }
        if !self.at_hand.numbers().contains(&number) {
            if let Some(block) = self.segment.cached(number) {
                self.segment.file.asked().hit();
                self.pass_cached(number);
                return Ok(Ready::plain(block));
            }
            self.at_hand = Span::default();
            let plan = self.span_from(number);
            self.span = (plan.bytes * GROWTH).max(self.span).min(SPAN_BYTES);
            self.at_hand = Span::read(&self.segment, plan, number)?;
        }
        if self.span == SPAN_BYTES {
            self.read_ahead(AHEAD_SPANS);
        }
        self.at_hand.take(number).expect("a span has each of its blocks")
    }

    /// Notes that a block was in the cache; after many of them the next ones are decoded ahead.
    fn pass_cached(&mut self, number: usize) {
        if self.decode.is_none() {
            return;
        }
        self.cached += self.segment.footer.blocks[number].len as usize;
        if self.cached >= SPAN_BYTES {
            self.span = SPAN_BYTES;
        }
        if self.span == SPAN_BYTES {
            self.at_hand = Span::taken(number);
            self.read_ahead(AHEAD_SPANS);
        }
    }

    /// Whether the scan comes to block `number` before it comes to `blocks`.
    fn is_before(&self, number: usize, blocks: &Range<usize>) -> bool {
        match self.direction {
            Direction::Forward => blocks.start > number,
            Direction::Backward => blocks.end <= number,
        }
    }

    /// Has spans read or decoded that follow those in memory and under way, up to `spans` of them.
    fn read_ahead(&mut self, spans: usize) {
        while self.coming.len() < spans {
            let asked = self.coming.back().map_or(self.at_hand.numbers(), Coming::numbers);
            let next = match self.direction {
                Direction::Forward => {
                    let at = self.blocks.partition_point(|i| (*i as usize) < asked.end);
                    self.blocks.get(at)
                }
                Direction::Backward if asked.is_empty() => self.blocks.back(),
                Direction::Backward => {
                    let at = self.blocks.partition_point(|i| (*i as usize) < asked.start);
                    at.checked_sub(1).and_then(|at| self.blocks.get(at))
                }
            };
            let Some(number) = next.map(|i| *i as usize) else {
                self.all_asked = true;
                return;
            };
            let cached = self.segment.cached(number).is_some();
            if cached && self.decode.is_none() {
                return;
            }
            let (plan, decode) = (self.span_from(number), self.decode.as_ref());
            let Some(span) = Coming::start(&self.segment, plan, cached, decode) else { return };
            self.coming.push_back(span);
        }
    }

    /// What to read so that block `number` and as many of those after it as the read-ahead allows
    /// are there.
    fn span_from(&self, number: usize) -> SpanPlan {
        let entries = &self.segment.footer.blocks;
        let mut plan = SpanPlan::of_block(&self.segment, number);
        let after = self.blocks.partition_point(|i| *i as usize <= number);
        let before = self.blocks.partition_point(|i| (*i as usize) < number);
        let mut next: Box<dyn Iterator<Item = &u32>> = match self.direction {
            Direction::Forward => Box::new(self.blocks.range(after..)),
            Direction::Backward => Box::new(self.blocks.range(..before).rev()),
        };
        for i in next.by_ref().map(|i| *i as usize) {
            let entry = &entries[i];
            let start = plan.offset.min(entry.offset);
            let end = (plan.offset + plan.bytes as u64).max(entry.offset + u64::from(entry.len));
            if i + 1 < plan.blocks.start || i > plan.blocks.end || end - start > self.span as u64 {
                break;
            }
            if end - start > plan.bytes as u64 + u64::from(entry.len) {
                // Blobs lie between.
                break;
            }
            plan.blocks = i.min(plan.blocks.start)..(i + 1).max(plan.blocks.end);
            (plan.offset, plan.bytes) = (start, (end - start) as usize);
        }
        plan
    }

    /// Empties `out` and `row_ids` and fills them with the rows of the next block, decoding only the
    /// projection; a column that the segment does not have reads as what it was added with. Backward, rows fall. False:
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
        let Some(mut found) = self.next_block()? else { return Ok(false) };
        let backward = self.direction == Direction::Backward;
        found.block.row_ids(found.rows.clone(), row_ids);
        out.rows = 0;
        if backward {
            row_ids.reverse();
            let positions: Vec<u32> = found.rows.clone().rev().map(|i| i as u32).collect();
            self.append_selected(&found, &positions, projection, out)?;
        } else {
            let rows = found.rows.clone();
            self.append(&mut found, rows, projection, out)?;
        }
        Ok(true)
    }

    /// Appends rows `rows` of a block that this scan came to, columns `projection`; a column that the
    /// segment does not have reads as what it was added with.
    pub fn append(
        &self,
        found: &mut ScanBlock,
        rows: Range<usize>,
        projection: &[ColumnId],
        out: &mut Batch,
    ) -> Result<()> {
        if let Some(mut decoded) = found.decoded.take() {
            let all = rows.len() == found.block.rows();
            decoded.append(rows, out);
            found.decoded = Some(decoded).filter(|_| !all);
            return Ok(());
        }
        self.segment.append(found.number, &found.block, rows, projection, out)
    }

    /// As [`SegmentScan::append`] for rows in any order. Blobs are read once each where the order
    /// rises or falls.
    pub fn append_selected(
        &self,
        found: &ScanBlock,
        positions: &[u32],
        projection: &[ColumnId],
        out: &mut Batch,
    ) -> Result<()> {
        if let Some(decoded) = &found.decoded {
            decoded.append_selected(positions, out);
            return Ok(());
        }
        for (id, to) in projection.iter().zip(&mut out.columns) {
            let (segment, number) = (&self.segment, found.number);
            segment.append_selected(number, &found.block, *id, positions, Keep::IfRoom, to)?;
        }
        out.rows += positions.len();
        Ok(())
    }
}
