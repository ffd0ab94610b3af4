//! Who is connected?
//!
//! Every connection with a thread has an entry, by which it is counted, woken and ended. Until it has a session
//! it is a newcomer, of whom there are no more than the rest of the threads allows: where one more comes, the oldest goes,
//! of the address that has most ([`Crowd`]). Steps of an orderly end: the server sets `stopping`, then wakes all that wait for their
//! client; whoever begins to wait afterwards looks at `stopping` first. Both sides are sequentially
//! consistent, so no connection waits on for ever.

use std::collections::{BTreeMap, HashMap};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use onlap_base::tasks::Event;
use onlap_sql::SessionKey;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::origin::{Crowd, Limits, Origin};
use crate::stream::Raw;

/// A connection as others see it.
#[derive(Debug)]
pub struct Entry {
    socket: Raw,
    /// Whether it waits for its client.
    waits: AtomicBool,
    session: Mutex<Option<SessionKey>>,
    /// Whether it had to go because others came.
    crowded_out: AtomicBool,
}

impl Entry {
    /// Ends the wait for the client: reads find the end of what it sent.
    pub fn wake(&self) {
        self.socket.shutdown(Shutdown::Read);
    }
    /// A second handle of the connection's socket.
    ///
    /// # Errors
    /// The process has no file descriptor left.
    pub fn handle(&self) -> std::io::Result<Raw> {
        self.socket.try_clone()
    }
    /// Notes whether the connection waits for its client.
    pub fn set_waits(&self, waits: bool) {
        self.waits.store(waits, Ordering::SeqCst);
    }
    /// Whether it had to go because others came.
    pub fn is_crowded_out(&self) -> bool {
        self.crowded_out.load(Ordering::SeqCst)
    }
    /// Waits for so long, or until the connection has been broken.
    pub fn linger(&self, time: Duration) {
        let Ok(time) = Timespec::try_from(time) else { return };
        // No event is asked for: the end is told in any case, and what the client says does not matter.
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::empty())], Some(&time));
    }
    /// Waits until the client closes its side (true), or until the other descriptor can be read.
    pub fn is_left_before(&self, other: impl AsFd) -> bool {
        loop {
            let left = PollFlags::RDHUP;
            let mut all = [PollFd::new(&self.socket, left), PollFd::new(&other, PollFlags::IN)];
            match poll(&mut all, None) {
                Ok(_) if !all[1].revents().is_empty() => return false,
                Ok(_) if !all[0].revents().is_empty() => return true,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // Without a wait there is nothing to say of it.
                Err(_) => return false,
            }
        }
    }
    /// The session that the connection has.
    pub fn session(&self) -> Option<SessionKey> {
        *self.session.lock()
    }
    /// Notes which session the connection has.
    pub fn set_session(&self, key: SessionKey) {
        *self.session.lock() = Some(key);
    }
}

/// Waits for so long until a descriptor can be read; whether it can.
pub fn can_be_read(of: impl AsFd, time: Duration) -> bool {
    let time = Timespec::try_from(time).ok();
    let mut all = [PollFd::new(&of, PollFlags::IN)];
    poll(&mut all, time.as_ref()).is_ok_and(|ready| ready > 0)
}

/// What happened since the server started, and what is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections now, those that have not proved who they are too.
    pub connections: u64,
    /// Sessions now.
    pub sessions: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections turned away: no room, wrong password, bad bytes before a session began.
    pub refused: u64,
    /// Connections dropped because there were too many that had not proved who they are.
    pub dropped: u64,
    /// Requests to cancel a statement.
    pub cancels: u64,
    /// Messages answered.
    pub messages: u64,
    /// Times that bytes were sent.
    pub sends: u64,
    /// Sessions that ended by a panic.
    pub panics: u64,
}

/// Connections with a thread.
#[derive(Debug, Default)]
struct Known {
    entries: HashMap<u64, Arc<Entry>>,
    /// Those without a session, from the oldest to the newest.
    newcomers: BTreeMap<u64, Origin>,
}

impl Known {
    /// Takes out the newcomer that has to go, now that one more has come from there.
    fn crowd_out(&mut self, newest: Origin, limits: Limits) -> Option<Arc<Entry>> {
        let mut crowd = Crowd::default();
        self.newcomers.values().for_each(|origin| crowd.enter(*origin));
        let of = crowd.victim(newest, limits)?;
        let (number, _) = self.newcomers.iter().find(|(_, origin)| **origin == of)?;
        let number = *number;
        self.newcomers.remove(&number);
        self.entries.get(&number).cloned()
    }
}

