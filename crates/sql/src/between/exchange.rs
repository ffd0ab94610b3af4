//! How do notifications reach the sessions that listen?
//!
//! A session that listens to anything has a queue, into which the notifications of its channels come when their transaction
//! has committed. It reads them when it has no transaction ([`Exchange::read`]).
//!
//! **In the order of commits, with no lock held while they commit.** A transaction that notifies takes a ticket before it
//! commits ([`Exchange::open`]) and hands it back with its commit number ([`Ticket::send`]). Its notifications enter the
//! queues as soon as every ticket that was out at that moment is back: only those may belong to a smaller number. Who hands
//! back the last of them does it for all; no commit waits. A ticket that is dropped is back, whatever happened to its
//! transaction.
//!
//! **Bounded.** What has committed and was not read yet has room of the exchange ([`Room`]), which is asked for before the
//! commit: that fails (`54000`) where there is none. One transaction has no more than a quarter of it, and where a session
//! has not read as much, commits that notify it fail, while others go on. Until a commit, notifications are memory of their
//! transaction ([`super::channels`]).
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

/// What a notification, or a channel that is listened to, takes next to its texts.
const NOTE_BYTES: usize = 250;
/// What a place in a session's queue takes, in one that has grown.
const PLACE_BYTES: usize = 64;
/// Notifications that a session takes at a time.
const READ_NOTES: usize = 256;
/// The part of the memory that notifications may take, where that is more than [`NOTIFICATION_BYTES`], and its most.
const MEMORY_SHARE: u64 = 32;
const MOST_BYTES: usize = 64 << 20;
/// The part of the room that one transaction, or one session, may take.
const SHARE: usize = 4;

/// Something that a session is told.
#[derive(Debug)]
pub struct Note {
    /// The channel.
    pub channel: Arc<str>,
    /// What is told with it.
    pub payload: Arc<str>,
    /// Whose it is.
    pub pid: i32,
    /// Given back when the last who has it is done with it.
    room: Room,
}

/// A channel, and what is told there.
pub type Told = (Arc<str>, Arc<str>);

/// A part of what notifications, or channels, may take.
#[derive(Debug)]
pub struct Room {
    used: Arc<AtomicUsize>,
    bytes: usize,
}

impl Room {
    /// Takes bytes that fit, or that [`Room::fits`] has counted already.
    fn new(used: &Arc<AtomicUsize>, bytes: usize) -> Room {
        Room { used: Arc::clone(used), bytes }
    }

    /// Counts bytes, where they fit.
    fn fits(used: &Arc<AtomicUsize>, bytes: usize, limit: usize) -> bool {
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Bytes that it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What is on its way to sessions.
pub struct Exchange {
    limit: usize,
    used: Arc<AtomicUsize>,
    /// The same of channels that are listened to.
    listened: Arc<AtomicUsize>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    listeners: HashMap<i32, Listener>,
    /// The sessions that listen to a channel of a database.
    hearers: HashMap<(Arc<str>, Arc<str>), Vec<i32>>,
    /// The next ticket, and those that are out.
    next: u64,
    out: BTreeSet<u64>,
    /// Of transactions that have committed, by their number: what they notify of, and the next ticket at that moment.
    ready: BTreeMap<(Csn, u64), Ready>,
}

struct Ready {
    next: u64,
    database: Arc<str>,
    notes: Vec<Note>,
}

struct Listener {
    database: Arc<str>,
    channels: HashSet<Arc<str>>,
    /// What it has not read, in places of the exchange's room.
    unread: VecDeque<(Arc<Note>, Room)>,
    /// What that takes together.
    bytes: usize,
    bell: Option<Waker>,
}

/// What a transaction that is about to commit notifies of: sent, or forgotten when this is dropped.
pub struct Ticket<'a> {
    exchange: &'a Exchange,
    number: u64,
    database: Arc<str>,
    notes: Vec<Note>,
    committed: Option<Csn>,
}

impl Ticket<'_> {
    /// The transaction has committed with this number.
    pub fn send(mut self, csn: Csn) {
        self.committed = Some(csn);
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let notes = std::mem::take(&mut self.notes);
        let mut state = self.exchange.state.lock();
        state.out.remove(&self.number);
        if let Some(csn) = self.committed {
            let (next, database) = (state.next, Arc::clone(&self.database));
            state.ready.insert((csn, self.number), Ready { next, database, notes });
        }
        let bells = state.publish(&self.exchange.used);
        drop(state);
        bells.iter().for_each(|bell| (bell.0)());
    }
}

impl Exchange {
    /// One of a process with this memory limit, in bytes.
    pub fn new(memory: u64) -> Exchange {
        let share = usize::try_from(memory / MEMORY_SHARE).unwrap_or(usize::MAX);
        Exchange {
            limit: share.clamp(NOTIFICATION_BYTES, MOST_BYTES),
            used: Arc::default(),
            listened: Arc::default(),
            state: Mutex::default(),
        }
    }

    /// Room for a channel that a session listens to next to those that take `others` bytes.
    ///
    /// # Errors
    /// `54000`.
    pub fn take_channel(&self, name: &str, others: usize) -> Result<Room> {
        let bytes = name.len() + NOTE_BYTES;
        if others + bytes > self.limit / SHARE {
            return Err(SqlError::new("54000", "the session listens to too many channels"));
        }
        match Room::fits(&self.listened, bytes, self.limit) {
            true => Ok(Room::new(&self.listened, bytes)),
            false => Err(SqlError::new("54000", "sessions listen to too many channels")),
        }
    }

