//! Roles.

use onlap_pg::ast::{AlterRole, CreateRole, Role as Named, RoleChange, RoleOption};

use super::change::notice;
use super::{members, role_settings};
use crate::catalog::objects::Object;
use crate::catalog::roles::Role;
use crate::catalog::{Kind, oids};
use crate::error::{Result, SqlError, state};
use crate::scram;
use crate::session::Session;
use crate::source::role_word;
use crate::view::View;
use crate::wire::Client;

/// What CREATE and ALTER ROLE say besides the role's own attributes.
#[derive(Default)]
struct More {
    /// Roles that it is put into.
    into: Vec<String>,
    /// Roles that are put into it, and whether they may let others in.
    members: Vec<(String, bool)>,
    /// Whether anything but the password was said.
    not_password: bool,
    /// Whether a password was said.
    password: bool,
    /// Whether SUPERUSER or NOSUPERUSER was said.
    superuser: bool,
    /// Whether BYPASSRLS or NOBYPASSRLS was said.
    bypassrls: bool,
}

/// Which option it is, for those that come once.
fn kind(option: &RoleOption) -> &'static str {
    match option {
        RoleOption::Flag(name, _) => name,
        RoleOption::Password(_) => "password",
        RoleOption::ConnectionLimit(_) => "connectionlimit",
        RoleOption::ValidUntil(_) => "validUntil",
        RoleOption::Sysid => "sysid",
        RoleOption::In(_) => "addroleto",
        RoleOption::Members(_) => "rolemembers",
        RoleOption::Admins(_) => "adminmembers",
    }
}

/// Options of CREATE and ALTER ROLE.
fn options(all: &[RoleOption], role: &mut Role) -> Result<More> {
    let mut more = More::default();
    for (i, option) in all.iter().enumerate() {
        if kind(option) != "sysid" && all[..i].iter().any(|other| kind(other) == kind(option)) {
            return Err(SqlError::new(state::SYNTAX, "conflicting or redundant options"));
        }
        more.not_password |= !matches!(option, RoleOption::Password(_));
        let names = |roles: &[Named]| -> Vec<String> {
            roles.iter().map(|role| role_word(role).to_string()).collect()
        };
        match option {
            RoleOption::Flag("superuser", on) => {
                role.superuser = *on;
                more.superuser = true;
            }
            RoleOption::Flag("createdb", on) => role.createdb = *on,
            RoleOption::Flag("createrole", on) => role.createrole = *on,
            RoleOption::Flag("login", on) => role.login = *on,
            RoleOption::Flag("inherit", on) => role.inherit = *on,
            RoleOption::Flag("bypassrls", on) => {
                role.bypassrls = *on;
                more.bypassrls = true;
            }
            RoleOption::Flag(name, true) => {
                return Err(SqlError::unsupported(format!("{} of a role", name.to_uppercase())));
            }
            RoleOption::Password(text) => {
                more.password = true;
                role.verifier = text.as_deref().map(scram::stored_form);
            }
            RoleOption::Flag(_, false)
            | RoleOption::ConnectionLimit(_)
            | RoleOption::ValidUntil(_)
            | RoleOption::Sysid => {}
            RoleOption::In(roles) => more.into.extend(names(roles)),
            RoleOption::Members(roles) => {
                more.members.extend(names(roles).into_iter().map(|name| (name, false)));
            }
            RoleOption::Admins(roles) => {
                more.members.extend(names(roles).into_iter().map(|name| (name, true)));
            }
        }
    }
    Ok(more)
}

fn denied(text: &str) -> SqlError {
    SqlError::new(state::NO_PRIVILEGE, text)
}

/// Fails unless the role may make, change and drop roles: superusers only where the other is one.
///
/// # Errors
/// `42501`.
pub fn must_change(view: &View, superuser: bool, text: &str, superuser_text: &str) -> Result<()> {
    let own = view.judge.rights().role(view.judge.role);
    match own {
        Some(own) if own.superuser => Ok(()),
        _ if superuser => Err(denied(superuser_text)),
        Some(own) if own.createrole => Ok(()),
        _ => Err(denied(text)),
    }
}

/// Fails unless the statement's role may comment on a role.
///
/// # Errors
/// `42501`.
pub fn must_comment(view: &View, role: u32) -> Result<()> {
    let superuser = view.judge.rights().is_superuser(role);
    must_change(view, superuser, "must have CREATEROLE privilege", "must be superuser")
}

