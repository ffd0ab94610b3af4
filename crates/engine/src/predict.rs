//! How large would an index be, and what would it cost?
//!
//! The newest rows of the table are sorted by its key and written as a run, by the code that writes every run, into memory that is let
//! go of again. Where a table has more rows, half of them are written as well: what an entry takes falls with the density of keys, by
//! as much for each doubling, and the two sizes tell by how much. So keys in random order and keys that rise with the rows are both
//! predicted, without a rule for either.
//!
//! Predicted is one run of all rows, which merges tend to; an index of several runs is larger by some percent. Indexes of
//! expressions, partial ones and those with several entries for a row are not predicted.
//!
//! Thread safety: reads a snapshot; what it writes is its own.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use onlap_base::clock::with_cpu_ns;
use onlap_base::limits::MEMORY_LIMIT_MIN;
use onlap_base::memory::{Memory, Part};
use onlap_base::{Error, ErrorKind, Result, RowId};
use onlap_format::key::{ColumnStats, Entries, Keys, Packing, sort_permutation};
use onlap_format::{Batch, Column, IndexSchema, TableSchema};
use onlap_storage::context::StorageContext;
use onlap_storage::run::{IndexShape, RunSpec, RunWriter};
use onlap_storage::written::Purpose;
use onlap_vfs::MemFs;

use crate::database::{Database, Shared, Table};
use crate::read::Scan;
use crate::spec::IndexSpec;
use crate::table::{index_positions, key_def};

/// Rows that are looked at, at most: sorting and writing them takes half a second, and their keys some 20 MB.
pub const ROWS_MOST: usize = 1 << 19;
/// Fewer tell nothing: a file has a head and a foot.
const ROWS_LEAST: usize = 1 << 10;
/// Entries pushed at a time.
const STEP: usize = 4096;
/// Bytes of a row's place in the order, of its id, and of its packed key, while a run is written.
const SORT_BYTES: usize = 48;

/// What an index is expected to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexPrediction {
    /// Its entries.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Processor time of sorting a row and writing it once, in nanoseconds; merges come on top of it.
    pub cpu_ns_per_row: f64,
    /// Rows that were looked at.
    pub rows_seen: u64,
}

/// What lies under the key and the included columns, of the rows that are looked at.
struct Sample {
    row_ids: Vec<RowId>,
    columns: Batch,
    keys: usize,
}

