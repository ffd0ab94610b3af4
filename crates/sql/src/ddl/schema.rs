//! Schemas and databases.

use onlap::Table;
use onlap_pg::ast::{CreateSchema, Database, Object, ObjectChange, Statement};
use serde_json::json;

use super::change::{anew, notice};
use super::moved::Place;
use super::{default_privileges, moved};
use crate::catalog::names::of_schema;
use crate::catalog::{DEFAULT_DATABASE, Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Class, Key};
use crate::session::Session;
use crate::source::role_word;
use crate::view::View;
use crate::wire::Client;

/// CREATE SCHEMA.
///
/// # Errors
/// The name is taken or of the system.
pub fn create(
    session: &mut Session,
    view: &View,
    create: &CreateSchema,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let owner = owner_of(view, create)?;
    let name = name_of(view, create)?;
    view.must_one(Action::CreateIn, Class::Database, view.database_key(), &view.database)?;
    if !view.judge.is_member(owner) {
        let text = format!("must be member of role \"{}\"", view.judge.rights().name_of(owner));
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    must_be_acceptable(&name)?;
    if view.has_schema(&name) {
        let text = format!("schema \"{name}\" already exists");
        if create.skip {
            notice(client, state::DUPLICATE_SCHEMA, format!("{text}, skipping"));
            return Ok("CREATE SCHEMA");
        }
        return Err(SqlError::new(state::DUPLICATE_SCHEMA, text));
    }
    session.catalog_changed()?;
    let key = format!("{}/{name}", view.database);
    session.put(Kind::Schema, &key, Some(json!({})))?;
    let oid = session.number_of(Kind::Schema, &key)?;
    session.own_as(view, owner, Class::Schema, Key::of(oids::of_object(oid)), Key::of(0))?;
    Ok("CREATE SCHEMA")
}

/// The role that a new schema is of.
///
/// # Errors
/// `42704`: there is none.
pub fn owner_of(view: &View, create: &CreateSchema) -> Result<u32> {
    let role = create.owner.as_ref().map(role_word);
    role.map_or(Ok(view.judge.role), |role| view.role_named(role))
}

/// What a new schema is called.
///
/// # Errors
/// As [`owner_of`].
pub fn name_of(view: &View, create: &CreateSchema) -> Result<String> {
    match &create.name {
        Some(name) => Ok(name.to_string()),
        None => Ok(view.judge.rights().name_of(owner_of(view, create)?)),
    }
}

/// Fails where an element of CREATE SCHEMA is to be made in another schema.
///
/// # Errors
/// `42P15`
pub fn must_be_within(element: &Statement, schema: &str) -> Result<()> {
    let name = match element {
        Statement::CreateSequence(create) => &create.name,
        Statement::CreateTable(create) => &create.name,
        Statement::CreateView(create) => &create.name,
        Statement::CreateIndex(create) => &create.table.name,
        Statement::Object(object) => match &**object {
            Object::CreateTrigger(create) => &create.on.name,
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    match &name[..] {
        [.., said, _] if **said != *schema => {
            let text = format!(
                "CREATE specifies a schema ({said}) different from the one being created ({schema})"
            );
            Err(SqlError::new("42P15", text))
        }
        _ => Ok(()),
    }
}

/// ALTER SCHEMA: another owner or name.
///
/// # Errors
/// There is none; the role may not; what Onlap does not do.
pub fn alter(
    session: &mut Session,
    view: &View,
    name: &str,
    change: &ObjectChange,
) -> Result<&'static str> {
    let key = view.schema_key(name).ok_or_else(|| crate::view::no_schema(name))?;
    let role = match change {
        ObjectChange::Owner(role) => role,
        ObjectChange::Rename(to) => return rename(session, view, (name, key), to),
        _ => return Err(SqlError::unsupported("this form of ALTER SCHEMA")),
    };
    let role = role_word(role);
    // Giving it to its owner changes nothing, so every role may say it.
    if view.judge.rights().owner(key) == view.role_named(role)? {
        return Ok("ALTER SCHEMA");
    }
    view.must_one(Action::Alter, Class::Schema, key, name)?;
    let owner = view.new_owner(role)?;
    view.must_one(Action::CreateIn, Class::Database, view.database_key(), &view.database)?;
    session.give(view, Class::Schema, key, owner)?;
    Ok("ALTER SCHEMA")
}

fn must_be_acceptable(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    let text = format!("unacceptable schema name \"{name}\"");
    let detail = "The prefix \"pg_\" is reserved for system schemas.";
    Err(SqlError::new("42939", text).detail(detail))
}

/// ALTER SCHEMA … RENAME TO.
fn rename(
    session: &mut Session,
    view: &View,
    (name, key): (&str, Key),
    to: &str,
) -> Result<&'static str> {
    if view.has_schema(to) {
        let text = format!("schema \"{to}\" already exists");
        return Err(SqlError::new(state::DUPLICATE_SCHEMA, text));
    }
    view.must_one(Action::Alter, Class::Schema, key, name)?;
    view.must_one(Action::CreateIn, Class::Database, view.database_key(), &view.database)?;
    must_be_acceptable(to)?;
    let database = view.database.as_str();
    let engine = |name: &str| format!("{database}/{name}");
    if view.objects.get(Kind::Schema, &engine(name)).is_none() {
        return Err(SqlError::unsupported(format!("another name of the schema {name}")));
    }
    view.scope.tx()?.hold_name(&of_schema(database, name))?;
    view.scope.tx()?.hold_name(&of_schema(database, to))?;
    let newest = view.newest_objects();
    let same = |key: &str| newest.get(Kind::Schema, key) == view.objects.get(Kind::Schema, key);
    if !same(&engine(name)) || !same(&engine(to)) {
        return Err(anew(view));
    }
    session.catalog_changed()?;
    let place = |schema| Place { database, schema: Some(schema) };
    moved::all(session, view, place(name), place(to))?;
    session.rename(Kind::Schema, &engine(name), &engine(to))?;
    Ok("ALTER SCHEMA")
}

/// ALTER DATABASE: another owner or name.
///
/// # Errors
/// There is none; the role may not; what Onlap does not do.
pub fn alter_database(
    session: &mut Session,
    view: &View,
    name: &str,
    change: &ObjectChange,
) -> Result<&'static str> {
    let oid = super::roles::oid_of_object(view, Kind::Database, name).ok_or_else(|| {
        SqlError::new(state::NO_DATABASE, format!("database \"{name}\" does not exist"))
    })?;
    if let ObjectChange::Settings(said) = change {
        return super::role_settings::of_database(session, view, name, said);
    }
    let role = match change {
        ObjectChange::Owner(role) => role,
        ObjectChange::Rename(to) => return rename_database(session, view, (name, oid), to),
        _ => return Err(SqlError::unsupported("this form of ALTER DATABASE")),
    };
    let role = role_word(role);
    if view.judge.rights().owner(Key::of(oid)) == view.role_named(role)? {
        return Ok("ALTER DATABASE");
    }
    view.must_one(Action::Alter, Class::Database, Key::of(oid), name)?;
    let owner = view.new_owner(role)?;
    must_create_databases(view, "permission denied to change owner of database")?;
    session.give(view, Class::Database, Key::of(oid), owner)?;
    Ok("ALTER DATABASE")
}

