//! How does a transaction become visible and durable?
//!
//! The protocol, for a group of transactions that queued up while the previous group was under way:
//!
//! 1. **Client threads** encode and checksum their log bodies with relative row ids, look their
//!    unique keys up in the files ([`crate::unique`]), wait for their share of back-pressure
//!    ([`crate::pressure`]) and queue.
//! 2. One of them becomes the **leader** by taking the commit lock. It reserves log space for the
//!    whole group before anything is assigned: failing here is an ordinary "disk full", nothing has
//!    happened yet (design.md section 4).
//! 3. In queue order the leader **admits** each transaction: last validation against everything
//!    before it (marks on the same rows, unique keys), then a CSN, one base row id per table, the
//!    patched log header.
//! 4. One write, and in mode `fsync` one `fdatasync`, per group. A failure here poisons the database
//!    (I6) and nothing of the group appears.
//! 5. The group is **applied** to the memtables in CSN order, **published** with one release store,
//!    and acknowledged.
//!
//! Invariants that complicate it: transactions of one group do not see each other in the memtables
//! during step 3, so the group carries its own set of marks and keys; the largest known key of a
//! unique index moves at admission already, which is safe because a group that fails afterwards
//! poisons the database. A freeze happens at the end of step 5 only, so that a memtable never holds
//! part of a commit.
//!
//! The simpler way, every client writing and syncing for itself under a lock, was rejected because
//! a sync costs a thousand times what a commit of one row does.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap_base::memory::Part;
use onlap_base::tasks::{Event, Tasks};
use onlap_base::{Csn, Error, ErrorKind, IndexId, PROVISIONAL_BASE, Result, RowId, TableId};
use onlap_format::log::{BODY_BYTES_MAX, CommitBody, LoggedMark};
use onlap_format::{Batch, TableSchema};
use parking_lot::Mutex;

use crate::database::Shared;
use crate::flush;
use crate::log::LogWriter;
use crate::memtable::Mark;
use crate::table::TableState;
use crate::unique::{self, Claimed, UniqueKeys};

/// A row version that a transaction deletes, and the ordinal among the transaction's own rows of the
/// one that replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingMark {
    pub row: RowId,
    pub successor: Option<u32>,
}

/// What a transaction does to one table.
#[derive(Debug)]
pub(crate) struct TableWrite {
    pub state: Arc<TableState>,
    pub schema: Arc<TableSchema>,
    /// New rows that live to the end of the transaction, ordinals 0...
    pub rows: Batch,
    /// Committed rows that die; successors are ordinals of `rows`.
    pub marks: Vec<PendingMark>,
    pub unique: Vec<UniqueKeys>,
}

/// A transaction in the queue.
struct Request {
    writes: Vec<TableWrite>,
    body: CommitBody,
    done: AtomicBool,
    result: Mutex<Option<Result<Csn>>>,
}

impl Request {
    fn finish(&self, result: Result<Csn>) {
        *self.result.lock() = Some(result);
        self.done.store(true, Ordering::Release);
    }
}

/// State of the commit leader, behind the commit lock.
pub(crate) struct Leader {
    pub next_csn: Csn,
    pub log: LogWriter,
    /// Rows were logged again in this life: cutting the log relies on the records behind it.
    pub relogged: bool,
    buffer: Vec<u8>,
}

/// The commit queue of a database.
pub(crate) struct Commits {
    queue: Mutex<Vec<Arc<Request>>>,
    leader: Mutex<Leader>,
    finished: Arc<Event>,
}

/// Rounds a leader runs before another client takes over, so that none serves for ever.
const ROUNDS_PER_LEADER: usize = 8;

impl Commits {
    pub(crate) fn new(tasks: &dyn Tasks, next_csn: Csn, log: LogWriter) -> Commits {
        Commits {
            queue: Mutex::default(),
            leader: Mutex::new(Leader { next_csn, log, relogged: false, buffer: Vec::new() }),
            finished: tasks.event(),
        }
    }

    /// Runs `f` while no commit is under way. The wait for the lock goes through the scheduler seam,
    /// so that whoever holds it may wait for background work.
    pub(crate) fn exclusively<T>(&self, f: impl FnOnce(&mut Leader) -> T) -> T {
        loop {
            let seen = self.finished.epoch();
            if let Some(mut leader) = self.leader.try_lock() {
                let out = f(&mut leader);
                drop(leader);
                self.finished.notify();
                return out;
            }
            self.finished.wait(seen, None);
        }
    }

    /// Runs `f` unless a commit is under way.
    pub(crate) fn if_free<T>(&self, f: impl FnOnce(&Leader) -> T) -> Option<T> {
        let out = self.leader.try_lock().map(|leader| f(&leader));
        self.finished.notify();
        out
    }

