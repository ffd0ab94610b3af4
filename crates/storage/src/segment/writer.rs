//! How do rows become a segment file?
//!
//! Rows come in batches in row order and leave in blocks closed by encoded size. Nothing is read
//! back; memory is one block's rows next to the current batch and the footer under construction.
//!
//! Long values leave as blob frames before the block that names them. So that a scan which wants no
//! long values reads blocks in one go, the blocks of a segment that has some are held back and
//! written [`HELD_BYTES`] at a time.
//!
//! Thread safety: a writer belongs to one thread.

use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::limits::{BLOCK_BYTES, BLOCK_ROWS_MAX};
use onlap_base::names::FileKind;
use onlap_base::{Charge, ColumnId, Csn, Part, Result, RowId, TableId};
use onlap_format::blob::{self, FrameWriter};
use onlap_format::block::{Block, BlockEncoder, RowIds};
use onlap_format::frame::{self, Kind};
use onlap_format::manifest::SegmentMeta;
use onlap_format::segment::{BlockEntry, CommitMap, SEGMENT_VERSION, SegmentFooter};
use onlap_format::zone::Zone;
use onlap_format::{Batch, Physical, Vector};

use super::ahead::SPAN_BYTES;
use crate::context::StorageContext;
use crate::file::FileWriter;
use crate::written::Purpose;

/// Most bytes of one column's strings that share a block, however few rows that are (but one):
/// fetching one row must not read a gigabyte because its neighbours are large. Four blocks' worth, so
/// that strings which compress well still fill a block.
const BLOCK_RAW_BYTES_MAX: usize = 4 * BLOCK_BYTES;

/// Bytes of blocks that wait while blobs are written: what a scan reads at once.
const HELD_BYTES: usize = SPAN_BYTES;

/// What a new segment is.
#[derive(Clone, Debug)]
pub struct SegmentSpec {
    /// Whose rows.
    pub table: TableId,
    /// Schema version of the rows.
    pub schema_version: u32,
    /// Columns of every batch, in its order.
    pub columns: Vec<(ColumnId, Physical)>,
    /// Row ids that the segment answers for; those that are not pushed are dead for every snapshot.
    pub row_ids: Range<RowId>,
    /// Column changes up to here are part of the values.
    pub folded_csn: Csn,
    /// Whether blocks are compressed by zstd where that pays.
    pub compress: bool,
    /// Most rows per block; [`BLOCK_ROWS_MAX`] but in tests.
    pub block_rows: usize,
    /// What the bytes are counted as.
    pub purpose: Purpose,
    /// Whether its blocks may be put into the cache; not where row ids count from elsewhere.
    pub cache: bool,
}

/// Writes one segment.
pub struct SegmentWriter {
    spec: SegmentSpec,
    file: FileWriter,
    encoder: BlockEncoder,
    /// Blocks so far; of those held back, the offset counts from the first of them.
    blocks: Vec<BlockEntry>,
    /// Per column, per block.
    zones: Vec<Vec<Zone>>,
    commits: Vec<(RowId, Csn)>,
    /// Rows that do not fill a block yet.
    pending: Batch,
    pending_ids: Vec<RowId>,
    /// Whether there are long values among them.
    pending_long: bool,
    next_row_id: RowId,
    /// Blocks held back.
    held: Vec<u8>,
    /// How many blocks are not held back.
    released: usize,
    /// Blobs of the current block; there once the segment has a long value.
    frames: Option<FrameWriter>,
    charge: Charge,
}

impl SegmentWriter {
    /// Starts a file under a new id.
    pub fn create(context: &Arc<StorageContext>, spec: SegmentSpec) -> Result<SegmentWriter> {
        assert!((1..=BLOCK_ROWS_MAX).contains(&spec.block_rows), "1 to 4096 rows per block");
        assert!(spec.row_ids.start < spec.row_ids.end, "a segment stands for rows");
        let mut file = FileWriter::create(context, FileKind::Segment, spec.purpose)?;
        let mut bytes = Vec::new();
        frame::put_header(Kind::Segment, SEGMENT_VERSION, &mut bytes);
        file.write(&bytes)?;
        bytes.clear();
        Ok(SegmentWriter {
            encoder: BlockEncoder::new(spec.columns.len(), spec.compress),
            blocks: Vec::new(),
            zones: vec![Vec::new(); spec.columns.len()],
            commits: Vec::new(),
            pending: Batch::new(spec.columns.iter().map(|(_, form)| *form)),
            pending_ids: Vec::new(),
            pending_long: false,
            next_row_id: spec.row_ids.start,
            held: bytes,
            released: 0,
            frames: None,
            charge: context.memory.charge(Part::Background, 0),
            file,
            spec,
        })
    }

