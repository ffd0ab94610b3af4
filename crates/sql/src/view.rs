//! What does a statement see of its session?
//!
//! Names are looked up here: tables of the engine as the transaction sees them, views, system tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap::{Sequence, Table};
use parking_lot::Mutex;

use crate::catalog::{Kind, Name, Objects};
use crate::error::{Result, SqlError, state};
use crate::functions::sequences::Taken;
use crate::functions::set_config::Asked;
use crate::instance::Instance;
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
    /// The current database.
    pub database: String,
    /// Schemas that are looked at, in order.
    pub search_path: Vec<String>,
    /// The name of the role whose rights count.
    pub user: String,
    /// The name of the role that connected, or that SET SESSION AUTHORIZATION set.
    pub session_user: String,
    /// Its OID.
    pub session_role: u32,
    /// What the role may do.
    pub judge: Judge,
    /// The session's process id as clients know it.
    pub pid: i32,
    /// When the transaction began, in microseconds since 1970-01-01 UTC.
    pub began_us: i64,
    /// Values of sequences that the session took.
    pub taken: Arc<Mutex<Taken>>,
    /// Settings that functions ask for.
    pub asked: Asked,
    /// Settings by name, for current_setting().
    pub settings: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>,
    /// The session's prepared statements that have names.
    pub prepared: Arc<Mutex<Listed>>,
    /// The rows of pg_settings.
    pub setting_rows: Arc<dyn Fn() -> Vec<SettingRow> + Send + Sync>,
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
/// The standard's catalog.
pub const INFORMATION_SCHEMA: &str = "information_schema";

impl View {
    /// The schemas in which an unqualified name is looked up.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.search_path.iter().map(String::as_str)
    }

    /// The schema where an unqualified new object goes.
    ///
    /// # Errors
    /// No schema of the search path is there.
    pub fn creation_schema(&self) -> Result<&str> {
        let mut path = self.path().filter(|s| self.has_schema(s) && self.may_look_in(s));
        path.next().ok_or_else(|| {
            SqlError::new(state::NO_SCHEMA, "no schema has been selected to create in")
        })
    }

    /// Whether a schema is there.
    pub fn has_schema(&self, schema: &str) -> bool {
        matches!(schema, "public" | PG_CATALOG | INFORMATION_SCHEMA)
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

    fn check_database(&self, parts: &[String]) -> Result<()> {
        match parts {
            [database, _, _] if *database != self.database => {
                let text = "cross-database references are not implemented";
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
                self.must_look_in(schema)?;
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
