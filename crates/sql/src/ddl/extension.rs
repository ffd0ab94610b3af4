//! CREATE, ALTER and DROP EXTENSION.
//!
//! What an extension brings is part of the program; a row of the catalog says that a database has it, and in which schema its
//! names are. So nothing of it is made one by one, and what it has goes with that row.

use onlap_pg::ast::{AlterExtension, CreateExtension, DropExtension, ExtensionChange};
use onlap_pg::catalog::extensions::{self as known, Extension};
use serde_json::json;

use super::cascade::{Closure, Object};
use super::change::notice;
use super::kept::{self, Wanted};
use crate::catalog::extensions::{self, Created, PLPGSQL};
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Class};
use crate::session::Session;
use crate::system::definitions;
use crate::view::View;
use crate::wire::Client;

/// The extension that every database has.
const BUILT_IN: &str = "plpgsql";

/// Where PostgreSQL looks for extensions.
const FOLDER: &str = "/usr/share/postgresql/15/extension";

/// CREATE EXTENSION.
///
/// # Errors
/// It is there already, or not known; there is no such schema; the role may not.
pub fn create(
    session: &mut Session,
    view: &View,
    create: &CreateExtension,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let name = create.name.as_ref();
    check_name("extension", name)?;
    if name == BUILT_IN || extensions::named(view, name).is_some() {
        let text = format!("extension \"{name}\" already exists");
        if create.skip {
            notice(client, state::DUPLICATE_OBJECT, format!("{text}, skipping"));
            return Ok("CREATE EXTENSION");
        }
        return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
    }
    let extension = known::named(name).ok_or_else(|| not_available(name))?;
    if let Some(version) = &create.version {
        check_version(extension, version)?;
    }
    let schema = match &create.schema {
        Some(schema) if view.has_schema(schema) => schema.to_string(),
        Some(schema) => return Err(crate::view::no_schema(schema)),
        None => view.creation_schema()?.to_string(),
    };
    if !extension.trusted && !view.judge.is_superuser() {
        let text = format!("permission denied to create extension \"{name}\"");
        let hint = "Must be superuser to create this extension.";
        return Err(SqlError::new(state::NO_PRIVILEGE, text).hint(hint));
    }
    let key = view.database_key();
    if view.must_one(Action::CreateIn, Class::Database, key, &view.database).is_err() {
        let text = format!("permission denied to create extension \"{name}\"");
        let hint = "Must have CREATE privilege on current database to create this extension.";
        return Err(SqlError::new(state::NO_PRIVILEGE, text).hint(hint));
    }
    let made = Created { oid: 0, extension, schema, owner: view.judge.role };
    check_free(view, &made, false)?;
    hold(session, view, name)?;
    session.catalog_changed()?;
    let kept = extensions::key(view, name);
    session.put(Kind::Extension, &kept, Some(made.body()))?;
    let oid = crate::catalog::oids::of_object(session.number_of(Kind::Extension, &kept)?);
    let comment = json!({ "text": extension.comment });
    session.put(Kind::Comment, &format!("{oid}:0"), Some(comment))?;
    Ok("CREATE EXTENSION")
}

/// Names are parts of names of files.
fn check_name(what: &str, name: &str) -> Result<()> {
    let detail = if name.is_empty() {
        format!("{} names must not be empty.", capital(what))
    } else if name.contains("--") {
        format!("{} names must not contain \"--\".", capital(what))
    } else if name.starts_with('-') || name.ends_with('-') {
        format!("{} names must not begin or end with \"-\".", capital(what))
    } else if name.contains(['/', '\\']) {
        format!("{} names must not contain directory separator characters.", capital(what))
    } else {
        return Ok(());
    };
    let text = match what {
        "extension" => format!("invalid extension name: \"{name}\""),
        _ => format!("invalid extension version name: \"{name}\""),
    };
    Err(SqlError::new("22023", text).detail(detail))
}

fn capital(what: &str) -> &'static str {
    if what == "extension" { "Extension" } else { "Version" }
}

