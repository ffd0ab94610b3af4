//! How do rows come and go by their key without a look at the rows before?
//!
//! A table that was declared for it takes blind upserts and blind deletes: rows that are appended
//! without asking whether their key is there. The newest row of a key wins; the one before dies at the
//! CSN of the newer one, and so does not need to be known then. A blind delete appends a row as well,
//! with the key alone and a mark at its own CSN: dead on arrival, it is the newest row of its key and
//! says that there is none.
//!
//! What is left to do is to find the older rows and to mark them, once per blind row: to *resolve* it.
//! Rows that nobody resolved yet are *pending* ([`Pending`]). Resolving a row looks its key up below
//! it; the row that is found dies, unless it has a mark already. The mark is an ordinary one, in the
//! active memtable, with a CSN of the past; it is flushed with the memtable. From then on readers,
//! merges, compactions and checks know nothing of blind writes. The rules:
//!
//! 1. Who looks a whole primary key up needs nothing resolved: the newest row below his count decides.
//! 2. Any other reader resolves everything below his count first ([`resolve`]), then loads the view.
//!    In this order: the marks lie in a memtable or in files of every view that is loaded later.
//! 3. Who deletes or replaces a row that he read has that judged at the commit, by the leader, after
//!    all that was published is resolved: a row that a blind one replaced has a mark then. So no row
//!    ever gets two marks (I1): an explicit one comes before the blind row, or not at all.
//! 4. Rows and entries that are pending are kept, dead or not: no flush leaves them out, no merge and
//!    no compaction drops them. How far that goes for files is in the manifest (`Edit::Resolved`),
//!    raised by the same record that adds the marks; after a crash the rest is done again, with the
//!    same outcome, since key and CSN of every row stand for ever.
//!
//! Marks in place of filters: with a filter over pending keys each candidate of each reader would be
//! probed again and again, and every path of visibility would need the key of its row. Here each
//! pending row costs one lookup, whoever comes first.
//!
//! Budget: see [`limit`]. A writer that would pass it resolves rows himself first; background work
//! begins at half of it, and when writers fall silent ([`work()`]).
//!
//! Thread safety: one at a time resolves rows of a table, in slices, under `Pending::slices`, which is
//! held for no wait; it comes after the commit lock and before `change`.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_base::{Csn, Error, Result, RowId};
use onlap_format::{Batch, Column};
use parking_lot::Mutex;

use crate::database::Shared;
use crate::memtable::Mark;
use crate::options::Rule;
use crate::read::{ReadCounters, ReadView};
use crate::table::{TableState, TableView, index_positions, key_def};

mod check;
mod table;
mod work;

pub(crate) use check::unmarked;
pub(crate) use work::{is_due, make_room, settle, work};

/// Rows resolved at once: some milliseconds, which a commit may have to wait for.
const SLICE_ROWS: u64 = 4096;
/// Rows between two blind ones that are taken for blind, which does no harm: a list of single rows
/// takes 16 bytes for each.
const GAP_ROWS: u64 = 64;

/// Rows of a table that were written blindly and not resolved yet.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Rising, apart from each other.
    ranges: Mutex<VecDeque<Range<RowId>>>,
    /// The first of them: all rows below are resolved.
    first: AtomicU64,
    rows: AtomicU64,
    /// Rows of commits on their way.
    announced: AtomicU64,
    /// Held while a slice is resolved.
    slices: Mutex<()>,
}

impl Default for Pending {
    fn default() -> Pending {
        Pending {
            ranges: Mutex::default(),
            first: AtomicU64::new(RowId::MAX),
            rows: AtomicU64::new(0),
            announced: AtomicU64::new(0),
            slices: Mutex::default(),
        }
    }
}

impl Pending {
    /// All rows below are resolved.
    pub(crate) fn resolved(&self) -> RowId {
        self.first.load(Ordering::Acquire)
    }

    /// How many rows wait.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Adds rows behind all others, before anybody can see them.
    pub(crate) fn push(&self, rows: Range<RowId>) {
        if rows.is_empty() {
            return;
        }
        let mut ranges = self.ranges.lock();
        let before = ranges.back_mut().filter(|last| last.end + GAP_ROWS >= rows.start);
        let more = match before {
            Some(last) => {
                let end = last.end.max(rows.end);
                end - std::mem::replace(&mut last.end, end)
            }
            None => {
                ranges.push_back(rows.clone());
                rows.end - rows.start
            }
        };
        self.rows.fetch_add(more, Ordering::Relaxed);
        self.note_first(&ranges);
    }

    fn note_first(&self, ranges: &VecDeque<Range<RowId>>) {
        self.first.store(ranges.front().map_or(RowId::MAX, |r| r.start), Ordering::Release);
    }

