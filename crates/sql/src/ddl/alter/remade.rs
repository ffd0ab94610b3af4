//! What is made again because a column has another type?
//!
//! Checks that read the column, foreign keys that have it at one of their ends, and indexes on expressions or with predicates
//! that read it are dropped before it changes. Their texts, as the catalogs show them, are statements that make them again
//! behind everything else: what does not hold, or is no expression any more, ends the statement as it would by itself. Thread
//! safety: runs in the session's thread.

use onlap::{ColumnId, ForeignKeySchema, IndexId, IndexSchema, Table};
use onlap_pg::ast::{AlterTable, CreateIndex, Statement};
use onlap_pg::print::Look;

use super::actions::Actions;
use super::one;
use super::steps::Step;
use crate::catalog::names::quote;
use crate::catalog::storage::Storage;
use crate::catalog::{Kind, Name, oids};
use crate::ddl::index;
use crate::error::{Result, SqlError};
use crate::formulas::{self, Shown};
use crate::query::Printed;
use crate::session::Session;
use crate::session::lent::Told;
use crate::source::Source;
use crate::system::model::Model;
use crate::system::{text, views};
use crate::view::View;

/// A check, a foreign key or an index that was dropped.
pub struct Again {
    /// Another table that has it, by the engine's name.
    of: Option<String>,
    /// What it is called.
    pub name: String,
    /// The statement that makes it.
    sql: String,
    /// The index that it was, or was kept by: its comments go along.
    was: Option<IndexId>,
    /// Indexes come first, as in PostgreSQL.
    pub is_index: bool,
    /// No statement uses the index.
    invisible: bool,
}

impl Again {
    /// A constraint of the table, or of another.
    pub fn constraint(of: Option<String>, name: &str, sql: String) -> Again {
        Again { of, name: name.to_string(), sql, was: None, is_index: false, invisible: false }
    }
}

impl Actions<'_> {
    /// Steps before and after a column gets another type, for foreign keys that have it; those of its own alone where the
    /// column's keys stay what they are.
    pub(super) fn keys_again(
        &self,
        column: ColumnId,
        own_alone: bool,
    ) -> Result<(Vec<Step>, Vec<Step>)> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let own = &self.schema;
        let keyed = |index: &&IndexSchema| index.key.iter().any(|part| part.column == column);
        let keyed: Vec<_> = own.indexes.iter().filter(keyed).map(|index| index.id).collect();
        let model = Model::of(self.view)?;
        let mut tables = self.view.tables()?;
        // In the order in which they were made.
        tables.sort_by_key(|(_, table)| table.schema().id);
        for (name, table) in tables {
            let schema = table.schema();
            let of = (schema.id != own.id).then(|| table.name());
            let has = |key: &&ForeignKeySchema| {
                of.is_none() && key.columns.contains(&column)
                    || key.parent == own.id && !own_alone && keyed.contains(&key.parent_index)
            };
            for key in schema.foreign_keys.iter().filter(has) {
                let is_known = |step: &Step| matches!(step, Step::Again(a) if a.name == key.name && a.of == of);
                if self.steps.iter().any(is_known) {
                    continue;
                }
                let sql = format!(
                    "ALTER TABLE ONLY {}.{} ADD CONSTRAINT {} {}",
                    quote(&name.schema),
                    quote(&name.name),
                    quote(&key.name),
                    text::foreign_key(&model, &schema, key)
                );
                before.push(match &of {
                    Some(of) => Step::DropConstraintOf(of.clone(), key.name.clone()),
                    None => Step::DropConstraint(key.name.clone()),
                });
                after.push(Step::Again(Again::constraint(of.clone(), &key.name, sql)));
            }
        }
        Ok((before, after))
    }

    /// The same for checks and indexes that read the column.
    pub(super) fn made_again(&self, column: ColumnId) -> Result<(Vec<Step>, Vec<Step>)> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let checks = self.schema.checks.iter().filter(|c| c.expr.columns().contains(&column));
        let derived: Vec<ColumnId> = self
            .schema
            .derived
            .iter()
            .filter(|d| d.reads.contains(&column))
            .map(|d| d.column.id)
            .collect();
        let calculates = |index: &&IndexSchema| {
            // The operators of an exclusion constraint are those of the type.
            let excludes = index.excludes().is_some();
            let has = |of: ColumnId| derived.contains(&of) || excludes && of == column;
            index.key.iter().any(|part| has(part.column))
                || index.filter.is_some_and(|id| derived.contains(&id))
        };
        let indexes = self.schema.indexes.iter().filter(calculates);
        let is_known = |name: &str| {
            self.steps.iter().any(|step| matches!(step, Step::Again(again) if again.name == name && again.of.is_none()))
        };
        let model = Model::of(self.view)?;
        let printed = Printed::new(self.view, &model);
        for check in checks.filter(|check| !is_known(&check.name)) {
            let condition = printed.condition(&self.schema, &check.expr, Look::PLAIN);
            let own = if check.own { " NO INHERIT" } else { "" };
            let unproven = if check.unproven { " NOT VALID" } else { "" };
            let (schema, table) = (quote(&self.name.schema), quote(&self.name.name));
            let name = quote(&check.name);
            let sql = format!(
                "ALTER TABLE ONLY {schema}.{table} ADD CONSTRAINT {name} CHECK ({condition}){own}{unproven}"
            );
            before.push(Step::DropConstraint(check.name.clone()));
            after.push(Step::Again(Again::constraint(None, &check.name, sql)));
        }
        let catalog = formulas::catalog_of(self.view);
        for index in indexes.filter(|index| !is_known(&index.name)) {
            let oid = oids::of_index(index.id);
            let storage = Storage::of(&self.view.objects, oid);
            let on = views::qualified(&model, self.schema.id);
            let (look, shown) = ((Look::PLAIN, &storage), Shown::to_all(&catalog));
            if index.excludes().is_some() {
                let said = text::exclusion(&self.schema, index, look, shown);
                let name = quote(&index.name);
                let sql = format!("ALTER TABLE ONLY {on} ADD CONSTRAINT {name} {said}");
                before.push(Step::DropIndex(index.name.clone()));
                let again = Again::constraint(None, &index.name, sql);
                after.push(Step::Again(Again { was: Some(index.id), ..again }));
                continue;
            }
            let sql = text::index(&self.schema, index, &on, look, shown);
            before.push(Step::DropIndex(index.name.clone()));
            after.push(Step::Again(Again {
                of: None,
                name: index.name.clone(),
                sql,
                was: Some(index.id),
                is_index: true,
                invisible: storage.invisible,
            }));
        }
        Ok((before, after))
    }
}

