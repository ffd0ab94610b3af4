//! Is the browser that asked still there?
//!
//! Statements of a request run on the thread that answers it, which looks at its socket again when they have ended. Meanwhile a
//! [`Watch`] waits for the client to close its side, as a browser does whose tab is closed or whose page asks no more, and
//! ends what runs. A client that only says that it will send nothing more counts as gone: browsers do not.
//!
//! A cancel that comes before its statement has begun is forgotten there, so it is sent again until the request ends.
//!
//! Thread safety: a task waits, the request's thread ends it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap_base::tasks::TaskHandle;
use rustix::event::{EventfdFlags, eventfd};

use crate::connections::Entry;
use crate::server::Shared;

/// Between two cancels.
const AGAIN: Duration = Duration::from_millis(20);

/// Watches a client until it is dropped.
pub(super) struct Watch {
    gone: Arc<AtomicBool>,
    /// What ends the task, and the task; none where the process has no thread or descriptor left.
    task: Option<(Arc<OwnedFd>, TaskHandle)>,
}

impl Watch {
    /// Watches the client of a connection.
    pub(super) fn begin(shared: &Arc<Shared>, entry: &Arc<Entry>) -> Watch {
        let gone = Arc::new(AtomicBool::new(false));
        let ended = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new);
        let task = ended.ok().and_then(|ended| {
            let (own, watched) = (Arc::clone(&ended), Arc::clone(entry));
            let (asked, seen) = (Arc::clone(shared), Arc::clone(&gone));
            let body = Box::new(move || watch(&asked, &watched, &own, &seen));
            Some((ended, shared.tasks.try_spawn("http client", body)?))
        });
        Watch { gone, task }
    }

    /// Whether the client has gone.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((ended, task)) = self.task.take() {
            // There is room for the number one.
            let _ = rustix::io::write(&*ended, &1_u64.to_ne_bytes());
            // A task that panicked watches no more, which is all that it was for.
            let _ = task.join();
        }
    }
}

fn watch(shared: &Shared, entry: &Entry, ended: &OwnedFd, gone: &AtomicBool) {
    if !entry.is_left_before(ended) {
        return;
    }
    gone.store(true, Ordering::SeqCst);
    loop {
        if let Some(key) = entry.session() {
            shared.instance.cancel(key);
        }
        if crate::connections::can_be_read(ended, AGAIN) {
            return;
        }
    }
}
