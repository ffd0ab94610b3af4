//! How does a row come in of which only some columns are given?

use onlap_base::{Csn, Error, ErrorKind, Result, SequenceId};
use onlap_format::{Batch, Column, Row, TableSchema, Value};

use super::Transaction;
use crate::database::Table;
use crate::derive;
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

    /// Calculates the generated columns of whole rows, as they would be if the rows came in: for who wants to know before.
    ///
    /// # Errors
    /// Values that their columns cannot have, or that cannot be calculated with.
    pub fn generate(&mut self, table: &Table, rows: &mut [Row]) -> Result<()> {
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        derive::generate_rows(&self.shared.calculator, &schema, rows)
    }
}

impl Table {
    /// What an insert that leaves a column out stores there, for statements that say DEFAULT: a
    /// constant, a value taken from the column's sequence, NULL where there is none. NULL stands for
    /// the counter's next value where a counter fills the column.
    ///
    /// # Errors
    /// An unknown column; those of [`crate::Sequence::next_value`].
    pub fn default_value(&self, column: &str) -> Result<Value> {
        let (shared, schema) = (self.shared(), self.schema());
        shared.check_open()?;
        let at = schema.position_by_name(column).ok_or_else(|| no_column(&schema, column))?;
        defaults::default_value(shared, &schema.columns[at])
    }

    /// The sequence that callers know one by, whose id a default has: [`crate::Sequence::origin`].
    pub fn sequence_origin(&self, id: SequenceId) -> SequenceId {
        self.shared().sequences.origin(id)
    }

    /// What inserts of so many rows that leave a column out store there, in physical form: as
    /// [`Table::default_value`], once for each.
    ///
    /// # Errors
    /// As [`Table::default_value`].
    pub fn default_values(&self, column: &str, rows: usize) -> Result<Column> {
        let (shared, schema) = (self.shared(), self.schema());
        shared.check_open()?;
        let at = schema.position_by_name(column).ok_or_else(|| no_column(&schema, column))?;
        defaults::default_column(shared, &schema.columns[at], rows)
    }

    /// Commits one row, of which the named columns are given. The others take their defaults.
    pub fn insert_columns(&self, columns: &[&str], values: &[Value]) -> Result<Csn> {
        let shared = self.shared();
        shared.check_open()?;
        let row = defaults::complete_row(shared, &self.schema(), columns, values)?;
        self.insert(&row)
    }
}

fn no_column(schema: &TableSchema, column: &str) -> Error {
    let text = format!("table {} has no column {column}", schema.name);
    Error::new(ErrorKind::UnknownColumn, text)
}
