//! What does a statement have to do with which object?
//!
//! Keys, names and needs of what a statement's [`View`] finds, and the question itself.

use onlap::{ColumnDefault, SequenceId, TableSchema};

use super::judge::refusal;
use super::privilege::Class;
use super::rules::Action;
use super::state::DefaultKey;
use super::{Acl, Key, Need, Rights};
use crate::catalog::{Kind, Name, oids};
use crate::ddl::defaults;
use crate::error::{Result, SqlError, state};
use crate::view::{INFORMATION_SCHEMA, ONLAP, ONLAP_STAT, PG_CATALOG, View};

/// The OID of a database.
pub fn database_oid(objects: &crate::catalog::Objects, database: &str) -> u32 {
    match objects.get(Kind::Database, database) {
        Some(object) => oids::of_object(object.number),
        None => oids::DATABASE,
    }
}

impl View {
    /// Fails unless the statement's role may do all of this.
    ///
    /// # Errors
    /// `42501`.
    pub fn must(&self, needs: &[Need]) -> Result<()> {
        self.judge.must(needs)
    }

    /// Fails unless the statement's role may do this.
    ///
    /// # Errors
    /// `42501`.
    pub fn must_one(&self, action: Action, class: Class, key: Key, name: &str) -> Result<()> {
        self.judge.must(&[Need::new(action, class, key, name)])
    }

    /// The database.
    pub fn database_key(&self) -> Key {
        Key::of(database_oid(&self.objects, &self.database))
    }

    /// A schema of the database; `None` where there is none of that name.
    pub fn schema_key(&self, schema: &str) -> Option<Key> {
        let oid = match schema {
            "public" => oids::PUBLIC,
            PG_CATALOG => oids::PG_CATALOG,
            INFORMATION_SCHEMA => oids::INFORMATION_SCHEMA,
            ONLAP_STAT => oids::ONLAP_STAT,
            _ => {
                let object = self.objects.get(Kind::Schema, &format!("{}/{schema}", self.database));
                match object {
                    Some(object) => oids::of_object(object.number),
                    // A database may have one of this name from a release that had no own.
                    None if schema == ONLAP => oids::ONLAP,
                    None => return None,
                }
            }
        };
        Some(Key::of_schema(oid, self.database_key().oid))
    }

    /// The schemas of the database, with their keys.
    pub fn schemas(&self) -> Vec<(String, Key)> {
        let made = self.objects.of_kind(Kind::Schema).filter_map(|(key, _)| {
            let (database, name) = key.split_once('/')?;
            (database == self.database).then(|| name.to_string())
        });
        let all = made.chain(["public".to_string()]);
        all.filter_map(|name| Some((name.clone(), self.schema_key(&name)?))).collect()
    }

