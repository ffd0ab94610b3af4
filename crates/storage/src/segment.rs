//! How are rows of a finished segment found and read?
//!
//! An open segment keeps its footer in memory: where each block lies and which row ids it has.
//! Fetching rows reads each block once ([`Segment::read_rows`]); scanning reads many blocks at once
//! ([`SegmentScan`]). Which rows are visible is the caller's question; a row id without a row here is
//! dead for every snapshot. Segments are never modified (I5); row ids name one row for ever (I1).
//!
//! Thread safety: shared freely behind an `Arc`; a scan belongs to one thread.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use onlap_base::names::FileKind;
use onlap_base::{Charge, ColumnId, Error, FileId, Part, Result, RowId};
use onlap_format::block::Block;
use onlap_format::frame::Kind;
use onlap_format::manifest::Adopted;
use onlap_format::segment::{SEGMENT_VERSION, SegmentFooter};
use onlap_format::zone::{ZONE_BYTES, Zone};
use onlap_format::{Batch, Column, Physical, TableSchema, convert};

use parking_lot::RwLock;

use crate::asked::Asked;
use crate::cache::Loaded;
use crate::context::StorageContext;
use crate::file::FileReader;
use blobs::Keep;

mod ahead;
mod blobs;
mod decoded;
mod scan;
mod skip;
mod writer;

#[cfg(test)]
mod tests;

pub use decoded::DecodeAhead;
pub use scan::{ScanBlock, SegmentScan};
pub use skip::SkipBits;
pub use writer::{SegmentSpec, SegmentWriter};

/// A block of a segment, held in memory.
pub type BlockRef = Arc<Loaded<Block>>;

/// An open segment.
pub struct Segment {
    file: Arc<FileReader>,
    /// The file's row ids count from here.
    base: RowId,
    footer: SegmentFooter,
    /// Where the footer begins: everything else lies before it.
    footer_at: u64,
    /// Whether blobs were put into the cache.
    has_cached_blobs: AtomicBool,
    /// Zones per column, decoded when first asked for.
    zones: Vec<OnceLock<(Arc<[Zone]>, Charge)>>,
    skip: SkipBits,
    /// Values of columns that were added later.
    missing: RwLock<Vec<(ColumnId, Column)>>,
    _charge: Charge,
}

impl Segment {
    /// Opens a finished file and checks header and footer. `adopted` says how to read a file that
    /// was written before its commit.
    pub fn open(
        context: &Arc<StorageContext>,
        id: FileId,
        adopted: Option<Adopted>,
    ) -> Result<Segment> {
        Segment::open_counted(context, id, adopted, Arc::default())
    }

