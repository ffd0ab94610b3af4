//! Which steps does an action of ALTER TABLE take?

use std::sync::Arc;

use onlap::{ColumnId, IndexId, IndexSchema, Table, TableChanges, TableSchema, Time};
use onlap_pg::ast::{self, TableChange, TableRule};
use onlap_pg::bind::is_system_column;
use onlap_pg::print::Look;

use super::steps::Step;
use crate::catalog::names::TEMPORARY;
use crate::catalog::storage::Storage;
use crate::catalog::{Name, oids};
use crate::columns::Types;
use crate::ddl::cascade::{Closure, Object};
use crate::ddl::change::notice;
use crate::ddl::columns::{Declared, must_be_free};
use crate::ddl::constraints::{Collector, Constraint, Key, time_of};
use crate::ddl::{naming, policy, rule, storage, temporary, trigger};
use crate::error::{Result, SqlError, state};
use crate::formulas;
use crate::query::sql_error;
use crate::session::Session;
use crate::source::{Source, role_word};
use crate::system::classes::is_constraint;
use crate::view::View;
use crate::wire::Client;

/// Collects the steps of actions.
pub struct Actions<'a> {
    pub(super) view: &'a View,
    pub(super) source: Source<'a>,
    pub(super) name: &'a Name,
    pub(super) table: &'a Table,
    pub(super) schema: Arc<TableSchema>,
    /// What its columns are to PostgreSQL.
    pub(super) types: Types,
    /// Columns that come, whose constraints are still to be read.
    pub(super) new: Vec<Declared<'a>>,
    /// Columns that go.
    gone: Vec<ColumnId>,
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
        let (new, gone, steps) = (Vec::new(), Vec::new(), Vec::new());
        Actions { view, source, name, table, schema, types, new, gone, steps }
    }

    /// Adds the steps of one action.
    ///
    /// # Errors
    /// What is wrong with it; `0A000`.
    pub fn read(
        &mut self,
        session: &mut Session,
        change: &'a TableChange,
        client: &mut dyn Client,
    ) -> Result<()> {
        match change {
            TableChange::AddColumn(skip, column) => self.add_column(column, *skip, client),
            TableChange::AddConstraint(constraint) => self.add_constraint(constraint, client),
            TableChange::Column(name, change) => self.alter_column(name, change, client),
            TableChange::DropColumn(skip, name, cascade) => {
                let done = self.drop_column(name, *cascade, client);
                skipping(done, *skip, client)
            }
            TableChange::DropConstraint(skip, name, cascade) => {
                let done = self.drop_constraint(name, *cascade, client);
                skipping(done, *skip, client)
            }
            TableChange::AlterConstraint(name, judged) => self.alter_constraint(name, *judged),
            TableChange::Validate(name) => {
                if !self.has_rule(name) {
                    return Err(self.no_such_rule(name, "a foreign key or check constraint"));
                }
                self.steps.push(Step::Validate(name.to_string()));
                Ok(())
            }
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
                Err(self.never_logged())
            }
            TableChange::Rule(name, to) => {
                rule::set_state(session, self.view, self.name, (name, *to))
            }
            TableChange::Trigger(name, to) => {
                trigger::set_state(session, self.view, self.name, (name.as_deref(), *to))
            }
            TableChange::RowSecurity(to) => {
                policy::set_security(session, self.view, self.name, *to)
            }
            TableChange::Settings(settings, reset) => {
                let of = (oids::of_table(self.schema.id), self.of_storage());
                storage::change(session, self.view, of, (settings, *reset))
            }
            TableChange::Storage(_) => Ok(()),
            TableChange::Inherit(_)
            | TableChange::NoInherit(_)
            | TableChange::Attach(..)
            | TableChange::Detach(..) => {
                Err(SqlError::defect("changes of what stands above come another way"))
            }
            TableChange::Visible(_) => {
                Err(SqlError::new(state::SYNTAX, "a table is always visible"))
            }
            TableChange::Other(words) => {
                Err(SqlError::unsupported(format!("ALTER TABLE … {words}")))
            }
        }
    }

    fn never_logged(&self) -> SqlError {
        let table = &self.name.name;
        let text =
            format!("cannot change logged status of table \"{table}\" because it is temporary");
        SqlError::new(state::BAD_DEFINITION, text)
    }

    fn of_storage(&self) -> storage::Of {
        match self.view.objects.families().divided(self.schema.id) {
            Some(_) => storage::Of::Divided,
            None => storage::Of::Table,
        }
    }

    fn change(&mut self, changes: TableChanges) {
        self.steps.push(Step::Changes(changes));
    }

    fn rename_constraint(&mut self, from: &str, to: &str) -> Result<()> {
        let changes = TableChanges::new();
        // An index that is no constraint may have the name of one.
        let is_index = self.schema.index_by_name(from).is_some_and(|index| index.is_rule());
        self.change(match is_index {
            true => {
                naming::check_free(self.view, &Name::new(&self.name.schema, to))?;
                changes.rename_index(from, to)
            }
            false if self.has_rule(from) => changes.rename_constraint(from, to),
            false => {
                let table = &self.name.name;
                let text = format!("constraint \"{from}\" for table \"{table}\" does not exist");
                return Err(SqlError::new(state::NO_OBJECT, text));
            }
        });
        Ok(())
    }

    fn rename_column(&mut self, from: &str, to: &str) -> Result<()> {
        let at = self.position_to("rename", from)?;
        must_be_free(to)?;
        if self.schema.position_by_name(to).is_some() {
            let table = &self.name.name;
            let text = format!("column \"{to}\" of relation \"{table}\" already exists");
            return Err(SqlError::new("42701", text));
        }
        let mut changes = TableChanges::new().rename_column(from, to);
        let catalog = formulas::catalog_of(self.view);
        let id = self.schema.columns[at].id;
        for derived in self.schema.derived.iter().filter(|d| d.reads.contains(&id)) {
            let program = formulas::program_of(derived).map_err(|e| sql_error(&e, ""))?;
            let now = |of: u32| match of == id.0 {
                true => Some(to.to_string()),
                false => {
                    let column = self.schema.columns.iter().find(|c| c.id.0 == of);
                    column.map(|column| column.name.clone())
                }
            };
            let name = program
                .element(&now, Look::PRETTY, formulas::Shown::to_all(&catalog))
                .map_err(|e| sql_error(&e, ""))?;
            changes = changes.rename_derived(derived.column.id, name);
        }
        self.change(changes);
        for trigger in trigger::renamed(self.view, &self.schema, id, (from, to))? {
            self.steps.push(Step::PutTrigger(trigger));
        }
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
        self.position_to("alter", column)
    }

    /// The same, where something else is to be done to it.
    fn position_to(&self, what: &str, column: &str) -> Result<usize> {
        self.schema.position_by_name(column).ok_or_else(|| {
            if is_system_column(column) {
                let text = format!("cannot {what} system column \"{column}\"");
                return SqlError::new(state::UNSUPPORTED, text);
            }
            self.no_column(column)
        })
    }

    fn no_column(&self, column: &str) -> SqlError {
        let table = &self.name.name;
        let text = format!("column \"{column}\" of relation \"{table}\" does not exist");
        SqlError::new(state::NO_COLUMN, text)
    }

    fn has_rule(&self, name: &str) -> bool {
        self.schema.checks.iter().any(|c| c.name == name)
            || self.schema.foreign_keys.iter().any(|k| k.name == name)
    }

    /// Whether a check, a foreign key or a unique index has this name.
    fn is_constraint(&self, name: &str) -> bool {
        self.has_rule(name) || self.schema.index_by_name(name).is_some_and(|index| index.is_rule())
    }

    fn no_constraint(&self, name: &str) -> SqlError {
        let table = &self.name.name;
        let text = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
        SqlError::new(state::NO_OBJECT, text)
    }

    /// A constraint that is none, or one of another kind than is wanted.
    fn no_such_rule(&self, name: &str, wanted: &str) -> SqlError {
        if !self.is_constraint(name) {
            return self.no_constraint(name);
        }
        let table = &self.name.name;
        let text = format!("constraint \"{name}\" of relation \"{table}\" is not {wanted}");
        SqlError::new("42809", text)
    }

    /// ALTER CONSTRAINT.
    fn alter_constraint(&mut self, name: &str, judged: ast::Judged) -> Result<()> {
        if !self.schema.foreign_keys.iter().any(|key| key.name == name) {
            return Err(self.no_such_rule(name, "a foreign key constraint"));
        }
        self.steps.push(Step::SetTime(name.to_string(), time_of(judged)));
        Ok(())
    }

    fn add_constraint(
        &mut self,
        constraint: &ast::Constraint,
        client: &mut dyn Client,
    ) -> Result<()> {
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
        let name = constraint.name.as_deref().unwrap_or(index);
        self.use_index(index, name, primary, time_of(constraint.judged), client)
    }

    /// A unique index becomes a constraint.
    fn use_index(
        &mut self,
        index: &str,
        name: &str,
        primary: bool,
        time: Time,
        client: &mut dyn Client,
    ) -> Result<()> {
        let found = self.schema.index_by_name(index).ok_or_else(|| self.no_index(index))?;
        if !found.is_unique() && found.excludes().is_none() {
            let text = format!("\"{index}\" is not a unique index");
            return Err(SqlError::new("42809", text).detail(UNFIT));
        }
        if is_constraint(self.view, found) {
            let text = format!("index \"{index}\" is already associated with a constraint");
            return Err(SqlError::new("55000", text));
        }
        if let Some(at) = found.key.iter().position(|part| part.descending) {
            let text = format!(
                "index \"{index}\" column number {} does not have default sorting behavior",
                at + 1
            );
            return Err(SqlError::new("42809", text).detail(UNFIT));
        }
        if time != Time::Statement {
            return Err(SqlError::unsupported("a deferrable constraint USING INDEX")
                .hint("ADD CONSTRAINT … UNIQUE … DEFERRABLE makes an index of its own."));
        }
        if primary && Storage::hides(&self.view.objects, found.id) {
            return Err(SqlError::unsupported("a primary key USING an invisible index")
                .hint("ALTER INDEX … VISIBLE comes first."));
        }
        if primary && found.judged.is_some() {
            return Err(SqlError::unsupported("a primary key USING INDEX with NULLS NOT DISTINCT"));
        }
        let found = self.schema.index_by_name(index);
        let is_derived = |id| self.schema.derived(id).is_some();
        let refused = match found {
            Some(i) if i.key.iter().any(|part| is_derived(part.column)) => {
                Some(format!("index \"{index}\" contains expressions"))
            }
            Some(i) if i.filter.is_some() => Some(format!("\"{index}\" is a partial index")),
            _ => None,
        };
        if let Some(text) = refused {
            let detail = "Cannot create a primary key or unique constraint using such an index.";
            return Err(SqlError::new("42809", text).detail(detail));
        }
        let mut changes = TableChanges::new();
        if name != index {
            naming::check_free(self.view, &Name::new(&self.name.schema, name))?;
            let text = format!(
                "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{index}\" to \"{name}\""
            );
            notice(client, "00000", text);
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
        let is_there = self.schema.indexes.iter().any(IndexSchema::is_primary);
        let mut steps = self.steps.iter();
        if is_there || steps.any(|step| matches!(step, Step::AddIndex(_, _, false))) {
            let table = &self.name.name;
            let text = format!("multiple primary keys for table \"{table}\" are not allowed");
            return Err(SqlError::new(state::BAD_DEFINITION, text));
        }
        Ok(())
    }

    /// A constraint that was named and checked.
    pub(super) fn add_built(&mut self, constraint: Constraint) -> Result<()> {
        match constraint {
            Constraint::Primary(key) => {
                self.view.must_create_in(&self.name.schema)?;
                self.check_no_primary()?;
                let spec = key.index(true);
                self.steps.push(Step::AddIndex(key.name.clone(), spec, false));
                self.note_storage(&key);
                self.change(match key.is_judged() {
                    true => {
                        let none = TableChanges::new();
                        key.columns.iter().fold(none, |changes, name| changes.set_not_null(name))
                    }
                    false => TableChanges::new().make_primary(&key.name),
                });
            }
            Constraint::Unique(key) => {
                self.view.must_create_in(&self.name.schema)?;
                let spec = key.index(false);
                self.steps.push(Step::AddIndex(key.name.clone(), spec, true));
                self.note_storage(&key);
            }
            Constraint::Check(check) => self.steps.push(Step::AddCheck(check)),
            Constraint::Foreign(key) => self.steps.push(Step::AddForeign(key)),
            Constraint::Exclude(of) => {
                self.view.must_create_in(&self.name.schema)?;
                self.steps.push(Step::AddIndex(of.name.clone(), of.spec.named(&of.name), true));
                self.steps.push(Step::NoteStorage(of.name, of.storage));
            }
        }
        Ok(())
    }

    fn note_storage(&mut self, key: &Key) {
        let storage = key.storage();
        if storage.body().is_some() {
            self.steps.push(Step::NoteStorage(key.name.clone(), storage));
        }
    }

    fn drop_constraint(
        &mut self,
        name: &str,
        cascade: bool,
        client: &mut dyn Client,
    ) -> Result<()> {
        if self.has_rule(name) {
            let again = |step: &Step| matches!(step, Step::Again(of) if of.name == name);
            match self.steps.iter().position(again) {
                // It has been dropped for a column's other type.
                Some(at) => drop(self.steps.remove(at)),
                None => {
                    self.must_free_parent(name)?;
                    self.steps.push(Step::DropConstraint(name.to_string()));
                }
            }
            return Ok(());
        }
        let index = self.schema.index_by_name(name).filter(|i| i.is_rule());
        let index = index.ok_or_else(|| self.no_constraint(name))?;
        let (index, primary) = (index.id, index.primary);
        self.drop_references(name, index, cascade, client)?;
        if primary {
            self.change(TableChanges::new().make_secondary(name));
        }
        self.steps.push(Step::DropIndex(name.to_string()));
        Ok(())
    }

    /// Fails where something is to be judged for rows of the table that a foreign key refers to.
    fn must_free_parent(&self, name: &str) -> Result<()> {
        let key = self.schema.foreign_keys.iter().find(|key| key.name == name);
        let Some(key) = key.filter(|key| key.parent != self.schema.id) else { return Ok(()) };
        let tables = self.view.scope.tx()?.tables();
        let parent = tables.iter().find(|table| table.schema().id == key.parent);
        match parent {
            Some(parent) => super::super::index::must_be_unused(self.view, parent, "ALTER TABLE"),
            None => Ok(()),
        }
    }

    /// Foreign keys that refer to a key which goes.
    fn drop_references(
        &mut self,
        name: &str,
        index: IndexId,
        cascade: bool,
        client: &mut dyn Client,
    ) -> Result<()> {
        let mut refers = Vec::new();
        let mut tables = self.view.tables()?;
        // In the order in which they were made.
        tables.sort_by_key(|(_, table)| table.schema().id);
        for (child, of) in tables {
            let schema = of.schema();
            let keys = schema.foreign_keys.iter().filter(|key| key.parent_index == index);
            let keys = keys.map(|key| (child.name.clone(), of.name(), key.name.clone()));
            refers.extend(keys);
        }
        if !cascade && !refers.is_empty() {
            let table = &self.name.name;
            let text = format!(
                "cannot drop constraint {name} on table {table} because other objects depend on it"
            );
            let line = |(child, _, key): &(String, String, String)| {
                format!("constraint {key} on table {child} depends on index {name}")
            };
            let detail: Vec<String> = refers.iter().map(line).collect();
            return Err(SqlError::new(state::IN_USE, text)
                .detail(detail.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        if let [(child, _, key)] = &refers[..] {
            notice(client, "00000", format!("drop cascades to constraint {key} on table {child}"));
        } else if !refers.is_empty() {
            notice(client, "00000", format!("drop cascades to {} other objects", refers.len()));
        }
        let drops = refers.into_iter().map(|(_, of, key)| Step::DropConstraintOf(of, key));
        self.steps.extend(drops);
        Ok(())
    }

    fn drop_column(&mut self, name: &str, cascade: bool, client: &mut dyn Client) -> Result<()> {
        let at = self.position_to("drop", name)?;
        let (table, id) = (self.schema.id, self.schema.columns[at].id);
        if self.gone.contains(&id) {
            return Err(self.no_column(name));
        }
        let closure = Closure::of(self.view, vec![Object::Column(table, id)])?;
        closure.tell(cascade, client)?;
        let mut others = closure.others();
        let mut columns = vec![id];
        others.retain(|object| match object {
            Object::Column(of, generated) if *of == table => {
                columns.push(*generated);
                false
            }
            _ => true,
        });
        if !others.is_empty() {
            self.steps.push(Step::Drop(others));
        }
        for id in columns.into_iter().rev() {
            let mut changes = TableChanges::new();
            // As in PostgreSQL, indexes and constraints of the column alone go with it.
            let primary = self.schema.primary().filter(|p| p.key.iter().any(|k| k.column == id));
            if let Some(primary) = primary {
                changes = changes.make_secondary(&primary.name);
            }
            self.gone.push(id);
            if let Some(at) = self.schema.position(id) {
                let name = self.schema.columns[at].name.clone();
                self.change(changes.drop_column_cascade(&name));
            }
        }
        Ok(())
    }
}

const UNFIT: &str = "Cannot create a primary key or unique constraint using such an index.";

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
