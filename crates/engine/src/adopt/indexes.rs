//! How do indexes come and go with the rows of a transaction?
//!
//! The record that adopts the rows changes the schema too, and names the new indexes' files. Before
//! the commit lock, everything that is committed gets entries, and unique ones are judged: one walk over
//! committed and own entries in key order finds a key that two rows have of which neither is dead or
//! marked by the transaction. Under the lock the same for what came since, which is in files by then:
//! each of these rows is looked up in both.
//!
//! Thread safety: as [`super`].

use std::sync::Arc;

use onlap_base::{ColumnId, Csn, PROVISIONAL_BASE, Result, RowId};
use onlap_format::manifest::Edit;
use onlap_format::{Batch, Column, IndexSchema, TableSchema};
use onlap_storage::segment::SegmentScan;
use onlap_storage::version::TableVersion;
use onlap_storage::{Direction, EntryWants, KeyBounds};

use super::{Part, is_dead, own_row};
use crate::database::Shared;
use crate::derive::{Needed, has_entry};
use crate::index_build::{self, Keys, NOT_YET, NewIndex, twice_of};
use crate::options::Rule;
use crate::table::{Highs, TableView, index_positions, key_def};
use crate::unique;

/// What a part does to the indexes of its table. The part's schema has those that there will be.
pub(crate) struct IndexChange {
    /// Those that it creates.
    pub new: Vec<NewIndex>,
}

/// The schema as others will see it from a commit on.
pub(super) fn final_schema(schema: &TableSchema, csn: Csn) -> TableSchema {
    let mut schema = schema.clone();
    schema.version += 1;
    schema.indexes.iter_mut().filter(|i| i.since == NOT_YET).for_each(|i| i.since = csn);
    schema
}

impl IndexChange {
    /// Gives all rows in files entries; whether there were any without.
    pub(super) fn cover(&mut self, shared: &Shared, view: &TableView) -> Result<bool> {
        if !shared.obeys(Rule::NewIndexes) {
            return Ok(false);
        }
        let end = view.version.flushed_rows;
        let any = self.new.iter().any(|n| n.covered() < end);
        self.new.iter_mut().try_for_each(|n| n.cover(view)).map(|()| any)
    }

    fn covered(&self) -> RowId {
        self.new.iter().map(NewIndex::covered).min().unwrap_or(0)
    }

    /// Edits that make the new indexes' files those of the table.
    pub(super) fn edits(&self) -> impl Iterator<Item = Edit> {
        self.new.iter().flat_map(NewIndex::edits)
    }

    pub(super) fn keep(&mut self) {
        self.new.iter_mut().for_each(NewIndex::keep);
    }
}

/// Before the lock: the part's new indexes get entries of what is committed, and unique ones are judged.
/// Returns the rows that were looked at.
pub(super) fn prepare(shared: &Shared, part: &mut Part) -> Result<RowId> {
    let view = view_of(part);
    let Some(change) = &mut part.indexes else { return Ok(0) };
    change.cover(shared, &view)?;
    let covered = change.covered();
    let schema = Arc::clone(&part.schema);
    for index in new_unique(&schema) {
        judge(shared, part, &view, index)?;
    }
    Ok(covered)
}

/// Under the lock, when everything is in files: the same for the rows from `since` on. Returns the largest
/// keys of the new unique indexes.
pub(super) fn finish(shared: &Shared, part: &mut Part, since: RowId) -> Result<Highs> {
    let mut highs = Highs::new();
    let view = view_of(part);
    let Some(change) = &mut part.indexes else { return Ok(highs) };
    let came = change.cover(shared, &view)?;
    let schema = Arc::clone(&part.schema);
    for index in new_unique(&schema) {
        if came {
            judge_since(shared, part, &view, index, since)?;
        }
        let change = part.indexes.as_ref().expect("looked at above");
        let committed = change.new.iter().flat_map(|n| n.runs().iter().cloned());
        let own = part.spill.files()?.runs.iter().cloned();
        let runs = committed.chain(own).filter(|r| r.0 == index.id);
        highs.push((index.id, runs.flat_map(|r| r.1.files).map(|f| f.last_key).max()));
    }
    Ok(highs)
}

/// The table's files of the moment, under the schema that the part leaves behind.
fn view_of(part: &Part) -> TableView {
    TableView { schema: Arc::clone(&part.schema), ..(*part.state.view()).clone() }
}

