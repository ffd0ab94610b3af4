//! When are pending rows resolved that nobody asks for?
//!
//! In the background from half of the limit on, so that writers seldom meet it, and all of them when
//! writers have fallen silent: what a reader finds resolved costs him nothing. A writer that would
//! pass the limit resolves as many rows as he brings, and so keeps to it whatever the background does.
//!
//! Thread safety: `Claim::Pending` keeps two jobs off one table.

use onlap_base::{Result, RowId};
use onlap_storage::merge::Calm;

use super::{limit, resolve_slice};
use crate::commit::TableWrite;
use crate::database::Shared;
use crate::flush;
use crate::table::TableState;

/// Slices that one job resolves before it looks whether something else is more pressing.
const SLICES: usize = 64;

/// Whether the background should resolve rows of a table.
pub(crate) fn is_due(shared: &Shared, state: &TableState) -> bool {
    let rows = state.pending.rows();
    rows > 0 && (rows >= limit(shared, state) / 2 || shared.quiet.calm() != Calm::Busy)
        || is_full(shared, state)
}

/// Whether marks alone have filled the memtable, which no commit would freeze.
fn is_full(shared: &Shared, state: &TableState) -> bool {
    let view = state.view_now();
    view.schema.blind && view.active.heap_bytes() >= shared.memtable_bytes
}

/// Resolves some slices of a table.
pub(crate) fn work(shared: &Shared, state: &TableState) -> Result<()> {
    for _ in 0..SLICES {
        if shared.background.stopping() {
            break;
        }
        if is_full(shared, state) {
            freeze(shared, state);
        }
        if state.pending.rows() == 0 {
            break;
        }
        resolve_slice(shared, state, RowId::MAX)?;
    }
    Ok(())
}

fn freeze(shared: &Shared, state: &TableState) {
    shared.commits().exclusively(|leader| flush::freeze(shared, state, leader.next_csn - 1));
}

/// Resolves everything and puts it into files, with the marks.
pub(crate) fn settle(shared: &Shared) -> Result<()> {
    for state in shared.catalog.all() {
        if state.schema().blind {
            super::resolve(shared, &state, RowId::MAX)?;
        }
    }
    Ok(())
}

/// Keeps to the limit before a commit brings more.
pub(crate) fn make_room(shared: &Shared, w: &TableWrite) -> Result<()> {
    let state = &*w.state;
    while !w.blind.is_empty()
        && state.pending.rows() > 0
        && state.pending.rows() + w.rows.rows as u64 > limit(shared, state)
    {
        resolve_slice(shared, state, RowId::MAX)?;
    }
    Ok(())
}
