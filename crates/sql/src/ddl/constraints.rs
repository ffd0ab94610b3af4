//! Which constraints does a table have, and what are they called?

use onlap::{Action, Expr, ForeignKeySpec, TableSchema};
use onlap_pg::ast::{self, ColumnRule, Judged, KeyAction, Match, References, Said, TableRule};

use super::columns::Declared;
use super::naming::{self, choose};
use super::temporary;
use super::{checks, keys};
use crate::catalog::Name;
use crate::columns::{ColumnType, Types};
use crate::error::{Result, SqlError, state};
use crate::rights::Action as Act;
use crate::rights::ask::{numbers, of_table};
use crate::source::{Source, strings};
use crate::view::View;

/// A constraint of a table.
#[derive(Clone, Debug)]
pub enum Constraint {
    /// PRIMARY KEY: name and columns.
    Primary(String, Vec<String>),
    /// UNIQUE: name and columns.
    Unique(String, Vec<String>),
    /// CHECK.
    Check(String, Expr<String>),
    /// FOREIGN KEY.
    Foreign(ForeignKeySpec),
}

/// Collects the constraints of a table and names them.
pub struct Collector<'a> {
    view: &'a View,
    source: Source<'a>,
    table: &'a Name,
    columns: Vec<(String, ColumnType)>,
    /// Names of constraints that are there.
    names: Vec<String>,
    /// What was collected.
    pub all: Vec<Constraint>,
    /// Checks that tables below do not get.
    pub alone: Vec<String>,
}

