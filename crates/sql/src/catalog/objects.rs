//! Where are objects kept that the engine does not know?
//!
//! In a table of the engine, one row each: kind, name, and a JSON body. The committed rows are also in
//! memory, in a map that is replaced as a whole; what a transaction changed and has not committed is the
//! session's ([`Pending`]), written through the transaction as well, so that commit and rollback decide.

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap::{DataType, Database, Scan, Table, TableSpec, Transaction, Value};
use serde_json::Value as Json;

use super::column_types::ColumnTypes;
use super::families::Families;
use super::functions::Functions;
use super::made_types::MadeTypes;
use crate::error::{Result, SqlError};
use crate::rights::convert;
use crate::rights::state::{Rights, is_about_rights};

/// The table's name in the engine.
pub const TABLE: &str = "onlap_objects";

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `{}`, by name
    Database,
    /// `{}`, by `database/schema`
    Schema,
    /// `{"verifier", "superuser", "login", "createdb", "createrole", "inherit"}`, by name
    Role,
    /// `{"sql", "columns", "uses", "options", "checked"}`, by the engine's form of its name; see [`super::view_options`]
    View,
    /// `{"sql"}`, by `table id:column id`
    Default,
    /// `{"text"}`, by `OID:column number`
    Comment,
    /// `{"owner", "acl", "columns"}`, by OID: see [`crate::rights::Entry`]
    Privileges,
    /// `{"admin", "grantor"}`: that a role is in another, by `role OID:member OID`
    Member,
    /// `{"acl"}` that new objects get, by `role OID:schema OID:class`
    DefaultPrivileges,
    /// `{"table", "column"}` that a sequence belongs to, by the sequence's name in the engine
    Owned,
    /// `{"always"}`: a column filled by its sequence, by `table id:column id`
    Identity,
    /// `{}`: a unique index that is a constraint, by its id
    Unique,
    /// anything else of a table that only SQL knows, by the engine's name and a word
    Option,
    /// `{"oid", "modifier", "collation"}` of a column of which the engine does not know all, by `table id:column id`
    ColumnType,
    /// of an enum, a domain, a composite type, by the engine's form of its name; see [`super::made_types`]
    Type,
    /// what a table has from those above it, by its id; see [`super::families`]
    Kin,
    /// by what a table divides its rows, by its id
    Divided,
    /// `{"parent"}`: the index above that an index belongs to, by its id
    IndexKin,
    /// of a table or view, by `OID:name`; see [`super::rules`]
    Rule,
    /// `{"sql", "uses", "populated"}` of a materialized view, by its table's id
    Materialized,
    /// `["name=value"]` that sessions begin with, by `role OID:database OID`, 0 for any
    Settings,
    /// by the engine's form of its name and the types of its arguments; see [`super::functions`]
    Function,
    /// of a table or view, by `OID:name`; see [`super::triggers`]
    Trigger,
    /// `{"schema", "owner", "version"}`, by `database/name`; see [`super::extensions`]
    Extension,
    /// of a table, by `OID:name`; see [`super::policies`]
    Policy,
    /// `{"enabled", "forced"}` of a table, by its OID; see [`super::policies`]
    RowSecurity,
    /// `{"options", "nulls"}` of a table or index, by its OID; see [`super::storage`]
    Storage,
}

const KINDS: &[(Kind, &str)] = &[
    (Kind::Database, "database"),
    (Kind::Schema, "schema"),
    (Kind::Role, "role"),
    (Kind::View, "view"),
    (Kind::Default, "default"),
    (Kind::Comment, "comment"),
    (Kind::Privileges, "privileges"),
    (Kind::Member, "member"),
    (Kind::DefaultPrivileges, "default privileges"),
    (Kind::Owned, "owned"),
    (Kind::Identity, "identity"),
    (Kind::Unique, "unique"),
    (Kind::Option, "option"),
    (Kind::ColumnType, "column type"),
    (Kind::Type, "type"),
    (Kind::Kin, "kin"),
    (Kind::Divided, "divided"),
    (Kind::IndexKin, "index kin"),
    (Kind::Rule, "rule"),
    (Kind::Materialized, "materialized view"),
    (Kind::Settings, "settings"),
    (Kind::Function, "function"),
    (Kind::Trigger, "trigger"),
    (Kind::Extension, "extension"),
    (Kind::Policy, "policy"),
    (Kind::RowSecurity, "row security"),
    (Kind::Storage, "storage"),
];

