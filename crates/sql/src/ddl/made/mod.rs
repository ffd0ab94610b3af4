//! CREATE, ALTER and DROP TYPE and DOMAIN.
//!
//! Types of all kinds have a name, an owner and a schema alike; what else they have is in [`enums`], [`domains`] and
//! [`composites`]. What uses a type is found by [`uses`], texts that name it by [`texts`].

mod composites;
mod domains;
mod enums;
mod shape;
mod texts;
pub mod uses;

use onlap_pg::ast::{AlterType, Role, TypeChange};

use super::naming;
use crate::catalog::made_types::Made;
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::source::{Source, role_word, strings};
use crate::view::View;
use crate::wire::Client;

pub use composites::create as create_composite;
pub use composites::without as without_field;
pub use domains::create as create_domain;
pub use enums::create as create_enum;
pub use texts::move_in_texts;
pub use uses::drop;

/// Keeps a type as it is now.
///
/// # Errors
/// The transaction has ended.
pub fn put(session: &mut Session, made: &Made) -> Result<()> {
    session.put(Kind::Type, &made.name.engine(&made.database), Some(made.body()))
}

/// Types and relations share names: a relation's rows have its name for their type.
fn check_free(view: &View, name: &Name) -> Result<()> {
    let engine = name.engine(&view.database);
    let is_taken =
        view.objects.get(Kind::Type, &engine).is_some() || super::extension::has_type(view, name);
    if is_taken || naming::claim(view, name)?.is_some() {
        let text = format!("type \"{}\" already exists", name.name);
        return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
    }
    match view.newest_objects().get(Kind::Type, &engine) {
        Some(_) => Err(super::change::anew(view)),
        None => Ok(()),
    }
}

/// A type of the database by its name.
fn find(view: &View, parts: &[String]) -> Result<Made> {
    if let [.., schema, _] = parts {
        view.must_look_in(schema)?;
    }
    view.objects.made_types().named(view, parts).cloned().ok_or_else(|| {
        SqlError::new(state::NO_OBJECT, format!("type \"{}\" does not exist", parts.join(".")))
    })
}

/// Fails unless the role has the rights of the owner.
fn must_own(view: &View, made: &Made) -> Result<()> {
    match view.judge.is_superuser() || view.judge.has_rights_of(made.owner) {
        true => Ok(()),
        false => {
            let text = format!("must be owner of type {}", made.name.name);
            Err(SqlError::new(state::NO_PRIVILEGE, text))
        }
    }
}

/// Keeps other transactions from changing the type until the end of this one.
///
/// # Errors
/// `40001`: one did since the statement began; those of waits for locks.
pub fn hold(session: &mut Session, view: &View, made: &Made) -> Result<()> {
    let engine = made.name.engine(&view.database);
    view.scope.tx()?.hold_name(&engine)?;
    // What this transaction has changed, it has held since.
    let is_own = session.current()?.pending.has(Kind::Type, &engine);
    let newest = view.newest_objects();
    match is_own || newest.get(Kind::Type, &engine) == view.objects.get(Kind::Type, &engine) {
        true => Ok(()),
        false => Err(super::change::anew(view)),
    }
}

