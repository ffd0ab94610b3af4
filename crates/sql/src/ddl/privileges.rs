//! How do rights come to objects, move, and go?
//!
//! What the catalog keeps of an object's rights is a [`crate::rights::Entry`]; this module writes it in the
//! statement's transaction. Who may do so is judged before, by [`crate::rights::Judge`].

use serde_json::json;

use super::naming::Relation;
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::ask::table_key;
use crate::rights::{Action, Class, Entry, Key, Need};
use crate::session::Session;
use crate::view::View;

/// What a relation is, for rights.
pub fn class_of(relation: Relation) -> Class {
    match relation {
        Relation::Table => Class::Table,
        Relation::View => Class::View,
        Relation::Sequence => Class::Sequence,
        Relation::Index => Class::Index,
    }
}

/// The OID of what a name stands for.
///
/// # Errors
/// The transaction has ended.
pub fn oid_of(view: &View, name: &Name, relation: Relation) -> Result<u32> {
    let engine = name.engine(&view.database);
    Ok(match relation {
        Relation::Table => oids::of_table(view.scope.tx()?.table(&engine)?.schema().id),
        Relation::View => view.view_key(name).oid,
        Relation::Sequence => oids::of_sequence(view.scope.tx()?.sequence(&engine)?.schema().id.0),
        Relation::Index => {
            let found = super::index::find(view, &[name.schema.clone(), name.name.clone()])?;
            let id = found.and_then(|(t, i)| t.schema().index_by_name(&i).map(|i| i.id));
            id.map_or(0, oids::of_index)
        }
    })
}

/// What has the rights of a relation: an index has those of its table.
///
/// # Errors
/// The transaction has ended.
pub fn key_of(view: &View, name: &Name, relation: Relation) -> Result<Key> {
    if relation == Relation::Index {
        let found = super::index::find(view, &[name.schema.clone(), name.name.clone()])?;
        return Ok(found.map_or(Key::of(0), |(table, _)| table_key(&table.schema())));
    }
    oid_of(view, name, relation).map(Key::of)
}

impl View {
    /// Fails unless the role owns a relation.
    ///
    /// # Errors
    /// `42501`.
    pub fn must_own(&self, action: Action, name: &Name, relation: Relation) -> Result<()> {
        let key = key_of(self, name, relation)?;
        let schema = self.schema_key(&name.schema);
        let need = Need::new(action, class_of(relation), key, &name.name);
        self.must(&[Need { schema, ..need }])
    }

    /// The role that something is given to.
    ///
    /// # Errors
    /// There is none; the statement's role is not in it.
    pub fn new_owner(&self, role: &str) -> Result<u32> {
        let oid = self.role_named(role)?;
        match self.judge.is_member(oid) {
            true => Ok(oid),
            false => {
                let name = self.judge.rights().name_of(oid);
                let text = format!("must be member of role \"{name}\"");
                Err(SqlError::new(state::NO_PRIVILEGE, text))
            }
        }
    }
}

impl Session {
    /// What was made in a schema belongs to its maker, with the default privileges that were set.
    pub(crate) fn own(&mut self, view: &View, class: Class, oid: u32, schema: &str) -> Result<()> {
        let schema = view.schema_key(schema).unwrap_or(Key::of(0));
        self.own_as(view, view.judge.role, class, Key::of(oid), schema)
    }

    /// The same for an owner that the statement names.
    pub(crate) fn own_as(
        &mut self,
        view: &View,
        owner: u32,
        class: Class,
        key: Key,
        schema: Key,
    ) -> Result<()> {
        let place = (Key::of_all(view.database_key().oid), schema);
        let entry = view.judge.rights().new_entry(class, key, owner, place);
        match entry == Entry::of(oids::POSTGRES) {
            true => Ok(()),
            false => self.set_entry(key, &entry),
        }
    }

    /// Writes what is kept of an object's rights.
    pub(crate) fn set_entry(&mut self, key: Key, entry: &Entry) -> Result<()> {
        self.put(Kind::Privileges, &key.to_string(), Some(entry.body()))
    }

    /// Forgets the rights of an object that goes.
    pub(crate) fn forget_rights(&mut self, view: &View, key: Key) -> Result<()> {
        match view.judge.rights().entry(key) {
            Some(_) => self.put(Kind::Privileges, &key.to_string(), None),
            None => Ok(()),
        }
    }

    /// Gives an object to another role, which may make such objects where it is.
    pub(crate) fn give(&mut self, view: &View, class: Class, key: Key, to: u32) -> Result<()> {
        let rights = view.judge.rights();
        let from = rights.owner(key);
        if from == to {
            return Ok(());
        }
        let mut entry = rights.entry(key).cloned().unwrap_or_else(|| Entry::of(from));
        let builtin = rights.entry(key).is_none() && key.oid < oids::FIRST_OWN;
        if builtin {
            entry.acl = Some(rights.acl(class, key).into_owned());
        }
        entry.owner = to;
        entry.acl = entry.acl.map(|acl| acl.moved(from, to));
        entry.columns.values_mut().for_each(|acl| *acl = acl.moved(from, to));
        self.set_entry(key, &entry)
    }

    /// Gives a relation to a role, a table with the sequences of its columns.
    pub(crate) fn give_relation(
        &mut self,
        view: &View,
        name: &Name,
        relation: Relation,
        role: &str,
    ) -> Result<()> {
        view.must_own(Action::Alter, name, relation)?;
        let key = key_of(view, name, relation)?;
        let to = view.role_named(role)?;
        if view.judge.rights().owner(key) == to {
            return Ok(());
        }
        if !view.judge.is_superuser() {
            let to = view.new_owner(role)?;
            let schema = view.schema_key(&name.schema).unwrap_or(Key::of(0));
            let create = Need::new(Action::CreateIn, Class::Schema, schema, &name.schema);
            view.must(&[Need { by: Some(to), ..create }])?;
        }
        if relation == Relation::Table {
            let table = view.scope.tx()?.table(&name.engine(&view.database))?.schema().id;
            for sequence in super::sequence::owned_by(view, table, None) {
                let id = view.scope.tx()?.sequence(&sequence)?.schema().id;
                self.give(view, Class::Sequence, crate::rights::ask::sequence_key(id), to)?;
            }
        }
        self.give(view, class_of(relation), key, to)
    }

    /// Notes that there was a password: from then on no client connects without one.
    pub(crate) fn note_passwords(&mut self, view: &View) -> Result<()> {
        match view.objects.get(Kind::Option, crate::instance::PASSWORDS) {
            Some(_) => Ok(()),
            None => self.put(Kind::Option, crate::instance::PASSWORDS, Some(json!({}))),
        }
    }
}
