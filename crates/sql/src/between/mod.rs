//! What does a session have to do with others, next to rows?
//!
//! Locks that programs name by numbers ([`advisory`]), and notifications ([`channels`], [`exchange`]). Functions within
//! queries ask for both, on whatever thread their step runs; what they have to tell the client is noted here, and the
//! session tells it.
//!
//! A statement may be run again before it has answered (`crate::query::until_locked`, `crate::plan`): what it did here is
//! undone first ([`Between::undo_statement`]), so that a lock is counted once. A session that asks for nothing of this pays
//! for no more than a look at one flag.
//!
//! Thread safety: shared; one thread of the session uses it at a time.

pub mod advisory;
mod chance;
pub mod channels;
pub mod exchange;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onlap::{AdvisoryMark, Transaction};
use parking_lot::Mutex;

use crate::counts::Counts;
use crate::error::{Result, SqlError};
use crate::instance::Instance;
use crate::session::Waker;
use advisory::Advisory;
use chance::Chance;
use channels::{Channels, Letter};
use exchange::Exchange;

/// Warnings of a statement that are kept until the client is told: each is some 100 bytes.
const WARNINGS: usize = 10_000;

/// A session's locks and channels.
pub struct Between {
    advisory: Advisory,
    channels: Channels,
    /// Whether the transaction has asked for any of it, or the session has locks.
    used: AtomicBool,
    /// The transaction under way, or the last one, among those that have locks.
    pub tx: Arc<AtomicU64>,
    /// What functions of the statement under way have to tell the client.
    warnings: Mutex<Vec<SqlError>>,
    /// What random() gives once setseed() was called.
    chance: Mutex<Option<Chance>>,
    /// What is done in the session's database.
    counts: Arc<Counts>,
}

/// A place in a transaction to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    advisory: AdvisoryMark,
    channels: channels::Mark,
}

impl Between {
    /// Of a new session.
    pub fn new(instance: &Arc<Instance>, database: &str, bell: Option<Waker>) -> Arc<Between> {
        Arc::new(Between {
            advisory: Advisory::new(instance),
            channels: Channels::new(database, bell),
            used: AtomicBool::new(false),
            tx: Arc::default(),
            warnings: Mutex::default(),
            chance: Mutex::default(),
            counts: instance.counts.of(database),
        })
    }

    /// What is done in the session's database.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Lets random() begin its numbers anew.
    pub fn set_seed(&self, seed: f64) {
        *self.chance.lock() = Some(Chance::of_seed(seed));
    }

    /// The next number of random(), if a seed was set.
    pub fn drawn(&self) -> Option<u64> {
        self.chance.lock().as_mut().map(Chance::draw)
    }

    /// Its advisory locks, for who is about to change them.
    pub fn advisory(&self) -> &Advisory {
        self.used.store(true, Ordering::Relaxed);
        &self.advisory
    }

    /// The channels that it listens to, and what it is to notify others of, for who is about to change that.
    pub fn channels(&self) -> &Channels {
        self.used.store(true, Ordering::Relaxed);
        &self.channels
    }

    /// Its number among those who have advisory locks.
    pub fn owner(&self) -> u64 {
        self.advisory.owner().id()
    }

    /// Whether it listens to any channels.
    pub fn listens(&self) -> bool {
        self.channels.listens()
    }

    /// The channels that it listens to.
    pub fn listening(&self) -> Vec<String> {
        self.channels.listening()
    }

    /// Whether the transaction is to notify others.
    pub fn notifies(&self) -> bool {
        self.is_used() && self.channels.notifies()
    }

    /// What the transaction's memory has of it.
    pub fn bytes(&self) -> usize {
        if self.is_used() { self.channels.bytes() } else { 0 }
    }

    fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// A transaction begins.
    pub fn begin(&self, tx: &Transaction) {
        self.tx.store(tx.lock_id(), Ordering::Relaxed);
        if self.is_used() {
            self.advisory.owner().use_in(tx);
        }
    }

    /// A statement begins.
    pub fn begin_statement(&self) {
        if self.is_used() {
            self.advisory.begin_statement();
            self.channels.begin_statement();
        }
    }

    /// The statement is run again: what it did is undone.
    pub fn undo_statement(&self) {
        if !self.is_used() {
            return;
        }
        self.advisory.undo_statement();
        self.channels.undo_statement();
    }

    /// The place that the transaction has come to.
    pub fn mark(&self) -> Mark {
        Mark { advisory: self.advisory.owner().mark(), channels: self.channels.mark() }
    }

    /// Undoes what the transaction did since.
    pub fn back_to(&self, mark: &Mark) {
        self.advisory.owner().back_to(mark.advisory);
        self.channels.back_to(mark.channels);
    }

    /// The transaction is about to commit.
    ///
    /// # Errors
    /// `54000`: what it notifies of has no room; it must not commit.
    pub fn close<'a>(&'a self, exchange: &'a Exchange, pid: i32) -> Result<Option<Letter<'a>>> {
        self.is_used().then(|| self.channels.close(exchange, pid)).transpose()
    }

    /// The transaction has ended, or is undone: what it asked for and was not sent is forgotten.
    pub fn undo(&self) {
        if !self.is_used() {
            return;
        }
        self.advisory.owner().end_transaction();
        self.advisory.begin_statement();
        self.channels.undo();
        self.used.store(self.advisory.owner().has_any(), Ordering::Relaxed);
    }

    /// The session ends.
    pub fn leave(&self, instance: &Instance, pid: i32) {
        self.undo();
        self.advisory.owner().unlock_all();
        instance.exchange.leave(pid);
    }

    /// Notes what the client is to be told; what is too much is left out.
    pub fn warn(&self, warning: SqlError) {
        let mut warnings = self.warnings.lock();
        if warnings.len() < WARNINGS {
            warnings.push(warning);
        }
    }

    /// What the client is to be told.
    pub fn take_warnings(&self) -> Vec<SqlError> {
        std::mem::take(&mut *self.warnings.lock())
    }
}
