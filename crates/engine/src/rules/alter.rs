//! How does a table that has rows get a new rule?
//!
//! Rows are judged in two steps, so that writers wait for a moment only: those of a snapshot while
//! writers go on, then, under the commit lock, the few that came since; in the same moment the rule is
//! made durable and everybody's. A transaction that brought rows before and commits later is judged
//! again when it meets the new schema ([`judge_again`]). Until then nobody sees the rule, so a crash or
//! a row that breaks it leaves nothing behind.
//!
//! A foreign key has a second end: parents may go after their children were judged. So whoever deletes
//! from the parent looks for children from the beginning on, as if the key were there and restricted
//! ([`super::References::announce`]). Who had begun to delete before that still holds the parent's row
//! locked, and is waited for: a parent counts only when nobody is about to delete it.
//!
//! The way that lost: judging everything under the commit lock, which stops writers for as long as
//! a scan takes.

use std::sync::Arc;

use onlap_base::{ColumnId, Error, ErrorKind, PROVISIONAL_BASE, Result, RowId};
use onlap_format::{Action, Batch, CheckSchema, Expr, ForeignKeySchema, TableSchema, Time};

use super::{Checks, Reference};
use crate::changes::Fixed;
use crate::database::{Shared, unknown_table};
use crate::derive::Calculator;
use crate::index_build::judge_view;
use crate::read::{ReadView, Reader, Registration, Scan};
use crate::schema_change::lock_table;
use crate::spec::{ForeignKeySpec, build_check};
use crate::table::TableState;
use crate::transaction::{Parent, Transaction, no_parent};

/// Rows that may be left for the moment when writers wait: some milliseconds.
const LEFT_FOR_LAST: RowId = 4096;
/// Rounds of catching up with writers. Each takes a part of the time of the one before, unless writers
/// are faster than the judge.
const ROUNDS: usize = 16;

/// Adds a check.
pub(crate) fn add_check(
    shared: &Arc<Shared>,
    table: &str,
    name: &str,
    condition: &Expr<String>,
) -> Result<()> {
    let (state, _changing) = lock_table(shared, table)?;
    let check = build_check(&state.schema(), name, condition)?;
    let columns = check.expr.columns();
    let add_to = |schema: &mut TableSchema| {
        schema.checks.push(check.clone());
        Ok(())
    };
    let mut judge = |rows: &TableSchema, batch: &Batch, _: bool| {
        judge_check(&shared.calculator, &check, rows, batch)
    };
    Addition { shared, state: &state, columns, judge: &mut judge }.run(&add_to)
}

/// Adds a foreign key.
pub(crate) fn add_foreign_key(
    shared: &Arc<Shared>,
    table: &str,
    spec: &ForeignKeySpec,
) -> Result<()> {
    let (state, _changing) = lock_table(shared, table)?;
    let schema = state.schema();
    let build = || {
        let parent = shared.catalog.by_name(spec.parent());
        let parent = parent.ok_or_else(|| unknown_table(spec.parent()))?;
        spec.build(&schema, &parent.schema())
    };
    let parent_version = || shared.catalog.by_name(spec.parent()).map(|p| p.schema().version);
    let key = build()?;
    let restricted = ForeignKeySchema {
        on_delete: Action::NoAction,
        on_update: Action::NoAction,
        time: Time::Statement,
        ..key.clone()
    };
    let reference = Reference { child: state.id, key: restricted };
    let _announced = shared.references.announce(&shared.catalog, reference);
    // From now on the parent refuses to be dropped or truncated, unless it has begun to.
    let version = parent_version();
    let changed = || {
        let text = format!("table {} changed meanwhile; try again", spec.parent());
        Error::new(ErrorKind::Conflict, text)
    };
    if build()? != key {
        return Err(changed());
    }
    let columns = key.columns.clone();
    let add_to = |schema: &mut TableSchema| {
        schema.add_foreign_key(key.clone());
        if parent_version() == version { Ok(()) } else { Err(changed()) }
    };
    let mut judge = |rows: &TableSchema, batch: &Batch, may_wait: bool| match key.unproven {
        true => Ok(true),
        false => judge_key(shared, &key, rows, batch, may_wait),
    };
    Addition { shared, state: &state, columns, judge: &mut judge }.run(&add_to)
}

