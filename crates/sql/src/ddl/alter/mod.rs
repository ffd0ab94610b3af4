//! ALTER TABLE.
//!
//! Each action becomes a step ([`actions`]), and the engine carries them out one after the other in the
//! statement's transaction ([`steps`]).

mod actions;
mod columns;
mod steps;

use crate::catalog::{Name, oids};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;
use crate::words::Words;

use super::change::notice;
use super::naming::{self, Relation};
use actions::Actions;

/// ALTER TABLE, after these words.
///
/// # Errors
/// There is no such table; what Onlap does not do; rows that do not fit.
pub fn table(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let skip = words.accept(&["if", "exists"]);
    words.accept(&["only"]);
    let parts = words.name()?;
    words.symbol(&datafusion::sql::sqlparser::tokenizer::Token::Mul);
    if words.accept(&["owner", "to"]) {
        let role = words.ident()?;
        words.end()?;
        return owner(session, view, &parts, &role, skip, client);
    }
    let (name, table) = match view.table(&parts) {
        Err(e) if skip && e.state() == state::NO_TABLE => {
            notice(client, "00000", format!("{}, skipping", e.message()));
            return Ok("ALTER TABLE");
        }
        found => found?,
    };
    session.must_own(view, oids::of_table(table.schema().id), "table", &name.name)?;
    let pieces = words.pieces();
    let mut actions = Actions::new(view, &name, &table);
    for piece in pieces {
        actions.read(session, piece, client)?;
    }
    let steps = actions.steps;
    if steps.is_empty() {
        return Ok("ALTER TABLE");
    }
    steps::run(session, view, table, steps)?;
    Ok("ALTER TABLE")
}

/// OWNER TO, of anything that has a name in a schema.
fn owner(
    session: &mut Session,
    view: &View,
    parts: &[String],
    role: &str,
    skip: bool,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let name = relation(view, parts)?;
    let Some((name, _)) = name else {
        let error = crate::view::no_table(parts);
        if skip {
            notice(client, "00000", format!("{}, skipping", error.message()));
            return Ok("ALTER TABLE");
        }
        return Err(error);
    };
    session.give(view, &name, role)?;
    Ok("ALTER TABLE")
}

/// What a name stands for, wherever it is in the search path.
pub fn relation(view: &View, parts: &[String]) -> Result<Option<(Name, Relation)>> {
    for name in view.candidates(parts) {
        if let Some(found) = naming::find(view, &name)? {
            return Ok(Some((name, found)));
        }
    }
    Ok(None)
}

/// ALTER INDEX, after these words.
///
/// # Errors
/// There is no such index; anything but another name.
pub fn index(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let skip = words.accept(&["if", "exists"]);
    let parts = words.name()?;
    let found = super::index::find(view, &parts)?;
    let Some((table, index)) = found else {
        let error = crate::view::no_table(&parts);
        if skip {
            notice(client, "00000", format!("{}, skipping", error.message()));
            return Ok("ALTER INDEX");
        }
        return Err(error);
    };
    if words.accept(&["rename", "to"]) {
        let to = words.ident()?;
        words.end()?;
        let (schema, _) = (Name::of_engine(&table.name()).1.schema, ());
        naming::check_free(view, &Name::new(schema, &to))?;
        let changes = onlap::TableChanges::new().rename_index(index, to);
        view.scope.tx()?.alter_table(&table, &changes)?;
        session.catalog_changed()?;
        return Ok("ALTER INDEX");
    }
    match words.one_of(&["set", "reset", "depends", "no"]) {
        Some(_) => Ok("ALTER INDEX"),
        None => Err(SqlError::unsupported("this form of ALTER INDEX")),
    }
}
