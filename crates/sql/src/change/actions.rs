//! How are actions of foreign keys carried out on rows that have triggers?
//!
//! The engine carries them out where nothing looks on ([`onlap::Transaction::leave_actions`]). Where the rows that name others have triggers,
//! or actions go on from them to such rows, each action is a statement within the one that has changed the named row, as in PostgreSQL:
//! it comes when that row's own triggers are called, fires those that come before the statement and before each row, and leaves
//! its calls of those that come after to the queue of the whole statement. A row that a trigger keeps stays, though it names
//! nothing any more.
//!
//! Thread safety: belongs to its statement's thread.

use std::collections::HashSet;
use std::slice;
use std::sync::Arc;

use onlap::{Action, DataType, ForeignKeyOf, ForeignKeySchema, LostKey, Row, RowId, TableId};

use super::fired::{DELETED, UPDATED, modified_before, print_of};
use super::fires::{Event, Fires, Of};
use super::is_same;
use super::queue::Queue;
use crate::catalog::{Kind, Name, oids, triggers};
use crate::error::{Result, SqlError};
use crate::plan::TableHandle;
use crate::view::View;

/// Foreign keys that refer to a table, of which the actions are carried out here, in the order in which they came.
pub fn left_of(view: &View, table: TableId) -> Arc<[ForeignKeyOf]> {
    if view.objects.of_kind(Kind::Trigger).next().is_none() {
        return Arc::from([]);
    }
    let mut left: Vec<ForeignKeyOf> = acting(view, table)
        .into_iter()
        .filter(|(child, _)| is_watched(view, *child))
        .map(|(child, key)| (child, key.id))
        .collect();
    left.sort_unstable();
    left.into()
}

/// Whether there are some.
pub fn has_left(view: &View, table: TableId) -> bool {
    !left_of(view, table).is_empty()
}

/// Foreign keys that refer to a table and change or delete the rows that name its rows.
fn acting(view: &View, table: TableId) -> Vec<(TableId, ForeignKeySchema)> {
    let acts = |action| !matches!(action, Action::NoAction | Action::Restrict);
    let Ok(tx) = view.scope.tx() else { return Vec::new() };
    let mut all = tx.referring(table);
    all.retain(|(_, key)| acts(key.on_delete) || acts(key.on_update));
    all
}

/// Whether changes of rows by actions fire triggers, of the table itself or of one that actions go on to.
fn is_watched(view: &View, id: TableId) -> bool {
    let (mut open, mut known) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        if !known.insert(id) {
            continue;
        }
        if triggers::has_any(&view.objects, oids::of_table(id)) {
            return true;
        }
        open.extend(acting(view, id).into_iter().map(|(child, _)| child));
    }
    false
}

/// Carries out the action of a foreign key, if it has one, for a row of a table that was deleted or replaced.
///
/// # Errors
/// Those of triggers; of rules that the rows break then; of waits for locks.
pub fn act(
    (view, queue): (&View, &Queue),
    of: &Of,
    key: ForeignKeyOf,
    (old, new): (&Row, Option<&Row>),
) -> Result<()> {
    let parent = of.table()?;
    let lost = view.scope.tx()?.lose_key(key, &parent.table, (old, new))?;
    let Some(lost) = lost else { return Ok(()) };
    let child = TableHandle::new(view, lost.child.clone());
    let around = |e: SqlError| e.around(&format!("SQL statement \"{}\"", text(&lost, parent, new)));
    let Some(fires) = Fires::of(view, &child, queue)? else {
        return Err(SqlError::defect("a table that actions change has no triggers"));
    };
    Acting { view, fires: &fires, child: &child, lost: &lost }.run().map_err(around)?;
    Ok(view.scope.tx()?.judge_followers(&lost)?)
}

/// An action under way.
struct Acting<'a> {
    view: &'a View,
    fires: &'a Fires<'a>,
    child: &'a TableHandle,
    lost: &'a LostKey,
}

