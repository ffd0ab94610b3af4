//! Who runs in the background, and how does anyone wait?
//!
//! The scheduler seam (I9): every background job and every wait of every layer goes through
//! [`Tasks`]; no bare thread and no condition variable exists elsewhere. [`ThreadTasks`] runs each
//! task on a thread of the operating system. [`SimTasks`] is its double: one task at a time runs, the
//! next is picked by a seed, and time is virtual, so a run replays from the seed.
//!
//! **Rule: hold no lock across `wait`, `sleep`, `yield_now`, `spawn` or `join`.** With threads that
//! is merely slow; in the simulation another task would stop for ever at that lock. `notify` never
//! switches tasks and may be called under a lock.
//!
//! Waiting without lost wake-ups: read [`Event::epoch`], look whether the condition holds, and if
//! not, [`Event::wait`] with that epoch. A `notify` that came in between has moved the epoch, and the
//! wait returns at once. [`Event::wait_for`] is that loop.
//!
//! It knows nothing of what tasks do. All of it is safe to share between threads.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

mod sim;
mod threads;

pub use sim::SimTasks;
pub use threads::ThreadTasks;

/// What a task runs.
pub type Body = Box<dyn FnOnce() + Send>;

/// Starts tasks and lets them wait.
pub trait Tasks: Send + Sync {
    /// Starts `body` as a task of its own. Dropping the handle leaves the task running.
    ///
    /// # Panics
    /// When the operating system refuses another thread.
    fn spawn(&self, name: &str, body: Body) -> TaskHandle;

    /// Starts `body` as a task that is of use but not needed; `None` where the operating system
    /// refuses another thread.
    fn try_spawn(&self, name: &str, body: Body) -> Option<TaskHandle> {
        Some(self.spawn(name, body))
    }

    /// Starts `body` as a task that gives way to others where the scheduler can tell them apart:
    /// no task waits for it.
    ///
    /// # Panics
    /// As [`Tasks::spawn`].
    fn spawn_patient(&self, name: &str, body: Body) -> TaskHandle {
        self.spawn(name, body)
    }

    /// A new event for tasks of this scheduler to wait for.
    fn event(&self) -> Arc<Event>;

    /// Lets another task go first, if one is ready.
    fn yield_now(&self);

    /// Waits for the given time.
    fn sleep(&self, time: Duration);
}

/// Something that happens again and again, and that tasks wait for.
pub struct Event {
    /// How many times it happened.
    epoch: AtomicU64,
    waiting: Waiting,
}

enum Waiting {
    /// `waiters` counts the threads between announcing their wait and having woken, so that a notify
    /// without waiters costs two atomic operations and no lock.
    Threads { waiters: AtomicUsize, gate: Mutex<()>, changed: Condvar },
    /// The number under which the simulation's core knows the event.
    Sim { core: Arc<sim::Core>, number: u64 },
}

impl Event {
    fn of_threads() -> Event {
        let waiting = Waiting::Threads {
            waiters: AtomicUsize::new(0),
            gate: Mutex::new(()),
            changed: Condvar::new(),
        };
        Event { epoch: AtomicU64::new(0), waiting }
    }

    fn of_sim(core: Arc<sim::Core>, number: u64) -> Event {
        Event { epoch: AtomicU64::new(0), waiting: Waiting::Sim { core, number } }
    }

    /// How many times the event happened so far.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// The event happens: every task that waits with an older epoch goes on. Whatever was written
    /// before is visible to them. Cheap when no task waits; never blocks, never switches tasks.
    pub fn notify(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        match &self.waiting {
            Waiting::Threads { waiters, gate, changed } => {
                // Both sides are sequentially consistent: either this load sees the waiter, or the
                // waiter's look at the epoch, which follows its announcement, sees the new one.
                if waiters.load(Ordering::SeqCst) > 0 {
                    drop(lock(gate));
                    changed.notify_all();
                }
            }
            Waiting::Sim { core, number } => core.notify(*number),
        }
    }

