//! What does a statement see of its session?
//!
//! Names are looked up here: tables of the engine as the transaction sees them, views, system tables.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use onlap::{Sequence, Table};
use onlap_pg::catalog::Noted;
use parking_lot::Mutex;

use crate::catalog::names::{TEMPORARY, temporary, temporary_of};
use crate::catalog::objects::Pending;
use crate::catalog::{Kind, Name, Objects};
use crate::error::{Result, SqlError, state};
use crate::functions::sequences::Taken;
use crate::functions::set_config::Asked;
use crate::instance::Instance;
use crate::plan::hypothetical::Supposed;
use crate::query::Scans;
use crate::query::transition::Transition;
use crate::rights::Judge;
use crate::scope::Scope;
use crate::settings::SettingRow;

/// What a statement sees.
#[derive(Clone)]
pub struct View {
    /// What all sessions share.
    pub instance: Arc<Instance>,
    /// The transaction.
    pub scope: Arc<Scope>,
    /// Objects that the engine does not know, with those of this transaction.
    pub objects: Arc<Objects>,
    /// What the transaction had changed of them when the statement began.
    pub changed: Option<Arc<Pending>>,
    /// The current database.
    pub database: String,
    /// Schemas that are looked at, in order.
    pub search_path: SearchPath,
    /// Whether the session has a schema of temporary objects.
    pub temporary: bool,
    /// The name of the role whose rights count.
    pub user: String,
    /// The name of the role that connected, or that SET SESSION AUTHORIZATION set.
    pub session_user: String,
    /// Its OID.
    pub session_role: u32,
    /// What the role may do.
    pub judge: Judge,
    /// What the role stays the same in: the function of an owner, or an operation that is restricted to one.
    pub confined: Option<&'static str>,
    /// The session's process id as clients know it.
    pub pid: i32,
    /// When the transaction began, in microseconds since 1970-01-01 UTC.
    pub began_us: i64,
    /// What functions meant that the statement calls by their names alone.
    pub noted: Noted,
    /// Values of sequences that the session took.
    pub taken: Arc<Mutex<Taken>>,
    /// Settings that functions ask for.
    pub asked: Asked,
    /// The version of what the session had lent to routines when the statement began.
    pub lent: u64,
    /// Settings by name, for current_setting().
    pub settings: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>,
    /// A hash of the search path as it is written.
    pub path_hash: u64,
    /// What those among them mean that values depend on, once it was asked for; the time is the statement's own.
    pub read_settings: Arc<OnceLock<onlap_pg::value::Settings>>,
    /// The session's prepared statements that have names.
    pub prepared: Arc<Mutex<Listed>>,
    /// Its cursors and portals that have names, when the statement began.
    pub cursors: Arc<[ListedCursor]>,
    /// Tables of changed rows that a trigger's function reads.
    pub transitions: Arc<[Transition]>,
    /// Indexes that plans suppose to be there; none where statements run.
    pub supposed: Arc<[Supposed]>,
    /// Where plans say by which conditions they read tables, if anything asks for that.
    pub noted_scans: Option<Arc<Scans>>,
    /// The rows of pg_settings.
    pub setting_rows: Arc<dyn Fn() -> Vec<SettingRow> + Send + Sync>,
}

/// Schemas that are looked at, in order.
#[derive(Clone, Debug)]
pub struct SearchPath {
    /// All but the system's, where that is not named.
    pub schemas: Vec<String>,
    /// Whether the first has temporary objects and is looked at without being named; nothing is made there.
    pub is_temporary_first: bool,
}

/// A prepared statement, as pg_prepared_statements lists it.
#[derive(Clone, Debug)]
pub struct ListedStatement {
    /// The text, with PREPARE if that made it.
    pub text: String,
    /// When it was made, in microseconds since 1970-01-01 UTC.
    pub made_us: i64,
    /// The OIDs of its parameters' types.
    pub types: Vec<u32>,
    /// Whether PREPARE made it, and not the protocol.
    pub by_statement: bool,
}

/// A cursor or a portal, as pg_cursors lists it.
#[derive(Clone, Debug)]
pub struct ListedCursor {
    /// Its name.
    pub name: String,
    /// The text, with DECLARE if that made it.
    pub text: String,
    /// WITH HOLD.
    pub hold: bool,
    /// BINARY.
    pub binary: bool,
    /// Whether it may go back.
    pub scrolls: bool,
    /// When it was made, in microseconds since 1970-01-01 UTC.
    pub made_us: i64,
}

