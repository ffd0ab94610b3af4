//! Who are the roles, who is in whom, what belongs to whom, and what was granted?
//!
//! [`Rights`] is what the rows of the objects' table say of it ([`crate::catalog::objects`]), read once
//! and kept beside them; a change of a row is a change here ([`Rights::apply`]). Roles are known by OIDs:
//! another name changes nothing. What has no row belongs to role postgres and has the rights of
//! [`Rights::default_acl`].
//!
//! Thread safety: a value, shared behind an `Arc`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use super::acl::{Acl, Item, PUBLIC};
use super::privilege::{Class, Privileges};
use crate::catalog::objects::{Kind, Object};
use crate::catalog::oids;
use crate::catalog::roles::{PREDEFINED, PREDEFINED_MEMBERS, Role};

/// Of a column of the system that all may read.
static READ_BY_ALL: LazyLock<Acl> = LazyLock::new(|| {
    let all = Item {
        grantee: PUBLIC,
        grantor: oids::POSTGRES,
        privileges: Privileges::SELECT,
        options: Privileges::NONE,
    };
    Acl(vec![all])
});

/// What holds of the columns of a table of the system that are for all, though the table is not.
pub fn of_system(key: Key) -> Option<&'static Acl> {
    (key.oid == oids::SUBSCRIPTIONS).then(|| &*READ_BY_ALL)
}

/// An object that has rights: its OID, and its database where several have the same OID, as the schemas
/// have that come with every database; 0 for the first database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The OID.
    pub oid: u32,
    /// The OID of its database; 0 for that of the first start, or where the OID says it.
    pub database: u32,
}

impl Key {
    /// An object whose OID is its own.
    pub fn of(oid: u32) -> Key {
        Key { oid, database: 0 }
    }

    /// A schema of a database.
    pub fn of_schema(oid: u32, database: u32) -> Key {
        let shared = oid < oids::FIRST_OWN && database != oids::DATABASE;
        Key { oid, database: if shared { database } else { 0 } }
    }

    /// All schemas of a database.
    pub fn of_all(database: u32) -> Key {
        Key::of_schema(0, database)
    }

    /// What an extension has, which has the same OID in each database.
    pub fn of_member(oid: u32, database: u32) -> Key {
        Key { oid, database: if database == oids::DATABASE { 0 } else { database } }
    }

    fn read(text: &str) -> Option<Key> {
        Some(match text.split_once('@') {
            Some((oid, database)) => {
                Key { oid: oid.parse().ok()?, database: database.parse().ok()? }
            }
            None => Key::of(text.parse().ok()?),
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.database {
            0 => write!(f, "{}", self.oid),
            database => write!(f, "{}@{database}", self.oid),
        }
    }
}

/// What is kept of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The role that it belongs to.
    pub owner: u32,
    /// What was granted; `None` for the default.
    pub acl: Option<Acl>,
    /// What was granted on columns, by their numbers (from 1).
    pub columns: BTreeMap<u32, Acl>,
}

impl Entry {
    /// An object that belongs to a role, and nothing was granted.
    pub fn of(owner: u32) -> Entry {
        Entry { owner, acl: None, columns: BTreeMap::new() }
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        let print = |acl: &Acl| acl.print(&|oid| oid.to_string());
        let columns: BTreeMap<String, Vec<String>> =
            self.columns.iter().map(|(n, acl)| (n.to_string(), print(acl))).collect();
        json!({ "owner": self.owner, "acl": self.acl.as_ref().map(print), "columns": columns })
    }

    fn read(body: &Json) -> Option<Entry> {
        let columns = body["columns"].as_object().into_iter().flatten();
        let column = |(n, acl): (&String, &Json)| Some((n.parse().ok()?, read_acl(acl)?));
        Some(Entry {
            owner: u32::try_from(body["owner"].as_u64()?).ok()?,
            acl: if body["acl"].is_null() { None } else { Some(read_acl(&body["acl"])?) },
            columns: columns.map(column).collect::<Option<_>>()?,
        })
    }
}

/// Reads a list as it is kept.
fn read_acl(json: &Json) -> Option<Acl> {
    let items: Vec<&str> = json.as_array()?.iter().filter_map(Json::as_str).collect();
    Acl::read(items.into_iter())
}

/// That a role is in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Whether it may let others in.
    pub admin: bool,
    /// The role that let it in.
    pub grantor: u32,
}

/// Which default privileges: of what a role makes, in a schema or in all of a database ([`Key::of_all`]), of a class.
pub type DefaultKey = (u32, Key, Class);

/// The name under which default privileges are kept.
pub fn kept_as((role, place, class): DefaultKey) -> String {
    format!("{role}:{place}:{}", class.word())
}

