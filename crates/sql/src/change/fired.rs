//! How are rows changed of a table that has triggers?
//!
//! One by one, in the order in which they were found: a function may ask for the rows that were changed before.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use datafusion_common::DataFusionError;
use onlap::{Row, RowId, Value};
use onlap_pg::bound::{ActionKind, CheckKind, ModifyKind};
use onlap_query::Source;

use super::find::{Found, ids_in};
use super::fires::{Event, Fires, in_columns};
use super::members::Group;
use super::returning::{Asks, Returned};
use super::update::Setting;
use super::{Done, Statement, called, is_same, places};
use crate::error::{Result, SqlError};
use crate::plan::TableHandle;

impl Statement<'_> {
    /// Its triggers.
    fn firing(&self) -> Result<&Fires<'_>> {
        self.fires.as_ref().ok_or_else(|| SqlError::defect("there are no triggers"))
    }

    /// What it does to rows, and the columns that it sets.
    pub fn events(&self) -> Vec<(Event, Vec<String>)> {
        let names = |targets: &[onlap_pg::bound::Target]| -> Vec<String> {
            let columns = &self.target.schema.columns;
            places(targets).map(|at| columns[at].name.clone()).collect()
        };
        let mut events = Vec::new();
        match self.modify.kind {
            ModifyKind::Insert => {
                events.push((Event::Insert, Vec::new()));
                let conflict = self.modify.conflict.as_ref().filter(|conflict| conflict.update);
                if let Some(conflict) = conflict {
                    events.push((Event::Update, names(&conflict.set)));
                }
            }
            ModifyKind::Update => events.push((Event::Update, names(&self.query().targets))),
            ModifyKind::Delete => events.push((Event::Delete, Vec::new())),
            ModifyKind::Merge => {
                let of = |kind, event| {
                    let mut set = Vec::new();
                    let mut found = false;
                    for action in self.modify.actions.iter().filter(|of| of.kind == kind) {
                        found = true;
                        set.extend(names(&action.set));
                    }
                    found.then_some((event, set))
                };
                events.extend(of(ActionKind::Insert, Event::Insert));
                events.extend(of(ActionKind::Update, Event::Update));
                events.extend(of(ActionKind::Delete, Event::Delete));
            }
        }
        events
    }

    /// Inserts rows; those that were written, as they were.
    ///
    /// # Errors
    /// Those of the functions; as [`Statement::put`].
    pub fn put_fired(&self, rows: Vec<Row>, asked: Asks<'_>) -> Result<Vec<Row>> {
        if self.fires.is_none() {
            asked.check_rows(CheckKind::Insert, &rows)?;
            self.put(&rows)?;
            return Ok(rows);
        }
        let mut written = Vec::with_capacity(rows.len());
        for row in rows {
            written.extend(self.put_one(row, (asked, CheckKind::Insert))?);
        }
        Ok(written)
    }

    /// Inserts a row; it is asked of what comes of its triggers whether it may be written.
    fn put_one(&self, row: Row, (asked, kind): (Asks<'_>, CheckKind)) -> Result<Option<Row>> {
        let fires = self.firing()?;
        // An update moves it here.
        let event = (Event::Insert, kind == CheckKind::Update);
        self.view.scope.go_on()?;
        let Some(routes) = &self.routes else {
            let table = self.target;
            let Some(row) = fires.before_insert(table, row, None)? else { return Ok(None) };
            asked.check_rows(kind, std::slice::from_ref(&row))?;
            self.put(std::slice::from_ref(&row))?;
            fires.after_row(table, event, (None, Some(row.clone())), &[])?;
            return Ok(Some(row));
        };
        let leaf = routes.borrow_mut().leaf_of(&row)?;
        let mut now = |row: &Row| {
            let now = routes.borrow_mut().leaf_of(&leaf.unfit(row.clone()))?;
            Ok(now.table.schema.id)
        };
        let made = fires.before_insert(&leaf.table, leaf.fit(&row), Some(&mut now))?;
        let Some(made) = made else { return Ok(None) };
        let row = leaf.unfit(made.clone());
        asked.check_rows(kind, std::slice::from_ref(&row))?;
        self.put(std::slice::from_ref(&row))?;
        fires.after_row(&leaf.table, event, (None, Some(made)), &[])?;
        Ok(Some(row))
    }

    /// A row as a table has it, in the order of its own columns; `what` is to become of it.
    fn own_row(&self, table: &TableHandle, row: RowId, what: &'static str) -> Result<Row> {
        let batch = {
            // As the functions have left it, which the statement itself does not see.
            let mut tx = self.view.scope.tx()?;
            let aside = tx.set_aside();
            let found = tx.fetch(&table.table, &[row], None);
            tx.take_up(aside);
            found?
        };
        if batch.row_ids.is_empty() {
            return Err(modified_before(what));
        }
        let columns = table.schema.columns.iter().enumerate();
        let value = |(at, column): (usize, &onlap::ColumnSchema)| {
            // A function may have dropped a column meanwhile.
            let found = batch.columns.columns.get(at).ok_or_else(|| modified_before(what))?;
            Ok(onlap::convert::read_value(column.ty, found, 0))
        };
        columns.map(value).collect()
    }

    /// Deletes rows that are locked; those that were deleted.
    ///
    /// # Errors
    /// Those of the functions; as [`Statement::delete`].
    pub fn delete_fired(&self, ids: &[RowId]) -> Result<Vec<RowId>> {
        let mut deleted = Vec::with_capacity(ids.len());
        for id in ids {
            self.view.scope.go_on()?;
            let groups = self.groups(std::slice::from_ref(id));
            let [group] = &groups[..] else { continue };
            if self.delete_one(group, false)? {
                deleted.push(*id);
            }
        }
        Ok(deleted)
    }

    fn delete_one(&self, group: &Group<'_>, moves: bool) -> Result<bool> {
        let fires = self.firing()?;
        let (table, [row]) = (group.table, &group.rows[..]) else { return Ok(false) };
        let old = self.own_row(table, *row, UPDATED)?;
        if fires.before_row(table, Event::Delete, (Some(&old), None), &[])?.is_none() {
            return Ok(false);
        }
        if print_of(&self.own_row(table, *row, DELETED)?) != print_of(&old) {
            return Err(modified_before(DELETED));
        }
        let left = fires.left(table)?;
        let delete = |tx: &mut onlap::Transaction| tx.delete_rows(&table.table, &[*row]);
        let n = self.view.scope.tx()?.leave_actions(&left, delete)?;
        if n != 1 {
            return Err(modified_before(DELETED));
        }
        fires.after_row(table, (Event::Delete, moves), (Some(old), None), &[])?;
        Ok(true)
    }

    /// Changes a row that is locked: what it is then, in the columns of the named table; `None` where it stays as it is.
    ///
    /// # Errors
    /// Those of the functions and of values; conflicts.
    pub fn change_fired(
        &self,
        id: RowId,
        (columns, values): (&[&str], &[Value]),
        (known, asked): (Option<u64>, Asks<'_>),
    ) -> Result<Option<Row>> {
        self.view.scope.go_on()?;
        let groups = self.groups(&[id]);
        let [group] = &groups[..] else { return Ok(None) };
        let [row] = group.rows[..] else { return Ok(None) };
        self.change_one(group, row, columns, (values, known, asked))
    }

    /// What tells whether a row is still as it was, before any function runs.
    fn print(&self, id: RowId) -> Result<u64> {
        let groups = self.groups(&[id]);
        match &groups[..] {
            [Group { table, rows, .. }] if rows.len() == 1 => {
                Ok(print_of(&self.own_row(table, rows[0], UPDATED)?))
            }
            _ => Err(modified()),
        }
    }

    /// The same for a row of a table by its id there.
    ///
    /// # Errors
    /// As of [`Statement::change_fired`].
    pub fn change_one_fired(
        &self,
        table: &TableHandle,
        row: RowId,
        (columns, values): (&[&str], &[Value]),
        asked: Asks<'_>,
    ) -> Result<Option<Row>> {
        let group = Group { member: 0, table, rows: vec![row] };
        self.change_one(&group, row, columns, (values, None, asked))
    }

    fn change_one(
        &self,
        group: &Group<'_>,
        row: RowId,
        columns: &[&str],
        (values, known, asked): (&[Value], Option<u64>, Asks<'_>),
    ) -> Result<Option<Row>> {
        let (fires, table) = (self.firing()?, group.table);
        let set = columns.iter().map(|name| (*name).to_string()).collect();
        let inserts = self.modify.kind == ModifyKind::Insert;
        let set = fires.changed(table, set, inserts)?;
        let old = self.own_row(table, row, UPDATED)?;
        if known.is_some_and(|known| known != print_of(&old)) {
            return Err(modified());
        }
        let mut new = old.clone();
        for (name, value) in columns.iter().zip(values) {
            let at = table.schema.position_by_name(name).ok_or_else(SqlError::concurrent_update)?;
            new[at] = value.clone();
        }
        let made = fires.before_row(table, Event::Update, (Some(&old), Some(new)), &set)?;
        let Some(made) = made else { return Ok(None) };
        let named = in_columns(&made, table, self.target);
        if let Some(routes) = &self.routes {
            let leaf = routes.borrow_mut().leaf_of(&named)?;
            if leaf.table.schema.id != table.schema.id {
                if !self.delete_one(group, true)? {
                    return Ok(None);
                }
                return self.put_one(named, (asked, CheckKind::Update));
            }
        }
        asked.check_rows(CheckKind::Update, std::slice::from_ref(&named))?;
        let schema = &table.schema;
        let changed = |at: &usize| {
            !is_same(&made[*at], &old[*at]) || columns.contains(&schema.columns[*at].name.as_str())
        };
        let own = (0..schema.columns.len()).filter(|at| !schema.is_generated(*at));
        let changed: Vec<usize> = own.filter(changed).collect();
        let names: Vec<&str> = changed.iter().map(|at| schema.columns[*at].name.as_str()).collect();
        let now: Vec<Value> = changed.iter().map(|at| made[*at].clone()).collect();
        if print_of(&self.own_row(table, row, UPDATED)?) != print_of(&old) {
            return Err(modified());
        }
        let others = changed.iter().filter(|at| !is_same(&made[**at], &old[**at]));
        let others: Vec<&str> = others.map(|at| schema.columns[*at].name.as_str()).collect();
        called::must_of_rows(self.view, schema, Some(&names))?;
        called::must_of_indexes(self.view, schema, Some(&others))?;
        let mut values = |_: RowId| Ok(now.clone());
        let left = fires.left(table)?;
        let change =
            |tx: &mut onlap::Transaction| tx.change_each(&table.table, &[row], &names, &mut values);
        self.view.scope.tx()?.leave_actions(&left, change)?;
        fires.after_row(table, (Event::Update, false), (Some(old), Some(made)), &set)?;
        Ok(Some(named))
    }
}

/// DELETE of a table that has triggers.
pub fn delete(statement: &Statement<'_>) -> Result<Done> {
    let Found { changing, batches } = statement.find(None)?;
    let mut returned = Returned::charged(batches.another());
    let mut n = 0;
    for batch in &batches {
        let ids: Vec<RowId> = ids_in(batch).collect();
        let deleted: HashSet<RowId> = statement.delete_fired(&ids)?.into_iter().collect();
        n += deleted.len() as u64;
        let batch = those(batch, |id| deleted.contains(&id))?;
        let found = |source| match source {
            Source::Found(at) | Source::Relation(Some(at)) => Ok(batch.column(at).clone()),
            Source::Ended => Ok(statement.ended(ids_in(&batch).map(|_| true))),
            _ => Err(SqlError::defect("a row that is deleted is as it was found")),
        };
        returned.add(changing.change.returning.as_ref(), batch.num_rows(), found)?;
    }
    Ok(Done { tag: "DELETE", rows: n, returned })
}

/// UPDATE of a table that has triggers.
pub fn update(statement: &Statement<'_>) -> Result<Done> {
    let set: Vec<usize> = places(&statement.query().targets).collect();
    let found = statement.find(Some(&set))?;
    let change = &found.changing.change;
    let asked = Asks::of(statement, change);
    let setting = Setting::new(statement, &found.batches, &change.written)?;
    let mut returned = Returned::charged(found.batches.another());
    let columns = setting.columns();
    let mut n = 0;
    // What the values were calculated from: a function that changes it would be undone by them.
    let ids = found.batches.iter().flat_map(ids_in);
    let before = ids.map(|id| Ok((id, statement.print(id)?))).collect::<Result<HashMap<_, _>>>()?;
    for batch in &found.batches {
        let (mut kept, mut rows) = (HashSet::new(), Vec::new());
        for id in ids_in(batch) {
            let values = setting.values(id)?;
            let known = before.get(&id).copied();
            let made = statement.change_fired(id, (&columns, &values), (known, asked))?;
            if let Some(row) = made {
                kept.insert(id);
                rows.push(row);
            }
        }
        n += rows.len() as u64;
        let batch = those(batch, |id| kept.contains(&id))?;
        let source = |source| match source {
            // Where it is then.
            Source::Relation(Some(_)) if statement.routes.is_some() => {
                statement.relations_of(&rows)
            }
            Source::Found(place) | Source::Relation(Some(place)) => Ok(batch.column(place).clone()),
            // Columns that a table below has of its own are not in these rows.
            Source::Version if statement.family.is_some_and(|family| !family.is_divided()) => {
                Err(SqlError::unsupported("xmin of rows of several tables that have triggers"))
            }
            of_row => statement.of_written(of_row, &rows, &[]),
        };
        returned.add(change.returning.as_ref(), rows.len(), source)?;
        asked.check(CheckKind::View, rows.len(), source, |at| Ok(Some(rows[at].clone())))?;
    }
    Ok(Done { tag: "UPDATE", rows: n, returned })
}

fn those(batch: &RecordBatch, wanted: impl Fn(RowId) -> bool) -> Result<RecordBatch> {
    let mask: Vec<bool> = ids_in(batch).map(wanted).collect();
    let kept = filter_record_batch(batch, &BooleanArray::from(mask));
    Ok(kept.map_err(DataFusionError::from)?)
}

/// What is to become of a row, in the words of [`modified_before`].
pub(super) const UPDATED: &str = "updated";
pub(super) const DELETED: &str = "deleted";

/// A function has changed the row that its trigger was about.
pub fn modified() -> SqlError {
    modified_before(UPDATED)
}

/// Tells rows apart: NaN is itself here.
pub(super) fn print_of(row: &Row) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{row:?}").hash(&mut hasher);
    hasher.finish()
}

pub(super) fn modified_before(what: &str) -> SqlError {
    let text = format!(
        "tuple to be {what} was already modified by an operation triggered by the current command"
    );
    let hint = "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes \
                to other rows.";
    SqlError::new("27000", text).hint(hint)
}
