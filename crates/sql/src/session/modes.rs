//! How is a transaction carried out, and how does it change that while it runs?
//!
//! A block has [`Modes`]; the settings `transaction_isolation`, `transaction_read_only` and `transaction_deferrable` show
//! them, and SET of one is the same as SET TRANSACTION. A transaction that nothing was asked in may become any other, and
//! keeps the tables that it has locked; one that was used may only become one that reads.

use std::sync::Arc;

use onlap::{Isolation as Level, TransactionOptions};
use onlap_pg::ast::{Isolation, Mode};

use super::Session;
use super::block::Block;
use crate::error::{Result, SqlError, state};
use crate::settings::{Id, Value};

/// The modes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// The level as it was named: the engine has no READ UNCOMMITTED, which is READ COMMITTED.
    pub level: Isolation,
    /// Whether it only reads.
    pub read_only: bool,
    /// Whether it would wait for a snapshot; no transaction does here.
    pub deferrable: bool,
}

impl Default for Modes {
    fn default() -> Modes {
        Modes { level: Isolation::ReadCommitted, read_only: false, deferrable: false }
    }
}

impl Modes {
    /// With what a statement says of them.
    #[must_use]
    pub fn with(mut self, modes: &[Mode]) -> Modes {
        for mode in modes {
            match mode {
                Mode::ReadOnly(only) => self.read_only = *only,
                Mode::Isolation(level) => self.level = *level,
                Mode::Deferrable(deferrable) => self.deferrable = *deferrable,
            }
        }
        self
    }

    /// How the engine begins such a transaction.
    pub fn options(self) -> TransactionOptions {
        let options = TransactionOptions::at(match self.level {
            Isolation::ReadUncommitted | Isolation::ReadCommitted => Level::ReadCommitted,
            Isolation::RepeatableRead => Level::RepeatableRead,
            Isolation::Serializable => Level::Serializable,
        });
        if self.read_only { options.read_only() } else { options }
    }
}

/// A level's name in SQL.
pub fn level_name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadUncommitted => "read uncommitted",
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

/// A level by a name that its setting allows.
fn level_of(name: &str) -> Isolation {
    match name {
        "serializable" => Isolation::Serializable,
        "repeatable read" => Isolation::RepeatableRead,
        "read uncommitted" => Isolation::ReadUncommitted,
        _ => Isolation::ReadCommitted,
    }
}

impl Session {
    /// The modes of a transaction where BEGIN says nothing.
    pub(super) fn default_modes(&self) -> Modes {
        Modes {
            level: level_of(self.settings.text(Id::DefaultTransactionIsolation)),
            read_only: self.settings.flag(Id::DefaultTransactionReadOnly),
            deferrable: self.settings.flag(Id::DefaultTransactionDeferrable),
        }
    }

    /// Begins a transaction, whose modes the settings show from now on.
    pub(super) fn begin_block(&mut self, modes: Modes, explicit: bool) -> Result<&mut Block> {
        let mut block = self.new_block(modes)?;
        block.explicit = explicit;
        // One that follows another in a message, or is chained to it, begins now.
        let since = &self.presence.since.transaction_us;
        since.store(block.scope.began_us(), std::sync::atomic::Ordering::Relaxed);
        self.show_modes(modes);
        Ok(self.block.insert(block))
    }

    /// Lets the settings show these modes.
    pub(super) fn show_modes(&mut self, modes: Modes) {
        let known = std::mem::replace(&mut self.shown_modes, modes);
        if known.level != modes.level {
            let name = level_name(modes.level).to_owned();
            self.settings.put(Id::TransactionIsolation, Value::Text(name));
        }
        if known.read_only != modes.read_only {
            self.settings.put(Id::TransactionReadOnly, Value::Flag(modes.read_only));
        }
        if known.deferrable != modes.deferrable {
            self.settings.put(Id::TransactionDeferrable, Value::Flag(modes.deferrable));
        }
    }

    /// SET TRANSACTION.
    ///
    /// # Errors
    /// `25001`: the transaction was used already.
    pub(crate) fn set_modes(&mut self, said: &[Mode]) -> Result<()> {
        let block = self.block()?;
        let (known, modes) = (block.modes, block.modes.with(said));
        if modes == known {
            return Ok(());
        }
        let (is_used, is_within) = (block.is_used(), block.is_within());
        let refuse = |text: &str| Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
        if modes.level != known.level && is_used {
            return refuse("SET TRANSACTION ISOLATION LEVEL must be called before any query");
        }
        if modes.level != known.level && is_within {
            return refuse(
                "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction",
            );
        }
        if known.read_only && !modes.read_only && is_used {
            return refuse("transaction read-write mode must be set before any query");
        }
        if known.read_only && !modes.read_only && is_within {
            return refuse("cannot set transaction read-write mode inside a read-only transaction");
        }
        if modes.deferrable != known.deferrable && is_used {
            let text = "SET TRANSACTION [NOT] DEFERRABLE must be called before any query";
            return refuse(text);
        }
        if modes.deferrable != known.deferrable && is_within {
            let text = "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction";
            return refuse(text);
        }
        block.be(modes)?;
        self.show_modes(modes);
        Ok(())
    }

    /// SET TRANSACTION SNAPSHOT: sees what the transaction sees that gave a snapshot this name.
    ///
    /// # Errors
    /// `25001`: it has seen something already; `0A000`: its level takes none, or not this one; `22023`: there is none.
    pub(crate) fn see_exported(&mut self, name: &str) -> Result<()> {
        let instance = Arc::clone(&self.instance);
        let database = self.database.clone();
        let block = self.block()?;
        if block.is_used() || block.is_within() {
            let text = "SET TRANSACTION SNAPSHOT must be called before any query";
            return Err(SqlError::new(state::ACTIVE_TRANSACTION, text));
        }
        let level = block.modes.options().isolation;
        if level == Level::ReadCommitted {
            let text = "a snapshot-importing transaction must have isolation level SERIALIZABLE or \
                        REPEATABLE READ";
            return Err(SqlError::new(state::UNSUPPORTED, text));
        }
        let known = instance.exported.find(name)?;
        if level == Level::Serializable && !known.serializable {
            let text = "a serializable transaction cannot import a snapshot from a non-serializable \
                        transaction";
            return Err(SqlError::new(state::UNSUPPORTED, text));
        }
        if known.database != database {
            let text = "cannot import a snapshot from a different database";
            return Err(SqlError::new(state::UNSUPPORTED, text));
        }
        block.see(&known.snapshot)
    }

    /// SET of a setting that is a mode of the transaction: the checked text of its value, or DEFAULT.
    ///
    /// # Errors
    /// It is none of the setting's values; those of [`Session::set_modes`].
    pub(crate) fn set_mode(&mut self, mode: Id, value: Option<&str>) -> Result<()> {
        let defaults = self.default_modes();
        let Some(value) = value else {
            return self.set_modes(&[match mode {
                Id::TransactionIsolation => Mode::Isolation(defaults.level),
                Id::TransactionReadOnly => Mode::ReadOnly(defaults.read_only),
                _ => Mode::Deferrable(defaults.deferrable),
            }]);
        };
        let value = crate::settings::checked(mode.setting().name, value)?;
        let is_on = value == Value::Flag(true);
        self.set_modes(&[match (mode, &value) {
            (Id::TransactionIsolation, Value::Text(level)) => Mode::Isolation(level_of(level)),
            (Id::TransactionReadOnly, _) => Mode::ReadOnly(is_on),
            _ => Mode::Deferrable(is_on),
        }])
    }
}
