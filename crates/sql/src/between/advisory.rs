//! Which advisory locks does a session take?
//!
//! The engine knows who has which (`onlap::AdvisoryOwner`); here is how a statement waits for one. A step that waits gives
//! back its statement's turn and place among queries ([`crate::scope::Scope::waiting`]): the session that is waited for may
//! need them. Thread safety: as [`super`] says.

use std::collections::HashMap;
use std::sync::Arc;

use onlap::{AdvisoryKey, AdvisoryOwner, AdvisoryWish, Error, ErrorKind, LockMode};
use parking_lot::Mutex;

use crate::error::{Result, SqlError, state};
use crate::instance::Instance;
use crate::scope::Scope;

/// How a lock is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Shared with others that share it.
    pub mode: LockMode,
    /// Until the end of the transaction.
    pub of_transaction: bool,
    /// Whether to wait for it.
    pub waits: bool,
}

/// A session's advisory locks.
pub struct Advisory {
    owner: AdvisoryOwner,
    done: Mutex<Done>,
}

/// What a statement did to locks of the session.
#[derive(Default)]
struct Done {
    /// How often it took each more than it gave it back.
    net: HashMap<(AdvisoryKey, LockMode), i64>,
    /// The transaction's locks before it.
    before: onlap::AdvisoryMark,
    /// What it gave back before it was run again.
    given_back: HashMap<(AdvisoryKey, LockMode), i64>,
}

impl Advisory {
    /// None yet.
    pub fn new(instance: &Arc<Instance>) -> Advisory {
        Advisory { owner: instance.db.advisory_owner(), done: Mutex::default() }
    }

    /// Who has them.
    pub fn owner(&self) -> &AdvisoryOwner {
        &self.owner
    }

    /// A statement begins.
    pub fn begin_statement(&self) {
        let mut done = self.done.lock();
        if !done.net.is_empty() || !done.given_back.is_empty() {
            *done = Done::default();
        }
        done.before = self.owner.mark();
    }

    /// The statement is run again: locks that it took are given back, and what it gave back it is not asked for again.
    pub fn undo_statement(&self) {
        let mut done = self.done.lock();
        self.owner.back_to(done.before);
        for (what, net) in std::mem::take(&mut done.net) {
            for _ in 0..net {
                self.owner.unlock(what.0, what.1);
            }
            if net < 0 {
                *done.given_back.entry(what).or_default() -= net;
            }
        }
    }

    /// Takes a lock; false where another session has it and no wait is wanted.
    ///
    /// # Errors
    /// `40P01`, `53200`, `55P03`, `57014`.
    pub fn lock(&self, scope: &Scope, key: AdvisoryKey, wanted: Wanted) -> Result<bool> {
        let (tx, timeout) = {
            let tx = scope.tx()?;
            (tx.lock_id(), tx.lock_timeout())
        };
        let Wanted { mode, of_transaction, waits } = wanted;
        let wish = AdvisoryWish { of_transaction, go_on: None, timeout };
        let mut has = self.owner.lock(tx, key, mode, wish).map_err(refusal)?;
        if !has && waits {
            scope.go_on()?;
            let go_on = || {
                let goes_on = scope.go_on();
                goes_on.map_err(|_| Error::new(ErrorKind::Cancelled, "the statement is to end"))
            };
            let wish = AdvisoryWish { go_on: Some(&go_on), ..wish };
            let waited = scope.waiting(|| self.owner.lock(tx, key, mode, wish));
            has = match waited {
                Err(e) if e.kind() == ErrorKind::Cancelled => {
                    scope.go_on()?;
                    return Err(e.into());
                }
                waited => waited.map_err(refusal)?,
            };
        }
        if has && !of_transaction {
            *self.done.lock().net.entry((key, mode)).or_default() += 1;
        }
        Ok(has)
    }

    /// Gives one of the session's back; false where it has none.
    pub fn unlock(&self, key: AdvisoryKey, mode: LockMode) -> bool {
        let mut done = self.done.lock();
        let what = (key, mode);
        if let Some(left) = done.given_back.get_mut(&what).filter(|left| **left > 0) {
            *left -= 1;
            return true;
        }
        let had = self.owner.unlock(key, mode);
        if had {
            *done.net.entry(what).or_default() -= 1;
        }
        had
    }

    /// Gives all of the session's back.
    pub fn unlock_all(&self) {
        self.done.lock().net.clear();
        self.owner.unlock_all();
    }
}

fn refusal(error: Error) -> SqlError {
    match error.kind() {
        ErrorKind::LimitExceeded => SqlError::new(state::OUT_OF_MEMORY, "out of shared memory")
            .hint("You might need to increase max_locks_per_transaction."),
        ErrorKind::LockNotAvailable => {
            SqlError::new("55P03", "canceling statement due to lock timeout")
        }
        _ => error.into(),
    }
}