impl Kind {
    fn word(self) -> &'static str {
        KINDS.iter().find(|k| k.0 == self).map_or("", |k| k.1)
    }
}

/// An object: its number, which gives its OID, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Never used again.
    pub number: u32,
    /// What is known of it; see [`Kind`].
    pub body: Json,
}

/// All objects by kind and name.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    map: BTreeMap<(Kind, String), Object>,
    next: u32,
    /// What the rows about roles and grants say.
    rights: Arc<Rights>,
    /// What those about columns' types say.
    column_types: Arc<ColumnTypes>,
    /// What those about types say.
    made_types: Arc<MadeTypes>,
    /// What those about tables above and below each other say.
    families: Arc<Families>,
    /// What those about functions say.
    functions: Arc<Functions>,
}

impl Objects {
    /// Opens the table, and creates it where there is none.
    ///
    /// # Errors
    /// Those of the engine; a row that no release wrote.
    pub fn load(db: &Database) -> Result<(Table, Objects)> {
        let spec = || {
            TableSpec::new(TABLE)
                .column("kind", DataType::Text)
                .column("name", DataType::Text)
                .column("number", DataType::Int8)
                .column("body", DataType::Text)
                .primary_key(["kind", "name"])
        };
        let table = match db.table(TABLE) {
            Ok(table) => table,
            Err(_) => db.create_table(spec())?,
        };
        let mut objects = Objects { next: 1, ..Objects::default() };
        for row in db.snapshot()?.scan(&table, Scan::all())?.rows()? {
            let [Value::Text(kind), Value::Text(name), Value::Int(number), Value::Text(body)] =
                &row[..]
            else {
                return Err(damaged("a row"));
            };
            let kind = KINDS.iter().find(|k| k.1 == kind).ok_or_else(|| damaged(kind))?.0;
            let body = serde_json::from_str(body).map_err(|_| damaged(name))?;
            let number = u32::try_from(*number).map_err(|_| damaged(name))?;
            objects.next = objects.next.max(number + 1);
            let object = Object { number, body };
            if kind == Kind::ColumnType {
                let types = Arc::make_mut(&mut objects.column_types);
                types.apply(name, Some(&object)).ok_or_else(|| damaged(name))?;
            }
            objects.map.insert((kind, name.clone()), object);
        }
        objects.read_rights().map_err(|name| damaged(&name))?;
        let made = MadeTypes::of(objects.of_kind(Kind::Type)).map_err(|name| damaged(&name))?;
        objects.made_types = Arc::new(made);
        objects.read_functions().map_err(|name| damaged(&name))?;
        objects.families = Arc::new(Families::of(&objects).map_err(|name| damaged(&name))?);
        let old = convert::changes(db, &objects);
        if !old.is_empty() {
            let (mut tx, mut pending) = (db.begin()?, Pending::default());
            for (kind, name, object) in old {
                pending.put(&mut tx, &table, kind, &name, Some(object))?;
            }
            tx.commit()?;
            objects = objects.with(&pending);
        }
        Ok((table, objects))
    }

    /// Reads what the rows say of rights; the name of a row that no release wrote otherwise. Rows of older
    /// releases are left out: they are converted next.
    fn read_rights(&mut self) -> std::result::Result<(), String> {
        let mut rights = Rights::default();
        for ((kind, name), object) in &self.map {
            if is_about_rights(*kind)
                && !convert::is_old(*kind, object)
                && rights.apply(*kind, name, Some(object)).is_none()
            {
                return Err(name.clone());
            }
        }
        self.rights = Arc::new(rights);
        Ok(())
    }

    /// Roles, owners and grants.
    pub fn rights(&self) -> &Arc<Rights> {
        &self.rights
    }

    /// Types that databases made.
    pub fn made_types(&self) -> &MadeTypes {
        &self.made_types
    }

