//! Do two live rows have the same key in a unique index that is being built?
//!
//! One walk over all entries in key order, at a snapshot: live neighbours with equal keys are
//! duplicates, and so are neighbours that conflict in the index of an exclusion constraint. The index judges new rows by then, so what the walk does not see is unique. Rows with a
//! NULL in the key never clash, unless NULL equals NULL in the index.
//!
//! Thread safety: any thread; reads only.

use std::sync::Arc;

use onlap_base::{Csn, IndexId, Result, RowId};
use onlap_format::key::KeyDef;
use onlap_format::manifest::{RunFileMeta, RunMeta};
use onlap_format::{Excludes, IndexSchema, TableSchema, Value};
use onlap_storage::run::{IndexShape, Run, RunFile};
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

use super::Build;
use crate::database::Shared;
use crate::read::{ReadView, Registration, merge_cursors};
use crate::table::{TableView, key_def};
use crate::transaction::excluded::{Brought, excluded, excluded_of};
use crate::unique;

/// Entries looked at in a step.
const STEP: usize = 1024;

/// Refuses an index in which two live rows have the same key.
pub(super) fn judge(build: &Build<'_>, index: &IndexSchema) -> Result<()> {
    let registered = Registration::new(build.shared);
    judge_view(&ReadView::new(build.state, &registered)?, index, &|| build.check())
}

/// The same of the rows that a view shows.
pub(crate) fn judge_view(
    view: &ReadView,
    index: &IndexSchema,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let wants = EntryWants { keys: true, ..EntryWants::default() };
    let (all, forward) = (KeyBounds::all(), Direction::Forward);
    let cursors = view.sources(index.id, &all, forward, &wants, true)?;
    let lives = |row| Ok(!view.visible(&[row])?.is_empty());
    let mut merged = merge_cursors(cursors, Direction::Forward);
    let schema = &view.view.schema;
    if let Some(which) = index.excludes() {
        let def = key_def(schema, index);
        return match conflicting(&mut *merged, (&def, which), &lives, go_on)? {
            Some((row, other)) => Err(excluded_of(view, index, Some(row), other)?),
            None => Ok(()),
        };
    }
    let twice = walk(&mut *merged, &Keys::of(schema, index), &lives, go_on)?;
    twice.map_or(Ok(()), |key| Err(unique::duplicate(schema, index, &key)))
}

/// The first key that two live rows have, among all entries of an index.
pub(crate) fn twice_of(
    cursors: Vec<Box<dyn EntryCursor>>,
    keys: &Keys,
    lives: &dyn Fn(RowId) -> Result<bool>,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    walk(&mut *merge_cursors(cursors, Direction::Forward), keys, lives, go_on)
}

/// Entries that a walk keeps, at most, as they conflict with others: one of a set without conflicts keeps one.
const KEPT: usize = 1024;

