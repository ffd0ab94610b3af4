//! How do sorted entries become the files of a run?
//!
//! Entries come in order and leave in blocks, a new file every [`RunSpec::file_bytes`]. Where keys
//! arrive in consecutive stretches the writer collects pieces instead, as long as they are few; when
//! they are not, it turns the pieces back into the entries they stand for, which is exact, and goes
//! on with blocks. So the caller need not know beforehand which form fits. Fences-only files are asked for
//! by name: only their caller knows that keys do not fall as row ids rise.
//!
//! Thread safety: a writer belongs to one thread.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::limits::{BLOCK_BYTES, RUN_FILE_BYTES};
use onlap_base::names::FileKind;
use onlap_base::{Result, RowId};
use onlap_format::affine::{Affine, AffineBuilder, PIECES_MAX};
use onlap_format::filter::key_hash;
use onlap_format::frame::{self, Kind};
use onlap_format::key::{Entries, Packing};
use onlap_format::manifest::RunFileMeta;
use onlap_format::run::{
    FenceEntry, Fences, KeyStats, RUN_VERSION, RunFooter, RunForm, STRETCH_ROWS,
};
use onlap_format::run_block::{ENTRIES_MAX, RunBlock, encode_run_block};
use onlap_format::{Batch, BytesVec, Column, Vector};

use super::IndexShape;
use super::filter::FilterBuilder;
use super::unit::can_be_affine;
use crate::context::StorageContext;
use crate::file::FileWriter;
use crate::written::Purpose;

/// Entries per piece from which on pieces pay: 24 bytes of memory for each, against 1 byte of disk
/// and nothing resident for each entry of a block with such keys.
const ENTRIES_PER_PIECE: u64 = 24;
/// Pieces that a run may have however short it is.
const PIECES_FREE: u64 = 64;
/// Entries looked at between two decisions about the form.
const STEP: usize = 1024;

/// What a new run is.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Of which index.
    pub shape: Arc<IndexShape>,
    /// Schema version of the rows.
    pub schema_version: u32,
    /// Row ids that the run stands for.
    pub rows: Range<RowId>,
    /// Of all keys that will be pushed.
    pub packing: Arc<Packing>,
    /// At most this number of entries will be pushed; sizes filters.
    pub entries_max: u64,
    /// Whether to write fences only. Keys must then not fall as row ids rise.
    pub fences_only: bool,
    /// Length at which a file is closed; [`RUN_FILE_BYTES`] but in tests.
    pub file_bytes: u64,
    /// Length at which a block is closed; [`BLOCK_BYTES`] but in tests.
    pub block_bytes: usize,
    /// What the bytes are counted as.
    pub purpose: Purpose,
    /// Whether its blocks may be put into the cache; not where row ids count from elsewhere.
    pub cache: bool,
}

impl RunSpec {
    /// A run in ordinary blocks and files.
    pub fn new(
        shape: Arc<IndexShape>,
        schema_version: u32,
        rows: Range<RowId>,
        packing: Arc<Packing>,
        entries_max: u64,
        purpose: Purpose,
    ) -> RunSpec {
        RunSpec {
            shape,
            schema_version,
            rows,
            packing,
            entries_max,
            fences_only: false,
            file_bytes: RUN_FILE_BYTES,
            block_bytes: BLOCK_BYTES,
            purpose,
            cache: true,
        }
    }
}

/// What the entries so far became.
enum Stage {
    Pieces { builder: AffineBuilder, stats: KeyStats },
    Blocks,
    Rows { fences: Fences, stats: KeyStats, last_row: Option<RowId> },
}

/// A file with blocks that is being written.
struct OpenFile {
    file: FileWriter,
    fences: Fences,
    stats: KeyStats,
    filter: Option<FilterBuilder>,
}

/// Writes the files of one run.
pub struct RunWriter {
    context: Arc<StorageContext>,
    spec: RunSpec,
    stage: Stage,
    open: Option<OpenFile>,
    finished: Vec<RunFileMeta>,
    /// Entries that do not fill a block yet.
    pending: Entries,
    /// Entries of the last block, or a guess.
    per_block: usize,
    /// Entries in blocks so far.
    written: u64,
    bytes: Vec<u8>,
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        for file in &self.finished {
            let path = self.context.dir.join(FileKind::Run(file.file).name());
            // The file is in no edit; if it cannot be removed now, the next open does it.
            let _ = self.context.fs.remove(&path);
        }
    }
}