    /// Functions and procedures that databases made.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    fn read_functions(&mut self) -> std::result::Result<(), String> {
        let catalog = self.made_types.catalog();
        let functions = Functions::of(self.of_kind(Kind::Function), catalog)?;
        self.functions = Arc::new(functions);
        Ok(())
    }

    /// Which tables stand below others.
    pub fn families(&self) -> &Families {
        &self.families
    }

    /// Types of columns that the engine does not have.
    pub fn column_types(&self) -> &ColumnTypes {
        &self.column_types
    }

    /// An object.
    pub fn get(&self, kind: Kind, name: &str) -> Option<&Object> {
        // No allocation-free lookup by a borrowed pair: there are few objects.
        self.map.get(&(kind, name.to_string()))
    }

    /// All objects of a kind, by name.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&str, &Object)> {
        self.map
            .range((kind, String::new())..)
            .take_while(move |((k, _), _)| *k == kind)
            .map(|((_, name), object)| (name.as_str(), object))
    }

    /// The objects of a kind from a name on, by name.
    pub fn named_from(&self, kind: Kind, name: &str) -> impl Iterator<Item = (&str, &Object)> {
        self.map
            .range((kind, name.to_string())..)
            .take_while(move |((k, _), _)| *k == kind)
            .map(|((_, name), object)| (name.as_str(), object))
    }

    /// The number of the next object.
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// With changes.
    #[must_use]
    pub fn with(&self, pending: &Pending) -> Objects {
        let mut objects = self.clone();
        for (kind, name, object) in &pending.changes {
            let key = (*kind, name.clone());
            if is_about_rights(*kind) {
                let applied =
                    Arc::make_mut(&mut objects.rights).apply(*kind, name, object.as_ref());
                debug_assert!(applied.is_some(), "{kind:?} {name}");
            }
            if *kind == Kind::ColumnType {
                let applied = Arc::make_mut(&mut objects.column_types).apply(name, object.as_ref());
                debug_assert!(applied.is_some(), "{kind:?} {name}");
            }
            match object {
                Some(object) => {
                    objects.next = objects.next.max(object.number + 1);
                    objects.map.insert(key, object.clone());
                }
                None => {
                    objects.map.remove(&key);
                }
            }
        }
        if pending.changes.iter().any(|(kind, ..)| *kind == Kind::Type) {
            // What was put is what a release writes.
            if let Ok(made) = MadeTypes::of(objects.of_kind(Kind::Type)) {
                objects.made_types = Arc::new(made);
            }
        }
        let of_functions = [Kind::Function, Kind::Type];
        if pending.changes.iter().any(|(kind, ..)| of_functions.contains(kind)) {
            // What was put is what a release writes.
            let read = objects.read_functions();
            debug_assert!(read.is_ok(), "{read:?}");
        }
        // Bounds of partitions have values of types that databases make.
        let of_families = [Kind::Kin, Kind::Divided, Kind::IndexKin, Kind::Type];
        if pending.changes.iter().any(|(kind, ..)| of_families.contains(kind))
            && let Ok(families) = Families::of(&objects)
        {
            objects.families = Arc::new(families);
        }
        objects
    }
}

fn damaged(what: &str) -> SqlError {
    SqlError::new(
        "XX001",
        format!("the table {TABLE} holds something that no release wrote: {what}"),
    )
}

/// What a transaction changed; `None` for gone.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    changes: Vec<(Kind, String, Option<Object>)>,
}

impl Pending {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
    /// Whether an object is among what changed.
    pub fn has(&self, kind: Kind, name: &str) -> bool {
        self.changes.iter().any(|(known, other, _)| *known == kind && other == name)
    }
    /// Number of changes, for savepoints.
    pub fn len(&self) -> usize {
        self.changes.len()
    }
    /// Forgets changes after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.changes.truncate(len);
    }

    /// Makes or replaces an object, or removes it (`None`), in a transaction.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn put(
        &mut self,
        tx: &mut Transaction,
        table: &Table,
        kind: Kind,
        name: &str,
        object: Option<Object>,
    ) -> Result<()> {
        let key = [Value::Text(kind.word().into()), Value::Text(name.into())];
        tx.delete(table, &key)?;
        if let Some(object) = &object {
            let [kind, name] = key;
            let body = Value::Text(object.body.to_string());
            tx.insert(table, &[kind, name, Value::Int(object.number.into()), body])?;
        }
        self.note(kind, name, object);
        Ok(())
    }

    /// Notes a change that was written.
    pub fn note(&mut self, kind: Kind, name: &str, object: Option<Object>) {
        self.changes.push((kind, name.to_string(), object));
    }
}
