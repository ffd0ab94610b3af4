//! How do rows in memory become files?
//!
//! The protocol, per table:
//!
//! 1. **Freeze**, under the commit lock: the active memtable joins the frozen ones and a new one
//!    takes its place, between two commits.
//! 2. **Write**, in the background, the oldest frozen memtable: one segment with its rows, one run
//!    per index, one mark run with deletes and column changes. Rows that died in the same memtable below the horizon are left out,
//!    with their entries and marks; their ids stay unused for ever. (Not those that died later:
//!    their marks may not be durable yet, and a crash must not take the row and forget the delete.)
//! 3. **Install**: one manifest record adds the files and moves the table's flushed rows and CSN;
//!    the new version and the shorter list of frozen memtables become visible in one step (I4).
//! 4. **Cut the log** below what every table has flushed. This alone needs the commit lock, and is
//!    done after the flush job, when a task finds time.
//!
//! In the modes that do not sync commits, what 3 makes durable must not run ahead of the log where
//! other tables have unflushed rows in it: after a power cut commits would be there by half. So the
//! log is synced first. (Nothing is when one table is written to alone.) The same holds before the
//! log is cut above rows that were logged again.
//!
//! A crash before 3 leaves orphans that the next open removes; after 3 replay skips what was
//! flushed. Files are synced before the record names them (I3, I5).
//!
//! Invariants: frozen memtables are written in order, by one job per table. A table without
//! unflushed rows or marks does not pin the log.
//!
//! Thread safety: any thread; `Claim::Flush` keeps two jobs off one table.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onlap_base::clock::with_cpu_ns;
use onlap_base::names::FileKind;
use onlap_base::{Csn, ErrorKind, Result, RowId, TableId};
use onlap_format::changes::Sweep;
use onlap_format::key::{ColumnStats, Entries, Packing};
use onlap_format::manifest::{Edit, RunFileMeta, RunMeta, SegmentMeta};
use onlap_format::marks::Mark;
use onlap_format::{Batch, IndexSchema, TableSchema};
use onlap_storage::marks::{MarkRunSpec, MarkRunWriter};
use onlap_storage::merge::Calm;
use onlap_storage::run::{IndexShape, RunSpec, RunWriter, Shortener};
use onlap_storage::segment::{SegmentSpec, SegmentWriter};
use onlap_storage::version::TableVersion;
use onlap_storage::written::Purpose;

use crate::background::{self, Claim, Job};
use crate::commit::Leader;
use crate::compaction;
use crate::database::Shared;
use crate::ledger::Work;
use crate::options::SyncMode;
use crate::pace::owed;
use crate::relog;
use crate::table::{Frozen, TableState, TableView, index_positions, key_def};
use onlap_memtable::{Changes, DeadRows, Memtable};

mod short;

/// How long a flush waits before it looks again whether another job has done it: a claim may be
/// released without a job having run.
const CLAIM_LOOK: Duration = Duration::from_millis(50);

/// Row ids whose column changes are gathered at once.
const CHANGE_WINDOW_ROWS: u64 = 1 << 16;

/// Work of writing a row, in that of writing an index entry.
const ROW_WEIGHT: usize = 2;

/// How far a flush has come; writers are paced by it.
struct Progress<'a> {
    shared: &'a Shared,
    bytes: u64,
    work: usize,
    done: Cell<usize>,
    /// In nanoseconds of the monotonic clock.
    started: u64,
    /// Of the device, before it.
    stalled: u64,
}

impl Progress<'_> {
    fn add(&self, work: usize) {
        self.done.set(self.done.get() + work);
        let now = self.shared.clock.monotonic_ns();
        let share = (self.done.get() as f64 / self.work.max(1) as f64).min(1.0);
        self.shared.pressure.progress(self.bytes, share, self.took(now), now);
    }

    /// Nanoseconds so far. That the device was silent for a while does not tell how long the rest will take.
    fn took(&self, now: u64) -> u64 {
        let stalled = self.shared.pace.stalled_ns() - self.stalled;
        now.saturating_sub(self.started).saturating_sub(stalled)
    }
}

