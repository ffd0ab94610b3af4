//! Who is connected?
//!
//! Every connection has an entry from its first byte to its end, by which it is counted, woken and
//! ended. Steps of an orderly end: the server sets `stopping`, then wakes all that wait for their
//! client; whoever begins to wait afterwards looks at `stopping` first. Both sides are sequentially
//! consistent, so no connection waits on for ever.

use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use onlap_base::tasks::Event;
use onlap_sql::SessionKey;
use parking_lot::Mutex;

use crate::stream::Raw;

/// A connection as others see it.
#[derive(Debug)]
pub struct Entry {
    socket: Raw,
    /// Whether it waits for its client.
    waits: AtomicBool,
    session: Mutex<Option<SessionKey>>,
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
    /// Notes which session the connection has.
    pub fn set_session(&self, key: SessionKey) {
        *self.session.lock() = Some(key);
    }
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
    /// Requests to cancel a statement.
    pub cancels: u64,
    /// Messages answered.
    pub messages: u64,
    /// Times that bytes were sent.
    pub sends: u64,
    /// Sessions that ended by a panic.
    pub panics: u64,
}

/// All connections of a server.
#[derive(Debug)]
pub struct Connections {
    entries: Mutex<HashMap<u64, Arc<Entry>>>,
    next: AtomicU64,
    sessions: AtomicUsize,
    stopping: AtomicBool,
    changed: Arc<Event>,
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) cancels: AtomicU64,
    pub(crate) messages: AtomicU64,
    pub(crate) sends: AtomicU64,
    pub(crate) panics: AtomicU64,
}

impl Connections {
    /// None yet; `changed` happens whenever one ends.
    pub fn new(changed: Arc<Event>) -> Connections {
        Connections {
            entries: Mutex::default(),
            next: AtomicU64::new(0),
            sessions: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            changed,
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            cancels: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            sends: AtomicU64::new(0),
            panics: AtomicU64::new(0),
        }
    }
    /// A new connection with a handle to its socket; it ends when the guard goes.
    pub fn enter(self: &Arc<Self>, socket: Raw) -> Guard {
        let entry = Entry { socket, waits: AtomicBool::new(false), session: Mutex::new(None) };
        let entry = Arc::new(entry);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.entries.lock().insert(number, Arc::clone(&entry));
        self.accepted.fetch_add(1, Ordering::Relaxed);
        Guard { connections: Arc::clone(self), number, entry }
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.lock().len()
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
        let entries = self.entries.lock();
        entries.values().filter(|e| e.waits.load(Ordering::SeqCst)).for_each(|e| e.wake());
        self.changed.notify();
    }
    /// Sessions now.
    pub fn sessions(&self) -> Vec<SessionKey> {
        self.entries.lock().values().filter_map(|e| *e.session.lock()).collect()
    }
    /// Ends all, whatever they do.
    pub fn break_all(&self) {
        self.entries.lock().values().for_each(|e| e.socket.shutdown(Shutdown::Both));
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

impl Drop for Guard {
    fn drop(&mut self) {
        self.connections.entries.lock().remove(&self.number);
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
