//! Do two live rows have the same key in a unique index that is being built?
//!
//! Writers do not judge the keys of the new index before it is there, so duplicates may come in while
//! it is built; then the build fails. (Refusing the writer instead was rejected: it would be told of
//! an index that may never exist.) Every judgement is made at a snapshot, so that an update, which
//! marks one row and inserts another, is never taken for a duplicate:
//!
//! 1. One walk over all entries of rows below the snapshot's count, in key order: live neighbours with
//!    equal keys are duplicates.
//! 2. Rows that came since are looked up one by one, at a later snapshot, until few are left.
//! 3. Those are looked up under the commit lock. What came before was unique at the snapshot before,
//!    so a new duplicate has a new row in it.
//!
//! Rows with a NULL in the key never clash.
//!
//! Thread safety: any thread; reads only.

use std::sync::Arc;

use onlap_base::{Csn, Error, Result, RowId};
use onlap_format::key::KeyDef;
use onlap_format::manifest::RunMeta;
use onlap_format::{Column, IndexSchema, TableSchema, Value};
use onlap_storage::run::{IndexShape, Run, RunFile};
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

use super::{Build, check};
use crate::read::{ReadCounters, ReadView, merge_cursors};
use crate::snapshots::Snapshots;
use crate::table::{TableView, index_positions, key_def};
use crate::unique;

/// Entries or rows looked at in a step.
const STEP: usize = 1024;
/// Rows that may be left to look up while commits wait: a few milliseconds.
const LEFT_ROWS: RowId = 2048;
/// Rounds after which the rest is looked up while commits wait, however much it is: rows come in as
/// fast as they are looked up, which nothing but waiting ends.
const ROUNDS: usize = 12;

/// A registered snapshot.
struct Registered<'a> {
    snapshots: &'a Snapshots,
    csn: Csn,
}

impl<'a> Registered<'a> {
    fn new(snapshots: &'a Snapshots) -> Registered<'a> {
        Registered { snapshots, csn: snapshots.register() }
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.snapshots.release(self.csn);
    }
}

/// Steps 1 and 2; returns the snapshot at which no two rows had the same key. The rows that came
/// later are few.
pub(super) fn judge(build: &Build<'_>, index: &IndexSchema) -> Result<Csn> {
    let snapshots = &build.shared.snapshots;
    let mut judged = Registered::new(snapshots);
    walk(build, index, judged.csn)?;
    for _ in 0..ROUNDS {
        let next = Registered::new(snapshots);
        let rows = |csn| build.state.counts.at(csn).unwrap_or(0);
        if rows(next.csn) - rows(judged.csn) <= LEFT_ROWS {
            break;
        }
        judge_since(build, index, judged.csn, next.csn)?;
        judged = next;
    }
    Ok(judged.csn)
}

/// Everything that has entries of the index.
struct Sources {
    runs: Vec<Arc<Run>>,
    view: Arc<TableView>,
}

impl Sources {
    fn new(build: &Build<'_>, index: &IndexSchema) -> Result<Sources> {
        let (view, metas) = {
            // Flushes move rows from one to the other while they hold the lock.
            let building = build.state.building.lock();
            let runs = build.runs.iter().chain(&building.runs);
            let metas: Vec<RunMeta> =
                runs.filter(|r| r.0 == index.id).map(|r| r.1.clone()).collect();
            (build.state.view(), metas)
        };
        let shape = IndexShape::of(&view.schema, index)?;
        let open = |meta: &RunMeta| {
            let file = |f: &onlap_format::manifest::RunFileMeta| {
                RunFile::open(&build.shared.storage, &shape, f.file, f.base).map(Arc::new)
            };
            let files = meta.files.iter().map(file).collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(Run::new(Arc::clone(&shape), files, None)))
        };
        let runs = metas.iter().map(open).collect::<Result<_>>()?;
        Ok(Sources { runs, view })
    }

    fn cursors(&self, index: &IndexSchema, direction: Direction) -> Vec<Box<dyn EntryCursor>> {
        let wants = EntryWants { keys: true, ..EntryWants::default() };
        let mut cursors: Vec<Box<dyn EntryCursor>> = Vec::new();
        for run in &self.runs {
            cursors.push(Box::new(run.cursor(KeyBounds::all(), direction, wants.clone())));
        }
        for memtable in self.view.memtables_newest_first() {
            let bounds = KeyBounds::all();
            let cursor = memtable.cursor(index.id, &bounds, direction, &wants, RowId::MAX);
            cursors.push(Box::new(cursor));
        }
        cursors
    }

