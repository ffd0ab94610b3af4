//! Carries out the steps of an ALTER TABLE.

use onlap::{CheckSpec, ErrorKind, ForeignKeySpec, IndexSpec, Table, TableChanges, Time, convert};
use serde_json::Value as Json;

use super::remade::{self, Again};
use crate::catalog::storage::Storage;
use crate::catalog::triggers::Trigger;
use crate::catalog::{Kind, oids};
use crate::columns::ColumnType;
use crate::ddl::cascade::{self, Object};
use crate::ddl::change::of_waiting;
use crate::ddl::{defaults, sequence, storage};
use crate::error::{Result, SqlError};
use crate::rights::ask::table_key;
use crate::session::Session;
use crate::view::View;

/// Where the values come from that rows get in a new column.
pub enum Filled {
    /// The column's sequence.
    BySequence,
    /// An expression that gives each row another value, of the column's type.
    ByExpression(ColumnType, String),
}

/// One step.
pub enum Step {
    /// Changes of columns and names.
    Changes(TableChanges),
    /// A condition on rows.
    AddCheck(CheckSpec),
    /// A foreign key.
    AddForeign(ForeignKeySpec),
    /// Judges rows that were there before a check or foreign key.
    Validate(String),
    /// When a foreign key is judged.
    SetTime(String, Time),
    /// A unique index, which may be a constraint.
    AddIndex(String, IndexSpec, bool),
    /// A sequence that goes on when the column is there.
    AddSequence(onlap::SequenceSpec, String),
    /// Another description of a sequence that is there.
    ChangeSequence(String, Box<sequence::Options>),
    /// Gives each row that is there a value of a new column.
    Fill(String, Filled),
    /// A sequence belongs to a column.
    Own(String, String),
    /// Takes a check or foreign key away.
    DropConstraint(String),
    /// The same of another table.
    DropConstraintOf(String, String),
    /// Takes an index away.
    DropIndex(String),
    /// Notes something of a column, which may be new.
    Note(Kind, String, Option<Json>),
    /// A unique index becomes a constraint.
    NoteUnique(String),
    /// What was said of how an index is stored.
    NoteStorage(String, Storage),
    /// Drops what depends on a column which goes.
    Drop(Vec<Object>),
    /// Keeps a trigger whose condition says something else.
    PutTrigger(Trigger),
    /// Makes a constraint or an index again that was dropped for the time of the others.
    Again(Again),
    /// The table has another name: what follows finds it there.
    Renamed(String),
}

impl Step {
    fn is_note(&self) -> bool {
        matches!(
            self,
            Step::Note(..)
                | Step::NoteUnique(_)
                | Step::NoteStorage(..)
                | Step::Own(..)
                | Step::Renamed(_)
        )
    }
}

/// Carries out all steps; what was done is undone with the transaction where one fails.
///
/// # Errors
/// Those of the engine.
pub fn run(session: &mut Session, view: &View, table: Table, steps: Vec<Step>) -> Result<()> {
    let mut steps = steps;
    // Notes come last: they are written when everything else was done.
    steps.sort_by_key(Step::is_note);
    let mut steps = joined(steps);
    let before = table.schema();
    let mut name = table.name();
    if let Some(changes) = alone(session, &before, &steps)? {
        session.catalog_changes()?;
        {
            let mut tx = view.scope.tx()?;
            tx.release_names();
            tx.await_form(&table)?;
        }
        let changed = session.instance.db.alter_table(&table, changes);
        changed.map_err(|e| match e.kind() {
            ErrorKind::Conflict => of_waiting(view, &table, e),
            _ => SqlError::of_rows(e),
        })?;
        // What is noted now is of the table as it is.
        let block = session.current()?;
        block.scope.tx()?.begin_statement()?;
        steps.retain(Step::is_note);
    }
    session.catalog_changed()?;
    // What is made again finds all else as it will be.
    let is_again = |step: &Step| matches!(step, Step::Again(_));
    let (mut again, steps): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_again);
    again.sort_by_key(|step| !matches!(step, Step::Again(of) if of.is_index));
    let noted = steps.iter().filter_map(|step| match step {
        Step::Note(Kind::Default, column, _) => Some(column.clone()),
        _ => None,
    });
    let noted: Vec<String> = noted.collect();
    for step in steps {
        one(session, view, &mut name, step)?;
    }
    move_notes(session, view, (&before, &name), &noted)?;
    again.into_iter().try_for_each(|step| one(session, view, &mut name, step))
}

