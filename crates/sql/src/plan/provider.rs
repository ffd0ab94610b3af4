//! What does the planner learn of a table?

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::access;
use super::scan::{ScanExec, TableHandle, arrow_schema};

/// A table of the engine.
#[derive(Debug)]
pub struct EngineTable {
    handle: TableHandle,
    schema: SchemaRef,
}

impl EngineTable {
    /// A table; `with_row_id` adds the column of row ids, for UPDATE and DELETE.
    pub fn new(handle: TableHandle, with_row_id: bool) -> EngineTable {
        let schema = arrow_schema(&handle.schema, with_row_id);
        EngineTable { handle, schema }
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

/// A view: its query, planned.
#[derive(Debug)]
pub struct ViewTable {
    plan: LogicalPlan,
    schema: SchemaRef,
}

impl ViewTable {
    /// A view of a planned query.
    pub fn new(plan: LogicalPlan) -> ViewTable {
        let schema = Arc::clone(plan.schema().inner());
        ViewTable { plan, schema }
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
    fn get_logical_plan(&'_ self) -> Option<Cow<'_, LogicalPlan>> {
        Some(Cow::Borrowed(&self.plan))
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
        // The analyzer puts a view's plan in its place, so this is for direct use alone.
        state.create_physical_plan(&self.plan).await
    }
}