    /// The same of a file whose blocks are counted.
    pub fn open_counted(
        context: &Arc<StorageContext>,
        id: FileId,
        adopted: Option<Adopted>,
        asked: Arc<Asked>,
    ) -> Result<Segment> {
        let base = adopted.map_or(0, |a| a.base);
        let file = FileReader::open(context, FileKind::Segment, id)?.counting_from(base);
        let file = file.counted(asked);
        let (bytes, at) = file.footer(Kind::Segment, SEGMENT_VERSION)?;
        let mut footer = SegmentFooter::parse(&bytes).map_err(|e| file.place(e, at))?;
        if let Some(Adopted { base, csn }) = adopted {
            footer.shift(base, csn).map_err(|e| file.place(e, at))?;
        }
        if footer.blocks.iter().any(|b| b.offset.saturating_add(u64::from(b.len)) > at) {
            return Err(file.damaged(at, "a block lies outside of the blocks' part of the file"));
        }
        let skip = SkipBits::new(footer.blocks.len());
        let heap = footer.heap_bytes() + skip.heap_bytes();
        let charge = context.memory.charge(Part::Resident, heap as u64);
        let zones = footer.columns.iter().map(|_| OnceLock::new()).collect();
        Ok(Segment {
            file: Arc::new(file),
            base,
            footer,
            footer_at: at,
            has_cached_blobs: AtomicBool::new(false),
            zones,
            skip,
            missing: RwLock::default(),
            _charge: charge,
        })
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

    /// What the segment says of itself.
    pub fn footer(&self) -> &SegmentFooter {
        &self.footer
    }

    /// Row ids that the segment answers for.
    pub fn row_ids(&self) -> Range<RowId> {
        self.footer.first_row_id..self.footer.end_row_id
    }

    /// The zones of a column, one per block; `None` where the segment does not have the column.
    pub fn zones(&self, column: ColumnId) -> Result<Option<Arc<[Zone]>>> {
        let Some(k) = self.footer.position(column) else { return Ok(None) };
        if let Some((zones, _)) = self.zones[k].get() {
            return Ok(Some(zones.clone()));
        }
        let zones = self.footer.zones(k).map_err(|e| self.file.place(e, 0))?;
        let strings = if self.footer.columns[k].1 == Physical::Bytes { 2 * ZONE_BYTES } else { 0 };
        let bytes = zones.len() * (size_of::<Zone>() + strings);
        let charge = self.file.context().memory.charge(Part::Resident, bytes as u64);
        let (zones, _) = self.zones[k].get_or_init(|| (zones.into(), charge));
        Ok(Some(zones.clone()))
    }

    /// The blocks known to be wholly dead.
    pub fn skip(&self) -> &SkipBits {
        &self.skip
    }

    /// Block `i`, from the cache or the file.
    pub fn block(&self, i: usize) -> Result<BlockRef> {
        let entry = &self.footer.blocks[i];
        self.file.block(entry.offset, entry.len as usize, |bytes| self.parse(i, bytes))
    }

    /// Parses block `i` and holds it against what the footer says.
    fn parse(&self, i: usize, bytes: &[u8]) -> Result<(Block, usize)> {
        let entry = &self.footer.blocks[i];
        let block = Block::parse(bytes)?.shifted(self.base)?;
        if block.rows() != entry.rows as usize
            || block.first_row_id() != entry.first_row_id
            || block.columns() != self.footer.columns.len()
        {
            return Err(Error::damaged("a block differs from what the footer says of it"));
        }
        let heap = block.heap_bytes();
        Ok((block, heap))
    }

    /// Reads the rows with these ids, which rise; each block is read once and only the projection's
    /// columns are decoded. Appends the rows that are here to `out`, whose columns are those of the
    /// projection, and their ids to `found`. A column that the segment does not have reads as
    /// what it was added with.
    /// Blobs are read where the projection wants their columns, each once. Returns how many blocks,
    /// without blobs, that took.
    pub fn read_rows(
        &self,
        rows: &[RowId],
        projection: &[ColumnId],
        out: &mut Batch,
        found: &mut Vec<RowId>,
    ) -> Result<u64> {
        debug_assert!(rows.is_sorted_by(|a, b| a < b), "row ids rise");
        let mut positions = Vec::new();
        let mut blocks = 0;
        let mut rest = rows;
        while let Some(first) = rest.first() {
            let Some(i) = self.footer.block_of(*first) else {
                // Rows before the first block are not here.
                let start = self.footer.blocks.first().map_or(RowId::MAX, |b| b.first_row_id);
                let missing = rest.partition_point(|r| *r < start).max(1);
                rest = &rest[missing..];
                continue;
            };
            let end = self.footer.blocks.get(i + 1).map_or(RowId::MAX, |b| b.first_row_id);
            let (here, later) = rest.split_at(rest.partition_point(|r| *r < end).max(1));
            rest = later;
            let block = self.block(i)?;
            blocks += 1;
            positions.clear();
            for row in here {
                if let Some(position) = block.position(*row) {
                    positions.push(position as u32);
                    found.push(*row);
                }
            }
            for (id, to) in projection.iter().zip(&mut out.columns) {
                self.append_selected(i, &block, *id, &positions, Keep::Always, to)?;
            }
            out.rows += positions.len();
        }
        Ok(blocks)
    }

    fn append_selected(
        &self,
        i: usize,
        block: &Block,
        column: ColumnId,
        positions: &[u32],
        keep: Keep,
        out: &mut Column,
    ) -> Result<()> {
        let Some(k) = self.footer.position(column) else {
            self.append_missing(column, positions.len(), out);
            return Ok(());
        };
        match block.blobs(k) {
            Some(blobs) => self.append_blobs(i, block, k, &blobs, positions, keep, out),
            None => block.append_selected(k, positions, out).map_err(|e| self.place(i, e)),
        }
    }

    /// Lets rows read what the schema says of columns that were added after they were written.
    ///
    /// # Errors
    /// A value that is none of its column's type.
    pub fn read_as(&self, schema: &TableSchema) -> Result<()> {
        for column in &schema.columns {
            let Some(value) = &column.missing else { continue };
            if self.footer().position(column.id).is_some() || self.knows_missing(column.id) {
                continue;
            }
            let mut one = Column::new(column.ty.physical());
            convert::push_value(column.ty, value, &mut one, &column.name)?;
            self.note_missing(column.id, one);
        }
        Ok(())
    }

    fn knows_missing(&self, column: ColumnId) -> bool {
        self.missing.read().iter().any(|(id, _)| *id == column)
    }

    /// Says what rows of this segment read in a column that was added after it was written: `one` has
    /// one row. It never changes.
    fn note_missing(&self, column: ColumnId, one: Column) {
        let mut missing = self.missing.write();
        if missing.iter().all(|(id, _)| *id != column) {
            missing.push((column, one));
        }
    }

    /// Appends `n` values of a column that the segment does not have.
    fn append_missing(&self, column: ColumnId, n: usize, out: &mut Column) {
        let missing = self.missing.read();
        match missing.iter().find(|(id, _)| *id == column) {
            Some((_, one)) => out.extend_selected(one, &vec![0; n]),
            None => (0..n).for_each(|_| out.push_null()),
        }
    }

    /// Names file and block in an error of the block's decoder.
    fn place(&self, i: usize, error: Error) -> Error {
        self.file.place(error, self.footer.blocks[i].offset)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let cache = &self.file.context().cache;
        self.footer.blocks.iter().for_each(|b| cache.remove(self.file.cache_id(), b.offset));
        if self.has_cached_blobs.load(Relaxed) {
            cache.remove_file(self.file.cache_id());
        }
    }
}
