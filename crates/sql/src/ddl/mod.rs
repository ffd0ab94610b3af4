//! How does the catalog change?
//!
//! Statements become descriptions for the engine. In a transaction block they go through its transaction
//! where the engine's transactions can do them, so that they come and go with it.

mod drop;
mod index;
mod table;
mod types;

use datafusion::sql::sqlparser::ast::Statement;

use crate::error::{Result, SqlError};
use crate::parse::Parsed;
use crate::session::Session;
use crate::session::answer::Answer;
use crate::view::View;
use crate::wire::Client;

pub use types::column_type;

/// Carries out a statement that changes the catalog.
pub fn run(
    session: &mut Session,
    view: &View,
    statement: &Statement,
    _parsed: &Parsed,
    client: &mut dyn Client,
) -> Result<Answer> {
    let tag = match statement {
        Statement::CreateTable(create) => table::create(session, view, create, client)?,
        Statement::CreateIndex(create) => index::create(session, view, create, client)?,
        Statement::Drop { .. } => drop::drop(session, view, statement, client)?,
        Statement::Truncate(truncate) => table::truncate(session, view, truncate)?,
        other => return Err(SqlError::unsupported(first_words(&other.to_string()))),
    };
    Ok(Answer::Done(tag.to_string()))
}

/// The words that name a statement.
fn first_words(text: &str) -> String {
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}