/// Makes a constraint or an index again, of a table as it is now.
///
/// # Errors
/// What was written does not go with the new type; rows break it.
pub fn make(session: &mut Session, table: &str, again: &Again) -> Result<()> {
    session.catalog_changed()?;
    let view = session.view()?;
    // Who may change the table may have less rights where it is.
    let view = &View { judge: view.judge.of(oids::POSTGRES), ..view };
    let all = crate::parse::statements(&again.sql)?;
    let [parsed] = &all[..] else { return Err(broken()) };
    let source =
        Source { tree: &parsed.tree, text: &again.sql, written: &again.sql, depth: parsed.depth };
    let told = &mut Told::new(view);
    let table = again.of.as_deref().unwrap_or(table);
    match statement_of(source)? {
        Made::Constraint(alter) => {
            let found = view.scope.tx()?.table(table)?;
            let name = Name::of_engine(table).1;
            for change in &alter.actions {
                one(session, view, source, (&name, &found), change, told)?;
            }
        }
        Made::Index(create) => {
            let create = CreateIndex { invisible: again.invisible, ..create.clone() };
            index::create(session, view, source, &create, told)?;
        }
    }
    again.was.map_or(Ok(()), |was| move_comments(session, view, (table, &again.name), was))
}

enum Made<'a> {
    Constraint(&'a AlterTable),
    Index(&'a CreateIndex),
}

fn broken() -> SqlError {
    SqlError::defect("a definition is not what its text says")
}

fn statement_of(source: Source<'_>) -> Result<Made<'_>> {
    match source.tree.statements.first().map(|written| &written.statement) {
        Some(Statement::AlterTable(alter)) => Ok(Made::Constraint(alter)),
        Some(Statement::CreateIndex(create)) => Ok(Made::Index(create)),
        _ => Err(broken()),
    }
}

/// Comments on an index, and on the constraint that it keeps, become those of the one that was made.
fn move_comments(
    session: &mut Session,
    view: &View,
    (table, index): (&str, &str),
    was: IndexId,
) -> Result<()> {
    let found: Table = view.scope.tx()?.table(table)?;
    let Some(new) = found.schema().index_by_name(index).map(|index| index.id) else {
        return Ok(());
    };
    for oid in [oids::of_index, oids::of_index_constraint] {
        let before = format!("{}:0", oid(was));
        if let Some(object) = view.objects.get(Kind::Comment, &before) {
            session.put(Kind::Comment, &before, None)?;
            session.put(Kind::Comment, &format!("{}:0", oid(new)), Some(object.body.clone()))?;
        }
    }
    Ok(())
}
