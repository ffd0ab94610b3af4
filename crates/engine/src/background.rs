//! What is to be done when nobody asks?
//!
//! Background tasks run three kinds of jobs, the most urgent first: flushes of frozen memtables
//! (memory waits for them), joins inside memtables (reads get faster), merges and compactions (files
//! get fewer). Where there are several tasks, one is kept for the urgent kinds, since writers wait for
//! flushes, and the others do merges with low priority: nobody waits for those until their debt is
//! over its limit. Each job is picked without waiting for a lock and runs on immutable inputs; its result is installed
//! in a step. All tasks and waits go through `base::Tasks` (I9).
//!
//! A job that fails with "disk full" is tried again later; any other failure is kept and shown by
//! [`crate::Database::stats`], and the job is tried again later as well: nothing that a reader needs
//! depends on it.
//!
//! Thread safety: any thread may wake or stop; each task claims a job before it runs it.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use onlap_base::tasks::{Event, TaskHandle, Tasks};
use onlap_base::{Error, Result, TableId};
use parking_lot::Mutex;

use crate::database::Shared;
use crate::table::TableState;
use crate::{blind, compaction, debts, flush, margin, quiet};
use onlap_memtable::Work;

/// How long a failed kind of job rests.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// A task looks for work this often without being woken: timers (quiet times) need it.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The same where the device is slow: the log goes to it in small parts.
const PACED_LOOK_EVERY: Duration = Duration::from_millis(50);
/// The task of mode `interval` looks this often whether the database is closing.
const SYNC_STEP: Duration = Duration::from_millis(100);

/// What a job works on; two jobs never work on the same thing at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Claim {
    /// The oldest frozen memtable of a table.
    Flush(TableId),
    /// Merges and compactions of a table.
    Files(TableId),
    /// Rows of a table that were written blindly.
    Pending(TableId),
    /// A log file prepared ahead of need.
    LogSpare,
}

/// The background tasks of a database.
pub(crate) struct Background {
    event: Arc<Event>,
    idle: Arc<Event>,
    closing: Arc<Event>,
    stopping: AtomicBool,
    claims: Mutex<HashSet<Claim>>,
    running: AtomicUsize,
    handles: Mutex<Vec<TaskHandle>>,
    last_error: Mutex<Option<Error>>,
}

impl Background {
    pub(crate) fn new(tasks: &dyn Tasks) -> Background {
        Background {
            event: tasks.event(),
            idle: tasks.event(),
            closing: tasks.event(),
            stopping: AtomicBool::new(false),
            claims: Mutex::default(),
            running: AtomicUsize::new(0),
            handles: Mutex::default(),
            last_error: Mutex::default(),
        }
    }

    /// Starts this number of tasks, one at least.
    pub(crate) fn start(shared: &Arc<Shared>, jobs: usize) {
        let kinds = |i: usize| match (i, jobs) {
            (_, ..=1) => Kinds::All,
            (0, _) => Kinds::Urgent,
            _ => Kinds::Patient,
        };
        Background::start_kinds(shared, (0..jobs.max(1)).map(kinds));
    }

    /// Starts one task, which merges nothing: files stay what they are.
    pub(crate) fn start_still(shared: &Arc<Shared>) {
        Background::start_kinds(shared, std::iter::once(Kinds::Urgent));
    }

    fn start_kinds(shared: &Arc<Shared>, all: impl Iterator<Item = Kinds>) {
        let mut handles = Vec::new();
        for (i, kinds) in all.enumerate() {
            let worker = Arc::clone(shared);
            let body = Box::new(move || run(&worker, kinds));
            handles.push(match kinds {
                Kinds::Patient => shared.tasks.spawn_patient(&format!("onlap-merge-{i}"), body),
                _ => shared.tasks.spawn(&format!("onlap-work-{i}"), body),
            });
        }
        if let crate::SyncMode::Interval(every) = shared.options.sync {
            let syncer = Arc::clone(shared);
            let body = Box::new(move || sync_at_intervals(&syncer, every));
            handles.push(shared.tasks.spawn("onlap-sync", body));
        }
        *shared.background.handles.lock() = handles;
    }

    /// Tells the tasks that there may be work.
    pub(crate) fn wake(&self) {
        self.event.notify();
    }

    /// An event that happens whenever a job has ended.
    pub(crate) fn idle_event(&self) -> &Arc<Event> {
        &self.idle
    }

