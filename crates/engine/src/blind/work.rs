//! When are pending rows resolved that nobody asks for?
//!
//! In the background from half of the limit on, so that writers seldom meet it, from few on while the
//! table is read, and all of them when writers have fallen silent: what a reader finds resolved costs him nothing. A writer that would
//! pass the limit resolves as many rows as he brings, and so keeps to it whatever the background does.
//!
//! Thread safety: `Claim::Pending` keeps two jobs off one table.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onlap_base::{Result, RowId};
use onlap_storage::merge::Calm;

use super::{GAP_ROWS, begins_at, limit, resolve_slice};
use crate::commit::TableWrite;
use crate::database::Shared;
use crate::table::TableState;
use crate::{flush, quiet};

/// Rows that one job resolves before it looks whether something else is more pressing.
const JOB_ROWS: u64 = 1 << 18;
/// How long a writer waits for commits that have taken all the room.
const OTHERS_COMMIT: Duration = Duration::from_micros(100);

/// Whether the background should resolve rows of a table.
pub(crate) fn is_due(shared: &Shared, state: &TableState) -> bool {
    wants_resolving(shared, state) || is_full(shared, state)
}

/// Whether rows should be resolved though nobody asks for them.
fn wants_resolving(shared: &Shared, state: &TableState) -> bool {
    let rows = state.pending.rows();
    rows > 0 && (rows >= begins_at(shared, state) || quiet::calm(shared) != Calm::Busy)
}

/// Whether marks alone have filled the memtable, which no commit would freeze.
fn is_full(shared: &Shared, state: &TableState) -> bool {
    let view = state.view_now();
    view.schema.blind && view.active.heap_bytes() >= shared.memtable_bytes
}

/// Resolves some slices of a table.
pub(crate) fn work(shared: &Shared, state: &TableState) -> Result<()> {
    let mut left = JOB_ROWS;
    loop {
        if is_full(shared, state) {
            freeze(shared, state);
        }
        if left == 0 || !wants_resolving(shared, state) || shared.background.stopping() {
            return Ok(());
        }
        left = left.saturating_sub(resolve_slice(shared, state, RowId::MAX)?.max(1));
    }
}

fn freeze(shared: &Shared, state: &TableState) {
    shared.commits().exclusively(|leader| flush::freeze(shared, state, leader.next_csn - 1));
}

/// Resolves everything and puts it into files, with the marks.
pub(crate) fn settle(shared: &Shared) -> Result<()> {
    for state in shared.catalog.all() {
        if state.schema().blind {
            super::resolve_below(shared, &state, RowId::MAX)?;
        }
    }
    Ok(())
}

/// Rows that a commit on its way will add to the pending ones.
pub(crate) struct Room {
    state: Arc<TableState>,
    rows: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.state.pending.announced.fetch_sub(self.rows, Ordering::Relaxed);
    }
}

/// Keeps all tables of a commit to their limits. Everybody asks for room in the order of ids, so that
/// nobody waits in a circle.
pub(crate) fn make_room(shared: &Shared, writes: &[TableWrite]) -> Result<Vec<Room>> {
    let mut blind: Vec<&TableWrite> = writes.iter().filter(|w| !w.blind.is_empty()).collect();
    blind.sort_unstable_by_key(|w| w.state.id);
    blind.into_iter().map(|w| make_room_in(shared, w)).collect()
}

/// Keeps to the limit before a commit brings more: the writer resolves rows until there is room, or
/// nothing else is pending. The room is his until the rows are pending, or refused.
fn make_room_in(shared: &Shared, w: &TableWrite) -> Result<Room> {
    let (state, rows) = (&w.state, w.rows.rows as u64 + GAP_ROWS);
    let pending = &state.pending;
    loop {
        let limit = limit(shared, state);
        let fits = |announced: u64| {
            let before = announced + pending.rows();
            (before == 0 || before + rows <= limit).then_some(announced + rows)
        };
        if pending.announced.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok() {
            return Ok(Room { state: Arc::clone(state), rows });
        }
        shared.check_writable()?;
        match pending.rows() {
            0 => shared.tasks.sleep(OTHERS_COMMIT),
            _ => {
                resolve_slice(shared, state, RowId::MAX)?;
            }
        }
    }
}