impl RunWriter {
    /// A writer; files appear as they are needed.
    pub fn new(context: &Arc<StorageContext>, spec: RunSpec) -> RunWriter {
        assert!(spec.rows.start < spec.rows.end, "a run stands for rows");
        assert!(spec.block_bytes > 0 && spec.file_bytes > 0, "blocks and files have a length");
        let stats = KeyStats::new(&spec.shape.key);
        let stage = if spec.fences_only {
            Stage::Rows { fences: Fences::default(), stats, last_row: None }
        } else if can_be_affine(&spec.shape.key, spec.shape.include.len()) {
            Stage::Pieces { builder: AffineBuilder::new(PIECES_MAX), stats }
        } else {
            Stage::Blocks
        };
        RunWriter {
            context: context.clone(),
            pending: empty(&spec),
            stage,
            spec,
            open: None,
            finished: Vec::new(),
            per_block: STEP,
            written: 0,
            bytes: Vec::new(),
        }
    }

    /// Appends entries, sorted by (key, row id) and above all before, with keys of the spec's packing.
    pub fn push(&mut self, entries: &Entries) -> Result<()> {
        debug_assert!(entries.is_sorted(), "entries come in order");
        debug_assert!(
            entries.row_ids.iter().all(|row| self.spec.rows.contains(row)),
            "entries are of the run's rows"
        );
        assert_eq!(entries.keys.len(), entries.row_ids.len(), "one row id per key");
        match &self.stage {
            Stage::Blocks => self.push_blocks(entries, 0),
            Stage::Rows { .. } => self.push_rows(entries),
            Stage::Pieces { .. } => {
                let at = self.push_pieces(entries)?;
                if at < entries.len() { self.push_blocks(entries, at) } else { Ok(()) }
            }
        }
    }

    /// Files that were finished since the last call, for slices that take effect one by one. Their
    /// names become durable with [`StorageContext::sync_dir`].
    pub fn take_finished(&mut self) -> Vec<RunFileMeta> {
        std::mem::take(&mut self.finished)
    }

    /// Key bytes of the first entry that is in no finished file, as far as one was pushed.
    pub fn next_key(&self) -> Result<Option<Vec<u8>>> {
        match (&self.open, &self.stage) {
            (Some(open), _) => Ok(Some(open.stats.min.clone())),
            (None, Stage::Pieces { stats, .. } | Stage::Rows { stats, .. }) => {
                Ok((stats.entries > 0).then(|| stats.min.clone()))
            }
            (None, Stage::Blocks) if self.pending.is_empty() => Ok(None),
            (None, Stage::Blocks) => {
                let mut key = Vec::new();
                self.spec.packing.key_bytes(&self.pending.keys, 0, &mut key)?;
                Ok(Some(key))
            }
        }
    }

    /// Writes what is left and gives the files that [`RunWriter::take_finished`] did not. A writer
    /// dropped before, or by an error, removes them.
    pub fn finish(mut self) -> Result<Vec<RunFileMeta>> {
        let rest = std::mem::replace(&mut self.pending, empty(&self.spec));
        self.write_blocks(&rest, 0, true)?;
        self.close_file()?;
        match std::mem::replace(&mut self.stage, Stage::Blocks) {
            Stage::Pieces { builder, stats } if !builder.is_empty() => {
                self.write_alone(RunForm::Affine(builder.finish()), stats)?;
            }
            Stage::Rows { fences, stats, .. } if !fences.is_empty() => {
                self.write_alone(RunForm::FencesOnly(fences), stats)?;
            }
            _ => {}
        }
        Ok(std::mem::take(&mut self.finished))
    }

    /// Takes entries into pieces. When they turn out to be too many, writes those taken so far as
    /// blocks. Gives how many of `entries` were dealt with.
    fn push_pieces(&mut self, entries: &Entries) -> Result<usize> {
        let packing = self.spec.packing.clone();
        let mut at = 0;
        while at < entries.len() {
            let Stage::Pieces { builder, stats } = &mut self.stage else { break };
            let mut end = entries.len().min(at + STEP);
            let mut columns = packing.new_columns();
            packing.unpack(&entries.keys, at..end, &mut columns)?;
            let Vector::Int(keys) = &columns[0].data else { unreachable!("the key is an integer") };
            let has_null = (0..keys.len()).any(|i| columns[0].is_null(i));
            let mut full = false;
            if !has_null {
                let rows = &entries.row_ids[at..end];
                let taken = keys.iter().zip(rows).take_while(|(k, r)| builder.push(**k, **r));
                let taken = taken.count();
                full = at + taken < end;
                end = at + taken;
                stats.observe(&packing, &entries.keys, at..end)?;
                at = end;
            }
            if has_null || builder.pieces() as u64 > PIECES_FREE + builder.len() / ENTRIES_PER_PIECE
            {
                let Stage::Pieces { builder, .. } =
                    std::mem::replace(&mut self.stage, Stage::Blocks)
                else {
                    unreachable!("the stage was looked at");
                };
                self.unfold(&builder.finish())?;
            } else if full {
                let stage = Stage::Pieces {
                    builder: AffineBuilder::new(PIECES_MAX),
                    stats: KeyStats::new(&self.spec.shape.key),
                };
                let Stage::Pieces { builder, stats } = std::mem::replace(&mut self.stage, stage)
                else {
                    unreachable!("the stage was looked at");
                };
                self.write_alone(RunForm::Affine(builder.finish()), stats)?;
            }
        }
        Ok(at)
    }