fn not_available(name: &str) -> SqlError {
    let text = format!("extension \"{name}\" is not available");
    let file = format!("{FOLDER}/{name}.control");
    let detail =
        format!("Could not open extension control file \"{file}\": No such file or directory.");
    let hint = "The extension must first be installed on the system where PostgreSQL is running.";
    SqlError::new("0A000", text).detail(detail).hint(hint)
}

/// Fails for another version than the one that there is.
fn check_version(extension: &Extension, version: &str) -> Result<()> {
    check_name("version", version)?;
    if version == extension.version {
        return Ok(());
    }
    let name = extension.name;
    Err(match extension.versions.contains(&version) {
        true => SqlError::unsupported(format!("version {version} of the extension {name}")),
        false => {
            let text = format!(
                "extension \"{name}\" has no installation script nor update path for version \
                 \"{version}\""
            );
            SqlError::new("22023", text)
        }
    })
}

/// Fails where the schema of a new or moved extension has a type, or a relation, of the name of one of its types, or one of its
/// functions.
fn check_free(view: &View, created: &Created, is_moved: bool) -> Result<()> {
    for ty in created.extension.types().filter(|ty| !ty.is_array) {
        let parts = [created.schema.clone(), ty.name.to_string()];
        let is_taken = view.objects.made_types().named(view, &parts).is_some()
            || super::alter::relation(view, &parts)?.is_some();
        if is_taken {
            let mut text = format!("type \"{}\" already exists", ty.name);
            if is_moved {
                text += &format!(" in schema \"{}\"", created.schema);
            }
            return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
        }
    }
    for definition in definitions::of_extensions(created.extension.name) {
        let parts = [created.schema.clone(), definition.name.to_string()];
        if super::alter::relation(view, &parts)?.is_some() {
            let mut text = format!("relation \"{}\" already exists", definition.name);
            if is_moved {
                text += &format!(" in schema \"{}\"", created.schema);
            }
            return Err(SqlError::new("42P07", text));
        }
    }
    super::function::must_let_in(view, created, is_moved)
}

/// Keeps other transactions from changing the extension until the end of this one.
///
/// # Errors
/// `40001`: one did since the statement began; those of waits for locks.
pub fn hold(session: &mut Session, view: &View, name: &str) -> Result<()> {
    let key = extensions::key(view, name);
    view.scope.tx()?.hold_name(&format!("extension {key}"))?;
    let is_own = session.current()?.pending.has(Kind::Extension, &key);
    let newest = view.newest_objects();
    let is_same = newest.get(Kind::Extension, &key) == view.objects.get(Kind::Extension, &key);
    if is_own || is_same { Ok(()) } else { Err(super::change::anew(view)) }
}

fn missing(name: &str) -> SqlError {
    SqlError::new(state::NO_OBJECT, format!("extension \"{name}\" does not exist"))
}

fn must_own(view: &View, created: &Created) -> Result<()> {
    match view.judge.is_superuser() || view.judge.has_rights_of(created.owner) {
        true => Ok(()),
        false => {
            let text = format!("must be owner of extension {}", created.extension.name);
            Err(SqlError::new(state::NO_PRIVILEGE, text))
        }
    }
}

/// ALTER EXTENSION.
///
/// # Errors
/// There is none; the role may not; no such version or schema.
pub fn alter(
    session: &mut Session,
    view: &View,
    alter: &AlterExtension,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let name = alter.name.as_ref();
    if name == BUILT_IN {
        return Err(SqlError::unsupported("changing the extension plpgsql"));
    }
    let created = extensions::named(view, name).ok_or_else(|| missing(name))?;
    must_own(view, &created)?;
    match &alter.change {
        ExtensionChange::Update(version) => {
            let now = created.extension.version;
            let to = version.as_deref().unwrap_or(now);
            check_name("version", to)?;
            if to != now {
                let text = format!(
                    "extension \"{name}\" has no update path from version \"{now}\" to version \
                     \"{to}\""
                );
                return Err(SqlError::new("22023", text));
            }
            let text = format!("version \"{now}\" of extension \"{name}\" is already installed");
            notice(client, "00000", text);
        }
        ExtensionChange::Schema(schema) => {
            if !view.has_schema(schema) {
                return Err(crate::view::no_schema(schema));
            }
            view.must_create_in(schema)?;
            if **schema != *created.schema {
                must_be_unnamed(view, &created)?;
                let moved = Created { schema: schema.to_string(), ..created };
                check_free(view, &moved, true)?;
                hold(session, view, name)?;
                session.catalog_changed()?;
                session.put(Kind::Extension, &extensions::key(view, name), Some(moved.body()))?;
            }
        }
    }
    Ok("ALTER EXTENSION")
}

