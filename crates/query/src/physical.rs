//! An expression of ours among steps that are not.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use crate::env::Env;
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

impl PhysicalExpr for Computed {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.ty.clone())
    }
    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = Rows { columns: batch.columns(), count: batch.num_rows() };
        let value = self.node.eval(&rows, &self.env).map_err(external)?;
        Ok(ColumnarValue::Array(value.spread(rows.count).map_err(external)?))
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
