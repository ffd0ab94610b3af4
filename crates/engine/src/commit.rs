//! How does a transaction become visible and durable?
//!
//! The protocol, for a group of transactions that queued up while the previous group was under way:
//!
//! 1. **Client threads** encode and checksum their log bodies with relative row ids, wait for their
//!    share of back-pressure ([`crate::pressure`]), look marks and unique keys up ([`judge`]) and queue.
//! 2. One of them becomes the **leader** by taking the commit lock. It reserves log space for the
//!    whole group before anything is assigned: failing here is an ordinary "disk full", nothing has
//!    happened yet.
//! 3. In queue order the leader **admits** each transaction: last validation against what came since
//!    its client looked (marks on the same rows, unique keys), then a CSN, one base row id per table, the
//!    patched log header.
//! 4. One write, and in mode `fsync` one `fdatasync`, per group. A failure here poisons the database
//!    (I6) and nothing of the group appears.
//! 5. The group is **applied** to the memtables in CSN order, **published** with one release store,
//!    and acknowledged. The leader goes on with whoever queued meanwhile, for some rounds, then lets
//!    the lock go.
//!
//! Nobody is woken for nothing: each client waits for an event of its own, which happens when its
//! transaction is decided, or when it is to lead. Who lets the commit lock go looks at the queue
//! *afterwards* and wakes its first ([`Commits::let_go`]); who queues tries the lock *afterwards*.
//! One of the two sees the other, so that no transaction is left in the queue without a leader.
//! Schema changes and freezes want the lock to themselves; clients leave it to them ([`Commits::lead`]).
//! A decided request goes back to its client, which frees the memory that it took.
//!
//! Invariants that complicate it: transactions of one group do not see each other in the memtables
//! during step 3, so the group carries its own set of marks and keys; a table's next row id and the
//! largest known key of a unique index move at admission already, which is safe because a group that
//! fails afterwards poisons the database. A freeze happens at the end of step 5 only, so that a
//! memtable never holds part of a commit.
//!
//! The simpler way, every client writing and syncing for itself under a lock, was rejected because
//! a sync costs a thousand times what a commit of one row does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onlap_base::clock::Clock;
use onlap_base::memory::Part;
use onlap_base::tasks::{Event, Tasks};
use onlap_base::{Csn, Error, ErrorKind, PROVISIONAL_BASE, Result, RowId};
use onlap_format::changes::LoggedChange;
use onlap_format::log::{BODY_BYTES_MAX, CommitBody, LoggedMark};
use onlap_format::{Batch, TableSchema};
use parking_lot::{Mutex, MutexGuard};
use roaring::RoaringTreemap;

use crate::blind;
use crate::budgets;
use crate::changes::{self, replace};
use crate::database::Shared;
use crate::flush;
use crate::log::LogWriter;
use crate::margin;
use crate::options::SyncMode;
use crate::read::ReadCounters;
use crate::table::TableState;
use crate::transaction::ReadSet;
use crate::unique::{self, UniqueKeys};
use crate::upgrade;
use onlap_memtable::Mark;

mod held;
mod judge;
mod times;

pub use held::CommitLockStats;
use held::HoldTimes;
use judge::Group;
pub use times::CommitTimes;
use times::Took;

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
    /// Committed rows that die, ascending; successors are ordinals of `rows`.
    pub marks: Vec<PendingMark>,
    /// None of these had a mark at this commit, as far as that was looked at.
    pub unmarked_at: Option<Csn>,
    /// Columns of committed rows that change; they are locked.
    pub changes: Vec<LoggedChange>,
    /// Ordinals of rows, rising, that have the unique keys of the rows which they replace, and those:
    /// nobody else can have brought the keys meanwhile.
    pub kept: Vec<(u32, RowId)>,
    pub unique: Vec<UniqueKeys>,
    /// Ordinals of rows that were written blindly.
    pub blind: RoaringTreemap,
    /// Those of them that are dead on arrival.
    pub gone: Vec<u32>,
}