impl<'a> Collector<'a> {
    /// For a new table with these columns.
    pub fn new(
        view: &'a View,
        source: Source<'a>,
        table: &'a Name,
        columns: Vec<(String, ColumnType)>,
    ) -> Collector<'a> {
        let (names, all, alone) = (Vec::new(), Vec::new(), Vec::new());
        Collector { view, source, table, columns, names, all, alone }
    }

    /// For a table that is there.
    pub fn of_table(
        view: &'a View,
        source: Source<'a>,
        table: &'a Name,
        schema: &TableSchema,
    ) -> Collector<'a> {
        let types = Types::of(&view.objects, schema);
        let columns = schema.columns.iter().map(|c| c.name.clone()).zip(types.iter().copied());
        let columns = columns.collect();
        let checks = schema.checks.iter().map(|c| c.name.clone());
        let keys = schema.foreign_keys.iter().map(|k| k.name.clone());
        let indexes = schema.indexes.iter().map(|i| i.name.clone());
        let names = checks.chain(keys).chain(indexes).collect();
        let (all, alone) = (Vec::new(), Vec::new());
        Collector { view, source, table, columns, names, all, alone }
    }

    fn name(&mut self, given: Option<String>, columns: &str, label: &str) -> Result<String> {
        let relation = label != "check" && label != "fkey";
        let is_taken = |name: &str| {
            let other = Name::new(&self.table.schema, name);
            self.names.iter().any(|n| n == name)
                || name == self.table.name
                || relation && !matches!(naming::find(self.view, &other), Ok(None))
        };
        let name = match given {
            Some(name) if self.names.contains(&name) => {
                let table = &self.table.name;
                let text = format!("constraint \"{name}\" for relation \"{table}\" already exists");
                return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
            }
            Some(name) if is_taken(&name) => return Err(naming::taken(&name)),
            Some(name) => name,
            None => choose(&self.table.name, columns, label, &is_taken),
        };
        self.names.push(name.clone());
        Ok(name)
    }

    fn check_columns(&self, columns: &[String]) -> Result<()> {
        let missing = columns.iter().find(|c| !self.columns.iter().any(|(n, _)| n == *c));
        match missing {
            Some(column) => {
                let text = format!("column \"{column}\" named in key does not exist");
                Err(SqlError::new(state::NO_COLUMN, text))
            }
            None => Ok(()),
        }
    }

    /// The constraints of a column.
    ///
    /// # Errors
    /// As [`Collector::constraint`].
    pub fn column(&mut self, column: &Declared<'_>) -> Result<()> {
        let own = || vec![column.name.clone()];
        for said in &column.constraints {
            let name = said.name.clone();
            deferred(said.judged)?;
            match said.rule {
                ColumnRule::Primary(_) => self.primary(name, own())?,
                ColumnRule::Unique(not_distinct, _) => self.unique(name, own(), *not_distinct)?,
                ColumnRule::Check(check, alone) => {
                    self.check(name, check, Some(&column.name))?;
                    self.note_alone(*alone);
                }
                ColumnRule::References(key) => self.foreign(name, key, own())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A constraint of the table.
    ///
    /// # Errors
    /// Unknown columns, taken names, what Onlap does not do.
    pub fn constraint(&mut self, constraint: &ast::Constraint) -> Result<()> {
        deferred(constraint.judged)?;
        let name = constraint.name.as_ref().map(|name| name.to_string());
        let plain = |include: &[ast::Name]| match include.is_empty() {
            true => Ok(()),
            false => Err(SqlError::unsupported("a constraint with INCLUDE")),
        };
        match &constraint.rule {
            TableRule::Primary(columns, include, _) => {
                plain(include)?;
                self.primary(name, strings(columns))
            }
            TableRule::Unique(not_distinct, columns, include, _) => {
                plain(include)?;
                self.unique(name, strings(columns), *not_distinct)
            }
            TableRule::Check(check) => {
                self.check(name, check, None)?;
                self.note_alone(constraint.judged.no_inherit);
                Ok(())
            }
            TableRule::Foreign(columns, key) => self.foreign(name, key, strings(columns)),
            TableRule::Exclude => Err(SqlError::unsupported("an EXCLUDE constraint")),
            TableRule::UniqueIndex(_) | TableRule::PrimaryIndex(_) => {
                let text = "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported here";
                Err(SqlError::new(state::UNSUPPORTED, text))
            }
        }
    }

    /// The check that was collected last is the table's alone.
    fn note_alone(&mut self, alone: bool) {
        if let (true, Some(Constraint::Check(name, _))) = (alone, self.all.last()) {
            self.alone.push(name.clone());
        }
    }

    fn primary(&mut self, name: Option<String>, columns: Vec<String>) -> Result<()> {
        if self.all.iter().any(|c| matches!(c, Constraint::Primary(..))) {
            let text =
                format!("multiple primary keys for table \"{}\" are not allowed", self.table.name);
            return Err(SqlError::new(state::BAD_DEFINITION, text));
        }
        self.check_columns(&columns)?;
        keys::must_be_ordered(&self.columns, &columns)?;
        let name = self.name(name, "", "pkey")?;
        self.all.push(Constraint::Primary(name, columns));
        Ok(())
    }

    fn unique(
        &mut self,
        name: Option<String>,
        columns: Vec<String>,
        not_distinct: bool,
    ) -> Result<()> {
        if not_distinct {
            return Err(SqlError::unsupported("UNIQUE NULLS NOT DISTINCT"));
        }
        self.check_columns(&columns)?;
        keys::must_be_ordered(&self.columns, &columns)?;
        let name = self.name(name, &columns.join("_"), "key")?;
        self.all.push(Constraint::Unique(name, columns));
        Ok(())
    }

    fn check(&mut self, name: Option<String>, check: &Said, column: Option<&str>) -> Result<()> {
        let known = self.columns.clone();
        let find = |name: &str| known.iter().find(|(n, _)| n == name).map(|(_, ty)| *ty);
        let condition = checks::condition(self.view, self.source, check, &find)?;
        let used = checks::columns_of(&condition);
        let one = match (column, &used[..]) {
            (Some(column), _) => column.to_string(),
            (None, [one]) => one.clone(),
            _ => String::new(),
        };
        let name = self.name(name, &one, "check")?;
        self.all.push(Constraint::Check(name, condition));
        Ok(())
    }

    fn foreign(
        &mut self,
        name: Option<String>,
        key: &References,
        columns: Vec<String>,
    ) -> Result<()> {
        if key.matching == Some(Match::Full) && columns.len() > 1 {
            return Err(SqlError::unsupported("MATCH FULL of several columns"));
        }
        self.check_columns(&columns)?;
        let parent = strings(&key.table);
        let own = parent.last() == Some(&self.table.name)
            && parent.len().checked_sub(2).is_none_or(|i| parent[i] == self.table.schema);
        if let [.., schema, name] = &parent[..]
            && self.view.is_other_temporary(schema)
        {
            temporary::check_reference(self.table, &Name::new(schema, name))?;
        }
        let catalog = self.view.objects.made_types().catalog();
        let parent = match self.view.table(&parent) {
            Ok((_, table)) if self.view.objects.families().divided(table.schema().id).is_some() => {
                return Err(SqlError::unsupported(
                    "a foreign key that refers to a partitioned table",
                ));
            }
            Ok((name, table)) => {
                temporary::check_reference(self.table, &name)?;
                let schema = table.schema();
                self.must_refer(&schema, key)?;
                let types = Types::of(&self.view.objects, &schema);
                let places = keys::parents(&schema, key);
                keys::must_match(catalog, &self.columns, &columns, places.map(|at| types[at]))?;
                table.name()
            }
            Err(_) if own => {
                let parents =
                    key.columns.iter().filter_map(|name| keys::type_of(&self.columns, name));
                keys::must_match(catalog, &self.columns, &columns, parents)?;
                self.table.engine(&self.view.database)
            }
            Err(e) => return Err(e),
        };
        let name = self.name(name, &columns.join("_"), "fkey")?;
        let (deleted, updated) = (action(&key.on_delete)?, action(&key.on_update)?);
        let mut types = columns.iter().filter_map(|name| keys::type_of(&self.columns, name));
        let writes = deleted == Action::SetNull || updated != Action::Restrict;
        if writes && types.any(ColumnType::is_domain) {
            return Err(domain_written());
        }
        let mut spec =
            ForeignKeySpec::new(name, columns, parent).on_delete(deleted).on_update(updated);
        if !key.columns.is_empty() {
            spec = spec.parent_columns(strings(&key.columns));
        }
        self.all.push(Constraint::Foreign(spec));
        Ok(())
    }
}

impl Collector<'_> {
    /// Fails unless the role may refer to the parent's columns: those that are named, or its primary key.
    fn must_refer(&self, parent: &TableSchema, key: &References) -> Result<()> {
        let places = keys::parents(parent, key);
        self.view.must(&[of_table(Act::Refer, parent, numbers(parent, places))])
    }
}

/// Constraints are judged with each statement.
fn deferred(judged: Judged) -> Result<()> {
    match judged.deferrable == Some(true) || judged.deferred == Some(true) {
        true => Err(SqlError::unsupported("a deferrable constraint")),
        false => Ok(()),
    }
}

fn action(action: &KeyAction) -> Result<Action> {
    match action {
        // Judged with the statement either way, for no constraint is deferred.
        KeyAction::Nothing | KeyAction::Restrict => Ok(Action::Restrict),
        KeyAction::Cascade => Ok(Action::Cascade),
        KeyAction::SetNull(columns) if columns.is_empty() => Ok(Action::SetNull),
        KeyAction::SetNull(_) => Err(SqlError::unsupported("SET NULL of some columns")),
        KeyAction::SetDefault(_) => Err(SqlError::unsupported("SET DEFAULT of a foreign key")),
    }
}

/// The engine writes values of foreign keys, and knows nothing of conditions.
pub fn domain_written() -> SqlError {
    SqlError::unsupported("a foreign key that changes values of a domain")
}
