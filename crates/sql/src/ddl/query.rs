//! CREATE TABLE AS.

use datafusion::sql::sqlparser::ast::{CreateTable, Query, Statement};
use onlap::{DataType, TableSpec};

use super::columns::{Declared, Default};
use super::table::{Making, with_options};
use crate::catalog::Name;
use crate::catalog::names::fold;
use crate::change;
use crate::dml;
use crate::dml::target::Target;
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::plan::{Known, TableHandle};
use crate::query::Bound;
use crate::session::Session;
use crate::types::PgType;
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
    if session.binds_itself() {
        let text = query.to_string();
        let depth = parse::statements(&text)?.pop().map(|parsed| parsed.depth).unwrap_or_default();
        if let Some(bound) = Bound::new(view, &text, depth, &[])? {
            return of_bound(session, view, create, name, (&bound, &text));
        }
    }
    let statement = Statement::Query(Box::new(query.clone()));
    let plan = session.instance.planner.plan(view, statement, Vec::new(), &Known::default())?;
    let schema = plan.schema();
    if create.columns.len() > schema.fields().len() {
        return Err(SqlError::new(state::SYNTAX, "too many column names were specified"));
    }
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (i, field) in schema.fields().iter().enumerate() {
        let named = create.columns.get(i).map(|c| fold(&c.name));
        let column = named.unwrap_or_else(|| field.name().clone());
        let ty = PgType::of_field(field).engine().ok_or_else(|| {
            SqlError::unsupported(format!("a column of the type of \"{column}\""))
        })?;
        // A numeric of a computation has no declared scale.
        let ty = if matches!(ty, DataType::Numeric(_)) { DataType::Numeric(None) } else { ty };
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
    // What the query reads was found, and is judged, before the table is there: its name may be one of the query's.
    let physical = session.instance.planner.physical(view, &plan)?;
    Making { session, view, name, columns, constraints: Vec::new() }.run(spec)?;
    let batches = session.instance.planner.run(physical, &view.scope)?;
    let table = view.scope.tx()?.table(&name.engine(&view.database))?;
    let alias = name.name.clone();
    let target = Target { name: name.clone(), schema: table.schema(), table, alias };
    // The role that makes the table fills it, whatever it may do with it.
    let view = session.view()?;
    let n = dml::fill(session, &view, &target, batches)?;
    session.current()?.changed = true;
    Ok(format!("SELECT {n}"))
}

/// The same of a query with PostgreSQL's meaning.
fn of_bound(
    session: &mut Session,
    view: &View,
    create: &CreateTable,
    name: &Name,
    (bound, text): (&Bound, &str),
) -> Result<String> {
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
