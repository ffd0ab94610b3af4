//! What stays in memory of a run's file, and how do its blocks get there?
//!
//! The footer (fences or pieces), charged as resident, and on unique indexes the filter, loaded by
//! the first probe as far as the resident part has room; without it probes look into the block.
//!
//! Thread safety: shared freely behind an `Arc`.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use onlap_base::names::FileKind;
use onlap_base::{Charge, Error, FileId, Part, Result, RowId};
use onlap_format::filter::{Filter, key_hash};
use onlap_format::frame::Kind;
use onlap_format::key::{Entries, Packing};
use onlap_format::run::{FenceEntry, Fences, KeyStats, RUN_VERSION, RunFooter, RunForm};
use onlap_format::run_block::RunBlock;

use super::IndexShape;
use super::unit::{AffineUnit, Unit};
use crate::asked::Asked;
use crate::context::StorageContext;
use crate::entry::{Direction, EntryBatch, EntryWants, compare_prefix};
use crate::file::{FileReader, READ_AHEAD_BYTES, SpanReader};

/// What filters did, since a file was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Keys that were asked for.
    pub probes: u64,
    /// Probes that the filter answered: no such key, nothing read.
    pub answered: u64,
    /// Probes that passed the filter for a key that is not there.
    pub false_positives: u64,
}

#[derive(Debug, Default)]
struct FilterCounters {
    probes: AtomicU64,
    answered: AtomicU64,
    false_positives: AtomicU64,
}

enum Content {
    Blocks { packing: Arc<Packing>, fences: Fences },
    Affine(Arc<AffineUnit>),
    Rows(Fences),
}

/// An open file of a run.
pub struct RunFile {
    file: Arc<FileReader>,
    /// Row ids of its blocks count from here.
    base: RowId,
    content: Content,
    stats: KeyStats,
    rows: Range<RowId>,
    filter_at: Option<(u64, u64)>,
    /// `None` inside: there was no room.
    filter: OnceLock<Option<(Filter, Charge)>>,
    counters: FilterCounters,
    _charge: Charge,
}

impl RunFile {
    /// Opens a finished file, whose row ids count from `base`, and checks header and footer.
    pub fn open(
        context: &Arc<StorageContext>,
        shape: &IndexShape,
        id: FileId,
        base: RowId,
    ) -> Result<RunFile> {
        RunFile::open_counted(context, shape, (id, base), Arc::default())
    }

