//! What is kept only because someone may still ask for it?
//!
//! A dead row stays in segments and runs until it is dead for everyone, and a replaced file until
//! nobody reads it. Two counters say what that costs:
//!
//! * **snapshot debt**: dead rows that only an open snapshot may see, and replaced files that running
//!   scans keep. Above its limit the oldest snapshot is revoked, and at an age limit too, so that no
//!   forgotten reader stops cleaning for ever. A snapshot that sees everything costs nothing and is
//!   never revoked.
//! * **history debt**: dead rows that only the histories of tables keep ([`crate::history`]). From three
//!   quarters of its limit on the oldest part of the largest history is given up.
//!
//! Dead rows are counted by marks, and their CSNs are taken to lie evenly between the first and the
//! last of a mark run; a row counts with the average bytes of its table, entries included. So these
//! are estimates.
//!
//! Replaced files that a revoked snapshot's scans keep go when these scans take their next step.
//! Until then they are written off: another snapshot is revoked only for debt that came on top.
//!
//! Thread safety: any thread; [`look`] is called by background tasks between jobs.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use onlap_base::Csn;

use crate::database::Shared;
use crate::table::{Frozen, TableState, TableView};

/// What a table keeps, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// For open snapshots alone.
    pub snapshots: u64,
    /// For the table's history.
    pub history: u64,
}

/// Watches the snapshot debt.
#[derive(Debug, Default)]
pub(crate) struct SnapshotDebt {
    /// Bytes of replaced files that have cost a snapshot its life already.
    written_off: AtomicU64,
    /// When it is looked at again, in microseconds since 1970.
    next_us: AtomicI64,
}

/// Time between two looks in microseconds: short compared with any age limit that makes sense.
const LOOK_EVERY_US: i64 = 250_000;

/// Quarters of histories that one look gives up at most.
const SHORTENED_MAX: usize = 16;

/// Bytes kept only because of open snapshots.
pub(crate) fn snapshot_debt(shared: &Shared) -> u64 {
    let tables = shared.catalog.all();
    let rows: u64 = tables.iter().map(|t| kept(shared, t).snapshots).sum();
    rows + shared.versions.files().kept_bytes()
}

/// What a table keeps.
pub(crate) fn kept(shared: &Shared, state: &TableState) -> Kept {
    let view = state.view();
    let published = shared.snapshots.published();
    let oldest = shared.snapshots.oldest().min(published);
    let begin = shared.history_begin_of(state).map_or(published, |begin| {
        begin.max(state.history_floor.load(Ordering::Acquire)).min(published)
    });
    if oldest == published && begin == published {
        return Kept::default();
    }
    let bytes = row_bytes(&view);
    Kept {
        snapshots: (dead_rows(&view, oldest..begin, published) * bytes) as u64,
        history: (dead_rows(&view, begin..published, published) * bytes) as u64,
    }
}

/// About how many rows died after `range.start` and not after `range.end`.
fn dead_rows(view: &TableView, range: Range<Csn>, published: Csn) -> f64 {
    if range.is_empty() {
        return 0.0;
    }
    // So many marks have CSNs from the first up to the end.
    let share = |first: Csn, end: Csn, marks: u64| {
        let inside = end.min(range.end + 1).saturating_sub(first.max(range.start + 1));
        marks as f64 * inside as f64 / end.saturating_sub(first).max(1) as f64
    };
    let runs = view.version.marks.iter();
    let flushed =
        runs.map(|m| share(m.meta.csns.start, m.meta.csns.end, m.run.footer().mark_count()));
    let marks = |f: &Frozen| share(f.csns.0, f.csns.1 + 1, f.memtable.marks() as u64);
    let frozen = view.frozen.iter().map(marks);
    let since = view.frozen.last().map_or(view.version.flushed_csn, |f| f.csns.1);
    let active = share(since + 1, published.max(since) + 1, view.active.marks() as u64);
    flushed.chain(frozen).sum::<f64>() + active
}

/// Bytes of a row and its entries, on average.
fn row_bytes(view: &TableView) -> f64 {
    let version = &view.version;
    let segments = version.segments.iter().map(|s| (s.meta.bytes, s.meta.count));
    let mut bytes = average(segments);
    let rows: u64 = version.segments.iter().map(|s| s.meta.count).sum();
    for index in &version.indexes {
        let runs = index.runs.iter();
        bytes += match index.shape.multi_entry {
            false => average(runs.map(|r| (r.meta.bytes(), r.meta.entries()))),
            // A row has any number of entries.
            true => average(std::iter::once((runs.map(|r| r.meta.bytes()).sum(), rows))),
        };
    }
    if bytes == 0.0 {
        let active = &view.active;
        bytes = average(std::iter::once((active.heap_bytes() as u64, active.rows() as u64)));
    }
    bytes
}

fn average(parts: impl Iterator<Item = (u64, u64)>) -> f64 {
    let (bytes, rows) = parts.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    if rows == 0 { 0.0 } else { bytes as f64 / rows as f64 }
}

/// Revokes the oldest snapshot where it has become too old, or all together keep too much.
pub(crate) fn look(shared: &Shared) {
    let now = shared.clock.unix_us();
    let next = shared.snapshot_debt.next_us.load(Ordering::Relaxed);
    // A clock that was set back does not stop the looks.
    if now < next && next - now <= LOOK_EVERY_US {
        return;
    }
    shared.snapshot_debt.next_us.store(now + LOOK_EVERY_US, Ordering::Relaxed);
    shorten_histories(shared);
    let files = shared.versions.files().kept_bytes();
    let debt = &shared.snapshot_debt;
    let written_off = debt.written_off.fetch_min(files, Ordering::Relaxed).min(files);
    let Some((csn, since)) = shared.snapshots.oldest_since(now) else { return };
    let age = u64::try_from(now.saturating_sub(since)).unwrap_or(0);
    let age_limit = shared.options.snapshot_age_limit;
    let limit = shared.snapshot_debt_limit;
    if age_limit.is_some_and(|limit| u128::from(age) >= limit.as_micros()) {
        shared.snapshots.revoke(csn);
    } else if snapshot_debt(shared).saturating_sub(written_off) > limit {
        shared.snapshots.revoke(csn);
        debt.written_off.store(files, Ordering::Relaxed);
    }
}

/// Gives up the oldest part of histories while all together keep too much.
fn shorten_histories(shared: &Shared) {
    let limit = shared.history_debt_limit / 4 * 3;
    for _ in 0..SHORTENED_MAX {
        let tables = shared.catalog.all();
        let debts = tables.iter().map(|t| (kept(shared, t).history, t));
        let debts: Vec<_> = debts.filter(|(bytes, _)| *bytes > 0).collect();
        let total: u64 = debts.iter().map(|(bytes, _)| bytes).sum();
        let Some((_, state)) = debts.into_iter().max_by_key(|(bytes, _)| *bytes) else { return };
        if total <= limit {
            return;
        }
        let published = shared.snapshots.published();
        let begin = shared.history_begin_of(state).unwrap_or(published);
        let begin = begin.max(state.history_floor.load(Ordering::Acquire));
        let kept = published.saturating_sub(begin) / 4 * 3;
        state.history_given_up.fetch_max(published - kept, Ordering::AcqRel);
        // Readers are told by the floor.
        shared.horizon_of(state);
        shared.histories_shortened.fetch_add(1, Ordering::Relaxed);
        shared.background.wake();
    }
}
