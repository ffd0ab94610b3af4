//! Does the process have room for queries?
//!
//! What sorts, joins and groups take is charged to the queries' pool ([`super::memory`]). Batches on their way,
//! trees and plans of long texts, answers and what the allocator has not given back are charged to no budget; only the
//! kernel knows them. So there are no more queries and long texts at a time than a machine or a control group has
//! room for beside the database, each with the bytes that it is expected to take ([`super::texts`]), and
//! queries look at the process's own resident memory, with what the allocator has handed out since. Above a first
//! limit none gets more for what it holds (it spills, begins anew alone, or ends with `53200`), and new ones wait until
//! another has ended. Above a second one each but the last ends at its next batch, above a third the last one as well.
//! What has no plan (inserts, reads by key) goes on, unless it holds much itself. The limits follow the machine or the
//! control group; a process of Onlap's own has others as well, from what its allocator has handed out beyond what
//! budgets know of ([`Own`]): it takes little more than it was given, however much the machine has. A program that embeds
//! the library takes memory for what the library cannot know.
//!
//! Who finds no room waits in one line, in which only transactions that hold much overtake, and those that came long
//! before not even they. The first in line is refused when no query has ended
//! for [`PATIENCE`]; as long as some do, all wait on.
//!
//! What spills opens files, thousands of them where a query gets little memory for many rows. The database's own
//! files and sessions need some too: queries wait when those that ran together have taken half of what was left
//! before them, and end with `53000` at three quarters.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use onlap_base::clock::{Clock, SystemClock};
use onlap_base::files::open_files;
use onlap_base::memory::{heap, machine_bytes, resident_bytes};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::growth;
use crate::deep;
use crate::error::{Result, SqlError, state};

/// The kernel is asked no more often than this.
const LOOK_EVERY_NS: u64 = 5_000_000;
/// What a query may take beside what is charged: its plan, blocks and batches of each step, rows on their way.
pub const QUERY_BYTES: u64 = 16 << 20;
/// Percent of the open files that were left when no query ran, from which on queries wait, and end.
const FILES_SHORT: u64 = 50;
const FILES_OVER: u64 = 75;
/// How long a query waits while no other one ends, before it is refused.
const PATIENCE: Duration = Duration::from_secs(30);
/// A transaction that holds much waits as if it had come this much earlier: what it holds is free the sooner. No more
/// than that, so that others come to their turn, too.
const HEAD_START: Duration = Duration::from_secs(5);
/// Who waits looks this often whether there is room, and whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What a statement without a plan may have taken where the process is over its limit.
const LEAST: u64 = 8 << 20;

/// What a process of Onlap's own takes beside what budgets know of: registries, catalogs, sessions.
const PROCESS_BYTES: u64 = 10 << 20;
/// What statements may have at least that no budget knows of, beside full budgets: trees, plans, batches on their way.
const UNKNOWN_BYTES: u64 = 10 << 20;
/// A machine is large beside a budget from this multiple on, of what queries may take.
const LARGE: u64 = 4;
/// What the allocator may keep of freed memory, and how often it is told to give it back, in nanoseconds.
const KEPT_BYTES: u64 = 8 << 20;
const GIVE_BACK_EVERY_NS: u64 = 50_000_000;
/// What a thread has freed at least before it looks for what it can give back.
const WORTH_BYTES: i64 = 1 << 20;
/// Where a machine or a control group sets the limits, it may keep this part of what is there before queries hold back.
const KEPT_SHARE: u64 = 4;
/// Queries hold back, and end but for one, this far below where each ends.
const SHORT_BYTES: u64 = 8 << 20;
const OVER_BYTES: u64 = 4 << 20;

/// Bytes of memory above which queries hold back, above which all but one end, and above which each ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    short: u64,
    over: u64,
    last: u64,
}

impl Marks {
    /// Of resident memory of a machine or a control group, for a database of this budget; a query that is alone has
    /// all of it.
    fn of_machine(machine: u64, budget: u64) -> Marks {
        // Above what the database itself may take, whatever part of the machine that is.
        let short = (machine / 5 * 3).max(budget.saturating_add(machine / 8));
        let short = short.min(machine / 20 * 17);
        Marks { short, over: short + (machine - short) / 2, last: u64::MAX }
    }