    /// The same of a file whose blocks are counted.
    pub fn open_counted(
        context: &Arc<StorageContext>,
        shape: &IndexShape,
        (id, base): (FileId, RowId),
        asked: Arc<Asked>,
    ) -> Result<RunFile> {
        let file = FileReader::open(context, FileKind::Run, id)?.counting_from(base);
        let file = file.counted(asked);
        let (bytes, at) = file.footer(Kind::Run, RUN_VERSION)?;
        let mut footer = RunFooter::parse(&shape.key, &bytes).map_err(|e| file.place(e, at))?;
        footer.shift(base).map_err(|e| file.place(e, at))?;
        check(&footer, shape, at).map_err(|text| file.damaged(at, text))?;
        let charge = context.memory.charge(Part::Resident, footer.heap_bytes() as u64);
        let RunFooter { filter: filter_at, form, stats, rows, .. } = footer;
        let content = match form {
            RunForm::Explicit { packing, fences } => Content::Blocks { packing, fences },
            RunForm::FencesOnly(fences) => Content::Rows(fences),
            RunForm::Affine(affine) => {
                let unit = AffineUnit::new(affine, &shape.key, shape.include.len());
                Content::Affine(Arc::new(unit.map_err(|e| file.place(e, at))?))
            }
        };
        Ok(RunFile {
            file: Arc::new(file),
            base,
            content,
            stats,
            rows,
            filter_at,
            filter: OnceLock::new(),
            counters: FilterCounters::default(),
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

    /// The word for the file's form.
    pub fn form(&self) -> &'static str {
        match &self.content {
            Content::Blocks { packing, .. } if packing.is_cut() => "short",
            Content::Blocks { .. } => "explicit",
            Content::Affine(_) => "affine",
            Content::Rows(_) => "fences-only",
        }
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.stats.entries
    }

    /// Numbers for planning.
    pub fn stats(&self) -> &KeyStats {
        &self.stats
    }

    /// Appends about `count` keys at even distances, in key order, each with the number of entries
    /// from it up to the next. Keys may be cut off, as fences are. Reads nothing.
    pub fn samples(&self, count: usize, out: &mut Vec<(Vec<u8>, u64)>) -> Result<()> {
        match &self.content {
            Content::Blocks { fences, .. } | Content::Rows(fences) => {
                let step = fences.len().div_ceil(count.max(1)).max(1);
                for (i, part) in fences.entries.chunks(step).enumerate() {
                    let entries = part.iter().map(|e| u64::from(e.entries)).sum();
                    out.push((fences.keys.get(i * step).to_vec(), entries));
                }
            }
            Content::Affine(affine) => {
                let unit = Unit::Affine(affine.clone());
                let step = unit.len().div_ceil(count.max(1)).max(1);
                let wants = EntryWants { keys: true, ..EntryWants::default() };
                let mut batch = EntryBatch::default();
                for at in (0..unit.len()).step_by(step) {
                    batch.reset(&[]);
                    unit.read(at..at + 1, &wants, &mut batch)?;
                    out.push((batch.keys.get(0).to_vec(), step.min(unit.len() - at) as u64));
                }
            }
        }
        Ok(())
    }

    /// Row ids that the run stands for.
    pub fn rows(&self) -> &Range<RowId> {
        &self.rows
    }

    /// What the filter did since the file was opened.
    pub fn filter_counts(&self) -> FilterCounts {
        FilterCounts {
            probes: self.counters.probes.load(Relaxed),
            answered: self.counters.answered.load(Relaxed),
            false_positives: self.counters.false_positives.load(Relaxed),
        }
    }

    /// Fences of a fences-only file.
    pub(super) fn row_fences(&self) -> Option<&Fences> {
        match &self.content {
            Content::Rows(fences) => Some(fences),
            _ => None,
        }
    }

    /// Number of units, at least 1.
    pub(super) fn units(&self) -> usize {
        match &self.content {
            Content::Blocks { fences, .. } | Content::Rows(fences) => fences.len(),
            Content::Affine(_) => 1,
        }
    }

    /// Whether the file's first key lies before a bound.
    pub(super) fn begins_before(&self, prefix: &[u8], after: bool) -> bool {
        let order = compare_prefix(&self.stats.min, prefix);
        order.is_lt() || after && order.is_eq()
    }

    /// The unit that holds the first entry not before a bound, or ends just before it.
    pub(super) fn unit_of(&self, prefix: &[u8], after: bool) -> usize {
        match &self.content {
            Content::Blocks { fences, .. } | Content::Rows(fences) => {
                fences.block_of(prefix, after)
            }
            Content::Affine(_) => 0,
        }
    }

    /// Whether the file has entries of its own; a fences-only file does not.
    pub fn has_entries(&self) -> bool {
        !matches!(self.content, Content::Rows(_))
    }

    /// Of the keys that a [`super::RunScan`] gives for this file.
    pub fn packing(&self) -> Result<&Arc<Packing>> {
        match &self.content {
            Content::Blocks { packing, .. } => Ok(packing),
            Content::Affine(unit) => Ok(unit.packing()),
            Content::Rows(_) => Err(self.no_entries()),
        }
    }

    fn no_entries(&self) -> Error {
        let text = "a fences-only run has no entries of its own: read its rows";
        Error::new(onlap_base::ErrorKind::Unsupported, text)
    }

    /// Unit `i`: from memory, or read; with a direction together with those that come next.
    pub(super) fn unit(&self, i: usize, ahead: Option<Direction>) -> Result<Unit> {
        let fences = match &self.content {
            Content::Affine(unit) => return Ok(Unit::Affine(unit.clone())),
            Content::Rows(_) => return Err(self.no_entries()),
            Content::Blocks { fences, .. } => fences,
        };
        let cache = &self.file.context().cache;
        let entry = &fences.entries[i];
        if let Some(block) = cache.get(self.file.cache_id(), entry.offset) {
            self.file.asked().hit();
            return Ok(Unit::Block(block));
        }
        let blocks = match ahead {
            None => i..i + 1,
            Some(Direction::Forward) => i..span_end(&fences.entries, i),
            Some(Direction::Backward) => span_start(&fences.entries, i)..i + 1,
        };
        let (first, last) = (&fences.entries[blocks.start], &fences.entries[blocks.end - 1]);
        debug_assert!(blocks.contains(&i), "the span has block i");
        let bytes = (last.offset + u64::from(last.len) - first.offset) as usize;
        let span = self.file.read(first.offset, bytes)?;
        let mut found = None;
        for k in blocks {
            let entry = &fences.entries[k];
            let from = (entry.offset - first.offset) as usize;
            if k != i && cache.get::<RunBlock>(self.file.cache_id(), entry.offset).is_some() {
                continue;
            }
            let block = self.parse(k, &span[from..from + entry.len as usize])?;
            let heap = block.heap_bytes();
            self.file.asked().read();
            let block = cache.insert(self.file.cache_id(), entry.offset, block, heap);
            if k == i {
                found = Some(block);
            }
        }
        Ok(Unit::Block(found.expect("the range has block i")))
    }

    /// Unit `i` for a walk over the whole file: read together with those behind it, past the cache.
    pub(super) fn unit_ahead(&self, i: usize, reader: &mut SpanReader) -> Result<Unit> {
        let Content::Blocks { fences, .. } = &self.content else { return self.unit(i, None) };
        let cache = &self.file.context().cache;
        let entry = &fences.entries[i];
        if !reader.holds(entry.offset, entry.len as usize) {
            if let Some(block) = cache.get::<RunBlock>(self.file.cache_id(), entry.offset) {
                self.file.asked().hit();
                return Ok(Unit::Block(block));
            }
            let last = &fences.entries[span_end(&fences.entries, i) - 1];
            let bytes = last.offset + u64::from(last.len) - entry.offset;
            reader.read(entry.offset, bytes as usize)?;
        }
        let block = self.parse(i, reader.get(entry.offset, entry.len as usize))?;
        let heap = block.heap_bytes();
        self.file.asked().read();
        Ok(Unit::Block(cache.uncached(self.file.cache_id(), block, heap)))
    }

    /// A reader for [`RunFile::unit_ahead`].
    pub(super) fn span_reader(&self) -> SpanReader {
        SpanReader::new(self.file.clone())
    }

    /// Parses block `i` and holds it against its fence.
    fn parse(&self, i: usize, bytes: &[u8]) -> Result<RunBlock> {
        let Content::Blocks { packing, fences } = &self.content else {
            return Err(self.no_entries());
        };
        let block = RunBlock::parse(bytes.into(), packing).map_err(|e| self.place(i, e))?;
        let block = block.shifted(self.base);
        if block.len() != fences.entries[i].entries as usize {
            let text = "a block differs from what its fence says of it";
            return Err(self.place(i, Error::damaged(text)));
        }
        Ok(block)
    }

    /// Names file and block in an error of unit `i`'s decoder.
    pub(super) fn place(&self, i: usize, error: Error) -> Error {
        let offset = match &self.content {
            Content::Blocks { fences, .. } => fences.entries[i].offset,
            _ => 0,
        };
        self.file.place(error, offset)
    }

    /// [`Unit::lower_bound`] in unit `i`.
    pub(super) fn lower_bound(
        &self,
        i: usize,
        unit: &Unit,
        prefix: &[u8],
        after: bool,
    ) -> Result<usize> {
        unit.lower_bound(prefix, after).map_err(|e| self.place(i, e))
    }

    /// [`Unit::row_ids`] in unit `i`.
    pub(super) fn row_ids(
        &self,
        i: usize,
        unit: &Unit,
        range: Range<usize>,
        out: &mut Vec<RowId>,
    ) -> Result<()> {
        unit.row_ids(range, out).map_err(|e| self.place(i, e))
    }

    /// [`Unit::read`] in unit `i`.
    pub(super) fn read(
        &self,
        i: usize,
        unit: &Unit,
        range: Range<usize>,
        wants: &EntryWants,
        out: &mut EntryBatch,
    ) -> Result<()> {
        unit.read(range, wants, out).map_err(|e| self.place(i, e))
    }

    /// [`Unit::entries`] in unit `i`.
    pub(super) fn whole_entries(
        &self,
        i: usize,
        unit: &Unit,
        range: Range<usize>,
        out: &mut Entries,
    ) -> Result<()> {
        unit.entries(range, out).map_err(|e| self.place(i, e))
    }

    /// Whether the file may hold the key: within its range, and not ruled out by the filter.
    pub(super) fn may_contain(&self, key: &[u8]) -> Result<bool> {
        self.counters.probes.fetch_add(1, Relaxed);
        if key > &self.stats.max[..] || key < &self.stats.min[..] {
            self.counters.answered.fetch_add(1, Relaxed);
            return Ok(false);
        }
        let Some((filter, _)) = self.filter()? else { return Ok(true) };
        let may = filter.contains(key_hash(key));
        if !may {
            self.counters.answered.fetch_add(1, Relaxed);
        }
        Ok(may)
    }

    pub(super) fn count_false_positive(&self) {
        self.counters.false_positives.fetch_add(1, Relaxed);
    }

    fn filter(&self) -> Result<&Option<(Filter, Charge)>> {
        if let Some(filter) = self.filter.get() {
            return Ok(filter);
        }
        let loaded = match self.filter_at {
            None => None,
            Some((offset, len)) => {
                let memory = &self.file.context().memory;
                match memory.try_charge(Part::Resident, len) {
                    None => None,
                    Some(charge) => {
                        let bytes = self.file.read(offset, len as usize)?;
                        let filter =
                            Filter::parse(&bytes).map_err(|e| self.file.place(e, offset))?;
                        Some((filter, charge))
                    }
                }
            }
        };
        Ok(self.filter.get_or_init(|| loaded))
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        if let Content::Blocks { fences, .. } = &self.content {
            let cache = &self.file.context().cache;
            fences.entries.iter().for_each(|e| cache.remove(self.file.cache_id(), e.offset));
        }
    }
}

/// Holds a footer against the index it should belong to and against its file; `at` is its offset.
fn check(footer: &RunFooter, shape: &IndexShape, at: u64) -> Result<(), &'static str> {
    if footer.table != shape.table || footer.index != shape.index {
        return Err("the file belongs to another index");
    }
    if footer.entries() == 0 || footer.entries() != footer.stats.entries {
        return Err("a run file without entries, or with another number than it counted");
    }
    if footer.filter.is_some_and(|(offset, len)| offset.saturating_add(len) > at) {
        return Err("the filter lies outside of the file");
    }
    if let RunForm::Explicit { fences, .. } = &footer.form {
        let mut end = 0;
        for entry in &fences.entries {
            if entry.offset < end || entry.offset.saturating_add(u64::from(entry.len)) > at {
                return Err("blocks overlap or lie outside of the file");
            }
            end = entry.offset + u64::from(entry.len);
        }
    }
    Ok(())
}

/// End of the blocks from `i` on that one read of [`READ_AHEAD_BYTES`] brings.
fn span_end(entries: &[FenceEntry], i: usize) -> usize {
    let limit = entries[i].offset + READ_AHEAD_BYTES as u64;
    let more = entries[i + 1..].partition_point(|e| e.offset + u64::from(e.len) <= limit);
    debug_assert!(i + 1 + more <= entries.len());
    i + 1 + more
}

/// First of the blocks up to `i` that one read of [`READ_AHEAD_BYTES`] brings.
fn span_start(entries: &[FenceEntry], i: usize) -> usize {
    let end = entries[i].offset + u64::from(entries[i].len);
    entries[..i].partition_point(|e| e.offset + (READ_AHEAD_BYTES as u64) < end)
}
