//! How do a schema and a database get another name?
//!
//! Names of the engine begin with them, so all that is in one gets another name of the engine, object by object, in the
//! statement's transaction. Ids stay what they are, and so does all that is kept by them: rights, comments, columns, rules.
//! What is kept as a text that names the schema's types goes along, or the statement fails ([`super::made`]).
//!
//! Thread safety: runs in the session's thread.

use onlap::{Table, TableChanges};

use super::{function, made, sequence};
use crate::catalog::{Kind, Name, extensions};
use crate::error::{Result, SqlError};
use crate::session::Session;
use crate::view::View;

/// Where something is: its database and, where that alone moves, its schema.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The database.
    pub database: &'a str,
    /// The schema; none for all of them.
    pub schema: Option<&'a str>,
}

impl Place<'_> {
    fn has(&self, engine: &str) -> bool {
        let (database, name) = Name::of_engine(engine);
        database == self.database && self.schema.is_none_or(|schema| schema == name.schema)
    }

    /// What something that was elsewhere is called here.
    fn name(&self, engine: &str) -> String {
        let (_, name) = Name::of_engine(engine);
        let schema = self.schema.map_or(name.schema, str::to_string);
        Name::new(schema, name.name).engine(self.database)
    }
}

/// Gives all that is in a place its name in another, where nothing is.
///
/// # Errors
/// Those of waits for locks; `0A000`: a text that is kept names something by a name that it would lose; a table with blind
/// writes.
pub fn all(session: &mut Session, view: &View, from: Place<'_>, to: Place<'_>) -> Result<()> {
    must_be_seen(view, from)?;
    must_be_free_of_texts(view, from)?;
    let tables = view.scope.tx()?.tables();
    let tables: Vec<Table> = tables.into_iter().filter(|table| from.has(&table.name())).collect();
    for table in &tables {
        if table.schema().blind {
            return Err(SqlError::unsupported(
                "another name of what has a table with blind writes",
            ));
        }
        view.scope.tx()?.await_form(table)?;
        if view.scope.lent().is_called_for(table.schema().id) {
            super::index::must_be_unused(view, table, "ALTER SCHEMA")?;
        }
    }
    session.catalog_changed()?;
    for table in &tables {
        let changes = TableChanges::new().rename(to.name(&table.name()));
        view.scope.tx()?.alter_table(table, &changes)?;
    }
    let sequences = view.scope.tx()?.sequences();
    for old in sequences.iter().filter(|sequence| from.has(sequence.name())) {
        sequence::moved(session, view, old, &to.name(old.name()))?;
    }
    types(session, view, from, to)?;
    for kind in [Kind::View, Kind::Function] {
        let all = view.objects.of_kind(kind).map(|(key, _)| key);
        for key in all.filter(|key| from.has(key.split('(').next().unwrap_or(key))) {
            let (engine, rest) = key.split_at(key.find('(').unwrap_or(key.len()));
            let now = to.name(engine) + rest;
            view.scope.tx()?.hold_name(key)?;
            view.scope.tx()?.hold_name(&now)?;
            session.rename(kind, key, &now)?;
        }
    }
    extended(session, view, from, to)
}

/// Fails where something has come since the statement began, which begins anew.
fn must_be_seen(view: &View, from: Place<'_>) -> Result<()> {
    let newest = view.newest_objects();
    let is_new = |kind: Kind| {
        let mut all = newest.of_kind(kind);
        let has = |key: &str| from.has(key.split('(').next().unwrap_or(key));
        all.any(|(key, object)| has(key) && view.objects.get(kind, key) != Some(object))
    };
    match [Kind::View, Kind::Type, Kind::Function].into_iter().any(is_new) {
        true => Err(super::change::anew(view)),
        false => Ok(()),
    }
}

/// Fails where a text that is kept names a function, which it does by schema and name.
fn must_be_free_of_texts(view: &View, from: Place<'_>) -> Result<()> {
    let Some(schema) = from.schema else { return Ok(()) };
    for of in view.objects.functions().of_database(from.database) {
        if of.name.schema == schema && function::is_named(view, of)? {
            let text =
                format!("another name of a schema whose function {} others use", of.name.name);
            return Err(SqlError::unsupported(text));
        }
        if of.name.schema == schema {
            super::carried::must_keep_name(view, of)?;
        }
    }
    let mut members = extensions::all(view).filter(|created| created.schema == schema);
    members.try_for_each(|created| super::extension::must_be_unnamed(view, &created))
}

/// Types have names in texts, by their schemas.
fn types(session: &mut Session, view: &View, from: Place<'_>, to: Place<'_>) -> Result<()> {
    let all = view.objects.of_kind(Kind::Type).map(|(key, _)| key);
    for key in all.filter(|key| from.has(key)) {
        let now = to.name(key);
        view.scope.tx()?.hold_name(key)?;
        view.scope.tx()?.hold_name(&now)?;
        if from.schema.is_some() {
            // A text may name several of them, and has the new names of those before.
            let seen = session.view()?;
            let mut known = seen.objects.made_types().of_database(from.database);
            let found = known.find(|made| made.name.engine(from.database) == *key).cloned();
            if let Some(made) = found {
                made::move_in_texts(session, &seen, &made, &Name::of_engine(&now).1)?;
            }
        }
        session.rename(Kind::Type, key, &now)?;
    }
    Ok(())
}

/// Extensions say in which schema their names are.
fn extended(session: &mut Session, view: &View, from: Place<'_>, to: Place<'_>) -> Result<()> {
    match (from.schema, to.schema) {
        (Some(from), Some(to)) => {
            for created in extensions::all(view).filter(|created| created.schema == from) {
                let key = extensions::key(view, created.extension.name);
                let moved = extensions::Created { schema: to.to_string(), ..created };
                session.put(Kind::Extension, &key, Some(moved.body()))?;
            }
        }
        _ => rekeyed(session, view, Kind::Extension, (from.database, to.database))?,
    }
    Ok(())
}

/// Objects of a database that are kept as `database/name` have another database.
///
/// # Errors
/// The transaction has ended.
pub fn rekeyed(
    session: &mut Session,
    view: &View,
    kind: Kind,
    (from, to): (&str, &str),
) -> Result<()> {
    for (key, _) in view.objects.of_kind(kind) {
        if let Some((database, name)) = key.split_once('/')
            && database == from
        {
            session.rename(kind, key, &format!("{to}/{name}"))?;
        }
    }
    Ok(())
}
