//! Does a row fit its table?
//!
//! Values become columns here: counter values where a serial column has NULL, types, lengths, NULL and
//! the table's checks judged. What is refused leaves the buffer as it was.
//!
//! Thread safety: belongs to its transaction.

use std::borrow::Cow;

use onlap_base::{Error, ErrorKind, Result, limits};
use onlap_format::convert;
use onlap_format::{Batch, Column, ColumnSchema, Identity, TableSchema, Value, Vector};

use super::buffer::Buffer;
use crate::derive;
use crate::rules::not_null;
use crate::unique;

impl Buffer {
    /// `chosen`: a value in the serial column is the caller's, not that of the row's old version,
    /// which no counter gives again.
    pub(super) fn push_row(&mut self, row: &[Value], chosen: bool) -> Result<()> {
        let row = self.generated(row)?;
        let result = self.try_push_row(&row, chosen);
        if result.is_err() {
            let n = self.rows.rows;
            self.rows.truncate(n);
        }
        result
    }

    /// A row with the values of its generated columns.
    fn generated<'r>(&self, row: &'r [Value]) -> Result<Cow<'r, [Value]>> {
        let mut row = Cow::Borrowed(row);
        if !self.schema.generated.is_empty() {
            derive::generate_row(&self.table.shared.calculator, &self.schema, row.to_mut())?;
        }
        Ok(row)
    }

    /// Judges a row that does not come in: NULL, checks.
    pub(super) fn judge_row(&mut self, row: &[Value]) -> Result<()> {
        let row = &*self.generated(row)?;
        for (column, value) in self.schema.columns.iter().zip(row) {
            if *value == Value::Null && !column.nullable {
                return Err(not_null(&self.schema, &column.name, |at| row[at].clone()));
            }
        }
        let Some(checks) = self.checks()? else { return Ok(()) };
        let mut one = Batch::new(self.schema.columns.iter().map(|c| c.ty.physical()));
        for ((schema, column), value) in self.schema.columns.iter().zip(&mut one.columns).zip(row) {
            match value {
                Value::Null => column.push_null(),
                value => convert::push_value(schema.ty, value, column, &schema.name)?,
            }
        }
        one.rows = 1;
        checks.judge(&self.table.shared.calculator, &self.schema, &one, 0..1)
    }

    fn try_push_row(&mut self, row: &[Value], chosen: bool) -> Result<()> {
        if row.len() != self.schema.columns.len() {
            let text = format!(
                "table {} has {} columns; {} values were given",
                self.schema.name,
                self.schema.columns.len(),
                row.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let n = self.rows.rows;
        for (at, value) in row.iter().enumerate() {
            let (schema, column) = (&self.schema.columns[at], &mut self.rows.columns[at]);
            match value {
                Value::Null if schema.is_serial() => {
                    let next = self.table.state.take_serial(1)?;
                    convert::push_value(schema.ty, &Value::Int(next), column, &schema.name)?;
                }
                Value::Null if !schema.nullable => {
                    // Those before it may have got numbers.
                    return Err(not_null(&self.schema, &schema.name, |i| match i < at {
                        true => {
                            convert::read_value(self.schema.columns[i].ty, &self.rows.columns[i], n)
                        }
                        false => row[i].clone(),
                    }));
                }
                Value::Null => column.push_null(),
                _ if chosen && schema.identity == Identity::Always => {
                    return Err(generated_always(&self.schema, schema));
                }
                value => {
                    convert::push_value(schema.ty, value, column, &schema.name)?;
                    if let (true, Value::Int(v)) = (schema.is_serial(), value) {
                        self.counter_only = false;
                        if chosen {
                            self.table.state.note_serial(*v, *v);
                        }
                    }
                }
            }
        }
        let bytes = row_bytes(row);
        if bytes > limits::ROW_BYTES {
            let text = format!("row of {bytes} bytes; at most {} fit", limits::ROW_BYTES);
            return Err(Error::new(ErrorKind::TooLong, text));
        }
        let at = self.rows.rows;
        if let Some(checks) = self.checks()? {
            checks.judge(&self.table.shared.calculator, &self.schema, &self.rows, at..at + 1)?;
        }
        let derived = self.derive_last(at)?;
        unique::check_key_length(&self.schema, &self.rows.columns, at, bytes + derived)?;
        self.rows.rows += 1;
        self.bytes += bytes + derived;
        Ok(())
    }

    /// Calculates the derived columns of the row at a place, which is the last one; returns the bytes that they take.
    fn derive_last(&mut self, at: usize) -> Result<usize> {
        if self.schema.derived.is_empty() {
            return Ok(0);
        }
        let own = self.schema.columns.len();
        let mut one = Batch::new(self.schema.columns.iter().map(|c| c.ty.physical()));
        for (to, from) in one.columns.iter_mut().zip(&self.rows.columns[..own]) {
            to.extend_range(from, at..at + 1);
        }
        one.rows = 1;
        derive::fill(&self.table.shared.calculator, &self.schema, &mut one)?;
        let mut bytes = 0;
        for (from, to) in one.columns[own..].iter().zip(&mut self.rows.columns[own..]) {
            to.extend_range(from, 0..1);
            bytes += column_bytes(from);
        }
        Ok(bytes)
    }

    pub(super) fn push_batch(&mut self, mut batch: Batch) -> Result<()> {
        self.fill_serial(&mut batch)?;
        if !self.schema.generated.is_empty() {
            self.generate_batch(&mut batch)?;
        }
        convert::check_batch(&self.schema, &batch)?;
        if let Some(checks) = self.checks()? {
            checks.judge(&self.table.shared.calculator, &self.schema, &batch, 0..batch.rows)?;
        }
        if !self.schema.derived.is_empty() {
            derive::fill(&self.table.shared.calculator, &self.schema, &mut batch)?;
        }
        unique::check_key_lengths(&self.schema, &batch)?;
        self.bytes += batch.heap_bytes();
        if self.rows.rows == 0 {
            self.rows = batch;
        } else {
            self.rows.extend_range(&batch, 0..batch.rows);
        }
        Ok(())
    }

    fn generate_batch(&self, batch: &mut Batch) -> Result<()> {
        // What is wrong with its form is said where all columns are checked.
        let (columns, rows) = (&self.schema.columns, batch.rows);
        let fits = |(schema, column): (&ColumnSchema, &Column)| {
            column.data.physical() == schema.ty.physical() && column.len() == rows
        };
        let mut pairs = columns.iter().zip(&batch.columns);
        if batch.columns.len() != columns.len() || !pairs.all(fits) {
            return Ok(());
        }
        derive::generate(&self.table.shared.calculator, &self.schema, batch)
    }

    /// Gives counter values to the NULLs of a serial column.
    fn fill_serial(&mut self, batch: &mut Batch) -> Result<()> {
        let Some(at) = self.schema.serial() else { return Ok(()) };
        let rows = batch.rows;
        let Some(column) = batch.columns.get_mut(at) else { return Ok(()) };
        let Vector::Int(values) = &mut column.data else { return Ok(()) };
        if values.len() != rows {
            return Ok(());
        }
        let nulls = column.nulls.take();
        let missing = nulls.as_ref().map_or(0, |n| n.count());
        if missing < rows && self.schema.columns[at].identity == Identity::Always {
            return Err(generated_always(&self.schema, &self.schema.columns[at]));
        }
        let first = self.table.state.take_serial(missing as i64)?;
        let mut next = first;
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        for (i, v) in values.iter_mut().enumerate() {
            if nulls.as_ref().is_some_and(|n| n.get(i)) {
                *v = next;
                next += 1;
            } else {
                (min, max) = (min.min(*v), max.max(*v));
            }
        }
        if missing < rows {
            self.counter_only = false;
            self.table.state.note_serial(min, max);
        }
        Ok(())
    }
}

/// Bytes of the values of a column.
fn column_bytes(column: &Column) -> usize {
    match &column.data {
        Vector::Bytes(v) => v.data.len() + 4 * v.len(),
        other => 8 * other.len(),
    }
}

pub(super) fn row_bytes(row: &[Value]) -> usize {
    8 + row.iter().map(value_bytes).sum::<usize>()
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Text(s) => s.len() + 4,
        Value::Bytes(b) => b.len() + 4,
        Value::Numeric(_) | Value::Uuid(_) => 17,
        _ => 8,
    }
}

fn generated_always(table: &TableSchema, column: &ColumnSchema) -> Error {
    let text = format!(
        "column {} of table {} always takes its value from the counter; leave it out or give NULL",
        column.name, table.name
    );
    Error::new(ErrorKind::GeneratedAlways, text)
}
