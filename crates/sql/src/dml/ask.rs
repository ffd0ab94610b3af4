//! How does a statement that changes rows have something computed?

use std::sync::Arc;

use crate::error::Result;
use crate::parse;
use crate::plan::{Batches, Held, Known};
use crate::session::answer::{AnswerColumn, columns_of};
use crate::session::values::fields_of;
use crate::session::{Parameter, Session};
use crate::view::View;

/// The rows of a query.
///
/// # Errors
/// Those of the query.
pub fn rows(
    session: &Session,
    view: &View,
    text: &str,
    values: &[Parameter],
    known: &Known,
) -> Result<Held> {
    with_columns(session, view, text, values, known).map(|(_, batches)| batches)
}

/// The rows of a query, and its columns.
///
/// # Errors
/// Those of the query.
pub fn with_columns(
    session: &Session,
    view: &View,
    text: &str,
    values: &[Parameter],
    known: &Known,
) -> Result<(Arc<[AnswerColumn]>, Held)> {
    let (columns, batches) = begin(session, view, text, values, known)?;
    Ok((columns, batches.all()?))
}

/// A query that gives its rows as they are asked for.
///
/// # Errors
/// Those of the query.
pub fn begin(
    session: &Session,
    view: &View,
    text: &str,
    values: &[Parameter],
    known: &Known,
) -> Result<(Arc<[AnswerColumn]>, Batches)> {
    let types: Vec<_> = values.iter().map(|p| Some(p.ty)).collect();
    let planner = &session.instance.planner;
    let query = planner.plan(view, parse::one(text)?, fields_of(&types), known)?;
    let columns = columns_of(&query.schema());
    let query = query.with_values(values)?;
    Ok((columns, planner.run(planner.physical(view, &query)?, &view.scope)?))
}
