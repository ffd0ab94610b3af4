//! May a role do this?
//!
//! [`Judge`] answers for one role in one database, as PostgreSQL 15 does: a superuser may everything; a
//! role has what was granted to it, to PUBLIC, and to the roles whose rights it has because it is in them
//! and inherits. What owners may follows from being the owner's role or in it.

use std::sync::Arc;

use super::acl::{Acl, PUBLIC};
use super::privilege::{Class, Privileges};
use super::rules::{Action, Demand, demand};
use super::state::{Key, Rights, of_system};
use crate::catalog::oids;
use crate::error::{Result, SqlError, state};

/// Something that a statement does with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What the object is.
    pub class: Class,
    /// Which.
    pub key: Key,
    /// Its name in messages.
    pub name: String,
    /// What is done.
    pub action: Action,
    /// The columns that it is done with, by number from 1; none where it is the object as a whole.
    pub columns: Vec<u32>,
    /// The schema that it is in, where that matters.
    pub schema: Option<Key>,
    /// The role whose rights count, where it is not the statement's: a view's owner.
    pub by: Option<u32>,
}

impl Need {
    /// An action on an object.
    pub fn new(action: Action, class: Class, key: Key, name: impl Into<String>) -> Need {
        Need { class, key, name: name.into(), action, columns: Vec::new(), schema: None, by: None }
    }
    /// On these columns of it.
    #[must_use]
    pub fn columns(mut self, columns: Vec<u32>) -> Need {
        self.columns = columns;
        self
    }
}

/// Answers for a role.
#[derive(Clone, Debug)]
pub struct Judge {
    rights: Arc<Rights>,
    /// The role.
    pub role: u32,
    /// The owner of the database, who is in pg_database_owner.
    database_owner: u32,
}

impl Judge {
    /// For a role in a database, by OID.
    pub fn new(rights: &Arc<Rights>, role: u32, database: u32) -> Judge {
        let database_owner = rights.owner(Key::of(database));
        Judge { rights: Arc::clone(rights), role, database_owner }
    }

    /// For another role in the same database.
    #[must_use]
    pub fn of(&self, role: u32) -> Judge {
        Judge { role, ..self.clone() }
    }

    /// What it judges by.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Whether the role may do everything.
    pub fn is_superuser(&self) -> bool {
        self.rights.is_superuser(self.role)
    }

    /// The roles that it is in, itself first; `inheriting`: those whose rights it has without SET ROLE.
    pub fn roles(&self, inheriting: bool) -> Vec<u32> {
        let mut found = vec![self.role];
        let mut at = 0;
        while let Some(member) = found.get(at).copied() {
            at += 1;
            if inheriting && !self.rights.role(member).is_some_and(|role| role.inherit) {
                continue;
            }
            let own = self.rights.members().filter(|m| m.1 == member).map(|m| m.0);
            let owner = (member == self.database_owner).then_some(oids::PG_DATABASE_OWNER);
            for role in own.chain(owner) {
                if !found.contains(&role) {
                    found.push(role);
                }
            }
        }
        found
    }

    /// The roles whose rights it has, itself first, and the owner of an object where it has those, too.
    pub fn with_rights_of(&self, owner: u32) -> Vec<u32> {
        let mut roles = self.roles(true);
        // A superuser has them without being in the role.
        roles.extend(self.has_rights_of(owner).then_some(owner));
        roles
    }

    /// Whether it has the rights of a role.
    pub fn has_rights_of(&self, role: u32) -> bool {
        self.role == role || self.is_superuser() || self.roles(true).contains(&role)
    }

    /// Whether it is in a role, and may become it.
    pub fn is_member(&self, role: u32) -> bool {
        self.role == role || self.is_superuser() || self.roles(false).contains(&role)
    }

    /// Whether it is in a role by membership alone, superuser or not.
    pub fn is_plain_member(&self, role: u32) -> bool {
        self.role == role || self.roles(false).contains(&role)
    }

    /// Whether it may let others into a role.
    pub fn is_admin(&self, role: u32) -> bool {
        let admin = |member: u32| self.rights.membership(role, member).is_some_and(|m| m.admin);
        self.is_superuser() || self.roles(false).into_iter().any(admin)
    }

    /// Whether an object is the role's.
    pub fn owns(&self, key: Key) -> bool {
        self.has_rights_of(self.rights.owner(key))
    }

    fn held(&self, acl: &Acl, wanted: Privileges) -> Privileges {
        let mut held = Privileges::NONE;
        let direct = acl.0.iter().filter(|i| i.grantee == self.role || i.grantee == PUBLIC);
        direct.for_each(|i| held |= i.privileges & wanted);
        if held == wanted {
            return held;
        }
        let roles = self.roles(true);
        let others = acl.0.iter().filter(|i| roles.contains(&i.grantee));
        others.for_each(|i| held |= i.privileges & wanted);
        held
    }