    /// Appends rows whose ids rise above all before and lie in the segment's range.
    pub fn push(&mut self, batch: &Batch, row_ids: &[RowId]) -> Result<()> {
        assert_eq!(batch.rows, row_ids.len(), "one row id per row");
        let (Some(first), Some(last)) = (row_ids.first(), row_ids.last()) else { return Ok(()) };
        assert!(*first >= self.next_row_id && *last < self.spec.row_ids.end, "ids in range");
        debug_assert!(row_ids.is_sorted_by(|a, b| a < b), "row ids rise");
        self.next_row_id = last + 1;
        let long = blob::has_long(batch);
        let mut start = 0;
        let held = self.pending.rows;
        if held > 0 {
            // Top up what was left over by a block's rows, then go on without copying.
            let taken = batch.rows.min(self.spec.block_rows);
            self.pending.extend_range(batch, 0..taken);
            self.pending_ids.extend_from_slice(&row_ids[..taken]);
            let (pending, ids) = (take(&mut self.pending), take(&mut self.pending_ids));
            self.pending_long |= long;
            let done = self.write_blocks(&pending, &ids, 0, self.pending_long)?;
            if taken == batch.rows {
                self.keep(pending, ids, done);
                return Ok(());
            }
            assert!(done >= held, "what is left over is less than a block");
            start = done - held;
        }
        let done = self.write_blocks(batch, row_ids, start, long)?;
        self.pending_long = long && done < batch.rows;
        if self.pending.columns.is_empty() {
            self.pending = Batch::new(self.spec.columns.iter().map(|(_, form)| *form));
        }
        self.pending.extend_range(batch, done..batch.rows);
        self.pending_ids.extend_from_slice(&row_ids[done..]);
        Ok(())
    }

    /// Rows from `done` on wait for more.
    fn keep(&mut self, rows: Batch, ids: Vec<RowId>, done: usize) {
        if done == 0 {
            (self.pending, self.pending_ids) = (rows, ids);
            return;
        }
        self.pending = Batch::new(self.spec.columns.iter().map(|(_, form)| *form));
        self.pending.extend_range(&rows, done..rows.rows);
        self.pending_ids.extend_from_slice(&ids[done..]);
    }

    /// Says which commits the rows came with: boundaries (end row id, CSN), rising over all calls.
    pub fn push_commits(&mut self, boundaries: &[(RowId, Csn)]) {
        let rise = |a: &(RowId, Csn), b: &(RowId, Csn)| a.0 < b.0 && a.1 < b.1;
        debug_assert!(boundaries.is_sorted_by(rise), "rows and commits rise together");
        if let (Some(last), Some(first)) = (self.commits.last(), boundaries.first()) {
            assert!(rise(last, first), "rows and commits rise together");
        }
        self.commits.extend_from_slice(boundaries);
    }

    /// Writes blocks that are full, from row `start` on; returns where the first that is not begins.
    /// `long` says whether there are long values in the batch.
    fn write_blocks(
        &mut self,
        batch: &Batch,
        ids: &[RowId],
        mut start: usize,
        long: bool,
    ) -> Result<usize> {
        while start < batch.rows {
            let rows = self.rows_that_fit(batch, start, long);
            if start + rows == batch.rows && rows < self.spec.block_rows {
                break;
            }
            start += self.write_block(batch, ids, start..start + rows, long)?;
        }
        Ok(start)
    }

    fn rows_that_fit(&self, batch: &Batch, start: usize, long: bool) -> usize {
        let fit = self.encoder.rows_that_fit(batch, start, long).min(self.spec.block_rows);
        if long {
            return blob::rows_within(batch, start, fit, BLOCK_RAW_BYTES_MAX);
        }
        let strings = batch.columns.iter().filter_map(|c| match &c.data {
            Vector::Bytes(v) => Some(v),
            _ => None,
        });
        strings.fold(fit, |rows, v| {
            let end = v.offsets[start] as usize + BLOCK_RAW_BYTES_MAX;
            let ends = &v.offsets[start + 1..=start + rows];
            ends.partition_point(|e| *e as usize <= end).max(1)
        })
    }