    /// Of what the allocator has handed out, where budgets know of `known` bytes and `limit` is all that they may give:
    /// three eighths of it may be of statements where budgets use little.
    fn of_heap(limit: u64, known: u64) -> Marks {
        let unknown = UNKNOWN_BYTES.max(limit / 8);
        let last = (limit / 8 * 3).max(known + unknown) + PROCESS_BYTES;
        Marks { short: last - SHORT_BYTES, over: last - OVER_BYTES, last }
    }
}

/// What a process of Onlap's own knows of its memory.
struct Own {
    /// What its budgets may give: `memory_limit`.
    limit: u64,
    /// What they have given, in bytes.
    known: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl std::fmt::Debug for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.limit)
    }
}

/// Which limits a process is above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// There is room.
    #[default]
    Free,
    /// Queries hold back.
    Short,
    /// All queries but one end.
    Over,
    /// Each query ends.
    Last,
}

impl State {
    fn of(bytes: u64, marks: Marks) -> State {
        match bytes {
            b if b > marks.last => State::Last,
            b if b > marks.over => State::Over,
            b if b > marks.short => State::Short,
            _ => State::Free,
        }
    }
}

/// What a process takes.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    /// Bytes of memory.
    resident: u64,
    /// Open files, and how many it may have.
    files: u64,
    files_limit: u64,
}

impl Look {
    fn of_process() -> Look {
        let (files, files_limit) = open_files().unwrap_or((0, u64::MAX));
        Look { resident: resident_bytes().unwrap_or(0), files, files_limit }
    }
}

/// The process's memory and files, as queries see them.
#[derive(Debug)]
pub struct Room {
    /// Of resident memory.
    marks: Marks,
    /// Set where the process is one of Onlap's own.
    own: OnceLock<Own>,
    /// What budgets had given at the last look.
    known: AtomicU64,
    /// Bytes for which there is room, of queries and texts together, and of one that is alone.
    total: u64,
    most: u64,
    ask: fn() -> Look,
    resident: AtomicU64,
    /// What the allocator had handed out at the last look.
    heap: AtomicI64,
    /// Open files, how many the process may have, and how many it had when no query ran: those of the database
    /// and of sessions, which are not the queries' doing.
    files: AtomicU64,
    files_limit: AtomicU64,
    files_before: AtomicU64,
    looked_ns: AtomicU64,
    /// When the allocator was told to give back memory.
    gave_back_ns: AtomicU64,
    taken: Mutex<Taken>,
    /// Those that wait for others to end, in order.
    line: Mutex<Line>,
    /// When a query ended last.
    ended_ns: AtomicU64,
}

/// What queries and texts have of the room.
#[derive(Debug, Default)]
struct Taken {
    /// Those that have begun and not ended.
    running: usize,
    /// Their bytes.
    bytes: u64,
    /// Bytes of prepared statements, portals and cursors.
    kept: u64,
}

/// When one came, in nanoseconds, and how many had come before.
type Number = (u64, u64);

/// Who waits; the first number is the next one's turn.
#[derive(Debug, Default)]
struct Line {
    came: u64,
    waiting: BTreeMap<Number, Arc<Notify>>,
}

impl Line {
    fn wake_first(&self) {
        if let Some(first) = self.waiting.values().next() {
            first.notify_one();
        }
    }
}

impl Room {
    /// That of this process, whose database and queries take `budget` bytes.
    pub fn of_process(budget: u64) -> Arc<Room> {
        Room::new(machine_bytes(), budget, Look::of_process)
    }

    /// Lets the process take little beside its budgets, which may give `limit` bytes and have given `known`, if its
    /// allocator counts: then it is one of Onlap's own. Where the machine or the control group has not several times
    /// the budget, its limits are near enough, and queries that wait for each other do better than those that end.
    pub fn keep_within(&self, limit: u64, known: impl Fn() -> u64 + Send + Sync + 'static) {
        if heap::process_bytes().is_some() && self.marks.short > limit.saturating_mul(LARGE) {
            deep::keep_within(limit);
            self.own.get_or_init(|| Own { limit, known: Box::new(known) });
        }
    }