impl Acting<'_> {
    fn run(&self) -> Result<()> {
        // It is a trigger's doing in PostgreSQL, and `pg_trigger_depth()` counts it.
        let _counted = self.view.scope.lent().fires();
        let names = self.lost.set.iter().map(|(name, _)| name.clone()).collect();
        let (event, set) = match self.lost.set.is_empty() {
            true => (Event::Delete, Vec::new()),
            false => (Event::Update, self.fires.changed(self.child, names, false)?),
        };
        self.fires.before_statement(event, &set)?;
        let rows = self.view.scope.tx()?.lock_followers(self.lost)?;
        let print = |row: RowId| Ok(self.row(row)?.map(|found| (row, print_of(&found))));
        let rows = rows.into_iter().filter_map(|row| print(row).transpose());
        let rows = rows.collect::<Result<Vec<(RowId, u64)>>>()?;
        for (row, before) in rows {
            self.view.scope.go_on()?;
            // A trigger of a row before it may have changed it, or put another in its place that names the key.
            let old = match self.row(row)? {
                Some(old) if print_of(&old) == before => old,
                _ => return Err(modified_before(UPDATED)),
            };
            match event {
                Event::Delete => self.delete(row, old)?,
                _ => self.update(row, old, &set)?,
            }
        }
        self.fires.after_statement(event, &set)
    }

    fn row(&self, row: RowId) -> Result<Option<Row>> {
        Ok(self.view.scope.tx()?.newest_row(&self.child.table, row)?)
    }

    /// Fails where a trigger has changed a row that is about to be `what`.
    fn must_be(&self, row: RowId, old: &Row, what: &str) -> Result<()> {
        match self.row(row)? {
            Some(now) if print_of(&now) == print_of(old) => Ok(()),
            _ => Err(modified_before(what)),
        }
    }

    fn delete(&self, row: RowId, old: Row) -> Result<()> {
        let (child, fires) = (self.child, self.fires);
        if fires.before_row(child, Event::Delete, (Some(&old), None), &[])?.is_none() {
            return Ok(());
        }
        self.must_be(row, &old, DELETED)?;
        let left = fires.left(child)?;
        let delete = |tx: &mut onlap::Transaction| tx.delete_rows(&child.table, &[row]);
        if self.view.scope.tx()?.leave_actions(&left, delete)? != 1 {
            return Err(modified_before(DELETED));
        }
        fires.after_row(child, (Event::Delete, false), (Some(old), None), &[])
    }

    fn update(&self, row: RowId, old: Row, set: &[String]) -> Result<()> {
        let (child, fires, schema) = (self.child, self.fires, &self.child.schema);
        let mut new = old.clone();
        for (name, value) in &self.lost.set {
            let at = schema.position_by_name(name).ok_or_else(SqlError::concurrent_update)?;
            new[at] = value.clone();
        }
        let made = fires.before_row(child, Event::Update, (Some(&old), Some(new)), set)?;
        let Some(made) = made else { return Ok(()) };
        let is_set = |at: &usize| {
            let name = &schema.columns[*at].name;
            !is_same(&made[*at], &old[*at]) || self.lost.set.iter().any(|(of, _)| of == name)
        };
        let own = (0..schema.columns.len()).filter(|at| !schema.is_generated(*at));
        let changed: Vec<usize> = own.filter(is_set).collect();
        let names: Vec<&str> = changed.iter().map(|at| schema.columns[*at].name.as_str()).collect();
        self.must_be(row, &old, UPDATED)?;
        let left = fires.left(child)?;
        let mut values = |_: RowId| Ok(changed.iter().map(|at| made[*at].clone()).collect());
        let change = |tx: &mut onlap::Transaction| {
            tx.change_each(&child.table, slice::from_ref(&row), &names, &mut values)
        };
        self.view.scope.tx()?.leave_actions(&left, change)?;
        fires.after_row(child, (Event::Update, false), (Some(old), Some(made)), set)
    }
}

/// The statement that PostgreSQL runs for an action.
fn text(lost: &LostKey, parent: &TableHandle, new: Option<&Row>) -> String {
    let schema = lost.child.schema();
    let name = Name::of_engine(&schema.name).1;
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let table = format!("ONLY {}.{}", quoted(&name.schema), quoted(&name.name));
    // Parameters of an UPDATE begin with the new values.
    let cascades = new.is_some() && lost.key.on_update == Action::Cascade;
    let first = if cascades { lost.set.len() + 1 } else { 1 };
    let action = if new.is_some() { lost.key.on_update } else { lost.key.on_delete };
    let begin = match action {
        _ if lost.set.is_empty() => format!("DELETE FROM {table}"),
        action => {
            let value = |at: usize| match action {
                Action::SetNull => "NULL".to_owned(),
                Action::SetDefault => "DEFAULT".to_owned(),
                _ => format!("${}", at + 1),
            };
            let set = lost.set.iter().enumerate();
            let set: Vec<String> =
                set.map(|(at, (name, _))| format!("{} = {}", quoted(name), value(at))).collect();
            format!("UPDATE {table} SET {}", set.join(", "))
        }
    };
    let of_key = |at: usize, id: onlap::ColumnId| {
        let place = schema.position(id)?;
        let column = &schema.columns[place];
        let parent_type = parent.schema.index(lost.key.parent_index).and_then(|index| {
            let column = index.key.get(at)?.column;
            Some(parent.schema.columns[parent.schema.position(column)?].ty)
        });
        let cast = |ty| match ty {
            Some(DataType::Varchar(_)) => "::pg_catalog.text",
            _ => "",
        };
        let number = first + at;
        let (theirs, own) = (cast(parent_type), cast(Some(column.ty)));
        Some(format!("${number}{theirs} OPERATOR(pg_catalog.=) {}{own}", quoted(&column.name)))
    };
    let key = lost.key.columns.iter().enumerate();
    let key: Vec<String> = key.filter_map(|(at, id)| of_key(at, *id)).collect();
    format!("{begin} WHERE {}", key.join(" AND "))
}