    /// Commits a transaction and returns its CSN once it is visible (and durable as the sync mode
    /// says).
    pub(crate) fn commit(&self, shared: &Shared, mut writes: Vec<TableWrite>) -> Result<Csn> {
        shared.check_writable()?;
        writes.retain(|w| w.rows.rows > 0 || !w.marks.is_empty());
        if writes.is_empty() {
            return Ok(shared.snapshots.published());
        }
        for w in &mut writes {
            unique::look_up(w)?;
        }
        let body = encode(&writes)?;
        shared.pressure.admit(shared, body.body_bytes())?;
        let request = Arc::new(Request {
            writes,
            body,
            done: AtomicBool::new(false),
            result: Mutex::default(),
        });
        self.queue.lock().push(Arc::clone(&request));
        while !request.done.load(Ordering::Acquire) {
            let seen = self.finished.epoch();
            if let Some(mut leader) = self.leader.try_lock() {
                for _ in 0..ROUNDS_PER_LEADER {
                    let group = std::mem::take(&mut *self.queue.lock());
                    if group.is_empty() {
                        break;
                    }
                    let guard = Unfinished { shared, commits: self, group: &group };
                    leader.run_group(shared, &group);
                    drop(guard);
                }
                drop(leader);
                self.finished.notify();
            } else if !request.done.load(Ordering::Acquire) {
                self.finished.wait(seen, None);
            }
        }
        for w in request.writes.iter().filter(|w| w.rows.rows > 0) {
            w.state.help_sort();
        }
        let result = request.result.lock().take();
        result.expect("a finished request holds its result")
    }
}

/// Tells the clients of a group whose leader panicked, which would wait for ever, and ends all
/// writing: nobody knows how far the group came.
struct Unfinished<'a> {
    shared: &'a Shared,
    commits: &'a Commits,
    group: &'a [Arc<Request>],
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let cause = Error::new(ErrorKind::Io, "a commit panicked");
            let e = self.shared.poison("committing", cause);
            let open = self.group.iter().filter(|r| !r.done.load(Ordering::Acquire));
            open.for_each(|r| r.finish(Err(e.clone())));
            self.commits.finished.notify();
        }
    }
}

/// Step 1: the log body of a transaction, with relative row ids.
fn encode(writes: &[TableWrite]) -> Result<CommitBody> {
    let mut body = CommitBody::new();
    for w in writes {
        let marks: Vec<LoggedMark> =
            w.marks.iter().map(|m| LoggedMark { row: m.row, successor: m.successor }).collect();
        body.push(w.state.id, w.schema.version, &w.rows, &marks);
    }
    if body.body_bytes() > BODY_BYTES_MAX {
        let text = format!(
            "the transaction takes {} bytes in the log; at most {BODY_BYTES_MAX} fit: commit in \
             smaller parts",
            body.body_bytes()
        );
        return Err(Error::new(ErrorKind::LimitExceeded, text));
    }
    Ok(body)
}

/// What the admitted transactions of a group did, which the memtables do not show yet.
#[derive(Default)]
struct Group {
    marked: HashSet<(TableId, RowId)>,
    keys: HashSet<(IndexId, Vec<u8>)>,
    /// Keys that were not written out: index, smallest and largest, and whose they are.
    intervals: Vec<Interval>,
    next_rows: HashMap<TableId, RowId>,
}

/// Keys of one part of an admitted transaction that rise from `min` to `max`.
struct Interval {
    index: IndexId,
    min: Vec<u8>,
    max: Vec<u8>,
    request: Arc<Request>,
    write: usize,
}

impl Group {
    fn has_key(&self, index: IndexId, key: &[u8]) -> bool {
        self.keys.contains(&(index, key.to_vec()))
            || self.intervals.iter().any(|i| {
                let inside = i.index == index && key >= &i.min[..] && key <= &i.max[..];
                inside && unique::has_key(&i.request.writes[i.write], index, key)
            })
    }

    /// Notes what later members of the group must not do again.
    fn note(&mut self, request: &Arc<Request>, write: usize) {
        let w = &request.writes[write];
        self.marked.extend(w.marks.iter().map(|m| (w.state.id, m.row)));
        for claim in &w.unique {
            let index = claim.index;
            match claim.claimed() {
                Claimed::Keys(keys) => {
                    self.keys.extend(keys.iter().map(|k| (index, k.to_vec())));
                }
                Claimed::Interval(min, max) => self.intervals.push(Interval {
                    index,
                    min: min.to_vec(),
                    max: max.to_vec(),
                    request: Arc::clone(request),
                    write,
                }),
            }
        }
    }
}

/// An admitted transaction: its CSN and one base row id per table.
struct Admitted {
    request: Arc<Request>,
    csn: Csn,
    bases: Vec<RowId>,
}