    /// The newest row below `below` with a key.
    fn newest(&self, index: &IndexSchema, key: &[u8], below: RowId) -> Result<Option<RowId>> {
        let memtables = self.view.memtables_newest_first();
        let mut newest = memtables.filter_map(|m| m.newest_with_key(index.id, key, below)).max();
        let mut found = Vec::new();
        for run in &self.runs {
            found.clear();
            run.probe(key, &mut found)?;
            newest = newest.max(found.iter().copied().filter(|&r| r < below).max());
        }
        Ok(newest)
    }

    fn lives(&self, row: RowId, csn: Csn) -> Result<bool> {
        let mut keep = [true];
        self.view.drop_dead(&[row], csn, &mut keep)?;
        Ok(keep[0])
    }
}

/// Step 1, at a registered snapshot.
fn walk(build: &Build<'_>, index: &IndexSchema, csn: Csn) -> Result<()> {
    let sources = Sources::new(build, index)?;
    let count = build.state.counts.at(csn).unwrap_or(0);
    let def = key_def(&sources.view.schema, index);
    let mut merged = merge_cursors(sources.cursors(index, Direction::Forward), Direction::Forward);
    let mut batch = EntryBatch::default();
    let mut key: Vec<u8> = Vec::new();
    let mut first: Option<RowId> = None;
    // A live row of the key, once it was looked for.
    let mut live: Option<RowId> = None;
    while merged.next(STEP, &mut batch)? {
        check(build.shared, build.control)?;
        for (i, &row) in batch.row_ids.iter().enumerate().filter(|(_, row)| **row < count) {
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
                live = sources.lives(first, csn)?.then_some(first);
            }
            if sources.lives(row, csn)? {
                if live.is_some() {
                    return Err(duplicate(&sources.view.schema, index, &key));
                }
                live = Some(row);
            }
        }
    }
    Ok(())
}

/// Steps 2 and 3: looks the rows up that came after `judged` up to `csn`.
pub(super) fn judge_since(
    build: &Build<'_>,
    index: &IndexSchema,
    judged: Csn,
    csn: Csn,
) -> Result<()> {
    let counts = &build.state.counts;
    let (from, to) = (counts.at(judged).unwrap_or(0), counts.at(csn).unwrap_or(0));
    if from == to {
        return Ok(());
    }
    let sources = Sources::new(build, index)?;
    let reader = ReadView::new(build.state, csn)?;
    let schema = &sources.view.schema;
    let def = key_def(schema, index);
    let (positions, _) = index_positions(schema, index);
    let mut key = Vec::new();
    for start in (from..to).step_by(STEP) {
        check(build.shared, build.control)?;
        let ids: Vec<RowId> = (start..to.min(start + STEP as RowId)).collect();
        let (rows, batch) = reader.fetch(&ids, &positions, &mut ReadCounters::default())?;
        let columns: Vec<&Column> = batch.columns.iter().collect();
        for (i, &row) in rows.iter().enumerate() {
            if columns.iter().any(|c| c.is_null(i)) {
                continue;
            }
            key.clear();
            def.encode_row(&columns, i, &mut key);
            let mut below = row;
            while let Some(other) = sources.newest(index, &key, below)? {
                if sources.lives(other, csn)? {
                    return Err(duplicate(schema, index, &key));
                }
                below = other;
            }
        }
    }
    Ok(())
}

/// The largest key bytes of any row.
pub(super) fn highest(build: &Build<'_>, index: &IndexSchema) -> Result<Option<Vec<u8>>> {
    let sources = Sources::new(build, index)?;
    let mut highest: Option<Vec<u8>> = None;
    let mut batch = EntryBatch::default();
    for mut cursor in sources.cursors(index, Direction::Backward) {
        if cursor.next(1, &mut batch)? {
            highest = highest.max(Some(batch.keys.get(0).to_vec()));
        }
    }
    Ok(highest)
}

fn has_null(def: &KeyDef, key: &[u8]) -> Result<bool> {
    Ok(def.decode(key)?.contains(&Value::Null))
}

fn duplicate(schema: &TableSchema, index: &IndexSchema, key: &[u8]) -> Error {
    unique::duplicate(schema, index, key)
}
