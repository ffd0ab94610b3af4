//! How does an index get entries for rows that are there already, while writers go on?
//!
//! The protocol, for any number of indexes of one table together:
//!
//! 1. **Begin**, under the commit lock for an instant, after commit D: the active memtable is frozen,
//!    and memtables made from then on maintain the new indexes too. X, the next row id, parts the
//!    rows: those from X on have entries in memtables, and in runs when these are flushed.
//! 2. Frozen memtables without the indexes are flushed. From then on every row below X lies in a
//!    segment.
//! 3. **Scan** ([`pieces`]): all segments below X, once, only the indexes' columns, a piece at a time;
//!    each piece is sorted and written as one run per index, which ordinary merges join later. Memory
//!    is bounded by the piece. Rows that are dead get entries too: somebody may still see them.
//!    Segments from X on that no memtable was flushed to are scanned as well.
//! 4. **End**, under the commit lock for an instant: one manifest record makes the indexes part of
//!    the schema, with all their runs.
//! 5. Where some are unique, that record calls the indexes not ready: nobody reads them yet. New rows
//!    are judged by them from then on, so that no duplicate can come in any more, and those from before
//!    are searched for duplicates ([`judge`]). Another record makes them ready, or takes them away.
//!
//! Until step 4 the manifest does not know of the build: runs of new rows are written by flushes but
//! wait in [`Building`]. A crash leaves orphans that the next open removes; an error or a cancel
//! removes the files at once. Indexes that are not ready at an open go too. Recording a build in the
//! manifest, to go on after a crash, was left out: what is lost is work that takes seconds.
//!
//! Rows whose columns were changed in place before step 1 get the entries that they have at its end: an index
//! over such columns does not answer for snapshots from before ([`IndexSchema::only_since`]). Entries for what a
//! row was at each of its changes were left out: merges and counts take a row to have one entry.
//!
//! A writer whose row clashes during step 5 is refused, although the index may turn out to be
//! impossible. Letting it pass and looking up what came in since, again and again, was tried: with
//! many small flushes rows came in faster than they were looked up.
//!
//! Invariants: every row from X on has its entry in a memtable or in a run listed in `Building` or in
//! the manifest (I4): whoever installs files of the table or changes its schema holds `building`
//! meanwhile, so that a flush cannot miss the end. Index ids are taken for ever before a build begins:
//! a memtable of a build that failed must not pass for one of the next.
//!
//! Thread safety: one build per table, under its change lock; flushes and merges go on.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Csn, Error, ErrorKind, IndexId, Result, RowId};
use onlap_format::manifest::{Edit, RunMeta};
use onlap_format::{IndexSchema, TableSchema};
use onlap_storage::segment::Segment;
use onlap_storage::version::TableVersion;

use crate::commit::Leader;
use crate::database::{Shared, unknown_table};
use crate::flush;
use crate::margin;
use crate::table::{Highs, TableState, TableView};

mod control;
mod join;
mod judge;
mod pieces;
mod private;
mod under_way;

pub use control::{BuildControl, BuildProgress};
pub(crate) use judge::{Keys, judge_view, twice_of};
pub(crate) use private::{NOT_YET, NewIndex, fill, with_indexes};
pub(crate) use under_way::Builds;
pub use under_way::IndexBuild;

/// Indexes of a table that are being built.
#[derive(Debug, Default)]
pub(crate) struct Building {
    pub indexes: Vec<IndexSchema>,
    /// Runs that flushes wrote for them.
    pub runs: Vec<(IndexId, RunMeta)>,
}

impl Building {
    /// Whether an index is being built.
    pub(crate) fn has(&self, index: IndexId) -> bool {
        self.indexes.iter().any(|i| i.id == index)
    }
}

/// Steps 1 to 5. The caller holds the table's change lock.
pub(crate) fn run(
    shared: &Arc<Shared>,
    state: &Arc<TableState>,
    indexes: &[IndexSchema],
    control: &BuildControl,
) -> Result<()> {
    margin::check_room(shared)?;
    let (csn, first_maintained) = shared.commits().exclusively(|leader| {
        let csn = leader.next_csn - 1;
        (csn, begin(shared, state, indexes, csn))
    });
    let runs = Vec::new();
    let mut build = Build {
        shared,
        state,
        indexes,
        control,
        first_maintained,
        runs,
        only_since: Vec::new(),
        ended: false,
    };
    flush::drain(shared, state, csn)?;
    build.only_since = changed_before(&state.view(), indexes);
    let mut todo: Vec<Range<RowId>> = std::iter::once(0..first_maintained).collect();
    while !build.ended {
        build.cover(todo)?;
        // Mostly nothing.
        todo = shared.commits().exclusively(|leader| build.end(leader))?;
    }
    if indexes.iter().any(|i| i.unique) { build.approve() } else { Ok(()) }
}