/// Step 1. The caller holds the commit lock; `csn` is the last applied commit.
pub(crate) fn freeze(shared: &Shared, state: &TableState, csn: Csn) {
    if state.dropped.load(Ordering::Relaxed) {
        return;
    }
    let since = state.writer.lock().active_since.take();
    let Some(since) = since else { return };
    assert!(since <= csn, "a memtable's first commit is not above its last");
    let mut bytes = 0;
    state.change_view(|old| {
        old.active.freeze();
        bytes = old.active.heap_bytes() as u64;
        let mut frozen = old.frozen.clone();
        let memtable = Arc::clone(&old.active);
        let resolved = state.pending.resolved().min(old.active.end_row());
        assert!(
            frozen.last().is_none_or(|f| f.memtable.end_row() <= memtable.first_row()),
            "memtables follow each other in row-id order"
        );
        frozen.push(Frozen { memtable, csns: (since, csn), bytes, resolved });
        TableView {
            active: state.new_memtable(&old.landing, old.active.end_row()),
            frozen,
            ..old.clone()
        }
    });
    state.owed.look(&state.view_now(), compaction::dead_share(shared));
    shared.pressure.frozen(bytes, shared.clock.monotonic_ns());
    shared.background.wake();
}

/// Steps 2 and 3 for the oldest frozen memtable of a table.
pub(crate) fn flush_oldest(shared: &Shared, table: TableId) -> Result<()> {
    let Some(state) = shared.catalog.by_id(table) else { return Ok(()) };
    let view = state.view();
    let Some(Frozen { memtable: frozen, csns: (_, csn), bytes, resolved }) =
        view.frozen.first().cloned()
    else {
        return Ok(());
    };
    let started = shared.clock.monotonic_ns();
    let seen_dead = csn.min(shared.horizon_of(&state));
    let mut dead = frozen.dead_rows(frozen.first_row()..frozen.end_row(), seen_dead);
    let schema = frozen.schema();
    let mut edits = Vec::new();
    if schema.blind {
        // Those that have rows before them to meet are kept.
        dead.truncate(dead.partition_point(|&row| row < resolved));
        edits.push(Edit::Resolved(table, resolved));
    }
    let dead = DeadRows::new(dead);
    let single = schema.indexes.iter().filter(|i| !i.multi_entry).count();
    let work = frozen.rows() * (ROW_WEIGHT + single) + frozen.list_entries();
    let stalled = shared.pace.stalled_ns();
    let progress = Progress { shared, bytes, work, done: Cell::new(0), started, stalled };
    let written = sync_shared_log(shared, &state, csn).and_then(|()| {
        write_files(shared, &state, schema, &frozen, &dead, csn, &progress, &mut edits)
    });
    let installed = written.and_then(|()| install(shared, &state, &frozen, &edits));
    if let Ok(false) = installed {
        return Ok(());
    }
    if let Err(e) = installed {
        // After any other failure the record that names the files may be there.
        if e.kind() != ErrorKind::ReadOnly {
            discard(shared, &edits);
        }
        if state.dropped.load(Ordering::Relaxed) {
            return Ok(());
        }
        shared.pressure.flush_failed(e.clone());
        return Err(e);
    }
    for index in &schema.indexes {
        let account = shared.ledger.account(table, index.id);
        account.spend(Work::Sort, frozen.sorted_ns(index.id));
    }
    let now = shared.clock.monotonic_ns();
    shared.pressure.drained(bytes, progress.took(now), now);
    let (files, merges) = cost(shared, &state.view().version, &edits);
    shared.pace.flushed(bytes, files, merges);
    Ok(())
}

