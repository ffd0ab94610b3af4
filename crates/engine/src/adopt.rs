//! How does a transaction that lies in files become visible?
//!
//! One record of the manifest adopts the files, and is the commit: in every sync mode it is durable
//! before anybody sees it. Nothing of such a transaction goes through the log. The steps:
//!
//! 1. **Before the commit lock**: all rows and marks are spilled ([`crate::spill`]), names of files are made durable, keys and marks are validated against what is committed
//!    so far ([`validate`]), and the touched tables are flushed, so that little is left for step 2.
//!    Indexes that the same transaction creates get entries of what is committed ([`indexes`]).
//! 2. **Under the lock, to itself** ([`Commits::exclusively`]): the touched tables are frozen and
//!    flushed to the end, so that all their rows and marks are in files; what came since step 1 is
//!    validated. The transaction gets the next CSN and one base row id per table.
//! 3. The log is synced up to here: no earlier commit may be lost while this one survives (I2).
//! 4. **One record**: files with base and CSN ([`PrivateFiles::edits`]), `Flushed` of each table up to
//!    this CSN, whatever else the caller brings: tables created or changed by the same transaction.
//!    A failure before it, a full disk too, leaves nothing behind; one in it poisons the database (I6).
//! 5. Views and row counts change, then the CSN is published: nobody sees a part (I4).
//! 6. A note in the log says when the commit was; nothing relies on it.
//!
//! A CSN that is in no record of the log is no gap to recovery, as the manifest's CSN covers it. The
//! record's `Flushed` makes replay skip whatever the log has of the tables up to it.
//!
//! Simpler was to log the rows after all, in many records, the last of which commits: it writes all
//! rows twice, and recovery would need room for them before it knows whether they count.
//!
//! Thread safety: any thread; who holds the commit lock waits for flushes here, which do not need it.
//!
//! [`Commits::exclusively`]: crate::commit::Commits::exclusively
//! [`PrivateFiles::edits`]: onlap_storage::version::PrivateFiles::edits

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{ColumnId, Csn, Error, ErrorKind, IndexId, Result, RowId, TableId};
use onlap_format::TableSchema;
use onlap_format::log::{LogPosition, put_note};
use onlap_format::manifest::Edit;
use onlap_storage::version::{Changed, TableVersion};
use roaring::RoaringTreemap;

use crate::changes;
use crate::commit::Leader;
use crate::database::Shared;
use crate::flush;
use crate::margin;
use crate::spill::Spill;
use crate::table::{Highs, TableState, TableView};
use crate::unique;

mod indexes;
mod validate;

#[cfg(test)]
mod tests;

pub(crate) use indexes::IndexChange;
use validate::{Validated, is_dead, own_row};

/// Flushes before the lock is taken: each leaves what came in during the one before.
const FLUSHES_AHEAD: usize = 2;

/// What a transaction does to one table; all its rows and marks are spilled.
pub(crate) struct Part {
    pub state: Arc<TableState>,
    pub schema: Arc<TableSchema>,
    pub spill: Spill,
    /// Committed rows that die; the marks are spilled too.
    pub marked: RoaringTreemap,
    /// Ordinals of own rows that died again.
    pub dead: RoaringTreemap,
    /// Every value of the serial column came from the counter.
    pub counter_only: bool,
    /// Columns of committed rows that change; the changes are spilled too.
    pub changed: Vec<ColumnId>,
    /// Indexes that come and go with it: `schema` is not the table's then, but of the same version.
    pub indexes: Option<IndexChange>,
}

/// What the record says next to the adopted files.
#[derive(Default)]
pub(crate) struct Further<'a> {
    /// Edits before those of the files.
    pub edits: Vec<Edit>,
    /// A last validation under the lock, with nothing changed yet.
    pub validate: Option<&'a mut dyn FnMut() -> Result<()>>,
    /// Called with the new versions when they are durable, before the CSN is published. Views of the
    /// parts' tables have changed by then.
    pub publish: Option<&'a mut dyn FnMut(&[Changed], Csn)>,
}