    /// Writes the entries that pieces stand for as blocks.
    fn unfold(&mut self, pieces: &Affine) -> Result<()> {
        let mut entries = empty(&self.spec);
        for start in (0..pieces.len()).step_by(4 * STEP) {
            let end = pieces.len().min(start + 4 * STEP as u64);
            let mut keys = Vec::new();
            entries.clear();
            pieces.entries(start..end, &mut keys, &mut entries.row_ids);
            entries.include.rows = keys.len();
            let rows = 0..keys.len();
            let column = Column { data: Vector::Int(keys), nulls: None };
            let fits = self.spec.packing.pack(&[&column], rows, &mut entries.keys);
            assert!(fits, "the keys came from this packing");
            self.push_blocks(&entries, 0)?;
        }
        Ok(())
    }

    fn push_rows(&mut self, entries: &Entries) -> Result<()> {
        let Stage::Rows { fences, stats, last_row } = &mut self.stage else {
            unreachable!("the stage was looked at");
        };
        let packing = &self.spec.packing;
        for (i, row) in entries.row_ids.iter().enumerate() {
            assert!(last_row.is_none_or(|last| last < *row), "keys do not fall as row ids rise");
            *last_row = Some(*row);
            match fences.entries.last_mut() {
                Some(stretch) if stretch.entries < STRETCH_ROWS as u32 => stretch.entries += 1,
                _ => {
                    let mut key = Vec::new();
                    packing.key_bytes(&entries.keys, i, &mut key)?;
                    fences.keys.push(&key);
                    let entry = FenceEntry { first_row: *row, offset: 0, len: 0, entries: 1 };
                    fences.entries.push(entry);
                }
            }
        }
        stats.observe(packing, &entries.keys, 0..entries.len())
    }

    /// Appends entries from position `at` on.
    fn push_blocks(&mut self, entries: &Entries, mut at: usize) -> Result<()> {
        while !self.pending.is_empty() && at < entries.len() {
            // Top up what was left over, then go on without copying.
            let held = self.pending.len();
            let taken = (entries.len() - at).min((2 * self.per_block).max(STEP));
            self.pending.extend_range(entries, at..at + taken);
            at += taken;
            let batch = std::mem::replace(&mut self.pending, empty(&self.spec));
            let done = self.write_blocks(&batch, 0, false)?;
            if done >= held && at < entries.len() {
                at -= batch.len() - done;
            } else if done == 0 {
                self.pending = batch;
            } else {
                self.pending.extend_range(&batch, done..batch.len());
            }
        }
        if at < entries.len() {
            let done = self.write_blocks(entries, at, false)?;
            self.pending.extend_range(entries, done..entries.len());
        }
        Ok(())
    }

    /// Writes full blocks, and with `all` a last one that is not; gives where the rest begins.
    fn write_blocks(&mut self, entries: &Entries, mut at: usize, all: bool) -> Result<usize> {
        while at < entries.len() {
            let left = entries.len() - at;
            if !all && left < self.per_block + self.per_block / 4 {
                break;
            }
            self.bytes.clear();
            let range = at..at + left.min(ENTRIES_MAX);
            let limit = self.spec.block_bytes;
            let n = encode_run_block(&self.spec.packing, entries, range, limit, &mut self.bytes);
            if n == left && n < ENTRIES_MAX && !all {
                // They may all fit into a larger block: come back with more.
                self.per_block = 2 * n;
                break;
            }
            assert!(n > 0 && n <= left, "a block takes an entry at least");
            self.write_block(entries, at..at + n)?;
            self.per_block = n;
            at += n;
        }
        Ok(at)
    }