/// Bytes that a flush wrote, and those that merges will write for it in a table of this size.
fn cost(shared: &Shared, version: &TableVersion, edits: &[Edit]) -> (u64, u64) {
    let (mut files, mut merges) = (0, 0.0);
    for edit in edits {
        match edit {
            Edit::AddSegment(_, segment) => files += segment.bytes,
            Edit::AddMarks(_, marks) => files += marks.bytes,
            Edit::AddRun(_, index, run) => {
                files += run.bytes();
                let Some(index) = version.index(*index) else { continue };
                let all = index.runs.iter().map(|r| r.meta.entries()).sum();
                let width = compaction::policy_of(shared, index, Calm::Busy).width;
                merges += run.bytes() as f64 * owed::tiers(all, run.entries(), width);
            }
            _ => {}
        }
    }
    (files, merges as u64)
}

/// Syncs the log when other tables have rows up to `csn` in it alone.
pub(crate) fn sync_shared_log(shared: &Shared, state: &TableState, csn: Csn) -> Result<()> {
    let tables = shared.catalog.all();
    let mut others = tables.iter().filter(|t| t.id != state.id);
    if shared.options.sync == SyncMode::Fsync
        || !others.any(|t| t.oldest_unflushed().is_some_and(|since| since <= csn))
    {
        return Ok(());
    }
    shared.sync_log().map_err(|e| shared.poison("syncing the log", e))
}

/// Step 2: `edits` name what is written, also when not all of it could be.
fn write_files(
    shared: &Shared,
    state: &TableState,
    schema: &TableSchema,
    frozen: &Memtable,
    dead: &DeadRows,
    csn: Csn,
    progress: &Progress<'_>,
    edits: &mut Vec<Edit>,
) -> Result<()> {
    let table = state.id;
    if (frozen.rows() as u64) > dead.len() as u64 {
        let progress = |work| progress.add(work);
        let write = || write_rows(shared, schema, frozen, dead, Some(csn), &progress);
        let segment = shared.ledger.writing_rows(write)?;
        let rows = (frozen.rows() - dead.len()) as u64;
        assert_eq!(segment.count, rows, "a flush writes each row that lives");
        edits.push(Edit::AddSegment(table, segment));
        for index in &schema.indexes {
            let run = write_index(shared, schema, index, frozen, dead, true, &progress)?;
            let (whole, one) = (index.is_complete(), !index.multi_entry);
            assert!(!one || run.entries() <= rows, "a row has one entry");
            assert!(!whole || run.entries() == rows, "an index has an entry for each row (I4)");
            edits.push(Edit::AddRun(table, index.id, run));
        }
    }
    let horizon = shared.horizon_of(state);
    shared.ledger.marking(|| write_marks(shared, table, frozen, dead, horizon, edits))?;
    edits.push(Edit::Flushed(table, frozen.end_row(), csn));
    if let Some(serial) = schema.columns.iter().find(|c| c.is_serial()) {
        edits.push(Edit::Serial(table, serial.id, state.serial_now()));
    }
    shared.storage.sync_dir()
}

/// Removes files that the manifest will never name, so that a flush that is tried again and again on
/// a full disk does not fill it further. What cannot be removed now goes with the next open.
pub(crate) fn discard(shared: &Shared, edits: &[Edit]) {
    let mut kinds = Vec::new();
    for edit in edits {
        match edit {
            Edit::AddSegment(_, segment) => kinds.push(FileKind::Segment(segment.file)),
            Edit::AddRun(_, _, run) => {
                kinds.extend(run.files.iter().map(|f| FileKind::Run(f.file)));
            }
            Edit::AddMarks(_, marks) => kinds.push(FileKind::Marks(marks.file)),
            _ => {}
        }
    }
    for kind in kinds {
        if let Err(e) = shared.storage.fs.remove(&shared.storage.dir.join(kind.name())) {
            shared.background.note_error(e);
        }
    }
}

