//! An expression of ours among steps that are not.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use crate::env::{Env, bytes_of};
use crate::error::external;
use crate::node::{Node, Rows, Spread};

/// A node with what it is called with.
#[derive(Clone)]
pub struct Computed {
    /// The expression.
    pub node: Arc<Node>,
    /// The statement's.
    pub env: Arc<Env>,
    /// The Arrow type of its values.
    pub ty: DataType,
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expression")
    }
}

impl fmt::Display for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expression")
    }
}

impl PartialEq for Computed {
    fn eq(&self, other: &Computed) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
    }
}

impl Eq for Computed {}

impl Hash for Computed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Arc::as_ptr(&self.node) as usize).hash(state);
    }
}

/// Rows for which long values are made at once: what is made on the way to a value asks for its memory only from 64 KiB on
/// (`Cx::room`).
const LONG_ROWS: usize = 512;

impl Computed {
    /// The values of rows.
    ///
    /// # Errors
    /// The first error that a row meets; there is no memory for the values.
    pub fn of(&self, rows: &Rows<'_>) -> onlap_pg::Result<ArrayRef> {
        match rows.count > LONG_ROWS && self.node.makes_long() {
            true => self.pieces(rows),
            false => self.values(rows, 0),
        }
    }

    /// The values of rows, after rows whose values take `before` bytes.
    ///
    /// # Errors
    /// As of [`Computed::of`].
    pub fn after(&self, rows: &Rows<'_>, before: usize) -> onlap_pg::Result<ArrayRef> {
        self.values(rows, before)
    }

    /// The values of rows, made for some of them after the other.
    fn pieces(&self, rows: &Rows<'_>) -> onlap_pg::Result<ArrayRef> {
        let (mut made, mut before): (Vec<ArrayRef>, usize) = (Vec::new(), 0);
        for from in (0..rows.count).step_by(LONG_ROWS) {
            let count = LONG_ROWS.min(rows.count - from);
            let part = |column: &ArrayRef| column.slice(from, count);
            let columns: Vec<ArrayRef> = rows.columns.iter().map(part).collect();
            let values = self.values(&Rows { columns: &columns, count }, before)?;
            before = before.saturating_add(bytes_of(&values));
            made.push(values);
        }
        self.joined(&made, 0)
    }

    /// The values of all pieces in one column, after rows whose values take `before` bytes. They are there twice until it is
    /// made.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn joined(&self, pieces: &[ArrayRef], before: usize) -> onlap_pg::Result<ArrayRef> {
        let session = &self.env.session;
        let bytes = pieces.iter().map(bytes_of).fold(0, usize::saturating_add);
        self.env.room(bytes)?;
        let pieces: Vec<&dyn Array> = pieces.iter().map(|values| &**values).collect();
        let whole = arrow_select::concat::concat(&pieces).map_err(crate::node::arrow)?;
        session.calculated(self.id(), before.saturating_add(bytes))?;
        Ok(whole)
    }

    fn id(&self) -> usize {
        Arc::as_ptr(&self.node).cast::<u8>() as usize
    }

    /// The values of rows, after rows whose values take `before` bytes. Where there is no memory for what is made on the way to all
    /// values at once, they are made half by half.
    fn values(&self, rows: &Rows<'_>, before: usize) -> onlap_pg::Result<ArrayRef> {
        let session = &self.env.session;
        let id = self.id();
        let made =
            self.node.eval(rows, &self.env).and_then(|value| value.spread(rows.count, &self.env));
        match made {
            Ok(made) => {
                session.calculated(id, before.saturating_add(bytes_of(&made)))?;
                Ok(made)
            }
            Err(error) => {
                session.calculated(id, before)?;
                if error.state != "53200" || rows.count < 2 || !self.node.is_repeatable() {
                    return Err(error);
                }
                let half = rows.count / 2;
                let part = |from: usize, count: usize| -> Vec<ArrayRef> {
                    rows.columns.iter().map(|column| column.slice(from, count)).collect()
                };
                let columns = part(0, half);
                let first = self.values(&Rows { columns: &columns, count: half }, before)?;
                let then = before.saturating_add(bytes_of(&first));
                let columns = part(half, rows.count - half);
                let rows = Rows { columns: &columns, count: rows.count - half };
                let second = self.values(&rows, then)?;
                self.joined(&[first, second], before)
            }
        }
    }
}

impl PhysicalExpr for Computed {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.ty.clone())
    }
    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = Rows { columns: batch.columns(), count: batch.num_rows() };
        self.of(&rows).map(ColumnarValue::Array).map_err(external)
    }
    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }
    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expression")
    }
}
