//! Which steps does an action of ALTER TABLE take?

use datafusion::sql::sqlparser::ast::{AlterTableOperation, Statement, TableConstraint};
use onlap::{IndexSpec, Table, TableChanges, TableSchema};

use super::steps::Step;
use crate::catalog::names::fold;
use crate::catalog::{Name, oids};
use crate::ddl::change::notice;
use crate::ddl::constraints::{Collector, Constraint};
use crate::ddl::{naming, view as views};
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::session::Session;
use crate::view::{Relation as Found, View};
use crate::wire::Client;
use crate::words::Words;

/// Collects the steps of actions.
pub struct Actions<'a> {
    pub(super) view: &'a View,
    pub(super) name: &'a Name,
    pub(super) table: &'a Table,
    pub(super) schema: std::sync::Arc<TableSchema>,
    /// What is to be done.
    pub steps: Vec<Step>,
}

/// Actions that mean nothing here.
const IGNORED: &[&[&str]] = &[
    &["enable", "trigger"],
    &["disable", "trigger"],
    &["enable", "replica"],
    &["enable", "always"],
    &["disable", "rule"],
    &["disable", "row"],
    &["no", "force"],
    &["cluster", "on"],
    &["set", "without"],
    &["set", "logged"],
    &["set", "unlogged"],
    &["set", "tablespace"],
    &["set", "access"],
    &["replica", "identity"],
    &["validate", "constraint"],
    &["not", "of"],
];