impl TableWrite {
    /// Whether it relies on what the rows of a table with blind writes are.
    fn is_judged_after_blind(&self) -> bool {
        self.schema.blind
            && (!self.marks.is_empty()
                || !self.changes.is_empty()
                || self.unique.iter().any(UniqueKeys::is_judged))
    }
}

/// Whether no row is added and none is changed: the rows of blind deletes are dead on arrival.
fn only_deletes(writes: &[TableWrite]) -> bool {
    writes.iter().all(|w| w.changes.is_empty() && w.rows.rows == w.gone.len())
}

/// A transaction in the queue.
struct Request {
    writes: Vec<TableWrite>,
    /// What has to be still true.
    reads: Option<ReadSet>,
    body: CommitBody,
    client: Arc<Client>,
    /// How often the client has looked again.
    looks: usize,
}

/// Why a transaction of the queue is not committed.
enum Refusal {
    /// Its client had better look again at what came meanwhile: see [`judge::is_stale`].
    Stale,
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(e: Error) -> Refusal {
        Refusal::Failed(e)
    }
}

type Outcome = std::result::Result<Csn, Refusal>;

impl Request {
    /// Whether it adds nothing, so that the margin is for it.
    fn only_deletes(&self) -> bool {
        only_deletes(&self.writes)
    }

    fn finish(self, result: Outcome) {
        let Request { writes, reads, body, client, .. } = self;
        *client.decided.lock() = Some(Decided { result, writes, reads, _body: body });
        client.called.notify();
    }
}

/// Where a client waits for what becomes of its transaction.
struct Client {
    decided: Mutex<Option<Decided>>,
    called: Arc<Event>,
}

/// What became of a transaction, and everything that it came with.
struct Decided {
    result: Outcome,
    writes: Vec<TableWrite>,
    reads: Option<ReadSet>,
    _body: CommitBody,
}

/// State of the commit leader, behind the commit lock.
pub(crate) struct Leader {
    pub next_csn: Csn,
    pub log: LogWriter,
    /// Rows were logged again in this life: cutting the log relies on the records behind it.
    pub relogged: bool,
    buffer: Vec<u8>,
    /// Memory of the last group.
    group: Vec<Request>,
}

/// The commit queue of a database.
pub(crate) struct Commits {
    queue: Mutex<Vec<Request>>,
    leader: Mutex<Leader>,
    /// The commit lock was let go; for those who want it to themselves.
    free: Arc<Event>,
    /// How many of those wait. Clients leave the lock to them.
    wanted: AtomicUsize,
    clock: Arc<dyn Clock>,
    times: HoldTimes,
    took: Took,
}

/// Rounds a leader runs before another client takes over: its own next commit waits for as many syncs,
/// and more than this many made no difference to the rate.
const ROUNDS_PER_LEADER: usize = 4;

/// Looks that a client takes before it sleeps where no sync is waited for: a group then takes about as
/// long as putting a thread to sleep and waking it.
const LOOKS_BEFORE_WAIT: usize = 12;
const SPINS_PER_LOOK: usize = 40;

impl Commits {
    pub(crate) fn new(
        tasks: &dyn Tasks,
        clock: Arc<dyn Clock>,
        next_csn: Csn,
        log: LogWriter,
    ) -> Commits {
        Commits {
            clock,
            times: HoldTimes::default(),
            took: Took::default(),
            queue: Mutex::default(),
            leader: Mutex::new(Leader {
                next_csn,
                log,
                relogged: false,
                buffer: Vec::new(),
                group: Vec::new(),
            }),
            free: tasks.event(),
            wanted: AtomicUsize::new(0),
        }
    }

    /// Runs `f` while no commit is under way. The wait for the lock goes through the scheduler seam,
    /// so that whoever holds it may wait for background work.
    pub(crate) fn exclusively<T>(&self, f: impl FnOnce(&mut Leader) -> T) -> T {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        loop {
            let seen = self.free.epoch();
            if let Some(leader) = self.leader.try_lock() {
                self.wanted.fetch_sub(1, Ordering::SeqCst);
                let mut held = Held::new(self, leader);
                return f(held.leader.as_mut().expect("taken when dropped"));
            }
            self.free.wait(seen, None);
        }
    }