    /// Waits until the epoch differs from `seen`; at most `timeout` if one is given. Returns whether
    /// it differs.
    pub fn wait(&self, seen: u64, timeout: Option<Duration>) -> bool {
        match &self.waiting {
            Waiting::Threads { waiters, gate, changed } => {
                if self.epoch() != seen {
                    return true;
                }
                waiters.fetch_add(1, Ordering::SeqCst);
                self.wait_on_thread(seen, timeout, gate, changed);
                waiters.fetch_sub(1, Ordering::SeqCst);
            }
            Waiting::Sim { core, number } => {
                core.wait(*number, timeout, || self.epoch() != seen);
            }
        }
        self.epoch() != seen
    }

    #[expect(clippy::disallowed_methods, reason = "this is the seam the other layers use")]
    fn wait_on_thread(
        &self,
        seen: u64,
        timeout: Option<Duration>,
        gate: &Mutex<()>,
        changed: &Condvar,
    ) {
        let guard = lock(gate);
        let unchanged = |_: &mut ()| self.epoch() == seen;
        match timeout {
            Some(time) => drop(changed.wait_timeout_while(guard, time, unchanged)),
            None => drop(changed.wait_while(guard, unchanged)),
        }
    }

    /// Waits until `ready` gives something. `ready` is called first and after every change.
    pub fn wait_for<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            let seen = self.epoch();
            if let Some(found) = ready() {
                return found;
            }
            self.wait(seen, None);
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("epoch", &self.epoch()).finish_non_exhaustive()
    }
}

/// How a task ended: `Err` carries the message of its panic.
pub type Outcome = Result<(), String>;

/// A started task.
#[derive(Debug)]
pub struct TaskHandle {
    shared: Arc<Ending>,
    thread: JoinHandle<()>,
}

/// Where a task leaves its outcome.
#[derive(Debug)]
struct Ending {
    ended: AtomicBool,
    outcome: Mutex<Option<Outcome>>,
    event: Arc<Event>,
}

impl Ending {
    fn new(event: Arc<Event>) -> Arc<Ending> {
        Arc::new(Ending { ended: AtomicBool::new(false), outcome: Mutex::new(None), event })
    }

    /// Runs the body; a panic becomes the outcome instead of leaving the thread.
    fn run(&self, body: Body) {
        let outcome = catch_unwind(AssertUnwindSafe(body)).map_err(|panic| message_of(&*panic));
        *lock(&self.outcome) = Some(outcome);
        self.ended.store(true, Ordering::SeqCst);
        self.event.notify();
    }
}

impl TaskHandle {
    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.shared.ended.load(Ordering::SeqCst)
    }

    /// Waits for the task to end. A panic inside it is not raised again here.
    ///
    /// # Errors
    /// The message of the panic that ended the task.
    pub fn join(self) -> Outcome {
        let outcome = self.shared.event.wait_for(|| lock(&self.shared.outcome).take());
        // Ending::run was the thread's last act except for the scheduler's bookkeeping, so this does
        // not wait for any other task; it makes sure that the thread's stack and locals are gone.
        self.thread.join().map_err(|panic| message_of(&*panic))?;
        outcome
    }
}

/// The words of a panic.
pub(crate) fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else if let Some(defect) = panic.downcast_ref::<Arc<crate::Defect>>() {
        defect.to_string()
    } else {
        "the task panicked without a message".to_owned()
    }
}

/// Locks regardless of poison: none of the data guarded here is left half-changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread behind a task of either scheduler.
fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    try_thread(name, run)
        .unwrap_or_else(|e| panic!("the operating system refused a thread for task {name}: {e}"))
}

#[expect(clippy::disallowed_methods, reason = "this is the seam the other layers use")]
fn try_thread(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

#[cfg(test)]
mod tests;
