//! REASSIGN OWNED and DROP OWNED: everything of a role in the database.

use onlap_pg::ast::Role;

use super::cascade::{self, Closure, Object};
use super::naming::{self, Relation};
use super::privileges::{class_of, key_of};
use super::{default_privileges, made, schema};
use crate::catalog::{extensions, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::{Acl, Action, Class, Judge, Key, Privileges};
use crate::session::Session;
use crate::source::role_word;
use crate::view::View;
use crate::wire::Client;

/// The roles that are named, all of whose rights the statement's role must have.
fn roles(view: &View, named: &[Role], verb: &str) -> Result<Vec<u32>> {
    let mut roles = Vec::new();
    for role in named {
        let role = view.role_named(role_word(role))?;
        if !view.judge.has_rights_of(role) {
            let text = format!("permission denied to {verb} objects");
            return Err(SqlError::new(state::NO_PRIVILEGE, text));
        }
        if role == oids::POSTGRES {
            let (verb, what) = match verb {
                "reassign" => (verb, "ownership of objects"),
                verb => (verb, "objects"),
            };
            let name = view.judge.rights().name_of(role);
            let text = format!(
                "cannot {verb} {what} owned by role {name} because they are required by the \
                 database system"
            );
            return Err(SqlError::new(state::IN_USE, text));
        }
        roles.push(role);
    }
    Ok(roles)
}

/// Everything in the database that has rights: what, and its key.
fn objects(view: &View) -> Result<Vec<(Class, Key)>> {
    let mut all: Vec<(Class, Key)> =
        view.schemas().into_iter().map(|(_, key)| (Class::Schema, key)).collect();
    for (name, relation) in naming::all(view)? {
        all.push((class_of(relation), key_of(view, &name, relation)?));
    }
    let functions = view.objects.functions().of_database(&view.database);
    all.extend(functions.map(|function| (function.class(), function.rights())));
    let members = extensions::granted(view).into_iter();
    all.extend(members.map(|(_, of)| (Class::Function, extensions::proc_key(view, of.oid))));
    all.push((Class::Database, view.database_key()));
    Ok(all)
}

/// REASSIGN OWNED BY.
///
/// # Errors
/// There is no such role; the statement's role is not in both.
pub fn reassign(
    session: &mut Session,
    view: &View,
    from: &[Role],
    to: &Role,
) -> Result<&'static str> {
    let from = roles(view, from, "reassign")?;
    let to = view.role_named(role_word(to))?;
    if !view.judge.has_rights_of(to) {
        let text = "permission denied to reassign objects";
        return Err(SqlError::new(state::NO_PRIVILEGE, text));
    }
    let rights = view.judge.rights();
    for (class, key) in objects(view)? {
        let owner = rights.owner(key);
        // What is the new owner's already asks for nothing.
        if rights.entry(key).is_some() && owner != to && from.contains(&owner) {
            if class == Class::Schema {
                let key = view.database_key();
                view.must_one(Action::CreateIn, Class::Database, key, &view.database)?;
            }
            session.give(view, class, key, to)?;
        }
    }
    made::give_all(session, view, &from, to)?;
    super::extension::give_all(session, view, &from, to)?;
    super::function::give_all(session, view, &from, to)?;
    session.current()?.changed = true;
    Ok("REASSIGN OWNED")
}

/// DROP OWNED BY: drops what is the roles' own, and takes away what was granted to them.
///
/// # Errors
/// There is no such role; the statement's role is not in it; others depend on what goes.
pub fn drop(
    session: &mut Session,
    view: &View,
    from: &[Role],
    cascade: bool,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let from = roles(view, from, "drop")?;
    let rights = view.judge.rights();
    let own = |key: Key| rights.entry(key).is_some_and(|entry| from.contains(&entry.owner));
    let mut roots = Vec::new();
    for (name, relation) in naming::all(view)? {
        let engine = name.engine(&view.database);
        if own(key_of(view, &name, relation)?) {
            roots.push(match relation {
                Relation::Sequence => Object::Sequence(engine),
                _ => cascade::relation(view, &engine)?,
            });
        }
    }
    for (name, key) in view.schemas() {
        if own(key) {
            schema::must_drop(view, &name)?;
            roots.push(Object::Schema(name));
        }
    }
    roots.extend(super::function::of_roles(view, &from).iter().map(|f| Object::Function(f.oid)));
    let types = view.objects.made_types().of_database(&view.database);
    let types = types.filter(|made| from.contains(&made.owner));
    roots.extend(types.map(|made| Object::Type(made.oid)));
    let created = extensions::all(view).filter(|created| from.contains(&created.owner));
    roots.extend(created.map(|created| Object::Extension(created.extension.name)));
    Closure::of(view, roots)?.drop(session, cascade, client)?;
    // What fell with it, as others' views, is there no longer.
    let view = &session.view()?;
    let rights = view.judge.rights();
    for (_, key) in objects(view)? {
        let Some(mut entry) = rights.entry(key).cloned() else { continue };
        let lists = entry.acl.iter_mut().chain(entry.columns.values_mut());
        let mut changed = false;
        for acl in lists {
            for role in &from {
                changed |= take_all(&view.judge, acl, entry.owner, *role);
            }
        }
        if changed {
            entry.columns.retain(|_, acl| !acl.0.is_empty());
            session.set_entry(key, &entry)?;
        }
    }
    super::policy::leave_roles(session, view, &from)?;
    default_privileges::forget(session, view, &from)?;
    session.current()?.changed = true;
    Ok("DROP OWNED")
}

/// Takes away what a role was granted, as far as the statement's role may: as the owner, or as the role with
/// most grant options among those whose rights it has. What others granted stays, as in PostgreSQL. Whether
/// there was anything.
fn take_all(judge: &Judge, acl: &mut Acl, owner: u32, role: u32) -> bool {
    let before = acl.clone();
    let options = |role: &u32| acl.options_of(owner, *role).each().count();
    let grantor = match judge.role == owner || judge.is_superuser() {
        true => Some(owner),
        // Of several the first, which is the last that max_by_key meets.
        false => {
            let mut roles = judge.roles(true);
            roles.reverse();
            roles.into_iter().filter(|r| options(r) > 0).max_by_key(options)
        }
    };
    if let Some(grantor) = grantor {
        // Cascading refuses nothing.
        let rights_of = |role: u32| judge.of(role).with_rights_of(owner);
        let _ = acl.revoke(owner, grantor, role, !Privileges::NONE, false, true, &rights_of);
    }
    *acl != before
}