/// Names of roles that are none.
fn must_be_free(view: &View, name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        let text = format!("role name \"{name}\" is reserved");
        let detail = "Role names starting with \"pg_\" are reserved.";
        return Err(SqlError::new("42939", text).detail(detail));
    }
    if matches!(name, "public" | "none") {
        return Err(SqlError::new("42939", format!("role name \"{name}\" is reserved")));
    }
    if known(view, name).is_some() {
        let text = format!("role \"{name}\" already exists");
        return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
    }
    Ok(())
}

/// CREATE ROLE or USER.
///
/// # Errors
/// The name is taken; the role may not.
pub fn create(
    session: &mut Session,
    view: &View,
    create: &CreateRole,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let name = &*create.name;
    let mut role = Role { login: create.login, ..Role::predefined(0, name) };
    let more = options(&create.options, &mut role)?;
    if role.bypassrls && !role.superuser && !view.judge.is_superuser() {
        return Err(denied("must be superuser to create bypassrls users"));
    }
    must_change(
        view,
        role.superuser,
        "permission denied to create role",
        "must be superuser to create superusers",
    )?;
    must_be_free(view, name)?;
    if role.verifier.is_some() {
        session.note_passwords(view)?;
    }
    session.put(Kind::Role, name, Some(role.body()))?;
    let own = session.rights_now()?.role_named(name).map_or(0, |role| role.oid);
    for other in more.into {
        let other = view.role_named(&other)?;
        if view.judge.rights().is_superuser(other) && !view.judge.is_superuser() {
            return Err(denied("must be superuser to alter superusers"));
        }
        members::admit(session, view, other, own, false, view.judge.role, client)?;
    }
    for (member, admin) in more.members {
        let member = view.role_named(&member)?;
        members::admit(session, view, own, member, admin, view.judge.role, client)?;
    }
    session.current()?.changed = true;
    Ok("CREATE ROLE")
}

fn known(view: &View, name: &str) -> Option<Role> {
    view.judge.rights().role_named(name).cloned()
}

fn missing(name: &str) -> SqlError {
    SqlError::new(state::NO_OBJECT, format!("role \"{name}\" does not exist"))
}

/// ALTER ROLE or USER.
///
/// # Errors
/// There is none; the role may not.
pub fn alter(
    session: &mut Session,
    view: &View,
    alter: &AlterRole,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let Some(named) = &alter.role else {
        let RoleChange::Settings(database, said) = &alter.change else {
            return Err(SqlError::unsupported("ALTER ROLE ALL"));
        };
        return role_settings::of_role(session, view, None, (database.as_ref(), said));
    };
    let name = match named {
        Named::Current => view.user.clone(),
        Named::Session => view.session_user.clone(),
        named => role_word(named).to_string(),
    };
    let mut role = known(view, &name).ok_or_else(|| missing(&name))?;
    let said = match &alter.change {
        RoleChange::Settings(database, said) => {
            let of = (database.as_ref(), &**said);
            return role_settings::of_role(session, view, Some(&name), of);
        }
        RoleChange::Rename(to) => return rename(session, view, &role, to),
        RoleChange::Members(add, roles) => {
            let grant = onlap_pg::ast::GrantRole {
                grant: *add,
                admin: false,
                roles: vec![name.into()],
                columns: false,
                members: roles.clone(),
                grantor: None,
            };
            return members::run(session, view, &grant, client).map(|_| "ALTER ROLE");
        }
        RoleChange::Options(options) => options,
    };
    let before = role.clone();
    let more = options(said, &mut role)?;
    let text = "must be superuser to alter superuser roles or change superuser attribute";
    let of_superuser = before.superuser || more.superuser;
    if more.bypassrls && !of_superuser && !view.judge.is_superuser() {
        return Err(denied("must be superuser to change bypassrls attribute"));
    }
    let own_password = more.password && !more.not_password && role.oid == view.judge.role;
    if !own_password || before.superuser {
        must_change(view, before.superuser || more.superuser, "permission denied", text)?;
    }
    reserved(&before)?;
    if role.oid == oids::POSTGRES && !role.superuser {
        return Err(denied("permission denied to alter role")
            .detail("The bootstrap user must have the SUPERUSER attribute."));
    }
    if before.verifier.is_some() || role.verifier.is_some() {
        session.note_passwords(view)?;
    }
    session.put(Kind::Role, &name, Some(role.body()))?;
    for (member, admin) in more.members {
        let member = view.role_named(&member)?;
        members::admit(session, view, role.oid, member, admin, view.judge.role, client)?;
    }
    session.current()?.changed = true;
    Ok("ALTER ROLE")
}

/// Roles that come with every database stay as they are.
fn reserved(role: &Role) -> Result<()> {
    match role.is_builtin() && role.oid != oids::POSTGRES {
        true => {
            let text = format!("role name \"{}\" is reserved", role.name);
            let detail = "Role names starting with \"pg_\" are reserved.";
            Err(SqlError::new("42939", text).detail(detail))
        }
        false => Ok(()),
    }
}

