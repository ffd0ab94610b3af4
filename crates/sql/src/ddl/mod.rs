//! How does the catalog change?
//!
//! Statements become descriptions for the engine. They go through its transaction, so that they come and go
//! with it ([`change`]); a statement that is alone in its transaction may go beside it where that is
//! cheaper. What the engine does not need to know (views, roles, computed defaults, comments) are objects of [`crate::catalog`].

mod alter;
mod change;
mod checks;
mod columns;
mod comment;
mod constraints;
mod default_privileges;
pub mod defaults;
mod dependencies;
mod drop;
mod grant;
mod index;
mod members;
mod naming;
mod owned;
mod privileges;
mod query;
mod roles;
mod schema;
mod sequence;
mod table;
mod truncate;
mod types;
mod view;

use datafusion::sql::sqlparser::ast::Statement;

use crate::error::{Result, SqlError};
use crate::session::Session;
use crate::session::answer::Answer;
use crate::view::View;
use crate::wire::Client;
use crate::words::Words;

pub use alter::relation;
pub use naming::Relation as RelationKind;
pub use privileges::class_of;

/// Carries out a statement that changes the catalog.
///
/// # Errors
/// Those of the statement.
pub fn run(
    session: &mut Session,
    view: &View,
    statement: &Statement,
    client: &mut dyn Client,
) -> Result<Answer> {
    let tag = match statement {
        Statement::CreateTable(create) => {
            return table::create(session, view, create, client).map(Answer::Done);
        }
        Statement::CreateIndex(create) => index::create(session, view, create, client)?,
        Statement::CreateView(create) => view::create(session, view, create)?,
        Statement::Truncate(truncate) => truncate::truncate(session, view, truncate)?,
        other => return Err(SqlError::unsupported(first_words(&other.to_string()))),
    };
    Ok(Answer::Done(tag.to_string()))
}

/// Carries out a statement that changes the catalog and is read by its words; `None` where it is none.
///
/// # Errors
/// Those of the statement.
pub fn by_words(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    client: &mut dyn Client,
) -> Result<Option<String>> {
    let s = session;
    let tag = if words.accept(&["alter", "default", "privileges"]) {
        default_privileges::run(s, view, words)?
    } else if words.accept(&["alter", "table"]) {
        alter::table(s, view, words, client)?
    } else if words.accept(&["alter", "view"]) {
        alter::view(s, view, words, client)?
    } else if words.accept(&["alter", "index"]) {
        alter::index(s, view, words, client)?
    } else if words.accept(&["alter", "sequence"]) {
        sequence::alter(s, view, words, client)?
    } else if words.accept(&["create", "sequence"]) {
        sequence::create(s, view, words, client)?
    } else if words.accept(&["create", "schema"]) {
        schema::create(s, view, words, client)?
    } else if words.accept(&["create", "database"]) {
        schema::create_database(s, view, words)?
    } else if words.accept(&["drop", "database"]) {
        schema::drop_database(s, view, words, client)?
    } else if words.accept(&["create", "user"]) {
        roles::create(s, view, words, true, client)?
    } else if words.accept(&["create", "role"]) || words.accept(&["create", "group"]) {
        roles::create(s, view, words, false, client)?
    } else if words.accept(&["alter", "user"]) || words.accept(&["alter", "role"]) {
        roles::alter(s, view, words)?
    } else if words.accept(&["drop", "user"]) || words.accept(&["drop", "role"]) {
        roles::drop(s, view, words, client)?
    } else if words.accept(&["reassign", "owned", "by"]) {
        owned::reassign(s, view, words)?
    } else if words.accept(&["drop", "owned", "by"]) {
        owned::drop(s, view, words)?
    } else if words.accept(&["comment", "on"]) {
        comment::run(s, view, words)?
    } else if words.accept(&["grant"]) {
        grant::run(s, view, words, true, client)?
    } else if words.accept(&["revoke"]) {
        grant::run(s, view, words, false, client)?
    } else if words.accept(&["drop"]) {
        return drop::drop(s, view, words, client).map(Some);
    } else if words.accept(&["alter", "schema"]) {
        schema::alter(s, view, words)?
    } else if words.accept(&["alter", "database"]) {
        schema::alter_database(s, view, words)?
    } else {
        return Ok(None);
    };
    Ok(Some(tag.to_string()))
}

/// The words that name a statement.
fn first_words(text: &str) -> String {
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}
