//! Which channels does a session listen to, and what does its transaction notify others of?
//!
//! LISTEN, UNLISTEN and NOTIFY count when the transaction commits, and not at all where it is undone, also back to a
//! savepoint. What is notified twice alike is told once. Until then it is memory of the transaction
//! (`onlap::Transaction::keep`). Thread safety: as [`super`] says.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap::Csn;
use parking_lot::Mutex;

use super::exchange::{Exchange, Room, Ticket, Told};
use crate::error::{Result, SqlError, state};
use crate::scope::Scope;
use crate::session::Waker;

/// Bytes from which on a channel's name, and what is told, are too long.
const NAME_BYTES: usize = 64;
const PAYLOAD_BYTES: usize = 8000;
/// What each takes next to its texts until the transaction commits.
const PENDING_BYTES: usize = 200;

/// A session's channels.
pub struct Channels {
    database: Arc<str>,
    bell: Option<Waker>,
    listens: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    listening: Listening,
    pending: Pending,
    /// Where the statement under way began.
    statement: Mark,
}

/// The channels that a session listens to, in the order in which it began.
#[derive(Default)]
struct Listening {
    heard: BTreeMap<u64, Heard>,
    places: HashMap<Arc<str>, u64>,
    /// The place of the next one.
    next: u64,
    /// What all take.
    bytes: usize,
}

/// A channel that a session listens to.
struct Heard {
    name: Arc<str>,
    room: Room,
}

/// What a transaction changes of the channels that its session listens to.
struct Changed {
    gone: Vec<Arc<str>>,
    new: Vec<Heard>,
}

impl Listening {
    fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    fn apply(&mut self, changed: Changed) {
        for name in &changed.gone {
            let heard = self.places.remove(name).and_then(|place| self.heard.remove(&place));
            self.bytes -= heard.map_or(0, |heard| heard.room.bytes());
        }
        for heard in changed.new {
            self.bytes += heard.room.bytes();
            self.places.insert(Arc::clone(&heard.name), self.next);
            self.heard.insert(self.next, heard);
            self.next += 1;
        }
    }
}

/// What a transaction asked for.
#[derive(Default)]
struct Pending {
    changes: Vec<Change>,
    notes: Vec<Told>,
    known: HashSet<Told>,
    /// What all of that takes.
    bytes: usize,
}

enum Change {
    Listen(Arc<str>),
    Unlisten(Arc<str>),
    UnlistenAll,
}

impl Change {
    fn bytes(&self) -> usize {
        match self {
            Change::Listen(name) | Change::Unlisten(name) => name.len() + PENDING_BYTES,
            Change::UnlistenAll => PENDING_BYTES,
        }
    }
}

fn note_bytes((channel, payload): &Told) -> usize {
    channel.len() + payload.len() + PENDING_BYTES
}

/// A place in a transaction to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    changes: usize,
    notes: usize,
}

impl Pending {
    fn truncate(&mut self, mark: Mark) {
        let (changes, notes) = (self.changes.len(), self.notes.len());
        let gone = self.changes.drain(mark.changes.min(changes)..);
        self.bytes -= gone.map(|change| change.bytes()).sum::<usize>();
        for note in self.notes.drain(mark.notes.min(notes)..) {
            self.bytes -= note_bytes(&note);
            self.known.remove(&note);
        }
    }

    fn mark(&self) -> Mark {
        Mark { changes: self.changes.len(), notes: self.notes.len() }
    }

    /// Fails where the transaction has no room for `more` bytes.
    fn grow(&mut self, scope: &Scope, more: usize) -> Result<()> {
        scope.tx()?.keep(self.bytes + more)?;
        self.bytes += more;
        Ok(())
    }

    fn change(&mut self, scope: &Scope, change: Change) -> Result<()> {
        self.grow(scope, change.bytes())?;
        self.changes.push(change);
        Ok(())
    }
}

impl Channels {
    /// None yet, of a session in a database; `bell` wakes it.
    pub fn new(database: &str, bell: Option<Waker>) -> Channels {
        let (listens, state) = (AtomicBool::new(false), Mutex::default());
        Channels { database: database.into(), bell, listens, state }
    }

    /// Whether it listens to any.
    pub fn listens(&self) -> bool {
        self.listens.load(Ordering::Relaxed)
    }

    /// The channels that it listens to.
    pub fn listening(&self) -> Vec<String> {
        self.state.lock().listening.heard.values().map(|heard| heard.name.to_string()).collect()
    }

    /// Whether the transaction is to notify others.
    pub fn notifies(&self) -> bool {
        !self.state.lock().pending.notes.is_empty()
    }

    /// What the transaction asked for takes of its memory.
    pub fn bytes(&self) -> usize {
        self.state.lock().pending.bytes
    }

    /// LISTEN.
    ///
    /// # Errors
    /// `54000`.
    pub fn listen(&self, scope: &Scope, channel: &str) -> Result<()> {
        self.state.lock().pending.change(scope, Change::Listen(channel.into()))
    }

    /// UNLISTEN; none for all.
    ///
    /// # Errors
    /// `54000`.
    pub fn unlisten(&self, scope: &Scope, channel: Option<&str>) -> Result<()> {
        let mut state = self.state.lock();
        let change = match channel {
            Some(channel) => Change::Unlisten(channel.into()),
            None if matches!(state.pending.changes.last(), Some(Change::UnlistenAll)) => {
                return Ok(());
            }
            None => Change::UnlistenAll,
        };
        state.pending.change(scope, change)
    }

