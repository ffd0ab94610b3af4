//! MERGE.
//!
//! Its steps join the source with the table and say which action each row takes ([`Taken`]). Rows of the table that are
//! changed or deleted are locked first. Where another transaction had changed or deleted one meanwhile, at READ COMMITTED,
//! all steps are run again, which see what it committed: a row that matches no more takes another action, as in PostgreSQL.
//! What is locked then stays as it is. Nothing is written before all rows are locked.
//!
//! Deletes are carried out first and inserts last, so that rows may exchange keys.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_select::filter::filter_record_batch;
use datafusion_common::DataFusionError;
use onlap::{RowId, TableSchema};
use onlap_pg::bound::{Action as When, ActionKind, Bound, CheckKind, Expr};
use onlap_query::{Source, Taken};

use super::find::ID_BYTES;
use super::insert::Written;
use super::returning::{Asks, Returned};
use super::update::Setting;
use super::{Done, Statement, places};
use crate::error::{Result, SqlError, state};
use crate::plan::Held;
use crate::query::Changing;
use crate::rights::ask::{numbers, of_table, sequences};
use crate::rights::{Action, Need};
use crate::view::View;

/// What an action needs.
///
/// # Errors
/// The transaction has ended.
pub fn needs(view: &View, schema: &TableSchema, when: &When, tree: &Bound) -> Result<Vec<Need>> {
    let written = numbers(schema, places(&when.set));
    Ok(match when.kind {
        ActionKind::Nothing => Vec::new(),
        ActionKind::Delete => vec![of_table(Action::Delete, schema, Vec::new())],
        ActionKind::Update => vec![of_table(Action::Update, schema, written)],
        ActionKind::Insert => {
            let given =
                when.set.iter().filter(|set| !matches!(tree.expr(set.value), Expr::Default));
            let given: Vec<usize> = given.map(|set| set.number - 1).collect();
            let mut needs = vec![of_table(Action::Insert, schema, written)];
            needs.extend(sequences(view, schema, &given)?);
            needs
        }
    })
}

/// MERGE.
pub fn run(statement: &Statement<'_>) -> Result<Done> {
    let (changing, batches) = statement.find_all()?;
    let actions = &changing.change.actions;
    let mut held = batches.another();
    let asked = Asks::of(statement, &changing.change);
    let mut rows = 0;
    must_be_theirs(asked, actions, &batches)?;
    for action in actions.iter().filter(|action| action.kind == ActionKind::Delete) {
        let ids: Vec<RowId> = ids_of(&batches, action).collect();
        rows += match statement.fires.is_some() {
            true => statement.delete_fired(&ids)?.len() as u64,
            false => statement.delete(&ids)?,
        };
    }
    for action in actions.iter().filter(|action| action.kind == ActionKind::Update) {
        let taken = taken(&batches, action)?;
        held.charge(taken.iter().map(RecordBatch::get_array_memory_size).sum())?;
        let mut setting = Setting::new(statement, &taken, &action.written)?;
        if statement.fires.is_some() {
            let columns = setting.columns();
            for id in taken.iter().flat_map(super::find::ids_in) {
                let values = setting.values(id)?;
                let made = statement.change_fired(id, (&columns, &values), (None, asked))?;
                rows += u64::from(made.is_some());
            }
            continue;
        }
        setting.find_moves(&mut held)?;
        if asked.any(CheckKind::Update) {
            setting.check_new(asked)?;
        }
        rows += taken.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
        setting.write()?;
    }
    for batch in &batches {
        for action in actions.iter().filter(|action| action.kind == ActionKind::Insert) {
            let batch = those(batch, action)?;
            let (columns, overriding) = (&action.written[..], action.overriding);
            let written = Written { columns, defaults: &[], overriding };
            let new = statement.rows_of(&written, &batch, 0)?;
            held.charge(new.iter().map(crate::fast::bytes_of).sum())?;
            rows += statement.put_fired(new, asked)?.len() as u64;
        }
    }
    Ok(Done { tag: "MERGE", rows, returned: Returned::default() })
}

