//! What do names in a query mean to the planner?
//!
//! Tables, views and system tables as a statement's [`View`] finds them; functions of the planner, of the
//! session and of PostgreSQL. A plan that depends on more than the schema (a function of the session, a
//! system table) is noted, for it is no use to later statements.

use std::cell::Cell;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{
    ContextProvider, ExprPlanner, RelationPlanner, TypePlanner,
};
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF,
};
use datafusion::sql::planner::SqlToRel;

use super::provider::{EngineTable, ViewTable};
use super::scan::{TableHandle, external};
use crate::deep::too_deep;
use crate::view::{INFORMATION_SCHEMA, PG_CATALOG, Relation, View, no_table};
use crate::{functions, parse, system};

/// Name under which plans of UPDATE and DELETE refer to the table that they change.
pub const TARGET: &str = "onlap target";

/// Tables that a statement brings itself.
#[derive(Default)]
pub struct Known {
    /// The table that an UPDATE or DELETE changes; found under [`TARGET`], with its row ids.
    pub target: Option<TableHandle>,
    /// Rows by name: those that were written, for RETURNING; those that clash, for ON CONFLICT.
    pub rows: Vec<(String, RecordBatch)>,
}

/// Looks names up.
pub struct Context<'a> {
    pub(super) view: &'a View,
    pub(super) state: &'a SessionState,
    /// Tables that the statement brings.
    pub(super) known: &'a Known,
    /// Whether the plan says the same in another session and at another time.
    pub(super) lasting: &'a Cell<bool>,
    pub(super) types: &'a Arc<dyn TypePlanner>,
    /// Views within views.
    pub(super) depth: usize,
}

/// Views may refer to views so deep.
pub(super) const VIEW_DEPTH: usize = 32;

impl Context<'_> {
    fn provider(&self, parts: &[String]) -> crate::error::Result<Arc<dyn TableProvider>> {
        self.view.scope.go_on()?;
        if let [name] = parts {
            if name == TARGET
                && let Some(target) = &self.known.target
            {
                return Ok(Arc::new(EngineTable::new(target.clone(), true)));
            }
            if let Some((_, rows)) = self.known.rows.iter().find(|(known, _)| known == name) {
                let table = MemTable::try_new(rows.schema(), vec![vec![rows.clone()]])?;
                return Ok(Arc::new(table));
            }
        }
        let (schema, name) = match parts {
            [.., schema, name] => (Some(schema.as_str()), name),
            [name] => (None, name),
            [] => return Err(no_table(parts)),
        };
        let system = |schema: &str| {
            let table = system::table(self.view, schema, name);
            if table.is_some() {
                self.lasting.set(false);
            }
            table
        };
        // As in PostgreSQL, pg_catalog comes before the search path.
        if schema.is_none_or(|s| s == PG_CATALOG)
            && let Some(table) = system(PG_CATALOG)
        {
            return Ok(table);
        }
        if schema == Some(INFORMATION_SCHEMA)
            && let Some(table) = system(INFORMATION_SCHEMA)
        {
            return Ok(table);
        }
        match self.view.find(parts)? {
            Some(Relation::Table(name, table)) => {
                self.may_read(crate::catalog::oids::of_table(table.schema().id), &name)?;
                let handle = TableHandle { schema: table.schema(), table };
                Ok(Arc::new(EngineTable::new(handle, false)))
            }
            Some(Relation::View(name, sql)) => {
                self.may_read(self.view.oid_of_view(&name), &name)?;
                Ok(Arc::new(ViewTable::new(self.view_plan(&sql)?)))
            }
            None => Err(no_table(parts)),
        }
    }

    /// A view reads with its owner's rights, so only the statement's own tables are asked about.
    fn may_read(&self, oid: u32, name: &crate::catalog::Name) -> crate::error::Result<()> {
        if self.depth > 0 { Ok(()) } else { self.view.must(oid, &name.name, "select") }
    }

    fn view_plan(&self, sql: &str) -> crate::error::Result<datafusion::logical_expr::LogicalPlan> {
        if self.depth >= VIEW_DEPTH {
            return Err(too_deep().detail("Views refer to each other too deeply."));
        }
        let mut statement = parse::one(sql)?;
        crate::rewrite::statement(&mut statement);
        let known = Known::default();
        let inner = Context { known: &known, depth: self.depth + 1, ..*self };
        Ok(SqlToRel::new_with_options(&inner, super::parser_options())
            .sql_statement_to_plan(statement.into_inner())?)
    }
}

fn parts_of(name: &TableReference) -> Vec<String> {
    let parts = [name.catalog(), name.schema(), Some(name.table())];
    parts.into_iter().flatten().map(str::to_string).collect()
}

impl ContextProvider for Context<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        self.provider(&parts_of(&name)).map(provider_as_source).map_err(external)
    }
    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> Result<Arc<dyn TableSource>> {
        self.lasting.set(false);
        functions::table_function(self.view, self.state, name, args).map(provider_as_source)
    }
    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }
    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }
    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        self.state.relation_planners()
    }
    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::clone(self.types))
    }
    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        if let Some(function) = functions::of_session(self.view, name) {
            self.lasting.set(false);
            return Some(function);
        }
        self.state.scalar_functions().get(name).cloned()
    }
    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }
    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        self.state.aggregate_functions().get(name).cloned()
    }
    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        self.state.window_functions().get(name).cloned()
    }
    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }
    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }
    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }
    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }
    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }
    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}
