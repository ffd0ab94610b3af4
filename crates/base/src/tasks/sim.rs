//! How does a run of many tasks replay from a seed?
//!
//! Each task of [`SimTasks`] has a thread of its own, but a baton decides who runs: exactly one task
//! holds it. It is handed on only where a task waits, sleeps, yields, spawns, joins or ends, and the
//! seed picks among the tasks that are ready. Time is virtual: each hand-over takes a microsecond, and
//! when every task waits for a time it jumps to the earliest. So the whole interleaving, including
//! every time-out, follows from the seed.
//!
//! The thread that makes the simulation is its first task. A thread that is no task of the simulation
//! may notify its events but not wait for them. If all tasks wait without a time-out, nothing can ever
//! happen again: every one of them panics with the list of who waits, because a test that hangs tells
//! nothing.
//!
//! A context variable per thread was preferred to passing a task context through every call: the seam
//! would otherwise leak into every signature above it.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::{Body, Ending, Event, TaskHandle, Tasks, lock, start_thread};
use crate::clock::Clock;
use crate::rng::Rng;

/// What one hand-over of the baton takes of virtual time.
const STEP_NS: u64 = 1_000;

/// Virtual time begins at 2020-01-01 00:00 UTC.
const START_US: i64 = 1_577_836_800_000_000;

static NEXT_SIM: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// (simulation, task) pairs of which this thread is the body.
    static TASKS_OF_THREAD: RefCell<Vec<(u64, usize)>> = const { RefCell::new(Vec::new()) };
}

/// A seeded scheduler that runs one task at a time in virtual time.
#[derive(Clone)]
pub struct SimTasks {
    core: Arc<Core>,
}

/// What the tasks, events and clocks of one simulation share.
pub(super) struct Core {
    sim: u64,
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    now_ns: u64,
    tasks: Vec<Task>,
    next_event: u64,
    steps: u64,
    /// Set once, when nothing can happen any more; every task panics with it.
    dead: Option<String>,
}

struct Task {
    name: String,
    status: Status,
    /// Signalled when the task becomes `Running`.
    turn: Arc<Condvar>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Running,
    Ready,
    Waiting { event: Option<u64>, until_ns: Option<u64> },
    Ended,
}

impl SimTasks {
    /// A simulation whose interleaving follows from `seed`; the calling thread is its first task.
    pub fn new(seed: u64) -> SimTasks {
        let sim = NEXT_SIM.fetch_add(1, Ordering::Relaxed);
        let first = Task { name: "main".to_owned(), status: Status::Running, turn: Arc::default() };
        let state = State {
            rng: Rng::new(seed),
            now_ns: 0,
            tasks: vec![first],
            next_event: 0,
            steps: 0,
            dead: None,
        };
        TASKS_OF_THREAD.with_borrow_mut(|tasks| tasks.push((sim, 0)));
        SimTasks { core: Arc::new(Core { sim, state: Mutex::new(state) }) }
    }

    /// How many times the baton was handed on; equal seeds give equal counts.
    pub fn steps(&self) -> u64 {
        lock(&self.core.state).steps
    }
}

/// The simulation is its own clock: virtual time.
impl Clock for SimTasks {
    fn unix_us(&self) -> i64 {
        START_US + (self.monotonic_ns() / 1000) as i64
    }

    fn monotonic_ns(&self) -> u64 {
        lock(&self.core.state).now_ns
    }
}

impl Tasks for SimTasks {
    fn spawn(&self, name: &str, body: Body) -> TaskHandle {
        let shared = Ending::new(self.event());
        let ending = Arc::clone(&shared);
        let core = Arc::clone(&self.core);
        let number = core.add_task(name);
        let thread = start_thread(name, move || {
            TASKS_OF_THREAD.with_borrow_mut(|tasks| tasks.push((core.sim, number)));
            core.begin(number);
            ending.run(body);
            core.end(number);
        });
        self.core.pause();
        TaskHandle { shared, thread }
    }

    fn event(&self) -> Arc<Event> {
        let mut state = lock(&self.core.state);
        state.next_event += 1;
        Arc::new(Event::of_sim(Arc::clone(&self.core), state.next_event))
    }

    fn yield_now(&self) {
        self.core.pause();
    }

    fn sleep(&self, time: Duration) {
        self.core.sleep(time);
    }
}

impl Core {
    /// Adds a task that is ready but does not run yet.
    fn add_task(&self, name: &str) -> usize {
        let mut state = lock(&self.state);
        let task = Task { name: name.to_owned(), status: Status::Ready, turn: Arc::default() };
        state.tasks.push(task);
        state.tasks.len() - 1
    }

