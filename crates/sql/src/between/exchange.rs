//! How do notifications reach the sessions that listen?
//!
//! One queue of all databases. A session that listens to anything has a place in it, from which it reads what is for its
//! channels when it has no transaction ([`Exchange::read`]); what all have read goes.
//!
//! **In the order of commits, with no lock held while they commit.** A transaction that notifies takes a ticket before it
//! commits ([`Exchange::open`]) and hands it back with its commit number ([`Exchange::close`]). Its notifications enter the
//! queue as soon as every ticket that was out at that moment is back: only those may belong to a smaller number. Who hands
//! back the last of them does it for all; no commit waits.
//!
//! **Bounded.** Notifications that are on their way, from NOTIFY on, take at most `NOTIFICATION_BYTES`; more is refused
//! (`54000`). A session that does not read keeps what came after its place, as in PostgreSQL.
//!
//! Thread safety: a lock, held for work in memory alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onlap::Csn;
use onlap_base::limits::NOTIFICATION_BYTES;
use parking_lot::Mutex;

use crate::error::{Result, SqlError};
use crate::session::Waker;

/// What a notification takes next to its texts.
const NOTE_BYTES: usize = 200;
/// Notifications that a session takes at a time.
const READ_NOTES: usize = 256;

/// Something that a session is told.
#[derive(Debug)]
pub struct Note {
    /// In which database.
    pub database: Arc<str>,
    /// The channel.
    pub channel: Arc<str>,
    /// What is told with it.
    pub payload: Arc<str>,
    /// Whose it is.
    pub pid: i32,
    /// Given back when the last who has it is done with it.
    pub _room: Room,
}

/// A part of what notifications may take.
#[derive(Debug)]
pub struct Room {
    used: Arc<AtomicUsize>,
    bytes: usize,
}

impl Room {
    fn take(used: &Arc<AtomicUsize>, bytes: usize) -> Option<Room> {
        let bytes = bytes + NOTE_BYTES;
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= NOTIFICATION_BYTES);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Room { used: Arc::clone(used), bytes })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What is on its way to sessions.
#[derive(Default)]
pub struct Exchange {
    used: Arc<AtomicUsize>,
    /// The same of channels that are listened to.
    listened: Arc<AtomicUsize>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Note>>,
    /// The number of the first in the queue.
    first: u64,
    listeners: HashMap<i32, Listener>,
    /// The next ticket, and those that are out.
    next: u64,
    out: BTreeSet<u64>,
    /// Of transactions that have committed, by their number: what they notify of, and the next ticket at that moment.
    ready: BTreeMap<(Csn, u64), (u64, Vec<Note>)>,
}

struct Listener {
    database: Arc<str>,
    channels: HashSet<Arc<str>>,
    /// The number of the first that it has not read.
    at: u64,
    bell: Option<Waker>,
}

impl Listener {
    fn hears(&self, note: &Note) -> bool {
        self.database == note.database && self.channels.contains(&note.channel)
    }
}

impl Exchange {
    /// Room for texts of this number of bytes.
    ///
    /// # Errors
    /// `54000`.
    pub fn take(&self, bytes: usize) -> Result<Room> {
        Room::take(&self.used, bytes)
            .ok_or_else(|| SqlError::new("54000", "too many notifications in the NOTIFY queue"))
    }

    /// Room for the name of a channel that a session listens to.
    ///
    /// # Errors
    /// `54000`.
    pub fn take_channel(&self, name: &str) -> Result<Room> {
        Room::take(&self.listened, name.len())
            .ok_or_else(|| SqlError::new("54000", "sessions listen to too many channels"))
    }

    /// Which part of the room is taken, from 0 to 1.
    pub fn usage(&self) -> f64 {
        self.used.load(Ordering::Relaxed) as f64 / NOTIFICATION_BYTES as f64
    }

    /// A transaction that notifies is about to commit: its ticket.
    pub fn open(&self) -> u64 {
        let mut state = self.state.lock();
        let ticket = state.next;
        state.next += 1;
        state.out.insert(ticket);
        ticket
    }

    /// It has committed with this number, and notifies; or it has not.
    pub fn close(&self, ticket: u64, notes: Option<(Csn, Vec<Note>)>) {
        let mut state = self.state.lock();
        state.out.remove(&ticket);
        if let Some((csn, notes)) = notes {
            let next = state.next;
            state.ready.insert((csn, ticket), (next, notes));
        }
        let bells = state.publish();
        drop(state);
        bells.iter().for_each(|bell| (bell.0)());
    }

    /// A session listens to these channels from now on.
    pub fn listen(
        &self,
        pid: i32,
        database: &Arc<str>,
        channels: HashSet<Arc<str>>,
        bell: Option<Waker>,
    ) {
        let mut state = self.state.lock();
        if channels.is_empty() {
            state.listeners.remove(&pid);
            state.trim();
            return;
        }
        let at = state.end();
        let at = state.listeners.get(&pid).map_or(at, |known| known.at);
        let database = Arc::clone(database);
        state.listeners.insert(pid, Listener { database, channels, at, bell });
    }

    /// A session has gone.
    pub fn leave(&self, pid: i32) {
        let mut state = self.state.lock();
        if state.listeners.remove(&pid).is_some() {
            state.trim();
        }
    }

    /// What a session has not been told yet, or some of it; none when that is all.
    pub fn read(&self, pid: i32) -> Vec<Arc<Note>> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let end = state.end();
        let Some(listener) = state.listeners.get_mut(&pid) else { return Vec::new() };
        let before = listener.at;
        let mut notes = Vec::new();
        while listener.at < end && notes.len() < READ_NOTES {
            let note = &state.queue[(listener.at - state.first) as usize];
            if listener.hears(note) {
                notes.push(Arc::clone(note));
            }
            listener.at += 1;
        }
        if before == state.first {
            state.trim();
        }
        notes
    }
}

impl State {
    /// The number of the next in the queue.
    fn end(&self) -> u64 {
        self.first + self.queue.len() as u64
    }

    /// Puts what may go into the queue; who is to be woken.
    fn publish(&mut self) -> Vec<Waker> {
        let mut bells = Vec::new();
        while let Some(first) = self.ready.first_entry() {
            // Tickets that were given out later are of larger numbers.
            let before = first.get().0;
            if self.out.first().is_some_and(|ticket| *ticket < before) {
                break;
            }
            let (_, notes) = first.remove();
            self.enqueue(notes, &mut bells);
        }
        bells
    }

    fn enqueue(&mut self, notes: Vec<Note>, bells: &mut Vec<Waker>) {
        let wanted = |note: &Note| self.listeners.values().any(|listener| listener.hears(note));
        let notes: Vec<Note> = notes.into_iter().filter(wanted).collect();
        let (before, end) = (self.end(), self.end() + notes.len() as u64);
        for listener in self.listeners.values_mut() {
            match notes.iter().any(|note| listener.hears(note)) {
                true => bells.extend(listener.bell.clone()),
                // It has nothing to read here, and need not come for that.
                false if listener.at == before => listener.at = end,
                false => {}
            }
        }
        self.queue.extend(notes.into_iter().map(Arc::new));
    }

    /// Forgets what all have read.
    fn trim(&mut self) {
        let end = self.end();
        let first = self.listeners.values().map(|listener| listener.at).min().unwrap_or(end);
        self.queue.drain(..(first - self.first) as usize);
        self.first = first;
    }
}
