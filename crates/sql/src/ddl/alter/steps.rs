//! Carries out the steps of an ALTER TABLE.

use onlap::{Expr, ForeignKeySpec, IndexSpec, Table, TableChanges};
use serde_json::Value as Json;

use crate::catalog::Kind;
use crate::ddl::defaults;
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;

/// One step.
pub enum Step {
    /// Changes of columns and names; what takes them back.
    Changes(TableChanges, Option<TableChanges>),
    /// A condition on rows.
    AddCheck(String, Expr<String>),
    /// A foreign key.
    AddForeign(ForeignKeySpec),
    /// A unique index, which may be a constraint.
    AddIndex(String, IndexSpec, bool),
    /// A sequence that goes on when the column is there.
    AddSequence(onlap::SequenceSpec, String),
    /// A sequence belongs to a column.
    Own(String, String),
    /// Takes a check or foreign key away.
    DropConstraint(String),
    /// Takes an index away.
    DropIndex(String),
    /// Notes something of a column, which may be new.
    Note(Kind, String, Option<Json>),
    /// A unique index becomes a constraint.
    NoteUnique(String),
    /// The table has another name: what follows finds it there.
    Renamed(String),
}

impl Step {
    /// Whether it can be taken back, or cannot fail.
    fn is_safe(&self) -> bool {
        match self {
            Step::Changes(_, undo) => undo.is_some(),
            Step::DropConstraint(_) | Step::DropIndex(_) => false,
            _ => true,
        }
    }
    fn is_note(&self) -> bool {
        matches!(self, Step::Note(..) | Step::NoteUnique(_) | Step::Own(..) | Step::Renamed(_))
    }
}

/// Carries out all steps, or none.
///
/// # Errors
/// `0A000` when they cannot be done together; those of the engine.
pub fn run(
    session: &mut Session,
    view: &View,
    table: Table,
    steps: Vec<Step>,
    client: &mut dyn Client,
) -> Result<()> {
    session.at_once("ALTER TABLE", client)?;
    let mut steps = joined(steps);
    // Notes come last: they are written when everything else was done.
    steps.sort_by_key(Step::is_note);
    let changing = steps.iter().filter(|s| !s.is_note()).count();
    let unsafe_ones = steps.iter().filter(|s| !s.is_note()).take(changing.saturating_sub(1));
    if unsafe_ones.filter(|s| !s.is_safe()).count() > 0 && !joins(&steps) {
        let text = "these actions are not supported together in one ALTER TABLE";
        return Err(SqlError::new(state::UNSUPPORTED, text).hint("Say them in several statements."));
    }
    let before = table.schema();
    let mut name = table.name();
    let mut undo: Vec<Step> = Vec::new();
    for step in steps {
        if let Err(e) = one(session, &mut name, step, &mut undo) {
            for step in undo.into_iter().rev() {
                // The first failure is what the client learns of.
                let _ = one(session, &mut name, step, &mut Vec::new());
            }
            return Err(e);
        }
    }
    move_notes(session, view, &before, &name)
}

/// Changes that follow each other are one step: the engine makes them together.
fn joined(steps: Vec<Step>) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        match (out.last_mut(), step) {
            (Some(Step::Changes(first, back)), Step::Changes(second, further)) => {
                *first = std::mem::take(first).and(second);
                *back = match (back.take(), further) {
                    (Some(back), Some(further)) => Some(further.and(back)),
                    _ => None,
                };
            }
            (_, step) => out.push(step),
        }
    }
    out
}

/// A primary key goes in two steps, of which the second does not fail after the first.
fn joins(steps: &[Step]) -> bool {
    matches!(steps, [Step::Changes(..), Step::DropIndex(_), rest @ ..] if rest.iter().all(Step::is_note))
}

fn one(session: &mut Session, name: &mut String, step: Step, undo: &mut Vec<Step>) -> Result<()> {
    let db = session.instance.db.clone();
    match step {
        Step::Changes(changes, back) => {
            db.alter_table(name, &changes)?;
            undo.extend(back.map(|back| Step::Changes(back, None)));
        }
        Step::AddCheck(check, condition) => {
            db.add_check(name, &check, &condition)?;
            undo.push(Step::DropConstraint(check));
        }
        Step::AddForeign(key) => {
            db.add_foreign_key(name, &key)?;
            undo.push(Step::DropConstraint(key.name().to_string()));
        }
        Step::AddIndex(index, spec, constraint) => {
            db.create_index(name, spec)?;
            if constraint {
                note_unique(session, name, &index)?;
            }
            undo.push(Step::DropIndex(index));
        }
        Step::AddSequence(spec, column) => {
            let sequence = spec.name().to_string();
            db.create_sequence(spec)?;
            session.current()?.made_sequences.push(sequence.clone());
            db.alter_table(name, &TableChanges::new().set_default_sequence(column, sequence))?;
        }
        Step::DropConstraint(constraint) => db.drop_constraint(name, &constraint)?,
        Step::DropIndex(index) => db.drop_index(name, &index)?,
        Step::Note(kind, column, body) => {
            let schema = db.table(name)?.schema();
            if let Some(at) = schema.position_by_name(&column) {
                let key = defaults::key(schema.id, schema.columns[at].id);
                session.put(kind, &key, body)?;
            }
        }
        Step::Own(sequence, column) => {
            let schema = db.table(name)?.schema();
            if let Some(at) = schema.position_by_name(&column) {
                let column = schema.columns[at].id.0;
                let body = serde_json::json!({ "table": schema.id.0, "column": column });
                session.put(Kind::Owned, &sequence, Some(body))?;
            }
        }
        Step::NoteUnique(index) => note_unique(session, name, &index)?,
        Step::Renamed(to) => *name = to,
    }
    Ok(())
}

fn note_unique(session: &mut Session, table: &str, index: &str) -> Result<()> {
    let schema = session.instance.db.table(table)?.schema();
    match schema.index_by_name(index) {
        Some(found) => {
            session.put(Kind::Unique, &found.id.0.to_string(), Some(serde_json::json!({})))
        }
        None => Ok(()),
    }
}

/// A column whose type changed may have another id, and what was noted of it moves.
fn move_notes(
    session: &mut Session,
    view: &View,
    before: &onlap::TableSchema,
    name: &str,
) -> Result<()> {
    let after = session.instance.db.table(name)?.schema();
    for old in &before.columns {
        if after.position(old.id).is_some() {
            continue;
        }
        let new = after.position_by_name(&old.name).map(|at| after.columns[at].id);
        for kind in [Kind::Default, Kind::Identity] {
            let key = defaults::key(before.id, old.id);
            let Some(object) = view.objects.get(kind, &key) else { continue };
            session.put(kind, &key, None)?;
            if let Some(new) = new {
                session.put(kind, &defaults::key(after.id, new), Some(object.body.clone()))?;
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
                    session.current()?.dropped_sequences.push(sequence);
                }
            }
        }
    }
    Ok(())
}