    /// Runs `f` unless a commit is under way.
    pub(crate) fn if_free<T>(&self, f: impl FnOnce(&Leader) -> T) -> Option<T> {
        let held = Held::new(self, self.leader.try_lock()?);
        held.leader.as_ref().map(|leader| f(leader))
    }

    /// For how long the commit lock was held.
    pub(crate) fn hold_times(&self) -> CommitLockStats {
        self.times.report()
    }

    /// How long commits took.
    pub(crate) fn commit_times(&self) -> CommitTimes {
        self.took.report()
    }

    /// The commit lock for a client that leads, unless somebody wants it to himself.
    fn lead(&self) -> Option<MutexGuard<'_, Leader>> {
        // Who counts itself out later looks at the queue after that, where this client is by now.
        if self.wanted.load(Ordering::SeqCst) > 0 { None } else { self.leader.try_lock() }
    }

    /// Lets the commit lock go and wakes whoever may want it: the first of those who queued and found
    /// it taken, which look at no lock but when called.
    fn let_go(&self, leader: MutexGuard<'_, Leader>, since_ns: u64) {
        self.times.add(self.clock.monotonic_ns().saturating_sub(since_ns));
        drop(leader);
        self.free.notify();
        let first = self.queue.lock().first().map(|r| Arc::clone(&r.client));
        if let Some(client) = first {
            client.called.notify();
        }
    }

    /// Commits a transaction and returns its CSN once it is visible (and durable as the sync mode
    /// says).
    pub(crate) fn commit(
        &self,
        shared: &Arc<Shared>,
        mut writes: Vec<TableWrite>,
        mut reads: Option<ReadSet>,
    ) -> Result<Csn> {
        shared.check_open()?;
        writes.retain(|w| w.rows.rows > 0 || !w.marks.is_empty() || !w.changes.is_empty());
        // Reading goes on when writing has ended (I6).
        if writes.is_empty() {
            return Ok(shared.snapshots.published());
        }
        shared.check_writable()?;
        let begun_ns = self.clock.monotonic_ns();
        for looks in 0.. {
            let calculator = &shared.calculator;
            writes.iter_mut().try_for_each(|write| upgrade::upgrade(calculator, write))?;
            for write in writes.iter_mut().filter(|w| replace::is_due(w)) {
                replace::replace(shared, write)?;
            }
            budgets::hold_back(shared, &writes)?;
            let decided = self.queue_up(shared, writes, reads, looks)?;
            match decided.result {
                Ok(csn) => {
                    self.took.add(self.clock.monotonic_ns().saturating_sub(begun_ns));
                    return Ok(csn);
                }
                Err(Refusal::Stale) => {}
                Err(Refusal::Failed(e))
                    if upgrade::is_outdated(&e, &decided.writes)
                        || e.kind() == ErrorKind::Conflict
                            && decided.writes.iter().any(replace::is_due) => {}
                Err(Refusal::Failed(e)) => return Err(e),
            }
            (writes, reads) = (decided.writes, decided.reads);
        }
        unreachable!("it goes on until it is decided")
    }

    /// One try; gives the changes back when they were decided.
    fn queue_up(
        &self,
        shared: &Shared,
        mut writes: Vec<TableWrite>,
        reads: Option<ReadSet>,
        looks: usize,
    ) -> Result<Decided> {
        let _rooms = blind::make_room(shared, &writes)?;
        let body = encode(&writes)?;
        shared.pressure.admit(shared, body.body_bytes(), only_deletes(&writes))?;
        for w in &mut writes {
            let filter_probes = judge::look(shared, w)?;
            shared.counters.add(&ReadCounters { filter_probes, ..ReadCounters::default() });
        }
        let client = Arc::new(Client { decided: Mutex::default(), called: shared.tasks.event() });
        let request = Request { writes, reads, body, client: Arc::clone(&client), looks };
        self.queue.lock().push(request);
        let mut looks = match shared.options.sync {
            SyncMode::Fsync => 0,
            SyncMode::Interval(_) | SyncMode::Os => LOOKS_BEFORE_WAIT,
        };
        loop {
            let seen = client.called.epoch();
            let decided = client.decided.lock().take();
            if let Some(decided) = decided {
                let wrote = decided.writes.iter().filter(|w| w.rows.rows > 0);
                wrote.for_each(|w| w.state.help_sort());
                return Ok(decided);
            }
            match self.lead() {
                Some(leader) => Leading::new(shared, self, leader).serve(),
                None if looks > 0 => {
                    looks -= 1;
                    (0..SPINS_PER_LOOK).for_each(|_| std::hint::spin_loop());
                }
                None => {
                    client.called.wait(seen, None);
                }
            }
        }
    }
}