    /// Writes a block of these rows, or of the first of them when they turn out too large; returns
    /// how many it took.
    fn write_block(
        &mut self,
        batch: &Batch,
        ids: &[RowId],
        rows: Range<usize>,
        long: bool,
    ) -> Result<usize> {
        assert!(!rows.is_empty() && rows.end <= ids.len(), "a block has rows");
        let mut rows = rows;
        let start = self.held.len();
        loop {
            let ids = &ids[rows.clone()];
            let dense = ids[ids.len() - 1] - ids[0] == ids.len() as u64 - 1;
            let row_ids = if dense { RowIds::Dense(ids[0]) } else { RowIds::List(ids) };
            self.held.truncate(start);
            if long {
                let frames = self.frames.get_or_insert_default();
                frames.start(self.file.offset());
                self.encoder.encode_apart(batch, rows.clone(), row_ids, frames, &mut self.held);
            } else {
                self.encoder.encode(batch, rows.clone(), row_ids, &mut self.held);
            }
            // Encoding taught the encoder the ratio of these rows, so the next try is smaller.
            let fit = self.rows_that_fit(batch, rows.start, long);
            if self.held.len() - start <= BLOCK_BYTES / 4 * 5 || fit >= rows.len() {
                break;
            }
            rows.end = rows.start + fit;
        }
        let ids = &ids[rows.clone()];
        assert!(
            self.blocks.last().is_none_or(|block| block.first_row_id < ids[0]),
            "blocks come in row-id order"
        );
        self.blocks.push(BlockEntry {
            offset: start as u64,
            len: u32::try_from(self.held.len() - start).expect("64 rows of at most 32 MiB"),
            rows: rows.len() as u32,
            first_row_id: ids[0],
        });
        for (zones, column) in self.zones.iter_mut().zip(&batch.columns) {
            zones.push(Zone::of(column, rows.clone()));
        }
        if let Some(frames) = self.frames.as_mut() {
            self.charge.resize((self.held.capacity() + frames.heap_bytes()) as u64);
            self.file.write(frames.bytes())?;
            frames.start(0);
        }
        if self.frames.is_none() || self.held.len() >= HELD_BYTES {
            self.release()?;
        }
        Ok(rows.len())
    }

    /// Writes the blocks held back.
    fn release(&mut self) -> Result<()> {
        let base = self.file.offset();
        let cache = &self.file.context().cache;
        for entry in &mut self.blocks[self.released..] {
            let bytes = &self.held[entry.offset as usize..][..entry.len as usize];
            entry.offset += base;
            if self.spec.cache && cache.has_room(2 * bytes.len()) {
                let block = Block::parse(bytes)?;
                let heap = block.heap_bytes();
                cache.insert_if_room(self.file.id(), entry.offset, block, heap);
            }
        }
        self.released = self.blocks.len();
        self.file.write(&self.held)?;
        self.held.clear();
        Ok(())
    }

    /// Bytes written so far, without the footer.
    pub fn bytes(&self) -> u64 {
        self.file.offset() + self.held.len() as u64
    }

    /// Writes the rest and the footer and makes the file durable.
    pub fn finish(mut self) -> Result<SegmentMeta> {
        let (batch, ids) = (take(&mut self.pending), take(&mut self.pending_ids));
        let (mut start, long) = (0, self.pending_long);
        while start < batch.rows {
            let rows = self.rows_that_fit(&batch, start, long);
            start += self.write_block(&batch, &ids, start..start + rows, long)?;
        }
        self.release()?;
        assert_eq!(self.released, self.blocks.len(), "no block is held back");
        let zones_of = |zones: &Vec<Zone>| zones.len() == self.blocks.len();
        assert!(self.zones.iter().all(zones_of), "a zone for each block of each column");
        let footer = SegmentFooter::new(
            self.spec.table,
            self.spec.schema_version,
            self.spec.columns,
            self.spec.row_ids.clone(),
            self.spec.folded_csn,
            self.blocks,
            &self.zones,
            CommitMap::new(&self.commits),
        );
        let mut encoded = Vec::new();
        footer.encode(&mut encoded);
        let offset = self.file.offset();
        frame::put_footer(Kind::Segment, SEGMENT_VERSION, &encoded, offset, &mut self.held);
        self.file.write(&self.held)?;
        let (file, bytes) = self.file.finish()?;
        let ids = self.spec.row_ids.end - self.spec.row_ids.start;
        assert!(footer.rows <= ids, "a segment has no more rows than ids");
        Ok(SegmentMeta {
            file,
            bytes,
            rows: self.spec.row_ids,
            count: footer.rows,
            schema: self.spec.schema_version,
            folded_csn: self.spec.folded_csn,
            adopted: None,
        })
    }
}
