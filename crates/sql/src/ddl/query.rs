//! CREATE TABLE AS.

use datafusion::sql::sqlparser::ast::{CreateTable, Query};
use onlap::TableSpec;

use super::columns::{Declared, Default};
use super::table::{Making, with_options};
use crate::catalog::Name;
use crate::catalog::names::fold;
use crate::change;
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::plan::TableHandle;
use crate::query::Bound;
use crate::session::Session;
use crate::view::View;

/// Makes a table of a query's columns and rows; the tag.
///
/// # Errors
/// Those of the query; a column of a type that tables do not have.
pub fn create_table_as(
    session: &mut Session,
    view: &View,
    create: &CreateTable,
    name: &Name,
    query: &Query,
) -> Result<String> {
    let text = query.to_string();
    let depth = parse::statements(&text)?.pop().map(|parsed| parsed.depth).unwrap_or_default();
    let bound = Bound::must(view, &text, depth, &[])?;
    let (bound, text) = (&bound, &*text);
    view.must(bound.needs())?;
    if create.columns.len() > bound.columns().len() {
        return Err(SqlError::new(state::SYNTAX, "too many column names were specified"));
    }
    let mut columns = Vec::with_capacity(bound.columns().len());
    for (i, field) in bound.columns().iter().enumerate() {
        let named = create.columns.get(i).map(|c| fold(&c.name));
        let column = named.unwrap_or_else(|| field.name.clone());
        let ty = field.ty.engine().ok_or_else(|| {
            SqlError::unsupported(format!("a column of the type of \"{column}\""))
        })?;
        columns.push(Declared {
            name: column,
            ty,
            not_null: false,
            default: Default::None,
            sequence: None,
            constraints: Vec::new(),
        });
    }
    let spec = TableSpec::new(name.engine(&view.database));
    let spec = with_options(spec, &create.table_options)?;
    Making { session, view, name, columns, constraints: Vec::new() }.run(spec)?;
    let batches = bound.batches(view, text)?;
    let table = view.scope.tx()?.table(&name.engine(&view.database))?;
    let target = TableHandle { schema: table.schema(), table };
    // The role that makes the table fills it, whatever it may do with it.
    let view = session.view()?;
    let n = change::fill(&view, &target, batches)?;
    session.current()?.changed = true;
    Ok(format!("SELECT {n}"))
}
