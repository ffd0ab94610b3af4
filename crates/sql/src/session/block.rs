//! Which transaction is the session in?
//!
//! A simple query's text, or the messages up to a Sync, are one implicit transaction; BEGIN makes it
//! explicit. A failed statement leaves an explicit transaction failed until ROLLBACK (or ROLLBACK TO a
//! savepoint), and ends an implicit one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use onlap::{Isolation, Savepoint, TransactionOptions};

use crate::catalog::objects::Pending;
use crate::error::{Result, SqlError, state};
use crate::instance::Instance;
use crate::scope::Scope;
use crate::session::Roles;
use crate::settings::Mark;

/// What a session goes back to beside what its transaction wrote.
#[derive(Clone)]
pub struct Remembered {
    /// What is set.
    pub settings: Mark,
    /// The roles, and what they are after the transaction, where that is something else.
    pub roles: (Roles, Option<Roles>),
}

/// A transaction of the session.
pub struct Block {
    /// Its transaction, shared with plans.
    pub scope: Arc<Scope>,
    /// What it changed of objects that the engine does not know.
    pub pending: Pending,
    /// BEGIN was said.
    pub explicit: bool,
    /// A statement failed.
    pub failed: bool,
    /// Whether a statement ran in it: some settings come before.
    pub used: bool,
    /// Whether a statement saw anything: from then on its snapshot stands.
    looked: bool,
    /// How it was begun.
    pub options: TransactionOptions,
    /// Named places to go back to.
    savepoints: Vec<Place>,
    /// Whether it changed tables or indexes of the engine.
    pub changed_catalog: bool,
    /// Whether plans of other sessions are outdated by it.
    pub changed_for_others: bool,
    /// Whether it has written anything that a rollback takes back.
    pub changed: bool,
}

/// A place in a transaction to go back to.
pub struct Place {
    name: String,
    session: Remembered,
    savepoint: Savepoint,
    pending: usize,
}

impl Block {
    /// Begins a transaction.
    ///
    /// # Errors
    /// The database was closed.
    pub fn begin(
        instance: &Instance,
        options: TransactionOptions,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Block> {
        let tx = instance.db.begin_with(options)?;
        Ok(Block {
            scope: Scope::new(tx, cancel, instance.runner.room()),
            pending: Pending::default(),
            explicit: false,
            failed: false,
            used: false,
            looked: false,
            options,
            savepoints: Vec::new(),
            changed_catalog: false,
            changed_for_others: false,
            changed: false,
        })
    }

    /// The same transaction, for a routine within its session.
    pub fn within(scope: &Arc<Scope>, options: TransactionOptions) -> Block {
        Block {
            scope: Arc::clone(scope),
            pending: Pending::default(),
            explicit: true,
            failed: false,
            used: true,
            looked: true,
            options,
            savepoints: Vec::new(),
            changed_catalog: false,
            changed_for_others: false,
            changed: false,
        }
    }

    /// Where one snapshot is for all statements: takes it at the first of them that sees anything, as
    /// PostgreSQL does, not at BEGIN.
    ///
    /// # Errors
    /// The database was closed.
    pub fn look(&mut self) -> Result<()> {
        if self.looked {
            return Ok(());
        }
        self.looked = true;
        if self.explicit && !self.changed && self.options.isolation != Isolation::ReadCommitted {
            self.scope.tx()?.renew_snapshot()?;
        }
        Ok(())
    }

    /// Makes everything visible.
    ///
    /// # Errors
    /// Those of the engine's commit.
    pub fn commit(self, instance: &Instance) -> Result<()> {
        if let Some(tx) = self.scope.take() {
            instance.commit(tx, &self.pending)?;
        }
        if self.changed_for_others {
            instance.catalog_changed();
        }
        Ok(())
    }

    /// Forgets everything.
    pub fn rollback(self, instance: &Instance) {
        if let Some(tx) = self.scope.take() {
            tx.rollback();
        }
        if self.changed_for_others {
            instance.catalog_changed();
        }
    }

    /// SAVEPOINT.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn savepoint(&mut self, name: String, session: Remembered) -> Result<()> {
        let place = self.place(name, session)?;
        self.savepoints.push(place);
        Ok(())
    }

    /// The place that the transaction has come to.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn place(&self, name: String, session: Remembered) -> Result<Place> {
        let savepoint = self.scope.tx()?.savepoint();
        Ok(Place { name, session, savepoint, pending: self.pending.len() })
    }

    /// Undoes what was done since a place: what the session goes back to.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn back_to(&mut self, place: &Place) -> Result<Remembered> {
        self.scope.tx()?.rollback_to(&place.savepoint)?;
        self.pending.truncate(place.pending);
        Ok(place.session.clone())
    }

    /// RELEASE.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn release(&mut self, name: &str) -> Result<()> {
        let at = self.find(name)?;
        self.savepoints.truncate(at);
        Ok(())
    }

    /// ROLLBACK TO: what the session goes back to.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn rollback_to(&mut self, name: &str) -> Result<Remembered> {
        let at = self.find(name)?;
        self.savepoints.truncate(at + 1);
        let place = &self.savepoints[at];
        self.scope.tx()?.rollback_to(&place.savepoint)?;
        self.pending.truncate(place.pending);
        self.failed = false;
        Ok(self.savepoints[at].session.clone())
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|p| p.name == name).ok_or_else(|| {
            SqlError::new(state::NO_SAVEPOINT, format!("savepoint \"{name}\" does not exist"))
        })
    }
}

/// A level by its name in SQL.
pub fn isolation_of(text: &str) -> Option<Isolation> {
    match text.to_ascii_lowercase().as_str() {
        "read committed" | "read uncommitted" => Some(Isolation::ReadCommitted),
        "repeatable read" => Some(Isolation::RepeatableRead),
        "serializable" => Some(Isolation::Serializable),
        _ => None,
    }
}

/// A level's name in SQL.
pub fn isolation_name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}