/// Indexes over columns that were changed in place: entries have the newest values, which older snapshots must
/// not see. The changes have ended, and are in files.
pub(crate) fn changed_before(view: &TableView, indexes: &[IndexSchema]) -> Vec<IndexId> {
    let changed = |index: &&IndexSchema| {
        let columns = view.landing.columns_of(index);
        columns.iter().chain(&index.include).any(|column| view.changes_column(*column))
    };
    indexes.iter().filter(changed).map(|index| index.id).collect()
}

/// Step 1; returns X.
fn begin(shared: &Shared, state: &TableState, indexes: &[IndexSchema], csn: Csn) -> RowId {
    flush::freeze(shared, state, csn);
    let mut building = state.building.lock();
    debug_assert!(building.indexes.is_empty() && building.runs.is_empty());
    building.indexes = indexes.to_vec();
    let mut first = 0;
    state.change_view(|old| {
        first = old.active.end_row();
        let landing = Arc::new(with_further(&old.schema, indexes));
        // Nothing has landed since the freeze.
        let active = state.successor_of(&old.active, &landing, first);
        TableView { landing, active, ..old.clone() }
    });
    first
}

/// A schema and further indexes, still of the same version: no column differs.
fn with_further(schema: &TableSchema, indexes: &[IndexSchema]) -> TableSchema {
    let mut schema = schema.clone();
    schema.indexes.extend_from_slice(indexes);
    schema
}

/// Ranges that meet, as one: what does not fit memory at once lies in several runs.
fn joined(mut ranges: Vec<Range<RowId>>) -> Vec<Range<RowId>> {
    ranges.sort_unstable_by_key(|rows| rows.start);
    let mut out: Vec<Range<RowId>> = Vec::new();
    for rows in ranges {
        match out.last_mut() {
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => out.push(rows),
        }
    }
    out
}

/// A build under way. Dropped before its end, it leaves nothing.
struct Build<'a> {
    shared: &'a Arc<Shared>,
    state: &'a Arc<TableState>,
    indexes: &'a [IndexSchema],
    control: &'a BuildControl,
    /// X.
    first_maintained: RowId,
    /// Runs of rows that were there, and of those that landed in segments directly.
    runs: Vec<(IndexId, RunMeta)>,
    /// Those that do not answer for older snapshots.
    only_since: Vec<IndexId>,
    ended: bool,
}