/// The commit lock, let go also when its holder panics.
struct Held<'a> {
    commits: &'a Commits,
    leader: Option<MutexGuard<'a, Leader>>,
    since_ns: u64,
}

impl<'a> Held<'a> {
    fn new(commits: &'a Commits, leader: MutexGuard<'a, Leader>) -> Held<'a> {
        Held { commits, leader: Some(leader), since_ns: commits.clock.monotonic_ns() }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(leader) = self.leader.take() {
            self.commits.let_go(leader, self.since_ns);
        }
    }
}

/// A client that leads. When it panics, the clients of its group, which would wait for ever, are told,
/// and all writing ends: nobody knows how far the group came.
struct Leading<'a> {
    shared: &'a Shared,
    commits: &'a Commits,
    leader: Option<MutexGuard<'a, Leader>>,
    group: Vec<Request>,
    since_ns: u64,
    done: bool,
}

impl<'a> Leading<'a> {
    fn new(shared: &'a Shared, commits: &'a Commits, mut leader: MutexGuard<'a, Leader>) -> Self {
        let group = std::mem::take(&mut leader.group);
        let since_ns = commits.clock.monotonic_ns();
        Leading { shared, commits, leader: Some(leader), group, since_ns, done: false }
    }

    /// Serves the queue.
    fn serve(mut self) {
        let leader = self.leader.as_mut().expect("taken when dropped");
        for _ in 0..ROUNDS_PER_LEADER {
            std::mem::swap(&mut self.group, &mut *self.commits.queue.lock());
            if self.group.is_empty() {
                break;
            }
            while !self.group.is_empty() {
                let results = leader.run_group(self.shared, &self.group);
                assert!(!results.is_empty(), "a round decides the first request at least");
                assert!(results.len() <= self.group.len(), "one outcome per request");
                let decided = self.group.drain(..results.len());
                decided.zip(results).for_each(|(request, result)| request.finish(result));
            }
            if self.commits.wanted.load(Ordering::SeqCst) > 0 {
                break;
            }
        }
        self.done = true;
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        if !self.done {
            let cause = Error::new(ErrorKind::Io, "a commit panicked");
            let e = self.shared.poison("committing", cause);
            self.group.drain(..).for_each(|r| r.finish(Err(e.clone().into())));
        }
        let mut leader = self.leader.take().expect("taken when dropped");
        leader.group = std::mem::take(&mut self.group);
        self.commits.let_go(leader, self.since_ns);
    }
}

