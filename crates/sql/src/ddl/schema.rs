//! Schemas and databases.

use serde_json::json;

use super::change::notice;
use crate::catalog::{DEFAULT_DATABASE, Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;
use crate::words::Words;

/// CREATE SCHEMA, after these words.
///
/// # Errors
/// The name is taken or of the system.
pub fn create(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let skip = words.accept(&["if", "not", "exists"]);
    let owner = |words: &mut Words<'_>| words.ident();
    let (name, owner) = if words.accept(&["authorization"]) {
        let owner = owner(words)?;
        (owner.clone(), owner)
    } else {
        let name = words.ident()?;
        match words.accept(&["authorization"]) {
            true => (name, owner(words)?),
            false => (name, view.user.clone()),
        }
    };
    if !words.is_end() {
        return Err(SqlError::unsupported("CREATE SCHEMA with elements"));
    }
    if name.starts_with("pg_") {
        let text = format!("unacceptable schema name \"{name}\"");
        let detail = "The prefix \"pg_\" is reserved for system schemas.";
        return Err(SqlError::new("42939", text).detail(detail));
    }
    if view.has_schema(&name) {
        let text = format!("schema \"{name}\" already exists");
        if skip {
            notice(client, state::DUPLICATE_SCHEMA, format!("{text}, skipping"));
            return Ok("CREATE SCHEMA");
        }
        return Err(SqlError::new(state::DUPLICATE_SCHEMA, text));
    }
    session.catalog_changed()?;
    let key = format!("{}/{name}", view.database);
    session.put(Kind::Schema, &key, Some(json!({ "owner": owner })))?;
    Ok("CREATE SCHEMA")
}

/// Drops a schema.
///
/// # Errors
/// There is none; something is in it.
pub fn drop_one(session: &mut Session, view: &View, schema: &str, cascade: bool) -> Result<()> {
    let key = format!("{}/{schema}", view.database);
    if view.objects.get(Kind::Schema, &key).is_none() {
        let system = matches!(schema, "public" | "pg_catalog" | "information_schema");
        return Err(match system {
            true => SqlError::unsupported(format!("dropping the schema {schema}")),
            false => crate::view::no_schema(schema),
        });
    }
    let tables: Vec<_> =
        view.tables()?.into_iter().filter(|(name, _)| name.schema == schema).collect();
    let own = |engine: &str| {
        let (database, name) = Name::of_engine(engine);
        database == view.database && name.schema == schema
    };
    let views: Vec<String> = view
        .objects
        .of_kind(Kind::View)
        .filter(|(name, _)| own(name))
        .map(|(name, _)| name.to_string())
        .collect();
    let sequences: Vec<String> = view
        .scope
        .tx()?
        .sequences()
        .iter()
        .map(|s| s.name().to_string())
        .filter(|name| own(name))
        .collect();
    let count = tables.len() + views.len() + sequences.len();
    if count > 0 && !cascade {
        let text = format!("cannot drop schema {schema} because other objects depend on it");
        return Err(SqlError::new(state::IN_USE, text)
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    session.catalog_changed()?;
    for view_name in views {
        session.put(Kind::View, &view_name, None)?;
    }
    super::drop::tables(session, view, tables.into_iter().map(|(_, t)| t).collect(), true)?;
    sequences.iter().try_for_each(|name| super::sequence::drop_unused(view, name))?;
    session.put(Kind::Schema, &key, None)
}

/// CREATE DATABASE, after these words.
///
/// # Errors
/// The name is taken; inside a transaction block.
pub fn create_database(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
) -> Result<&'static str> {
    let name = words.ident()?;
    not_in_block(session, "CREATE DATABASE")?;
    // Templates, owners, encodings and places make no difference here.
    words.rest();
    if name == DEFAULT_DATABASE || view.objects.get(Kind::Database, &name).is_some() {
        return Err(SqlError::new("42P04", format!("database \"{name}\" already exists")));
    }
    session.may_create("createdb", "permission denied to create database")?;
    session.catalog_changed()?;
    session.put(Kind::Database, &name, Some(json!({ "owner": view.user })))?;
    Ok("CREATE DATABASE")
}

/// DROP DATABASE, after these words.
///
/// # Errors
/// There is none; it is open; something is in it.
pub fn drop_database(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let skip = words.accept(&["if", "exists"]);
    let name = words.ident()?;
    words.rest();
    not_in_block(session, "DROP DATABASE")?;
    if name == view.database {
        return Err(SqlError::new("55006", "cannot drop the currently open database"));
    }
    if view.objects.get(Kind::Database, &name).is_none() {
        let text = format!("database \"{name}\" does not exist");
        if skip {
            notice(client, "00000", format!("{text}, skipping"));
            return Ok("DROP DATABASE");
        }
        return Err(SqlError::new(state::NO_DATABASE, text));
    }
    session.may_create("createdb", "permission denied to drop database")?;
    let others = session.instance.sessions().iter().filter(|s| s.database == name).count();
    if others > 0 {
        let text = format!("database \"{name}\" is being accessed by other users");
        return Err(SqlError::new("55006", text));
    }
    let own = |engine: &str| Name::of_engine(engine).0 == name;
    let tables: Vec<_> = view.scope.tx()?.tables();
    let tables = tables.into_iter().filter(|t| own(&t.name())).collect();
    session.catalog_changed()?;
    super::drop::tables(session, view, tables, true)?;
    for kind in [Kind::View, Kind::Schema] {
        let all: Vec<String> =
            view.objects.of_kind(kind).map(|(name, _)| name.to_string()).collect();
        let is_own = |key: &String| match kind {
            Kind::View => own(key),
            _ => key.split_once('/').is_some_and(|(database, _)| database == name),
        };
        for key in all.into_iter().filter(is_own) {
            session.put(kind, &key, None)?;
        }
    }
    let sequences = view.scope.tx()?.sequences();
    let mut names = sequences.iter().map(onlap::Sequence::name).filter(|name| own(name));
    names.try_for_each(|name| super::sequence::drop_unused(view, name))?;
    session.put(Kind::Database, &name, None)?;
    Ok("DROP DATABASE")
}

fn not_in_block(session: &Session, what: &str) -> Result<()> {
    match session.is_in_block() {
        true => {
            let text = format!("{what} cannot run inside a transaction block");
            Err(SqlError::new(state::ACTIVE_TRANSACTION, text))
        }
        false => Ok(()),
    }
}