/// Fails where a text that is kept names what an extension has.
///
/// # Errors
/// `0A000`
pub fn must_be_unnamed(view: &View, created: &Created) -> Result<()> {
    let is = |oid| created.extension.has(oid);
    let users = kept::users(view, &Wanted { may: &|_, _| true, is: &is })?;
    match users.iter().any(|used| !used.oids.is_empty()) {
        true => {
            let what = "moving an extension that views, defaults or conditions name";
            Err(SqlError::unsupported(what))
        }
        false => Ok(()),
    }
}

/// DROP EXTENSION.
///
/// # Errors
/// There is none; the role may not; something uses what it has.
pub fn drop(
    session: &mut Session,
    view: &View,
    drop: &DropExtension,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let mut found: Vec<Created> = Vec::new();
    for name in &drop.names {
        if **name == *BUILT_IN {
            return Err(SqlError::unsupported("dropping the extension plpgsql"));
        }
        match extensions::named(view, name) {
            Some(created) => found.push(created),
            None if drop.skip => {
                let text = format!("extension \"{name}\" does not exist, skipping");
                notice(client, "00000", text);
            }
            None => return Err(missing(name)),
        }
    }
    for created in &found {
        must_own(view, created)?;
        hold(session, view, created.extension.name)?;
    }
    let roots = found.iter().map(|created| Object::Extension(created.extension.name)).collect();
    Closure::of(view, roots)?.drop(session, drop.cascade, client)?;
    Ok("DROP EXTENSION")
}

/// Forgets an extension.
///
/// # Errors
/// The transaction has ended.
pub fn forget(session: &mut Session, view: &View, created: &Created) -> Result<()> {
    session.catalog_changed()?;
    for (of, proc) in extensions::granted(view) {
        if of.oid == created.oid {
            session.forget_rights(view, extensions::proc_key(view, proc.oid))?;
        }
    }
    session.put(Kind::Comment, &format!("{}:0", created.oid), None)?;
    session.put(Kind::Extension, &extensions::key(view, created.extension.name), None)
}

/// The OID of an extension that COMMENT is on.
///
/// # Errors
/// There is none; the role may not.
pub fn commented(view: &View, name: &str) -> Result<u32> {
    if name == BUILT_IN {
        return match view.judge.is_superuser() {
            true => Ok(PLPGSQL),
            false => {
                let text = format!("must be owner of extension {name}");
                Err(SqlError::new(state::NO_PRIVILEGE, text))
            }
        };
    }
    let created = extensions::named(view, name).ok_or_else(|| missing(name))?;
    must_own(view, &created)?;
    Ok(created.oid)
}

/// Gives the extensions of some roles to another.
///
/// # Errors
/// Those of [`hold`].
pub fn give_all(session: &mut Session, view: &View, from: &[u32], to: u32) -> Result<()> {
    for created in extensions::all(view).filter(|created| from.contains(&created.owner)) {
        let name = created.extension.name;
        hold(session, view, name)?;
        session.catalog_changed()?;
        let given = Created { owner: to, ..created };
        session.put(Kind::Extension, &extensions::key(view, name), Some(given.body()))?;
    }
    Ok(())
}

/// Whether an extension has a type that a new type or relation would have the name of.
pub fn has_type(view: &View, name: &Name) -> bool {
    let parts = [name.schema.clone(), name.name.clone()];
    extensions::type_named(view, &parts, false).is_some()
}

/// Whether an extension has a view of this name.
pub fn has_view(view: &View, name: &Name) -> bool {
    extensions::view_named(view, &[name.schema.clone(), name.name.clone()]).is_some()
}