/// Changes that the engine makes better outside of a transaction, where the statement is one of its own:
/// other types, for which it writes values anew and not rows where these come of the column alone; and those of tables with
/// blind writes.
fn alone<'a>(
    session: &mut Session,
    table: &onlap::TableSchema,
    steps: &'a [Step],
) -> Result<Option<&'a TableChanges>> {
    if session.is_in_block() || session.current()?.changed {
        return Ok(None);
    }
    let mut changing = steps.iter().filter(|step| !step.is_note());
    Ok(match (changing.next(), changing.next()) {
        (Some(Step::Changes(changes)), None)
            if (changes.sets_types() && !changes.converts_rows() || table.blind)
                && !changes.generates() =>
        {
            Some(changes)
        }
        _ => None,
    })
}

/// Changes that follow each other are one step: the engine makes them together.
fn joined(steps: Vec<Step>) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        match (out.last_mut(), step) {
            (Some(Step::Changes(first)), Step::Changes(second)) => {
                *first = std::mem::take(first).and(second);
            }
            (_, step) => out.push(step),
        }
    }
    out
}

fn one(session: &mut Session, view: &View, name: &mut String, step: Step) -> Result<()> {
    let table = |name: &str| -> Result<Table> { Ok(view.scope.tx()?.table(name)?) };
    match step {
        Step::Changes(changes) => {
            let table = table(name)?;
            view.scope.tx()?.alter_table(&table, &changes).map_err(SqlError::of_rows)?;
        }
        Step::AddCheck(check) => {
            let table = table(name)?;
            view.scope.tx()?.add_check_spec(&table, &check).map_err(SqlError::of_rows)?;
        }
        Step::Validate(constraint) => {
            let table = table(name)?;
            let validated = view.scope.tx()?.validate_constraint(&table, &constraint);
            validated.map_err(SqlError::of_rows)?;
        }
        Step::SetTime(constraint, time) => {
            let table = table(name)?;
            view.scope.tx()?.set_constraint_time(&table, &constraint, time)?;
        }
        Step::AddForeign(key) => {
            let table = table(name)?;
            view.scope.tx()?.add_foreign_key(&table, &key)?;
            let now = session.view()?;
            let table = now.scope.tx()?.table(name)?;
            crate::ddl::kin::refuse_moving(&now, &table.schema())?;
        }
        Step::AddIndex(index, spec, constraint) => {
            let table = table(name)?;
            view.scope.tx()?.create_index(&table, spec).map_err(SqlError::of_rows)?;
            if constraint {
                note_unique(session, view, name, &index)?;
            }
        }
        Step::AddSequence(spec, column) => {
            let table = table(name)?;
            session.make_sequence(&spec)?;
            let owner = view.judge.rights().owner(table_key(&table.schema()));
            session.own_sequence(view, spec.name(), owner)?;
            let changes = TableChanges::new().set_default_sequence(column, spec.name());
            view.scope.tx()?.alter_table(&table, &changes)?;
        }
        Step::DropConstraint(constraint) => {
            let table = table(name)?;
            view.scope.tx()?.drop_constraint(&table, &constraint)?;
        }
        Step::DropConstraintOf(other, constraint) => {
            let table = table(&other)?;
            view.scope.tx()?.drop_constraint(&table, &constraint)?;
        }
        Step::DropIndex(index) => {
            let table = table(name)?;
            storage::forget_index(session, view, &table.schema(), &index)?;
            view.scope.tx()?.drop_index(&table, &index)?;
        }
        Step::Note(kind, column, body) => {
            let schema = table(name)?.schema();
            if let Some(at) = schema.position_by_name(&column) {
                let key = defaults::key(schema.id, schema.columns[at].id);
                session.put(kind, &key, body)?;
            }
        }
        Step::ChangeSequence(name, options) => {
            let found = view.scope.tx()?.sequence(&name)?;
            sequence::change(session, view, &found, &options)?;
        }
        Step::Own(sequence, column) => {
            let schema = table(name)?.schema();
            if let Some(at) = schema.position_by_name(&column) {
                let column = schema.columns[at].id.0;
                let body = serde_json::json!({ "table": schema.id.0, "column": column });
                session.put(Kind::Owned, &sequence, Some(body))?;
            }
        }
        Step::Fill(column, by) => fill(view, &table(name)?, &column, &by)?,
        Step::NoteUnique(index) => note_unique(session, view, name, &index)?,
        Step::NoteStorage(index, of) => {
            if let Some(index) = table(name)?.schema().index_by_name(&index) {
                storage::note(session, oids::of_index(index.id), &of)?;
            }
        }
        Step::PutTrigger(of) => session.put(Kind::Trigger, &of.key(), Some(of.body()))?,
        Step::Drop(all) => cascade::out(session, view, all)?,
        Step::Again(again) => remade::make(session, name, &again)?,
        Step::Renamed(to) => *name = to,
    }
    Ok(())
}

