//! What do names in a query mean to the planner?
//!
//! Tables, views and system tables as a statement's [`View`] finds them; functions of the planner, of the
//! session and of PostgreSQL. A plan that depends on more than the schema (a function of the session, a
//! system table) is noted, for it is no use to later statements.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Column, Result, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{
    ContextProvider, ExprPlanner, RelationPlanner, TypePlanner,
};
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlanBuilder, ScalarUDF, TableSource, WindowUDF,
};
use datafusion::sql::planner::SqlToRel;
use onlap::TableSchema;
use serde_json::Value as Json;

use super::needs::{self, Reads};
use super::provider::{EngineTable, ViewTable};
use super::scan::{TableHandle, external};
use crate::catalog::objects::Object;
use crate::catalog::{Kind, Name, bound, oids};
use crate::deep::too_deep;
use crate::error::SqlError;
use crate::rights::ask::{shown, table_key};
use crate::rights::{Action, Class, Key, Need};
use crate::view::{INFORMATION_SCHEMA, PG_CATALOG, Relation, View, no_table};
use crate::{functions, parse, system};

/// Name under which plans of UPDATE and DELETE refer to the table that they change.
pub const TARGET: &str = "onlap target";

/// Tables that a statement brings itself.
#[derive(Default)]
pub struct Known {
    /// The table that an UPDATE or DELETE changes; found under [`TARGET`], with its row ids.
    pub target: Option<TableHandle>,
    /// How many of the query's last columns the statement needs for itself: reading them is judged where it uses
    /// them. They are told by their place, since any name may be a client's.
    pub own: usize,
}

/// The view whose query is planned.
pub struct Within<'a> {
    /// What is kept of it.
    pub body: &'a Json,
    /// The role with whose rights it reads.
    pub owner: u32,
    /// Which view it is.
    key: Key,
    /// The view that reads it, if that is one.
    outer: Option<&'a Within<'a>>,
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
    /// The view that this is the query of.
    pub(super) within: Option<&'a Within<'a>>,
    /// What views need, each with its owner's rights.
    pub(super) inner: &'a RefCell<Vec<Need>>,
}

/// Views may refer to views so deep.
pub(super) const VIEW_DEPTH: usize = 32;