/// The rules of a table that some of its rows break: at most one error for each, and those of reading.
pub(crate) fn broken(shared: &Arc<Shared>, state: &Arc<TableState>) -> Vec<Error> {
    let schema = state.schema();
    let mut errors = Vec::new();
    let mut look = |columns: Vec<ColumnId>, judge: JudgeRows<'_>| {
        let mut all = Addition { shared, state, columns, judge };
        let judged = all.count().and_then(|to| all.judge_rows(0, to, true));
        errors.extend(judged.err());
    };
    // Formulas are left to who opens the database with what calculates them, as derived columns are.
    let is_judged = |check: &&CheckSchema| {
        let calculated = matches!(check.expr, Expr::Formula(..));
        !check.unproven && (!calculated || shared.calculator.is_set())
    };
    for check in schema.checks.iter().filter(is_judged) {
        look(check.expr.columns(), &mut |rows, batch, _| {
            judge_check(&shared.calculator, check, rows, batch)
        });
    }
    for key in schema.foreign_keys.iter().filter(|key| !key.unproven) {
        let judge: JudgeRows<'_> =
            &mut |rows, batch, wait| judge_key(shared, key, rows, batch, wait);
        look(key.columns.clone(), judge);
    }
    for index in schema.indexes.iter().filter(|index| index.judged.is_some()) {
        let now = Registration::new(shared);
        let judged = ReadView::new(state, &now)
            .and_then(|view| judge_view(&view, index, &|| shared.check_open()));
        errors.extend(judged.err());
    }
    errors
}

/// Drops a check or a foreign key.
pub(crate) fn drop_constraint(shared: &Arc<Shared>, table: &str, name: &str) -> Result<()> {
    let (state, _changing) = lock_table(shared, table)?;
    let mut schema = (*state.schema()).clone();
    let before = schema.checks.len() + schema.foreign_keys.len();
    schema.checks.retain(|c| c.name != name);
    schema.foreign_keys.retain(|k| k.name != name);
    if schema.checks.len() + schema.foreign_keys.len() == before {
        let text = format!("table {table} has no check or foreign key named {name}");
        return Err(Error::new(ErrorKind::UnknownConstraint, text));
    }
    shared.commits().exclusively(|_| change(shared, &state, schema))
}

/// A rule on its way to a table.
struct Addition<'a> {
    shared: &'a Arc<Shared>,
    state: &'a Arc<TableState>,
    /// What has to be seen of a row to judge it.
    columns: Vec<ColumnId>,
    judge: JudgeRows<'a>,
}

/// Refuses rows that break a rule; false where it would have to wait and must not. The schema is of
/// the columns in the batch alone.
type JudgeRows<'a> = &'a mut dyn FnMut(&TableSchema, &Batch, bool) -> Result<bool>;

