//! May a transaction commit after everything before it?
//!
//! The judgement has two looks, so that the commit lock is held for what came between them alone. The
//! client makes the first before it queues ([`look`]): pending blind rows are resolved, marks and keys
//! are looked up in files and memtables. The leader makes the second ([`validate`]), against what was
//! committed since and against earlier members of its group ([`Group`]). Where very much came since,
//! it sends the client to look again ([`is_stale`]), a few times.
//!
//! What a first look may tell the second: a table without commits since has no mark since; a mark made
//! since lies in a memtable, or in a mark run whose commits end later. Tables with blind writes are the
//! exception, as marks of the past come to them later: theirs are looked at once more.
//!
//! Thread safety: a group belongs to the leader.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use onlap_base::{Csn, Error, ErrorKind, IndexId, PROVISIONAL_BASE, Result, RowId, TableId};

use super::{Request, TableWrite};
use crate::blind;
use crate::changes;
use crate::database::Shared;
use crate::options::Rule;
use crate::schema_change::truncate;
use crate::table::TableView;
use crate::transaction::ReadSet;
use crate::unique::{self, Claimed, Earlier, is_marked};

/// Keys and marks from which on those of a transaction are not copied into sets but searched where they
/// are.
const MANY: usize = 64;
/// Rows and pending rows since the first look that the leader takes upon itself: some milliseconds.
const UNSEEN_MAX: u64 = 1 << 13;
/// How often a client looks again. Then the leader does whatever is left.
const LOOKS_MAX: usize = 3;

/// The client's look at what one table's part relies on.
pub(super) fn look(shared: &Shared, w: &mut TableWrite) -> Result<u64> {
    w.unmarked_at = None;
    if w.is_judged_after_blind() {
        blind::resolve(shared, &w.state, RowId::MAX)?;
    }
    if w.marks.len() > MANY && !w.schema.blind {
        // What the view gains meanwhile lies above.
        let csn = shared.snapshots.published();
        let view = w.state.view();
        if !has_dead(w, &view, true)? {
            w.unmarked_at = Some(csn);
        }
    }
    unique::look_up(w)
}

/// Whether so much came since a client's look that it had better look again.
pub(super) fn is_stale(request: &Request) -> bool {
    let stale = |w: &TableWrite| {
        if w.is_judged_after_blind() && w.state.pending.rows() > UNSEEN_MAX {
            return true;
        }
        if w.unique.is_empty() {
            return false;
        }
        let view = w.state.view_now();
        let most = if view.active.has_unnoted() { 0 } else { UNSEEN_MAX };
        if w.rows.rows as u64 <= most {
            return false;
        }
        let writer = w.state.writer.lock();
        unique::unseen_rows(w, &view, &writer.highs) > most
    };
    request.looks < LOOKS_MAX && request.writes.iter().any(stale)
}

/// Whether one of the marked rows has a mark: one in memory, or in `files` too.
fn has_dead(w: &TableWrite, view: &TableView, files: bool) -> Result<bool> {
    let rows: Vec<RowId> = w.marks.iter().map(|m| m.row).collect();
    let mut keep = vec![true; rows.len()];
    match files {
        true => view.drop_dead(&rows, Csn::MAX, &mut keep)?,
        false => {
            let memtables = view.memtables_newest_first();
            memtables.for_each(|m| m.drop_dead(&rows, Csn::MAX, &mut keep));
        }
    }
    Ok(keep.contains(&false))
}