impl Context<'_> {
    fn provider(&self, parts: &[String]) -> crate::error::Result<Arc<dyn TableProvider>> {
        self.view.scope.go_on()?;
        if let [name] = parts
            && name == TARGET
            && let Some(target) = &self.known.target
        {
            let reads = Reads { rows: false, ..self.reads_of(&target.schema) };
            return Ok(Arc::new(EngineTable::new(target.clone(), true, Some(reads))));
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
                self.note_secret(schema, name);
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
        if let Some(within) = self.within {
            return match bound::oid_of(parts) {
                Some(oid) => self.bound(within, oid),
                // A view's names were bound when it was made: what is not bound is not there.
                None => Err(no_table(parts)),
            };
        }
        match self.view.find(parts)? {
            Some(Relation::Table(_, table)) => {
                let handle = TableHandle { schema: table.schema(), table };
                let reads = self.reads_of(&handle.schema);
                Ok(Arc::new(EngineTable::new(handle, false, Some(reads))))
            }
            Some(Relation::View(name)) => {
                let engine = name.engine(&self.view.database);
                let object = self.view.objects.get(Kind::View, &engine);
                self.view_table(&name, object.ok_or_else(|| no_table(parts))?)
            }
            None => Err(no_table(parts)),
        }
    }

    /// Notes that a table of the system is read which has passwords.
    fn note_secret(&self, schema: &str, name: &str) {
        if let Some((class, key)) = system::with_secrets(schema, name) {
            let need = Need::new(Action::Read, class, key, name);
            let by = self.within.map(|within| within.owner);
            self.inner.borrow_mut().push(Need { by, ..need });
        }
    }

    /// What reading a table's columns needs here.
    fn reads_of(&self, schema: &TableSchema) -> Reads {
        let by = self.within.map(|within| within.owner);
        Reads { by, rows: true, ..reads_of_table(schema) }
    }

    /// What a view refers to: a table or view, wherever it is and whatever it is called now, with the
    /// columns that it had then, under the names of then.
    fn bound(&self, within: &Within<'_>, oid: u32) -> crate::error::Result<Arc<dyn TableProvider>> {
        let missing = || no_table(&[format!("of OID {oid}")]);
        let used = bound::use_of(within.body, oid).ok_or_else(missing)?;
        match bound::find(self.view, &used)?.ok_or_else(missing)? {
            bound::Found::View(name, object) => self.view_table(&name, object),
            bound::Found::Table(table) => {
                let handle = TableHandle { schema: table.schema(), table };
                let reads = self.reads_of(&handle.schema);
                let now = handle.schema.columns.iter().map(|c| (c.id.0, c.name.as_str()));
                let then = used.columns.iter().map(|(id, name)| (*id, name.as_str()));
                if now.eq(then) {
                    return Ok(Arc::new(EngineTable::new(handle, false, Some(reads))));
                }
                let (mut columns, mut numbers) = (Vec::new(), Vec::new());
                for (id, name) in &used.columns {
                    let Some(at) = handle.schema.columns.iter().position(|c| c.id.0 == *id) else {
                        continue;
                    };
                    let column = Column::from_name(&handle.schema.columns[at].name);
                    columns.push(Expr::Column(column).alias(name));
                    numbers.push(id + 1);
                }
                let scan = provider_as_source(Arc::new(EngineTable::new(handle, false, None)));
                let plan = LogicalPlanBuilder::scan("renamed", scan, None)?.project(columns)?;
                let reads = Reads { numbers, ..reads };
                Ok(Arc::new(ViewTable::new(plan.build()?, Some(reads))))
            }
        }
    }

    fn view_table(
        &self,
        name: &Name,
        object: &Object,
    ) -> crate::error::Result<Arc<dyn TableProvider>> {
        if self.depth >= VIEW_DEPTH {
            return Err(too_deep().detail("Views refer to each other too deeply."));
        }
        let key = Key::of(oids::of_object(object.number));
        // OR REPLACE lets a view read itself, which no query of it ends.
        let mut around = self.within;
        while let Some(within) = around {
            if within.key == key {
                let text =
                    format!("infinite recursion detected in rules for relation \"{}\"", name.name);
                return Err(SqlError::new("42P17", text));
            }
            around = within.outer;
        }
        let owner = self.view.judge.rights().owner(key);
        let mut statement = parse::one(object.body["sql"].as_str().unwrap_or_default())?;
        crate::rewrite::statement(&mut statement);
        let known = Known::default();
        let within = Within { body: &object.body, owner, key, outer: self.within };
        let inner = Context {
            known: &known,
            depth: self.depth + 1,
            within: Some(&within),
            view: self.view,
            state: self.state,
            lasting: self.lasting,
            types: self.types,
            inner: self.inner,
        };
        let plan = SqlToRel::new_with_options(&inner, super::parser_options())
            .sql_statement_to_plan(statement.into_inner())?;
        let mut needs = needs::collect(&plan, &known)?;
        self.inner.borrow_mut().append(&mut needs);
        let plan = needs::expand(plan)?;
        let reads = Reads {
            class: Class::View,
            key,
            name: name.name.clone(),
            numbers: (1..=plan.schema().fields().len() as u32).collect(),
            by: self.within.map(|within| within.owner),
            rows: true,
        };
        Ok(Arc::new(ViewTable::new(plan, Some(reads))))
    }
}

/// What reading a table's columns needs, of rows that the statement has.
pub fn reads_of_table(schema: &TableSchema) -> Reads {
    Reads {
        class: Class::Table,
        key: table_key(schema),
        name: shown(schema),
        numbers: schema.columns.iter().map(|c| c.id.0 + 1).collect(),
        by: None,
        rows: false,
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
