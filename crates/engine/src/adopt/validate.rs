//! May a transaction that lies in files commit?
//!
//! Its marks: nobody else marked one of the rows. Its unique keys: no two live rows of its own have
//! the same, and no live row of the table has one of them. Both are looked at before the commit lock
//! is taken, and under it again for what came since. Of the keys a walk over the transaction's runs,
//! which are sorted, finds those that stand twice; keys up to the largest known one are looked up in
//! the table. Under the lock it is the other way round: the few rows that came since are looked up in
//! the transaction's runs. Values of the table's own counter are new by construction.
//!
//! Thread safety: the second look runs under the commit lock, when all rows are in files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Csn, Error, ErrorKind, IndexId, PROVISIONAL_BASE, Result, RowId};
use onlap_format::{IndexSchema, TableSchema};
use onlap_storage::version::TableVersion;
use onlap_storage::{Direction, EntryBatch, EntryWants, KeyBounds};

use super::indexes::each_key_since;
use super::{High, Part};
use crate::blind;
use crate::database::Shared;
use crate::index_build::NOT_YET;
use crate::read::merge_cursors;
use crate::table::TableView;
use crate::unique;

/// Entries looked at in a step.
const STEP: usize = 1024;
/// Marks looked at in a step.
const MARKS_STEP: usize = 1 << 16;

/// What was found out about one table's part.
pub(super) struct Validated {
    /// Unique indexes whose keys anybody might have brought, and the spilled rows to look into.
    judged: Vec<IndexId>,
    private: Option<Arc<TableVersion>>,
    highs: Vec<(IndexId, Vec<u8>)>,
    /// Rows below were looked at.
    rows: RowId,
    /// Marks up to here were looked at.
    csn: Csn,
}

impl Validated {
    /// The first look.
    pub(super) fn new(shared: &Shared, part: &mut Part) -> Result<Validated> {
        // What the view gains meanwhile lies above both.
        let csn = shared.snapshots.published();
        if part.schema.blind {
            blind::resolve(shared, &part.state, RowId::MAX)?;
        }
        let view = part.state.view();
        let rows = view.active.end_row();
        check_marks(part, |rows, keep| view.drop_dead(rows, Csn::MAX, keep))?;
        let mut validated =
            Validated { judged: Vec::new(), private: None, highs: Vec::new(), rows, csn };
        let schema = Arc::clone(&part.schema);
        for index in judged(&schema) {
            let runs = &part.spill.files()?.runs;
            let files = runs.iter().filter(|r| r.0 == index.id).flat_map(|r| &r.1.files);
            let Some(high) = files.map(|f| f.last_key.clone()).max() else { continue };
            validated.highs.push((index.id, high));
            if !is_counter(part, index) {
                validated.judged.push(index.id);
            }
        }
        if !validated.judged.is_empty() {
            let private = part.spill.version()?;
            for &index in &validated.judged {
                let index = schema.index(index).expect("just found there");
                check_keys(part, &private, &view, index, rows)?;
            }
            validated.private = Some(private);
        }
        Ok(validated)
    }

