//! What can be said of a transaction after it was begun?
//!
//! Thread safety: belongs to its transaction.

use onlap_base::Result;

use super::{Isolation, ReadSet, Transaction};

impl Transaction {
    /// Refuses changes from now on, or allows them again; what was changed before stays changed.
    ///
    /// ```
    /// use onlap::{Database, DataType, ErrorKind, Options, TableSpec, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let t = db.create_table(TableSpec::new("t").column("id", DataType::Int8))?;
    /// let mut tx = db.begin()?;
    /// tx.insert(&t, &[Value::Int(1)])?;
    /// tx.set_read_only(true);
    /// let refused = tx.insert(&t, &[Value::Int(2)]).unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::ReadOnlyTransaction);
    /// tx.commit()?;
    /// assert_eq!(db.snapshot()?.count(&t)?, 1);
    /// # Ok::<(), onlap::Error>(())
    /// ```
    pub fn set_read_only(&mut self, only: bool) {
        self.options.read_only = only;
    }

    /// Goes on at another level, if nothing was read or changed before; locks and savepoints stay.
    ///
    /// ```
    /// use onlap::{Database, DataType, Isolation, LockMode, LockWait, Options, TableSpec};
    /// use onlap::{TransactionOptions, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let t = db.create_table(TableSpec::new("t").column("id", DataType::Int8))?;
    /// let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted))?;
    /// tx.lock_table_as(&t, LockMode::RowShare, LockWait::Block)?;
    /// tx.set_isolation(Isolation::RepeatableRead)?;
    /// assert_eq!(tx.count(&t)?, 0);
    /// t.insert(&[Value::Int(1)])?;
    /// assert_eq!(tx.count(&t)?, 0);
    /// assert!(tx.set_isolation(Isolation::ReadCommitted).is_err());
    /// # Ok::<(), onlap::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::renew_snapshot`].
    pub fn set_isolation(&mut self, level: Isolation) -> Result<()> {
        self.renew_snapshot()?;
        self.options.isolation = level;
        self.reads = (level == Isolation::Serializable).then(|| ReadSet::new(&self.snapshot));
        Ok(())
    }

    /// Counts as its memory what the caller keeps for it, this number of bytes from now on; less always fits. A savepoint that
    /// is gone back to brings the number of that time back.
    ///
    /// ```
    /// use onlap::{Database, ErrorKind, Options};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let mut tx = db.begin()?;
    /// tx.keep(1000)?;
    /// let before = tx.savepoint();
    /// tx.keep(5000)?;
    /// assert_eq!(tx.memory_bytes(), 5000);
    /// assert_eq!(tx.keep(usize::MAX / 2).unwrap_err().kind(), ErrorKind::LimitExceeded);
    /// tx.rollback_to(&before)?;
    /// assert_eq!(tx.memory_bytes(), 1000);
    /// # Ok::<(), onlap::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`onlap_base::ErrorKind::LimitExceeded`]: so much more does not fit next to its changes and those of others; the number
    /// stays as it was.
    pub fn keep(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.kept {
            self.make_room(bytes - self.kept)?;
        }
        self.kept = bytes;
        self.charge();
        Ok(())
    }
}
