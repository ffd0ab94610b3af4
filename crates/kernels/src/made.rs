//! How do values that are made one by one become a column within the statement's memory?
//!
//! Memory is asked for in steps as values come, however small each is. Belongs to one thread.

use arrow_array::ArrayRef;
use onlap_pg::Result;

use crate::cx::ASKED_BYTES;
use crate::{Cx, Datum, Repr};

/// Memory that grows in small pieces, asked for at every 64 KiB. What was asked for in other ways since it began, by
/// functions for what they give, counts for it.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// What the expression had asked for before.
    before: usize,
    /// Bytes that are held.
    held: usize,
    /// Bytes that were held when they were looked at last.
    looked: usize,
}

impl Asking {
    /// Nothing is held yet.
    pub fn new(cx: &Cx<'_>) -> Asking {
        Asking { before: cx.session.asked(), held: 0, looked: 0 }
    }

    /// Holds a number of bytes more.
    ///
    /// # Errors
    /// `53200`.
    #[inline]
    pub fn add(&mut self, bytes: usize, cx: &Cx<'_>) -> Result<()> {
        self.hold(self.held.saturating_add(bytes), cx)
    }

    /// Holds this number of bytes now.
    ///
    /// # Errors
    /// `53200`.
    #[inline]
    pub fn hold(&mut self, bytes: usize, cx: &Cx<'_>) -> Result<()> {
        self.held = bytes;
        if bytes < self.looked.saturating_add(ASKED_BYTES) { Ok(()) } else { self.ask(cx) }
    }

    #[cold]
    fn ask(&mut self, cx: &Cx<'_>) -> Result<()> {
        self.looked = self.held;
        let asked = cx.session.asked().saturating_sub(self.before);
        if asked < self.held { cx.session.room(self.held - asked) } else { Ok(()) }
    }
}

/// Values that are becoming a column. Each is there twice for a while, by itself and in the column.
pub struct Made {
    values: Vec<Datum<'static>>,
    memory: Asking,
}

impl Made {
    /// None yet, of a number of rows.
    pub fn new(rows: usize, cx: &Cx<'_>) -> Made {
        Made { values: Vec::with_capacity(rows), memory: Asking::new(cx) }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// `53200`.
    pub fn push(&mut self, value: Datum<'static>, cx: &Cx<'_>) -> Result<()> {
        self.memory.add(value.size().saturating_mul(2), cx)?;
        self.values.push(value);
        Ok(())
    }

    /// The value that was added last.
    pub fn last(&self) -> Option<&Datum<'static>> {
        self.values.last()
    }

    /// The column.
    ///
    /// # Errors
    /// `54000`: it would be too large.
    pub fn column(self, repr: Repr) -> Result<ArrayRef> {
        Datum::column(repr, self.values.iter())
    }
}