    /// The largest keys of unique indexes.
    pub(super) fn highs(&self) -> impl Iterator<Item = High<'_>> {
        self.highs.iter().map(|(index, high)| (*index, high.as_slice()))
    }

    /// The second look: everything of the table is in files.
    pub(super) fn again(&mut self, part: &mut Part) -> Result<()> {
        if part.schema.blind && part.state.writer.lock().last_csn > self.csn {
            // Which of the marked rows were replaced meanwhile is not in files.
            let text = format!(
                "table {} takes blind writes and was changed while a large transaction committed; \
                 run the transaction again",
                part.schema.name
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
        let view = part.state.view();
        let marks = &view.version.marks;
        if marks.iter().any(|m| m.meta.csns.end > self.csn + 1) {
            check_marks(part, |rows, keep| view.version.drop_dead(rows, Csn::MAX, keep))?;
        }
        let schema = Arc::clone(&part.schema);
        for index in judged(&schema) {
            let judged = self.judged.contains(&index.id);
            let brings = self.highs.iter().any(|h| h.0 == index.id);
            if brings && !judged && !is_counter(part, index) {
                // Somebody chose a value of the counter's column himself since.
                let private = part.spill.version()?;
                check_keys(part, &private, &view, index, RowId::MAX)?;
            } else if judged && view.version.flushed_rows > self.rows {
                let private = self.private.as_ref().expect("made for judged keys");
                check_since(part, private, &view, index, self.rows)?;
            }
        }
        Ok(())
    }
}

/// The unique indexes that there were before: others are judged on their own ([`super::indexes`]).
fn judged(schema: &TableSchema) -> impl Iterator<Item = &IndexSchema> {
    schema.indexes.iter().filter(|i| i.unique && i.since != NOT_YET)
}

/// Whether all keys of the index came from the table's counter, and nobody brings other values.
fn is_counter(part: &Part, index: &IndexSchema) -> bool {
    let serial = part.schema.columns.iter().find(|c| c.is_serial()).map(|c| c.id);
    let [key] = index.key.as_slice() else { return false };
    let counter = serial == Some(key.column) && !key.descending && part.counter_only;
    counter && !part.state.serial_mixed.load(Ordering::Relaxed)
}

/// Refuses a part of whose marked rows one is marked already.
fn check_marks(part: &Part, drop_dead: impl Fn(&[RowId], &mut [bool]) -> Result<()>) -> Result<()> {
    let mut marked = part.marked.iter();
    let (mut rows, mut keep) = (Vec::new(), Vec::new());
    loop {
        rows.clear();
        rows.extend(marked.by_ref().take(MARKS_STEP));
        if rows.is_empty() {
            return Ok(());
        }
        keep.clear();
        keep.resize(rows.len(), true);
        drop_dead(&rows, &mut keep)?;
        if keep.contains(&false) {
            let text = format!(
                "a row of table {} was changed by another transaction; run the transaction again",
                part.schema.name
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
    }
}

/// Refuses keys that stand twice among the own live rows, or belong to a live row below `below`.
fn check_keys(
    part: &Part,
    private: &TableVersion,
    view: &TableView,
    index: &IndexSchema,
    below: RowId,
) -> Result<()> {
    let wants = EntryWants {
        keys: true,
        key_columns: (0..index.key.len()).collect(),
        include: Vec::new(),
        ..EntryWants::default()
    };
    let mut cursors = Vec::new();
    let (all, forward) = (KeyBounds::all(), Direction::Forward);
    private.cursors(index.id, &all, forward, &wants, RowId::MAX, &mut cursors)?;
    let mut merged = merge_cursors(cursors, forward);
    let mut batch = EntryBatch::default();
    let mut last: Option<Vec<u8>> = None;
    while merged.next(STEP, &mut batch)? {
        for i in 0..batch.len() {
            let null = batch.columns.columns.iter().any(|c| c.is_null(i));
            if null || is_dead(part, batch.row_ids[i]) {
                continue;
            }
            let key = batch.keys.get(i);
            let taken = || {
                let known = !unique::is_above_all(&part.state, index.id, key);
                let live = if known { live_row(part, view, index, key, below)? } else { None };
                Ok::<bool, Error>(live.is_some())
            };
            if last.as_deref() == Some(key) || taken()? {
                return Err(unique::duplicate(&part.schema, index, key));
            }
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(key);
        }
    }
    Ok(())
}

pub(super) fn is_dead(part: &Part, row: RowId) -> bool {
    part.dead.contains(row - PROVISIONAL_BASE)
}

/// The live row that carries a key, if this transaction does not delete it.
fn live_row(
    part: &Part,
    view: &TableView,
    index: &IndexSchema,
    key: &[u8],
    below: RowId,
) -> Result<Option<RowId>> {
    let row = unique::live_row(view, index.id, key, below, &mut 0)?;
    Ok(row.filter(|row| !part.marked.contains(*row)))
}

/// Refuses a live row from `since` on with a key of the transaction.
fn check_since(
    part: &Part,
    private: &TableVersion,
    view: &TableView,
    index: &IndexSchema,
    since: RowId,
) -> Result<()> {
    each_key_since(part, view, index, since, &mut |row, key| {
        let own = own_row(part, private, index, key)?;
        if own.is_some() && view.version.mark_of(row)?.is_none() {
            return Err(unique::duplicate(&part.schema, index, key));
        }
        Ok(())
    })
}

/// The live own row with a key. An own row with it that died may be followed by others.
pub(super) fn own_row(
    part: &Part,
    private: &TableVersion,
    index: &IndexSchema,
    key: &[u8],
) -> Result<Option<RowId>> {
    let mut below = RowId::MAX;
    while let Some(row) = private.newest_with_key(index.id, key, below, &mut 0)? {
        if !is_dead(part, row) {
            return Ok(Some(row));
        }
        below = row;
    }
    Ok(None)
}