/// Two live rows, the older one first, whose keys conflict in the index of an exclusion constraint, the oldest of all that do.
fn conflicting(
    merged: &mut dyn EntryCursor,
    (def, which): (&KeyDef, Excludes),
    lives: &dyn Fn(RowId) -> Result<bool>,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Option<(RowId, RowId)>> {
    let mut batch = EntryBatch::default();
    // Those before that go on where the next begins, if its group is theirs.
    let mut open: Vec<Brought> = Vec::new();
    let mut oldest: Option<(RowId, RowId)> = None;
    while merged.next(STEP, &mut batch)? {
        go_on()?;
        for (i, &row) in batch.row_ids.iter().enumerate() {
            let key = def.decode(batch.keys.get(i))?;
            let Some(next) = Brought::of(Some(row), key, def, which)? else { continue };
            if !lives(row)? {
                continue;
            }
            open.retain(|known| known.conflicts(&next));
            let others = open.iter().filter_map(|known| known.row);
            let pairs = others.map(|other| (row.min(other), row.max(other)));
            oldest = oldest.into_iter().chain(pairs).min();
            if open.len() < KEPT {
                open.push(next);
            }
        }
    }
    Ok(oldest)
}

/// The keys of an index, and which of them are equal.
pub(crate) struct Keys {
    def: KeyDef,
    nulls_equal: bool,
}

impl Keys {
    pub(crate) fn of(schema: &TableSchema, index: &IndexSchema) -> Keys {
        Keys { def: key_def(schema, index), nulls_equal: index.nulls_equal() }
    }

    /// Whether rows with a key never clash.
    fn is_loose(&self, key: &[u8]) -> Result<bool> {
        Ok(!self.nulls_equal && self.def.decode(key)?.contains(&Value::Null))
    }
}

/// The same for an index all of whose entries are in these runs, by the rows that live in a view.
pub(super) fn judge_runs(
    shared: &Shared,
    view: &TableView,
    schema: &TableSchema,
    index: &IndexSchema,
    runs: &[&RunMeta],
) -> Result<()> {
    let shape = IndexShape::of(schema, index)?;
    let wants = EntryWants { keys: true, ..EntryWants::default() };
    let mut cursors: Vec<Box<dyn EntryCursor>> = Vec::new();
    for meta in runs {
        let open =
            |f: &RunFileMeta| RunFile::open(&shared.storage, &shape, f.file, f.base).map(Arc::new);
        let files = meta.files.iter().map(open).collect::<Result<Vec<_>>>()?;
        let run = Arc::new(Run::new(Arc::clone(&shape), files, None));
        cursors.push(Box::new(run.cursor(KeyBounds::all(), Direction::Forward, wants.clone())));
    }
    let mut merged = merge_cursors(cursors, Direction::Forward);
    let lives = |row| lives(view, row, Csn::MAX);
    if let Some(which) = index.excludes() {
        let def = key_def(schema, index);
        let found = conflicting(&mut *merged, (&def, which), &lives, &|| Ok(()))?;
        return found.map_or(Ok(()), |_| Err(excluded(schema, index, None, None)));
    }
    let twice = walk(&mut *merged, &Keys::of(schema, index), &lives, &|| Ok(()))?;
    twice.map_or(Ok(()), |key| Err(unique::duplicate(schema, index, &key)))
}

/// The first key that two live rows have.
fn walk(
    merged: &mut dyn EntryCursor,
    keys: &Keys,
    lives: &dyn Fn(RowId) -> Result<bool>,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    let mut batch = EntryBatch::default();
    let mut key: Vec<u8> = Vec::new();
    let mut first: Option<RowId> = None;
    // A live row of the key, once it was looked for.
    let mut live: Option<RowId> = None;
    while merged.next(STEP, &mut batch)? {
        go_on()?;
        for (i, &row) in batch.row_ids.iter().enumerate() {
            if batch.keys.get(i) != key || first.is_none() {
                key.clear();
                key.extend_from_slice(batch.keys.get(i));
                (first, live) = (Some(row), None);
                continue;
            }
            if keys.is_loose(&key)? {
                continue;
            }
            if let Some(first) = first.filter(|_| live.is_none()) {
                live = lives(first)?.then_some(first);
            }
            if lives(row)? {
                if live.is_some() {
                    return Ok(Some(key));
                }
                live = Some(row);
            }
        }
    }
    Ok(None)
}

fn lives(view: &TableView, row: RowId, csn: Csn) -> Result<bool> {
    let mut keep = [true];
    view.drop_dead(&[row], csn, &mut keep)?;
    Ok(keep[0])
}

/// The largest key bytes of any row of a view whose memtables know the index; its runs are `runs`.
pub(super) fn highest<'a>(
    view: &TableView,
    index: IndexId,
    runs: impl Iterator<Item = &'a RunMeta>,
) -> Result<Option<Vec<u8>>> {
    let files = runs.flat_map(|r| &r.files);
    let mut highest = files.map(|f| f.last_key.clone()).max();
    let wants = EntryWants { keys: true, ..EntryWants::default() };
    let mut batch = EntryBatch::default();
    for memtable in view.memtables_newest_first() {
        let (all, backward) = (KeyBounds::all(), Direction::Backward);
        let mut cursor = memtable.cursor(index, &all, backward, &wants, 0..RowId::MAX);
        if cursor.next(1, &mut batch)? {
            highest = highest.max(Some(batch.keys.get(0).to_vec()));
        }
    }
    Ok(highest)
}
