//! How does a table lose all its rows in an instant?
//!
//! One manifest record takes every file away, and the view begins anew, with no memtables but an empty
//! one; row ids go on where they were (I1). That happens at a CSN of its own, so that a snapshot is
//! either before or after it: one from before reads the view that was ([`Past`]), which pins the old
//! files, until the last such snapshot goes. A transaction that changes a row from before fails.
//!
//! Marking every row as deleted instead would do the same for readers, but in time proportional to the
//! table, and leave its files to be rewritten.
//!
//! Thread safety: under the table's change lock and the commit lock.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Csn, Error, ErrorKind, Result, RowId};
use onlap_format::manifest::Edit;
use onlap_storage::version::TableVersion;

use super::WhichTable;
use crate::background::Claim;
use crate::blind;
use crate::commit::Leader;
use crate::database::Shared;
use crate::flush;
use crate::pace::owed::Owed;
use crate::table::{TableState, TableView};

/// What a truncated table was.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    /// The commit that truncated it.
    pub csn: Csn,
    /// Rows below this id are gone since.
    pub below: RowId,
    /// For snapshots from before; `None` when there is none left.
    pub view: Option<Arc<TableView>>,
}

pub(crate) fn truncate_table(shared: &Arc<Shared>, table: WhichTable<'_>) -> Result<()> {
    let (state, _changing) = table.lock(shared)?;
    shared.references.check_droppable(&state.schema())?;
    if shared.snapshots.len() > 0 {
        // What snapshots may go on to read is to lie in files: memory of the past counts nowhere.
        flush::flush_table(shared, &state)?;
    }
    // A merge that ends meanwhile would take files away that are about to be removed.
    let files = shared.background.hold(Claim::Files(state.id));
    shared.commits().exclusively(|leader| truncate(shared, &state, leader))?;
    drop(files);
    forget(shared, &state)
}

fn truncate(shared: &Shared, state: &TableState, leader: &mut Leader) -> Result<()> {
    let csn = leader.next_csn;
    flush::sync_shared_log(shared, state, csn)?;
    // Nobody can do it later, and snapshots from before go on to ask.
    blind::resolve(shared, state, RowId::MAX)?;
    // A flush under way finds its memtable gone.
    let installing = state.building.lock();
    let old = state.view();
    let below = old.active.end_row();
    // Whatever was looked up for commits that wait is looked up again.
    let mut schema = (*old.schema).clone();
    schema.version += 1;
    let schema = Arc::new(schema);
    let mut edits = remove_all(&old.version);
    edits.push(Edit::ChangeTable((*schema).clone()));
    edits.push(Edit::Flushed(state.id, below, csn));
    let past = Past { csn, below, view: Some(Arc::clone(&old)) };
    // After a reopen nothing tells what the table was: its history begins anew.
    state.history_floor.fetch_max(csn, Ordering::AcqRel);
    shared.commit_edits(&edits, |changed| {
        let version = changed[0].1.clone().expect("a truncated table has a version");
        state.change_view(|_| TableView {
            landing: Arc::clone(&schema),
            active: state.new_memtable(&schema, below),
            schema,
            version,
            frozen: Vec::new(),
            past: Some(Arc::new(past)),
            activity: Arc::clone(&state.activity),
        });
    })?;
    drop(installing);
    old.active.freeze();
    leader.next_csn += 1;
    let mut writer = state.writer.lock();
    writer.active_since = None;
    writer.last_csn = csn;
    drop(writer);
    state.counts.push(csn, below, &shared.snapshots);
    shared.snapshots.publish(csn);
    state.activity.truncated();
    let debt = state.merge_debt.swap(0, Ordering::Relaxed);
    shared.pressure.change_merge_debt(debt, 0);
    shared.pace.owes(state.id, Owed::default());
    let frozen = old.frozen.iter().map(|f| f.bytes).sum();
    shared.pressure.dropped(frozen, shared.clock.monotonic_ns());
    Ok(())
}

fn remove_all(version: &TableVersion) -> Vec<Edit> {
    let table = version.schema.id;
    let segments = version.segments.iter().map(|s| Edit::RemoveSegment(table, s.meta.file));
    let marks = version.marks.iter().map(|m| Edit::RemoveMarks(table, m.meta.file));
    let runs = version.indexes.iter().flat_map(|index| {
        index.runs.iter().map(move |r| Edit::RemoveRun(table, index.id, r.meta.id))
    });
    segments.chain(marks).chain(runs).collect()
}

/// Lets go of what a table was before it was truncated, once no snapshot is old enough to ask.
pub(crate) fn forget(shared: &Shared, state: &TableState) -> Result<()> {
    let old_enough = |view: &TableView| {
        let past = view.past.as_ref().filter(|p| p.view.is_some());
        past.is_some_and(|p| shared.snapshots.oldest() >= p.csn)
    };
    if !old_enough(&state.view_now()) {
        return Ok(());
    }
    state.change_view(|old| {
        let past = old.past.as_ref().filter(|_| old_enough(old));
        let past = past.map(|p| Arc::new(Past { view: None, ..(**p).clone() }));
        TableView { past: past.or(old.past.clone()), ..old.clone() }
    });
    shared.versions.files().sweep().map(|_| ())
}

/// Refuses changes of rows that a truncation took.
pub(crate) fn check_marks(view: &TableView, rows: impl Iterator<Item = RowId>) -> Result<()> {
    let Some(past) = &view.past else { return Ok(()) };
    if rows.into_iter().any(|row| row < past.below) {
        let text = format!(
            "table {} was truncated meanwhile; run the transaction again",
            view.schema.name
        );
        return Err(Error::new(ErrorKind::Conflict, text));
    }
    Ok(())
}
