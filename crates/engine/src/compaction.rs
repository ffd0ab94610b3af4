//! When are files joined, and how does that reach the readers?
//!
//! What to join is decided by pure policies of `onlap_storage::merge` and carried out by its
//! workers; this module schedules them and publishes the outcome: a change of files and the view of
//! the table that shows it are one step (I4).
//!
//! Per table one job at a time, so that merges of its indexes, of its marks and compactions of its
//! segments never work from each other's outdated inputs. A job does a few slices and ends, so that
//! a flush never waits long for a task.
//!
//! Thread safety: `Claim::Files` keeps two jobs off one table.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Csn, ErrorKind, Result, TableId};
use onlap_format::manifest::Edit;
use onlap_storage::StorageContext;
use onlap_storage::compact;
use onlap_storage::editor::Editor;
use onlap_storage::merge::{self, MergeOptions, PolicyOptions, marks, policy};
use onlap_storage::version::TableVersion;

use crate::background;
use crate::database::Shared;
use crate::table::{TableState, TableView};

impl Editor for Shared {
    fn context(&self) -> &Arc<StorageContext> {
        &self.storage
    }

    fn version(&self, table: TableId) -> Option<Arc<TableVersion>> {
        self.versions.table(table)
    }

    fn commit(&self, edits: &[Edit]) -> Result<()> {
        let changed = self.versions.commit(edits, |changed| {
            for (id, version) in changed {
                if let (Some(state), Some(version)) = (self.catalog.by_id(*id), version) {
                    state.change_view(|old| TableView {
                        version: Arc::clone(version),
                        ..old.clone()
                    });
                }
            }
        });
        changed.map_err(|e| match e.kind() {
            ErrorKind::Conflict => e,
            _ => self.poison("writing the manifest", e),
        })
    }

    fn horizon(&self) -> Csn {
        self.snapshots.horizon()
    }

    fn is_stopping(&self) -> bool {
        self.background.stopping()
    }
}

fn policy_of(shared: &Shared) -> PolicyOptions {
    PolicyOptions {
        width: shared.options.tuning.merge_fan_in,
        dead_share: f64::from(shared.options.tuning.compact_dead_percent) / 100.0,
        quiet: shared.quiet.is_quiet(),
        ..PolicyOptions::default()
    }
}

fn merge_options(shared: &Shared) -> MergeOptions {
    MergeOptions {
        file_bytes: shared.options.tuning.run_file_bytes,
        block_bytes: shared.options.tuning.block_bytes,
        ..MergeOptions::default()
    }
}

/// Whether a table has files worth joining. Also keeps its merge debt known (I10).
pub(crate) fn is_due(shared: &Shared, state: &TableState) -> bool {
    let version = &state.view().version;
    let options = policy_of(shared);
    let horizon = shared.snapshots.horizon();
    // Without a new file, and with marks without a new horizon, the answer stays what it was.
    let asked = (
        Arc::as_ptr(version) as usize,
        if version.has_marks() { horizon } else { 0 },
        options.quiet,
    );
    if state.nothing_due.lock().is_some_and(|nothing| nothing == asked) {
        return false;
    }
    let mut due = marks::choose(version, &options).is_some();
    let mut debt = marks::debt_bytes(version, &options);
    for index in &version.indexes {
        let Ok(shapes) = merge::shapes(version, index, horizon, &options) else { continue };
        due |= policy::choose(&shapes, &options).is_some();
        debt += policy::debt_bytes(&shapes, &options);
    }
    let before = state.merge_debt.swap(debt, Ordering::Relaxed);
    shared.pressure.change_merge_debt(before, debt);
    due |= matches!(compact::choose(version, horizon, options.dead_share), Ok(Some(_)));
    if !due {
        *state.nothing_due.lock() = Some(asked);
    }
    due
}

/// Joins some files of a table: the marks first, since they tell merges what is dead, then each
/// index, then segments.
pub(crate) fn run(shared: &Shared, table: TableId) -> Result<()> {
    let (policy, options) = (policy_of(shared), merge_options(shared));
    let Some(version) = shared.versions.table(table) else { return Ok(()) };
    if let Some(inputs) = marks::choose(&version, &policy) {
        marks::merge(shared, table, &inputs)?;
    }
    for index in &version.indexes {
        merge::work(shared, table, index.id, &policy, &options)?;
    }
    let Some(version) = shared.versions.table(table) else { return Ok(()) };
    if let Some(candidate) = compact::choose(&version, shared.horizon(), policy.dead_share)? {
        compact::compact(shared, table, &candidate)?;
    }
    shared.versions.files().sweep()?;
    Ok(())
}

/// Does everything that quiet times would do, and returns when nothing is left.
pub(crate) fn settle(shared: &Arc<Shared>) -> Result<()> {
    shared.quiet.force(true);
    let settled = work_until_done(shared);
    shared.quiet.force(false);
    settled
}

fn work_until_done(shared: &Arc<Shared>) -> Result<()> {
    let background = &shared.background;
    loop {
        let seen = background.idle_event().epoch();
        match background::pick(shared) {
            Some(job) => background::run_job(shared, job)?,
            None if background.is_running() => {
                background.idle_event().wait(seen, None);
            }
            None => return Ok(()),
        }
    }
}