/// Everything that decides who may do what.
#[derive(Clone, Debug)]
pub struct Rights {
    roles: BTreeMap<u32, Role>,
    names: HashMap<String, u32>,
    /// By role, then member.
    members: BTreeMap<(u32, u32), Membership>,
    objects: BTreeMap<Key, Entry>,
    defaults: BTreeMap<DefaultKey, Acl>,
    /// Tables that are materialized views, by OID, and whether they may be read.
    materialized: BTreeMap<u32, bool>,
}

impl Default for Rights {
    fn default() -> Rights {
        let mut rights = Rights {
            roles: BTreeMap::new(),
            names: HashMap::new(),
            members: BTreeMap::new(),
            objects: BTreeMap::new(),
            defaults: BTreeMap::new(),
            materialized: BTreeMap::new(),
        };
        rights.add(Role::postgres());
        PREDEFINED.iter().for_each(|(oid, name)| rights.add(Role::predefined(*oid, name)));
        for (role, member) in PREDEFINED_MEMBERS {
            let membership = Membership { admin: false, grantor: oids::POSTGRES };
            rights.members.insert((*role, *member), membership);
        }
        rights
    }
}

/// The kinds of rows that are about rights.
pub fn is_about_rights(kind: Kind) -> bool {
    matches!(kind, Kind::Role | Kind::Member | Kind::Privileges | Kind::DefaultPrivileges)
        || kind == Kind::Materialized
}

impl Rights {
    fn add(&mut self, role: Role) {
        self.names.insert(role.name.clone(), role.oid);
        self.roles.insert(role.oid, role);
    }