    /// Which part of the room is taken, from 0 to 1.
    pub fn usage(&self) -> f64 {
        self.used.load(Ordering::Relaxed) as f64 / self.limit as f64
    }

    /// A transaction that notifies sessions of its database is about to commit: its ticket.
    ///
    /// # Errors
    /// `54000`: there is no room; the transaction must not commit.
    pub fn open(&self, database: &Arc<str>, pid: i32, told: Vec<Told>) -> Result<Ticket<'_>> {
        let bytes = |(channel, payload): &Told| channel.len() + payload.len() + NOTE_BYTES;
        let all: usize = told.iter().map(bytes).sum();
        if all > self.limit / SHARE {
            let text = format!("A transaction may take {} bytes of it.", self.limit / SHARE);
            return Err(too_many().detail(text));
        }
        let mut state = self.state.lock();
        if let Some(pid) = state.behind(database, &told, self.limit / SHARE) {
            let text = format!(
                "The server process with PID {pid} has not read the notifications of before."
            );
            return Err(too_many().detail(text));
        }
        if !Room::fits(&self.used, all, self.limit) {
            return Err(too_many());
        }
        let number = state.next;
        state.next += 1;
        state.out.insert(number);
        drop(state);
        let note = |told: Told| {
            let room = Room::new(&self.used, bytes(&told));
            Note { channel: told.0, payload: told.1, pid, room }
        };
        let (database, notes) = (Arc::clone(database), told.into_iter().map(note).collect());
        Ok(Ticket { exchange: self, number, database, notes, committed: None })
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
        let known = state.remove(pid);
        if channels.is_empty() {
            drop(state);
            // What it has not read may be much.
            drop(known);
            return;
        }
        for channel in &channels {
            let key = (Arc::clone(database), Arc::clone(channel));
            state.hearers.entry(key).or_default().push(pid);
        }
        let (unread, bytes) = known.map(|known| (known.unread, known.bytes)).unwrap_or_default();
        let database = Arc::clone(database);
        state.listeners.insert(pid, Listener { database, channels, unread, bytes, bell });
    }

    /// A session has gone.
    pub fn leave(&self, pid: i32) {
        let known = self.state.lock().remove(pid);
        drop(known);
    }

    /// What a session has not been told yet, or some of it; none when that is all.
    pub fn read(&self, pid: i32) -> Vec<Arc<Note>> {
        let mut state = self.state.lock();
        let Some(listener) = state.listeners.get_mut(&pid) else { return Vec::new() };
        let mut notes = Vec::new();
        while notes.len() < READ_NOTES
            && let Some((note, place)) = listener.unread.pop_front()
        {
            listener.bytes -= note.room.bytes + place.bytes;
            if listener.channels.contains(&note.channel) {
                notes.push(note);
            }
        }
        if listener.unread.is_empty() {
            listener.unread = VecDeque::new();
        }
        notes
    }
}

fn too_many() -> SqlError {
    SqlError::new("54000", "too many notifications in the NOTIFY queue")
}

impl State {
    /// A session that is to be told something, with the bytes that it has not read yet.
    fn behind(&self, database: &Arc<str>, told: &[Told], most: usize) -> Option<i32> {
        // Most of the time none is, whatever it listens to.
        let is_behind = |listener: &Listener| listener.bytes >= most;
        if !self.listeners.values().any(is_behind) {
            return None;
        }
        let hears = |told: &Told| {
            let hearers = self.hearers.get(&(Arc::clone(database), Arc::clone(&told.0)))?;
            hearers.iter().copied().find(|pid| self.listeners.get(pid).is_some_and(is_behind))
        };
        told.iter().find_map(hears)
    }

    /// Forgets a session that listens.
    fn remove(&mut self, pid: i32) -> Option<Listener> {
        let listener = self.listeners.remove(&pid)?;
        for channel in &listener.channels {
            let key = (Arc::clone(&listener.database), Arc::clone(channel));
            if let Some(hearers) = self.hearers.get_mut(&key) {
                hearers.retain(|hearer| *hearer != pid);
                if hearers.is_empty() {
                    self.hearers.remove(&key);
                }
            }
        }
        Some(listener)
    }

    /// Puts what may go into the queues; who is to be woken.
    fn publish(&mut self, used: &Arc<AtomicUsize>) -> Vec<Waker> {
        let mut woken = BTreeSet::new();
        while let Some(first) = self.ready.first_entry() {
            // Tickets that were given out later are of larger numbers.
            let before = first.get().next;
            if self.out.first().is_some_and(|ticket| *ticket < before) {
                break;
            }
            let ready = first.remove();
            self.deliver(ready, used, &mut woken);
        }
        let bell = |pid: i32| self.listeners.get(&pid)?.bell.clone();
        woken.into_iter().filter_map(bell).collect()
    }

    fn deliver(&mut self, ready: Ready, used: &Arc<AtomicUsize>, woken: &mut BTreeSet<i32>) {
        let Ready { database, notes, .. } = ready;
        for note in notes {
            let key = (Arc::clone(&database), Arc::clone(&note.channel));
            let Some(hearers) = self.hearers.get(&key) else { continue };
            let note = Arc::new(note);
            for pid in hearers {
                let Some(listener) = self.listeners.get_mut(pid) else { continue };
                // It has committed, so that this counts whether it fits or not.
                used.fetch_add(PLACE_BYTES, Ordering::Relaxed);
                let place = Room::new(used, PLACE_BYTES);
                listener.bytes += note.room.bytes + place.bytes;
                listener.unread.push_back((Arc::clone(&note), place));
                woken.insert(*pid);
            }
        }
    }
}

#[cfg(test)]
mod tests;