/// A part that is ready for the lock.
struct Ready {
    part: Part,
    validated: Validated,
    /// Rows of the table below were looked at for new indexes.
    indexed: RowId,
    /// Largest keys of new unique indexes.
    highs: Highs,
}

/// Commits a transaction that lies in files.
///
/// # Errors
/// As an ordinary commit; nothing is left of the transaction, nor of its files.
pub(crate) fn commit(shared: &Shared, parts: Vec<Part>, further: Further<'_>) -> Result<Csn> {
    shared.check_writable()?;
    let mut ready = Vec::with_capacity(parts.len());
    for mut part in parts {
        part.spill.wait()?;
        let validated = Validated::new(shared, &mut part)?;
        ready.push(Ready { part, validated, indexed: 0, highs: Highs::new() });
    }
    shared.storage.sync_dir()?;
    for _ in 0..FLUSHES_AHEAD {
        ready.iter().try_for_each(|r| flush::flush_table(shared, &r.part.state))?;
    }
    for r in &mut ready {
        r.indexed = indexes::prepare(shared, &mut r.part)?;
    }
    shared.commits().exclusively(|leader| adopt(shared, leader, &mut ready, further))
}

/// Steps 2 to 6.
fn adopt(
    shared: &Shared,
    leader: &mut Leader,
    ready: &mut [Ready],
    mut further: Further<'_>,
) -> Result<Csn> {
    shared.check_writable()?;
    let before = leader.next_csn - 1;
    for r in ready.iter() {
        check_table(&r.part)?;
        flush::freeze(shared, &r.part.state, before);
        flush::drain(shared, &r.part.state, before)?;
    }
    ready.iter_mut().try_for_each(|r| r.validated.again(&mut r.part))?;
    for r in ready.iter_mut() {
        r.highs = indexes::finish(shared, &mut r.part, r.indexed)?;
    }
    if let Some(validate) = &mut further.validate {
        validate()?;
    }
    reserve_note(shared, leader)?;
    shared.sync_log().map_err(|e| shared.poison("syncing the log", e))?;
    let csn = leader.next_csn;
    assert!(csn > shared.snapshots.published(), "a new commit is not visible yet (I2)");
    let mut edits = std::mem::take(&mut further.edits);
    let mut bases = Vec::with_capacity(ready.len());
    for r in ready.iter_mut() {
        let base = r.part.state.writer.lock().next_row;
        bases.push(base);
        edits_of(r, base, csn, &mut edits)?;
    }
    edits.push(Edit::Csn(csn));
    // Merges under way leave dropped indexes out when they see the new schema.
    let changed = ready.iter().filter(|r| r.part.indexes.is_some());
    let changed: Vec<Arc<TableState>> = changed.map(|r| Arc::clone(&r.part.state)).collect();
    let installing: Vec<_> = changed.iter().map(|state| state.building.lock()).collect();
    let adopted = shared.commit_edits(&edits, |changed| {
        for (r, &base) in ready.iter().zip(&bases) {
            publish(shared, r, base, csn, changed);
        }
        if let Some(publish) = &mut further.publish {
            publish(changed, csn);
        }
    });
    drop(installing);
    let undone = |e: &Error| matches!(e.kind(), ErrorKind::Conflict | ErrorKind::DiskFull);
    if adopted.as_ref().err().is_none_or(|e| !undone(e)) {
        // Committed, or possibly committed, where the manifest's write failed midway: the files must stay.
        for part in ready.iter_mut().map(|r| &mut r.part) {
            part.spill.keep();
            part.indexes.iter_mut().for_each(IndexChange::keep);
        }
    }
    adopted?;
    leader.next_csn = csn + 1;
    shared.timeline.push(csn, shared.clock.unix_us());
    shared.snapshots.publish(csn);
    note(shared, leader, csn);
    shared.background.wake();
    Ok(csn)
}

