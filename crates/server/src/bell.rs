//! How does a session learn that there is something to tell its client, while it waits for the client?
//!
//! Others ring ([`Bell::ring`]); the wait for the client then ends with an error of its own ([`is_ring`]), and goes on when
//! the client was told. Only a session that listens to channels has a file descriptor for that, from its first such wait on.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap_base::clock::{Clock, SystemClock};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// A wait without a file descriptor of the bell's looks this often whether it rang.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Rings once or many times, and is heard once.
#[derive(Debug, Default)]
pub struct Bell {
    rang: AtomicBool,
    event: OnceLock<OwnedFd>,
}

/// It rang.
#[derive(Debug)]
struct Ring;

impl std::fmt::Display for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("there is something to tell")
    }
}

impl std::error::Error for Ring {}

/// Whether a wait ended because of a bell.
pub fn is_ring(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Ring>())
}

impl Bell {
    /// Ends the wait, or the next one.
    pub fn ring(&self) {
        self.rang.store(true, Ordering::SeqCst);
        if let Some(event) = self.event.get() {
            // It fails where it has rung four billion times and was not heard.
            let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
        }
    }

    fn is_rung(&self) -> bool {
        if !self.rang.swap(false, Ordering::SeqCst) {
            return false;
        }
        if let Some(event) = self.event.get() {
            // It may be empty: it rang before it was there.
            let _ = rustix::io::read(event, &mut [0; 8]);
        }
        true
    }

    /// Waits until something can be read from a socket.
    ///
    /// # Errors
    /// It rang ([`is_ring`]); the time is over.
    pub fn wait(&self, socket: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
        if self.event.get().is_none()
            && let Ok(event) = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        {
            let _ = self.event.set(event);
        }
        let end =
            timeout.map(|time| SystemClock.monotonic_ns().saturating_add(time.as_nanos() as u64));
        loop {
            // After the descriptor is there: who rings from now on writes to it.
            if self.is_rung() {
                return Err(io::Error::other(Ring));
            }
            let left = end.map(|end| end.saturating_sub(SystemClock.monotonic_ns()));
            if left == Some(0) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let left = left.map(Duration::from_nanos);
            let mut fds = vec![PollFd::new(&socket, PollFlags::IN)];
            let time = match self.event.get() {
                Some(event) => {
                    fds.push(PollFd::new(event, PollFlags::IN));
                    left
                }
                None => Some(left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY))),
            };
            let time = time.and_then(|time| Timespec::try_from(time).ok());
            match poll(&mut fds, time.as_ref()) {
                Ok(_) if !fds[0].revents().is_empty() => return Ok(()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_ring_is_heard_once() {
        let (mut client, server) = UnixStream::pair().expect("sockets are to be had");
        let bell = Bell::default();
        let soon = Some(Duration::from_millis(20));
        bell.ring();
        bell.ring();
        assert!(is_ring(&bell.wait(&server, None).expect_err("it rang before")));
        let late = bell.wait(&server, soon).expect_err("nothing comes");
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| bell.wait(&server, None));
            bell.ring();
            assert!(is_ring(&waits.join().expect("it ends").expect_err("it rang")));
        });
        client.write_all(b"x").expect("there is room");
        bell.wait(&server, None).expect("the client said something");
    }
}
