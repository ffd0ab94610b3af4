//! Which table is a change outside of transactions about?
//!
//! One that is named is whatever table has the name when its turn has come. One that a statement knows has to be as the
//! statement saw it: another transaction may have changed or dropped it while the change waited.
//!
//! Thread safety: any thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Error, ErrorKind, Result, stop};

use super::{ChangeGuard, lock_table};
use crate::database::{Shared, Table};
use crate::table::TableState;

/// Which table a change is about.
#[derive(Clone, Copy)]
pub enum WhichTable<'a> {
    /// The one that has a name.
    Named(&'a str),
    /// This one, as a transaction saw it that gave the handle.
    Seen(&'a Table),
}

impl<'a> From<&'a str> for WhichTable<'a> {
    fn from(name: &'a str) -> WhichTable<'a> {
        WhichTable::Named(name)
    }
}

impl<'a> From<&'a String> for WhichTable<'a> {
    fn from(name: &'a String) -> WhichTable<'a> {
        WhichTable::Named(name)
    }
}

impl<'a> From<&'a Table> for WhichTable<'a> {
    fn from(table: &'a Table) -> WhichTable<'a> {
        WhichTable::Seen(table)
    }
}

impl WhichTable<'_> {
    /// The name that it has now.
    pub(super) fn name(self) -> String {
        match self {
            WhichTable::Named(name) => name.to_string(),
            WhichTable::Seen(table) => table.name(),
        }
    }

    /// The table with the lock that keeps other changes of its schema away, its turn awaited.
    ///
    /// # Errors
    /// There is none of the name; [`ErrorKind::Conflict`]: it is not as it was seen; the statement is to end.
    pub(super) fn lock(self, shared: &Shared) -> Result<(Arc<TableState>, ChangeGuard)> {
        match self {
            WhichTable::Named(name) => lock_table(shared, name),
            WhichTable::Seen(table) => {
                let go_on = || stop::check().and_then(|()| shared.check_open());
                let guard = table.state.changing.lock_while(&go_on)?;
                table.check_seen()?;
                Ok((Arc::clone(&table.state), guard))
            }
        }
    }
}

impl Table {
    /// Fails where another transaction has dropped the table, or given it another form or name, since a transaction gave
    /// this handle. Nothing is known of one that the database gave.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`].
    pub(crate) fn check_seen(&self) -> Result<()> {
        let is_same = |version| self.state.schema().version == version;
        match self.seen.is_none_or(is_same) && !self.state.dropped.load(Ordering::Acquire) {
            true => Ok(()),
            false => {
                let text = format!("table {} was changed; run the transaction again", self.name());
                Err(Error::new(ErrorKind::Conflict, text))
            }
        }
    }
}