/// Step 3. Runs of indexes that are being built wait for the end of that; those of indexes that are
/// gone go too. False: the table was truncated, and nothing is to be installed.
fn install(
    shared: &Shared,
    state: &TableState,
    frozen: &Arc<Memtable>,
    edits: &[Edit],
) -> Result<bool> {
    let mut building = state.building.lock();
    if !state.view_now().frozen.iter().any(|f| Arc::ptr_eq(&f.memtable, frozen)) {
        drop(building);
        discard(shared, edits);
        return Ok(false);
    }
    let schema = state.schema();
    let (mut now, mut gone) = (Vec::with_capacity(edits.len()), Vec::new());
    let mut later = Vec::new();
    for edit in edits {
        match edit {
            Edit::AddRun(_, index, run) if schema.index(*index).is_none() => {
                match building.has(*index) {
                    true => later.push((*index, run.clone())),
                    false => gone.push(edit.clone()),
                }
            }
            edit => now.push(edit.clone()),
        }
    }
    shared.commit_edits(&now, |changed| {
        let version = changed[0].1.clone().expect("a flushed table has a version");
        assert!(
            version.flushed_rows >= frozen.end_row(),
            "the files have every row that leaves memory"
        );
        let others = |m: &&Frozen| !Arc::ptr_eq(&m.memtable, frozen);
        state.change_view(|old| TableView {
            version,
            frozen: old.frozen.iter().filter(others).cloned().collect(),
            ..old.clone()
        });
    })?;
    state.owed.look(&state.view_now(), compaction::dead_share(shared));
    building.runs.extend(later);
    drop(building);
    discard(shared, &gone);
    Ok(true)
}

/// Writes the rows of a memtable that gets no more. Without a CSN they are not committed yet, and
/// their ids are not their last ones.
pub(crate) fn write_rows(
    shared: &Shared,
    schema: &TableSchema,
    frozen: &Memtable,
    dead: &DeadRows,
    csn: Option<Csn>,
    progress: &dyn Fn(usize),
) -> Result<SegmentMeta> {
    let spec = SegmentSpec {
        table: schema.id,
        schema_version: schema.version,
        columns: schema.columns.iter().map(|c| (c.id, c.ty.physical())).collect(),
        row_ids: frozen.first_row()..frozen.end_row(),
        // Changes of these rows lie next to them, even those that came before the flush.
        folded_csn: 0,
        compress: false,
        block_rows: shared.options.tuning.block_rows,
        purpose: Purpose::Segment,
        cache: csn.is_some(),
    };
    let mut writer = SegmentWriter::create(&shared.storage, spec)?;
    for (mut batch, row_ids) in frozen.batches(dead.clone()) {
        // Derived columns stand behind the others, and not in files.
        batch.columns.truncate(schema.columns.len());
        writer.push(&batch, &row_ids)?;
        progress(row_ids.len() * ROW_WEIGHT);
    }
    if csn.is_some() {
        writer.push_commits(&frozen.commit_map());
    }
    writer.finish()
}

/// Writes the entries of a memtable that gets no more, at the index's expense.
pub(crate) fn write_index(
    shared: &Shared,
    schema: &TableSchema,
    index: &IndexSchema,
    frozen: &Memtable,
    dead: &DeadRows,
    cache: bool,
    progress: &dyn Fn(usize),
) -> Result<RunMeta> {
    let sorted = frozen.sorted_ns(index.id);
    let (run, ns) = with_cpu_ns(|| write_run(shared, schema, index, frozen, dead, cache, progress));
    let account = shared.ledger.account(schema.id, index.id);
    // What was not in order yet was sorted meanwhile, and noted by the memtable.
    account.spend(Work::Flush, ns.saturating_sub(frozen.sorted_ns(index.id) - sorted));
    if run.is_ok() {
        account.told((frozen.rows() - dead.len()) as u64);
    }
    run
}