/// Step 1: the log body of a transaction, with relative row ids.
fn encode(writes: &[TableWrite]) -> Result<CommitBody> {
    let mut body = CommitBody::new();
    for w in writes {
        let rows = w.rows.rows as u64;
        assert!(w.gone.iter().all(|&i| u64::from(i) < rows), "rows of this transaction are gone");
        assert!(w.blind.max().is_none_or(|i| i < rows), "rows of this transaction are blind");
        debug_assert!(w.marks.is_sorted_by(|a, b| a.row < b.row), "a row is marked once (I1)");
        debug_assert!(w.kept.is_sorted_by(|a, b| a.0 < b.0), "ordinals rise");
        let own = |&i: &u32| LoggedMark { row: PROVISIONAL_BASE + RowId::from(i), successor: None };
        let landed = w.marks.iter().map(|m| LoggedMark { row: m.row, successor: m.successor });
        let marks: Vec<LoggedMark> = landed.chain(w.gone.iter().map(own)).collect();
        body.push(w.state.id, w.schema.version, &w.rows, &marks);
    }
    body.push_changes(writes.iter().map(|w| &w.changes[..]));
    // Rows without columns take no bytes; a record stands for no more of them than it may have bytes.
    let plain = writes.iter().filter(|w| w.rows.columns.is_empty()).map(|w| w.rows.rows);
    if plain.max().is_some_and(|rows| rows > BODY_BYTES_MAX) {
        let text = format!("a transaction inserts at most {BODY_BYTES_MAX} rows without columns");
        return Err(Error::new(ErrorKind::LimitExceeded, text));
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

/// An admitted transaction: its CSN and one base row id per table.
struct Admitted<'a> {
    request: &'a Request,
    csn: Csn,
    bases: Vec<RowId>,
}

impl Leader {
    /// Steps 2 to 5; what became of each request, or of the first ones: who relies on what those
    /// before him change has to wait until that can be seen.
    fn run_group(&mut self, shared: &Shared, requests: &[Request]) -> Vec<Outcome> {
        let all = |e: Error| requests.iter().map(|_| Err(e.clone().into())).collect();
        let full = match shared.check_writable().and_then(|()| self.make_room(shared, requests)) {
            Ok(full) => full,
            Err(e) => return all(e),
        };
        let mut results = Vec::with_capacity(requests.len());
        let mut admitted = Vec::with_capacity(requests.len());
        let mut group = Group::default();
        self.buffer.clear();
        let start = self.log.position();
        let now = shared.clock.unix_us();
        let mut part = Some(self.log.group_part(now));
        let alone = requests.len() == 1;
        for request in requests {
            if let Some(e) = full.as_ref().filter(|_| !request.only_deletes()) {
                results.push(Err(e.clone().into()));
                continue;
            }
            if group.is_before(request) {
                break;
            }
            if judge::is_stale(request) {
                results.push(Err(Refusal::Stale));
                continue;
            }
            let outcome = self.admit(shared, &mut group, request, alone);
            results.push(outcome.map_err(Refusal::Failed).map(|a| {
                let at = start.forward(self.buffer.len());
                request.body.append_to(&mut self.buffer, at, a.csn, &a.bases, part.take());
                let csn = a.csn;
                admitted.push(a);
                csn
            }));
        }
        if admitted.is_empty() {
            return results;
        }
        let numbers = admitted.iter().rev().zip((0..self.next_csn).rev());
        assert!(numbers.clone().all(|(a, csn)| a.csn == csn), "commit numbers have no gap (I2)");
        if let Err(e) = self.log.append(&mut self.buffer, self.next_csn - 1) {
            let e = shared.poison("writing the log", e);
            results.iter_mut().filter(|r| r.is_ok()).for_each(|r| *r = Err(e.clone().into()));
            return results;
        }
        for a in &admitted {
            apply(shared, a);
        }
        shared.timeline.push(self.next_csn - 1, now);
        shared.snapshots.publish(self.next_csn - 1);
        relieve(shared, &admitted, self);
        results
    }

    /// Step 2. Where there is no room except for deletes, what all others get.
    fn make_room(&mut self, shared: &Shared, requests: &[Request]) -> Result<Option<Error>> {
        let bytes = |r: &Request| r.body.record_bytes(true);
        let poisoned = |e: Error| match e.kind() {
            ErrorKind::DiskFull => e,
            _ => shared.poison("beginning a log file", e),
        };
        let refusal = match margin::take_back(shared, &mut self.log) {
            false => margin::refusal(),
            true => match self.log.reserve(requests.iter().map(bytes).sum()) {
                Ok(()) => return Ok(None),
                Err(e) if e.kind() == ErrorKind::DiskFull => e,
                Err(e) => return Err(poisoned(e)),
            },
        };
        let deletes = requests.iter().filter(|r| r.only_deletes()).map(bytes).sum();
        if deletes > 0 {
            margin::reserve(shared, &mut self.log, deletes).map_err(poisoned)?;
        }
        Ok(Some(refusal))
    }

    /// Step 3 for one transaction. Nothing is changed unless all of it is admitted.
    fn admit<'a>(
        &mut self,
        shared: &Shared,
        group: &mut Group<'a>,
        request: &'a Request,
        alone: bool,
    ) -> Result<Admitted<'a>> {
        for w in &request.writes {
            judge::validate(shared, group, w)?;
        }
        if let Some(reads) = &request.reads {
            reads.validate(shared)?;
        }
        let admit = |w: &'a TableWrite| {
            let mut writer = w.state.writer.lock();
            unique::raise_highs(&mut writer.highs, &w.unique);
            if !alone {
                group.note(w);
            }
            let base = writer.next_row;
            writer.next_row += w.rows.rows as RowId;
            assert!(
                writer.next_row < PROVISIONAL_BASE,
                "row ids of tables stay below provisional ones"
            );
            base
        };
        let bases = request.writes.iter().map(admit).collect();
        let csn = self.next_csn;
        assert!(csn > shared.snapshots.published(), "a new commit is not visible yet (I2)");
        self.next_csn += 1;
        Ok(Admitted { request, csn, bases })
    }
}

