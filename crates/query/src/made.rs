//! How do values that are made one by one become a column within the statement's memory?
//!
//! Each is there twice for a while, by itself and in the column. Memory is asked for in steps, before the column is made.
//! Belongs to one thread.

use arrow_array::ArrayRef;
use onlap_kernels::{Datum, Repr};
use onlap_pg::Result;

use crate::env::{COLUMN_BYTES, Env};

/// Values that are becoming a column.
pub struct Made<'e> {
    env: &'e Env,
    values: Vec<Datum<'static>>,
    bytes: usize,
    asked: usize,
}

impl<'e> Made<'e> {
    /// None yet, of a number of rows.
    pub fn new(rows: usize, env: &'e Env) -> Made<'e> {
        Made { env, values: Vec::with_capacity(rows), bytes: 0, asked: 0 }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// `53200`.
    pub fn push(&mut self, value: Datum<'static>) -> Result<()> {
        self.bytes = self.bytes.saturating_add(value.size().saturating_mul(2));
        if self.bytes - self.asked >= COLUMN_BYTES {
            self.env.room(self.bytes - self.asked)?;
            self.asked = self.bytes;
        }
        self.values.push(value);
        Ok(())
    }

    /// The column.
    ///
    /// # Errors
    /// `54000`: it would be too large.
    pub fn column(self, repr: Repr) -> Result<ArrayRef> {
        Datum::column(repr, self.values.iter())
    }
}
