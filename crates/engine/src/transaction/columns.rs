//! How does a row come in of which only some columns are given?

use onlap_base::{Csn, Result};
use onlap_format::{Batch, Value};

use super::Transaction;
use crate::database::Table;
use crate::rules::defaults;

impl Transaction {
    /// Inserts one row, of which the named columns are given. The others take their defaults: the
    /// next value of the counter or of a sequence, a constant, NULL where there is none.
    ///
    /// # Errors
    /// As [`Transaction::insert`]; an unknown column, or one that is named twice. Values of sequences
    /// that were taken for a refused row are skipped.
    pub fn insert_columns(
        &mut self,
        table: &Table,
        columns: &[&str],
        values: &[Value],
    ) -> Result<()> {
        table.check_same(&self.shared)?;
        let row = defaults::complete_row(&self.shared, &table.schema(), columns, values)?;
        self.insert(table, &row)
    }

    /// Inserts many rows in column form, of which the named columns are given, in the order of the
    /// names. The others take their defaults.
    ///
    /// # Errors
    /// As [`Transaction::insert_columns`]; nothing of the batch is kept.
    pub fn insert_batch_columns(
        &mut self,
        table: &Table,
        columns: &[&str],
        batch: Batch,
    ) -> Result<()> {
        table.check_same(&self.shared)?;
        let batch = defaults::complete_batch(&self.shared, &table.schema(), columns, batch)?;
        self.insert_batch(table, batch)
    }
}

impl Table {
    /// Commits one row, of which the named columns are given. The others take their defaults.
    pub fn insert_columns(&self, columns: &[&str], values: &[Value]) -> Result<Csn> {
        let shared = self.shared();
        shared.check_open()?;
        let row = defaults::complete_row(shared, &self.schema(), columns, values)?;
        self.insert(&row)
    }
}