/// Whether the name of a database is taken. Those of PostgreSQL's templates are, which clients take for such.
fn is_database(view: &View, name: &str) -> bool {
    let is_fixed = [DEFAULT_DATABASE, "template0", "template1"].contains(&name);
    is_fixed || view.objects.get(Kind::Database, name).is_some()
}

/// ALTER DATABASE … RENAME TO.
fn rename_database(
    session: &mut Session,
    view: &View,
    (name, oid): (&str, u32),
    to: &str,
) -> Result<&'static str> {
    view.must_one(Action::Alter, Class::Database, Key::of(oid), name)?;
    must_create_databases(view, "permission denied to rename database")?;
    if is_database(view, to) {
        return Err(SqlError::new("42P04", format!("database \"{to}\" already exists")));
    }
    if name == view.database {
        return Err(SqlError::new(state::UNSUPPORTED, "current database cannot be renamed"));
    }
    if view.objects.get(Kind::Database, name).is_none() {
        return Err(SqlError::unsupported(format!("another name of the database {name}")));
    }
    must_be_left(session, name)?;
    session.catalog_changed()?;
    let place = |database| Place { database, schema: None };
    moved::all(session, view, place(name), place(to))?;
    moved::rekeyed(session, view, Kind::Schema, (name, to))?;
    session.rename(Kind::Database, name, to)?;
    session.instance.counts.rename(name, to);
    Ok("ALTER DATABASE")
}

