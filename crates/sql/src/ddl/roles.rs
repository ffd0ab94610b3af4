//! Roles.

use super::change::notice;
use crate::catalog::objects::Object;
use crate::catalog::roles::Role;
use crate::catalog::{Kind, oids};
use crate::error::{Result, SqlError, state};
use crate::scram;
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;
use crate::words::Words;

/// Options of CREATE and ALTER ROLE.
fn options(words: &mut Words<'_>, role: &mut Role) -> Result<()> {
    words.accept(&["with"]);
    while !words.is_end() {
        let word = words.ident()?;
        match word.as_str() {
            "superuser" => role.superuser = true,
            "nosuperuser" => role.superuser = false,
            "createdb" => role.createdb = true,
            "nocreatedb" => role.createdb = false,
            "createrole" => role.createrole = true,
            "nocreaterole" => role.createrole = false,
            "login" => role.login = true,
            "nologin" => role.login = false,
            "inherit" | "noinherit" | "noreplication" | "nobypassrls" => {}
            "connection" => {
                words.expect(&["limit"])?;
                words.integer().ok_or_else(|| words.error())?;
            }
            "valid" => {
                words.expect(&["until"])?;
                words.string().ok_or_else(|| words.error())?;
            }
            "encrypted" => words.expect(&["password"]).and_then(|()| password(words, role))?,
            "password" => password(words, role)?,
            other => {
                let text = format!("unrecognized role option \"{other}\"");
                return Err(SqlError::new(state::SYNTAX, text));
            }
        }
    }
    Ok(())
}

fn password(words: &mut Words<'_>, role: &mut Role) -> Result<()> {
    if words.accept(&["null"]) {
        role.verifier = None;
        return Ok(());
    }
    let text = words.string().ok_or_else(|| words.error())?;
    role.verifier = Some(scram::stored_form(&text));
    Ok(())
}

/// CREATE ROLE or USER, after these words.
///
/// # Errors
/// The name is taken; the role may not.
pub fn create(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    login: bool,
) -> Result<&'static str> {
    let name = words.ident()?;
    if known(view, &name).is_some() {
        let text = format!("role \"{name}\" already exists");
        return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
    }
    if name.starts_with("pg_") || name == "public" {
        return Err(SqlError::new("42939", format!("role name \"{name}\" is reserved")));
    }
    let mut role = Role { name: name.clone(), login, ..Role::postgres() };
    (role.superuser, role.createdb, role.createrole) = (false, false, false);
    options(words, &mut role)?;
    session.may_create("createrole", "permission denied to create role")?;
    must_be_superuser(session, &role)?;
    session.put(Kind::Role, &name, Some(role.body()))?;
    session.current()?.changed = true;
    Ok("CREATE ROLE")
}

fn must_be_superuser(session: &Session, role: &Role) -> Result<()> {
    match role.superuser && !session.instance.is_superuser(&session.user) {
        true => {
            let text = "must be superuser to create or alter superusers";
            Err(SqlError::new(state::NO_PRIVILEGE, text))
        }
        false => Ok(()),
    }
}

fn known(view: &View, name: &str) -> Option<Role> {
    match view.objects.get(Kind::Role, name) {
        Some(object) => Some(Role::of(name, object)),
        None => (name == "postgres").then(Role::postgres),
    }
}

fn missing(name: &str) -> SqlError {
    SqlError::new(state::NO_OBJECT, format!("role \"{name}\" does not exist"))
}

/// ALTER ROLE or USER, after these words.
///
/// # Errors
/// There is none; the role may not.
pub fn alter(session: &mut Session, view: &View, words: &mut Words<'_>) -> Result<&'static str> {
    let name = match words.ident()?.as_str() {
        "current_user" | "session_user" | "current_role" => view.user.clone(),
        name => name.to_string(),
    };
    if name == "all" {
        return Err(SqlError::unsupported("ALTER ROLE ALL"));
    }
    let mut role = known(view, &name).ok_or_else(|| missing(&name))?;
    if words.begins(&["set"]) || words.begins(&["reset"]) || words.begins(&["in", "database"]) {
        return Err(SqlError::unsupported("settings of a role")
            .hint("Set them in the session, or in the server's configuration."));
    }
    if words.accept(&["rename", "to"]) {
        let to = words.ident()?;
        words.end()?;
        session.may_create("createrole", "permission denied to rename role")?;
        if name == "postgres" || name == view.user {
            return Err(SqlError::unsupported(format!("renaming the role {name}")));
        }
        if known(view, &to).is_some() {
            let text = format!("role \"{to}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
        }
        session.put(Kind::Role, &name, None)?;
        session.put(Kind::Role, &to, Some(role.body()))?;
        session.current()?.changed = true;
        return Ok("ALTER ROLE");
    }
    let before = role.clone();
    options(words, &mut role)?;
    let password_only = Role { verifier: before.verifier.clone(), ..role.clone() } == before;
    if !(password_only && name == view.user) {
        session.may_create("createrole", "permission denied")?;
    }
    if before.superuser || role.superuser {
        must_be_superuser(session, &Role { superuser: true, ..before })?;
    }
    session.put(Kind::Role, &name, Some(role.body()))?;
    session.current()?.changed = true;
    Ok("ALTER ROLE")
}

/// DROP ROLE or USER, after these words.
///
/// # Errors
/// There is none; something belongs to it.
pub fn drop(
    session: &mut Session,
    view: &View,
    words: &mut Words<'_>,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let skip = words.accept(&["if", "exists"]);
    let names = words.names()?;
    words.end()?;
    session.may_create("createrole", "permission denied to drop role")?;
    for name in names.into_iter().map(|n| n.join(".")) {
        if known(view, &name).is_none() {
            let error = missing(&name);
            if skip {
                notice(client, "00000", format!("{}, skipping", error.message()));
                continue;
            }
            return Err(error);
        }
        if name == view.user {
            return Err(SqlError::new("55006", "current user cannot be dropped"));
        }
        let owns = |object: &Object| object.body["owner"].as_str() == Some(&name);
        let used = [Kind::Privileges, Kind::Schema, Kind::Database]
            .iter()
            .any(|kind| view.objects.of_kind(*kind).any(|(_, o)| owns(o)));
        let has = |object: &Object| {
            object.body["grants"][&name].as_array().is_some_and(|granted| !granted.is_empty())
        };
        let used = used || view.objects.of_kind(Kind::Privileges).any(|(_, o)| has(o));
        if used || name == "postgres" {
            let text =
                format!("role \"{name}\" cannot be dropped because some objects depend on it");
            return Err(SqlError::new(state::IN_USE, text));
        }
        session.put(Kind::Role, &name, None)?;
    }
    session.current()?.changed = true;
    Ok("DROP ROLE")
}

/// The OID of a schema, database or role, for comments.
pub fn oid_of_object(view: &View, kind: Kind, name: &str) -> Option<u32> {
    let builtin = match (kind, name) {
        (Kind::Role, "postgres") => Some(oids::POSTGRES),
        (Kind::Database, "postgres") => Some(oids::DATABASE),
        (Kind::Schema, "public") => Some(oids::PUBLIC),
        _ => None,
    };
    builtin.or_else(|| {
        let key = match kind {
            Kind::Schema => format!("{}/{name}", view.database),
            _ => name.to_string(),
        };
        view.objects.get(kind, &key).map(|o| oids::of_object(o.number))
    })
}
