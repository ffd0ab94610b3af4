//! What was done to each table?
//!
//! Rows that transactions brought, replaced and deleted, and reads of the whole table, since counting began. What PostgreSQL's
//! `pg_stat_user_tables` tells comes from here; what a row costs an index is the [`crate::ledger`]'s.
//!
//! 1. A transaction counts in plain numbers of its own ([`Did`]), next to its changes of a table. What a savepoint takes back
//!    was done all the same; it only changed nothing.
//! 2. When it ends, committed or not, it adds them to the table's: an atomic addition for each kind of change, whatever the number of
//!    rows. A read of the whole table adds one when it begins and one when it ends.
//! 3. A clean close writes all counters to one file, the next open takes and removes it. After a crash there is none, and
//!    counting begins anew, as in PostgreSQL: a commit would have to write what it counted otherwise.
//!
//! Invariants: there are as many counters as tables, and go with them. No counter is one that anything but reports relies on.
//!
//! Thread safety: shared freely; adding is a relaxed atomic addition.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onlap_base::{Error, ErrorKind, IndexId, Result, names};
use onlap_format::activity::{self, Of, Record, VALUES};
use onlap_storage::StorageContext;
use onlap_storage::asked::BlocksAsked;
use onlap_storage::written::Purpose;
use onlap_vfs::Access;
use parking_lot::Mutex;

use crate::database::{Shared, Table};
use crate::ledger::IndexUse;
use crate::table::TableState;

/// What was done to a table since counting began. Times are in microseconds since 1970; 0: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableActivity {
    /// Rows that came in, of transactions too that were rolled back.
    pub inserted: u64,
    /// Rows that were changed, in the same way.
    pub updated: u64,
    /// Those of them that were changed in columns that stand in no index, and stayed where they are.
    pub updated_in_place: u64,
    /// Rows that were deleted, in the same way.
    pub deleted: u64,
    /// Rows that committed transactions inserted, changed and deleted since the last analysis.
    pub changed_since_analysis: u64,
    /// Rows that came in since the last cleaning that was asked for.
    pub inserted_since_cleaning: u64,
    /// Reads of the whole table.
    pub scans: u64,
    /// Rows that they took.
    pub scanned_rows: u64,
    /// Cleanings that were asked for ([`Upkeep::Cleaning`]), and the last of them.
    pub cleanings: u64,
    /// The last of them.
    pub last_cleaning_us: u64,
    /// Analyses that were asked for.
    pub analyses: u64,
    /// The last of them.
    pub last_analysis_us: u64,
    /// How often segments were rewritten in the background, without their dead rows.
    pub compactions: u64,
    /// The last of them.
    pub last_compaction_us: u64,
}

/// Reads that an index answered since counting began, over clean restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexReads {
    /// How many.
    pub scans: u64,
    /// Entries that they took.
    pub entries: u64,
}

/// Work that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Dead rows were to go.
    Cleaning,
    /// Rows were to be counted and judged.
    Analysis,
}

/// Counters by their place in a record of the file.
#[derive(Clone, Copy)]
enum Figure {
    Inserted,
    Updated,
    UpdatedInPlace,
    Deleted,
    Changed,
    ChangedAtAnalysis,
    InsertedAtCleaning,
    Scans,
    ScannedRows,
    Cleanings,
    LastCleaning,
    Analyses,
    LastAnalysis,
    Compactions,
    LastCompaction,
    /// Blocks, which others count while the database is open: see [`Offsets`].
    BlockHits,
    BlockReads,
}

const _: () = assert!(Figure::BlockReads as usize + 1 == VALUES, "a record has all figures");

/// The counters of a table.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    figures: [AtomicU64; VALUES],
    offsets: Mutex<Offsets>,
}

/// What to add, wrapping, to numbers that others count from the open of the database: what they were before it, less what they
/// were at the last reset. Of indexes that were there at either.
#[derive(Debug, Default)]
struct Offsets {
    /// Of the table's blocks: in the cache, and read.
    blocks: [u64; 2],
    /// Of an index: its reads, their entries, and its blocks in the same way.
    indexes: BTreeMap<IndexId, [u64; 4]>,
}

/// What a transaction did to a table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Did {
    pub inserted: u64,
    pub updated: u64,
    pub updated_in_place: u64,
    pub deleted: u64,
    /// How many of them all were not taken back.
    pub changed: u64,
}

impl Did {
    pub(crate) fn insert(&mut self, rows: u64) {
        self.inserted += rows;
        self.changed += rows;
    }

    pub(crate) fn update(&mut self, rows: u64) {
        self.updated += rows;
        self.changed += rows;
    }

    pub(crate) fn update_in_place(&mut self, rows: u64) {
        self.update(rows);
        self.updated_in_place += rows;
    }

    pub(crate) fn delete(&mut self, rows: u64) {
        self.deleted += rows;
        self.changed += rows;
    }
}

impl Activity {
    fn of(&self, figure: Figure) -> &AtomicU64 {
        &self.figures[figure as usize]
    }