    /// Those of some privileges that the role has on an object as a whole.
    pub fn on(&self, class: Class, key: Key, wanted: Privileges) -> Privileges {
        if self.is_superuser() {
            return wanted;
        }
        let held = self.held(&self.rights.acl(class, key), wanted);
        let missing = wanted & !held;
        if missing.is_empty() { held } else { held | self.everywhere(class, missing) }
    }

    /// What the roles that read or write all data give.
    fn everywhere(&self, class: Class, missing: Privileges) -> Privileges {
        let rows = matches!(class, Class::Table | Class::View | Class::Sequence);
        let changes = Privileges::INSERT | Privileges::UPDATE | Privileges::DELETE;
        let reads = if rows { Privileges::SELECT } else { Privileges::NONE };
        let writes = if rows { changes } else { Privileges::NONE };
        let names = if class == Class::Schema { Privileges::USAGE } else { Privileges::NONE };
        let mut held = Privileges::NONE;
        for (role, gives) in
            [(oids::PG_READ_ALL_DATA, reads | names), (oids::PG_WRITE_ALL_DATA, writes | names)]
        {
            if !(gives & missing).is_empty() && self.has_rights_of(role) {
                held |= gives & missing;
            }
        }
        held
    }

    /// Those of some privileges that the role has on a column, by number from 1, through the column alone.
    pub fn on_column(&self, key: Key, column: u32, wanted: Privileges) -> Privileges {
        match self.rights.column_acl(key, column) {
            _ if self.is_superuser() => wanted,
            Some(acl) => self.held(acl, wanted),
            None => Privileges::NONE,
        }
    }

    /// Whether the role has a privilege on any column, through columns alone.
    pub fn on_any_column(&self, key: Key, wanted: Privileges) -> bool {
        if let Some(acl) = of_system(key) {
            return !self.held(acl, wanted).is_empty();
        }
        let Some(entry) = self.rights.entry(key) else { return false };
        entry.columns.values().any(|acl| !self.held(acl, wanted).is_empty())
    }

    /// Those of some privileges that the role may grant on: on a column with a number, through the object
    /// as a whole too.
    pub fn options(
        &self,
        class: Class,
        key: Key,
        column: Option<u32>,
        wanted: Privileges,
    ) -> Privileges {
        if self.is_superuser() || self.owns(key) {
            return wanted;
        }
        let roles = self.roles(true);
        let of = |acl: &Acl| {
            let own = acl.0.iter().filter(|i| roles.contains(&i.grantee));
            own.fold(Privileges::NONE, |all, i| all | i.options) & wanted
        };
        let whole = of(&self.rights.acl(class, key));
        let column = column.and_then(|column| self.rights.column_acl(key, column));
        whole | column.map_or(Privileges::NONE, of)
    }

    /// Whether the role may do what is needed.
    pub fn may(&self, need: &Need) -> bool {
        let judge = match need.by {
            Some(role) if role != self.role => &self.of(role),
            _ => self,
        };
        judge.is_superuser() || judge.meets(need)
    }

    fn meets(&self, need: &Need) -> bool {
        match demand(need.action, need.class) {
            Demand::Privilege(any) => {
                // One of several is enough.
                !self.on(need.class, need.key, any).is_empty()
            }
            Demand::OfColumns(privilege) => {
                if !self.on(need.class, need.key, privilege).is_empty() {
                    return true;
                }
                match &need.columns[..] {
                    [] => self.on_any_column(need.key, privilege),
                    columns => {
                        columns.iter().all(|c| !self.on_column(need.key, *c, privilege).is_empty())
                    }
                }
            }
            Demand::Owner => self.owns(need.key),
            Demand::OwnerOrOfSchema => {
                self.owns(need.key) || need.schema.is_some_and(|schema| self.owns(schema))
            }
            Demand::Superuser => false,
        }
    }

    /// Fails unless the role may do all that is needed: the one place where statements are judged.
    ///
    /// # Errors
    /// `42501`, in PostgreSQL's words.
    pub fn must(&self, needs: &[Need]) -> Result<()> {
        match needs.iter().find(|need| !self.may(need)) {
            Some(need) if self.rights.materialized(need.key.oid).is_some() => {
                Err(refused(need, "materialized view"))
            }
            Some(need) => Err(refusal(need)),
            None => Ok(()),
        }
    }
}

/// Why something is refused.
pub fn refusal(need: &Need) -> SqlError {
    refused(need, need.class.word())
}

/// The same of an object that is called by a word.
fn refused(need: &Need, word: &str) -> SqlError {
    let part = need.action == Action::CommentPart;
    let (word, name) = (if part { "relation" } else { word }, &need.name);
    let text = match demand(need.action, need.class) {
        Demand::Owner | Demand::OwnerOrOfSchema => format!("must be owner of {word} {name}"),
        _ => format!("permission denied for {word} {name}"),
    };
    SqlError::new(state::NO_PRIVILEGE, text)
}