impl Addition<'_> {
    fn run(mut self, add_to: &dyn Fn(&mut TableSchema) -> Result<()>) -> Result<()> {
        let _fixed = Fixed::new(self.shared, self.state, self.columns.iter().copied());
        let mut from = 0;
        for _ in 0..ROUNDS {
            let to = self.count()?;
            self.judge_rows(from, to, true)?;
            from = to;
            let (shared, state) = (self.shared, self.state);
            let done = shared.commits().exclusively(|_| -> Result<bool> {
                let to = self.count()?;
                if to - from > LEFT_FOR_LAST || !self.judge_rows(from, to, false)? {
                    return Ok(false);
                }
                let mut schema = (*state.schema()).clone();
                add_to(&mut schema)?;
                change(shared, state, schema).map(|()| true)
            })?;
            if done {
                return Ok(());
            }
        }
        let text = format!(
            "rows of table {} come faster than they can be judged; try again",
            self.state.schema().name
        );
        Err(Error::new(ErrorKind::Conflict, text))
    }

    /// Row ids so far.
    fn count(&self) -> Result<RowId> {
        let now = Registration::new(self.shared);
        Ok(ReadView::new(self.state, &now)?.count)
    }

    /// Judges the rows of a range that are alive now.
    fn judge_rows(&mut self, from: RowId, to: RowId, may_wait: bool) -> Result<bool> {
        debug_assert!(to < PROVISIONAL_BASE);
        let now = Registration::new(self.shared);
        let view = ReadView::new(self.state, &now)?;
        let table = &view.view.schema;
        let columns = table.columns.iter().filter(|c| self.columns.contains(&c.id));
        let described = TableSchema {
            columns: columns.cloned().collect(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            indexes: Vec::new(),
            ..(**table).clone()
        };
        let names: Vec<&str> = described.columns.iter().map(|c| c.name.as_str()).collect();
        if from == 0 {
            let rows = Reader::new(view, now).scan(&Scan::all().columns(names))?;
            for batch in rows {
                self.shared.check_open()?;
                if !(self.judge)(&described, &batch?.columns, may_wait)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let rows: Vec<RowId> = (from..to).collect();
        for part in rows.chunks(LEFT_FOR_LAST as usize) {
            let reader = Reader::new(view.clone(), Arc::clone(&now));
            let batch = reader.fetch(&view.existing(view.visible(part)?)?, Some(&names))?;
            if !(self.judge)(&described, &batch.columns, may_wait)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Makes a schema durable and visible; the commit lock is held.
fn change(shared: &Arc<Shared>, state: &Arc<TableState>, mut schema: TableSchema) -> Result<()> {
    schema.version += 1;
    let _installing = state.building.lock();
    state.change_schema(shared, schema, Vec::new())?;
    shared.references.rebuild(&shared.catalog);
    Ok(())
}

pub(crate) fn judge_check(
    calculator: &Calculator,
    check: &CheckSchema,
    rows: &TableSchema,
    batch: &Batch,
) -> Result<bool> {
    let alone = TableSchema { checks: vec![check.clone()], ..rows.clone() };
    Checks::of(&alone)?.judge(calculator, &alone, batch, 0..batch.rows).map(|()| true)
}

/// Looks for the parents of child rows.
fn judge_key(
    shared: &Arc<Shared>,
    key: &ForeignKeySchema,
    schema: &TableSchema,
    rows: &Batch,
    may_wait: bool,
) -> Result<bool> {
    let mut tx = Transaction::of_statement(shared);
    let parent = Parent::of(&tx, key)?;
    for (bytes, values) in &parent.wanted_by(schema, key, rows)? {
        loop {
            let Some(row) = tx.committed_row_with_key(&parent, bytes)? else {
                return Err(no_parent(&parent, schema, key, values));
            };
            if !tx.is_going(&parent, row) {
                break;
            }
            if !may_wait {
                return Ok(false);
            }
            tx.wait_for_parent(&parent, row)?;
            tx = Transaction::of_statement(shared);
        }
    }
    Ok(true)
}

/// Rows of an open transaction meet a newer schema: rules that it did not know judge them. `counts`
/// says which rows are there at the end.
///
/// # Errors
/// Those of checks; [`ErrorKind::Conflict`] where the table has a foreign key that it had not.
pub(crate) fn judge_again(
    calculator: &Calculator,
    from: &TableSchema,
    to: &TableSchema,
    rows: &Batch,
    counts: &dyn Fn(usize) -> bool,
) -> Result<()> {
    if rows.rows == 0 {
        return Ok(());
    }
    if to.foreign_keys.iter().any(|key| !from.foreign_keys.contains(key)) {
        let text = format!(
            "table {} got a foreign key meanwhile; roll the transaction back and run it again",
            to.name
        );
        return Err(Error::new(ErrorKind::Conflict, text));
    }
    let mut new = to.clone();
    new.checks.retain(|check| !from.checks.contains(check));
    if new.checks.is_empty() {
        return Ok(());
    }
    let checks = Checks::of(&new)?;
    let mut live = (0..rows.rows).filter(|row| counts(*row));
    live.try_for_each(|row| checks.judge(calculator, &new, rows, row..row + 1))
}
