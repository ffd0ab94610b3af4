//! Who may write to a table while its form changes?
//!
//! A transaction that writes to a table, locks rows of it or relies on its keys shares the table until the
//! transaction ends. A transaction that changes the form of a table (its columns, rules and names) has
//! it alone: it waits for those who share it, and from then on no row comes to the table but its own.
//! Readers take no such lock: they see the table as it was until the commit.
//!
//! Such a wait is one for a lock as any other: deadlocks are told, and it ends with the lock timeout.

use onlap_base::{Error, ErrorKind, LockMode, Result};

use super::{Isolation, Transaction, may_wait, wait_context};
use crate::database::Table;
use crate::flush;
use crate::locks::{LockWait, Locked, RowLock, Target};

impl Table {
    /// Whether some table, this one or another, is locked against a mode: where not, there is no need to ask more of
    /// [`Transaction::await_table`].
    pub fn may_be_locked(&self, mode: LockMode) -> bool {
        self.shared.locks.tables.may_keep_from(mode)
    }
}

impl Transaction {
    /// Keeps others from changing the form of a table.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] where the statement that is under way may have looked at columns that
    /// are others by now: see [`Transaction::is_outdated`].
    pub(super) fn share(&mut self, table: &Table) -> Result<()> {
        if self.locks.has_table(&table.state, RowLock::KeyShare) {
            return Ok(());
        }
        table.check_same(&self.shared)?;
        let before = table.state.view_now().schema.version;
        let locked = self.is_kept_from(table, LockMode::RowExclusive);
        if locked {
            self.lock_whole(table, LockMode::RowExclusive, LockWait::Block)?;
        }
        let count = self.locks.count_in(table.state.id);
        let waited = self.lock_table(table, RowLock::KeyShare)? == Locked::Waited;
        if !locked && self.is_kept_from(table, LockMode::RowExclusive) {
            // Another transaction locked it meanwhile, and may wait for this one.
            self.locks.unlock_table(&table.state, count, &self.shared.locks);
            return self.share(table);
        }
        if waited && self.in_statement && table.state.view_now().schema.version != before {
            self.outdated = true;
            let text = format!(
                "table {} changed while the statement waited for it; run the transaction again",
                table.name()
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
        Ok(())
    }

    /// Keeps others from changing the form of a table until the end of the transaction, as a change of its rows does;
    /// `version` is that of the schema that the statement knows. Says whether the transaction has the table alone.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`]: it has another form by now, see [`Transaction::is_outdated`]; those of waits for locks.
    pub fn keep_form(&mut self, table: &Table, version: u32) -> Result<bool> {
        self.share(table)?;
        if self.schema.has_created(&table.state)
            || self.locks.has_table(&table.state, RowLock::Update)
        {
            return Ok(true);
        }
        match table.state.view_now().schema.version == version {
            true => Ok(false),
            false => Err(self.begin_anew(table)),
        }
    }

    /// The error of a statement that has to begin anew because what it knows of a table is not so any more; see
    /// [`Transaction::is_outdated`].
    pub fn begin_anew(&mut self, table: &Table) -> Error {
        self.outdated = self.in_statement;
        let text = format!("table {} was changed; run the transaction again", table.name());
        Error::new(ErrorKind::Conflict, text)
    }

    /// Fails where a table, whose form no other transaction can change now, is not as the statement knows it.
    pub(super) fn must_be_as_seen(&mut self, table: &Table) -> Result<()> {
        let seen = table.check_seen();
        self.outdated |= seen.is_err() && self.in_statement;
        seen
    }

    /// Notes that what the statement under way knows of the catalog is not so any more: it has to begin anew.
    pub fn note_outdated(&mut self) {
        self.outdated = self.in_statement;
    }

    /// The same at any level: of statements that change the catalog, to which what is newest counts.
    pub fn wants_anew(&self) -> bool {
        self.outdated
    }

    /// Whether the statement under way failed because a table changed its columns or rules while the
    /// statement waited to write to it for the first time: begun anew, it would see the table as it is.
    ///
    /// The same at any level where it has written nothing, and what it reads a table by was dropped.
    pub fn is_outdated(&self) -> bool {
        self.outdated && (self.without_index || self.options.isolation == Isolation::ReadCommitted)
    }

    /// Whether it failed because what it reads a table by was dropped: it may have read, and given, rows of others before.
    pub fn is_without_index(&self) -> bool {
        self.without_index
    }

    fn lock_table(&mut self, table: &Table, mode: RowLock) -> Result<Locked> {
        let go_on = may_wait(&self.shared, &self.cancel);
        let context = wait_context(&self.shared, &self.options, &go_on);
        self.locks.lock_table(&table.state, mode, context)
    }

    /// Locks a table as a whole until the end of the transaction: LOCK TABLE. Writers are kept away by `Share` and stronger
    /// modes, readers that begin a statement later by `AccessExclusive`; those that have begun are not waited for.
    ///
    /// # Errors
    /// [`ErrorKind::LockNotAvailable`] after the timeout, or where no wait was wanted; [`ErrorKind::Deadlock`];
    /// [`ErrorKind::Cancelled`]; [`ErrorKind::Conflict`]: another transaction has dropped it, or given it another name, see
    /// [`Transaction::is_outdated`].
    pub fn lock_table_as(&mut self, table: &Table, mode: LockMode, wait: LockWait) -> Result<()> {
        table.check_same(&self.shared)?;
        if self.schema.has_created(&table.state) {
            return Ok(());
        }
        self.keep_name(table, wait)?;
        let whole = self.locks.whole_count();
        self.lock_whole(table, mode, wait)?;
        let others = match mode >= LockMode::Share {
            true => RowLock::Update,
            false => RowLock::KeyShare,
        };
        if self.locks.has_table(&table.state, others) {
            return Ok(());
        }
        // For an instant: those who share the table already, or change its form, are waited for.
        let count = self.locks.count_in(table.state.id);
        let go_on = may_wait(&self.shared, &self.cancel);
        let context = wait_context(&self.shared, &self.options, &go_on);
        let waited = self.locks.lock(&table.state, Target::Table, others, wait, context);
        match waited {
            Ok(_) => self.locks.give_back(&table.state, count, &self.shared.locks),
            Err(e) => {
                self.locks.unlock_whole(whole, Some(&self.shared.locks));
                return Err(e);
            }
        }
        Ok(())
    }

    /// Keeps others from dropping a table, and from giving it another name; those who did so already are waited for.
    fn keep_name(&mut self, table: &Table, wait: LockWait) -> Result<()> {
        if self.schema.altered(table.state.id).is_some() {
            // Its form is the transaction's own to change, and its name with it.
            return Ok(());
        }
        let name = table.name();
        {
            let go_on = may_wait(&self.shared, &self.cancel);
            let context = wait_context(&self.shared, &self.options, &go_on);
            self.locks.lock_name(&name, RowLock::KeyShare, wait, context)?;
        }
        let known = self.shared.catalog.by_name(&name);
        match known.is_some_and(|state| state.id == table.state.id) {
            true => Ok(()),
            false => Err(self.begin_anew(table)),
        }
    }

    /// Waits for transactions that have locked a table against those who read it, or write to it (`RowExclusive`); whether
    /// there were any. A statement that begins with this, and then sees what is newest, sees what they committed.
    ///
    /// # Errors
    /// As [`Transaction::lock_table_as`].
    pub fn await_table(&mut self, table: &Table, mode: LockMode) -> Result<bool> {
        if self.schema.has_created(&table.state) || !self.is_kept_from(table, mode) {
            return Ok(false);
        }
        // Who keeps it from this waits for what this one has of the table already.
        let has = match mode <= LockMode::RowExclusive {
            true => RowLock::KeyShare,
            false => RowLock::Update,
        };
        if self.locks.has_table(&table.state, has) {
            return Ok(false);
        }
        self.lock_whole(table, mode, LockWait::Block)?;
        Ok(true)
    }

    /// Whether another transaction keeps this one from a mode of a table, or waits for one that does.
    fn is_kept_from(&self, table: &Table, mode: LockMode) -> bool {
        let locks = &self.shared.locks;
        locks.tables.may_keep_from(mode) && self.locks.is_kept_from(table.state.id, mode, locks)
    }

    fn lock_whole(&mut self, table: &Table, mode: LockMode, wait: LockWait) -> Result<()> {
        let go_on = may_wait(&self.shared, &self.cancel);
        let context = wait_context(&self.shared, &self.options, &go_on);
        self.locks.lock_whole(table.state.id, mode, wait, context)
    }

    /// Keeps all others from writing to a table until the end of the transaction; afterwards all its
    /// committed rows are in files, and none comes.
    pub(super) fn shut(&mut self, table: &Table) -> Result<()> {
        if self.schema.has_created(&table.state)
            || self.locks.has_table(&table.state, RowLock::Update)
        {
            return Ok(());
        }
        loop {
            let locked = self.is_kept_from(table, LockMode::AccessExclusive);
            if locked {
                self.lock_whole(table, LockMode::AccessExclusive, LockWait::Block)?;
            }
            let count = self.locks.count_in(table.state.id);
            let shared = self.locks.has_table(&table.state, RowLock::KeyShare);
            self.lock_table(table, RowLock::Update)?;
            if locked || !self.is_kept_from(table, LockMode::AccessExclusive) {
                break;
            }
            self.locks.unlock_table(&table.state, count, &self.shared.locks);
            if shared {
                self.lock_table(table, RowLock::KeyShare)?;
            }
        }
        if self.options.isolation == Isolation::ReadCommitted {
            self.renew();
        }
        flush::flush_table(&self.shared, &table.state)
    }
}