    /// Writes the block in `self.bytes`, which holds entries `range`.
    fn write_block(&mut self, entries: &Entries, range: Range<usize>) -> Result<()> {
        assert!(!range.is_empty() && range.end <= entries.len(), "a block has entries");
        assert!(!self.bytes.is_empty(), "the block was encoded");
        let packing = &self.spec.packing;
        if self.open.is_none() {
            let file = create(&self.context, &self.spec)?;
            self.open = Some(OpenFile {
                file,
                fences: Fences::default(),
                stats: KeyStats::new(&self.spec.shape.key),
                filter: self.spec.shape.unique.then(|| FilterBuilder::new(&self.context)),
            });
        }
        let open = self.open.as_mut().expect("just opened");
        let mut first = Vec::new();
        packing.key_bytes(&entries.keys, range.start, &mut first)?;
        let last = (!open.fences.is_empty()).then_some(&open.stats.max[..]);
        assert!(last.is_none_or(|last| *last <= first[..]), "blocks come in key order");
        let entry = FenceEntry {
            first_row: entries.row_ids[range.start],
            offset: open.file.offset(),
            len: u32::try_from(self.bytes.len()).expect("a block is near its limit"),
            entries: range.len() as u32,
        };
        open.fences.push(last, &first, entry);
        open.stats.observe(packing, &entries.keys, range.clone())?;
        let cache = &self.context.cache;
        if self.spec.cache && cache.has_room(2 * self.bytes.len()) {
            let block = RunBlock::parse(self.bytes[..].into(), packing)?;
            let heap = block.heap_bytes();
            cache.insert_if_room(open.file.id(), open.file.offset(), block, heap);
        }
        open.file.write(&self.bytes)?;
        self.written += range.len() as u64;
        let mut full = open.file.offset() >= self.spec.file_bytes;
        if let Some(filter) = &mut open.filter {
            let mut keys = BytesVec::default();
            packing.all_key_bytes(&entries.keys, range, &mut keys)?;
            keys.iter().for_each(|key| filter.insert(key_hash(key)));
            let left = self.spec.entries_max.saturating_sub(self.written);
            filter.fit(open.file.offset(), self.spec.file_bytes, left);
            full |= filter.is_full();
        }
        if full { self.close_file() } else { Ok(()) }
    }

    /// Writes filter and footer of the file with blocks, if there is one.
    fn close_file(&mut self) -> Result<()> {
        let Some(OpenFile { mut file, fences, stats, filter }) = self.open.take() else {
            return Ok(());
        };
        let mut filter_at = None;
        if let Some(filter) = filter {
            self.bytes.clear();
            filter.finish().encode(&mut self.bytes);
            filter_at = Some((file.offset(), self.bytes.len() as u64));
            file.write(&self.bytes)?;
        }
        debug_assert_eq!(
            fences.entries.iter().map(|e| u64::from(e.entries)).sum::<u64>(),
            stats.entries,
            "fences count every entry"
        );
        let form = RunForm::Explicit { packing: self.spec.packing.clone(), fences };
        self.write_footer(file, form, stats, filter_at)
    }

    /// Writes a file that is all footer.
    fn write_alone(&mut self, form: RunForm, stats: KeyStats) -> Result<()> {
        let file = create(&self.context, &self.spec)?;
        self.write_footer(file, form, stats, None)
    }

    fn write_footer(
        &mut self,
        mut file: FileWriter,
        form: RunForm,
        stats: KeyStats,
        filter: Option<(u64, u64)>,
    ) -> Result<()> {
        let footer = RunFooter {
            table: self.spec.shape.table,
            index: self.spec.shape.index,
            schema_version: self.spec.schema_version,
            rows: self.spec.rows.clone(),
            filter,
            form,
            stats,
        };
        let mut encoded = Vec::new();
        footer.encode(&mut encoded);
        self.bytes.clear();
        frame::put_footer(Kind::Run, RUN_VERSION, &encoded, file.offset(), &mut self.bytes);
        file.write(&self.bytes)?;
        let (file, bytes) = file.finish()?;
        let KeyStats { entries, min: first_key, max: last_key, .. } = footer.stats;
        assert!(entries > 0 && first_key <= last_key, "a finished file has keys, in order");
        self.finished.push(RunFileMeta { file, bytes, entries, first_key, last_key, base: 0 });
        Ok(())
    }
}

fn create(context: &Arc<StorageContext>, spec: &RunSpec) -> Result<FileWriter> {
    let mut file = FileWriter::create(context, FileKind::Run, spec.purpose)?;
    let mut header = Vec::new();
    frame::put_header(Kind::Run, RUN_VERSION, &mut header);
    file.write(&header)?;
    Ok(file)
}

fn empty(spec: &RunSpec) -> Entries {
    Entries::new(spec.packing.new_keys(), Batch::new(spec.shape.include_forms()))
}
