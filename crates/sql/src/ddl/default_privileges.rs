//! ALTER DEFAULT PRIVILEGES: what new objects of a role get.

use onlap_pg::ast::{DefaultOn, DefaultPrivileges};
use serde_json::json;

use super::grant::{self, Said};
use crate::catalog::Kind;
use crate::error::{Result, SqlError, state};
use crate::rights::state::{self as rights, DefaultKey};
use crate::rights::{Acl, Class, Key, Privileges, Rights};
use crate::session::Session;
use crate::source::role_word;
use crate::view::{View, no_schema};

/// ALTER DEFAULT PRIVILEGES.
///
/// # Errors
/// There is no such role or schema; the role is not in the other; as of GRANT.
pub fn run(session: &mut Session, view: &View, alter: &DefaultPrivileges) -> Result<&'static str> {
    let roles = alter.of.iter().map(|role| view.role_named(role_word(role)));
    let mut roles = roles.collect::<Result<Vec<u32>>>()?;
    let schemas = &alter.schemas;
    let said = Said::of(view, &alter.grant)?;
    if roles.is_empty() {
        roles.push(view.judge.role);
    }
    for role in &roles {
        if !view.judge.is_member(*role) {
            let name = view.judge.rights().name_of(*role);
            let text = format!("must be member of role \"{name}\"");
            return Err(SqlError::new(state::NO_PRIVILEGE, text));
        }
    }
    let class = match alter.on {
        DefaultOn::Tables => Class::Table,
        DefaultOn::Sequences => Class::Sequence,
        DefaultOn::Schemas => Class::Schema,
        DefaultOn::Functions => Class::Function,
        // Types have no privileges here: each role may use all of them.
        DefaultOn::Types if !said.grant => {
            return Err(SqlError::unsupported("taking privileges of types away"));
        }
        DefaultOn::Types => return Ok("ALTER DEFAULT PRIVILEGES"),
    };
    if class == Class::Schema && !schemas.is_empty() {
        let text = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
        return Err(SqlError::new("0LP01", text));
    }
    for role in roles {
        if schemas.is_empty() {
            one(session, &said, role, Key::of_all(view.database_key().oid), class)?;
        }
        for schema in schemas {
            let key = view.schema_key(schema).ok_or_else(|| no_schema(schema))?;
            one(session, &said, role, key, class)?;
        }
    }
    Ok("ALTER DEFAULT PRIVILEGES")
}

fn one(session: &mut Session, said: &Said, role: u32, place: Key, class: Class) -> Result<()> {
    let rights = session.rights_now()?;
    // What holds everywhere begins with the usual; what a schema adds begins with nothing.
    let usual = match place.oid {
        0 => Rights::default_acl(class, Key::of(u32::MAX), role),
        _ => Acl::default(),
    };
    let mut acl = rights.default_of((role, place, class)).cloned().unwrap_or_else(|| usual.clone());
    let (privileges, _) = said.whole(class, class.grantable())?;
    grant::change(&mut acl, said, role, role, privileges, &|role| vec![role])?;
    set(session, (role, place, class), (acl != usual).then_some(acl))
}

/// Keeps default privileges, or none.
fn set(session: &mut Session, key: DefaultKey, acl: Option<Acl>) -> Result<()> {
    let body = acl.map(|acl| json!({ "acl": acl.print(&|oid| oid.to_string()) }));
    session.put(Kind::DefaultPrivileges, &rights::kept_as(key), body)
}

/// Forgets those of places that go.
///
/// # Errors
/// The transaction has ended.
pub fn forget_places(
    session: &mut Session,
    view: &View,
    is_gone: impl Fn(Key) -> bool,
) -> Result<()> {
    let all: Vec<DefaultKey> = view.judge.rights().defaults().map(|(key, _)| key).collect();
    all.into_iter().filter(|key| is_gone(key.1)).try_for_each(|key| set(session, key, None))
}

/// Forgets default privileges of roles in the database, and takes away what those of others give them.
///
/// # Errors
/// The transaction has ended.
pub fn forget(session: &mut Session, view: &View, roles: &[u32]) -> Result<()> {
    let rights = session.rights_now()?;
    for (key, acl) in view.default_privileges(&rights) {
        let (owner, ..) = key;
        let mut left = acl.clone();
        for role in roles {
            // Cascading refuses nothing.
            let _ = left
                .revoke(owner, owner, *role, !Privileges::NONE, false, true, &|role| vec![role]);
        }
        if roles.contains(&owner) {
            set(session, key, None)?;
        } else if left != *acl {
            set(session, key, Some(left).filter(|acl| !acl.0.is_empty()))?;
        }
    }
    Ok(())
}