    fn add(&self, figure: Figure, number: u64) {
        // Sessions share the counters: what adds nothing does not touch them.
        if number > 0 {
            self.of(figure).fetch_add(number, Relaxed);
        }
    }

    /// Takes over what a transaction counted, which counts from zero again.
    pub(crate) fn take(&self, did: &mut Did, committed: bool) {
        let did = std::mem::take(did);
        self.add(Figure::Inserted, did.inserted);
        self.add(Figure::Updated, did.updated);
        self.add(Figure::UpdatedInPlace, did.updated_in_place);
        self.add(Figure::Deleted, did.deleted);
        self.add(Figure::Changed, if committed { did.changed } else { 0 });
    }

    /// A read of the whole table begins.
    pub(crate) fn begin_scan(&self) {
        self.add(Figure::Scans, 1);
    }

    /// One ended, having taken rows.
    pub(crate) fn scanned(&self, rows: u64) {
        self.add(Figure::ScannedRows, rows);
    }

    /// Segments were rewritten.
    pub(crate) fn compacted(&self, now_us: i64) {
        self.add(Figure::Compactions, 1);
        self.of(Figure::LastCompaction).store(now_us.max(0).cast_unsigned(), Relaxed);
    }

    fn kept_up(&self, upkeep: Upkeep, now_us: i64) {
        let (count, last, mark, of) = match upkeep {
            Upkeep::Cleaning => (
                Figure::Cleanings,
                Figure::LastCleaning,
                Figure::InsertedAtCleaning,
                Figure::Inserted,
            ),
            Upkeep::Analysis => {
                (Figure::Analyses, Figure::LastAnalysis, Figure::ChangedAtAnalysis, Figure::Changed)
            }
        };
        self.add(count, 1);
        self.of(last).store(now_us.max(0).cast_unsigned(), Relaxed);
        self.of(mark).store(self.of(of).load(Relaxed), Relaxed);
    }

    /// All rows went.
    pub(crate) fn truncated(&self) {
        let inserted = self.of(Figure::Inserted).load(Relaxed);
        self.of(Figure::InsertedAtCleaning).store(inserted, Relaxed);
    }

    pub(crate) fn report(&self) -> TableActivity {
        let figure = |figure: Figure| self.of(figure).load(Relaxed);
        let inserted = figure(Figure::Inserted);
        TableActivity {
            inserted,
            updated: figure(Figure::Updated),
            updated_in_place: figure(Figure::UpdatedInPlace),
            deleted: figure(Figure::Deleted),
            changed_since_analysis: figure(Figure::Changed)
                .saturating_sub(figure(Figure::ChangedAtAnalysis)),
            inserted_since_cleaning: inserted.saturating_sub(figure(Figure::InsertedAtCleaning)),
            scans: figure(Figure::Scans),
            scanned_rows: figure(Figure::ScannedRows),
            cleanings: figure(Figure::Cleanings),
            last_cleaning_us: figure(Figure::LastCleaning),
            analyses: figure(Figure::Analyses),
            last_analysis_us: figure(Figure::LastAnalysis),
            compactions: figure(Figure::Compactions),
            last_compaction_us: figure(Figure::LastCompaction),
        }
    }

    /// The reads of an index, of which the ledger knows those since the open.
    pub(crate) fn reads_of(&self, index: IndexId, used: &IndexUse) -> IndexReads {
        let [scans, entries, ..] = self.offset_of(index);
        IndexReads {
            scans: used.scans.wrapping_add(scans),
            entries: used.entries_read.wrapping_add(entries),
        }
    }

    /// Blocks of the table or of an index, of which these were asked for since the open.
    pub(crate) fn blocks_of(&self, index: Option<IndexId>, since: BlocksAsked) -> BlocksAsked {
        let [hits, reads] = match index {
            Some(index) => {
                let [_, _, hits, reads] = self.offset_of(index);
                [hits, reads]
            }
            None => self.offsets.lock().blocks,
        };
        BlocksAsked { hits: since.hits.wrapping_add(hits), reads: since.reads.wrapping_add(reads) }
    }

    fn offset_of(&self, index: IndexId) -> [u64; 4] {
        self.offsets.lock().indexes.get(&index).copied().unwrap_or_default()
    }

    /// Counts an index's reads and blocks from zero.
    fn reset_index(&self, index: IndexId, used: &IndexUse, blocks: BlocksAsked) {
        let now = [used.scans, used.entries_read, blocks.hits, blocks.reads];
        self.offsets.lock().indexes.insert(index, now.map(u64::wrapping_neg));
    }

    fn reset(&self, blocks: BlocksAsked) {
        self.offsets.lock().blocks = [blocks.hits, blocks.reads].map(u64::wrapping_neg);
        self.figures.iter().for_each(|figure| figure.store(0, Relaxed));
    }
}

