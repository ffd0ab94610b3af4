//! What does a plan know of the tables and of the statement that it runs for?

use std::fmt;
use std::sync::Arc;

use datafusion_common::{DataFusionError, Result};
use datafusion_execution::TaskContext;
use onlap::{Table, TableSchema};

use super::hypothetical;
use crate::catalog::Kind;
use crate::catalog::storage::Storage;
use crate::columns::Types;
use crate::error::SqlError;
use crate::query::Scans;
use crate::scope::Scope;
use crate::view::View;

/// A table with the form that the plan was made for.
#[derive(Clone)]
pub struct TableHandle {
    /// The engine's table.
    pub table: Table,
    /// Its columns and indexes then.
    pub schema: Arc<TableSchema>,
    /// What its columns are to PostgreSQL.
    pub types: Types,
    /// Whether it is a materialized view, and may be read.
    pub materialized: Option<bool>,
    /// Where a scan of it says by which conditions it reads, if anything asks for that.
    pub noted: Option<Arc<Scans>>,
}

impl TableHandle {
    /// A table as a statement sees it.
    pub fn new(view: &View, table: Table) -> TableHandle {
        let schema = readable(view, table.schema());
        let types = Types::of(&view.objects, &schema);
        let materialized =
            view.judge.rights().materialized(crate::catalog::oids::of_table(schema.id));
        let noted = view.noted_scans.clone();
        TableHandle { table, schema, types, materialized, noted }
    }
}

/// A table's form without the indexes that do not answer for what the statement sees: those that were made later, over
/// columns that had been changed in place, and those that are invisible. With the indexes that are only thought of.
pub fn readable(view: &View, schema: Arc<TableSchema>) -> Arc<TableSchema> {
    let schema = without_later(view, schema);
    if view.objects.of_kind(Kind::Storage).next().is_none() {
        return hypothetical::with(view, schema);
    }
    let is_hidden = |index: &onlap::IndexSchema| Storage::hides(&view.objects, index.id);
    let mut schema = schema;
    if schema.indexes.iter().any(is_hidden) {
        let indexes = Arc::make_mut(&mut schema).indexes.iter_mut();
        indexes.filter(|index| is_hidden(index)).for_each(|index| index.ready = false);
    }
    hypothetical::with(view, schema)
}

fn without_later(view: &View, schema: Arc<TableSchema>) -> Arc<TableSchema> {
    if !schema.indexes.iter().any(|index| index.only_since) {
        return schema;
    }
    let seen = match view.scope.past() {
        Some(past) => Some(past.csn()),
        None => view.scope.tx().ok().map(|tx| tx.csn()),
    };
    let mut schema = schema;
    if let Some(csn) = seen {
        let late = |index: &onlap::IndexSchema| {
            index.only_since && index.since > csn && index.since != onlap::Csn::MAX
        };
        if schema.indexes.iter().any(late) {
            let indexes = Arc::make_mut(&mut schema).indexes.iter_mut();
            indexes.filter(|index| late(index)).for_each(|index| index.ready = false);
        }
    }
    schema
}

impl fmt::Debug for TableHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.schema.name)
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

/// Wraps an error so that it comes out of a plan as it went in.
pub fn external(e: SqlError) -> DataFusionError {
    // A query within an expression hands on what the crate of queries knows.
    if e.is_plain() {
        return onlap_query::external(crate::query::of_sql(&e));
    }
    DataFusionError::External(Box::new(e) as Box<dyn std::error::Error + Send + Sync>)
}