    /// NOTIFY.
    ///
    /// # Errors
    /// `22023`: no name, or too much; `54000`.
    pub fn notify(&self, scope: &Scope, channel: &str, payload: &str) -> Result<()> {
        let wrong = |text| Err(SqlError::new(state::BAD_PARAMETER, text));
        if channel.is_empty() {
            return wrong("channel name cannot be empty");
        }
        if channel.len() >= NAME_BYTES {
            return wrong("channel name too long");
        }
        if payload.len() >= PAYLOAD_BYTES {
            return wrong("payload string too long");
        }
        let note: Told = (channel.into(), payload.into());
        let pending = &mut self.state.lock().pending;
        if pending.known.contains(&note) {
            return Ok(());
        }
        pending.grow(scope, note_bytes(&note))?;
        pending.known.insert(note.clone());
        pending.notes.push(note);
        Ok(())
    }

    /// A statement begins.
    pub fn begin_statement(&self) {
        let mut state = self.state.lock();
        state.statement = state.pending.mark();
    }

    /// What the statement asked for is undone.
    pub fn undo_statement(&self) {
        let mut state = self.state.lock();
        let mark = state.statement;
        state.pending.truncate(mark);
    }

    /// The place that the transaction has come to.
    pub fn mark(&self) -> Mark {
        self.state.lock().pending.mark()
    }

    /// Undoes what the transaction asked for since.
    pub fn back_to(&self, mark: Mark) {
        self.state.lock().pending.truncate(mark);
    }

    /// Undoes all that the transaction asked for.
    pub fn undo(&self) {
        let mut state = self.state.lock();
        state.pending = Pending::default();
        state.statement = Mark::default();
    }

    /// The transaction is about to commit: what it asked for goes on its way when it has ([`Letter::send`]).
    ///
    /// # Errors
    /// `54000`: there is no room for it; the transaction must not commit.
    pub fn close<'a>(&'a self, exchange: &'a Exchange, pid: i32) -> Result<Letter<'a>> {
        let mut state = self.state.lock();
        let Pending { changes, notes, .. } = std::mem::take(&mut state.pending);
        let changed = match changes.is_empty() {
            true => None,
            false => Some(state.listening.changed(exchange, changes)?),
        };
        drop(state);
        let ticket = match notes.is_empty() {
            true => None,
            false => Some(exchange.open(&self.database, pid, notes)?),
        };
        Ok(Letter { channels: self, exchange, pid, changed, ticket })
    }

    /// Listens to other channels from now on.
    fn hear(&self, exchange: &Exchange, pid: i32, changed: Changed) {
        let new: Vec<Arc<str>> = changed.new.iter().map(|heard| Arc::clone(&heard.name)).collect();
        exchange.listen((pid, &self.database), &changed.gone, &new, self.bell.as_ref());
        let listening = &mut self.state.lock().listening;
        listening.apply(changed);
        self.listens.store(!listening.heard.is_empty(), Ordering::Relaxed);
    }
}

impl Listening {
    /// What changes that come one after the other come to; those that are new have room.
    fn changed(&self, exchange: &Exchange, changes: Vec<Change>) -> Result<Changed> {
        let (mut all_gone, mut since) = (false, HashMap::<Arc<str>, bool>::new());
        let mut order: Vec<Arc<str>> = Vec::new();
        for change in changes {
            let has = |name: &Arc<str>| {
                since.get(name).copied().unwrap_or_else(|| !all_gone && self.has(name))
            };
            match change {
                Change::Listen(name) => {
                    if !has(&name) {
                        since.insert(Arc::clone(&name), true);
                        order.push(name);
                    }
                }
                Change::Unlisten(name) => {
                    if has(&name) {
                        since.insert(name, false);
                    }
                }
                Change::UnlistenAll => {
                    all_gone = true;
                    since.clear();
                    order.clear();
                }
            }
        }
        let gone: Vec<Arc<str>> = match all_gone {
            true => self.places.keys().cloned().collect(),
            false => since.keys().filter(|name| self.has(name)).cloned().collect(),
        };
        let of = |name: &Arc<str>| self.places.get(name).and_then(|place| self.heard.get(place));
        let bytes = gone.iter().filter_map(of).map(|heard| heard.room.bytes()).sum::<usize>();
        let (mut new, mut bytes) = (Vec::new(), self.bytes - bytes);
        // One that came, went and came again counts where it came last.
        for name in order.into_iter().rev() {
            if since.remove(&name) == Some(true) {
                let room = exchange.take_channel(&name, bytes)?;
                bytes += room.bytes();
                new.push(Heard { name, room });
            }
        }
        new.reverse();
        Ok(Changed { gone, new })
    }
}

/// What a transaction that commits asked for: forgotten where this is dropped.
pub struct Letter<'a> {
    channels: &'a Channels,
    exchange: &'a Exchange,
    pid: i32,
    changed: Option<Changed>,
    ticket: Option<Ticket<'a>>,
}

impl Letter<'_> {
    /// The transaction has committed.
    pub fn send(self, csn: Csn) {
        if let Some(changed) = self.changed {
            self.channels.hear(self.exchange, self.pid, changed);
        }
        if let Some(ticket) = self.ticket {
            ticket.send(csn);
        }
    }
}