fn write_run(
    shared: &Shared,
    schema: &TableSchema,
    index: &IndexSchema,
    frozen: &Memtable,
    dead: &DeadRows,
    cache: bool,
    progress: &dyn Fn(usize),
) -> Result<RunMeta> {
    let packing = fit_packing(schema, index, frozen);
    if let Some(cut) = short::packing(schema, index, &packing, frozen.rows())
        && let Some(run) =
            write_short(shared, schema, index, (frozen, dead), cache, (&packing, cut), progress)?
    {
        return Ok(run);
    }
    let rows = frozen.first_row()..frozen.end_row();
    let mut spec =
        run_spec(shared, schema, index, packing.clone(), rows.clone(), frozen.rows() as u64)?;
    spec.cache = cache;
    spec.fences_only = index.fences_only
        && rises(frozen.entries(index.id, &packing, dead.clone()).map(|e| e.row_ids));
    let mut writer = RunWriter::new(&shared.storage, spec);
    for entries in frozen.entries(index.id, &packing, dead.clone()) {
        writer.push(&entries)?;
        progress(entries.row_ids.len());
    }
    run_meta(shared, writer, rows)
}

/// The same with cut keys; `None` where that turns out to be of no use, and nothing is left.
fn write_short(
    shared: &Shared,
    schema: &TableSchema,
    index: &IndexSchema,
    (frozen, dead): (&Memtable, &DeadRows),
    cache: bool,
    (packing, cut): (&Packing, Packing),
    progress: &dyn Fn(usize),
) -> Result<Option<RunMeta>> {
    let rows = frozen.first_row()..frozen.end_row();
    let mut spec = run_spec(shared, schema, index, cut, rows.clone(), frozen.rows() as u64)?;
    spec.cache = cache;
    let (cut, include) = (Arc::clone(&spec.packing), Batch::new(spec.shape.include_forms()));
    let mut shortener = Shortener::new(&cut, &include);
    let mut out = Entries::new(cut.new_keys(), include);
    let mut writer = RunWriter::new(&shared.storage, spec);
    for entries in frozen.entries(index.id, packing, dead.clone()) {
        let fits = shortener.push(packing, &entries, &mut out)?;
        if !fits || !short::is_worth(index.keys, &shortener) {
            return Ok(None);
        }
        writer.push(&out)?;
        out.clear();
        progress(entries.row_ids.len());
    }
    shortener.finish(&mut out);
    if !short::is_worth(index.keys, &shortener) {
        return Ok(None);
    }
    writer.push(&out)?;
    run_meta(shared, writer, rows).map(Some)
}

/// Whether row ids rise, over all steps.
fn rises(steps: impl Iterator<Item = Vec<RowId>>) -> bool {
    let mut last = None;
    for rows in steps {
        if !rows.is_sorted_by(|a, b| a < b) || rows.first().is_some_and(|r| last >= Some(*r)) {
            return false;
        }
        last = rows.last().copied().or(last);
    }
    true
}

/// A new run of an index.
pub(crate) fn run_spec(
    shared: &Shared,
    schema: &TableSchema,
    index: &IndexSchema,
    packing: Packing,
    rows: Range<RowId>,
    entries_max: u64,
) -> Result<RunSpec> {
    let shape = IndexShape::of(schema, index)?;
    let purpose = Purpose::Index(index.id);
    let mut spec =
        RunSpec::new(shape, schema.version, rows, Arc::new(packing), entries_max, purpose);
    spec.file_bytes = shared.options.tuning.run_file_bytes;
    spec.block_bytes = shared.options.tuning.block_bytes;
    Ok(spec)
}

/// Ends a run as flushed.
pub(crate) fn run_meta(shared: &Shared, writer: RunWriter, rows: Range<RowId>) -> Result<RunMeta> {
    run_of(shared, writer.finish()?, rows)
}

