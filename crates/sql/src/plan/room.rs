//! Does the process have room for queries?
//!
//! What sorts, joins and groups take is charged to the queries' pool ([`super::memory`]). Batches on their way,
//! trees and plans of long texts, answers and what the allocator has not given back are charged to no budget; only the
//! kernel knows them. So there are no more queries and long texts at a time than a machine or a control group has
//! room for beside the database, each with the bytes that it is expected to take ([`super::texts`]), and
//! queries look at the process's own resident memory, with what the allocator has handed out since. Above a first
//! limit none gets more for what it holds (it spills, begins anew alone, or ends with `53200`), and new ones wait until
//! another has ended. Above a second one each but the last ends at its next batch. What has no plan (inserts, reads by
//! key) goes on, unless it holds much itself.
//!
//! Who finds no room waits in one line, in which no query overtakes. The first in line is refused when no query has ended
//! for [`PATIENCE`]; as long as some do, all wait on.
//!
//! What spills opens files, thousands of them where a query gets little memory for many rows. The database's own
//! files and sessions need some too: queries wait when those that ran together have taken half of what was left
//! before them, and end with `53000` at three quarters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::clock::{Clock, SystemClock};
use onlap_base::files::open_files;
use onlap_base::memory::{heap, machine_bytes, resident_bytes};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::growth;
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
/// Who waits looks this often whether there is room, and whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What a statement without a plan may have taken where the process is over its limit.
const LEAST: u64 = 8 << 20;

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
    /// Bytes above which queries hold back, and above which they end.
    short: u64,
    over: u64,
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
    /// Bytes of prepared statements.
    kept: u64,
}

/// Who waits; the first number is the next one's turn.
#[derive(Debug, Default)]
struct Line {
    next: u64,
    waiting: BTreeMap<u64, Arc<Notify>>,
}

impl Line {
    fn wake_first(&self) {
        if let Some(first) = self.waiting.values().next() {
            first.notify_one();
        }
    }
}

impl Room {
    /// That of this process, whose database takes `budget` bytes.
    pub fn of_process(budget: u64) -> Arc<Room> {
        Room::new(machine_bytes(), budget, Look::of_process)
    }

    /// Of `machine` bytes; `ask` says what is taken.
    fn new(machine: u64, budget: u64, ask: fn() -> Look) -> Arc<Room> {
        // Above what the database itself may take, whatever part of the machine that is.
        let short = (machine / 5 * 3).max(budget.saturating_add(machine / 8));
        let short = short.min(machine / 20 * 17);
        Arc::new(Room {
            short,
            over: short + (machine - short) / 2,
            total: short.saturating_sub(budget).max(QUERY_BYTES),
            // Beside what the database may take; queries have a fifth of the budget, and none runs then.
            most: (short + (machine - short) / 2).saturating_sub(budget / 5 * 4).max(QUERY_BYTES),
            ask,
            resident: AtomicU64::new(0),
            heap: AtomicI64::new(0),
            files: AtomicU64::new(0),
            files_limit: AtomicU64::new(u64::MAX),
            files_before: AtomicU64::new(0),
            looked_ns: AtomicU64::new(0),
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
            let look = (self.ask)();
            self.heap.store(heap::process_bytes().unwrap_or(0), Ordering::Relaxed);
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

    /// Percent of the open files left for queries that are taken.
    fn files_share(&self, look: Look) -> u64 {
        let before = self.files_before.load(Ordering::Relaxed);
        let left = look.files_limit.saturating_sub(before).max(1);
        look.files.saturating_sub(before).saturating_mul(100) / left
    }

    /// Whether queries should take no more.
    pub fn is_short(&self) -> bool {
        self.look().resident > self.short
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
        let short = look.resident > self.short || self.files_share(look) >= FILES_SHORT;
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
        if bytes <= self.most {
            return Ok(());
        }
        let text = format!(
            "understanding this statement takes about {} MiB of memory, and the server has {} MiB for that",
            bytes >> 20,
            self.most >> 20
        );
        Err(SqlError::new(state::OUT_OF_MEMORY, text)
            .hint("Give long lists as one parameter, as in \"= any($1)\", or load rows by COPY into a table and join it."))
    }

    /// Counts what a prepared statement takes.
    ///
    /// # Errors
    /// `53200`: all of them together take more than there is room for.
    pub fn keep(self: &Arc<Room>, bytes: u64) -> Result<Kept> {
        let mut taken = self.taken.lock();
        if taken.kept.saturating_add(bytes) > self.total {
            let text = format!("prepared statements take {} MiB of memory", taken.kept >> 20);
            return Err(SqlError::new(state::OUT_OF_MEMORY, text)
                .hint("Deallocate some, or give the server more memory."));
        }
        taken.kept += bytes;
        Ok(Kept { room: Arc::clone(self), bytes })
    }

    /// A place at the end of the line.
    fn queue(self: &Arc<Room>) -> Place {
        let mut line = self.line.lock();
        let (number, turn) = (line.next, Arc::new(Notify::new()));
        line.next += 1;
        line.waiting.insert(number, Arc::clone(&turn));
        Place { room: Arc::clone(self), number, turn }
    }

    /// Whether nothing moves: no query has ended for long since the one began to wait.
    fn is_stuck(&self, began_ns: u64, now_ns: u64) -> bool {
        let moved = began_ns.max(self.ended_ns.load(Ordering::Relaxed));
        u128::from(now_ns.saturating_sub(moved)) > PATIENCE.as_nanos()
    }

    /// Waits in line until `begin` has begun.
    ///
    /// # Errors
    /// `53200` when nothing moves; those of `go_on`, which is asked now and then.
    pub fn admit<T>(
        self: &Arc<Room>,
        handle: &Handle,
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
            let place = place.get_or_insert_with(|| self.queue());
            handle.block_on(place.wait(LOOK_EVERY));
        }
    }

    /// Fails for a statement that holds much itself while the process has no room, plan or not.
    ///
    /// # Errors
    /// `53200`.
    pub fn bear(&self) -> Result<()> {
        match growth::bytes() > LEAST && self.look().resident > self.over {
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
        if look.resident > self.over && self.taken.lock().running > 1 {
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
        let text = format!(
            "the server has no memory for this query now: {} MiB are taken, and queries hold back from {} MiB on",
            self.look().resident >> 20,
            self.short >> 20
        );
        SqlError::new(state::OUT_OF_MEMORY, text)
            .hint("Run fewer queries at the same time, lower query_memory_limit, or give the server more memory.")
    }
}

/// A query, or a text that is being understood; it ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    room: Arc<Room>,
    bytes: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut taken = self.room.taken.lock();
        taken.running -= 1;
        taken.bytes -= self.bytes;
        drop(taken);
        self.room.ended_ns.store(SystemClock.monotonic_ns(), Ordering::Relaxed);
        self.room.line.lock().wake_first();
    }
}

/// What a prepared statement takes while it waits to be executed.
#[derive(Debug)]
pub struct Kept {
    room: Arc<Room>,
    bytes: u64,
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
    number: u64,
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