/// ALTER TYPE and ALTER DOMAIN.
///
/// # Errors
/// There is no such type; it is of another kind; what its kind refuses.
pub fn alter(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    alter: &AlterType,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let tag = if alter.domain { "ALTER DOMAIN" } else { "ALTER TYPE" };
    let parts = strings(&alter.name);
    let made = match find(view, &parts) {
        Err(e) if e.state() == state::NO_OBJECT => {
            return Err(of_others(view, &parts, alter).unwrap_or(e));
        }
        made => made?,
    };
    if alter.domain && made.domain().is_none() {
        return Err(not_a(view, &made, "domain"));
    }
    must_own(view, &made)?;
    hold(session, view, &made)?;
    let changed = match &alter.change {
        TypeChange::Rename(to) => {
            let to = Name::new(&made.name.schema, &**to);
            return move_to(session, view, &made, &to).map(|()| tag);
        }
        TypeChange::Schema(schema) => {
            if !view.has_schema(schema) {
                return Err(crate::view::no_schema(schema));
            }
            if **schema == *made.name.schema {
                return Ok(tag);
            }
            let to = Name::new(&**schema, &made.name.name);
            return move_to(session, view, &made, &to).map(|()| tag);
        }
        TypeChange::Owner(role) => Some(Made { owner: new_owner(view, role)?, ..made.clone() }),
        TypeChange::Add { skip, label, beside } => {
            let neighbour = beside.as_ref().map(|(before, text)| (*before, &**text));
            enums::add(session, &made, (label, *skip), neighbour, client)?
        }
        TypeChange::RenameLabel(from, to) => Some(enums::rename(session, view, &made, (from, to))?),
        TypeChange::Attributes(changes) => {
            composites::change(session, view, source, (&made, changes), client)?
        }
        TypeChange::RenameAttribute(from, to) => Some(composites::rename(view, &made, (from, to))?),
        change => domains::change(session, view, source, (&made, change), client)?,
    };
    if let Some(made) = changed {
        session.catalog_changed()?;
        put(session, &made)?;
    }
    Ok(tag)
}

/// A type is of another kind than the statement is about.
fn not_a(view: &View, made: &Made, kind: &str) -> SqlError {
    SqlError::new("42809", format!("{} is not a {kind}", shown(view, made)))
}

/// What is wrong with ALTER of a type that is the system's, or that of a table's rows.
fn of_others(view: &View, parts: &[String], alter: &AlterType) -> Option<SqlError> {
    let catalog = crate::query::catalog();
    if let Some(ty) = parts.last().and_then(|name| catalog.type_named(name)) {
        return alter
            .domain
            .then(|| SqlError::new("42809", format!("{} is not a domain", ty.shown)));
    }
    let (name, _) = super::alter::relation(view, parts).ok()??;
    let text = match alter.domain {
        true => format!("{} is not a domain", name.name),
        false => format!("{} is a table's row type", name.name),
    };
    let error = SqlError::new("42809", text);
    Some(if alter.domain { error } else { error.hint("Use ALTER TABLE instead.") })
}

/// The name of a type as format_type writes it.
fn shown(view: &View, made: &Made) -> String {
    view.objects.made_types().shown_to(view, made.oid).unwrap_or_else(|| made.shown(true))
}

/// Gives the types of some roles to another.
///
/// # Errors
/// Those of [`hold`].
pub fn give_all(session: &mut Session, view: &View, from: &[u32], to: u32) -> Result<()> {
    let all = view.objects.made_types().of_database(&view.database);
    let own: Vec<Made> = all.filter(|made| from.contains(&made.owner)).cloned().collect();
    for made in own.into_iter().filter(|made| made.owner != to) {
        hold(session, view, &made)?;
        session.catalog_changed()?;
        put(session, &Made { owner: to, ..made })?;
    }
    Ok(())
}

fn new_owner(view: &View, role: &Role) -> Result<u32> {
    let owner = match role {
        Role::Named(name) => view.role_named(name)?,
        Role::Session => view.session_role,
        Role::Current | Role::Public => view.role_named(&view.user)?,
    };
    match view.judge.is_member(owner) {
        true => Ok(owner),
        false => {
            let text = format!("must be member of role \"{}\"", role_word(role));
            Err(SqlError::new(state::NO_PRIVILEGE, text))
        }
    }
}

fn move_to(session: &mut Session, view: &View, made: &Made, to: &Name) -> Result<()> {
    view.must_create_in(&to.schema)?;
    check_free(view, to)?;
    session.catalog_changed()?;
    texts::move_in_texts(session, view, made, to)?;
    let from = made.name.engine(&view.database);
    session.rename(Kind::Type, &from, &to.engine(&view.database))
}