/// A run of finished files, as flushed.
pub(crate) fn run_of(
    shared: &Shared,
    files: Vec<RunFileMeta>,
    rows: Range<RowId>,
) -> Result<RunMeta> {
    let in_order = files.windows(2).all(|pair| pair[0].last_key <= pair[1].first_key);
    assert!(in_order, "files of a run come in key order");
    let id = files.first().map_or_else(|| shared.storage.new_file_id().0, |f| f.file.0);
    Ok(RunMeta { id, level: 0, rows, files, trim: None, group: None })
}

/// The narrowest packing that holds every key of a memtable.
fn fit_packing(schema: &TableSchema, index: &IndexSchema, frozen: &Memtable) -> Packing {
    let (positions, _) = index_positions(schema, index);
    let def = key_def(schema, index);
    let mut stats: Vec<ColumnStats> = def.columns.iter().map(|c| ColumnStats::new(c.ty)).collect();
    if index.multi_entry {
        frozen.observe_lists(index.id, &mut stats[0]);
        return Packing::fit(&def, &stats);
    }
    for piece in frozen.pieces(frozen.first_row()..frozen.end_row(), &positions) {
        for (stats, &p) in stats.iter_mut().zip(&positions) {
            stats.observe(&piece.batch().columns[p], piece.range());
        }
    }
    Packing::fit(&def, &stats)
}

fn write_marks(
    shared: &Shared,
    table: TableId,
    frozen: &Memtable,
    dead: &DeadRows,
    horizon: Csn,
    edits: &mut Vec<Edit>,
) -> Result<()> {
    let marks = frozen.mark_list();
    let extent = frozen.with_changes(Changes::extent);
    if marks.len() == dead.len() && extent.is_none() {
        return Ok(());
    }
    let kept: Vec<Mark> = (marks.iter())
        .filter(|m| !dead.contains(m.row))
        .map(|m| Mark { row: m.row, csn: m.csn, successor: m.successor })
        .collect();
    let of_marks = kept.iter().map(|m| (m.row..m.row + 1, m.csn..m.csn + 1));
    let union = |a: Range<u64>, b: Range<u64>| a.start.min(b.start)..a.end.max(b.end);
    let all = of_marks.chain(extent).reduce(|a, b| (union(a.0, b.0), union(a.1, b.1)));
    let (rows, csns) = all.expect("there is a mark or a change");
    let newest = csns.end - 1;
    let mut writer = MarkRunWriter::create(&shared.storage, MarkRunSpec { table, rows, csns })?;
    writer.push(&kept)?;
    frozen.with_changes(|changes| {
        write_changes(changes, frozen.schema(), horizon.min(newest), &mut writer)
    })?;
    edits.push(Edit::AddMarks(table, writer.finish()?));
    Ok(())
}

/// Writes the column changes of a memtable, those at or below the horizon as one per row and column.
fn write_changes(
    changes: &Changes,
    schema: &TableSchema,
    horizon: Csn,
    writer: &mut MarkRunWriter,
) -> Result<()> {
    let mut columns: Vec<_> = changes
        .columns()
        .filter_map(|id| Some((id, schema.columns[schema.position(id)?].ty.physical())))
        .collect();
    columns.sort_unstable_by_key(|c| c.0);
    for (column, form) in columns {
        writer.begin_column(column, form)?;
        let (mut from, mut out) = (0, Vec::new());
        while let Some(row) = changes.next_row(column, from) {
            let window = row..(row / CHANGE_WINDOW_ROWS + 1) * CHANGE_WINDOW_ROWS;
            from = window.end;
            let mut sweep = Sweep::default();
            changes.gather(column, window, &mut sweep);
            sweep.finish(horizon, &mut |_| (Some(0), RowId::MAX), &mut out);
            writer.push_changes(&out)?;
            out.clear();
        }
    }
    Ok(())
}