    /// Of `machine` bytes; `ask` says what is taken.
    fn new(machine: u64, budget: u64, ask: fn() -> Look) -> Arc<Room> {
        let marks = Marks::of_machine(machine, budget);
        Arc::new(Room {
            marks,
            own: OnceLock::new(),
            known: AtomicU64::new(0),
            total: marks.short.saturating_sub(budget).max(QUERY_BYTES),
            // Beside what the database may take; queries have a fifth of the budget, and none runs then.
            most: marks.over.saturating_sub(budget / 5 * 4).max(QUERY_BYTES),
            ask,
            resident: AtomicU64::new(0),
            heap: AtomicI64::new(0),
            files: AtomicU64::new(0),
            files_limit: AtomicU64::new(u64::MAX),
            files_before: AtomicU64::new(0),
            looked_ns: AtomicU64::new(0),
            gave_back_ns: AtomicU64::new(0),
            taken: Mutex::default(),
            line: Mutex::default(),
            ended_ns: AtomicU64::new(0),
        })
    }

    fn look(&self) -> Look {
        let now = SystemClock.monotonic_ns();
        let looked = self.looked_ns.load(Ordering::Relaxed);
        if now.saturating_sub(looked) >= LOOK_EVERY_NS || looked == 0 {
            self.looked_ns.store(now.max(1), Ordering::Relaxed);
            let mut look = (self.ask)();
            if self.keeps_much(look, now) {
                heap::give_back();
                look = (self.ask)();
            }
            self.heap.store(heap::process_bytes().unwrap_or(0), Ordering::Relaxed);
            let known = self.own.get().map_or(0, |own| (own.known)());
            self.known.store(known, Ordering::Relaxed);
            self.resident.store(look.resident, Ordering::Relaxed);
            self.files.store(look.files, Ordering::Relaxed);
            self.files_limit.store(look.files_limit, Ordering::Relaxed);
        }
        let grown = heap::process_bytes().unwrap_or(0) - self.heap.load(Ordering::Relaxed);
        Look {
            resident: self.resident.load(Ordering::Relaxed) + u64::try_from(grown).unwrap_or(0),
            files: self.files.load(Ordering::Relaxed),
            files_limit: self.files_limit.load(Ordering::Relaxed),
        }
    }

    /// Whether the allocator is to give back memory now: it keeps what statements freed for a while, and the next one
    /// takes other sizes.
    fn keeps_much(&self, look: Look, now: u64) -> bool {
        let much = self.keeps(look);
        let before = self.gave_back_ns.load(Ordering::Relaxed);
        let due = much && now.saturating_sub(before) >= GIVE_BACK_EVERY_NS;
        if due {
            self.gave_back_ns.store(now, Ordering::Relaxed);
        }
        due
    }

    /// Whether more is freed and kept than should be: a part of what the process has.
    fn keeps(&self, look: Look) -> bool {
        let Some(heap) = heap::process_bytes() else { return false };
        let most = match self.own.get() {
            Some(own) => KEPT_BYTES.max(own.limit / 16),
            None => KEPT_BYTES.max(self.marks.short / KEPT_SHARE),
        };
        look.resident > u64::try_from(heap).unwrap_or(0) + most
    }

    /// Before a statement's thread waits, for a client or for its turn: gives back what it keeps of freed memory where the
    /// process keeps much. The allocator has pages for each thread, so what many that wait have kept no other could use.
    /// A thread that has freed little does not even look: most statements are short.
    pub fn rest(&self) {
        if heap::thread_freed() >= WORTH_BYTES && self.keeps(self.look()) {
            heap::thread_give_back();
        }
    }

    /// Which limits the process is above.
    fn state(&self, look: Look) -> State {
        let heap = u64::try_from(heap::process_bytes().unwrap_or(0)).unwrap_or(0);
        let own = self.own.get().map_or(State::Free, |own| {
            State::of(heap, Marks::of_heap(own.limit, self.known.load(Ordering::Relaxed)))
        });
        own.max(State::of(look.resident, self.marks))
    }

    /// Percent of the open files left for queries that are taken.
    fn files_share(&self, look: Look) -> u64 {
        let before = self.files_before.load(Ordering::Relaxed);
        let left = look.files_limit.saturating_sub(before).max(1);
        look.files.saturating_sub(before).saturating_mul(100) / left
    }