impl Database {
    /// Predicts what an index would take, from at most this number of rows ([`ROWS_MOST`] where it is more).
    ///
    /// # Errors
    /// As [`Database::create_index`]; [`ErrorKind::Unsupported`] for an index of expressions, a partial one, or one with several
    /// entries for a row.
    pub fn predict_index(
        &self,
        table: &Table,
        spec: &IndexSpec,
        rows_most: usize,
    ) -> Result<IndexPrediction> {
        let shared = self.shared();
        let schema = spec.suppose(&table.schema())?;
        let index = schema.indexes.last().expect("the one that is supposed").clone();
        let derived = index.key.iter().any(|part| schema.derived(part.column).is_some());
        if derived || index.filter.is_some() || index.multi_entry {
            let text = "the size of such an index is not predicted";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        // A copy of the rows, their keys in order and the file that is written take about as much each.
        let limit = shared.storage.memory.limit(Part::Background) as usize / 16;
        let sample = self.sample(table, &schema, &index, (rows_most.min(ROWS_MOST), limit))?;
        let rows = table.approximate_rows().max(sample.row_ids.len() as u64);
        let used = (sample.columns.heap_bytes() * 4 + sample.row_ids.len() * SORT_BYTES) as u64;
        let _charge = shared.storage.memory.charge(Part::Background, used);
        predict(shared, &schema, &index, &sample, rows)
    }

    /// The newest rows, as many as there is room for.
    fn sample(
        &self,
        table: &Table,
        schema: &TableSchema,
        index: &IndexSchema,
        (rows_most, bytes_most): (usize, usize),
    ) -> Result<Sample> {
        let (keys, include) = index_positions(schema, index);
        let all = keys.iter().chain(&include);
        let names: Vec<String> = all.map(|at| schema.column_at(*at).name.clone()).collect();
        let snapshot = self.snapshot()?;
        let end = table.state.view().active.end_row();
        let start = end.saturating_sub(rows_most as u64);
        let scan = Scan::all().columns(names).row_ids(start..end);
        let rows = snapshot.scan(table, scan)?;
        let mut sample =
            Sample { row_ids: Vec::new(), columns: Batch::default(), keys: keys.len() };
        for batch in rows {
            let batch = batch?;
            if sample.columns.columns.is_empty() {
                let forms = batch.columns.columns.iter().map(|column| column.data.physical());
                sample.columns = Batch::new(forms);
            }
            sample.row_ids.extend_from_slice(&batch.row_ids);
            sample.columns.extend_range(&batch.columns, 0..batch.row_ids.len());
            let bytes = sample.columns.heap_bytes() + sample.row_ids.len() * SORT_BYTES;
            if bytes > bytes_most {
                break;
            }
        }
        Ok(sample)
    }
}

fn predict(
    shared: &Arc<Shared>,
    schema: &TableSchema,
    index: &IndexSchema,
    sample: &Sample,
    rows: u64,
) -> Result<IndexPrediction> {
    let seen = sample.row_ids.len();
    if seen == 0 {
        return Ok(IndexPrediction { entries: 0, bytes: 0, cpu_ns_per_row: 0.0, rows_seen: 0 });
    }
    let (bytes, ns) = with_cpu_ns(|| write(shared, schema, index, sample, 0..seen));
    let bytes = bytes? as f64;
    let mut all = bytes;
    if rows > seen as u64 {
        let per_entry = bytes / seen as f64;
        let less = match seen >= ROWS_LEAST {
            // What half as many take more, each, is what twice as many take less.
            true => {
                let half = write(shared, schema, index, sample, seen / 2..seen)? as f64;
                half / (seen - seen / 2) as f64 - per_entry
            }
            false => 0.0,
        };
        let doublings = (rows as f64 / seen as f64).log2();
        // An entry takes some bits at least, whatever the density.
        let least = per_entry / 4.0;
        all = (per_entry - less.max(0.0) * doublings).max(least) * rows as f64;
    }
    Ok(IndexPrediction {
        entries: rows,
        bytes: all as u64,
        cpu_ns_per_row: ns as f64 / seen as f64,
        rows_seen: seen as u64,
    })
}

/// Writes a run of some rows of the sample to nowhere; its bytes.
fn write(
    shared: &Arc<Shared>,
    schema: &TableSchema,
    index: &IndexSchema,
    sample: &Sample,
    part: Range<usize>,
) -> Result<u64> {
    let mut rows = Batch::new(sample.columns.columns.iter().map(|column| column.data.physical()));
    rows.extend_range(&sample.columns, part.clone());
    let row_ids = &sample.row_ids[part];
    let (keys, include) = rows.columns.split_at(sample.keys);
    let keys: Vec<&Column> = keys.iter().collect();
    let def = key_def(schema, index);
    let mut stats: Vec<ColumnStats> = def.columns.iter().map(|c| ColumnStats::new(c.ty)).collect();
    stats.iter_mut().zip(&keys).for_each(|(s, c)| s.observe(c, 0..row_ids.len()));
    let packing = Packing::fit(&def, &stats);
    let mut packed = packing.new_keys();
    let fits = packing.pack(&keys, 0..row_ids.len(), &mut packed);
    assert!(fits, "a packing that was fitted to the columns holds them");
    let order = sort_permutation(&packed);

    let memory = Arc::new(Memory::new(MEMORY_LIMIT_MIN));
    let tasks = Arc::clone(&shared.tasks);
    let context = StorageContext::new(Arc::new(MemFs::new()), PathBuf::from("."), memory, tasks);
    let ids = row_ids[0]..row_ids[row_ids.len() - 1] + 1;
    let entries_max = row_ids.len() as u64;
    let shape = IndexShape::of(schema, index)?;
    let purpose = Purpose::Index(index.id);
    let (version, packing) = (schema.version, Arc::new(packing));
    let mut spec = RunSpec::new(shape, version, ids, packing, entries_max, purpose);
    spec.file_bytes = shared.options.tuning.run_file_bytes;
    spec.block_bytes = shared.options.tuning.block_bytes;
    spec.cache = false;
    let mut writer = RunWriter::new(&context, spec);
    let forms = include.iter().map(|column| column.data.physical());
    let mut entries = Entries::new(Keys::new(packed.form()), Batch::new(forms));
    for places in order.chunks(STEP) {
        entries.clear();
        entries.include.columns.iter_mut().for_each(|column| column.nulls = None);
        entries.keys.extend_selected(&packed, places);
        entries.row_ids.extend(places.iter().map(|at| row_ids[*at as usize]));
        let columns = entries.include.columns.iter_mut().zip(include);
        columns.for_each(|(to, from)| to.extend_selected(from, places));
        entries.include.rows = places.len();
        writer.push(&entries)?;
    }
    let files = writer.finish()?;
    Ok(files.iter().map(|file| file.bytes).sum())
}
