//! How does a transaction become visible and durable?
//!
//! The protocol, for a group of transactions that queued up while the previous group was under way:
//!
//! 1. **Client threads** encode and checksum their log bodies with relative row ids, look their
//!    unique keys up in the files ([`crate::unique`]), wait for their share of back-pressure
//!    ([`crate::pressure`]) and queue.
//! 2. One of them becomes the **leader** by taking the commit lock. It reserves log space for the
//!    whole group before anything is assigned: failing here is an ordinary "disk full", nothing has
//!    happened yet.
//! 3. In queue order the leader **admits** each transaction: last validation against everything
//!    before it (marks on the same rows, unique keys), then a CSN, one base row id per table, the
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

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onlap_base::memory::Part;
use onlap_base::tasks::{Event, Tasks};
use onlap_base::{Csn, Error, ErrorKind, IndexId, PROVISIONAL_BASE, Result, RowId, TableId};
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
use crate::memtable::Mark;
use crate::options::{Rule, SyncMode};
use crate::read::ReadCounters;
use crate::schema_change::truncate;
use crate::table::TableState;
use crate::transaction::ReadSet;
use crate::unique::{self, Claimed, UniqueKeys};
use crate::upgrade;

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
}

impl Request {
    /// Whether it adds nothing, so that the margin is for it.
    fn only_deletes(&self) -> bool {
        only_deletes(&self.writes)
    }

    fn finish(self, result: Result<Csn>) {
        let Request { writes, reads, body, client } = self;
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
    result: Result<Csn>,
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
}

/// Rounds a leader runs before another client takes over: its own next commit waits for as many syncs,
/// and more than this many made no difference to the rate.
const ROUNDS_PER_LEADER: usize = 4;

/// Looks that a client takes before it sleeps where no sync is waited for: a group then takes about as
/// long as putting a thread to sleep and waking it.
const LOOKS_BEFORE_WAIT: usize = 12;
const SPINS_PER_LOOK: usize = 40;

impl Commits {
    pub(crate) fn new(tasks: &dyn Tasks, next_csn: Csn, log: LogWriter) -> Commits {
        Commits {
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
                let mut held = Held { commits: self, leader: Some(leader) };
                return f(held.leader.as_mut().expect("taken when dropped"));
            }
            self.free.wait(seen, None);
        }
    }

    /// Runs `f` unless a commit is under way.
    pub(crate) fn if_free<T>(&self, f: impl FnOnce(&Leader) -> T) -> Option<T> {
        let held = Held { commits: self, leader: Some(self.leader.try_lock()?) };
        held.leader.as_ref().map(|leader| f(leader))
    }

    /// The commit lock for a client that leads, unless somebody wants it to himself.
    fn lead(&self) -> Option<MutexGuard<'_, Leader>> {
        // Who counts itself out later looks at the queue after that, where this client is by now.
        if self.wanted.load(Ordering::SeqCst) > 0 { None } else { self.leader.try_lock() }
    }

    /// Lets the commit lock go and wakes whoever may want it: the first of those who queued and found
    /// it taken, which look at no lock but when called.
    fn let_go(&self, leader: MutexGuard<'_, Leader>) {
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
        loop {
            writes.iter_mut().try_for_each(upgrade::upgrade)?;
            for write in writes.iter_mut().filter(|w| replace::is_due(w)) {
                replace::replace(shared, write)?;
            }
            budgets::hold_back(shared, &writes)?;
            let decided = self.queue_up(shared, writes, reads)?;
            match decided.result {
                Err(e)
                    if upgrade::is_outdated(&e, &decided.writes)
                        || e.kind() == ErrorKind::Conflict
                            && decided.writes.iter().any(replace::is_due) =>
                {
                    (writes, reads) = (decided.writes, decided.reads);
                }
                result => return result,
            }
        }
    }

    /// One try; gives the changes back when they were decided.
    fn queue_up(
        &self,
        shared: &Shared,
        mut writes: Vec<TableWrite>,
        reads: Option<ReadSet>,
    ) -> Result<Decided> {
        let _rooms = blind::make_room(shared, &writes)?;
        for w in &mut writes {
            let filter_probes = unique::look_up(w)?;
            shared.counters.add(&ReadCounters { filter_probes, ..ReadCounters::default() });
        }
        let body = encode(&writes)?;
        shared.pressure.admit(shared, body.body_bytes(), only_deletes(&writes))?;
        let client = Arc::new(Client { decided: Mutex::default(), called: shared.tasks.event() });
        let request = Request { writes, reads, body, client: Arc::clone(&client) };
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
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(leader) = self.leader.take() {
            self.commits.let_go(leader);
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
    done: bool,
}

impl<'a> Leading<'a> {
    fn new(shared: &'a Shared, commits: &'a Commits, mut leader: MutexGuard<'a, Leader>) -> Self {
        let group = std::mem::take(&mut leader.group);
        Leading { shared, commits, leader: Some(leader), group, done: false }
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
            self.group.drain(..).for_each(|r| r.finish(Err(e.clone())));
        }
        let mut leader = self.leader.take().expect("taken when dropped");
        leader.group = std::mem::take(&mut self.group);
        self.commits.let_go(leader);
    }
}