    /// The default privileges that count in the database.
    pub fn default_privileges<'a>(
        &self,
        rights: &'a Rights,
    ) -> impl Iterator<Item = (DefaultKey, &'a Acl)> + use<'a> {
        let mut places: Vec<Key> = self.schemas().into_iter().map(|(_, key)| key).collect();
        places.push(Key::of_all(self.database_key().oid));
        rights.defaults().filter(move |((_, place, _), _)| places.contains(place))
    }

    /// Whether the role may look for names in a schema.
    pub fn may_look_in(&self, schema: &str) -> bool {
        if self.is_own_temporary(schema) {
            return true;
        }
        let Some(key) = self.schema_key(schema) else { return true };
        self.judge.may(&Need::new(Action::LookIn, Class::Schema, key, schema))
    }

    /// The schemas of the database in which the role may not look.
    pub fn hidden_schemas(&self) -> Vec<String> {
        if self.judge.is_superuser() {
            return Vec::new();
        }
        let made = self.objects.of_kind(Kind::Schema).filter_map(|(key, _)| {
            let (database, name) = key.split_once('/')?;
            (database == self.database).then(|| name.to_string())
        });
        let all = made.chain(["public".to_string()]);
        all.filter(|schema| !self.may_look_in(schema)).collect()
    }

    /// Fails unless the role may look for names in a schema, where there is one.
    ///
    /// # Errors
    /// `42501`.
    pub fn must_look_in(&self, schema: &str) -> Result<()> {
        match self.schema_key(schema) {
            Some(_) if self.is_own_temporary(schema) => Ok(()),
            Some(key) => self.must_one(Action::LookIn, Class::Schema, key, schema),
            None => Ok(()),
        }
    }

    /// Fails unless the role may make something in a schema.
    ///
    /// # Errors
    /// `42501`.
    pub fn must_create_in(&self, schema: &str) -> Result<()> {
        match self.schema_key(schema) {
            Some(key) if self.is_own_temporary(schema) => match self.may_create_temporary() {
                true => Ok(()),
                false => Err(refusal(&Need::new(Action::CreateIn, Class::Schema, key, schema))),
            },
            // What lies there is in no dump.
            Some(key) if matches!(key.oid, oids::ONLAP | oids::ONLAP_STAT) => {
                Err(refusal(&Need::new(Action::CreateIn, Class::Schema, key, schema)))
            }
            Some(key) => {
                self.must_one(Action::CreateIn, Class::Schema, key, schema)?;
                self.keep_schema(schema)
            }
            None => Err(crate::view::no_schema(schema)),
        }
    }

    /// Keeps others from dropping and renaming a schema until the transaction ends.
    fn keep_schema(&self, schema: &str) -> Result<()> {
        let key = format!("{}/{schema}", self.database);
        let Some(seen) = self.objects.get(Kind::Schema, &key) else { return Ok(()) };
        self.scope.tx()?.share_name(&crate::catalog::names::of_schema(&self.database, schema))?;
        let newest = self.newest_objects();
        match newest.get(Kind::Schema, &key).is_some_and(|now| now.number == seen.number) {
            true => Ok(()),
            false => Err(crate::ddl::anew(self)),
        }
    }

    /// Whether the role may make temporary relations.
    pub fn may_create_temporary(&self) -> bool {
        let (key, name) = (self.database_key(), &self.database);
        self.judge.may(&Need::new(Action::CreateTemporary, Class::Database, key, name))
    }

    /// The role of a name in a statement, where words stand for the one that runs it.
    ///
    /// # Errors
    /// There is none.
    pub fn role_named(&self, name: &str) -> Result<u32> {
        match name {
            "current_user" | "current_role" => Ok(self.judge.role),
            "session_user" => Ok(self.session_role),
            name => self.judge.rights().role_named(name).map(|role| role.oid).ok_or_else(|| {
                SqlError::new(state::NO_OBJECT, format!("role \"{name}\" does not exist"))
            }),
        }
    }

    /// What a view is, for rights.
    pub fn view_key(&self, name: &Name) -> Key {
        let object = self.objects.get(Kind::View, &name.engine(&self.database));
        Key::of(object.map_or(0, |o| oids::of_object(o.number)))
    }
}

/// A table, for rights.
pub fn table_key(schema: &TableSchema) -> Key {
    Key::of(oids::of_table(schema.id))
}

/// A sequence, for rights.
pub fn sequence_key(id: SequenceId) -> Key {
    Key::of(oids::of_sequence(id.0))
}

/// The numbers of columns by their places in a table.
pub fn numbers(schema: &TableSchema, places: impl IntoIterator<Item = usize>) -> Vec<u32> {
    let mut numbers: Vec<u32> = places.into_iter().map(|at| schema.columns[at].id.0 + 1).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The name of a table in messages.
pub fn shown(schema: &TableSchema) -> String {
    Name::of_engine(&schema.name).1.name
}

/// A need of a table.
pub fn of_table(action: Action, schema: &TableSchema, columns: Vec<u32>) -> Need {
    Need::new(action, Class::Table, table_key(schema), shown(schema)).columns(columns)
}

/// What the sequences that fill columns need, of columns that are not given. A column's own identity is the
/// table's.
///
/// # Errors
/// The transaction has ended.
pub fn sequences(view: &View, schema: &TableSchema, given: &[usize]) -> Result<Vec<Need>> {
    let mut needs = Vec::new();
    for (at, column) in schema.columns.iter().enumerate() {
        let Some(ColumnDefault::NextVal(id)) = column.default else { continue };
        if given.contains(&at) || defaults::identity(view, schema.id, column.id).is_some() {
            continue;
        }
        let need = Need::new(Action::NextValue, Class::Sequence, sequence_key(id), "");
        // What is judged well is judged so for as long as the statement is.
        if !view.judge.may(&need) {
            let all = view.scope.tx()?.sequences();
            let found = all.iter().find(|sequence| sequence.schema().id == id);
            let name = found.map(|sequence| Name::of_engine(sequence.name()).1.name);
            needs.push(Need { name: name.unwrap_or_default(), ..need });
        }
    }
    Ok(needs)
}
