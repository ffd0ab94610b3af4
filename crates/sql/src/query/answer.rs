//! How do the rows of a bound query reach the client?

use std::sync::Arc;

use arrow_array::RecordBatch;
use onlap_kernels::{Datum, Repr, output, repr, send};
use onlap_pg::Oid;
use onlap_query::Env;

use crate::error::Result;
use crate::plan::{Batches, Held};
use crate::session::answer::{Chunk, Source};

/// Values that are shorter ask for no memory.
const LONG: usize = 64 << 10;

/// Writes values of a query's columns.
pub struct Encoder {
    env: Arc<Env>,
    columns: Vec<(Oid, Repr)>,
}

impl Encoder {
    /// For columns of these types.
    pub fn new(env: Arc<Env>, types: Vec<Oid>) -> Encoder {
        let own = |oid: Oid| (oid, repr(&env.catalog, oid).unwrap_or(Repr::Text));
        let columns = types.into_iter().map(own).collect();
        Encoder { env, columns }
    }

    fn value<'a>(&self, batch: &'a RecordBatch, row: usize, column: usize) -> Datum<'a> {
        Datum::at(batch.column(column), self.columns[column].1, row)
    }

    /// A value of this number of bytes has been written: what was taken on the way to a long one is given back, and the
    /// statement may have ended meanwhile.
    fn written(&self, bytes: usize) -> onlap_pg::Result<()> {
        if bytes < LONG {
            return Ok(());
        }
        self.env.batch_done()?;
        self.env.cx().go_on()
    }

    /// A value as text; `None` for NULL.
    ///
    /// # Errors
    /// The text would be too long.
    pub fn text(&self, batch: &RecordBatch, row: usize, column: usize) -> Result<Option<String>> {
        match self.value(batch, row, column) {
            Datum::Null => Ok(None),
            value => {
                let mut out = String::new();
                let written = output(&mut self.env.cx(), self.columns[column].0, &value, &mut out);
                written
                    .and_then(|()| self.written(out.len()))
                    .map_err(|e| super::sql_error(&e, ""))?;
                Ok(Some(out))
            }
        }
    }

    /// A value in binary form; `None` for NULL.
    ///
    /// # Errors
    /// The type has none.
    pub fn binary(
        &self,
        batch: &RecordBatch,
        row: usize,
        column: usize,
    ) -> Result<Option<Vec<u8>>> {
        match self.value(batch, row, column) {
            Datum::Null => Ok(None),
            value => {
                let mut out = Vec::new();
                let written = send(&mut self.env.cx(), self.columns[column].0, &value, &mut out);
                written
                    .and_then(|()| self.written(out.len()))
                    .map_err(|e| super::sql_error(&e, ""))?;
                Ok(Some(out))
            }
        }
    }
}

/// The batches of a bound query.
pub struct Encoded {
    batches: Batches,
    encoder: Arc<Encoder>,
}

impl Encoded {
    /// With what writes their values.
    pub fn new(batches: Batches, encoder: Arc<Encoder>) -> Encoded {
        Encoded { batches, encoder }
    }
}

impl Source for Encoded {
    fn next(&mut self) -> Result<Option<Chunk>> {
        let batch = self.batches.next()?;
        Ok(batch.map(|batch| Chunk::Bound(batch, Arc::clone(&self.encoder))))
    }
}

/// Rows that are held until all are sent.
pub struct Sent {
    held: Option<Held>,
    next: usize,
    encoder: Arc<Encoder>,
}

impl Sent {
    /// With what writes their values.
    pub fn new(held: Option<Held>, encoder: Arc<Encoder>) -> Sent {
        Sent { held, next: 0, encoder }
    }
}

impl Source for Sent {
    fn next(&mut self) -> Result<Option<Chunk>> {
        let batch = self.held.as_ref().and_then(|held| held.get(self.next)).cloned();
        self.next += 1;
        Ok(batch.map(|batch| Chunk::Bound(batch, Arc::clone(&self.encoder))))
    }
}
