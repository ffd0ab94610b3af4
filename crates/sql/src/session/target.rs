//! Which rows of a table does a query lock, where the planner has to sort them?
//!
//! Its query part, with the row's id first, goes to the planner.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::sql::sqlparser::ast::{Expr, TableFactor, TableWithJoins};
use onlap::{RowId, Table, TableSchema};

use crate::catalog::names::{fold, parts, quote};
use crate::error::{Result, SqlError};
use crate::parse;
use crate::plan::{Known, Query, ROW_ID, TARGET, TableHandle};
use crate::session::Session;
use crate::session::values::fields_of;
use crate::types::PgType;
use crate::view::View;

/// The table that a statement changes.
pub struct Target {
    /// The engine's table.
    pub table: Table,
    /// Its columns.
    pub schema: Arc<TableSchema>,
    /// What the statement calls it.
    pub alias: String,
}

/// A query of [`Target::query`].
pub struct Asked {
    text: String,
    /// How many of its last columns the statement needs for itself.
    own: usize,
}

/// How such columns are called, so that they are not taken for others of the query.
const OWN: &str = "onlap own ";

impl Target {
    /// The table of a statement's first word.
    ///
    /// # Errors
    /// There is none; it is joined.
    pub fn of(view: &View, table: &TableWithJoins) -> Result<Target> {
        if !table.joins.is_empty() {
            return Err(SqlError::unsupported("a join as the target of a statement"));
        }
        let TableFactor::Table { name, alias, .. } = &table.relation else {
            return Err(SqlError::unsupported(format!("{} as a target", table.relation)));
        };
        let (found, handle) = view.table(&parts(name)?)?;
        let alias = alias.as_ref().map_or(found.name, |a| fold(&a.name));
        Ok(Target { schema: handle.schema(), table: handle, alias })
    }

    /// The query of rows and values: `items` beside the id, `from` other tables; `whole`: behind the items all
    /// columns of the target, for RETURNING, which is judged by itself.
    pub fn query(
        &self,
        items: &[String],
        whole: bool,
        from: &str,
        selection: Option<&Expr>,
        tail: &str,
    ) -> Asked {
        let mut text = format!("SELECT {}.{}", quote(&self.alias), quote(ROW_ID));
        for item in items {
            text += ", ";
            text += item;
        }
        let own = if whole { &self.schema.columns[..] } else { &[] };
        for column in own {
            let (alias, name) = (quote(&self.alias), quote(&column.name));
            text += &format!(", {alias}.{name} AS {}", quote(&format!("{OWN}{}", column.name)));
        }
        text += &format!(" FROM {} AS {}", quote(TARGET), quote(&self.alias));
        if !from.is_empty() {
            text += &format!(", {from}");
        }
        if let Some(selection) = selection {
            text += &format!(" WHERE {selection}");
        }
        Asked { text: text + tail, own: own.len() }
    }

    /// Plans a query of [`Target::query`].
    ///
    /// # Errors
    /// Those of the planner.
    pub fn plan(
        &self,
        session: &Session,
        view: &View,
        asked: &Asked,
        types: &[Option<PgType>],
    ) -> Result<Query> {
        let handle = TableHandle { table: self.table.clone(), schema: Arc::clone(&self.schema) };
        let known = Known { target: Some(handle), own: asked.own };
        session.instance.planner.plan(view, parse::one(&asked.text)?, fields_of(types), &known)
    }
}

/// The ids of rows.
pub fn ids_of(batches: &[RecordBatch]) -> Vec<RowId> {
    let ids = |batch: &RecordBatch| {
        let ids = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        ids.into_iter().map(|id| id as RowId)
    };
    batches.iter().flat_map(ids).collect()
}