/// ALTER ROLE RENAME: the role stays the same, and what is its own stays its own.
fn rename(session: &mut Session, view: &View, role: &Role, to: &str) -> Result<&'static str> {
    if role.oid == view.session_role {
        return Err(SqlError::new(state::UNSUPPORTED, "session user cannot be renamed"));
    }
    if role.oid == view.judge.role {
        return Err(SqlError::new(state::UNSUPPORTED, "current user cannot be renamed"));
    }
    reserved(role)?;
    must_be_free(view, to)?;
    must_change(
        view,
        role.superuser,
        "permission denied to rename role",
        "must be superuser to rename superusers",
    )?;
    if role.oid == oids::POSTGRES {
        return Err(SqlError::unsupported(format!("renaming the role {}", role.name)));
    }
    session.rename(Kind::Role, &role.name, to)?;
    session.current()?.changed = true;
    Ok("ALTER ROLE")
}

/// DROP ROLE or USER; one that is not there is passed where `skip` is said.
///
/// # Errors
/// There is none; something belongs to it.
pub fn drop(
    session: &mut Session,
    view: &View,
    roles: &[Named],
    skip: bool,
    client: &mut dyn Client,
) -> Result<&'static str> {
    must_change(view, false, "permission denied to drop role", "")?;
    for named in roles {
        let Named::Named(name) = named else {
            let text = "cannot use special role specifier in DROP ROLE";
            return Err(SqlError::new(state::BAD_PARAMETER, text));
        };
        let Some(role) = known(view, name) else {
            if skip {
                notice(client, "00000", format!("{}, skipping", missing(name).message()));
                continue;
            }
            return Err(missing(name));
        };
        drop_one(session, view, &role)?;
    }
    session.current()?.changed = true;
    Ok("DROP ROLE")
}

fn drop_one(session: &mut Session, view: &View, role: &Role) -> Result<()> {
    if role.oid == view.judge.role {
        return Err(SqlError::new("55006", "current user cannot be dropped"));
    }
    if role.oid == view.session_role {
        return Err(SqlError::new("55006", "session user cannot be dropped"));
    }
    let text = "must be superuser to drop superusers";
    must_change(view, role.superuser, "permission denied to drop role", text)?;
    if role.is_builtin() {
        let text =
            format!("cannot drop role {} because it is required by the database system", role.name);
        return Err(SqlError::new(state::IN_USE, text));
    }
    let rights = session.rights_now()?;
    let used = super::dependencies::of_role(view, &rights, role.oid)?;
    if !used.is_empty() {
        let text =
            format!("role \"{}\" cannot be dropped because some objects depend on it", role.name);
        return Err(SqlError::new(state::IN_USE, text).detail(used.join("\n")));
    }
    role_settings::forget(session, view, &|of| of.role == role.oid)?;
    let own: Vec<_> = rights.members().filter(|m| m.0 == role.oid || m.1 == role.oid).collect();
    for (of, member, _) in own {
        members::put(session, of, member, None)?;
    }
    if role.verifier.is_some() {
        session.note_passwords(view)?;
    }
    session.put(Kind::Role, &role.name, None)
}

impl Session {
    /// Roles, owners and grants as the transaction sees them, with those that the statement changed.
    pub(crate) fn rights_now(&mut self) -> Result<std::sync::Arc<crate::rights::Rights>> {
        let instance = std::sync::Arc::clone(&self.instance);
        let objects = instance.objects().with(&self.current()?.pending);
        Ok(std::sync::Arc::clone(objects.rights()))
    }

    /// Gives an object another name; it stays the same object.
    pub(crate) fn rename(&mut self, kind: Kind, from: &str, to: &str) -> Result<()> {
        let instance = std::sync::Arc::clone(&self.instance);
        let block = self.current()?;
        let objects = instance.objects().with(&block.pending);
        let Some(Object { number, body }) = objects.get(kind, from).cloned() else { return Ok(()) };
        block.see_another();
        let mut tx = block.scope.tx()?;
        let table = &instance.objects_table;
        block.changed_for_others = true;
        block.pending.put(&mut tx, table, kind, from, None)?;
        block.pending.put(&mut tx, table, kind, to, Some(Object { number, body }))
    }
}

/// The OID of a schema, database or role, for comments.
pub fn oid_of_object(view: &View, kind: Kind, name: &str) -> Option<u32> {
    let builtin = match (kind, name) {
        (Kind::Role, name) => return known(view, name).map(|role| role.oid),
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