    /// Whether queries should take no more.
    pub fn is_short(&self) -> bool {
        self.state(self.look()) >= State::Short
    }

    /// Begins what is expected to take this number of bytes, if there is room or no query to wait for. Those in line go before
    /// others, and in their order.
    pub fn begin(self: &Arc<Room>, place: Option<&Place>, bytes: u64) -> Option<Running> {
        let first = self.line.lock().waiting.keys().next().copied();
        if first != place.map(|place| place.number) {
            return None;
        }
        let look = self.look();
        let mut taken = self.taken.lock();
        if taken.running == 0 {
            self.files_before.store(look.files, Ordering::Relaxed);
        }
        let short = self.state(look) >= State::Short || self.files_share(look) >= FILES_SHORT;
        let sum = taken.bytes.saturating_add(taken.kept).saturating_add(bytes);
        if taken.running > 0 && (short || sum > self.total) {
            return None;
        }
        taken.running += 1;
        taken.bytes += bytes;
        Some(Running { room: Arc::clone(self), bytes })
    }

    /// Bytes for which there is room: who takes them all is alone.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Fails for what would not fit if it were alone.
    ///
    /// # Errors
    /// `53200`.
    pub fn check(&self, bytes: u64) -> Result<()> {
        let most = self.most();
        if bytes <= most {
            return Ok(());
        }
        let text = format!(
            "understanding this statement takes about {} MiB of memory, and the server has {} MiB for that",
            bytes >> 20,
            most >> 20
        );
        Err(SqlError::new(state::OUT_OF_MEMORY, text)
            .hint("Give long lists as one parameter, as in \"= any($1)\", or load rows by COPY into a table and join it."))
    }

    /// Bytes of what is alone, at most.
    fn most(&self) -> u64 {
        let own = self.own.get().map(|own| Marks::of_heap(own.limit, 0).last - PROCESS_BYTES);
        self.most.min(own.unwrap_or(u64::MAX))
    }

    /// Bytes that sessions keep between their statements, at most: where the process has limits of its own, two
    /// thirds of what statements have, so that queries still run beside it.
    fn most_kept(&self) -> u64 {
        let own = self.own.get().map(|own| Marks::of_heap(own.limit, 0).last - PROCESS_BYTES);
        own.map_or(self.total, |own| self.total.min(own / 3 * 2))
    }

    /// Counts what a prepared statement, a portal's values or a cursor's rows take.
    ///
    /// # Errors
    /// `53200`: all of them together take more than there is room for.
    pub fn keep(self: &Arc<Room>, bytes: u64) -> Result<Kept> {
        self.count_kept(bytes)?;
        Ok(Kept { room: Arc::clone(self), bytes })
    }

    fn count_kept(&self, bytes: u64) -> Result<()> {
        let mut taken = self.taken.lock();
        if taken.kept.saturating_add(bytes) > self.most_kept() {
            let text = format!(
                "prepared statements, portals and cursors take {} MiB of memory",
                taken.kept >> 20
            );
            return Err(SqlError::new(state::OUT_OF_MEMORY, text)
                .hint("Deallocate or close some, or give the server more memory."));
        }
        taken.kept += bytes;
        Ok(())
    }

    /// A place at the end of the line; before those that came a short while ago, for a transaction that `holds` much.
    fn queue(self: &Arc<Room>, holds: bool) -> Place {
        let head_start = if holds { HEAD_START.as_nanos() as u64 } else { 0 };
        let mut line = self.line.lock();
        let came_ns = SystemClock.monotonic_ns().saturating_sub(head_start);
        let (number, turn) = ((came_ns, line.came), Arc::new(Notify::new()));
        line.came += 1;
        line.waiting.insert(number, Arc::clone(&turn));
        Place { room: Arc::clone(self), number, turn }
    }

    /// Whether nothing moves: no query has ended for long since the one began to wait.
    fn is_stuck(&self, began_ns: u64, now_ns: u64) -> bool {
        let moved = began_ns.max(self.ended_ns.load(Ordering::Relaxed));
        u128::from(now_ns.saturating_sub(moved)) > PATIENCE.as_nanos()
    }