impl Leader {
    /// Steps 2 to 5.
    fn run_group(&mut self, shared: &Shared, requests: &[Arc<Request>]) {
        let mut admitted = Vec::with_capacity(requests.len());
        let bytes = requests.iter().map(|r| r.body.record_bytes(true)).sum();
        let ready = shared.check_writable().and_then(|()| {
            self.log.reserve(bytes).map_err(|e| match e.kind() {
                ErrorKind::DiskFull => e,
                _ => shared.poison("beginning a log file", e),
            })
        });
        if let Err(e) = ready {
            requests.iter().for_each(|r| r.finish(Err(e.clone())));
            return;
        }
        let mut group = Group::default();
        self.buffer.clear();
        let start = self.log.position();
        let mut part = Some(self.log.group_part(shared.clock.unix_us()));
        let alone = requests.len() == 1;
        for request in requests {
            match self.admit(&mut group, request, alone) {
                Ok(a) => {
                    let at = start.forward(self.buffer.len());
                    a.request.body.append_to(&mut self.buffer, at, a.csn, &a.bases, part.take());
                    admitted.push(a);
                }
                Err(e) => request.finish(Err(e)),
            }
        }
        if admitted.is_empty() {
            return;
        }
        if let Err(e) = self.log.append(&self.buffer, self.next_csn - 1) {
            let e = shared.poison("writing the log", e);
            admitted.iter().for_each(|a| a.request.finish(Err(e.clone())));
            return;
        }
        for a in &admitted {
            apply(shared, a);
        }
        shared.snapshots.publish(self.next_csn - 1);
        relieve(shared, &admitted, self);
        for a in &admitted {
            a.request.finish(Ok(a.csn));
        }
    }

    /// Step 3 for one transaction. Nothing is changed unless all of it is admitted.
    fn admit(
        &mut self,
        group: &mut Group,
        request: &Arc<Request>,
        alone: bool,
    ) -> Result<Admitted> {
        for w in &request.writes {
            validate(group, w)?;
        }
        let mut bases = Vec::with_capacity(request.writes.len());
        for (at, w) in request.writes.iter().enumerate() {
            let mut writer = w.state.writer.lock();
            let next = group.next_rows.entry(w.state.id).or_insert(writer.next_row);
            bases.push(*next);
            *next += w.rows.rows as RowId;
            unique::raise_highs(&mut writer.highs, &w.unique);
            if !alone {
                group.note(request, at);
            }
        }
        let csn = self.next_csn;
        self.next_csn += 1;
        Ok(Admitted { request: Arc::clone(request), csn, bases })
    }
}

/// Last validation of one table's part against everything committed and the group so far.
fn validate(group: &Group, w: &TableWrite) -> Result<()> {
    if w.state.dropped.load(Ordering::Relaxed) {
        let text = format!("table {} was dropped", w.schema.name);
        return Err(Error::new(ErrorKind::UnknownTable, text));
    }
    let view = w.state.view();
    if view.schema.version != w.schema.version {
        let text = format!(
            "table {} changed its schema meanwhile; run the transaction again",
            w.schema.name
        );
        return Err(Error::new(ErrorKind::Conflict, text));
    }
    for mark in &w.marks {
        debug_assert!(mark.row < PROVISIONAL_BASE);
        if group.marked.contains(&(w.state.id, mark.row)) || view.mark_of(mark.row)?.is_some() {
            let text = format!(
                "a row of table {} was changed by another transaction; run the transaction again",
                w.schema.name
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
    }
    let writer = w.state.writer.lock();
    unique::validate(w, &view, &writer.highs, &mut |index, key, live| {
        if group.has_key(index, key) {
            return true;
        }
        live.is_some_and(|row| !group.marked.contains(&(w.state.id, row)))
    })
}

/// Step 5 for one transaction: rows and marks go into the memtables.
fn apply(shared: &Shared, a: &Admitted) {
    for (w, &base) in a.request.writes.iter().zip(&a.bases) {
        let active = Arc::clone(&w.state.view().active);
        if w.rows.rows > 0 {
            active.append(&w.rows, a.csn);
        }
        active.mark_all(w.marks.iter().map(|m| Mark {
            row: m.row,
            csn: a.csn,
            successor: m.successor.map(|ordinal| base + RowId::from(ordinal)),
        }));
        let next_row = base + w.rows.rows as RowId;
        let mut writer = w.state.writer.lock();
        writer.next_row = next_row;
        writer.active_since.get_or_insert(a.csn);
        drop(writer);
        w.state.counts.push(a.csn, next_row, &shared.snapshots);
    }
}

/// After a group: full memtables are frozen, and so are those that keep an over-long log alive.
fn relieve(shared: &Shared, admitted: &[Admitted], leader: &mut Leader) {
    let csn = leader.next_csn - 1;
    for w in admitted.iter().flat_map(|a| &a.request.writes) {
        if w.state.count_memory() >= shared.memtable_bytes {
            flush::freeze(shared, &w.state, csn);
        }
    }
    let memory = &shared.storage.memory;
    let half = memory.limit(Part::Memtables) / 2;
    if memory.used(Part::Memtables) > half && !shared.has_frozen() {
        // None is full, all together are: the largest makes the most room.
        let active = |t: &Arc<TableState>| t.view().active.heap_bytes();
        if let Some(largest) = shared.catalog.all().into_iter().max_by_key(active) {
            flush::freeze(shared, &largest, csn);
        }
    }
    if leader.log.bytes() > shared.options.log_limit
        && let Some(oldest) = leader.log.oldest_closed_csn()
    {
        flush::relieve_log(shared, leader, oldest);
    }
}