/// Fails where an action would change or delete a row that policies do not let the role change or delete.
fn must_be_theirs(asked: Asks<'_>, actions: &[Taken], batches: &Held) -> Result<()> {
    for action in actions {
        let kind = match action.kind {
            ActionKind::Update => CheckKind::MergeUpdate,
            ActionKind::Delete => CheckKind::MergeDelete,
            ActionKind::Insert | ActionKind::Nothing => continue,
        };
        if !asked.any(kind) {
            continue;
        }
        for batch in batches.iter() {
            let batch = those(batch, action)?;
            let source = |source| match source {
                Source::Found(at) | Source::Relation(Some(at)) => Ok(batch.column(at).clone()),
                _ => Err(SqlError::defect("a row that is there is as it was found")),
            };
            asked.check(kind, batch.num_rows(), source, |_| Ok(None))?;
        }
    }
    Ok(())
}

impl Statement<'_> {
    /// The rows of the steps, when those of the table that are changed are locked.
    fn find_all(&self) -> Result<(Changing, Held)> {
        let mut missing: Option<Vec<RowId>> = None;
        loop {
            self.view.scope.go_on()?;
            let changing = self.steps()?;
            let mut batches = changing.run(self.view)?.all()?;
            batches.let_others_run();
            let mut moved = false;
            let mut left = Vec::new();
            for action in &changing.change.actions {
                let set: Vec<usize> = action.written.iter().map(|(number, _)| number - 1).collect();
                let set = match action.kind {
                    ActionKind::Delete => None,
                    ActionKind::Update => Some(&set[..]),
                    ActionKind::Insert | ActionKind::Nothing => continue,
                };
                let ids: Vec<RowId> = ids_of(&batches, action).collect();
                if ids.is_empty() {
                    continue;
                }
                batches.charge(ids.len() * ID_BYTES)?;
                let (locked, others) = self.lock(&ids, set)?;
                moved |= others;
                let locked: HashSet<RowId> = locked.into_iter().collect();
                left.extend(ids.into_iter().filter(|id| !locked.contains(id)));
            }
            if !moved && left.is_empty() {
                self.check_once(&changing, &batches)?;
                return Ok((changing, batches));
            }
            if !moved && missing.as_ref() == Some(&left) {
                // The statement itself has changed them.
                return Err(twice());
            }
            missing = Some(left);
            // What the other transaction committed is seen now.
            self.view.scope.tx()?.begin_statement()?;
        }
    }

    /// Fails where a row of the table is changed twice.
    fn check_once(&self, changing: &Changing, batches: &Held) -> Result<()> {
        let mut seen = HashSet::new();
        let changes =
            |action: &&Taken| matches!(action.kind, ActionKind::Delete | ActionKind::Update);
        for action in changing.change.actions.iter().filter(changes) {
            for id in ids_of(batches, action) {
                let touched = self.shared.several && self.has_touched(id)?;
                if touched || !seen.insert(id) {
                    return Err(twice());
                }
            }
        }
        if self.shared.several {
            self.touch(&seen.into_iter().collect::<Vec<_>>(), batches)?;
        }
        Ok(())
    }
}

fn twice() -> SqlError {
    let text = "MERGE command cannot affect row a second time";
    let hint = "Ensure that not more than one source row matches any one target row.";
    SqlError::new(state::CARDINALITY, text).hint(hint)
}

/// The ids of the rows of the table that an action changes.
fn ids_of<'b>(batches: &'b Held, action: &'b Taken) -> impl Iterator<Item = RowId> + 'b {
    batches.iter().flat_map(move |batch| {
        let ids = batch.column(0).as_primitive::<Int64Type>();
        let takes = batch.column(action.takes).as_boolean();
        let takes =
            (0..batch.num_rows()).filter(move |row| takes.is_valid(*row) && takes.value(*row));
        takes.map(move |row| ids.value(row) as RowId)
    })
}

/// The rows that take an action.
fn taken(batches: &Held, action: &Taken) -> Result<Vec<RecordBatch>> {
    batches.iter().map(|batch| those(batch, action)).collect()
}

fn those(batch: &RecordBatch, action: &Taken) -> Result<RecordBatch> {
    let takes = batch.column(action.takes).as_boolean();
    Ok(filter_record_batch(batch, takes).map_err(DataFusionError::from)?)
}