/// Fails while sessions are in a database.
fn must_be_left(session: &Session, name: &str) -> Result<()> {
    let others = session.instance.sessions().iter().filter(|s| s.database == name).count();
    let detail = match others {
        0 => return Ok(()),
        1 => "There is 1 other session using the database.".to_string(),
        more => format!("There are {more} other sessions using the database."),
    };
    let text = format!("database \"{name}\" is being accessed by other users");
    Err(SqlError::new("55006", text).detail(detail))
}

/// Fails unless the role may make databases.
fn must_create_databases(view: &View, text: &str) -> Result<()> {
    let role = view.judge.rights().role(view.judge.role);
    match role.is_some_and(|role| role.superuser || role.createdb) {
        true => Ok(()),
        false => Err(SqlError::new(state::NO_PRIVILEGE, text)),
    }
}

/// Fails unless a schema may be dropped.
///
/// # Errors
/// There is none; the role may not.
pub fn must_drop(view: &View, schema: &str) -> Result<()> {
    let key = view.schema_key(schema).unwrap_or(Key::of(0));
    view.must_one(Action::Drop, Class::Schema, key, schema)?;
    if view.objects.get(Kind::Schema, &format!("{}/{schema}", view.database)).is_none() {
        let system =
            matches!(schema, "public" | "pg_catalog" | "information_schema" | "onlap_stat");
        return Err(match system {
            true => SqlError::unsupported(format!("dropping the schema {schema}")),
            false => crate::view::no_schema(schema),
        });
    }
    Ok(())
}

/// Forgets a schema that is empty, with what was granted on it and in it.
///
/// # Errors
/// Those of the engine.
pub fn forget(session: &mut Session, view: &View, schema: &str) -> Result<()> {
    session.catalog_changed()?;
    if let Some(own) = view.schema_key(schema) {
        session.forget_rights(view, own)?;
        default_privileges::forget_places(session, view, |place| place == own)?;
    }
    session.put(Kind::Schema, &format!("{}/{schema}", view.database), None)
}

/// CREATE DATABASE.
///
/// # Errors
/// The name is taken; inside a transaction block.
pub fn create_database(
    session: &mut Session,
    view: &View,
    create: &Database,
) -> Result<&'static str> {
    let name = create.name.to_string();
    not_in_block(session, "CREATE DATABASE")?;
    // Templates, encodings and places make no difference here.
    const KNOWN: &[&str] = &[
        "owner",
        "template",
        "encoding",
        "strategy",
        "locale",
        "lc_collate",
        "lc_ctype",
        "icu_locale",
        "locale_provider",
        "collation_version",
        "tablespace",
        "allow_connections",
        "connection_limit",
        "is_template",
        "oid",
        "location",
    ];
    let mut owner = view.judge.role;
    for (option, value) in &create.options {
        if !KNOWN.contains(&&**option) {
            let text = format!("option \"{option}\" not recognized");
            return Err(SqlError::new(state::SYNTAX, text));
        }
        if let ("owner", Some(role)) = (&**option, value) {
            owner = view.new_owner(role.text())?;
        }
    }
    must_create_databases(view, "permission denied to create database")?;
    if is_database(view, &name) {
        return Err(SqlError::new("42P04", format!("database \"{name}\" already exists")));
    }
    session.catalog_changed()?;
    session.put(Kind::Database, &name, Some(json!({})))?;
    let key = Key::of(oids::of_object(session.number_of(Kind::Database, &name)?));
    session.own_as(view, owner, Class::Database, key, Key::of(0))?;
    Ok("CREATE DATABASE")
}