/// Rows that get their values at once.
const FILLED: usize = 1024;

/// Gives each row of a table its value in a column, in the order in which they came.
fn fill(view: &View, table: &Table, column: &str, by: &Filled) -> Result<()> {
    let rows = view.scope.tx()?.rows_to_fill(table)?;
    // What its transaction has made of it is asked.
    let at = table.schema().position_by_name(column);
    let at = at.ok_or_else(|| SqlError::defect("a column was added and is not there"))?;
    for part in rows.chunks(FILLED) {
        let values = match by {
            Filled::BySequence => {
                let one = |_| defaults::value(view, table, at);
                (0..part.len()).map(one).collect::<Result<Vec<_>>>()?
            }
            Filled::ByExpression(ty, sql) => {
                let found = defaults::columns(view, &[(*ty, sql)], part.len())?;
                let value = |row| convert::read_value(ty.engine, &found[0], row);
                (0..part.len()).map(value).collect()
            }
        };
        let filled = view.scope.tx()?.fill_rows(table, column, part, &values);
        filled.map_err(SqlError::of_rows)?;
    }
    Ok(())
}

fn note_unique(session: &mut Session, view: &View, table: &str, index: &str) -> Result<()> {
    let schema = view.scope.tx()?.table(table)?.schema();
    match schema.index_by_name(index) {
        Some(found) => {
            session.put(Kind::Unique, &found.id.0.to_string(), Some(serde_json::json!({})))
        }
        None => Ok(()),
    }
}

/// An index that was made anew has another id: what was noted of it moves.
fn move_notes_of_indexes(
    session: &mut Session,
    view: &View,
    (before, after): (&onlap::TableSchema, &onlap::TableSchema),
) -> Result<()> {
    for old in before.indexes.iter().filter(|index| after.index(index.id).is_none()) {
        for kind in [Kind::Unique, Kind::IndexKin] {
            let Some(object) = view.objects.get(kind, &old.id.0.to_string()) else { continue };
            session.put(kind, &old.id.0.to_string(), None)?;
            if let Some(new) = after.index_by_name(&old.name) {
                session.put(kind, &new.id.0.to_string(), Some(object.body.clone()))?;
            }
        }
        let of = Storage::of(&view.objects, oids::of_index(old.id));
        if of.body().is_some() {
            storage::forget(session, view, oids::of_index(old.id))?;
            if let Some(new) = after.index_by_name(&old.name) {
                storage::note(session, oids::of_index(new.id), &of)?;
            }
        }
    }
    Ok(())
}

/// A column whose type changed may have another id, and what was noted of it moves.
fn move_notes(
    session: &mut Session,
    view: &View,
    (before, name): (&onlap::TableSchema, &str),
    noted: &[String],
) -> Result<()> {
    let after = view.scope.tx()?.table(name)?.schema();
    move_notes_of_indexes(session, view, (before, &after))?;
    for old in &before.columns {
        if after.position(old.id).is_some() {
            continue;
        }
        let new = after.position_by_name(&old.name).map(|at| after.columns[at].id);
        for kind in [Kind::Default, Kind::Identity, Kind::ColumnType] {
            let key = defaults::key(before.id, old.id);
            let Some(object) = view.objects.get(kind, &key) else { continue };
            session.put(kind, &key, None)?;
            // Who changes a type notes what it is now, and what the default is where that is another.
            let is_noted = match kind {
                Kind::ColumnType => true,
                Kind::Default => noted.contains(&old.name),
                _ => false,
            };
            if let Some(new) = new.filter(|_| !is_noted) {
                session.put(kind, &defaults::key(after.id, new), Some(object.body.clone()))?;
            }
        }
        let comment = |id: onlap::ColumnId| format!("{}:{}", oids::of_table(before.id), id.0 + 1);
        if let Some(object) = view.objects.get(Kind::Comment, &comment(old.id)) {
            session.put(Kind::Comment, &comment(old.id), None)?;
            if let Some(new) = new {
                session.put(Kind::Comment, &comment(new), Some(object.body.clone()))?;
            }
        }
        for sequence in super::super::sequence::owned_by(view, before.id, Some(old.id)) {
            match new {
                Some(new) => {
                    let body = serde_json::json!({ "table": after.id.0, "column": new.0 });
                    session.put(Kind::Owned, &sequence, Some(body))?;
                }
                None => {
                    session.put(Kind::Owned, &sequence, None)?;
                    super::super::sequence::drop_unused(session, view, &sequence)?;
                }
            }
        }
    }
    Ok(())
}
