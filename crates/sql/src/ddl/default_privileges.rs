//! ALTER DEFAULT PRIVILEGES: what new objects of a role get.

use serde_json::json;

use super::grant::{self, Said};
use crate::catalog::Kind;
use crate::error::{Result, SqlError, state};
use crate::rights::{Acl, Class, Key, Rights};
use crate::session::Session;
use crate::view::{View, no_schema};
use crate::words::Words;

/// ALTER DEFAULT PRIVILEGES, after these words.
///
/// # Errors
/// There is no such role or schema; the role is not in the other; as of GRANT.
pub fn run(session: &mut Session, view: &View, words: &mut Words<'_>) -> Result<&'static str> {
    let mut roles = Vec::new();
    let mut schemas = Vec::new();
    loop {
        if words.accept(&["for", "role"]) || words.accept(&["for", "user"]) {
            let names = words.names()?;
            roles = names.iter().map(|n| view.role_named(&n.join("."))).collect::<Result<_>>()?;
        } else if words.accept(&["in", "schema"]) {
            schemas = words.names()?.into_iter().map(|n| n.join(".")).collect();
        } else {
            break;
        }
    }
    let is_grant = words.accept(&["grant"]);
    if !is_grant {
        words.expect(&["revoke"])?;
    }
    let mut said = Said::begin(words, is_grant)?;
    words.expect(&["on"])?;
    let kinds = ["tables", "sequences", "schemas", "functions", "routines", "types"];
    let kind = words.one_of(&kinds).ok_or_else(|| words.error())?;
    said.end(view, words)?;
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
    let class = match kind {
        "tables" => Class::Table,
        "sequences" => Class::Sequence,
        "schemas" => Class::Schema,
        // There are none of these to make.
        _ => return Ok("ALTER DEFAULT PRIVILEGES"),
    };
    if class == Class::Schema && !schemas.is_empty() {
        let text = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
        return Err(SqlError::new("0LP01", text));
    }
    for role in roles {
        if schemas.is_empty() {
            one(session, &said, role, Key::of(0), class)?;
        }
        for schema in &schemas {
            let key = view.schema_key(schema).ok_or_else(|| no_schema(schema))?;
            one(session, &said, role, key, class)?;
        }
    }
    Ok("ALTER DEFAULT PRIVILEGES")
}

fn one(session: &mut Session, said: &Said, role: u32, schema: Key, class: Class) -> Result<()> {
    let rights = session.rights_now()?;
    // What holds everywhere begins with the usual; what a schema adds begins with nothing.
    let usual = match schema.oid {
        0 => Rights::default_acl(class, Key::of(u32::MAX), role),
        _ => Acl::default(),
    };
    let mut acl =
        rights.default_of((role, schema.oid, class)).cloned().unwrap_or_else(|| usual.clone());
    let (privileges, _) = said.whole(class, class.grantable())?;
    grant::change(&mut acl, said, role, role, privileges)?;
    let items: Vec<String> = acl.print(&|oid| oid.to_string());
    let body = (acl != usual).then(|| json!({ "acl": items }));
    let name = format!("{role}:{}:{}", schema.oid, class.word());
    session.put(Kind::DefaultPrivileges, &name, body)
}