impl Activity {
    /// Goes on from the counters of an earlier open.
    fn restore(&self, state: &TableState, known: &HashMap<Of, [u64; VALUES]>) {
        let mut offsets = self.offsets.lock();
        if let Some(values) = known.get(&Of::Table(state.id)) {
            let kept = &values[..Figure::BlockHits as usize];
            self.figures.iter().zip(kept).for_each(|(figure, value)| figure.store(*value, Relaxed));
            let block = |figure: Figure| values[figure as usize];
            offsets.blocks = [block(Figure::BlockHits), block(Figure::BlockReads)];
        }
        let schema = state.schema();
        offsets.indexes.extend(schema.indexes.iter().filter_map(|index| {
            let [scans, entries, hits, reads, ..] = *known.get(&Of::Index(index.id))?;
            Some((index.id, [scans, entries, hits, reads]))
        }));
    }
}

impl Table {
    /// Notes that work on the table, which was asked for, is done.
    pub fn note_upkeep(&self, upkeep: Upkeep) {
        self.state.activity.kept_up(upkeep, self.shared.clock.unix_us());
    }

    /// Counts from zero what is done to the table; its indexes go on.
    pub fn reset_activity(&self) {
        self.state.activity.reset(self.shared.storage.asked.report(self.state.id, None));
    }

    /// Counts from zero what an index of the table is read for. Without such an index nothing happens.
    pub fn reset_index_activity(&self, index: IndexId) {
        if self.schema().index(index).is_some() {
            let blocks = self.shared.storage.asked.report(self.state.id, Some(index));
            self.state.activity.reset_index(index, &used(&self.shared, index), blocks);
        }
    }
}

fn used(shared: &Shared, index: IndexId) -> IndexUse {
    shared.ledger.known(index).map(|account| account.used()).unwrap_or_default()
}

/// Takes the counters of the last close over. A file that cannot be read is none: counters are not worth a refusal.
pub(crate) fn take_up(shared: &Shared) {
    let records = read(shared).ok().flatten().unwrap_or_default();
    let path = shared.storage.dir.join(names::ACTIVITY);
    // Should it stay, and the process crash, the next open counts from where this one did.
    let _ = shared.storage.fs.remove(&path);
    shared.counts_activity.store(true, Relaxed);
    let known: HashMap<_, _> = records.into_iter().map(|r| (r.of, r.values)).collect();
    for state in shared.catalog.all() {
        state.activity.restore(&state, &known);
    }
}

/// Keeps the counters for the next open.
///
/// # Errors
/// The file cannot be written; there is none then.
pub(crate) fn keep(shared: &Shared) -> Result<()> {
    if !shared.counts_activity.load(Relaxed) {
        return Ok(());
    }
    let mut records = Vec::new();
    for state in shared.catalog.all() {
        records.extend(records_of(shared, &state));
    }
    let StorageContext { fs, dir, written, .. } = &*shared.storage;
    let bytes = activity::encode(&records);
    let new = dir.join(names::temporary(names::ACTIVITY));
    let file = fs.create(&new, Access::ReadWrite)?;
    file.write_at(&bytes, 0)?;
    written.add(Purpose::Samples, bytes.len() as u64);
    file.sync_data()?;
    fs.rename(&new, &dir.join(names::ACTIVITY))?;
    fs.sync_dir(dir)
}

fn records_of(shared: &Shared, state: &TableState) -> Vec<Record> {
    let mut values = std::array::from_fn(|at| state.activity.figures[at].load(Relaxed));
    let blocks = state.activity.blocks_of(None, shared.storage.asked.report(state.id, None));
    values[Figure::BlockHits as usize] = blocks.hits;
    values[Figure::BlockReads as usize] = blocks.reads;
    let mut records = vec![Record { of: Of::Table(state.id), values }];
    for index in &state.schema().indexes {
        let reads = state.activity.reads_of(index.id, &used(shared, index.id));
        let since = shared.storage.asked.report(state.id, Some(index.id));
        let blocks = state.activity.blocks_of(Some(index.id), since);
        let mut values = [0; VALUES];
        values[..4].copy_from_slice(&[reads.scans, reads.entries, blocks.hits, blocks.reads]);
        records.push(Record { of: Of::Index(index.id), values });
    }
    records
}

/// The records of the last close; `None` without a file.
fn read(shared: &Shared) -> Result<Option<Vec<Record>>> {
    let storage = &shared.storage;
    let path = storage.dir.join(names::ACTIVITY);
    let file = match storage.fs.open(&path, Access::Read) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let known = shared.catalog.all();
    let most = known.iter().map(|state| 1 + state.schema().indexes.len()).sum();
    let len = file.len()?;
    if len > activity::file_bytes(most) {
        let text = format!("{len} bytes of counters, more than tables and indexes have");
        return Err(Error::corruption(names::ACTIVITY, 0, text));
    }
    let bytes = file.read_at(0, len as usize)?;
    activity::decode(&bytes).map(Some).map_err(|e| e.at(names::ACTIVITY, 0))
}

/// What is wrong with the file, which is there where the database was closed and is not open.
pub(crate) fn check(shared: &Shared) -> Option<String> {
    read(shared).err().map(|e| e.to_string())
}

impl From<&Did> for TableActivity {
    fn from(did: &Did) -> TableActivity {
        TableActivity {
            inserted: did.inserted,
            updated: did.updated,
            updated_in_place: did.updated_in_place,
            deleted: did.deleted,
            ..TableActivity::default()
        }
    }
}