impl<'a> Actions<'a> {
    /// None yet.
    pub fn new(view: &'a View, name: &'a Name, table: &'a Table) -> Actions<'a> {
        Actions { view, name, table, schema: table.schema(), steps: Vec::new() }
    }

    /// Adds the steps of one action.
    ///
    /// # Errors
    /// What is wrong with it; `0A000`.
    pub fn read(
        &mut self,
        session: &mut Session,
        text: &str,
        client: &mut dyn Client,
    ) -> Result<()> {
        let mut words = Words::of(text)?;
        if IGNORED.iter().any(|ignored| words.begins(ignored)) {
            return Ok(());
        }
        match words.one_of(&["rename", "set", "reset", "owner", "add", "drop", "alter"]) {
            Some("rename") => self.rename(&mut words),
            Some("set") if words.accept(&["schema"]) => self.set_schema(&mut words),
            Some("set" | "reset") => {
                words.parenthesized()?;
                words.end()
            }
            Some("owner") => {
                words.expect(&["to"])?;
                let role = words.ident()?;
                session.give_relation(self.view, self.name, naming::Relation::Table, &role)
            }
            Some("add") => self.add(&mut words, text, client),
            Some("drop") => self.drop(&mut words, client),
            Some(_) => self.alter_column(&mut words, text),
            None => {
                let first: Vec<&str> = text.split_whitespace().take(2).collect();
                Err(SqlError::unsupported(format!(
                    "ALTER TABLE … {}",
                    first.join(" ").to_uppercase()
                )))
            }
        }
    }

    fn change(&mut self, changes: TableChanges) {
        self.steps.push(Step::Changes(changes));
    }

    fn rename(&mut self, words: &mut Words<'_>) -> Result<()> {
        if words.accept(&["to"]) {
            let to = Name::new(&self.name.schema, words.ident()?);
            words.end()?;
            self.view.must_create_in(&to.schema)?;
            return self.move_to(&to);
        }
        if words.accept(&["constraint"]) {
            let from = words.ident()?;
            words.expect(&["to"])?;
            let to = words.ident()?;
            let changes = TableChanges::new();
            let is_index = self.schema.index_by_name(&from).is_some();
            self.change(match is_index {
                true => {
                    naming::check_free(self.view, &Name::new(&self.name.schema, &to))?;
                    changes.rename_index(&from, &to)
                }
                false if self.has_rule(&from) => changes.rename_constraint(&from, &to),
                false => return Err(self.no_constraint(&from)),
            });
            return words.end();
        }
        words.accept(&["column"]);
        let from = words.ident()?;
        words.expect(&["to"])?;
        let to = words.ident()?;
        self.position(&from)?;
        if self.schema.position_by_name(&to).is_some() {
            let table = &self.name.name;
            let text = format!("column \"{to}\" of relation \"{table}\" already exists");
            return Err(SqlError::new("42701", text));
        }
        self.change(TableChanges::new().rename_column(&from, &to));
        words.end()
    }

    fn set_schema(&mut self, words: &mut Words<'_>) -> Result<()> {
        let schema = words.ident()?;
        words.end()?;
        if !self.view.has_schema(&schema) {
            return Err(crate::view::no_schema(&schema));
        }
        self.view.must_create_in(&schema)?;
        if schema == self.name.schema {
            return Ok(());
        }
        // Its indexes go along.
        let indexes = self.schema.indexes.iter().map(|index| &index.name);
        for name in std::iter::once(&self.name.name).chain(indexes) {
            if naming::claim(self.view, &Name::new(&schema, name))?.is_some() {
                let text = format!("relation \"{name}\" already exists in schema \"{schema}\"");
                return Err(SqlError::new(state::DUPLICATE_TABLE, text));
            }
        }
        self.move_to(&Name::new(schema, &self.name.name))
    }

    fn move_to(&mut self, to: &Name) -> Result<()> {
        naming::check_free(self.view, to)?;
        let engine = to.engine(&self.view.database);
        self.change(TableChanges::new().rename(&engine));
        self.steps.push(Step::Renamed(engine));
        Ok(())
    }

    pub(super) fn position(&self, column: &str) -> Result<usize> {
        self.schema.position_by_name(column).ok_or_else(|| {
            let table = &self.name.name;
            let text = format!("column \"{column}\" of relation \"{table}\" does not exist");
            SqlError::new(state::NO_COLUMN, text)
        })
    }

    fn has_rule(&self, name: &str) -> bool {
        self.schema.checks.iter().any(|c| c.name == name)
            || self.schema.foreign_keys.iter().any(|k| k.name == name)
    }

    fn no_constraint(&self, name: &str) -> SqlError {
        let table = &self.name.name;
        let text = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
        SqlError::new(state::NO_OBJECT, text)
    }

    fn add(&mut self, words: &mut Words<'_>, text: &str, client: &mut dyn Client) -> Result<()> {
        let table_words = ["constraint", "primary", "unique", "check", "foreign", "exclude"];
        if table_words.iter().any(|w| words.begins(&[w])) {
            let (constraint, not_valid) = parse_constraint(text)?;
            if not_valid {
                return Err(SqlError::unsupported("a constraint that is NOT VALID"));
            }
            return self.add_constraint(&constraint);
        }
        self.add_column(text, client)
    }

    fn add_constraint(&mut self, constraint: &TableConstraint) -> Result<()> {
        let (using, primary) = match constraint {
            TableConstraint::PrimaryKeyUsingIndex(using) => (using, true),
            TableConstraint::UniqueUsingIndex(using) => (using, false),
            _ => {
                let mut collector = Collector::of_table(self.view, self.name, &self.schema);
                collector.constraint(constraint)?;
                let all = std::mem::take(&mut collector.all);
                return all.into_iter().try_for_each(|c| self.add_built(c));
            }
        };
        let index = fold(&using.index_name);
        let found = self.schema.index_by_name(&index);
        if !found.ok_or_else(|| self.no_index(&index))?.unique {
            let text = format!("\"{index}\" is not a unique index");
            return Err(SqlError::new("42809", text));
        }
        let mut changes = TableChanges::new();
        let name = using.name.as_ref().map_or(index.clone(), fold);
        if name != index {
            changes = changes.rename_index(&index, &name);
        }
        if primary {
            self.check_no_primary()?;
            self.change(changes.make_primary(&name));
        } else {
            self.change(changes);
            self.steps.push(Step::NoteUnique(name));
        }
        Ok(())
    }

    fn no_index(&self, index: &str) -> SqlError {
        SqlError::new(state::NO_OBJECT, format!("index \"{index}\" does not exist"))
    }

    fn check_no_primary(&self) -> Result<()> {
        match self.schema.primary() {
            Some(_) => {
                let table = &self.name.name;
                let text = format!("multiple primary keys for table \"{table}\" are not allowed");
                Err(SqlError::new("42P16", text))
            }
            None => Ok(()),
        }
    }

    /// A constraint that was named and checked.
    pub(super) fn add_built(&mut self, constraint: Constraint) -> Result<()> {
        match constraint {
            Constraint::Primary(name, columns) => {
                self.view.must_create_in(&self.name.schema)?;
                self.check_no_primary()?;
                let spec = IndexSpec::new(&name, columns).unique();
                self.steps.push(Step::AddIndex(name.clone(), spec, false));
                self.change(TableChanges::new().make_primary(&name));
            }
            Constraint::Unique(name, columns) => {
                self.view.must_create_in(&self.name.schema)?;
                let spec = IndexSpec::new(&name, columns).unique();
                self.steps.push(Step::AddIndex(name, spec, true));
            }
            Constraint::Check(name, condition) => self.steps.push(Step::AddCheck(name, condition)),
            Constraint::Foreign(key) => self.steps.push(Step::AddForeign(key)),
        }
        Ok(())
    }

    fn drop(&mut self, words: &mut Words<'_>, client: &mut dyn Client) -> Result<()> {
        let constraint = words.accept(&["constraint"]);
        if !constraint {
            words.accept(&["column"]);
        }
        let skip = words.accept(&["if", "exists"]);
        let name = words.ident()?;
        let cascade = words.accept(&["cascade"]);
        words.accept(&["restrict"]);
        words.end()?;
        let done = match constraint {
            true => self.drop_constraint(&name),
            false => self.drop_column(&name, cascade),
        };
        match done {
            Err(e) if skip && matches!(e.state(), state::NO_COLUMN | state::NO_OBJECT) => {
                notice(client, "00000", format!("{}, skipping", e.message()));
                Ok(())
            }
            done => done,
        }
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        if self.has_rule(name) {
            self.steps.push(Step::DropConstraint(name.to_string()));
            return Ok(());
        }
        let index = self.schema.index_by_name(name).filter(|i| i.unique);
        let index = index.ok_or_else(|| self.no_constraint(name))?;
        if index.primary {
            self.change(TableChanges::new().make_secondary(name));
        }
        self.steps.push(Step::DropIndex(name.to_string()));
        Ok(())
    }

    fn drop_column(&mut self, name: &str, cascade: bool) -> Result<()> {
        let at = self.position(name)?;
        let id = self.schema.columns[at].id;
        let mut changes = TableChanges::new();
        // As in PostgreSQL, indexes and constraints of the column alone go with it.
        let primary = self.schema.primary().filter(|p| p.key.iter().any(|k| k.column == id));
        if let Some(primary) = primary {
            changes = changes.make_secondary(&primary.name);
        }
        let referred = self.view.tables()?.into_iter().any(|(_, other)| {
            let own: Vec<_> = self
                .schema
                .indexes
                .iter()
                .filter(|i| i.key.iter().any(|k| k.column == id))
                .map(|i| i.id)
                .collect();
            other.schema().foreign_keys.iter().any(|k| own.contains(&k.parent_index))
        });
        let number = id.0 + 1;
        let readers = views::users_of_column(self.view, oids::of_table(self.schema.id), number);
        if (referred || !readers.is_empty()) && !cascade {
            // As PostgreSQL has it: with the schema where the name alone would not find it.
            let alone = self.view.find(std::slice::from_ref(&self.name.name))?;
            let table = match alone {
                Some(Found::Table(name, _)) if name == *self.name => self.name.name.clone(),
                _ => self.name.to_string(),
            };
            let text = format!(
                "cannot drop column {name} of table {table} because other objects depend on it"
            );
            return Err(SqlError::new(state::IN_USE, text)
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        self.steps.extend(readers.into_iter().map(Step::DropView));
        self.change(changes.drop_column_cascade(name));
        Ok(())
    }
}

/// One operation as sqlparser has it.
pub fn operation(text: &str) -> Result<AlterTableOperation> {
    match parse::by_parser(&format!("ALTER TABLE t {text}"))?.into_inner() {
        Statement::AlterTable(mut alter) if alter.operations.len() == 1 => {
            Ok(alter.operations.remove(0))
        }
        _ => Err(SqlError::new(state::SYNTAX, format!("syntax error in \"{text}\""))),
    }
}

fn parse_constraint(text: &str) -> Result<(TableConstraint, bool)> {
    match operation(text)? {
        AlterTableOperation::AddConstraint { constraint, not_valid } => Ok((constraint, not_valid)),
        other => Err(SqlError::unsupported(format!("ALTER TABLE … {other}"))),
    }
}