/// Prepared statements by name.
pub type Listed = BTreeMap<String, ListedStatement>;

/// What a name in FROM stands for.
pub enum Relation {
    /// A table of the engine.
    Table(Name, Table),
    /// A view.
    View(Name),
}

/// Schemas that belong to the system.
pub const PG_CATALOG: &str = "pg_catalog";
/// What is said of rows that are another session's alone.
pub const OF_OTHERS: &str = "cannot access temporary tables of other sessions";
/// The standard's catalog.
pub const INFORMATION_SCHEMA: &str = "information_schema";
/// What Onlap tells of itself.
pub const ONLAP_STAT: &str = "onlap_stat";
/// Functions that PostgreSQL has not.
pub const ONLAP: &str = "onlap";

impl View {
    /// The objects as they are now, with those of transactions that have committed since the statement began.
    pub fn newest_objects(&self) -> Arc<Objects> {
        let newest = self.instance.newest_objects();
        match &self.changed {
            None => newest,
            Some(changed) => Arc::new(newest.with(changed)),
        }
    }

    /// The schemas in which an unqualified name is looked up.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.search_path.schemas.iter().map(String::as_str)
    }

    /// The same with the system's schema, where it is looked at.
    pub fn whole_path(&self) -> Vec<String> {
        let mut path = self.search_path.schemas.clone();
        if !path.iter().any(|schema| schema == PG_CATALOG) {
            path.insert(usize::from(self.search_path.is_temporary_first), PG_CATALOG.into());
        }
        path
    }

    /// Whether a schema is that of the session's temporary objects.
    pub fn is_own_temporary(&self, schema: &str) -> bool {
        temporary_of(schema) == Some(self.pid)
    }

    /// Whether a schema has temporary objects of another session.
    pub fn is_other_temporary(&self, schema: &str) -> bool {
        temporary_of(schema).is_some_and(|pid| pid != self.pid)
    }

    /// The schema that a statement means: `pg_temp` is the session's own, once it has one.
    pub fn meant<'a>(&self, schema: &'a str) -> Cow<'a, str> {
        match schema == TEMPORARY && self.temporary {
            true => temporary(self.pid).into(),
            false => schema.into(),
        }
    }

    /// A temporary relation that hides one of the system of the same name.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn find_before_system(&self, parts: &[String]) -> Result<Option<Relation>> {
        let ([name], true) = (parts, self.temporary) else { return Ok(None) };
        let own = temporary(self.pid);
        let first = self.whole_path().into_iter().find(|s| *s == own || s == PG_CATALOG);
        match first.is_some_and(|first| first == own) {
            true => self.find(&[own, name.clone()]),
            false => Ok(None),
        }
    }

    /// The schema where an unqualified new object goes.
    ///
    /// # Errors
    /// No schema of the search path is there.
    pub fn creation_schema(&self) -> Result<&str> {
        let there = |schema: &&str| {
            self.is_own_temporary(schema) || self.has_schema(schema) && self.may_look_in(schema)
        };
        self.path().skip(self.search_path.is_temporary_first.into()).find(there).ok_or_else(|| {
            SqlError::new(state::NO_SCHEMA, "no schema has been selected to create in")
        })
    }

    /// Whether a schema is there.
    pub fn has_schema(&self, schema: &str) -> bool {
        matches!(schema, "public" | PG_CATALOG | INFORMATION_SCHEMA | ONLAP_STAT | ONLAP)
            || schema == TEMPORARY && self.temporary
            || self.objects.get(Kind::Schema, &format!("{}/{schema}", self.database)).is_some()
    }

    /// Where a new object of this name goes.
    ///
    /// # Errors
    /// There is no such schema or database; the role may make nothing in it.
    pub fn new_name(&self, parts: &[String]) -> Result<Name> {
        let name = match parts {
            [name] => Name::new(self.creation_schema()?, name),
            [.., schema, name] => {
                self.check_database(parts)?;
                Name::new(schema, name)
            }
            [] => return Err(SqlError::new(state::SYNTAX, "a name is missing")),
        };
        self.must_create_in(&name.schema)?;
        Ok(name)
    }

    /// Fails where a name is said to be in another database.
    ///
    /// # Errors
    /// `0A000`.
    pub fn check_database(&self, parts: &[String]) -> Result<()> {
        match parts {
            [database, _, _] if *database != self.database => {
                let text = "cross-database references are not implemented: ";
                let text = format!("{text}\"{}\"", parts.join("."));
                Err(SqlError::new(state::UNSUPPORTED, text))
            }
            _ => Ok(()),
        }
    }

    /// The places where a name may be: schemas of the search path in which the role may look, or the one
    /// that is named.
    ///
    /// # Errors
    /// `42501`: the role may not look into the schema that is named.
    pub fn candidates(&self, parts: &[String]) -> Result<Vec<Name>> {
        Ok(match parts {
            [name] => {
                let path = self.path().filter(|schema| self.may_look_in(schema));
                path.map(|schema| Name::new(schema, name)).collect()
            }
            [.., schema, name] => {
                let schema = self.meant(schema);
                self.must_look_in(&schema)?;
                vec![Name::new(schema, name)]
            }
            [] => Vec::new(),
        })
    }

    /// What a name stands for; `None` where it may be a system table.
    ///
    /// # Errors
    /// The database was closed; another database is named.
    pub fn find(&self, parts: &[String]) -> Result<Option<Relation>> {
        self.check_database(parts)?;
        for name in self.candidates(parts)? {
            let engine = name.engine(&self.database);
            if engine != crate::catalog::objects::TABLE
                && let Ok(table) = self.scope.tx()?.table(&engine)
            {
                if self.is_other_temporary(&name.schema) {
                    return Err(SqlError::new(state::UNSUPPORTED, OF_OTHERS));
                }
                return Ok(Some(Relation::Table(name, table)));
            }
            if self.objects.get(Kind::View, &engine).is_some() {
                return Ok(Some(Relation::View(name)));
            }
        }
        Ok(None)
    }

    /// A sequence.
    ///
    /// # Errors
    /// `42501`: the role may not look into its schema.
    pub fn sequence(&self, parts: &[String]) -> Result<Option<(Name, Sequence)>> {
        Ok(self.candidates(parts)?.into_iter().find_map(|name| {
            let sequence = self.scope.tx().ok()?.sequence(&name.engine(&self.database)).ok()?;
            Some((name, sequence))
        }))
    }

    /// A table of the engine.
    ///
    /// # Errors
    /// There is none of that name, or it is a view.
    pub fn table(&self, parts: &[String]) -> Result<(Name, Table)> {
        match self.find(parts)? {
            Some(Relation::Table(name, table)) => Ok((name, table)),
            Some(Relation::View(name)) => {
                let text = format!("\"{}\" is not a table", name.name);
                Err(SqlError::new("42809", text))
            }
            None => Err(no_table(parts)),
        }
    }

    /// The same for one that is changed as a whole: `verb` says how, where it is a temporary one of another session.
    ///
    /// # Errors
    /// As [`View::table`]; `0A000`.
    pub fn table_to(&self, verb: &str, parts: &[String]) -> Result<(Name, Table)> {
        if let [.., schema, name] = parts
            && self.is_other_temporary(schema)
            && self.scope.tx()?.table(&Name::new(schema, name).engine(&self.database)).is_ok()
        {
            self.must_look_in(schema)?;
            let text = format!("cannot {verb} temporary tables of other sessions");
            return Err(SqlError::new(state::UNSUPPORTED, text));
        }
        self.table(parts)
    }

    /// All tables of the current database, by name, as the transaction sees them.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn tables(&self) -> Result<Vec<(Name, Table)>> {
        let tx = self.scope.tx()?;
        let mut tables = Vec::new();
        for table in tx.tables() {
            let name = table.name();
            if name == crate::catalog::objects::TABLE {
                continue;
            }
            let (database, name) = Name::of_engine(&name);
            if database == self.database {
                tables.push((name, table));
            }
        }
        tables.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(tables)
    }
}

/// There is no such table.
pub fn no_table(parts: &[String]) -> SqlError {
    SqlError::new(state::NO_TABLE, format!("relation \"{}\" does not exist", parts.join(".")))
}

/// There is no such schema.
pub fn no_schema(schema: &str) -> SqlError {
    SqlError::new(state::NO_SCHEMA, format!("schema \"{schema}\" does not exist"))
}
