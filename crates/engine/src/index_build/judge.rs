//! Do two live rows have the same key in a unique index that is being built?
//!
//! One walk over all entries in key order, at a snapshot: live neighbours with equal keys are
//! duplicates. The index judges new rows by then, so what the walk does not see is unique. Rows with a
//! NULL in the key never clash.
//!
//! Thread safety: any thread; reads only.

use onlap_base::{IndexId, Result, RowId};
use onlap_format::key::KeyDef;
use onlap_format::manifest::RunMeta;
use onlap_format::{IndexSchema, Value};
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

use super::Build;
use crate::read::{ReadView, Registration, merge_cursors};
use crate::table::{TableView, key_def};
use crate::unique;

/// Entries looked at in a step.
const STEP: usize = 1024;

/// Refuses an index in which two live rows have the same key.
pub(super) fn judge(build: &Build<'_>, index: &IndexSchema) -> Result<()> {
    let registered = Registration::new(build.shared);
    let view = ReadView::new(build.state, registered.csn())?;
    let def = key_def(&view.view.schema, index);
    let wants = EntryWants { keys: true, ..EntryWants::default() };
    let (all, forward) = (KeyBounds::all(), Direction::Forward);
    let mut merged = merge_cursors(view.sources(index.id, &all, forward, &wants, true)?, forward);
    let mut batch = EntryBatch::default();
    let mut key: Vec<u8> = Vec::new();
    let mut first: Option<RowId> = None;
    // A live row of the key, once it was looked for.
    let mut live: Option<RowId> = None;
    while merged.next(STEP, &mut batch)? {
        build.check()?;
        for (i, &row) in batch.row_ids.iter().enumerate().filter(|(_, row)| **row < view.count) {
            if batch.keys.get(i) != key || first.is_none() {
                key.clear();
                key.extend_from_slice(batch.keys.get(i));
                (first, live) = (Some(row), None);
                continue;
            }
            if has_null(&def, &key)? {
                continue;
            }
            if let Some(first) = first.filter(|_| live.is_none()) {
                live = lives(&view, first)?.then_some(first);
            }
            if lives(&view, row)? {
                if live.is_some() {
                    return Err(unique::duplicate(&view.view.schema, index, &key));
                }
                live = Some(row);
            }
        }
    }
    Ok(())
}

fn lives(view: &ReadView, row: RowId) -> Result<bool> {
    let mut keep = [true];
    view.view.drop_dead(&[row], view.csn, &mut keep)?;
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

fn has_null(def: &KeyDef, key: &[u8]) -> Result<bool> {
    Ok(def.decode(key)?.contains(&Value::Null))
}
