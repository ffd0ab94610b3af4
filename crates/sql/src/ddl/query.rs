//! CREATE TABLE AS.

use onlap::TableSpec;
use onlap_pg::ast::CreateTableAs;

use super::columns::Declared;
use super::table::{Making, is_free, refuse_kept, with_options};
use crate::change;
use crate::columns::ColumnType;
use crate::error::{Result, SqlError, state};
use crate::plan::TableHandle;
use crate::query::Bound;
use crate::session::Session;
use crate::source::{Source, strings};
use crate::view::View;
use crate::wire::Client;

/// Makes a table of a query's columns and rows; the tag.
///
/// # Errors
/// Those of the query; a column of a type that tables do not have.
pub fn create_table_as(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateTableAs,
    client: &mut dyn Client,
) -> Result<String> {
    if create.materialized {
        return Err(SqlError::unsupported("a materialized view").hint("Use CREATE TABLE … AS."));
    }
    refuse_kept(create.lasting, &create.kept)?;
    if create.query.is_none() {
        return Err(SqlError::unsupported("CREATE TABLE AS EXECUTE"));
    }
    let name = view.new_name(&strings(&create.name))?;
    if !is_free(view, &name, create.skip, client)? {
        return Ok("CREATE TABLE AS".into());
    }
    let text = source.alone(create.span);
    let bound = Bound::must(view, &text, source.depth, &[])?;
    view.must(bound.needs())?;
    if create.columns.len() > bound.columns().len() {
        return Err(SqlError::new(state::SYNTAX, "too many column names were specified"));
    }
    let mut columns = Vec::with_capacity(bound.columns().len());
    for (i, field) in bound.columns().iter().enumerate() {
        let named = create.columns.get(i).map(|name| name.to_string());
        let column = named.unwrap_or_else(|| field.name.clone());
        let ty =
            ColumnType::of(view.objects.made_types().catalog(), field.ty).ok_or_else(|| {
                SqlError::unsupported(format!("a column of the type of \"{column}\""))
            })?;
        columns.push(Declared::plain(column, ty));
    }
    let spec = TableSpec::new(name.engine(&view.database));
    let spec = with_options(spec, &create.kept.settings)?;
    Making { session, view, name: &name, columns, constraints: Vec::new() }.run(spec)?;
    if create.no_data {
        return Ok("CREATE TABLE AS".into());
    }
    let batches = bound.batches(view, &text)?;
    let table = view.scope.tx()?.table(&name.engine(&view.database))?;
    // The role that makes the table fills it, whatever it may do with it.
    let view = session.view()?;
    let target = TableHandle::new(&view, table);
    let n = change::fill(&view, &target, batches)?;
    session.current()?.changed = true;
    Ok(format!("SELECT {n}"))
}
