//! Which transaction is the session in?
//!
//! A simple query's text, or the messages up to a Sync, are one implicit transaction; BEGIN makes it
//! explicit. A failed statement leaves an explicit transaction failed until ROLLBACK (or ROLLBACK TO a
//! savepoint), and ends an implicit one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onlap::{Isolation, Savepoint, Transaction};

use crate::between::{self, Between};
use crate::catalog::objects::Pending;
use crate::change::deferred;
use crate::error::{Result, SqlError, state};
use crate::instance::Instance;
use crate::scope::Scope;
use crate::session::Roles;
use crate::session::modes::Modes;
use crate::settings::Mark;

/// What a session goes back to beside what its transaction wrote.
#[derive(Clone)]
pub struct Remembered {
    /// What is set.
    pub settings: Mark,
    /// The roles, and what they are after the transaction, where that is something else.
    pub roles: (Roles, Option<Roles>),
    /// The number of its last portal.
    pub portals: u64,
    /// The calls of triggers that were put off.
    pub put_off: deferred::Mark,
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
    /// How it is carried out.
    pub modes: Modes,
    /// Named places to go back to.
    savepoints: Vec<Place>,
    /// Whether it changed tables or indexes of the engine.
    pub changed_catalog: bool,
    /// Which catalog it sees, where that is its own: another number after each change and each way back.
    pub own_catalog: u64,
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
    modes: Modes,
    between: between::Mark,
}

impl Block {
    /// Begins a transaction.
    ///
    /// # Errors
    /// The database was closed.
    pub fn begin(
        instance: &Instance,
        modes: Modes,
        cancel: &Arc<AtomicBool>,
        between: &Arc<Between>,
    ) -> Result<Block> {
        let tx = instance.db.begin_with(modes.options())?;
        Ok(Block {
            scope: Scope::new(tx, cancel, instance.runner.room(), between),
            pending: Pending::default(),
            explicit: false,
            failed: false,
            used: false,
            looked: false,
            modes,
            savepoints: Vec::new(),
            changed_catalog: false,
            own_catalog: 0,
            changed_for_others: false,
            changed: false,
        })
    }

    /// The same transaction, for a routine within its session.
    pub fn within(scope: &Arc<Scope>, modes: Modes) -> Block {
        Block {
            scope: Arc::clone(scope),
            pending: Pending::default(),
            explicit: true,
            failed: false,
            used: true,
            looked: true,
            modes,
            savepoints: Vec::new(),
            changed_catalog: false,
            own_catalog: 0,
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
        let isolation = self.modes.options().isolation;
        if self.explicit && !self.changed && isolation != Isolation::ReadCommitted {
            self.scope.tx()?.renew_snapshot()?;
        }
        Ok(())
    }

    /// Sees what a snapshot sees, if nothing was seen before.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn see(&mut self, snapshot: &onlap::Snapshot) -> Result<()> {
        self.scope.tx()?.see(snapshot)?;
        self.looked = true;
        Ok(())
    }

    /// Whether anything was asked or written in it.
    pub fn is_used(&self) -> bool {
        self.looked || self.changed
    }

    /// Whether it is behind a savepoint.
    pub fn is_within(&self) -> bool {
        !self.savepoints.is_empty()
    }

    /// Goes on with other modes; at another level where it was not used.
    ///
    /// # Errors
    /// The transaction has ended; it was used.
    pub fn be(&mut self, modes: Modes) -> Result<()> {
        let level = modes.options().isolation;
        let mut tx = self.scope.tx()?;
        if tx.isolation() != level {
            tx.set_isolation(level)?;
        }
        tx.set_read_only(modes.read_only);
        self.modes = modes;
        Ok(())
    }

    /// Makes everything visible.
    ///
    /// # Errors
    /// Those of the engine's commit; `54000`: what it notifies of has no room.
    pub fn commit(self, instance: &Instance, pid: i32) -> Result<()> {
        let between = self.scope.between();
        if let Some(tx) = self.scope.take() {
            let committed = self.commit_and_send(tx, instance, pid);
            between.undo();
            let counts = between.counts();
            let ended = if committed.is_ok() { &counts.commits } else { &counts.rollbacks };
            ended.fetch_add(1, Ordering::Relaxed);
            committed?;
        }
        if self.changed_for_others {
            instance.catalog_changed();
        }
        Ok(())
    }

    fn commit_and_send(&self, mut tx: Transaction, instance: &Instance, pid: i32) -> Result<()> {
        let between = self.scope.between();
        if between.notifies() {
            // What waits for other transactions comes before the place among those who notify, which others wait for.
            tx.set_all_constraints(false)?;
        }
        let letter = between.close(&instance.exchange, pid)?;
        let csn = instance.commit(tx, &self.pending)?;
        if let Some(letter) = letter {
            letter.send(csn);
        }
        Ok(())
    }

    /// Forgets everything.
    pub fn rollback(self, instance: &Instance) {
        if let Some(tx) = self.scope.take() {
            tx.rollback();
            self.scope.between().counts().rollbacks.fetch_add(1, Ordering::Relaxed);
        }
        self.scope.between().undo();
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
        let (pending, modes) = (self.pending.len(), self.modes);
        let between = self.scope.between().mark();
        Ok(Place { name, session, savepoint, pending, modes, between })
    }

    /// Undoes what was done since a place: what the session goes back to.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn back_to(&mut self, place: &Place) -> Result<Remembered> {
        self.see_another();
        self.scope.tx()?.rollback_to(&place.savepoint)?;
        self.pending.truncate(place.pending);
        self.scope.between().back_to(&place.between);
        self.be(place.modes)?;
        Ok(place.session.clone())
    }

    /// RELEASE.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn release(&mut self, name: &str) -> Result<()> {
        let at = self.find(name)?;
        // That it only reads, a part of it may have said, which has ended.
        self.be(self.savepoints[at].modes)?;
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
        self.see_another();
        let place = &self.savepoints[at];
        self.scope.tx()?.rollback_to(&place.savepoint)?;
        self.pending.truncate(place.pending);
        self.scope.between().back_to(&place.between);
        self.failed = false;
        self.be(self.savepoints[at].modes)?;
        Ok(self.savepoints[at].session.clone())
    }

    /// The catalog that it sees is, or will be, another one.
    pub fn see_another(&mut self) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.own_catalog = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    }

    /// A statement failed: others need not wait for ROLLBACK to have the locks that the transaction, or what came since the
    /// last savepoint, has beside those of rows.
    pub fn fail(&mut self) {
        self.failed = true;
        match self.savepoints.last() {
            Some(place) => self.scope.between().back_to(&place.between),
            None => self.scope.between().undo(),
        }
        if let Ok(mut tx) = self.scope.tx() {
            // Less always fits.
            let _ = tx.keep(self.scope.between().bytes());
        }
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|p| p.name == name).ok_or_else(|| {
            SqlError::new(state::NO_SAVEPOINT, format!("savepoint \"{name}\" does not exist"))
        })
    }
}
