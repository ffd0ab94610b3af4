//! Who may write to a table while its form changes?
//!
//! A transaction that writes to a table, locks rows of it or relies on its keys shares the table until the
//! transaction ends. A transaction that changes the form of a table (its columns, rules and names) has
//! it alone: it waits for those who share it, and from then on no row comes to the table but its own.
//! Readers take no such lock: they see the table as it was until the commit.
//!
//! Such a wait is one for a lock as any other: deadlocks are told, and it ends with the lock timeout.

use onlap_base::{Error, ErrorKind, Result};

use super::{Isolation, Transaction, may_wait, wait_context};
use crate::database::Table;
use crate::flush;
use crate::locks::{Locked, RowLock};

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
        let waited = self.lock_table(table, RowLock::KeyShare)? == Locked::Waited;
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

    /// Whether the statement under way failed because a table changed its columns or rules while the
    /// statement waited to write to it for the first time: begun anew, it would see the table as it is.
    pub fn is_outdated(&self) -> bool {
        self.outdated && self.options.isolation == Isolation::ReadCommitted
    }

    fn lock_table(&mut self, table: &Table, mode: RowLock) -> Result<Locked> {
        let go_on = may_wait(&self.shared, &self.cancel);
        let context = wait_context(&self.shared, &self.options, &go_on);
        self.locks.lock_table(&table.state, mode, context)
    }

    /// Keeps all others from writing to a table until the end of the transaction; afterwards all its
    /// committed rows are in files, and none comes.
    pub(super) fn shut(&mut self, table: &Table) -> Result<()> {
        if self.schema.has_created(&table.state)
            || self.locks.has_table(&table.state, RowLock::Update)
        {
            return Ok(());
        }
        self.lock_table(table, RowLock::Update)?;
        if self.options.isolation == Isolation::ReadCommitted {
            self.renew();
        }
        flush::flush_table(&self.shared, &table.state)
    }
}
