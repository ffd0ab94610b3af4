//! How does a plan read a table?
//!
//! [`ScanExec`] opens a scan of the engine in the statement's transaction ([`Scope`]) when it is executed
//! and hands on its batches. Where it reads an index, its output has the index's order, so that sorts
//! vanish.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType as Arrow, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use onlap::{RowBatch, Rows, Scan, Table, TableSchema};

use super::access::Access;
use crate::error::SqlError;
use crate::scope::Scope;
use crate::types::{self, column_to_arrow};

/// Name of the column that has a row's id; plans of UPDATE and DELETE ask for it.
pub const ROW_ID: &str = "onlap row id";

/// Reads a table.
#[derive(Debug)]
pub struct ScanExec {
    table: TableHandle,
    access: Access,
    /// Columns of the table by position; one more than there are stands for the row id.
    columns: Vec<usize>,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
}

/// A table with the form that the plan was made for.
#[derive(Clone)]
pub struct TableHandle {
    /// The engine's table.
    pub table: Table,
    /// Its columns and indexes then.
    pub schema: Arc<TableSchema>,
}

impl fmt::Debug for TableHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.schema.name)
    }
}

/// The fields of a table in plans, with the row id last where it is asked for.
pub fn arrow_schema(schema: &TableSchema, with_row_id: bool) -> SchemaRef {
    let mut fields: Vec<Field> = schema.columns.iter().map(types::field_of_column).collect();
    if with_row_id {
        fields.push(Field::new(ROW_ID, Arrow::Int64, false));
    }
    Arc::new(Schema::new(fields))
}

impl ScanExec {
    /// Reads these columns.
    ///
    /// # Errors
    /// A column that is not there.
    pub fn new(
        table: TableHandle,
        access: Access,
        columns: Vec<usize>,
        limit: Option<usize>,
    ) -> Result<ScanExec> {
        let schema = Arc::new(arrow_schema(&table.schema, true).project(&columns)?);
        let mut equivalences = EquivalenceProperties::new(Arc::clone(&schema));
        if let Some(order) = order_of(&table.schema, &access, &columns) {
            equivalences.add_ordering(order);
        }
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(ScanExec { table, access, columns, limit, properties: Arc::new(properties) })
    }

    /// What is read.
    pub fn table(&self) -> &TableHandle {
        &self.table
    }
    /// How rows are reached.
    pub fn access(&self) -> &Access {
        &self.access
    }
    /// Columns by position.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }
    /// At most so many rows.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn open(&self, scope: &Scope) -> crate::error::Result<Rows> {
        let schema = &self.table.schema;
        let wanted = self.columns.iter().filter_map(|c| schema.columns.get(*c));
        let mut scan = Scan::all().columns(wanted.map(|c| c.name.clone()));
        if let Some(limit) = self.limit {
            scan = scan.limit(limit);
        }
        let table = &self.table.table;
        let past = scope.past();
        Ok(match (&self.access, past) {
            (Access::Table, None) => scope.tx()?.scan(table, scan)?,
            (Access::Table, Some(past)) => past.scan(table, scan)?,
            (Access::Index { name, range, reverse }, past) => {
                let scan = if *reverse { scan.reverse() } else { scan };
                match past {
                    Some(past) => past.index_scan(table, name, range.clone(), scan)?,
                    None => scope.tx()?.index_scan(table, name, range.clone(), scan)?,
                }
            }
        })
    }
}

/// The order of an index, as far as its columns are read.
fn order_of(schema: &TableSchema, access: &Access, columns: &[usize]) -> Option<LexOrdering> {
    let Access::Index { name, reverse, .. } = access else { return None };
    let index = schema.index_by_name(name)?;
    let mut order = Vec::new();
    for part in &index.key {
        let position = schema.position(part.column)?;
        let Some(at) = columns.iter().position(|c| *c == position) else { break };
        let descending = part.descending != *reverse;
        let column = PhysicalColumn::new(&schema.columns[position].name, at);
        order.push(PhysicalSortExpr {
            expr: Arc::new(column),
            options: SortOptions { descending, nulls_first: descending },
        });
    }
    LexOrdering::new(order)
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.access {
            Access::Table => write!(f, "Seq Scan on {}", self.table.schema.name)?,
            Access::Index { name, reverse, .. } => {
                let backward = if *reverse { " Backward" } else { "" };
                write!(f, "Index Scan{backward} using {name} on {}", self.table.schema.name)?;
            }
        }
        self.limit.map_or(Ok(()), |n| write!(f, ", limit {n}"))
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "ScanExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn supports_limit_pushdown(&self) -> bool {
        true
    }
    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let (table, access) = (self.table.clone(), self.access.clone());
        let limited = ScanExec::new(table, access, self.columns.clone(), limit);
        limited.ok().map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>)
    }
    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let scope = scope_of(&context)?;
        let rows = self.open(&scope).map_err(external)?;
        let schema = self.schema();
        let row_id = self.table.schema.columns.len();
        let reader = Reader {
            scope,
            rows,
            batch: None,
            schema: Arc::clone(&schema),
            row_ids: self.columns.iter().map(|c| *c == row_id).collect(),
        };
        let stream = futures::stream::try_unfold(reader, |mut reader| async move {
            Ok(reader.next().map_err(external)?.map(|batch| (batch, reader)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}

/// The scope that a statement gave its plan.
///
/// # Errors
/// There is none: a defect.
pub fn scope_of(context: &TaskContext) -> Result<Arc<Scope>> {
    let scope = context.session_config().get_extension::<Scope>();
    scope.ok_or_else(|| DataFusionError::Internal("a plan runs outside of a statement".into()))
}

/// Wraps an error so that it comes out of the planner as it went in.
pub fn external(e: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(e) as Box<dyn std::error::Error + Send + Sync>)
}

struct Reader {
    scope: Arc<Scope>,
    rows: Rows,
    batch: Option<RowBatch>,
    schema: SchemaRef,
    /// Per column of the output, whether it is the row id.
    row_ids: Vec<bool>,
}

impl Reader {
    fn next(&mut self) -> crate::error::Result<Option<RecordBatch>> {
        self.scope.plan_goes_on()?;
        let batch = match self.batch.take() {
            Some(mut batch) => match self.rows.next_into(&mut batch)? {
                true => batch,
                false => return Ok(None),
            },
            None => match self.rows.next() {
                Some(batch) => batch?,
                None => return Ok(None),
            },
        };
        let converted = to_arrow(&batch, &self.schema, &self.row_ids)?;
        self.batch = Some(batch);
        Ok(Some(converted))
    }
}

fn to_arrow(
    batch: &RowBatch,
    schema: &SchemaRef,
    row_ids: &[bool],
) -> crate::error::Result<RecordBatch> {
    let mut read = batch.types().iter().zip(&batch.columns.columns);
    let columns = row_ids.iter().map(|is_row_id| match is_row_id {
        true => {
            let ids: Vec<i64> = batch.row_ids.iter().map(|id| *id as i64).collect();
            Arc::new(Int64Array::from(ids)) as ArrayRef
        }
        false => {
            let (ty, column) = read.next().expect("the scan reads all other columns");
            column_to_arrow(*ty, column)
        }
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.len()));
    let columns = columns.collect();
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|e| DataFusionError::from(e).into())
}

/// A plan node as a scan.
pub fn as_scan(plan: &Arc<dyn ExecutionPlan>) -> Option<&ScanExec> {
    (plan.as_ref() as &dyn Any).downcast_ref::<ScanExec>()
}