    /// Takes over a row of the objects' table, or that it is gone; `None` for a row that no release wrote.
    pub fn apply(&mut self, kind: Kind, name: &str, object: Option<&Object>) -> Option<()> {
        match (kind, object) {
            (Kind::Role, Some(object)) => self.add(Role::of(name, object)),
            (Kind::Role, None) => {
                if let Some(oid) = self.names.remove(name)
                    && self.roles.get(&oid).is_some_and(|role| role.name == name)
                {
                    self.roles.remove(&oid);
                }
                if name == Role::postgres().name {
                    self.add(Role::postgres());
                }
            }
            (Kind::Member, object) => {
                let (role, member) = name.split_once(':')?;
                let key = (role.parse().ok()?, member.parse().ok()?);
                match object {
                    Some(object) => {
                        let admin = object.body["admin"].as_bool()?;
                        let grantor = u32::try_from(object.body["grantor"].as_u64()?).ok()?;
                        self.members.insert(key, Membership { admin, grantor });
                    }
                    None => drop(self.members.remove(&key)),
                }
            }
            (Kind::Privileges, Some(object)) => {
                self.objects.insert(Key::read(name)?, Entry::read(&object.body)?);
            }
            (Kind::Privileges, None) => drop(self.objects.remove(&Key::read(name)?)),
            (Kind::DefaultPrivileges, object) => {
                let mut parts = name.split(':');
                let role = parts.next()?.parse().ok()?;
                let place = Key::read(parts.next()?)?;
                let key = (role, place, Class::by_word(parts.next()?)?);
                match object {
                    Some(object) => drop(self.defaults.insert(key, read_acl(&object.body["acl"])?)),
                    None => drop(self.defaults.remove(&key)),
                }
            }
            (Kind::Materialized, object) => {
                let oid = oids::of_table(onlap::TableId(name.parse().ok()?));
                match object {
                    Some(object) => {
                        self.materialized.insert(oid, object.body["populated"].as_bool()?);
                    }
                    None => drop(self.materialized.remove(&oid)),
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Whether a table that is a materialized view may be read, by its OID; `None` for others.
    pub fn materialized(&self, table: u32) -> Option<bool> {
        self.materialized.get(&table).copied()
    }

    /// A role.
    pub fn role(&self, oid: u32) -> Option<&Role> {
        self.roles.get(&oid)
    }
    /// A role by name.
    pub fn role_named(&self, name: &str) -> Option<&Role> {
        self.roles.get(self.names.get(name)?)
    }
    /// All roles, by name.
    pub fn roles(&self) -> Vec<&Role> {
        let mut all: Vec<&Role> = self.roles.values().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
    /// A role's name; for one that is gone what PostgreSQL prints.
    pub fn name_of(&self, oid: u32) -> String {
        self.role(oid).map_or_else(|| format!("unknown (OID={oid})"), |role| role.name.clone())
    }
    /// Whether a role may do everything.
    pub fn is_superuser(&self, role: u32) -> bool {
        self.role(role).is_some_and(|role| role.superuser)
    }

    /// Memberships: role, member, and how.
    pub fn members(&self) -> impl Iterator<Item = (u32, u32, Membership)> {
        self.members.iter().map(|((role, member), how)| (*role, *member, *how))
    }
    /// How a role is in another, directly.
    pub fn membership(&self, role: u32, member: u32) -> Option<Membership> {
        self.members.get(&(role, member)).copied()
    }

    /// What is kept of an object.
    pub fn entry(&self, key: Key) -> Option<&Entry> {
        self.objects.get(&key)
    }
    /// All objects of which something is kept.
    pub fn entries(&self) -> impl Iterator<Item = (Key, &Entry)> {
        self.objects.iter().map(|(key, entry)| (*key, entry))
    }
    /// The role that an object belongs to.
    pub fn owner(&self, key: Key) -> u32 {
        match self.objects.get(&key) {
            Some(entry) => entry.owner,
            None if key.oid == oids::PUBLIC => oids::PG_DATABASE_OWNER,
            None => oids::POSTGRES,
        }
    }
    /// What was granted on an object.
    pub fn acl(&self, class: Class, key: Key) -> Cow<'_, Acl> {
        match self.objects.get(&key) {
            Some(Entry { acl: Some(acl), .. }) => Cow::Borrowed(acl),
            Some(entry) => Cow::Owned(Rights::default_acl(class, key, entry.owner)),
            None => Cow::Owned(Rights::default_acl(class, key, self.owner(key))),
        }
    }
    /// What was granted on a column alone.
    pub fn column_acl(&self, key: Key, column: u32) -> Option<&Acl> {
        if column != oids::SUBSCRIPTION_PASSWORD
            && let Some(acl) = of_system(key)
        {
            return Some(acl);
        }
        self.objects.get(&key)?.columns.get(&column)
    }

    /// What holds where nothing was granted: everything for the owner; on a database sessions and
    /// temporary tables for all; on the schemas that come with it USAGE for all.
    pub fn default_acl(class: Class, key: Key, owner: u32) -> Acl {
        let item = |grantee, privileges| Item {
            grantee,
            grantor: owner,
            privileges,
            options: Privileges::NONE,
        };
        let own = item(owner, class.grantable());
        match class {
            Class::Database => {
                let all = Privileges::TEMPORARY | Privileges::CONNECT;
                Acl(vec![item(PUBLIC, all), own])
            }
            Class::Function if key.oid == oids::RESET_STATEMENTS => Acl(vec![own]),
            Class::Function | Class::Procedure => Acl(vec![item(PUBLIC, Privileges::EXECUTE), own]),
            Class::Schema if key.oid < oids::FIRST_OWN => {
                Acl(vec![own, item(PUBLIC, Privileges::USAGE)])
            }
            Class::Table | Class::View if oids::PRIVATE.contains(&key.oid) => Acl(vec![own]),
            Class::Table | Class::View
                if key.oid < oids::FIRST_OWN
                    || onlap_pg::catalog::extensions::of(key.oid).is_some() =>
            {
                Acl(vec![own, item(PUBLIC, Privileges::SELECT)])
            }
            _ => Acl(vec![own]),
        }
    }

    /// Default privileges: of whose objects, where, and which.
    pub fn defaults(&self) -> impl Iterator<Item = (DefaultKey, &Acl)> {
        self.defaults.iter().map(|(key, acl)| (*key, acl))
    }

    /// The default privileges of one kind.
    pub fn default_of(&self, key: DefaultKey) -> Option<&Acl> {
        self.defaults.get(&key)
    }

    /// What a new object of a role has, where default privileges were altered: for all of its database, or its schema.
    pub fn new_entry(
        &self,
        class: Class,
        key: Key,
        owner: u32,
        (all, schema): (Key, Key),
    ) -> Entry {
        let kind = match class {
            Class::View => Class::Table,
            Class::Procedure => Class::Function,
            class => class,
        };
        let general = self.default_of((owner, all, kind));
        let here = self.default_of((owner, schema, kind)).filter(|_| schema.oid != 0);
        let usual = Rights::default_acl(class, key, owner);
        let mut acl = general.cloned().unwrap_or_else(|| usual.clone());
        for item in here.into_iter().flat_map(|acl| &acl.0) {
            // The owner grants, so nothing goes round.
            let _ = acl.grant(
                owner,
                item.grantor,
                item.grantee,
                item.privileges,
                item.options,
                &|_| Vec::new(),
            );
        }
        Entry { owner, acl: Some(acl).filter(|acl| *acl != usual), columns: BTreeMap::new() }
    }
}