impl Build<'_> {
    fn check(&self) -> Result<()> {
        if self.state.dropped.load(Ordering::Relaxed) {
            return Err(unknown_table(&self.state.schema().name));
        }
        check(self.shared, self.control)
    }

    /// Step 3: until no segment is left without entries.
    fn cover(&mut self, mut todo: Vec<Range<RowId>>) -> Result<()> {
        todo.retain(|rows| !rows.is_empty());
        while !todo.is_empty() {
            self.check()?;
            let view = self.state.view();
            let segments: Vec<_> = view.version.segments().cloned().collect();
            let schema = &view.schema;
            let (indexes, control) = (self.indexes, self.control);
            let runs = &mut self.runs;
            let version = Some(&view.version);
            pieces::write(self.shared, schema, version, &segments, indexes, &todo, control, runs)?;
            self.shared.storage.sync_dir()?;
            let building = self.state.building.lock();
            todo = self.uncovered(&self.state.view().version, &building);
        }
        Ok(())
    }

    /// Row ids from X on of segments without runs.
    fn uncovered(&self, version: &TableVersion, building: &Building) -> Vec<Range<RowId>> {
        let first = self.indexes[0].id;
        let runs = self.runs.iter().chain(&building.runs).filter(|r| r.0 == first);
        let covered = joined(runs.map(|(_, run)| run.rows.clone()).collect());
        let has_run = |rows: &Range<RowId>| {
            covered.iter().any(|c| c.start <= rows.start && rows.end <= c.end)
        };
        let segments = version.segments.iter().map(|s| &s.meta.rows);
        let landed = segments.filter(|rows| rows.start >= self.first_maintained);
        landed.filter(|rows| !has_run(rows)).cloned().collect()
    }

    /// Step 4; returns the rows that turn out to need a scan before.
    fn end(&mut self, leader: &Leader) -> Result<Vec<Range<RowId>>> {
        self.check()?;
        let state = self.state;
        let mut building = state.building.lock();
        let view = state.view();
        let todo = self.uncovered(&view.version, &building);
        if !todo.is_empty() {
            return Ok(todo);
        }
        let runs = || self.runs.iter().chain(&building.runs);
        let mut highs = Vec::new();
        for index in self.indexes.iter().filter(|i| i.unique) {
            let runs = runs().filter(|r| r.0 == index.id).map(|r| &r.1);
            highs.push((index.id, judge::highest(&view, index.id, runs)?));
        }
        let mut schema = with_further(&view.schema, self.indexes);
        schema.version += 1;
        let ready = highs.is_empty();
        let csn = leader.next_csn - 1;
        let new = schema.indexes.iter_mut().filter(|i| building.has(i.id));
        let only_since = |id: &IndexId| self.only_since.contains(id);
        new.for_each(|i| (i.since, i.only_since, i.ready) = (csn, only_since(&i.id), ready));
        let added = runs().map(|(index, run)| Edit::AddRun(state.id, *index, run.clone()));
        let ended = state.change_schema(self.shared, schema, added.collect());
        // After any other failure the record that names the files may be there.
        self.ended = ended.as_ref().map_or_else(|e| e.kind() == ErrorKind::ReadOnly, |()| true);
        if ended.is_ok() {
            *building = Building::default();
            state.writer.lock().highs.extend(highs);
        }
        ended.map(|()| todo)
    }

    /// Step 5.
    fn approve(&self) -> Result<()> {
        let unique = self.indexes.iter().filter(|i| i.unique);
        let judged = unique.into_iter().try_for_each(|index| judge::judge(self, index));
        let failed = judged.is_err();
        let approved = self.shared.commits().exclusively(|leader| {
            let judged = judged.and_then(|()| self.check());
            let _installing = self.state.building.lock();
            let mut schema = (*self.state.schema()).clone();
            schema.version += 1;
            let mine = |i: &IndexSchema| self.indexes.iter().any(|new| new.id == i.id);
            if judged.is_ok() {
                let new = schema.indexes.iter_mut().filter(|i| mine(i));
                new.for_each(|i| (i.since, i.ready) = (leader.next_csn - 1, true));
            } else {
                schema.indexes.retain(|i| !mine(i));
            }
            self.state.change_schema(self.shared, schema, Vec::new())?;
            if judged.is_err() {
                let mut writer = self.state.writer.lock();
                writer.highs.retain(|h| self.indexes.iter().all(|i| i.id != h.0));
            }
            judged
        });
        if failed {
            self.shared.versions.files().sweep()?;
        }
        approved
    }
}

impl Drop for Build<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut building = self.state.building.lock();
        let landed = std::mem::take(&mut *building).runs;
        self.state.change_view(|old| TableView { landing: Arc::clone(&old.schema), ..old.clone() });
        drop(building);
        let runs = self.runs.drain(..).chain(landed);
        let edits = runs.map(|(index, run)| Edit::AddRun(self.state.id, index, run));
        flush::discard(self.shared, &edits.collect::<Vec<_>>());
    }
}

/// Builds indexes anew while no commit is under way and all rows are in these segments, whose files
/// the caller keeps; `runs` name what was written, also when not all of it could be. Unique ones are
/// judged by the rows that live in `view`. Returns their largest keys.
pub(crate) fn rebuild(
    shared: &Arc<Shared>,
    view: &TableView,
    schema: &TableSchema,
    segments: &[Arc<Segment>],
    indexes: &[IndexSchema],
    runs: &mut Vec<(IndexId, RunMeta)>,
) -> Result<Highs> {
    let control = BuildControl::new();
    let all: Vec<Range<RowId>> = std::iter::once(0..view.version.flushed_rows).collect();
    pieces::write(shared, schema, Some(&view.version), segments, indexes, &all, &control, runs)?;
    shared.storage.sync_dir()?;
    let mut highs = Highs::new();
    for index in indexes.iter().filter(|i| i.is_rule()) {
        let runs: Vec<&RunMeta> = runs.iter().filter(|r| r.0 == index.id).map(|r| &r.1).collect();
        judge::judge_runs(shared, view, schema, index, &runs)?;
        if !index.unique {
            continue;
        }
        let files = runs.iter().flat_map(|r| &r.files);
        highs.push((index.id, files.map(|f| f.last_key.clone()).max()));
    }
    Ok(highs)
}

/// Whether a build is to go on.
fn check(shared: &Shared, control: &BuildControl) -> Result<()> {
    control.check()?;
    shared.check_writable()?;
    if shared.background.stopping() {
        return Err(Error::new(ErrorKind::Closed, "the database was closed"));
    }
    Ok(())
}