/// Step 4. Files are given up only after the manifest says that they are not needed.
pub(crate) fn cut_log(shared: &Shared) -> Result<()> {
    if !shared.has_commits() || !may_cut(shared) {
        return Ok(());
    }
    let (files, oldest, relogged) = shared.commits().exclusively(|leader| {
        let last = leader.next_csn - 1;
        let pinned = shared.catalog.all().iter().filter_map(|t| t.oldest_unflushed()).min();
        let (files, oldest) = leader.log.take_flushed(pinned.map_or(last, |csn| csn - 1));
        (files, oldest, leader.relogged)
    });
    if files.is_empty() {
        return Ok(());
    }
    if relogged && shared.options.sync != SyncMode::Fsync {
        let synced = shared.sync_log().and_then(|()| shared.storage.sync_dir());
        synced.map_err(|e| shared.poison("syncing the log", e))?;
    }
    let points = shared.timeline.unsaved(shared.clock.unix_us());
    let edits: Vec<Edit> = std::iter::once(Edit::LogOldest(oldest)).chain(points).collect();
    if let Err(e) = shared.commit_edits(&edits, |_| ()) {
        shared.commits().exclusively(|leader| leader.log.take_back(files));
        return Err(e);
    }
    edits.iter().for_each(|edit| shared.timeline.saved(edit));
    shared.commits().exclusively(|leader| leader.log.recycle(files))
}

/// Whether a log file may have become unnecessary; looked at before the commit lock is waited for.
fn may_cut(shared: &Shared) -> bool {
    let pinned = shared.catalog.all().iter().filter_map(|t| t.oldest_unflushed()).min();
    let oldest = shared.commits().if_free(|leader| leader.log.oldest_closed_csn());
    oldest.is_none_or(|oldest| oldest.is_some_and(|csn| pinned.is_none_or(|p| csn < p)))
}

/// Freezes and flushes one table.
pub(crate) fn flush_table(shared: &Shared, state: &Arc<TableState>) -> Result<()> {
    let upto = shared.commits().exclusively(|leader| {
        freeze(shared, state, leader.next_csn - 1);
        leader.next_csn - 1
    });
    drain(shared, state, upto)?;
    cut_log(shared)
}

/// Flushes what is frozen of a table with commits up to `upto`, or waits for the job that does. May be called with the commit
/// lock held: flushes do not need it.
pub(crate) fn drain(shared: &Shared, state: &TableState, upto: Csn) -> Result<()> {
    let waits = || state.view().frozen.first().is_some_and(|f| f.csns.0 <= upto);
    while waits() && !state.dropped.load(Ordering::Relaxed) {
        let seen = shared.background.idle_event().epoch();
        shared.check_writable()?;
        if shared.background.claim(Claim::Flush(state.id)) {
            background::run_job(shared, Job::Claimed(Claim::Flush(state.id)))?;
        } else {
            shared.background.idle_event().wait(seen, Some(CLAIM_LOOK));
        }
    }
    Ok(())
}

/// Freezes and flushes every table.
pub(crate) fn flush_all(shared: &Shared) -> Result<()> {
    shared.catalog.all().iter().try_for_each(|state| flush_table(shared, state))
}

/// Lets go of the oldest log files: small tables are logged again, others frozen. The caller is the
/// commit leader.
pub(crate) fn relieve_log(shared: &Shared, leader: &mut Leader, oldest_needed: Csn) {
    for state in shared.catalog.all() {
        let since = state.writer.lock().active_since;
        if since.is_none_or(|c| c > oldest_needed) {
            continue;
        }
        // On a full disk the log that is left is for deletes.
        let relogged = match shared.margin.is_lent() {
            true => Ok(false),
            false => relog::relog(leader, &state),
        };
        match relogged {
            Ok(true) => {}
            // Whatever stood in the way, a flush makes the log's records of the table unnecessary.
            Ok(false) => freeze(shared, &state, leader.next_csn - 1),
            Err(e) => {
                shared.poison("writing the log", e);
                return;
            }
        }
    }
    // Files of which nothing is left are given up by the next job that looks.
    shared.background.wake();
}
