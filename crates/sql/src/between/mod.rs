//! What does a session have to do with others, next to rows?
//!
//! Locks that programs name by numbers ([`advisory`]), and notifications ([`channels`], [`exchange`]). Functions within
//! queries ask for both, on whatever thread their step runs; what they have to tell the client is noted here, and the
//! session tells it.
//!
//! A statement may be run again before it has answered (`crate::query::until_locked`, `crate::plan`): what it did here is
//! undone first ([`Between::undo_statement`]), so that a lock is counted once.
//!
//! Thread safety: shared; one thread of the session uses it at a time.

pub mod advisory;
pub mod channels;
pub mod exchange;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap::{AdvisoryMark, Transaction};
use parking_lot::Mutex;

use crate::error::SqlError;
use crate::instance::Instance;
use crate::session::Waker;
use advisory::Advisory;
use channels::Channels;

/// Warnings of a statement that are kept until the client is told: each is some 100 bytes.
const WARNINGS: usize = 10_000;

/// A session's locks and channels.
pub struct Between {
    /// Its advisory locks.
    pub advisory: Advisory,
    /// The channels that it listens to, and what it is to notify others of.
    pub channels: Channels,
    /// The transaction under way, or the last one, among those that have locks.
    pub tx: Arc<AtomicU64>,
    /// What functions of the statement under way have to tell the client.
    warnings: Mutex<Vec<SqlError>>,
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
            tx: Arc::default(),
            warnings: Mutex::default(),
        })
    }

    /// A transaction begins.
    pub fn begin(&self, tx: &Transaction) {
        self.tx.store(tx.lock_id(), Ordering::Relaxed);
        self.advisory.owner().use_in(tx);
    }

    /// A statement begins.
    pub fn begin_statement(&self) {
        self.advisory.begin_statement();
        self.channels.begin_statement();
    }

    /// The statement is run again: what it did is undone.
    pub fn undo_statement(&self) {
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

    /// The transaction is undone.
    pub fn undo(&self) {
        self.advisory.owner().end_transaction();
        self.channels.undo();
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
