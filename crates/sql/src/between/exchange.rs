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
//! **A place per transaction.** A session's queue has a place for each transaction that notifies it, however much that tells:
//! the notifications are there once, and a session passes over those that it does not hear.
//!
//! **Bounded.** What has committed and was not read yet has room of the exchange ([`Room`]), which is asked for before the
//! commit, with that of the places in the queues of those who listen then: that fails (`54000`) where there is none. One transaction has no more than a quarter of it, and where a session
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

    /// A part of it, where it has as much.
    fn part(&mut self, bytes: usize) -> Option<Room> {
        self.bytes = self.bytes.checked_sub(bytes)?;
        Some(Room { used: Arc::clone(&self.used), bytes })
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
    hearers: HashMap<(Arc<str>, Arc<str>), BTreeSet<i32>>,
    /// How many transactions have told something.
    told: u64,
    /// The next ticket, and those that are out.
    next: u64,
    out: BTreeSet<u64>,
    /// Of transactions that have committed, by their number: what they notify of, and the next ticket at that moment.
    ready: BTreeMap<(Csn, u64), Ready>,
}

struct Ready {
    next: u64,
    database: Arc<str>,
    notes: Vec<Arc<Note>>,
    places: Room,
}

/// What a transaction has told.
struct Batch {
    /// The how manieth it was that told something.
    number: u64,
    notes: Vec<Arc<Note>>,
}

impl Batch {
    fn bytes(&self) -> usize {
        self.notes.iter().map(|note| note.room.bytes).sum()
    }
}

/// What a session has not read of a batch.
struct Unread {
    batch: Arc<Batch>,
    /// The next notification.
    at: usize,
    /// What it takes of the listener's share.
    bytes: usize,
    _place: Room,
}

struct Listener {
    database: Arc<str>,
    /// Its channels, each with the number of batches that were told before it began to listen to it.
    channels: HashMap<Arc<str>, u64>,
    unread: VecDeque<Unread>,
    /// What that takes together.
    bytes: usize,
    bell: Option<Waker>,
}

/// What a transaction that is about to commit notifies of: sent, or forgotten when this is dropped.
pub struct Ticket<'a> {
    exchange: &'a Exchange,
    number: u64,
    database: Arc<str>,
    notes: Vec<Arc<Note>>,
    places: Room,
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
        let none = Room::new(&self.exchange.used, 0);
        let places = std::mem::replace(&mut self.places, none);
        let mut state = self.exchange.state.lock();
        state.out.remove(&self.number);
        if let Some(csn) = self.committed {
            let (next, database) = (state.next, Arc::clone(&self.database));
            state.ready.insert((csn, self.number), Ready { next, database, notes, places });
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
        let hearers = state.hearers(database, told.iter().map(|told| &told.0));
        if let Some(pid) = state.behind(&hearers, self.limit / SHARE) {
            let text = format!(
                "The server process with PID {pid} has not read the notifications of before."
            );
            return Err(too_many().detail(text));
        }
        let places = hearers.len() * PLACE_BYTES;
        if !Room::fits(&self.used, all + places, self.limit) {
            return Err(too_many());
        }
        let places = Room::new(&self.used, places);
        let number = state.next;
        state.next += 1;
        state.out.insert(number);
        drop(state);
        let note = |told: Told| {
            let room = Room::new(&self.used, bytes(&told));
            Arc::new(Note { channel: told.0, payload: told.1, pid, room })
        };
        let (database, notes) = (Arc::clone(database), told.into_iter().map(note).collect());
        Ok(Ticket { exchange: self, number, database, notes, places, committed: None })
    }

    /// A session listens to some channels no more, and then to others, from now on.
    pub fn listen(
        &self,
        (pid, database): (i32, &Arc<str>),
        gone: &[Arc<str>],
        new: &[Arc<str>],
        bell: Option<&Waker>,
    ) {
        let mut state = self.state.lock();
        let State { listeners, hearers, told, .. } = &mut *state;
        let listener = listeners.entry(pid).or_insert_with(|| Listener {
            database: Arc::clone(database),
            channels: HashMap::new(),
            unread: VecDeque::new(),
            bytes: 0,
            bell: bell.cloned(),
        });
        for channel in gone {
            if listener.channels.remove(channel).is_some() {
                hear_no_more(hearers, database, channel, pid);
            }
        }
        for channel in new {
            listener.channels.insert(Arc::clone(channel), *told);
            let key = (Arc::clone(database), Arc::clone(channel));
            hearers.entry(key).or_default().insert(pid);
        }
        let ended = match listener.channels.is_empty() {
            true => listeners.remove(&pid),
            false => None,
        };
        drop(state);
        // What it has not read may be much.
        drop(ended);
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
            && let Some(unread) = listener.unread.front_mut()
        {
            let Some(note) = unread.batch.notes.get(unread.at) else {
                listener.bytes -= unread.bytes;
                listener.unread.pop_front();
                continue;
            };
            unread.at += 1;
            let began = listener.channels.get(&note.channel);
            if began.is_some_and(|began| *began < unread.batch.number) {
                notes.push(Arc::clone(note));
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
    /// A session among those that are to be told something that has not read as many bytes yet.
    fn behind(&self, hearers: &BTreeSet<i32>, most: usize) -> Option<i32> {
        let is_behind = |pid: &&i32| self.listeners.get(pid).is_some_and(|l| l.bytes >= most);
        hearers.iter().find(is_behind).copied()
    }

    /// The sessions that listen to any of these channels.
    fn hearers<'a>(
        &self,
        database: &Arc<str>,
        channels: impl Iterator<Item = &'a Arc<str>>,
    ) -> BTreeSet<i32> {
        let (mut known, mut all) = (HashSet::new(), BTreeSet::new());
        for channel in channels.filter(|channel| known.insert(Arc::clone(channel))) {
            let hearers = self.hearers.get(&(Arc::clone(database), Arc::clone(channel)));
            all.extend(hearers.into_iter().flatten());
        }
        all
    }

    /// Forgets a session that listens.
    fn remove(&mut self, pid: i32) -> Option<Listener> {
        let listener = self.listeners.remove(&pid)?;
        for channel in listener.channels.keys() {
            hear_no_more(&mut self.hearers, &listener.database, channel, pid);
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
        let Ready { database, notes, mut places, .. } = ready;
        let hearers = self.hearers(&database, notes.iter().map(|note| &note.channel));
        if hearers.is_empty() {
            return;
        }
        self.told += 1;
        let batch = Arc::new(Batch { number: self.told, notes });
        let bytes = batch.bytes() + PLACE_BYTES;
        for pid in hearers {
            let Some(listener) = self.listeners.get_mut(&pid) else { continue };
            let place = places.part(PLACE_BYTES).unwrap_or_else(|| {
                // It began to listen since the transaction asked for room, which has committed: this counts whether it fits or not.
                used.fetch_add(PLACE_BYTES, Ordering::Relaxed);
                Room::new(used, PLACE_BYTES)
            });
            listener.bytes += bytes;
            let unread = Unread { batch: Arc::clone(&batch), at: 0, bytes, _place: place };
            listener.unread.push_back(unread);
            woken.insert(pid);
        }
    }
}

/// A session listens to a channel no more.
fn hear_no_more(
    hearers: &mut HashMap<(Arc<str>, Arc<str>), BTreeSet<i32>>,
    database: &Arc<str>,
    channel: &Arc<str>,
    pid: i32,
) {
    let key = (Arc::clone(database), Arc::clone(channel));
    if let Some(of_channel) = hearers.get_mut(&key) {
        of_channel.remove(&pid);
        if of_channel.is_empty() {
            hearers.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests;
