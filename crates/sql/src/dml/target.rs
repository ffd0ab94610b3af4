//! Which rows does an UPDATE or DELETE change?
//!
//! Its query part, with the row's id first, goes to the planner. The rows found are locked; where another
//! transaction had changed one meanwhile, at READ COMMITTED, the query is asked again for the rows that
//! are locked now, which nobody else changes any more.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::sql::sqlparser::ast::{Expr, TableFactor, TableWithJoins};
use onlap::{LockWait, RowId, RowLock, Table, TableSchema};

use crate::catalog::Name;
use crate::catalog::names::{fold, parts, quote};
use crate::error::{Result, SqlError};
use crate::fast::Source;
use crate::parse;
use crate::plan::{Held, Known, Query, ROW_ID, TARGET, TableHandle};
use crate::rights::ask::{numbers, of_table};
use crate::rights::{Action, Need};
use crate::session::values::fields_of;
use crate::session::{Parameter, Session};
use crate::types::PgType;
use crate::view::View;

/// The table that a statement changes.
pub struct Target {
    /// Its name.
    pub name: Name,
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

/// Rows to change: their ids, and what the query computed beside each.
pub struct Found {
    /// Batches whose first column is the row's id; each id once.
    pub batches: Held,
}

impl Target {
    /// As the native tier has it.
    pub fn source(&self) -> Source {
        Source {
            table: self.table.clone(),
            schema: Arc::clone(&self.schema),
            alias: self.alias.clone(),
        }
    }

    /// Something that the statement does with columns of the table, by their places.
    pub fn need(&self, action: Action, columns: impl IntoIterator<Item = usize>) -> Need {
        of_table(action, &self.schema, numbers(&self.schema, columns))
    }

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
        let alias = alias.as_ref().map_or(found.name.clone(), |a| fold(&a.name));
        Ok(Target { name: found, schema: handle.schema(), table: handle, alias })
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
        let known = Known { target: Some(handle), own: asked.own, ..Known::default() };
        session.instance.planner.plan(view, parse::one(&asked.text)?, fields_of(types), &known)
    }

    fn ask(
        &self,
        session: &Session,
        view: &View,
        asked: &Asked,
        values: &[Parameter],
    ) -> Result<Held> {
        let types: Vec<_> = values.iter().map(|p| Some(p.ty)).collect();
        let query = self.plan(session, view, asked, &types)?.with_values(values)?;
        let planner = &session.instance.planner;
        planner.run(planner.physical(view, &query)?, &view.scope)?.all()
    }

    /// Finds and locks rows.
    ///
    /// # Errors
    /// Those of the query; conflicts with other transactions.
    pub fn find(
        &self,
        session: &Session,
        view: &View,
        asked: &Asked,
        values: &[Parameter],
        mode: RowLock,
    ) -> Result<Found> {
        let mut batches = self.ask(session, view, asked, values)?.keep(once_each)?;
        let ids = ids_of(&batches);
        if ids.is_empty() {
            return Ok(Found { batches });
        }
        batches.let_others_run();
        let mut moved = false;
        let locked = {
            let mut recheck = |_: RowId, _: &onlap::Row| {
                moved = true;
                Ok(true)
            };
            let wait = LockWait::Block;
            view.scope.tx()?.lock_rows(&self.table, &ids, mode, wait, &mut recheck)?
        };
        if !moved && locked.len() == ids.len() {
            return Ok(Found { batches });
        }
        // Somebody was faster: what they committed is seen now, and the rows stay as they are.
        view.scope.tx()?.begin_statement()?;
        let batches = self.ask(session, view, asked, values)?.keep(once_each)?;
        let mut locked = locked;
        locked.sort_unstable();
        let wanted = |id| locked.binary_search(&id).is_ok();
        Ok(Found { batches: batches.keep(|batches| keep(batches, wanted))? })
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

/// A row that joins with several others is changed once.
fn once_each(batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
    let mut seen = std::collections::HashSet::new();
    keep(batches, |id| seen.insert(id))
}

fn keep(
    batches: Vec<RecordBatch>,
    mut wanted: impl FnMut(RowId) -> bool,
) -> Result<Vec<RecordBatch>> {
    use datafusion::arrow::array::BooleanArray;
    use datafusion::arrow::compute::filter_record_batch;
    let mut kept = Vec::new();
    for batch in batches {
        let mask: Vec<bool> =
            ids_of(std::slice::from_ref(&batch)).into_iter().map(&mut wanted).collect();
        if mask.iter().all(|keep| *keep) {
            kept.push(batch);
        } else {
            let mask = BooleanArray::from(mask);
            let filtered = filter_record_batch(&batch, &mask);
            kept.push(filtered.map_err(datafusion::common::DataFusionError::from)?);
        }
    }
    Ok(kept)
}
