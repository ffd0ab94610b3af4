//! Who has come and said nothing yet?
//!
//! One task accepts at some addresses and waits for the first words of all who came: a client has a thread only
//! once it has said what it wants ([`Kind::is_whole`]), so a silent one costs a socket. Those who wait have
//! limits, for all and for each address ([`crate::origin`]), and a time after which they are sent away.
//!
//! The task never blocks but in its poll; clients are served by other threads. No client waits for another one to
//! say something.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onlap_base::clock::{Clock as _, SystemClock};
use onlap_sql::SqlError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::input::Input;
use crate::origin::{Crowd, Limits, Origin};
use crate::server::{Kind, Shared};

/// Clients that are let in between two looks at those who wait.
const AT_ONCE: usize = 256;
/// How long accepting rests after a failure, such as too many open files, that no silent client can make up for.
const REST: Duration = Duration::from_millis(100);
/// Until a client that has said everything is looked at again, while there are too many threads.
const SHORTLY: Duration = Duration::from_millis(5);

/// A client without a thread.
pub(crate) struct Visitor {
    pub(crate) socket: TcpStream,
    pub(crate) peer: SocketAddr,
    /// What it has said.
    pub(crate) input: Input,
    /// When it has to have proved who it is, on the monotonic clock.
    pub(crate) until_ns: u64,
    pub(crate) origin: Origin,
    is_whole: bool,
}

/// The task's state.
pub(crate) struct Door {
    shared: Arc<Shared>,
    kind: Kind,
    listeners: Vec<TcpListener>,
    /// Ends the task's wait.
    bell: UnixStream,
    /// From the oldest to the newest.
    waiting: VecDeque<Visitor>,
    /// Where they come from.
    crowd: Crowd,
}

impl Door {
    /// A door to these addresses.
    pub(crate) fn new(
        shared: Arc<Shared>,
        kind: Kind,
        listeners: Vec<TcpListener>,
        bell: UnixStream,
    ) -> Door {
        let (waiting, crowd) = (VecDeque::new(), Crowd::default());
        Door { shared, kind, listeners, bell, waiting, crowd }
    }

    /// Lets clients in until the server stops.
    pub(crate) fn run(mut self) {
        loop {
            let ready = self.poll();
            if self.shared.connections.is_stopping() {
                return;
            }
            self.listen_to(&ready);
            for at in 0..self.listeners.len() {
                self.let_in(at);
            }
        }
    }

    /// Waits for clients; which of those that wait have said something.
    fn poll(&self) -> Vec<bool> {
        let mut all = vec![PollFd::new(&self.bell, PollFlags::IN)];
        all.extend(self.listeners.iter().map(|l| PollFd::new(l, PollFlags::IN)));
        let first = all.len();
        // A client that has said everything is asked for nothing more.
        let flags = |v: &Visitor| if v.is_whole { PollFlags::empty() } else { PollFlags::IN };
        all.extend(self.waiting.iter().map(|v| PollFd::new(&v.socket, flags(v))));
        let now = SystemClock.monotonic_ns();
        let until =
            self.waiting.front().map(|v| Duration::from_nanos(v.until_ns.saturating_sub(now)));
        let timeout = match self.waiting.iter().any(|v| v.is_whole) {
            true => Some(SHORTLY),
            false => until,
        };
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        // An interrupted wait is looked at like any other.
        let _ = poll(&mut all, timeout.as_ref());
        all[first..].iter().map(|fd| !fd.revents().is_empty()).collect()
    }

    /// Takes what those who wait have said; lets them in, or go.
    fn listen_to(&mut self, ready: &[bool]) {
        let now = SystemClock.monotonic_ns();
        self.crowd = Crowd::default();
        for (mut visitor, ready) in std::mem::take(&mut self.waiting).into_iter().zip(ready) {
            if *ready && !self.hear(&mut visitor) {
                continue;
            }
            if now >= visitor.until_ns {
                self.turn_away(visitor, crate::connection::too_slow());
                continue;
            }
            self.admit(visitor);
        }
    }

    /// Reads what is there; false where the client has gone.
    fn hear(&self, visitor: &mut Visitor) -> bool {
        while !visitor.is_whole {
            match visitor.input.receive(&mut visitor.socket) {
                Ok(0) => return false,
                Ok(_) => visitor.is_whole = self.kind.is_whole(&visitor.input),
                Err(e) => {
                    if visitor.input.is_empty() {
                        // No buffer for who has said nothing.
                        visitor.input = Input::default();
                    }
                    return e.kind() == io::ErrorKind::WouldBlock;
                }
            }
        }
        true
    }

    /// Serves a client, or lets it wait on.
    fn admit(&mut self, visitor: Visitor) {
        match visitor.is_whole && self.kind.has_room(&self.shared, &visitor) {
            true => self.kind.serve(&self.shared, visitor),
            false => {
                self.crowd.enter(visitor.origin);
                self.waiting.push_back(visitor);
            }
        }
    }

    fn let_in(&mut self, at: usize) {
        for _ in 0..AT_ONCE {
            match self.listeners[at].accept() {
                Ok((socket, peer)) => self.welcome(socket, peer),
                Err(e) if is_nobody(&e) => return,
                Err(e) => {
                    self.shared.log.warn(format_args!("cannot accept a connection: {e}"));
                    // Where files are short, the client that was silent for longest has one.
                    match self.waiting.is_empty() {
                        true => self.shared.tasks.sleep(REST),
                        false => self.drop_one(0),
                    }
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, socket: TcpStream, peer: SocketAddr) {
        let prepared = socket
            .set_nonblocking(true)
            .and_then(|()| socket.set_nodelay(true))
            .and_then(|()| Ok(rustix::net::sockopt::set_socket_keepalive(&socket, true)?));
        if let Err(e) = prepared {
            return self.shared.log.info(format_args!("connection from {peer} dropped: {e}"));
        }
        let patience = self.kind.patience(&self.shared).as_nanos() as u64;
        let origin = Origin::of(peer.ip());
        let mut visitor = Visitor {
            socket,
            peer,
            input: Input::default(),
            until_ns: SystemClock.monotonic_ns() + patience,
            origin,
            is_whole: false,
        };
        // Most have said what they want by now.
        if !self.hear(&mut visitor) {
            return;
        }
        self.admit(visitor);
        let config = &self.shared.config;
        let limits = Limits { all: config.unauthenticated, each: config.unauthenticated_each };
        if let Some(of) = self.crowd.victim(origin, limits)
            && let Some(at) = self.waiting.iter().position(|v| v.origin == of)
        {
            self.drop_one(at);
        }
    }

    fn drop_one(&mut self, at: usize) {
        let Some(visitor) = self.waiting.remove(at) else { return };
        self.crowd.leave(visitor.origin);
        self.shared.connections.dropped.fetch_add(1, Ordering::Relaxed);
        self.turn_away(visitor, crate::connection::crowded_out());
    }

    /// Ends a connection, with a word where the protocol has one.
    fn turn_away(&self, mut visitor: Visitor, why: SqlError) {
        self.shared.connections.refused.fetch_add(1, Ordering::Relaxed);
        self.shared.log.debug(format_args!("connection from {} refused: {why}", visitor.peer));
        self.kind.say(&mut visitor.socket, &why);
    }
}

fn is_nobody(e: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(e.kind(), WouldBlock | Interrupted | ConnectionAborted)
}
