//! Which statements does sqlparser not know?
//!
//! They are read word by word, and carried out here or in the part that they concern.

use datafusion::sql::sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::session::Session;
use crate::session::answer::Answer;
use crate::view::View;
use crate::wire::Client;
use crate::words::Words;
use crate::{copy, ddl, settings_sql};

/// Carries out a statement that is known by its words.
///
/// # Errors
/// Those of the statement.
pub fn run(
    session: &mut Session,
    view: &View,
    text: &str,
    tokens: &[Token],
    client: &mut dyn Client,
) -> Result<Answer> {
    let mut words = Words::of(text)?;
    if words.begins(&["copy"]) {
        return copy::run(session, view, text, client);
    }
    if let Some(tag) = ddl::by_words(session, view, &mut words, client)? {
        return Ok(Answer::Done(tag));
    }
    settings_sql::other(session, view, tokens, client)
}
