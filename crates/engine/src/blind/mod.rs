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
//!    ever gets two marks (I1): an explicit one comes before the blind row, or not at all. His locks do
//!    not keep the row alive, so a snapshot keeps it where it is (`Transaction::pinned`): without a row
//!    there is no mark either.
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
//! begins at half of it, far earlier while the table is read, and when writers fall silent ([`work()`]).
//!
//! Thread safety: one at a time resolves rows of a table, in slices, under `Pending::slices`, which is
//! held for no wait; it comes after the commit lock and before `change`.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_base::{Result, RowId};
use parking_lot::Mutex;

use crate::database::Shared;
use crate::options::Rule;
use crate::table::TableState;

mod check;
mod replaced;
mod table;
mod work;

pub(crate) use check::unmarked;
pub(crate) use replaced::csn_of;
pub(crate) use work::{is_due, make_room, settle, work};

/// Rows resolved at once: some milliseconds, which a commit may have to wait for. Where many are
/// pending, more at once cost less each, since keys and marks next to each other lie in the same blocks.
const SLICE_ROWS: u64 = 4096;
const SLICE_ROWS_MAX: u64 = 1 << 16;
/// Slices that the pending rows are cut into.
const SLICES: u64 = 2;
/// A table has readers if one came in the last seconds.
const READERS_NS: u64 = 2_000_000_000;
/// Of so many rows of a table that has readers, one may be pending before the background looks at them:
/// resolving one costs about as much as scanning so many.
const READERS_SHARE: u64 = 400;
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
    /// When somebody read the table to whom pending rows matter, in nanoseconds of the monotonic clock.
    read_at: AtomicU64,
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
            read_at: AtomicU64::new(0),
            slices: Mutex::default(),
        }
    }
}

impl Pending {
    /// All rows below are resolved.
    pub(crate) fn resolved(&self) -> RowId {
        self.first.load(Ordering::Acquire)
    }

    /// Notes that somebody reads the table to whom pending rows matter.
    pub(crate) fn note_reader(&self, shared: &Shared) {
        self.read_at.store(shared.clock.monotonic_ns().max(1), Ordering::Relaxed);
    }

    /// Whether somebody did a moment ago.
    fn has_readers(&self, shared: &Shared) -> bool {
        let at = self.read_at.load(Ordering::Relaxed);
        at > 0 && shared.clock.monotonic_ns().saturating_sub(at) < READERS_NS
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

/// Pending rows from which on the background resolves them: few of a table that is read, so that a reader
/// seldom pays more for them than the table itself costs him; half of the limit where nobody reads.
fn begins_at(shared: &Shared, state: &TableState) -> u64 {
    let half = limit(shared, state) / 2;
    if !state.pending.has_readers(shared) {
        return half;
    }
    half.min((state.view_now().active.end_row() / READERS_SHARE).max(SLICE_ROWS))
}

/// Resolves all rows below `to`, which are published, for a reader.
pub(crate) fn resolve(shared: &Shared, state: &TableState, to: RowId) -> Result<()> {
    state.pending.note_reader(shared);
    resolve_below(shared, state, to)
}

/// The same for work that no reader waits for.
fn resolve_below(shared: &Shared, state: &TableState, to: RowId) -> Result<()> {
    while state.pending.resolved() < to {
        resolve_slice(shared, state, to)?;
    }
    Ok(())
}

/// Resolves the first pending rows below `to`, and says how many.
fn resolve_slice(shared: &Shared, state: &TableState, to: RowId) -> Result<u64> {
    let _one_at_a_time = state.pending.slices.lock();
    let most = (state.pending.rows() / SLICES).clamp(SLICE_ROWS, SLICE_ROWS_MAX);
    let slice = state.pending.slice(to, most);
    let Some(end) = slice.last().map(|r| r.end) else { return Ok(0) };
    let rows: Vec<RowId> = slice.into_iter().flatten().collect();
    let mut marks = replaced::replaced(state, &rows)?;
    if !shared.obeys(Rule::BlindMarks) {
        marks.clear();
    }
    state.mark_replaced(marks, shared.snapshots.published(), || state.pending.pop(end));
    Ok(rows.len() as u64)
}