fn check_table(part: &Part) -> Result<()> {
    if part.state.dropped.load(Ordering::Relaxed) {
        let text = format!("table {} was dropped", part.schema.name);
        return Err(Error::new(ErrorKind::UnknownTable, text));
    }
    if part.state.schema().version != part.schema.version {
        let text = format!(
            "table {} changed its schema meanwhile; run the transaction again",
            part.schema.name
        );
        return Err(Error::new(ErrorKind::Conflict, text));
    }
    let landing = &part.state.view_now().landing;
    if part.changed.iter().any(|c| !changes::is_free(landing, *c) || part.state.fixed.has(*c)) {
        return Err(changes::no_longer_free(&part.schema));
    }
    Ok(())
}

fn edits_of(r: &mut Ready, base: RowId, csn: Csn, edits: &mut Vec<Edit>) -> Result<()> {
    let part = &mut r.part;
    let (table, end) = (part.schema.id, base + part.spill.end());
    if let Some(change) = &part.indexes {
        edits.push(Edit::ChangeTable(indexes::final_schema(&part.schema, csn)));
        edits.extend(change.edits());
    }
    edits.extend(part.spill.files()?.edits(table, base, csn));
    edits.push(Edit::Flushed(table, end, csn));
    if let Some(serial) = part.schema.columns.iter().find(|c| c.is_serial()) {
        edits.push(Edit::Serial(table, serial.id, part.state.serial_now()));
    }
    Ok(())
}

/// Step 5 for one table.
fn publish(shared: &Shared, r: &Ready, base: RowId, csn: Csn, changed: &[Changed]) {
    let Part { state, schema, spill, indexes, .. } = &r.part;
    let version = version_of(changed, schema.id);
    let end = base + spill.end();
    assert_eq!(version.flushed_rows, end, "the files have every row of the transaction");
    state.change_view(|old| {
        let (schema, landing) = match indexes {
            Some(_) => (Arc::clone(&version.schema), Arc::clone(&version.schema)),
            None => (Arc::clone(&old.schema), Arc::clone(&old.landing)),
        };
        TableView {
            version: Arc::clone(version),
            // They were flushed under the lock that is still held.
            frozen: Vec::new(),
            // An index that is being built scans what was adopted: nobody flushed that.
            active: state.successor_of(&old.active, &landing, end),
            schema,
            landing,
            past: old.past.clone(),
            activity: Arc::clone(&old.activity),
        }
    });
    let mut writer = state.writer.lock();
    if indexes.is_some() {
        writer.highs.retain(|h| version.schema.index(h.0).is_some());
        writer.highs.extend(r.highs.iter().cloned());
    }
    assert!(writer.next_row == base && writer.last_csn <= csn, "no commit came meanwhile");
    writer.next_row = end;
    writer.last_csn = csn;
    r.validated.highs().for_each(|(index, max)| unique::raise(&mut writer.highs, index, max));
    drop(writer);
    state.counts.push(csn, end, &shared.snapshots);
}

fn version_of(changed: &[Changed], table: TableId) -> &Arc<TableVersion> {
    let found = changed.iter().find(|c| c.0 == table).and_then(|c| c.1.as_ref());
    found.expect("a table that files were added to has a version")
}

/// Room for the note, while a full disk is still an ordinary error.
fn reserve_note(shared: &Shared, leader: &mut Leader) -> Result<()> {
    let mut bytes = Vec::new();
    let part = leader.log.group_part(shared.clock.unix_us());
    put_note(&mut bytes, LogPosition::START, 0, part);
    margin::reserve(shared, &mut leader.log, bytes.len()).map_err(|e| match e.kind() {
        ErrorKind::DiskFull => e,
        _ => shared.poison("beginning a log file", e),
    })
}

/// Step 6. A failure ends all writing, but the commit stands.
fn note(shared: &Shared, leader: &mut Leader, csn: Csn) {
    let mut bytes = Vec::new();
    let part = leader.log.group_part(shared.clock.unix_us());
    put_note(&mut bytes, leader.log.position(), csn, part);
    if let Err(e) = leader.log.append(&mut bytes, csn) {
        shared.poison("writing the log", e);
    }
}

/// The largest key that a transaction brings to a unique index.
type High<'a> = (IndexId, &'a [u8]);