    /// The first rows below `to`, at most so many.
    fn slice(&self, to: RowId, most: u64) -> Vec<Range<RowId>> {
        let mut left = most;
        let mut slice = Vec::new();
        for range in self.ranges.lock().iter() {
            let rows = range.start..range.end.min(to).min(range.start.saturating_add(left));
            if rows.is_empty() {
                break;
            }
            left -= rows.end - rows.start;
            slice.push(rows);
        }
        slice
    }

    /// Takes rows away up to `to`, which are resolved.
    fn pop(&self, to: RowId) {
        let mut ranges = self.ranges.lock();
        while let Some(range) = ranges.front_mut().filter(|r| r.start < to) {
            let end = range.end.min(to);
            self.rows.fetch_sub(end - range.start, Ordering::Relaxed);
            range.start = end;
            if range.is_empty() {
                ranges.pop_front();
            }
        }
        self.note_first(&ranges);
    }
}

/// Most rows of a table that may be pending: as many as take 64 MiB at 16 bits each, or one percent of
/// the rows where that is more. Tests have their own.
pub(crate) fn limit(shared: &Shared, state: &TableState) -> u64 {
    let rows = state.view_now().active.end_row();
    shared.options.tuning.pending_rows.max(rows / 100)
}

/// Resolves all rows below `to`, which are published.
pub(crate) fn resolve(shared: &Shared, state: &TableState, to: RowId) -> Result<()> {
    while state.pending.resolved() < to {
        resolve_slice(shared, state, to)?;
    }
    Ok(())
}

/// Resolves the first pending rows below `to`.
fn resolve_slice(shared: &Shared, state: &TableState, to: RowId) -> Result<()> {
    let _one_at_a_time = state.pending.slices.lock();
    let slice = state.pending.slice(to, SLICE_ROWS);
    let Some(end) = slice.last().map(|r| r.end) else { return Ok(()) };
    let rows: Vec<RowId> = slice.into_iter().flatten().collect();
    let mut marks = replaced(state, &rows)?;
    if !shared.obeys(Rule::BlindMarks) {
        marks.clear();
    }
    state.mark_replaced(marks, shared.snapshots.published(), || state.pending.pop(end));
    Ok(())
}

/// The marks of the rows that these replaced.
fn replaced(state: &TableState, rows: &[RowId]) -> Result<Vec<Mark>> {
    let view = state.view();
    let primary = view.schema.primary().cloned().ok_or_else(|| {
        Error::damaged(format!("table {} takes blind writes without a key", view.schema.name))
    })?;
    let (positions, _) = index_positions(&view.schema, &primary);
    let everything =
        ReadView { view: view.clone(), csn: Csn::MAX, count: RowId::MAX, own: None, tally: None };
    let forms = positions.iter().map(|&p| view.schema.columns[p].ty.physical());
    let (mut keys, mut found) = (Batch::new(forms), Vec::with_capacity(rows.len()));
    everything.read_rows(rows, &positions, &mut keys, &mut found, &mut ReadCounters::default())?;
    let mut entries = keys_of(&key_def(&view.schema, &primary), &keys, &found);
    entries.sort_unstable();
    let mut older: Vec<(RowId, RowId)> = Vec::new();
    for (key, row) in &entries {
        let before = view.newest_with_key(primary.id, key, *row, &mut 0)?;
        older.extend(before.map(|before| (before, *row)));
    }
    older.sort_unstable();
    let ids: Vec<RowId> = older.iter().map(|o| o.0).collect();
    let mut lives = vec![true; ids.len()];
    view.drop_dead(&ids, Csn::MAX, &mut lives)?;
    let pairs = older.into_iter().zip(lives).filter(|(_, lives)| *lives).map(|(pair, _)| pair);
    let mark = |(row, newer): (RowId, RowId)| {
        let csn = csn_of(&view, newer).ok_or_else(|| {
            let name = &view.schema.name;
            Error::damaged(format!("row {newer} of table {name} belongs to no commit"))
        })?;
        Ok(Mark { row, csn, successor: None })
    };
    pairs.map(mark).collect()
}

/// Key bytes of rows, and their ids.
fn keys_of(def: &onlap_format::key::KeyDef, keys: &Batch, rows: &[RowId]) -> Vec<(Vec<u8>, RowId)> {
    let columns: Vec<&Column> = keys.columns.iter().collect();
    let key = |(i, &row): (usize, &RowId)| {
        let mut key = Vec::new();
        def.encode_row(&columns, i, &mut key);
        (key, row)
    };
    rows.iter().enumerate().map(key).collect()
}

/// The commit that brought a row; `None` where compaction has taken its segment away.
pub(crate) fn csn_of(view: &TableView, row: RowId) -> Option<Csn> {
    match view.memtables_newest_first().find(|m| m.first_row() <= row) {
        Some(memtable) => memtable.csn_of(row),
        None => view.version.segment_of(row)?.segment.footer().commits.csn_of(row),
    }
}