    /// Whether a job is running.
    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }

    /// Keeps a failure to show.
    pub(crate) fn note_error(&self, e: Error) {
        *self.last_error.lock() = Some(e);
    }

    /// The last failure of a job.
    pub(crate) fn last_error(&self) -> Option<Error> {
        self.last_error.lock().clone()
    }

    /// An event that happens when the database closes: for tasks that wait for nothing else.
    pub(crate) fn closing_event(&self) -> &Arc<Event> {
        &self.closing
    }

    /// One task more that ends with the others.
    pub(crate) fn also(&self, handle: TaskHandle) {
        self.handles.lock().push(handle);
    }

    /// Whether the database is closing; long jobs look at it between steps.
    pub(crate) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Ends the tasks and waits for them.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.event.notify();
        self.closing.notify();
        // No lock is held across a wait; in the head of the loop it would be held to its end.
        let handles = std::mem::take(&mut *self.handles.lock());
        for handle in handles {
            if let Err(panic) = handle.join() {
                let text = format!("a background task panicked: {panic}");
                *self.last_error.lock() = Some(Error::new(onlap_base::ErrorKind::Io, text));
            }
        }
    }

    /// Claims a thing, waiting for the job that has it, until the guard goes.
    pub(crate) fn hold(&self, claim: Claim) -> HeldClaim<'_> {
        loop {
            let seen = self.idle.epoch();
            if self.claim(claim) {
                return HeldClaim { background: self, claim };
            }
            self.idle.wait(seen, Some(LOOK_EVERY));
        }
    }

    /// Claims a thing for a job; false when another job has it.
    pub(crate) fn claim(&self, claim: Claim) -> bool {
        self.claims.lock().insert(claim)
    }
}

/// A task that looks for work counts as running: it pins views and with them files, and what it finds
/// is claimed before it runs.
struct Busy<'a>(&'a Background);

impl Busy<'_> {
    fn new(background: &Background) -> Busy<'_> {
        background.running.fetch_add(1, Ordering::AcqRel);
        Busy(background)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.idle.notify();
    }
}

/// Keeps jobs off a thing.
pub(crate) struct HeldClaim<'a> {
    background: &'a Background,
    claim: Claim,
}

impl Drop for HeldClaim<'_> {
    fn drop(&mut self) {
        self.background.claims.lock().remove(&self.claim);
        self.background.event.notify();
        self.background.idle.notify();
    }
}

/// A job to run.
pub(crate) enum Job {
    /// On a claimed thing.
    Claimed(Claim),
    /// Inside a memtable of a table.
    Memtable(Arc<TableState>, Work),
}

/// Kinds of jobs that a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kinds {
    All,
    /// Flushes, log spares, and joins inside memtables.
    Urgent,
    /// Joins, merges and compactions; flushes too where several tables wait for one.
    Patient,
}

/// Runs a job and notes its failure.
pub(crate) fn run_job(shared: &Shared, job: Job) -> Result<()> {
    let background = &shared.background;
    background.running.fetch_add(1, Ordering::AcqRel);
    let claim = match &job {
        Job::Claimed(claim) => Some(*claim),
        Job::Memtable(..) => None,
    };
    let mut ending = JobEnd { shared, claim, done: false };
    let result = shared.ledger.working(|| match job {
        Job::Claimed(claim) => run_claimed(shared, claim),
        Job::Memtable(state, work) => {
            work.run();
            state.count_memory();
            Ok(())
        }
    });
    if let Err(e) = &result {
        background.note_error(e.clone());
    }
    ending.done = true;
    drop(ending);
    result
}

/// Ends a job, also one that panicked: nobody knows what that one left half done, so all writing ends
/// and whoever waits for the job is told.
struct JobEnd<'a> {
    shared: &'a Shared,
    claim: Option<Claim>,
    done: bool,
}

impl Drop for JobEnd<'_> {
    fn drop(&mut self) {
        let background = &self.shared.background;
        if !self.done {
            note_panic(self.shared);
        }
        if let Some(claim) = self.claim {
            background.claims.lock().remove(&claim);
        }
        background.running.fetch_sub(1, Ordering::AcqRel);
        background.event.notify();
        background.idle.notify();
    }
}

/// A background task panicked: writers that wait for it have to be told.
fn note_panic(shared: &Shared) {
    let cause = Error::new(onlap_base::ErrorKind::Io, "a background job panicked");
    shared.background.note_error(shared.poison("background work", cause));
    shared.background.event.notify();
    shared.background.idle.notify();
}

fn run_claimed(shared: &Shared, claim: Claim) -> Result<()> {
    let _at_work = match claim {
        Claim::Flush(_) => Some(shared.pace.at_work(true)),
        Claim::Files(_) => Some(shared.pace.at_work(false)),
        Claim::Pending(_) | Claim::LogSpare => None,
    };
    match claim {
        Claim::Flush(table) => margin::lending(shared, || flush::flush_oldest(shared, table)),
        Claim::Files(table) => compaction::run(shared, table),
        Claim::Pending(table) => match shared.catalog.by_id(table) {
            Some(state) => blind::work(shared, &state),
            None => Ok(()),
        },
        Claim::LogSpare => shared.prepare_log_spare(),
    }
}