/// Step 5 for one transaction: rows and marks go into the memtables.
fn apply(shared: &Shared, a: &Admitted<'_>) {
    assert!(
        a.csn > shared.snapshots.published(),
        "commits are applied before they are visible (I2)"
    );
    assert_eq!(a.request.writes.len(), a.bases.len(), "a base for each table");
    for (w, &base) in a.request.writes.iter().zip(&a.bases) {
        let view = w.state.view_now();
        if w.rows.rows > 0 {
            let landed = view.active.append(&w.rows, a.csn);
            assert_eq!(landed, base, "rows get the ids that they were admitted with (I1)");
        }
        let gone = |&i: &u32| Mark { row: base + RowId::from(i), csn: a.csn, successor: None };
        view.active.mark_sorted(w.gone.iter().map(gone).collect());
        let landed = |m: &PendingMark| {
            let successor = m.successor.map(|ordinal| base + RowId::from(ordinal));
            Mark { row: m.row, csn: a.csn, successor }
        };
        view.active.mark_sorted(w.marks.iter().map(landed).collect());
        let apart = changes::apart(shared, &view.schema);
        view.active.change_all(a.csn, &w.changes, &apart);
        drop(view);
        if !w.blind.is_empty() {
            // Whoever finds them there finds the rows and their marks.
            w.state.pending.push(base..base + w.rows.rows as RowId);
        }
        let replaced = w.marks.iter().filter_map(|m| Some((m.row, m.successor?)));
        w.state.locks.follow(replaced.map(|(row, ordinal)| (row, base + RowId::from(ordinal))));
        let mut writer = w.state.writer.lock();
        writer.active_since.get_or_insert(a.csn);
        assert!(writer.last_csn <= a.csn, "commits of a table rise (I2)");
        writer.last_csn = a.csn;
        drop(writer);
        w.state.counts.push(a.csn, base + w.rows.rows as RowId, &shared.snapshots);
    }
}

/// After a group: full memtables are frozen, and so are those that keep an over-long log alive.
fn relieve(shared: &Shared, admitted: &[Admitted<'_>], leader: &mut Leader) {
    let csn = leader.next_csn - 1;
    let mut last = None;
    for w in admitted.iter().flat_map(|a| &a.request.writes) {
        // Members of a group mostly write to the same table.
        if last.replace(w.state.id) == Some(w.state.id) {
            continue;
        }
        let bytes = w.state.count_memory();
        if bytes >= shared.memtable_bytes || shared.pace.freezes(bytes) {
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
    if (leader.log.bytes() > shared.options.log_limit || shared.margin.is_lent())
        && let Some(oldest) = leader.log.oldest_closed_csn()
    {
        flush::relieve_log(shared, leader, oldest);
    }
}
