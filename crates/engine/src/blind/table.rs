//! Blind writes of one statement each.

use onlap_base::{Csn, Result};
use onlap_format::{Batch, Value};

use crate::database::Table;
use crate::transaction::Transaction;

impl Table {
    /// Commits a row in the place of whichever has its primary key, without a look at that one:
    /// [`Transaction::upsert`].
    ///
    /// ```
    /// use onlap::{DataType, Database, Options, TableSpec, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let spec = TableSpec::new("sensors").column("id", DataType::Int8).column("value", DataType::Int8);
    /// let sensors = db.create_table(spec.primary_key(["id"]).blind_writes())?;
    /// sensors.upsert(&[Value::Int(7), Value::Int(20)])?;
    /// sensors.upsert(&[Value::Int(7), Value::Int(21)])?;
    /// sensors.delete_blind(&[Value::Int(8)])?;
    /// assert_eq!(db.snapshot()?.count(&sensors)?, 1);
    /// # Ok::<(), onlap::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::upsert`].
    pub fn upsert(&self, row: &[Value]) -> Result<Csn> {
        self.blindly(|tx| tx.upsert(self, row))
    }

    /// Commits rows in column form, each in the place of whichever has its primary key.
    ///
    /// # Errors
    /// As [`Transaction::upsert_batch`].
    pub fn upsert_batch(&self, batch: Batch) -> Result<Csn> {
        self.blindly(|tx| tx.upsert_batch(self, batch))
    }

    /// Commits that no row has this primary key, without a look whether one had.
    ///
    /// # Errors
    /// As [`Transaction::delete_blind`].
    pub fn delete_blind(&self, key: &[Value]) -> Result<Csn> {
        self.blindly(|tx| tx.delete_blind(self, key))
    }

    /// Commits that no row has any of these primary keys.
    ///
    /// # Errors
    /// As [`Transaction::delete_blind_batch`].
    pub fn delete_blind_batch(&self, keys: Batch) -> Result<Csn> {
        self.blindly(|tx| tx.delete_blind_batch(self, keys))
    }

    fn blindly(&self, f: impl FnOnce(&mut Transaction) -> Result<()>) -> Result<Csn> {
        let mut tx = Transaction::of_statement(self.shared());
        f(&mut tx)?;
        tx.commit()
    }
}
