//! When are files joined, and how does that reach the readers?
//!
//! What to join is decided by pure policies of `onlap_storage::merge` and carried out by its
//! workers; this module schedules them and publishes the outcome: a change of files and the view of
//! the table that shows it are one step (I4).
//!
//! Of everything that is due in a table the smallest goes first: a full tier of any index or of the
//! mark runs, or a merge under way; then segments and runs with too many dead rows; then what is only
//! worth doing in quiet times. One job carries out one slice, so that a flush never waits long for a
//! task, and a small merge overtakes a large one between two of its slices.
//!
//! Per table one job at a time, so that merges of its indexes, of its marks and compactions of its
//! segments never work from each other's outdated inputs.
//!
//! Thread safety: `Claim::Files` keeps two jobs off one table.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use onlap_base::{Csn, FileId, IndexId, Result, TableId};
use onlap_format::manifest::Edit;
use onlap_storage::StorageContext;
use onlap_storage::compact;
use onlap_storage::editor::Editor;
use onlap_storage::merge::{self, Calm, Choice, MergeOptions, PolicyOptions, Reason};
use onlap_storage::version::{IndexVersion, TableVersion};

use crate::background;
use crate::database::Shared;
use crate::ledger::Work;
use crate::pace::owed::Owed;
use crate::schema_change::truncate;
use crate::table::{TableState, TableView};
use crate::{margin, quiet};

impl Editor for Shared {
    fn context(&self) -> &Arc<StorageContext> {
        &self.storage
    }

    fn version(&self, table: TableId) -> Option<Arc<TableVersion>> {
        self.versions.table(table)
    }

    fn commit(&self, edits: &[Edit]) -> Result<()> {
        self.commit_edits(edits, |changed| {
            for (id, version) in changed {
                if let (Some(state), Some(version)) = (self.catalog.by_id(*id), version) {
                    state.change_view(|old| TableView {
                        version: Arc::clone(version),
                        ..old.clone()
                    });
                }
            }
        })
    }

    fn horizon(&self, table: TableId) -> Csn {
        // Of a table that was dropped meanwhile nothing will be installed.
        self.catalog.by_id(table).map_or(0, |state| self.horizon_of(&state))
    }

    fn is_stopping(&self) -> bool {
        self.background.stopping()
    }
}

/// When a look at a table found that nothing was due: the version, the horizon as far as it mattered,
/// and how much time there was.
pub(crate) type NothingDue = (Weak<TableVersion>, Csn, Calm);

/// Something to do.
#[derive(Debug)]
enum Task {
    Merge(IndexId, Choice),
    Marks(Vec<FileId>),
    Compact(compact::Candidate),
}

/// Runs are rewritten earlier than segments: a merge takes a while, in which more entries die and both its
/// inputs and its output are there.
const ENTRIES_SHARE: f64 = 0.6;

pub(crate) fn dead_share(shared: &Shared) -> f64 {
    f64::from(shared.options.tuning.compact_dead_percent) / 100.0
}

/// Changes per row of a segment from which on they are folded: as many rows as are worth rewriting a
/// segment for when they are dead, fewer in quiet times, and every one when somebody waits.
fn change_share(shared: &Shared, calm: Calm) -> f64 {
    match calm {
        Calm::Busy => dead_share(shared),
        Calm::Quiet => dead_share(shared) / merge::policy::QUIET_RATIO as f64,
        Calm::Settle => 0.0,
    }
}

/// Runs of keys that arrive in order hardly overlap, so more of them may wait than of others.
pub(crate) fn policy_of(shared: &Shared, index: &IndexVersion, calm: Calm) -> PolicyOptions {
    let fan_in = shared.options.tuning.merge_fan_in;
    let files = || index.runs.iter().flat_map(|r| &r.meta.files);
    let rising = files().zip(files().skip(1)).all(|(a, b)| a.last_key <= b.first_key);
    let width = if rising { fan_in } else { fan_in / 2 };
    PolicyOptions {
        width: width.max(2),
        dead_share: dead_share(shared) * ENTRIES_SHARE,
        calm,
        ..Default::default()
    }
}

fn marks_policy(shared: &Shared, calm: Calm) -> PolicyOptions {
    PolicyOptions { width: shared.options.tuning.merge_fan_in.max(2), calm, ..Default::default() }
}

/// Whether a table has files worth joining. Also keeps its merge debt known (I10).
pub(crate) fn is_due(shared: &Shared, state: &TableState) -> bool {
    if shared.check_writable().is_err() {
        return false;
    }
    if let Err(e) = truncate::forget(shared, state) {
        shared.background.note_error(e);
    }
    let version = &state.view().version;
    let calm = quiet::calm(shared);
    // What died later than all its marks is not in a version.
    let newest = version.marks.iter().map(|m| m.meta.csns.end).max().unwrap_or(0);
    let horizon = shared.horizon_of(state).min(newest);
    let same = |(at, of, then): &NothingDue| {
        Weak::as_ptr(at) == Arc::as_ptr(version) && *of == horizon && *then == calm
    };
    if state.nothing_due.lock().as_ref().is_some_and(same) {
        return false;
    }
    state.owed.look(&state.view(), dead_share(shared));
    let debt = debt_bytes(shared, version);
    let before = state.merge_debt.swap(debt, Ordering::Relaxed);
    shared.pressure.change_merge_debt(before, debt);
    shared.pace.owes(state.id, owed_by(shared, version));
    if state.dropped.load(Ordering::Acquire) {
        shared.pressure.change_merge_debt(state.merge_debt.swap(0, Ordering::Relaxed), 0);
        shared.pace.owes(state.id, Owed::default());
    }
    match next_task(shared, version, horizon, calm) {
        Ok(Some(_)) => true,
        Ok(None) => {
            *state.nothing_due.lock() = Some((Arc::downgrade(version), horizon, calm));
            false
        }
        Err(e) => {
            shared.background.note_error(e);
            false
        }
    }
}

