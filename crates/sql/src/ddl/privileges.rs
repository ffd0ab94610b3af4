//! Who may do what with which table?
//!
//! A superuser everything, an owner everything with what is his, others what was granted. What is kept of
//! a table, view or sequence is `{"owner", "grants": {role: [privilege]}}`; without it, it belongs to
//! postgres. A view's tables are read with its owner's rights.

use serde_json::{Value as Json, json};

use super::naming::Relation;
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::View;

/// The role that owns what nobody else does.
const POSTGRES: &str = "postgres";
/// What may be granted on a table.
pub const ALL: &[&str] =
    &["select", "insert", "update", "delete", "truncate", "references", "trigger"];

/// The OID of what a name stands for.
///
/// # Errors
/// The transaction has ended.
pub fn oid_of(view: &View, name: &Name, relation: Relation) -> Result<u32> {
    let engine = name.engine(&view.database);
    Ok(match relation {
        Relation::Table => oids::of_table(view.scope.tx()?.table(&engine)?.schema().id),
        Relation::View => view.oid_of_view(name),
        Relation::Sequence => oids::of_sequence(view.scope.tx()?.sequence(&engine)?.schema().id.0),
        Relation::Index => {
            let found = super::index::find(view, &[name.schema.clone(), name.name.clone()])?;
            let id = found.and_then(|(t, i)| t.schema().index_by_name(&i).map(|i| i.id));
            id.map_or(0, oids::of_index)
        }
    })
}

impl View {
    fn is_superuser(&self) -> bool {
        self.user == POSTGRES || self.instance.is_superuser(&self.user)
    }

    fn owner(&self, oid: u32) -> &str {
        let object = self.objects.get(Kind::Privileges, &oid.to_string());
        object.and_then(|o| o.body["owner"].as_str()).unwrap_or(POSTGRES)
    }

    /// Whether the role may do something with a table, view or sequence.
    pub fn may(&self, oid: u32, privilege: &str) -> bool {
        if self.is_superuser() || self.owner(oid) == self.user {
            return true;
        }
        let Some(object) = self.objects.get(Kind::Privileges, &oid.to_string()) else {
            return false;
        };
        let has = |role: &str| {
            let granted = object.body["grants"][role].as_array();
            granted.is_some_and(|all| all.iter().any(|p| p.as_str() == Some(privilege)))
        };
        has(&self.user) || has("public")
    }

    /// The OID of a view.
    pub fn oid_of_view(&self, name: &Name) -> u32 {
        let object = self.objects.get(Kind::View, &name.engine(&self.database));
        object.map_or(0, |o| oids::of_object(o.number))
    }

    /// Fails unless the role may do something with a table or view.
    ///
    /// # Errors
    /// `42501`.
    pub fn must(&self, oid: u32, name: &str, privilege: &str) -> Result<()> {
        match self.may(oid, privilege) {
            true => Ok(()),
            false => Err(denied("table", name)),
        }
    }
}

fn denied(what: &str, name: &str) -> SqlError {
    SqlError::new(state::NO_PRIVILEGE, format!("permission denied for {what} {name}"))
}

impl Session {
    /// What was made belongs to its maker.
    pub(crate) fn own(&mut self, view: &View, oid: u32) -> Result<()> {
        match view.user == POSTGRES {
            true => Ok(()),
            false => {
                let body = json!({ "owner": view.user, "grants": {} });
                self.put(Kind::Privileges, &oid.to_string(), Some(body))
            }
        }
    }

    /// Fails unless something belongs to the role.
    pub(crate) fn must_own(&self, view: &View, oid: u32, what: &str, name: &str) -> Result<()> {
        match view.is_superuser() || view.owner(oid) == view.user {
            true => Ok(()),
            false => {
                let text = format!("must be owner of {what} {name}");
                Err(SqlError::new(state::NO_PRIVILEGE, text))
            }
        }
    }

    /// Gives something to another role.
    pub(crate) fn give(&mut self, view: &View, name: &Name, role: &str) -> Result<()> {
        let role = match role {
            "current_user" | "session_user" | "current_role" => view.user.clone(),
            role => role.to_string(),
        };
        if view.instance.role(&role).is_none() && view.objects.get(Kind::Role, &role).is_none() {
            let text = format!("role \"{role}\" does not exist");
            return Err(SqlError::new(state::NO_OBJECT, text));
        }
        let Some(relation) = super::naming::find(view, name)? else { return Ok(()) };
        let oid = oid_of(view, name, relation)?;
        self.must_own(view, oid, "table", &name.name)?;
        if view.owner(oid) == role {
            return Ok(());
        }
        let key = oid.to_string();
        let known = view.objects.get(Kind::Privileges, &key);
        let mut body = known.map_or_else(|| json!({ "grants": {} }), |o| o.body.clone());
        body["owner"] = json!(role);
        self.put(Kind::Privileges, &key, Some(body))
    }

    /// Fails unless the role may create databases (`createdb`) or roles (`createrole`).
    pub(crate) fn may_create(&self, what: &str, text: &str) -> Result<()> {
        let role = self.instance.role(&self.user);
        let may = role.is_some_and(|r| {
            r.superuser || if what == "createdb" { r.createdb } else { r.createrole }
        });
        if may { Ok(()) } else { Err(SqlError::new(state::NO_PRIVILEGE, text)) }
    }
}

/// Adds or takes away privileges of roles in what is kept of an object.
pub fn changed(known: Option<&Json>, roles: &[String], privileges: &[String], grant: bool) -> Json {
    let mut body = known.cloned().unwrap_or_else(|| json!({ "owner": POSTGRES, "grants": {} }));
    for role in roles {
        let before = body["grants"][role].as_array().cloned().unwrap_or_default();
        let mut now: Vec<String> =
            before.iter().filter_map(|p| p.as_str()).map(str::to_string).collect();
        now.retain(|p| !privileges.contains(p));
        if grant {
            now.extend(privileges.iter().cloned());
        }
        body["grants"][role] = json!(now);
    }
    body
}