/// DROP DATABASE; nothing happens where there is none and `skip` is said.
///
/// # Errors
/// There is none; it is open; something is in it.
pub fn drop_database(
    session: &mut Session,
    view: &View,
    name: &str,
    skip: bool,
    client: &mut dyn Client,
) -> Result<&'static str> {
    not_in_block(session, "DROP DATABASE")?;
    let key = super::roles::oid_of_object(view, Kind::Database, name).map(Key::of);
    let Some(key) = key else {
        let text = format!("database \"{name}\" does not exist");
        if skip {
            notice(client, "00000", format!("{text}, skipping"));
            return Ok("DROP DATABASE");
        }
        return Err(SqlError::new(state::NO_DATABASE, text));
    };
    view.must_one(Action::Drop, Class::Database, key, name)?;
    if name == view.database {
        return Err(SqlError::new("55006", "cannot drop the currently open database"));
    }
    if view.objects.get(Kind::Database, name).is_none() {
        return Err(SqlError::unsupported(format!("dropping the database {name}")));
    }
    let oid = key.oid;
    must_be_left(session, name)?;
    let own = |engine: &str| Name::of_engine(engine).0 == name;
    let tables: Vec<_> = view.scope.tx()?.tables();
    let tables: Vec<Table> = tables.into_iter().filter(|t| own(&t.name())).collect();
    session.catalog_changed()?;
    super::cascade::forget_tables(session, view, &tables)?;
    super::role_settings::forget(session, view, &|of| of.database == oid)?;
    // The first database is never dropped, so its 0 is not meant.
    default_privileges::forget_places(session, view, |place| place.database == oid)?;
    let schemas = view.judge.rights().entries().map(|(key, _)| key);
    let schemas: Vec<Key> = schemas.filter(|key| key.database == oid).collect();
    for key in schemas {
        session.forget_rights(view, key)?;
    }
    for kind in [Kind::View, Kind::Schema, Kind::Type, Kind::Function, Kind::Extension] {
        let all: Vec<String> =
            view.objects.of_kind(kind).map(|(name, _)| name.to_string()).collect();
        let is_own = |key: &String| match kind {
            Kind::View | Kind::Type | Kind::Function => own(key),
            _ => key.split_once('/').is_some_and(|(database, _)| database == name),
        };
        for key in all.into_iter().filter(is_own) {
            let object = view.objects.get(kind, &key).map(|o| oids::of_object(o.number));
            session.forget_rights(view, Key::of(object.unwrap_or_default()))?;
            if let (Kind::Schema, Some(schema)) = (kind, object) {
                let own = Key::of_schema(schema, oid);
                default_privileges::forget_places(session, view, |place| place == own)?;
            }
            super::rule::forget(session, view, object.unwrap_or_default())?;
            session.put(kind, &key, None)?;
        }
    }
    let sequences = view.scope.tx()?.sequences();
    let mut names = sequences.iter().map(onlap::Sequence::name).filter(|name| own(name));
    names.try_for_each(|name| super::sequence::drop_unused(session, view, name))?;
    session.forget_rights(view, Key::of(oid))?;
    session.put(Kind::Database, name, None)?;
    session.instance.counts.forget(name);
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
