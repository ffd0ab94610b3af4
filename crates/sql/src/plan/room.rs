//! Does the process have room for queries?
//!
//! What sorts, joins and groups take is charged to the queries' pool ([`super::memory`]). Batches on their way,
//! answers and what the allocator has not given back are charged to nobody; only the kernel knows them. So
//! there are no more queries at a time than a machine or a control group has room for beside the database, and
//! queries look at the process's own resident memory. Above a first limit none gets more for what it holds
//! (it spills, or ends with `53200`), and new ones wait until another has ended. Above a second one each but the
//! last ends at its next batch. What has no plan (inserts, reads by key) goes on.
//!
//! What spills opens files, thousands of them where a query gets little memory for many rows. The database's own
//! files and sessions need some too: queries wait when those that ran together have taken half of what was left
//! before them, and end with `53000` at three quarters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use onlap_base::clock::{Clock, SystemClock};
use onlap_base::files::open_files;
use onlap_base::memory::{machine_bytes, resident_bytes};
use tokio::sync::Notify;

use crate::error::{Result, SqlError, state};

/// The kernel is asked no more often than this.
const LOOK_EVERY_NS: u64 = 5_000_000;
/// What a query may take beside what is charged: its plan, blocks and batches of each step, rows on their way.
const QUERY_BYTES: u64 = 16 << 20;
/// Percent of the open files that were left when no query ran, from which on queries wait, and end.
const FILES_SHORT: u64 = 50;
const FILES_OVER: u64 = 75;
/// How long a new query waits for others to end before it is refused.
pub const PATIENCE: Duration = Duration::from_secs(30);

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
    ask: fn() -> Look,
    resident: AtomicU64,
    /// Open files, how many the process may have, and how many it had when no query ran: those of the database
    /// and of sessions, which are not the queries' doing.
    files: AtomicU64,
    files_limit: AtomicU64,
    files_before: AtomicU64,
    looked_ns: AtomicU64,
    /// Queries that have begun and not ended.
    running: AtomicUsize,
    /// Queries that may be running.
    slots: usize,
    /// Queries that wait for others to end.
    waiting: AtomicUsize,
    /// Wakes them, one for each that ends, first come, first served.
    ended: Notify,
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
            ask,
            resident: AtomicU64::new(0),
            files: AtomicU64::new(0),
            files_limit: AtomicU64::new(u64::MAX),
            files_before: AtomicU64::new(0),
            looked_ns: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            slots: usize::try_from((short.saturating_sub(budget) / QUERY_BYTES).max(1))
                .unwrap_or(usize::MAX),
            waiting: AtomicUsize::new(0),
            ended: Notify::new(),
        })
    }

    fn look(&self) -> Look {
        let now = SystemClock.monotonic_ns();
        let looked = self.looked_ns.load(Ordering::Relaxed);
        if now.saturating_sub(looked) >= LOOK_EVERY_NS || looked == 0 {
            self.looked_ns.store(now.max(1), Ordering::Relaxed);
            let look = (self.ask)();
            self.resident.store(look.resident, Ordering::Relaxed);
            self.files.store(look.files, Ordering::Relaxed);
            self.files_limit.store(look.files_limit, Ordering::Relaxed);
        }
        Look {
            resident: self.resident.load(Ordering::Relaxed),
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

    /// Begins a query, if there is room or nobody to wait for. Those with a place go before those without.
    pub fn begin(self: &Arc<Room>, place: Option<&Place>) -> Option<Running> {
        if place.is_none() && self.waiting.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let look = self.look();
        if self.running.load(Ordering::Relaxed) == 0 {
            self.files_before.store(look.files, Ordering::Relaxed);
        }
        let short = look.resident > self.short || self.files_share(look) >= FILES_SHORT;
        let fits =
            |running| (running == 0 || running < self.slots && !short).then_some(running + 1);
        self.running.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Running { room: Arc::clone(self) })
    }

    /// A place among those that wait.
    pub fn queue(self: &Arc<Room>) -> Place {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Place { room: Arc::clone(self) }
    }

    /// Whether a query may go on.
    ///
    /// # Errors
    /// `53200`: there is no room for several. `53000`: too many files are open.
    pub fn go_on(&self) -> Result<()> {
        let look = self.look();
        if look.resident > self.over && self.running.load(Ordering::Relaxed) > 1 {
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

/// A query that has begun; it ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    room: Arc<Room>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.room.running.fetch_sub(1, Ordering::Relaxed);
        self.room.ended.notify_one();
    }
}

/// A query that waits; it does not any more when this is dropped.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
}

