//! Which statements does sqlparser not know?
//!
//! They are read word by word, and carried out here or in the part that they concern.

mod explain;
mod maintenance;

use std::sync::Arc;

use crate::error::{Result, SqlError};
use crate::session::answer::{Answer, AnswerColumn};
use crate::session::{Parameter, Session};
use crate::settings::Id;
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
    values: &[Parameter],
    client: &mut dyn Client,
) -> Result<Answer> {
    let mut words = Words::of(text)?;
    if words.begins(&["copy"]) {
        return copy::run(session, view, text, client);
    }
    let known = [
        "declare",
        "fetch",
        "move",
        "close",
        "prepare",
        "execute",
        "deallocate",
        "explain",
        "listen",
        "unlisten",
        "notify",
    ];
    if !words.begins(&["prepare", "transaction"])
        && let Some(word) = words.one_of(&known)
    {
        return match word {
            "declare" => session.declare_cursor(view, &mut words, values),
            "fetch" => session.fetch(&mut words, false),
            "move" => session.fetch(&mut words, true),
            "close" => session.close_cursor(&mut words),
            "prepare" => session.prepare_by_name(&mut words),
            "execute" => session.execute_by_name(view, &mut words, client),
            "deallocate" => session.deallocate(&mut words),
            "explain" => explain::run(session, view, &mut words, client),
            // There is nobody to hear of.
            "unlisten" => Ok(Answer::Done("UNLISTEN".into())),
            other => Err(SqlError::unsupported(other.to_uppercase())),
        };
    }
    if let Some(answer) = maintenance::run(session, view, &mut words, client)? {
        return Ok(answer);
    }
    if let Some(tag) = ddl::by_words(session, view, &mut words, client)? {
        return Ok(Answer::Done(tag));
    }
    let zone = session.settings.text(Id::TimeZone).to_string();
    let answer = settings_sql::run(session, view, &mut words, text)?;
    let now = session.settings.text(Id::TimeZone);
    if now != zone && now != "UTC" {
        let text = format!(
            "times with a zone are shown in {now}; text without one, and functions, still mean UTC"
        );
        client.reply().notice("WARNING", &SqlError::new("01000", text));
    }
    Ok(answer)
}

/// Columns of what a statement gives, if that are rows.
pub fn columns_of(session: &Session, text: &str) -> Option<Arc<[AnswerColumn]>> {
    let mut words = Words::of(text).ok()?;
    match words.one_of(&["fetch", "execute", "explain", "show"])? {
        "fetch" => session.columns_of_fetch(&mut words),
        "execute" => session.columns_of_execute(&mut words),
        "show" => Some(settings_sql::columns(&mut words)),
        _ => Some(explain::columns()),
    }
}
