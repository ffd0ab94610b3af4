//! Who runs a session, and who waits for it?
//!
//! A session belongs to one thread. A [`Worker`] is that thread: jobs come one after the other, each gives one answer. The
//! Python thread that asked gives up the interpreter and waits; every [`LOOK`] it lets Python handle signals, and what
//! they raise (KeyboardInterrupt) cancels the statement before it is raised further. Only Python's main thread handles
//! signals, so a statement of another thread is not interrupted.
//!
//! A job never waits for the thread that asked, but it may take the interpreter (the data of a COPY may come from Python).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::Duration;

use onlap_base::Defect;
use onlap_base::tasks::{TaskHandle, Tasks as _, ThreadTasks};
use onlap_sql::{Instance, Result, Session, SessionInfo, SessionKey, SqlError};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::errors;
use crate::messages::Messages;

/// Between two looks whether the user interrupts.
const LOOK: Duration = Duration::from_millis(20);

/// The role and the database of the program's own sessions.
const ROLE: &str = "postgres";

/// What a job works with.
pub struct State {
    /// The session.
    pub session: Session,
    /// Its client.
    pub client: Messages,
    /// Whether the job's caller does not want it any more.
    stop: Arc<AtomicBool>,
}

impl State {
    /// Asks whether a job of many statements is still wanted.
    ///
    /// # Errors
    /// `57014`
    pub fn must_go_on(&self) -> Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(SqlError::new("57014", "canceling statement due to user request")),
            false => Ok(()),
        }
    }
}

thread_local! {
    /// The session that this thread runs, if it runs one.
    static RUNS: Cell<Option<SessionKey>> = const { Cell::new(None) };
}

type Job = Box<dyn FnOnce(&mut State) + Send>;

/// A session's thread. The database is the session's: where all sessions have ended it can be closed, whatever Python still
/// knows of them.
pub struct Worker {
    instance: Weak<Instance>,
    key: SessionKey,
    stop: Arc<AtomicBool>,
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<TaskHandle>>,
}

impl Worker {
    /// Begins a session.
    ///
    /// # Errors
    /// There may be no more sessions; there is no thread.
    pub fn start(instance: &Arc<Instance>) -> Result<Worker> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (told, begun) = mpsc::channel();
        let shared = Arc::clone(instance);
        let stop = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&stop);
        let body = move || {
            let info = SessionInfo {
                user: ROLE.into(),
                settings: vec![("application_name".into(), "python".into())],
                peer: "[python]".into(),
                ..SessionInfo::default()
            };
            let mut state = match Session::new(&shared, info) {
                Ok(session) => State { session, client: Messages::default(), stop: own },
                Err(e) => {
                    // Who asked waits for it.
                    let _ = told.send(Err(e));
                    return;
                }
            };
            RUNS.set(Some(state.session.key()));
            let _ = told.send(Ok(state.session.key()));
            for job in queue {
                // A job that panics has not answered, which its caller notices; nothing is known of the session.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job(&mut state))) {
                    errors::note(&SqlError::of_defect(Defect::of_panic(panic)));
                    return;
                }
            }
        };
        let tasks = ThreadTasks::new();
        let no_thread = || SqlError::new("53000", "there is no thread for a session");
        let thread = tasks.try_spawn("session", Box::new(body)).ok_or_else(no_thread)?;
        let key = begun.recv().map_err(|_| no_thread())??;
        Ok(Worker {
            instance: Arc::downgrade(instance),
            key,
            stop,
            jobs: Mutex::new(Some(jobs)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Does a job and waits for what it gives.
    ///
    /// # Errors
    /// What a signal handler raised, KeyboardInterrupt above all; the session has ended.
    pub fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&mut State) -> T + Send + 'static,
    ) -> PyResult<T> {
        let answer = self.ask(job).ok_or_else(errors::ended)?;
        py.detach(move || self.wait(answer))
    }

    /// Waits for what a job gives that was asked for before. For a caller who may or may not have the interpreter: one who
    /// reads a stream of Arrow's.
    ///
    /// # Errors
    /// As [`Worker::run`]; Python is about to end; the session's own thread asks, which would wait for itself.
    pub fn await_anywhere<T: Send + 'static>(&self, answer: Receiver<T>) -> PyResult<T> {
        let is_own = RUNS.get() == Some(self.key);
        let ran = Python::try_attach(|py| match is_own {
            true => {
                let text = "a long answer cannot be the data of a statement of its own transaction";
                let hint = "Read it first, or write INSERT ... SELECT.";
                Err(errors::raised(py, &SqlError::new("24000", text).hint(hint)))
            }
            // Answers that come fast leave no time to look while they are waited for.
            false => {
                py.check_signals()?;
                py.detach(move || self.wait(answer))
            }
        });
        ran.unwrap_or_else(|| Err(errors::ended()))
    }

    /// Has a job done without waiting for it.
    pub fn post(&self, job: impl FnOnce(&mut State) + Send + 'static) {
        drop(self.ask(job));
    }

    /// Ends the statement under way.
    pub fn cancel(&self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(instance) = self.instance.upgrade() {
            instance.cancel(self.key);
        }
    }

    /// Ends the session, after the jobs that are waiting.
    pub fn end(&self) {
        self.jobs.lock().take();
    }

    /// Ends the statement under way and the session, and waits until it has ended.
    pub fn finish(&self) {
        self.end();
        if RUNS.get() == Some(self.key) {
            // The data of its statement close the database: the thread cannot wait for itself.
            return;
        }
        let Some(thread) = self.thread.lock().take() else { return };
        while !thread.is_finished() {
            self.cancel();
            ThreadTasks::new().sleep(LOOK / 4);
        }
    }

    /// Asks for a job; `None` where the session has ended.
    pub fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut State) -> T + Send + 'static,
    ) -> Option<Receiver<T>> {
        let (tell, answer) = mpsc::channel();
        let stop = Arc::clone(&self.stop);
        let job: Job = Box::new(move |state| {
            stop.store(false, Ordering::Relaxed);
            // Who does not want it any more does not get it.
            let _ = tell.send(job(state));
        });
        self.jobs.lock().as_ref()?.send(job).ok()?;
        Some(answer)
    }

    fn wait<T>(&self, answer: Receiver<T>) -> PyResult<T> {
        let mut raised: Option<PyErr> = None;
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(_) if raised.is_some() => return Err(raised.expect("was just seen")),
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(errors::ended()),
                // A cancel that comes before the statement has begun is forgotten there.
                Err(RecvTimeoutError::Timeout) if raised.is_some() => self.cancel(),
                Err(RecvTimeoutError::Timeout) => {
                    raised = Python::try_attach(|py| py.check_signals().err()).flatten();
                    if raised.is_some() {
                        self.cancel();
                    }
                }
            }
        }
    }
}