    /// Waits in line until `begin` has begun; `holds` says that the transaction has changes that others have no memory for.
    ///
    /// # Errors
    /// `53200` when nothing moves; those of `go_on`, which is asked now and then.
    pub fn admit<T>(
        self: &Arc<Room>,
        handle: &Handle,
        holds: bool,
        go_on: impl Fn() -> Result<()>,
        begin: impl Fn(Option<&Place>) -> Option<T>,
    ) -> Result<T> {
        let began = SystemClock.monotonic_ns();
        let mut place = None;
        loop {
            go_on()?;
            if let Some(begun) = begin(place.as_ref()) {
                return Ok(begun);
            }
            if self.is_stuck(began, SystemClock.monotonic_ns()) {
                return Err(self.refusal());
            }
            if place.is_none() {
                self.rest();
            }
            let place = place.get_or_insert_with(|| self.queue(holds));
            handle.block_on(place.wait(LOOK_EVERY));
        }
    }

    /// Fails for a statement that holds much itself while the process has no room, plan or not.
    ///
    /// # Errors
    /// `53200`.
    pub fn bear(&self) -> Result<()> {
        match growth::bytes() > LEAST && self.state(self.look()) >= State::Over {
            true => Err(self.refusal()),
            false => Ok(()),
        }
    }

    /// Whether a query may go on.
    ///
    /// # Errors
    /// `53200`: there is no room for several. `53000`: too many files are open.
    pub fn go_on(&self) -> Result<()> {
        let look = self.look();
        let state = self.state(look);
        if state == State::Last || state == State::Over && self.taken.lock().running > 1 {
            return Err(self.refusal());
        }
        if self.files_share(look) >= FILES_OVER {
            let text = format!(
                "queries have used up the server's open files: {} of {} are taken",
                look.files, look.files_limit
            );
            return Err(SqlError::new(state::OUT_OF_RESOURCES, text)
                .hint("Raise query_memory_limit or the limit of open files (ulimit -n), or run fewer queries at the same time."));
        }
        Ok(())
    }

    /// What a query is told that cannot have room.
    pub fn refusal(&self) -> SqlError {
        let taken = self.look().resident >> 20;
        let text = format!("the server has no memory for this query now: {taken} MiB are taken");
        SqlError::new(state::OUT_OF_MEMORY, text).hint(
            "Run fewer queries at the same time, lower query_memory_limit, or raise memory_limit.",
        )
    }
}

/// A query, or a text that is being understood; it ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    room: Arc<Room>,
    bytes: u64,
}

impl Running {
    /// Lets others run until the result is dropped. It goes on then without a place in line: it waited already, and what
    /// it holds it has held all the time.
    pub fn pause(&self) -> Pause<'_> {
        self.end();
        Pause(self)
    }

    fn end(&self) {
        let mut taken = self.room.taken.lock();
        taken.running -= 1;
        taken.bytes -= self.bytes;
        drop(taken);
        self.room.ended_ns.store(SystemClock.monotonic_ns(), Ordering::Relaxed);
        self.room.line.lock().wake_first();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// A query that lets others run.
#[derive(Debug)]
pub struct Pause<'a>(&'a Running);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let mut taken = self.0.room.taken.lock();
        taken.running += 1;
        taken.bytes += self.0.bytes;
    }
}

/// What a prepared statement, a portal or a cursor takes between statements.
#[derive(Debug)]
pub struct Kept {
    room: Arc<Room>,
    bytes: u64,
}

impl Kept {
    /// Counts more of the same.
    ///
    /// # Errors
    /// As [`Room::keep`].
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        self.room.count_kept(bytes)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.room.taken.lock().kept -= self.bytes;
        self.room.line.lock().wake_first();
    }
}

/// A place in line; it is left when this is dropped.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
    number: Number,
    turn: Arc<Notify>,
}

impl Place {
    /// Until it may be its turn, or it is time to look again.
    async fn wait(&self, time: Duration) {
        // Whoever looks in vain looks again.
        let _turn = tokio::time::timeout(time, self.turn.notified()).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut line = self.room.line.lock();
        line.waiting.remove(&self.number);
        // What is left may do for the next.
        line.wake_first();
    }
}

#[cfg(test)]
mod tests;
