//! What does the planner learn of a table?

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::access;
use super::needs::Reads;
use super::scan::{ScanExec, TableHandle, arrow_schema};

/// A table of the engine.
#[derive(Debug)]
pub struct EngineTable {
    handle: TableHandle,
    schema: SchemaRef,
    reads: Option<Reads>,
}

impl EngineTable {
    /// A table; `with_row_id` adds the column of row ids, for UPDATE and DELETE; `reads` says what reading
    /// it needs, if that is judged here.
    pub fn new(handle: TableHandle, with_row_id: bool, reads: Option<Reads>) -> EngineTable {
        let schema = arrow_schema(&handle.schema, with_row_id);
        EngineTable { handle, schema, reads }
    }

    /// What reading it is, for rights.
    pub fn reads(&self) -> Option<&Reads> {
        self.reads.as_ref()
    }
}

#[async_trait]
impl TableProvider for EngineTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::Base
    }
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let judge = |filter: &&Expr| match access::is_usable(&self.handle.schema, filter) {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(judge).collect())
    }
    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = match projection {
            Some(columns) => columns.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let bounds = access::bounds_of(&self.handle.schema, filters);
        let access = access::choose(&self.handle.schema, &bounds);
        // Filters are judged above, so a limit may only be taken over where there are none.
        let limit = limit.filter(|_| filters.is_empty());
        Ok(Arc::new(ScanExec::new(self.handle.clone(), access, columns, limit)?))
    }
}

/// A view: its query, planned, which [`super::needs::expand`] puts in its place once the statement's needs
/// are known. A table whose columns a view knows by other names is one too.
#[derive(Debug)]
pub struct ViewTable {
    plan: LogicalPlan,
    schema: SchemaRef,
    reads: Option<Reads>,
}

impl ViewTable {
    /// A view of a planned query; `reads` says what reading it needs.
    pub fn new(plan: LogicalPlan, reads: Option<Reads>) -> ViewTable {
        let schema = Arc::clone(plan.schema().inner());
        ViewTable { plan, schema, reads }
    }

    /// Its query.
    pub fn plan(&self) -> &LogicalPlan {
        &self.plan
    }

    /// What reading it is, for rights.
    pub fn reads(&self) -> Option<&Reads> {
        self.reads.as_ref()
    }
}

#[async_trait]
impl TableProvider for ViewTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::View
    }
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }
    async fn scan(
        &self,
        state: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // A view's plan is put in its place before, so this is for direct use alone.
        state.create_physical_plan(&self.plan).await
    }
}