/// Does the next thing, or a slice of it.
pub(crate) fn run(shared: &Shared, table: TableId) -> Result<()> {
    let Some(version) = shared.versions.table(table) else { return Ok(()) };
    let horizon = shared.horizon(table);
    match next_task(shared, &version, horizon, quiet::calm(shared))? {
        None => {}
        Some(Task::Merge(index, choice)) => {
            let options = MergeOptions {
                slices: 1,
                file_bytes: shared.options.tuning.run_file_bytes,
                block_bytes: shared.options.tuning.block_bytes,
            };
            let merge = || {
                let merge = || merge::worker::merge(shared, table, index, &choice, &options);
                shared.ledger.doing(table, index, Work::Merge, merge)
            };
            match choice.reason {
                Reason::Dead => margin::lending(shared, merge)?,
                _ => merge()?,
            };
        }
        Some(Task::Marks(files)) => {
            let merge = || merge::marks::merge(shared, table, &files);
            margin::lending(shared, || shared.ledger.marking(merge))?;
        }
        Some(Task::Compact(candidate)) => {
            let compact = || compact::compact(shared, table, &candidate);
            margin::lending(shared, || shared.ledger.compacting(compact))?;
            if let Some(state) = shared.catalog.by_id(table) {
                state.activity.compacted(shared.clock.unix_us());
            }
        }
    }
    drop(version);
    shared.versions.files().sweep()?;
    Ok(())
}

/// The most urgent thing to do, smallest first.
fn next_task(
    shared: &Shared,
    version: &TableVersion,
    horizon: Csn,
    calm: Calm,
) -> Result<Option<Task>> {
    let mut best: Option<((Reverse<bool>, bool, u64), Task)> = None;
    let mut offer = |reason: Reason, bytes: u64, task: Task| {
        let due = matches!(reason, Reason::Full | Reason::UnderWay);
        let rank = (Reverse(due), reason == Reason::Quiet, bytes);
        if best.as_ref().is_none_or(|(other, _)| rank < *other) {
            best = Some((rank, task));
        }
    };
    for index in &version.indexes {
        let options = policy_of(shared, index, calm);
        let shapes = merge::shapes(version, index, horizon, &options)?;
        if let Some(choice) = merge::policy::choose(&shapes, &options) {
            offer(choice.reason, choice.bytes, Task::Merge(index.id, choice));
        }
    }
    if let Some(choice) = merge::marks::choose(version, &marks_policy(shared, calm)) {
        let files = choice.inputs.iter().map(|id| FileId(*id)).collect();
        offer(choice.reason, choice.bytes, Task::Marks(files));
    }
    if let Some(file) = merge::marks::choose_folded(version) {
        let bytes = version.marks.iter().find(|m| m.meta.file == file).map_or(0, |m| m.meta.bytes);
        offer(Reason::Dead, bytes, Task::Marks(vec![file]));
    }
    let changes = change_share(shared, calm);
    if let Some(candidate) = compact::choose(version, horizon, dead_share(shared), changes)? {
        offer(Reason::Dead, candidate.segment.bytes, Task::Compact(candidate));
    }
    Ok(best.map(|(_, task)| task))
}

/// Bytes that due merges of a table still have to rewrite.
fn debt_bytes(shared: &Shared, version: &TableVersion) -> u64 {
    let marks = merge::marks::debt_bytes(version, &marks_policy(shared, Calm::Busy));
    let index = |index: &IndexVersion| {
        let options = policy_of(shared, index, Calm::Busy);
        let shapes: Vec<_> = index.runs.iter().map(|r| merge::RunShape::new(&r.meta, 0)).collect();
        merge::policy::debt_bytes(&shapes, &options)
    };
    marks + version.indexes.iter().map(index).sum::<u64>()
}

/// What merges of a table owe, due or not.
fn owed_by(shared: &Shared, version: &TableVersion) -> Owed {
    let index = |index: &IndexVersion| {
        let shapes: Vec<_> = index.runs.iter().map(|r| merge::RunShape::new(&r.meta, 0)).collect();
        Owed::of(&shapes, policy_of(shared, index, Calm::Busy).width)
    };
    version.indexes.iter().map(index).fold(Owed::default(), Owed::and)
}

/// Does everything that quiet times would do, and returns when nothing is left.
pub(crate) fn settle(shared: &Arc<Shared>) -> Result<()> {
    shared.quiet.force(true);
    let settled = work_until_done(shared);
    shared.quiet.force(false);
    settled?;
    // Nobody looks for work now, so what readers do not need goes.
    shared.versions.files().sweep().map(|_| ())
}

fn work_until_done(shared: &Arc<Shared>) -> Result<()> {
    let background = &shared.background;
    loop {
        let seen = background.idle_event().epoch();
        match background::pick(shared, background::Kinds::All) {
            Some(job) => background::run_job(shared, job)?,
            None if background.is_running() => {
                background.idle_event().wait(seen, None);
            }
            None => return Ok(()),
        }
    }
}
