//! How do tasks run in production?
//!
//! Each on a thread of the operating system; waits block the thread. See the parent for the rules.

use std::sync::Arc;
use std::time::Duration;

use super::{Body, Ending, Event, TaskHandle, Tasks, start_thread, try_thread};

/// Nice value of patient tasks: about a tenth of the share of others where they compete.
const PATIENT_NICE: i32 = 10;

/// Tasks on threads of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadTasks;

impl ThreadTasks {
    /// The scheduler of the operating system.
    pub fn new() -> ThreadTasks {
        ThreadTasks
    }
}

impl Tasks for ThreadTasks {
    fn spawn(&self, name: &str, body: Body) -> TaskHandle {
        let shared = Ending::new(self.event());
        let ending = Arc::clone(&shared);
        let thread = start_thread(name, move || ending.run(body));
        TaskHandle { shared, thread }
    }

    fn try_spawn(&self, name: &str, body: Body) -> Option<TaskHandle> {
        let shared = Ending::new(self.event());
        let ending = Arc::clone(&shared);
        let thread = try_thread(name, move || ending.run(body)).ok()?;
        Some(TaskHandle { shared, thread })
    }

    fn spawn_patient(&self, name: &str, body: Body) -> TaskHandle {
        let patient = move || {
            // On Linux a priority belongs to a thread. Where it is refused the task runs like others.
            let _ = rustix::process::setpriority_process(None, PATIENT_NICE);
            body();
        };
        self.spawn(name, Box::new(patient))
    }

    fn event(&self) -> Arc<Event> {
        Arc::new(Event::of_threads())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the seam the other layers use")]
    fn yield_now(&self) {
        std::thread::yield_now();
    }

    #[expect(clippy::disallowed_methods, reason = "this is the seam the other layers use")]
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