    /// The task of this thread.
    fn current(&self) -> usize {
        TASKS_OF_THREAD
            .with_borrow(|tasks| tasks.iter().rev().find(|(sim, _)| *sim == self.sim).copied())
            .map(|(_, task)| task)
            .expect("only a task of the simulation waits in it")
    }

    /// First act of a task's thread: waits for its turn.
    fn begin(&self, task: usize) {
        self.await_turn(lock(&self.state), task);
    }

    /// Last act of a task's thread: hands the baton on for good.
    fn end(&self, task: usize) {
        let mut state = lock(&self.state);
        state.tasks[task].status = Status::Ended;
        state.hand_on();
    }

    /// Lets the seed pick who goes on, this task included.
    fn pause(&self) {
        self.give_up(lock(&self.state), Status::Ready);
    }

    fn sleep(&self, time: Duration) {
        let state = lock(&self.state);
        let until_ns = Some(state.after(time));
        self.give_up(state, Status::Waiting { event: None, until_ns });
    }

    /// Waits for event `number`. `happened` is asked while no other task can run, so that none can
    /// notify between the question and the wait.
    pub(super) fn wait(
        &self,
        number: u64,
        timeout: Option<Duration>,
        happened: impl FnOnce() -> bool,
    ) {
        let state = lock(&self.state);
        let status = if happened() {
            Status::Ready
        } else {
            Status::Waiting { event: Some(number), until_ns: timeout.map(|t| state.after(t)) }
        };
        self.give_up(state, status);
    }

    /// Makes the tasks that wait for event `number` ready.
    pub(super) fn notify(&self, number: u64) {
        let mut state = lock(&self.state);
        for task in &mut state.tasks {
            if matches!(task.status, Status::Waiting { event: Some(n), .. } if n == number) {
                task.status = Status::Ready;
            }
        }
    }

    /// Hands the baton on and comes back when it is this task's turn again.
    fn give_up(&self, mut state: MutexGuard<'_, State>, status: Status) {
        let current = self.current();
        state.tasks[current].status = status;
        state.hand_on();
        self.await_turn(state, current);
    }

    #[expect(clippy::disallowed_methods, reason = "this is the seam the other layers use")]
    fn await_turn(&self, mut state: MutexGuard<'_, State>, task: usize) {
        let turn = Arc::clone(&state.tasks[task].turn);
        loop {
            if let Some(why) = state.dead.clone() {
                drop(state);
                panic!("{why}");
            }
            if state.tasks[task].status == Status::Running {
                return;
            }
            state = turn.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

impl State {
    fn after(&self, time: Duration) -> u64 {
        self.now_ns.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Picks the next task and wakes its thread. At this moment none runs.
    fn hand_on(&mut self) {
        if self.dead.is_some() {
            // The panics that end the tasks come by here too, in no particular order.
            return;
        }
        self.steps += 1;
        self.now_ns += STEP_NS;
        if !self.tasks.iter().any(|task| task.status == Status::Ready) {
            let due = self.tasks.iter().filter_map(|task| task.until_ns()).min();
            self.now_ns = self.now_ns.max(due.unwrap_or(0));
        }
        let now_ns = self.now_ns;
        for task in &mut self.tasks {
            if task.until_ns().is_some_and(|until| until <= now_ns) {
                task.status = Status::Ready;
            }
        }
        let ready: Vec<usize> =
            (0..self.tasks.len()).filter(|&t| self.tasks[t].status == Status::Ready).collect();
        if !ready.is_empty() {
            let next = &mut self.tasks[*self.rng.pick(&ready)];
            next.status = Status::Running;
            next.turn.notify_all();
        } else if self.tasks.iter().any(|task| task.status != Status::Ended) {
            self.dead = Some(self.obituary());
            self.tasks.iter().for_each(|task| task.turn.notify_all());
        }
    }

    fn obituary(&self) -> String {
        let mut text = "deadlock: every task of the simulation waits:".to_owned();
        for task in self.tasks.iter().filter(|task| task.status != Status::Ended) {
            if let Status::Waiting { event: Some(event), .. } = task.status {
                let _ = write!(text, " {} for event {event};", task.name);
            }
        }
        text
    }
}

impl Task {
    fn until_ns(&self) -> Option<u64> {
        match self.status {
            Status::Waiting { until_ns, .. } => until_ns,
            _ => None,
        }
    }
}