/// The most urgent unclaimed job, claimed.
pub(crate) fn pick(shared: &Shared, kinds: Kinds) -> Option<Job> {
    let background = &shared.background;
    let tables = shared.catalog.all();
    if let Some(table) = next_flush(shared, &tables, kinds) {
        return Some(Job::Claimed(Claim::Flush(table)));
    }
    let writable = shared.check_writable().is_ok();
    if kinds != Kinds::Patient
        && writable
        && shared.wants_log_spare()
        && background.claim(Claim::LogSpare)
    {
        return Some(Job::Claimed(Claim::LogSpare));
    }
    for t in &tables {
        if let Some(work) = t.view().active.pending_work() {
            return Some(Job::Memtable(Arc::clone(t), work));
        }
    }
    if kinds == Kinds::Urgent {
        return None;
    }
    let pending = |t: &&Arc<TableState>| writable && blind::is_due(shared, t);
    let claimed = tables.iter().filter(pending).find(|t| background.claim(Claim::Pending(t.id)));
    if let Some(t) = claimed {
        return Some(Job::Claimed(Claim::Pending(t.id)));
    }
    // The table that owes most first, so that none waits for ever behind a busy one.
    let mut due: Vec<_> = tables.iter().filter(|t| compaction::is_due(shared, t)).collect();
    due.sort_by_key(|t| Reverse(t.merge_debt.load(Ordering::Relaxed)));
    let claimed = due.into_iter().find(|t| background.claim(Claim::Files(t.id)));
    claimed.map(|t| Job::Claimed(Claim::Files(t.id)))
}

/// The table whose frozen memtable is the oldest, claimed. Patient tasks flush where several wait.
fn next_flush(shared: &Shared, tables: &[Arc<TableState>], kinds: Kinds) -> Option<TableId> {
    // After a failed write a flush cannot be installed, whatever it writes.
    shared.check_writable().ok()?;
    let since = |t: &Arc<TableState>| t.view().frozen.first().map(|f| (f.csns.0, t.id));
    let mut waiting: Vec<_> = tables.iter().filter_map(since).collect();
    if kinds == Kinds::Patient && waiting.len() < 2 {
        return None;
    }
    waiting.sort_unstable();
    let claim = |&(_, id): &(_, TableId)| shared.background.claim(Claim::Flush(id));
    waiting.into_iter().find(claim).map(|(_, id)| id)
}

/// A background task.
fn run(shared: &Arc<Shared>, kinds: Kinds) {
    let background = &shared.background;
    let mut ending = TaskEnd { shared, done: false };
    while !background.stopping() {
        let seen = background.event.epoch();
        if kinds != Kinds::Patient {
            debts::look(shared);
            margin::look(shared);
            shared.pace.write_idle_log_back();
        }
        let busy = Busy::new(background);
        match pick(shared, kinds) {
            Some(job) => {
                let flushed = matches!(job, Job::Claimed(Claim::Flush(_)));
                let done = run_job(shared, job);
                drop(busy);
                let done = if flushed { done.and_then(|()| flush::cut_log(shared)) } else { done };
                if let Err(e) = done {
                    background.note_error(e);
                    shared.tasks.sleep(RETRY_AFTER);
                }
            }
            None => {
                drop(busy);
                let paced = kinds != Kinds::Patient && shared.pace.holds_back();
                let every = if paced { PACED_LOOK_EVERY } else { LOOK_EVERY };
                background.event.wait(seen, Some(every));
                if kinds != Kinds::Patient {
                    quiet::look(shared);
                }
            }
        }
    }
    ending.done = true;
}

/// Ends a task, also one that panicked outside a job.
struct TaskEnd<'a> {
    shared: &'a Shared,
    done: bool,
}

impl Drop for TaskEnd<'_> {
    fn drop(&mut self) {
        if !self.done {
            note_panic(self.shared);
        }
    }
}

/// The task of mode `interval`.
fn sync_at_intervals(shared: &Arc<Shared>, every: Duration) {
    let background = &shared.background;
    let mut left = every;
    while !background.stopping() {
        // Short steps, so that closing does not wait for a long interval.
        let step = left.min(SYNC_STEP);
        shared.tasks.sleep(step);
        left -= step;
        if !left.is_zero() {
            continue;
        }
        left = every;
        if let Err(e) = shared.sync_log() {
            shared.poison("syncing the log", e);
            return;
        }
    }
}