fn new_unique(schema: &TableSchema) -> impl Iterator<Item = &IndexSchema> {
    schema.indexes.iter().filter(|i| i.unique && i.since == NOT_YET)
}

/// The table's files with the new indexes.
fn committed(shared: &Shared, part: &Part, view: &TableView) -> Result<Arc<TableVersion>> {
    let new = part.indexes.iter().flat_map(|change| &change.new);
    index_build::with_indexes(shared, &view.version, &part.schema, new, None)
}

/// Whether a row is there after the commit.
fn lives(part: &Part, view: &TableView, row: RowId) -> Result<bool> {
    if row >= PROVISIONAL_BASE {
        return Ok(!is_dead(part, row));
    }
    Ok(!part.marked.contains(row) && view.mark_of(row)?.is_none())
}

/// Refuses two rows with a key, among those that have entries.
fn judge(shared: &Shared, part: &mut Part, view: &TableView, index: &IndexSchema) -> Result<()> {
    let private = part.spill.version()?;
    let committed = committed(shared, part, view)?;
    let wants = EntryWants { keys: true, ..EntryWants::default() };
    let (all, forward) = (KeyBounds::all(), Direction::Forward);
    let mut cursors = Vec::new();
    for version in [private, committed] {
        version.cursors(index.id, &all, forward, &wants, RowId::MAX, &mut cursors)?;
    }
    let lives = |row| lives(part, view, row);
    let go_on = || shared.check_writable();
    let twice = twice_of(cursors, &Keys::of(&part.schema, index), &lives, &go_on)?;
    twice.map_or(Ok(()), |key| Err(unique::duplicate(&part.schema, index, &key)))
}

/// Refuses a live row from `since` on with the key of another one.
fn judge_since(
    shared: &Shared,
    part: &mut Part,
    view: &TableView,
    index: &IndexSchema,
    since: RowId,
) -> Result<()> {
    let private = part.spill.version()?;
    let committed = committed(shared, part, view)?;
    each_key_since(part, view, index, since, &mut |row, key| {
        if !lives(part, view, row)? {
            return Ok(());
        }
        let mut taken = own_row(part, &private, index, key)?.is_some();
        let mut below = RowId::MAX;
        while !taken && let Some(other) = committed.newest_with_key(index.id, key, below, &mut 0)? {
            taken = other != row && lives(part, view, other)?;
            below = other;
        }
        if taken { Err(unique::duplicate(&part.schema, index, key)) } else { Ok(()) }
    })
}

/// Hands out the rows of the table from `since` on, all of which are in files, with their keys; those with a
/// NULL in the key are left out.
pub(super) fn each_key_since(
    part: &Part,
    view: &TableView,
    index: &IndexSchema,
    since: RowId,
    f: &mut dyn FnMut(RowId, &[u8]) -> Result<()>,
) -> Result<()> {
    let schema = &part.schema;
    let (positions, _) = index_positions(schema, index);
    let def = key_def(schema, index);
    let needed = Needed::of_index(schema, index);
    let ids: Vec<ColumnId> = needed.columns.iter().map(|c| c.0).collect();
    let places: Vec<usize> = positions.iter().map(|&p| needed.place(schema, p)).collect();
    let filter = schema.filter_position(index).map(|p| needed.place(schema, p));
    let mut key = Vec::new();
    for segment in view.version.segments().filter(|s| s.row_ids().end > since) {
        let range = since..segment.row_ids().end;
        let mut scan = SegmentScan::new(segment, range, Direction::Forward);
        let mut rows = Batch::new(needed.columns.iter().map(|c| c.1));
        let mut row_ids = Vec::new();
        while scan.next(&ids, &mut rows, &mut row_ids)? {
            let alive = |at: usize| lives(part, view, row_ids[at]);
            needed.complete(part.spill.calculator(), schema, &mut rows, &alive)?;
            let columns: Vec<&Column> = places.iter().map(|&at| &rows.columns[at]).collect();
            let filter = filter.map(|at| &rows.columns[at]);
            for (i, &row) in row_ids.iter().enumerate() {
                if has_entry(filter, i) && !columns.iter().any(|c| c.is_null(i)) {
                    key.clear();
                    def.encode_row(&columns, i, &mut key);
                    f(row, &key)?;
                }
            }
            rows.columns.truncate(ids.len());
        }
    }
    Ok(())
}