impl Place {
    /// Until another query has ended, or it is time to look again.
    pub async fn wait(&self, time: Duration) {
        // Whoever looks in vain looks again.
        let _ended = tokio::time::timeout(time, self.room.ended.notified()).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.waiting.fetch_sub(1, Ordering::Relaxed);
        // What woke it may have been meant for the next.
        self.room.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn limits_lie_between_the_budget_and_the_machine() {
        for (machine, budget) in [(512, 128), (512, 64), (512, 500), (16 << 10, 4 << 10), (64, 64)]
        {
            let room = Room::new(machine * MIB, budget * MIB, Look::default);
            assert!(room.short < room.over && room.over < machine * MIB, "{room:?}");
            assert!(room.short > budget * MIB || room.short > machine * MIB / 5 * 4, "{room:?}");
        }
    }

    #[test]
    fn who_waits_goes_before_who_comes() {
        let one = || Look { resident: 700 * MIB, files: 10, files_limit: 100 };
        let room = Room::new(1000 * MIB, 100 * MIB, one);
        let first = room.begin(None).expect("nobody to wait for");
        let place = room.queue();
        assert!(room.begin(Some(&place)).is_none(), "one runs");
        let turns = tokio::runtime::Builder::new_current_thread().enable_time().build();
        turns.expect("a runtime of this thread").block_on(async {
            // An end that comes before the wait is not missed: this would be an hour.
            drop(first);
            place.wait(Duration::from_secs(3600)).await;
        });
        assert!(room.begin(None).is_none(), "another one waits");
        let second = room.begin(Some(&place)).expect("it is its turn");
        drop((place, second));
        assert!(room.begin(None).is_some());
    }

    #[test]
    fn many_hold_back_where_one_goes_on() {
        let room = |ask| Room::new(1000 * MIB, 100 * MIB, ask);
        const fn taking(resident: u64, files: u64) -> Look {
            Look { resident: resident * MIB, files, files_limit: 100 }
        }
        let free = room(|| taking(500, 10));
        let all: Vec<Running> = std::iter::from_fn(|| free.begin(None)).take(99).collect();
        // Holds back from 600 MiB on, and ends queries from 800 on.
        assert_eq!(all.len() as u64, 500 * MIB / QUERY_BYTES);
        free.go_on().expect("there is room");
        let short = room(|| taking(700, 10));
        let first = short.begin(None).expect("nobody to wait for");
        assert!(short.begin(None).is_none() && short.is_short());
        short.go_on().expect("begun is begun");
        drop(first);
        assert!(short.begin(None).is_some());
        let over = room(|| taking(900, 10));
        let _first = over.begin(None).expect("nobody to wait for");
        over.go_on().expect("it is alone");
        over.running.fetch_add(1, Ordering::Relaxed);
        assert_eq!(over.go_on().expect_err("they are two").state(), "53200");
        // What was there before queries is not held against them.
        let files = room(|| taking(500, 80));
        let _first = files.begin(None).expect("nobody to wait for");
        assert!(files.begin(None).is_some());
        files.go_on().expect("they took none");
        files.files_before.store(55, Ordering::Relaxed);
        assert!(files.begin(None).is_none());
        files.go_on().expect("some are left");
        files.files_before.store(10, Ordering::Relaxed);
        assert_eq!(files.go_on().expect_err("few are left").state(), "53000");
    }
}
