//! Which channels does a session listen to, and what does its transaction notify others of?
//!
//! LISTEN, UNLISTEN and NOTIFY count when the transaction commits, and not at all where it is undone, also back to a
//! savepoint. What is notified twice alike is told once. Thread safety: as [`super`] says.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap::Csn;
use parking_lot::Mutex;

use super::exchange::{Exchange, Note, Room};
use crate::error::{Result, SqlError, state};
use crate::session::Waker;

/// Bytes from which on a channel's name, and what is told, are too long.
const NAME_BYTES: usize = 64;
const PAYLOAD_BYTES: usize = 8000;

/// A session's channels.
pub struct Channels {
    database: Arc<str>,
    bell: Option<Waker>,
    listens: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those that it listens to, in the order in which it began, with the room that they take.
    listening: Vec<(Arc<str>, Room)>,
    pending: Pending,
    /// Where the statement under way began.
    statement: Mark,
}

/// What a transaction asked for.
#[derive(Default)]
struct Pending {
    changes: Vec<Change>,
    notes: Vec<Note>,
    known: HashSet<(Arc<str>, Arc<str>)>,
}

enum Change {
    Listen(Arc<str>, Room),
    Unlisten(Arc<str>, #[expect(dead_code, reason = "it is given back with the change")] Room),
    UnlistenAll,
}

/// A place in a transaction to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    changes: usize,
    notes: usize,
}

impl Pending {
    fn truncate(&mut self, mark: Mark) {
        self.changes.truncate(mark.changes);
        for note in self.notes.drain(mark.notes.min(self.notes.len())..) {
            self.known.remove(&(note.channel, note.payload));
        }
    }

    fn mark(&self) -> Mark {
        Mark { changes: self.changes.len(), notes: self.notes.len() }
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
        self.state.lock().listening.iter().map(|(name, _)| name.to_string()).collect()
    }

    /// LISTEN.
    ///
    /// # Errors
    /// `54000`.
    pub fn listen(&self, exchange: &Exchange, channel: &str) -> Result<()> {
        let room = exchange.take_channel(channel)?;
        self.state.lock().pending.changes.push(Change::Listen(channel.into(), room));
        Ok(())
    }

    /// UNLISTEN; none for all.
    ///
    /// # Errors
    /// `54000`.
    pub fn unlisten(&self, exchange: &Exchange, channel: Option<&str>) -> Result<()> {
        match channel {
            Some(channel) => {
                let room = exchange.take_channel(channel)?;
                self.state.lock().pending.changes.push(Change::Unlisten(channel.into(), room));
            }
            None => self.unlisten_all(),
        }
        Ok(())
    }

    /// UNLISTEN *.
    pub fn unlisten_all(&self) {
        let mut state = self.state.lock();
        if !matches!(state.pending.changes.last(), Some(Change::UnlistenAll)) {
            state.pending.changes.push(Change::UnlistenAll);
        }
    }

    /// NOTIFY.
    ///
    /// # Errors
    /// `22023`: no name, or too much; `54000`: there are too many.
    pub fn notify(&self, exchange: &Exchange, channel: &str, payload: &str) -> Result<()> {
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
        let mut state = self.state.lock();
        let (channel, payload): (Arc<str>, Arc<str>) = (channel.into(), payload.into());
        if state.pending.known.contains(&(Arc::clone(&channel), Arc::clone(&payload))) {
            return Ok(());
        }
        let room = exchange.take(channel.len() + payload.len())?;
        state.pending.known.insert((Arc::clone(&channel), Arc::clone(&payload)));
        let database = Arc::clone(&self.database);
        state.pending.notes.push(Note { database, channel, payload, pid: 0, _room: room });
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

    /// The transaction is about to commit: what it asked for goes on its way with the result ([`Letter::send`]).
    pub fn close(&self, exchange: &Exchange, pid: i32) -> Letter<'_> {
        let mut pending = std::mem::take(&mut self.state.lock().pending);
        pending.notes.iter_mut().for_each(|note| note.pid = pid);
        let ticket = (!pending.notes.is_empty()).then(|| exchange.open());
        Letter { channels: self, pid, pending, ticket }
    }

    /// Listens as the transaction asked for.
    fn change(&self, exchange: &Exchange, pid: i32, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        for change in changes {
            match change {
                Change::Listen(name, room) => {
                    if state.listening.iter().all(|(known, _)| *known != name) {
                        state.listening.push((name, room));
                    }
                }
                Change::Unlisten(name, _) => state.listening.retain(|(known, _)| *known != name),
                Change::UnlistenAll => state.listening.clear(),
            }
        }
        let names = state.listening.iter().map(|(name, _)| Arc::clone(name)).collect();
        exchange.listen(pid, &self.database, names, self.bell.clone());
        self.listens.store(!state.listening.is_empty(), Ordering::Relaxed);
    }
}

/// What a transaction that commits asked for.
pub struct Letter<'a> {
    channels: &'a Channels,
    pid: i32,
    pending: Pending,
    ticket: Option<u64>,
}

impl Letter<'_> {
    /// The transaction has committed, or has not.
    pub fn send(self, exchange: &Exchange, committed: Option<Csn>) {
        let Letter { channels, pid, pending, ticket } = self;
        let notes = match committed {
            Some(csn) => {
                channels.change(exchange, pid, pending.changes);
                Some((csn, pending.notes))
            }
            None => None,
        };
        if let Some(ticket) = ticket {
            exchange.close(ticket, notes);
        }
    }
}