/// Whether another transaction marked one of the rows that this one marks.
fn is_outrun(w: &TableWrite, view: &TableView) -> Result<bool> {
    if w.marks.len() <= MANY {
        for mark in &w.marks {
            if view.mark_of(mark.row)?.is_some() {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let Some(csn) = w.unmarked_at else { return has_dead(w, view, true) };
    if w.state.writer.lock().last_csn <= csn {
        return Ok(false);
    }
    let flushed = view.version.marks.iter().any(|m| m.meta.csns.end > csn + 1);
    has_dead(w, view, flushed)
}

/// What the admitted transactions of a group did, which the memtables do not show yet.
#[derive(Default)]
pub(super) struct Group<'a> {
    tables: HashSet<TableId>,
    marked: HashSet<(TableId, RowId)>,
    keys: HashMap<IndexId, HashSet<Vec<u8>>>,
    /// Those who marked many rows.
    markers: Vec<&'a TableWrite>,
    /// Many keys, and such as were not written out.
    claims: Vec<Claimed<'a>>,
}

impl<'a> Group<'a> {
    /// Whether a table that was read has been written to.
    fn has_written(&self, reads: &ReadSet) -> bool {
        reads.tables().any(|table| self.tables.contains(&table))
    }

    /// Whether a request has to wait until what the group does can be seen.
    pub(super) fn is_before(&self, request: &Request) -> bool {
        let judged =
            |w: &TableWrite| w.is_judged_after_blind() && self.tables.contains(&w.state.id);
        request.reads.as_ref().is_some_and(|reads| self.has_written(reads))
            || request.writes.iter().any(judged)
    }

    /// Notes what later members of the group must not do again.
    pub(super) fn note(&mut self, w: &'a TableWrite) {
        self.tables.insert(w.state.id);
        match w.marks.len() > MANY {
            true => self.markers.push(w),
            false => self.marked.extend(w.marks.iter().map(|m| (w.state.id, m.row))),
        }
        for claim in &w.unique {
            match claim.written().filter(|keys| keys.len() <= MANY) {
                Some(keys) => {
                    let known = self.keys.entry(claim.index).or_default();
                    known.extend(keys.iter().map(<[u8]>::to_vec));
                }
                None => self.claims.push(claim.claimed(w)),
            }
        }
    }

    fn has_marked(&self, table: TableId, row: RowId) -> bool {
        self.marked.contains(&(table, row))
            || self.markers.iter().any(|w| w.state.id == table && is_marked(&w.marks, row))
    }

    fn has_key(&self, index: IndexId, key: &[u8]) -> bool {
        self.keys.get(&index).is_some_and(|keys| keys.contains(key))
            || self.claims.iter().any(|c| c.index() == index && c.has(key))
    }
}

/// What a group did, as the judgement of one table's part asks.
struct InTable<'a, 'b>(&'b Group<'a>, TableId);

impl Earlier for InTable<'_, '_> {
    fn has_marked(&self, row: RowId) -> bool {
        self.0.has_marked(self.1, row)
    }

    fn brought(&self, keys: Claimed<'_>) -> Result<Option<Vec<u8>>> {
        let (group, index) = (self.0, keys.index());
        let (few, many) =
            (group.keys.get(&index), || group.claims.iter().filter(|c| c.index() == index));
        if few.is_none() && many().next().is_none() {
            return Ok(None);
        }
        if keys.len() <= MANY {
            return keys.find(&mut |key| Ok(group.has_key(index, key)));
        }
        if let Some(key) = few.into_iter().flatten().find(|key| keys.has(key)) {
            return Ok(Some(key.clone()));
        }
        for other in many() {
            let (fewer, more) =
                if other.len() < keys.len() { (*other, keys) } else { (keys, *other) };
            if let Some(key) = fewer.find(&mut |key| Ok(more.has(key)))? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}

/// Last validation of one table's part against everything committed and the group so far.
pub(super) fn validate(shared: &Shared, group: &Group<'_>, w: &TableWrite) -> Result<()> {
    if w.state.dropped.load(Ordering::Relaxed) {
        let text = format!("table {} was dropped", w.schema.name);
        return Err(Error::new(ErrorKind::UnknownTable, text));
    }
    if w.state.unborn.load(Ordering::Acquire) {
        let text = format!("table {} belongs to a transaction that created it", w.schema.name);
        return Err(Error::new(ErrorKind::UnknownTable, text));
    }
    if w.is_judged_after_blind() {
        blind::resolve(shared, &w.state, RowId::MAX)?;
    }
    let view = w.state.view_now();
    if view.schema.version != w.schema.version {
        let text = format!(
            "table {} changed its schema meanwhile; run the transaction again",
            w.schema.name
        );
        return Err(Error::new(ErrorKind::Conflict, text));
    }
    let changed = w.changes.iter().flat_map(|c| &c.rows).map(|rows| rows.start);
    truncate::check_marks(&view, w.marks.iter().map(|m| m.row).chain(changed))?;
    changes::validate(&view, w)?;
    debug_assert!(w.marks.iter().all(|m| m.row < PROVISIONAL_BASE));
    debug_assert!(w.marks.is_sorted_by(|a, b| a.row < b.row));
    if is_outrun(w, &view)? || w.marks.iter().any(|m| group.has_marked(w.state.id, m.row)) {
        let text = format!(
            "a row of table {} was changed by another transaction; run the transaction again",
            w.schema.name
        );
        return Err(Error::new(ErrorKind::Conflict, text));
    }
    if !shared.obeys(Rule::UniqueKeys) {
        return Ok(());
    }
    let writer = w.state.writer.lock();
    unique::validate(w, &view, &writer.highs, &InTable(group, w.state.id))
}
