//! GRANT and REVOKE of roles: who is in whom.
//!
//! A role lets others in by itself: superusers and those with CREATEROLE do, and those who were let in WITH
//! ADMIN OPTION. Nothing goes round: a role is never in itself.

use onlap_pg::ast::GrantRole;
use serde_json::json;

use crate::catalog::{Kind, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::Membership;
use crate::session::Session;
use crate::source::role_word;
use crate::view::View;
use crate::wire::Client;

/// GRANT or REVOKE of roles.
///
/// # Errors
/// There is no such role; the role may not; it would go round.
pub fn run(
    session: &mut Session,
    view: &View,
    said: &GrantRole,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let (grant, option) = (said.grant, said.admin);
    if said.columns {
        let text = "column names cannot be included in GRANT/REVOKE ROLE";
        return Err(SqlError::new("0LP01", text));
    }
    let grantor = match &said.grantor {
        Some(role) => view.role_named(role_word(role))?,
        None => view.judge.role,
    };
    let roles = said.roles.iter().map(|name| view.role_named(name));
    let roles = roles.collect::<Result<Vec<u32>>>()?;
    let members = said.members.iter().map(|role| view.role_named(role_word(role)));
    let members = members.collect::<Result<Vec<u32>>>()?;
    for role in roles {
        must_admit(view, role, grantor)?;
        for member in &members {
            match grant {
                true => admit(session, view, role, *member, option, grantor, client)?,
                false => dismiss(session, role, *member, option, client)?,
            }
        }
    }
    session.current()?.changed = true;
    Ok(if grant { "GRANT ROLE" } else { "REVOKE ROLE" })
}

/// Fails unless the statement's role may let others into a role, and put them out.
fn must_admit(view: &View, role: u32, grantor: u32) -> Result<()> {
    let judge = &view.judge;
    let rights = judge.rights();
    let refuse = |text: String| Err(SqlError::new(state::NO_PRIVILEGE, text));
    if rights.is_superuser(role) && !judge.is_superuser() {
        return refuse("must be superuser to alter superusers".into());
    }
    let creates = rights.role(judge.role).is_some_and(|own| own.createrole);
    if !creates && !judge.of(grantor).is_admin(role) {
        let name = rights.name_of(role);
        return refuse(format!("must have admin option on role \"{name}\""));
    }
    if grantor != judge.role && !judge.is_superuser() {
        return refuse("must be superuser to set grantor".into());
    }
    Ok(())
}

/// Lets a role into another.
///
/// # Errors
/// It would go round.
pub fn admit(
    session: &mut Session,
    view: &View,
    role: u32,
    member: u32,
    admin: bool,
    grantor: u32,
    client: &mut dyn Client,
) -> Result<()> {
    let rights = session.rights_now()?;
    let (name, other) = (rights.name_of(role), rights.name_of(member));
    if role == oids::PG_DATABASE_OWNER {
        let text = format!("role \"{name}\" cannot have explicit members");
        return Err(SqlError::new("0A000", text));
    }
    if member == oids::PG_DATABASE_OWNER {
        let text = format!("role \"{other}\" cannot be a member of any role");
        return Err(SqlError::new("0A000", text));
    }
    let database = view.database_key().oid;
    if crate::rights::Judge::new(&rights, role, database).is_plain_member(member) {
        let text = format!("role \"{name}\" is a member of role \"{other}\"");
        return Err(SqlError::new("0LP01", text));
    }
    let known = rights.membership(role, member);
    if known.is_some_and(|known| known.admin || !admin) {
        let text = format!("role \"{other}\" is already a member of role \"{name}\"");
        client.reply().notice("NOTICE", &SqlError::new("00000", text));
        return Ok(());
    }
    put(session, role, member, Some(Membership { admin, grantor }))
}

fn dismiss(
    session: &mut Session,
    role: u32,
    member: u32,
    option_only: bool,
    client: &mut dyn Client,
) -> Result<()> {
    let rights = session.rights_now()?;
    let Some(known) = rights.membership(role, member) else {
        let (name, other) = (rights.name_of(role), rights.name_of(member));
        let text = format!("role \"{other}\" is not a member of role \"{name}\"");
        client.reply().notice("WARNING", &SqlError::new("01000", text));
        return Ok(());
    };
    put(session, role, member, option_only.then_some(Membership { admin: false, ..known }))
}

/// Writes that a role is in another, or is no more.
///
/// # Errors
/// Those of the engine.
pub fn put(session: &mut Session, role: u32, member: u32, how: Option<Membership>) -> Result<()> {
    let body = how.map(|how| json!({ "admin": how.admin, "grantor": how.grantor }));
    session.put(Kind::Member, &format!("{role}:{member}"), body)
}
