//! ALTER TABLE.
//!
//! Each action becomes a step ([`actions`]), and the engine carries them out one after the other in the
//! statement's transaction ([`steps`]).

mod actions;
mod columns;
mod steps;

use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::rights::Action;
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
    words.symbol(&crate::words::Token::Mul);
    if words.accept(&["owner", "to"]) {
        let role = words.ident()?;
        words.end()?;
        return owner(session, view, &parts, &role, skip, client, "ALTER TABLE");
    }
    let (name, table) = match view.table(&parts) {
        Err(e) if skip && e.state() == state::NO_TABLE => {
            notice(client, "00000", format!("{}, skipping", e.message()));
            return Ok("ALTER TABLE");
        }
        found => found?,
    };
    view.must_own(Action::Alter, &name, Relation::Table)?;
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
    tag: &'static str,
) -> Result<&'static str> {
    let Some((name, found)) = relation(view, parts)? else {
        let error = crate::view::no_table(parts);
        if skip {
            notice(client, "00000", format!("{}, skipping", error.message()));
            return Ok(tag);
        }
        return Err(error);
    };
    if found == Relation::Index {
        let text = format!("cannot change owner of index \"{}\"", name.name);
        return Err(SqlError::new("42809", text)
            .hint("Change the ownership of the index's table, instead."));
    }
    session.give_relation(view, &name, found, role)?;
    Ok(tag)
}

/// ALTER VIEW, after these words: another owner, name or schema.
///
/// # Errors
/// There is no such view; the role may not; what Onlap does not do.
pub fn view(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    client: &mut dyn Client,
) -> Result<&'static str> {
    const TAG: &str = "ALTER VIEW";
    let skip = words.accept(&["if", "exists"]);
    let parts = words.name()?;
    let name = match relation(view, &parts)? {
        Some((name, Relation::View)) => name,
        Some((name, _)) => {
            return Err(SqlError::new("42809", format!("\"{}\" is not a view", name.name)));
        }
        None if skip => {
            let error = crate::view::no_table(&parts);
            notice(client, "00000", format!("{}, skipping", error.message()));
            return Ok(TAG);
        }
        None => return Err(crate::view::no_table(&parts)),
    };
    if words.accept(&["owner", "to"]) {
        let role = words.ident()?;
        words.end()?;
        return owner(session, view, &parts, &role, skip, client, TAG);
    }
    let renames = words.accept(&["rename", "to"]);
    let to = if renames {
        Name::new(&name.schema, words.ident()?)
    } else if words.accept(&["set", "schema"]) {
        Name::new(words.ident()?, &name.name)
    } else {
        return Err(SqlError::unsupported("this form of ALTER VIEW"));
    };
    words.end()?;
    view.must_own(Action::Alter, &name, Relation::View)?;
    view.must_create_in(&to.schema)?;
    if !renames && to == name {
        return Ok(TAG);
    }
    naming::check_free(view, &to)?;
    session.rename(Kind::View, &name.engine(&view.database), &to.engine(&view.database))?;
    session.catalog_changed()?;
    Ok(TAG)
}

/// What a name stands for, wherever it is in the search path.
pub fn relation(view: &View, parts: &[String]) -> Result<Option<(Name, Relation)>> {
    for name in view.candidates(parts)? {
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
    let schema = Name::of_engine(&table.name()).1.schema;
    view.must_own(Action::Alter, &Name::new(&schema, &index), Relation::Index)?;
    if words.accept(&["rename", "to"]) {
        let to = words.ident()?;
        words.end()?;
        view.must_create_in(&schema)?;
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
