//! Which steps does an action of ALTER TABLE take?

use onlap::{IndexSpec, Table, TableChanges, TableSchema};
use onlap_pg::ast::{self, TableChange, TableRule};

use super::steps::Step;
use crate::catalog::names::TEMPORARY;
use crate::catalog::{Name, oids};
use crate::columns::Types;
use crate::ddl::change::notice;
use crate::ddl::constraints::{Collector, Constraint};
use crate::ddl::{naming, rule, temporary, view as views};
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::source::{Source, role_word};
use crate::view::{Relation as Found, View};
use crate::wire::Client;

/// Collects the steps of actions.
pub struct Actions<'a> {
    pub(super) view: &'a View,
    pub(super) source: Source<'a>,
    pub(super) name: &'a Name,
    pub(super) table: &'a Table,
    pub(super) schema: std::sync::Arc<TableSchema>,
    /// What its columns are to PostgreSQL.
    pub(super) types: Types,
    /// What is to be done.
    pub steps: Vec<Step>,
}

impl<'a> Actions<'a> {
    /// None yet.
    pub fn new(
        view: &'a View,
        source: Source<'a>,
        name: &'a Name,
        table: &'a Table,
    ) -> Actions<'a> {
        let schema = table.schema();
        let types = Types::of(&view.objects, &schema);
        Actions { view, source, name, table, schema, types, steps: Vec::new() }
    }

    /// Adds the steps of one action.
    ///
    /// # Errors
    /// What is wrong with it; `0A000`.
    pub fn read(
        &mut self,
        session: &mut Session,
        change: &TableChange,
        client: &mut dyn Client,
    ) -> Result<()> {
        match change {
            TableChange::AddColumn(skip, column) => self.add_column(column, *skip, client),
            TableChange::AddConstraint(constraint) => {
                if constraint.judged.not_valid {
                    return Err(SqlError::unsupported("a constraint that is NOT VALID"));
                }
                self.add_constraint(constraint)
            }
            TableChange::Column(name, change) => self.alter_column(name, change),
            TableChange::DropColumn(skip, name, cascade) => {
                let done = self.drop_column(name, *cascade);
                skipping(done, *skip, client)
            }
            TableChange::DropConstraint(skip, name, _) => {
                let done = self.drop_constraint(name);
                skipping(done, *skip, client)
            }
            TableChange::AlterConstraint(..) => Err(SqlError::unsupported("ALTER CONSTRAINT")),
            TableChange::Validate(name) => match self.is_constraint(name) {
                true => Ok(()),
                false => Err(self.no_constraint(name)),
            },
            TableChange::Owner(role) => {
                let relation = naming::Relation::Table;
                session.give_relation(self.view, self.name, relation, role_word(role))
            }
            TableChange::Rename(to) => {
                let to = Name::new(&self.name.schema, &**to);
                self.view.must_create_in(&to.schema)?;
                self.move_to(&to)
            }
            TableChange::RenameColumn(from, to) => self.rename_column(from, to),
            TableChange::RenameConstraint(from, to) => self.rename_constraint(from, to),
            TableChange::Schema(schema) => self.set_schema(schema),
            TableChange::Storage(words)
                if self.name.is_temporary()
                    && matches!(&**words, "SET LOGGED" | "SET UNLOGGED") =>
            {
                let table = &self.name.name;
                let text = format!(
                    "cannot change logged status of table \"{table}\" because it is temporary"
                );
                Err(SqlError::new(state::BAD_DEFINITION, text))
            }
            TableChange::Rule(name, to) => {
                rule::set_state(session, self.view, self.name, (name, *to))
            }
            TableChange::Settings(_) | TableChange::Storage(_) => Ok(()),
            TableChange::Other(words) => {
                Err(SqlError::unsupported(format!("ALTER TABLE … {words}")))
            }
        }
    }

    fn change(&mut self, changes: TableChanges) {
        self.steps.push(Step::Changes(changes));
    }

    fn rename_constraint(&mut self, from: &str, to: &str) -> Result<()> {
        let changes = TableChanges::new();
        let is_index = self.schema.index_by_name(from).is_some();
        self.change(match is_index {
            true => {
                naming::check_free(self.view, &Name::new(&self.name.schema, to))?;
                changes.rename_index(from, to)
            }
            false if self.has_rule(from) => changes.rename_constraint(from, to),
            false => return Err(self.no_constraint(from)),
        });
        Ok(())
    }

    fn rename_column(&mut self, from: &str, to: &str) -> Result<()> {
        self.position(from)?;
        if self.schema.position_by_name(to).is_some() {
            let table = &self.name.name;
            let text = format!("column \"{to}\" of relation \"{table}\" already exists");
            return Err(SqlError::new("42701", text));
        }
        self.change(TableChanges::new().rename_column(from, to));
        Ok(())
    }

    fn set_schema(&mut self, schema: &str) -> Result<()> {
        if !self.view.has_schema(schema) && schema != TEMPORARY {
            return Err(crate::view::no_schema(schema));
        }
        temporary::check_move(&self.name.schema, schema)?;
        self.view.must_create_in(schema)?;
        if schema == self.name.schema {
            return Ok(());
        }
        // Its indexes go along.
        let indexes = self.schema.indexes.iter().map(|index| &index.name);
        for name in std::iter::once(&self.name.name).chain(indexes) {
            if naming::claim(self.view, &Name::new(schema, name))?.is_some() {
                let text = format!("relation \"{name}\" already exists in schema \"{schema}\"");
                return Err(SqlError::new(state::DUPLICATE_TABLE, text));
            }
        }
        self.move_to(&Name::new(schema, &self.name.name))
    }

    fn move_to(&mut self, to: &Name) -> Result<()> {
        naming::check_free(self.view, to)?;
        naming::check_no_type(self.view, to)?;
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

    /// Whether a check, a foreign key or a unique index has this name.
    fn is_constraint(&self, name: &str) -> bool {
        self.has_rule(name) || self.schema.index_by_name(name).is_some_and(|index| index.unique)
    }

    fn no_constraint(&self, name: &str) -> SqlError {
        let table = &self.name.name;
        let text = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
        SqlError::new(state::NO_OBJECT, text)
    }

    fn add_constraint(&mut self, constraint: &ast::Constraint) -> Result<()> {
        let (index, primary) = match &constraint.rule {
            TableRule::PrimaryIndex(index) => (&**index, true),
            TableRule::UniqueIndex(index) => (&**index, false),
            _ => {
                let mut collector =
                    Collector::of_table(self.view, self.source, self.name, &self.schema);
                collector.constraint(constraint)?;
                let all = std::mem::take(&mut collector.all);
                return all.into_iter().try_for_each(|c| self.add_built(c));
            }
        };
        let found = self.schema.index_by_name(index);
        if !found.ok_or_else(|| self.no_index(index))?.unique {
            let text = format!("\"{index}\" is not a unique index");
            return Err(SqlError::new("42809", text));
        }
        let mut changes = TableChanges::new();
        let name = constraint.name.as_deref().unwrap_or(index);
        if name != index {
            changes = changes.rename_index(index, name);
        }
        if primary {
            self.check_no_primary()?;
            self.change(changes.make_primary(name));
        } else {
            self.change(changes);
            self.steps.push(Step::NoteUnique(name.to_string()));
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
                Err(SqlError::new(state::BAD_DEFINITION, text))
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
        let rules = rule::users_of_column(self.view, oids::of_table(self.schema.id), number);
        if (referred || !readers.is_empty() || !rules.is_empty()) && !cascade {
            // As PostgreSQL has it: with the schema where the name alone would not find it.
            let alone = self.view.find(std::slice::from_ref(&self.name.name))?;
            let table = match alone {
                Some(Found::Table(name, _)) if name == *self.name => self.name.name.clone(),
                _ => self.name.to_string(),
            };
            let text = format!(
                "cannot drop column {name} of table {table} because other objects depend on it"
            );
            let error = SqlError::new(state::IN_USE, text)
                .hint("Use DROP ... CASCADE to drop the dependent objects too.");
            if referred || !readers.is_empty() {
                return Err(error);
            }
            let on = format!("column {name} of table {table}");
            return Err(error.detail(rule::dependents(self.view, &rules, &on)?));
        }
        self.steps.extend(readers.into_iter().map(Step::DropView));
        self.steps.extend(rules.iter().map(|rule| Step::DropRule(rule.key())));
        self.change(changes.drop_column_cascade(name));
        Ok(())
    }
}

/// An outcome, with a notice in the place of an error that IF EXISTS lets pass.
fn skipping(done: Result<()>, skip: bool, client: &mut dyn Client) -> Result<()> {
    match done {
        Err(e) if skip && matches!(e.state(), state::NO_COLUMN | state::NO_OBJECT) => {
            notice(client, "00000", format!("{}, skipping", e.message()));
            Ok(())
        }
        done => done,
    }
}