/// Step 1: the log body of a transaction, with relative row ids.
fn encode(writes: &[TableWrite]) -> Result<CommitBody> {
    let mut body = CommitBody::new();
    for w in writes {
        let own = |&i: &u32| LoggedMark { row: PROVISIONAL_BASE + RowId::from(i), successor: None };
        let landed = w.marks.iter().map(|m| LoggedMark { row: m.row, successor: m.successor });
        let marks: Vec<LoggedMark> = landed.chain(w.gone.iter().map(own)).collect();
        body.push(w.state.id, w.schema.version, &w.rows, &marks);
    }
    body.push_changes(writes.iter().map(|w| &w.changes[..]));
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
struct Group<'a> {
    marked: HashSet<(TableId, RowId)>,
    keys: HashSet<(IndexId, Vec<u8>)>,
    tables: HashSet<TableId>,
    /// Keys that were not written out.
    intervals: Vec<Interval<'a>>,
}

/// Keys of one part of an admitted transaction that rise from `min` to `max`.
struct Interval<'a> {
    index: IndexId,
    min: &'a [u8],
    max: &'a [u8],
    write: &'a TableWrite,
}

impl<'a> Group<'a> {
    /// Whether a table that was read has been written to.
    fn has_written(&self, reads: &ReadSet) -> bool {
        reads.tables().any(|table| self.tables.contains(&table))
    }

    /// Whether a request has to wait until what the group does can be seen.
    fn is_before(&self, request: &Request) -> bool {
        let judged =
            |w: &TableWrite| w.is_judged_after_blind() && self.tables.contains(&w.state.id);
        request.reads.as_ref().is_some_and(|reads| self.has_written(reads))
            || request.writes.iter().any(judged)
    }

    fn has_key(&self, index: IndexId, key: &[u8]) -> bool {
        self.keys.contains(&(index, key.to_vec()))
            || self.intervals.iter().any(|i| {
                let inside = i.index == index && key >= i.min && key <= i.max;
                inside && unique::has_key(i.write, index, key)
            })
    }

    /// Notes what later members of the group must not do again.
    fn note(&mut self, w: &'a TableWrite) {
        self.tables.insert(w.state.id);
        self.marked.extend(w.marks.iter().map(|m| (w.state.id, m.row)));
        for claim in &w.unique {
            let index = claim.index;
            match claim.claimed() {
                Claimed::Keys(keys) => {
                    self.keys.extend(keys.iter().map(|k| (index, k.to_vec())));
                }
                Claimed::Interval(min, max) => {
                    self.intervals.push(Interval { index, min, max, write: w });
                }
            }
        }
    }
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
    fn run_group(&mut self, shared: &Shared, requests: &[Request]) -> Vec<Result<Csn>> {
        let all = |e: Error| requests.iter().map(|_| Err(e.clone())).collect();
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
                results.push(Err(e.clone()));
                continue;
            }
            if group.is_before(request) {
                break;
            }
            let outcome = self.admit(shared, &mut group, request, alone);
            results.push(outcome.map(|a| {
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
        if let Err(e) = self.log.append(&self.buffer, self.next_csn - 1) {
            let e = shared.poison("writing the log", e);
            results.iter_mut().filter(|r| r.is_ok()).for_each(|r| *r = Err(e.clone()));
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

    /// Step 2. Where there is no room but for deletes, what all others get.
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
            validate(shared, group, w)?;
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
            base
        };
        let bases = request.writes.iter().map(admit).collect();
        let csn = self.next_csn;
        self.next_csn += 1;
        Ok(Admitted { request, csn, bases })
    }
}

/// Last validation of one table's part against everything committed and the group so far.
fn validate(shared: &Shared, group: &Group<'_>, w: &TableWrite) -> Result<()> {
    if w.state.dropped.load(Ordering::Relaxed) {
        let text = format!("table {} was dropped", w.schema.name);
        return Err(Error::new(ErrorKind::UnknownTable, text));
    }
    if w.state.unborn.load(Ordering::Acquire) {
        let text = format!("table {} belongs to a transaction that created it", w.schema.name);
        return Err(Error::new(ErrorKind::UnknownTable, text));
    }
    if w.is_judged_after_blind() {
        blind::resolve(shared, &w.state, RowId::MAX)?;
    }
    let view = w.state.view_now();
    if view.schema.version != w.schema.version {
        let text = format!(
            "table {} changed its schema meanwhile; run the transaction again",
            w.schema.name
        );
        return Err(Error::new(ErrorKind::Conflict, text));
    }
    let changed = w.changes.iter().flat_map(|c| &c.rows).map(|rows| rows.start);
    truncate::check_marks(&view, w.marks.iter().map(|m| m.row).chain(changed))?;
    changes::validate(&view, w)?;
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
    if !shared.obeys(Rule::UniqueKeys) {
        return Ok(());
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
fn apply(shared: &Shared, a: &Admitted<'_>) {
    for (w, &base) in a.request.writes.iter().zip(&a.bases) {
        let view = w.state.view_now();
        if w.rows.rows > 0 {
            view.active.append(&w.rows, a.csn);
        }
        let gone = |&i: &u32| Mark { row: base + RowId::from(i), csn: a.csn, successor: None };
        view.active.mark_all(w.gone.iter().map(gone));
        view.active.mark_all(w.marks.iter().map(|m| Mark {
            row: m.row,
            csn: a.csn,
            successor: m.successor.map(|ordinal| base + RowId::from(ordinal)),
        }));
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
    if (leader.log.bytes() > shared.options.log_limit || shared.margin.is_lent())
        && let Some(oldest) = leader.log.oldest_closed_csn()
    {
        flush::relieve_log(shared, leader, oldest);
    }
}
