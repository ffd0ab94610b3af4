//! What are the keys by which a table divides its rows, where they are expressions?
//!
//! Their texts are kept in the catalog. They are bound as a query of the table's columns alone, and calculated by the nodes
//! that calculate all expressions.

use std::sync::Arc;

use onlap::TableSchema;
use onlap_pg::print::Look;
use onlap_pg::{Error, bind, grammar};
use onlap_query::{Env, Keys};

use super::printed::Printed;
use super::schema::Names;
use super::sql_error;
use crate::catalog::Name;
use crate::catalog::names::quote;
use crate::error::{Result, SqlError};
use crate::plan::TableHandle;
use crate::system::model::Model;
use crate::view::View;

fn text_of(table: &TableHandle, texts: &[String]) -> String {
    let name = Name::of_engine(&table.schema.name).1;
    format!("SELECT {} FROM ONLY {}.{}", texts.join(", "), quote(&name.schema), quote(&name.name))
}

/// Expressions of a table's columns, as a query of it alone.
///
/// # Errors
/// Those of binding them.
pub fn bound(
    view: &View,
    table: &TableHandle,
    texts: &[String],
) -> Result<(onlap_pg::bound::Bound, onlap_pg::bound::QueryId)> {
    let text = text_of(table, texts);
    let names = Names::new(view);
    // What is wrong with a kept text has no place in the statement's.
    let failed = |e: Error| sql_error(&Error { position: None, ..e }, "");
    let tree = grammar::parse(&text).map_err(failed)?;
    let [written] = &tree.statements[..] else {
        return Err(SqlError::new("XX001", "a partition key is no expression"));
    };
    bind::bind(&tree, &written.statement, &names, names.catalog(), &[]).map_err(failed)
}

/// What calculates expressions of a table's columns.
///
/// # Errors
/// Those of binding them; `0A000`.
pub fn of(view: &View, table: &TableHandle, texts: &[String], env: &Arc<Env>) -> Result<Keys> {
    let (bound, query) = bound(view, table, texts)?;
    Keys::new(&bound, query, env).map_err(|e| sql_error(&e, ""))
}

/// A key's text as it is shown.
pub fn printed(view: &View, table: &TableSchema, sql: &str) -> String {
    let Ok(model) = Model::of(view) else { return sql.to_string() };
    in_parens(Printed::new(view, &model).expression(table, None, sql, Look::PRETTY))
}

/// An expression of a partition key as it stands in a list: a call alone has no parentheses around it.
pub fn in_parens(shown: String) -> String {
    let is_call = shown.ends_with(')') && !shown.starts_with('(');
    if is_call { shown } else { format!("({shown})") }
}