/// All connections of a server.
#[derive(Debug)]
pub struct Connections {
    known: Mutex<Known>,
    next: AtomicU64,
    sessions: AtomicUsize,
    stopping: AtomicBool,
    changed: Arc<Event>,
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) cancels: AtomicU64,
    pub(crate) messages: AtomicU64,
    pub(crate) sends: AtomicU64,
    pub(crate) panics: AtomicU64,
}

impl Connections {
    /// None yet; `changed` happens whenever one ends.
    pub fn new(changed: Arc<Event>) -> Connections {
        Connections {
            known: Mutex::default(),
            next: AtomicU64::new(0),
            sessions: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            changed,
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            cancels: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            sends: AtomicU64::new(0),
            panics: AtomicU64::new(0),
        }
    }
    /// A new connection with a handle to its socket; it ends when the guard goes. Newcomers beyond the limits are
    /// broken.
    pub fn enter(self: &Arc<Self>, socket: Raw, from: Origin, limits: Limits) -> Guard {
        let (number, entry) = self.entry(socket);
        let mut known = self.known.lock();
        known.entries.insert(number, Arc::clone(&entry));
        known.newcomers.insert(number, from);
        let victim = known.crowd_out(from, limits);
        drop(known);
        self.accepted.fetch_add(1, Ordering::Relaxed);
        if let Some(victim) = victim {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            victim.crowded_out.store(true, Ordering::SeqCst);
            victim.socket.shutdown(Shutdown::Both);
        }
        Guard { connections: Arc::clone(self), number, entry }
    }
    /// A connection of a client that has proved who it is.
    pub fn admit(self: &Arc<Self>, socket: Raw) -> Guard {
        let (number, entry) = self.entry(socket);
        self.known.lock().entries.insert(number, Arc::clone(&entry));
        Guard { connections: Arc::clone(self), number, entry }
    }
    fn entry(&self, socket: Raw) -> (u64, Arc<Entry>) {
        let entry = Arc::new(Entry {
            socket,
            waits: AtomicBool::new(false),
            session: Mutex::new(None),
            crowded_out: AtomicBool::new(false),
        });
        (self.next.fetch_add(1, Ordering::Relaxed), entry)
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.lock().entries.len()
    }
    /// Sessions now.
    pub fn session_count(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }
    /// Takes one of so many places for sessions.
    pub fn take_place(self: &Arc<Self>, places: usize) -> Option<Place> {
        let free = |taken: usize| (taken < places).then_some(taken + 1);
        let taken = self.sessions.fetch_update(Ordering::SeqCst, Ordering::SeqCst, free);
        taken.ok().map(|_| Place(Arc::clone(self)))
    }
    /// Whether connections are to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
    /// Lets connections end as soon as their statements have.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let known = self.known.lock();
        known.entries.values().filter(|e| e.waits.load(Ordering::SeqCst)).for_each(|e| e.wake());
        self.changed.notify();
    }
    /// Sessions now.
    pub fn sessions(&self) -> Vec<SessionKey> {
        self.known.lock().entries.values().filter_map(|e| *e.session.lock()).collect()
    }
    /// Ends all, whatever they do.
    pub fn break_all(&self) {
        self.known.lock().entries.values().for_each(|e| e.socket.shutdown(Shutdown::Both));
    }
    /// Happens whenever a connection ends.
    pub fn changed(&self) -> &Event {
        &self.changed
    }
    /// All in numbers.
    pub fn counts(&self) -> Counts {
        let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
        Counts {
            connections: self.len() as u64,
            sessions: self.sessions.load(Ordering::Relaxed) as u64,
            accepted: get(&self.accepted),
            refused: get(&self.refused),
            dropped: get(&self.dropped),
            cancels: get(&self.cancels),
            messages: get(&self.messages),
            sends: get(&self.sends),
            panics: get(&self.panics),
        }
    }
}

/// A connection's entry for as long as it lasts.
pub struct Guard {
    connections: Arc<Connections>,
    number: u64,
    /// What others see.
    pub entry: Arc<Entry>,
}

impl Guard {
    /// The connection has a session, and need not make way for others any more.
    pub fn settle(&self) {
        self.connections.known.lock().newcomers.remove(&self.number);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut known = self.connections.known.lock();
        known.entries.remove(&self.number);
        known.newcomers.remove(&self.number);
        drop(known);
        self.connections.changed.notify();
    }
}

/// A session's place.
pub struct Place(Arc<Connections>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::SeqCst);
    }
}
