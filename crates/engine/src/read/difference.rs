//! Which rows of a table differ between two snapshots?
//!
//! The answer is ranges of row ids, which say what to read in which snapshot, and holds no values. Rows have no
//! versions and never move, so that
//!
//! * what came lies behind the older snapshot's count,
//! * what went has a mark of a commit in between,
//! * what was changed in its place has a column change of such a commit.
//!
//! An update that replaces a row makes one of each of the first two. Both snapshots are read by the newer one's files: marks and column
//! changes above the older snapshot are in them, for it is registered.
//!
//! The work is in proportion to the marks of the table and to its pages of row ids, not to its rows. Nothing here writes.

use std::ops::Range;

use onlap_base::{Csn, Error, ErrorKind, Result, RowId, stop};

use super::ReadView;
use super::dead::STRETCH_ROWS;

/// Ranges for which there is place at once.
const LEAST: usize = 64;

/// What happened to the rows of a range between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Difference {
    /// The newer snapshot sees them, the older one does not.
    Inserted,
    /// The older snapshot sees them, the newer one does not.
    Deleted,
    /// Both see them. Columns were changed in their place, perhaps to the values that they had, or by commits after the newer one.
    Changed,
}

/// A difference, and the rows that it concerns: those that the snapshots see, of a range of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRows {
    /// What happened.
    pub what: Difference,
    /// Row ids. Among those of inserted rows are some that were deleted again: no snapshot of the two sees them.
    pub rows: Range<RowId>,
}

/// The differences from `then` to `now`: inserted rows last, and each kind in the order of the ids. `room` is asked before
/// memory is taken, for the bytes that it grows by.
///
/// # Errors
/// `then` is the newer one; the table was rewritten in between; there are more ranges than `most`; those of `room`.
pub(super) fn differences(
    then: &ReadView,
    now: &ReadView,
    most: usize,
    room: Room<'_>,
) -> Result<Vec<ChangedRows>> {
    if now.csn < then.csn || now.count < then.count {
        let text = format!("commit {} is not older than commit {}", then.csn, now.csn);
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    if now.view.past.as_ref().is_some_and(|past| then.csn < past.csn) {
        let name = &now.view.schema.name;
        let text = format!(
            "table {name} was rewritten after commit {}: read it whole, and its changes from commit {} on",
            then.csn, now.csn
        );
        return Err(Error::new(ErrorKind::SnapshotTooOld, text));
    }
    if now.csn == then.csn {
        return Ok(Vec::new());
    }
    let new = |what| Ranges { list: Vec::new(), what, most };
    let (mut deleted, mut changed) = (new(Difference::Deleted), new(Difference::Changed));
    for start in (0..then.count).step_by(STRETCH_ROWS as usize) {
        stop::check()?;
        let stretch = start..then.count.min(start + STRETCH_ROWS);
        let dead = now.view.dead_rows(stretch.clone(), now.csn)?;
        if !dead.is_empty() {
            let before = now.view.dead_rows(stretch.clone(), then.csn)?;
            for &row in dead.iter().filter(|row| before.binary_search(row).is_err()) {
                deleted.push(row, room)?;
            }
        }
        if now.has_changes() {
            let alive: Vec<RowId> =
                stretch.filter(|row| dead.binary_search(row).is_err()).collect();
            now.changed_since(&alive, then.csn, &mut changed, room)?;
        }
    }
    let mut all = deleted.list;
    grow(&mut all, changed.list.len() + 1, room)?;
    all.append(&mut changed.list);
    if then.count < now.count {
        all.push(ChangedRows { what: Difference::Inserted, rows: then.count..now.count });
    }
    if all.len() > most {
        return Err(too_many(most));
    }
    Ok(all)
}

fn too_many(most: usize) -> Error {
    let text =
        format!("more than {most} ranges of rows were changed: ask for fewer commits at once");
    Error::new(ErrorKind::LimitExceeded, text)
}

/// Asks before memory is taken, for bytes.
type Room<'a> = &'a mut dyn FnMut(usize) -> Result<()>;

/// Makes place for more elements, at least twice what there is.
fn grow(list: &mut Vec<ChangedRows>, more: usize, room: Room<'_>) -> Result<()> {
    let (filled, place) = (list.len(), list.capacity());
    if place - filled >= more {
        return Ok(());
    }
    let wanted = (filled + more).max(place * 2).max(LEAST);
    room(wanted * size_of::<ChangedRows>())?;
    list.reserve_exact(wanted - filled);
    Ok(())
}

/// Ranges that grow at their end.
struct Ranges {
    list: Vec<ChangedRows>,
    what: Difference,
    most: usize,
}

impl Ranges {
    /// Adds a row behind all others.
    fn push(&mut self, row: RowId, room: Room<'_>) -> Result<()> {
        if let Some(last) = self.list.last_mut().filter(|last| last.rows.end == row) {
            last.rows.end += 1;
            return Ok(());
        }
        if self.list.len() == self.most {
            return Err(too_many(self.most));
        }
        grow(&mut self.list, 1, room)?;
        self.list.push(ChangedRows { what: self.what, rows: row..row + 1 });
        Ok(())
    }
}

impl ReadView {
    /// Adds those of rows (rising) that a commit after `since` changed: halves are looked at as long as
    /// one of their rows was.
    fn changed_since(
        &self,
        rows: &[RowId],
        since: Csn,
        out: &mut Ranges,
        room: Room<'_>,
    ) -> Result<()> {
        if !self.is_any_changed(rows, since)? {
            return Ok(());
        }
        if let [row] = rows {
            return out.push(*row, room);
        }
        let (first, second) = rows.split_at(rows.len() / 2);
        self.changed_since(first, since, out, room)?;
        self.changed_since(second, since, out, room)
    }

    fn is_any_changed(&self, rows: &[RowId], since: Csn) -> Result<bool> {
        let of_memory =
            |m: &std::sync::Arc<onlap_memtable::Memtable>| m.newest_change(rows, since).is_some();
        Ok(self.view.memtables_newest_first().any(of_memory)
            || self.view.version.newest_change(rows, since)?.is_some())
    }
}
