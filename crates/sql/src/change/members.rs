//! Of which tables are the rows that a statement changes?
//!
//! Where the table that it names has others below it, the id of a row says whose it is ([`crate::query::family`]). Each table's
//! rows are locked and changed by themselves, by names of columns, which are the same in all of them.
//!
//! A row that UPDATE gives other values of a partition key may belong to another partition then: it is deleted, and inserted
//! there.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use onlap::{LockWait, Row, RowId, RowLock, TableSchema, Value, convert};

use super::routes::{Leaf, hold};
use super::update::lock_mode;
use super::{Statement, called, is_same};
use crate::catalog::families::Key;
use crate::catalog::oids;
use crate::error::{Result, SqlError, state};
use crate::fast::bytes_of;
use crate::plan::{Held, TableHandle};
use crate::query::family::{packed, unpacked};

/// Rows of one table.
pub struct Group<'a> {
    /// The table's number in the family.
    pub member: usize,
    /// The table.
    pub table: &'a TableHandle,
    /// The rows' ids in it.
    pub rows: Vec<RowId>,
}

impl<'a> Statement<'a> {
    /// Rows by their tables.
    pub fn groups(&self, ids: &[RowId]) -> Vec<Group<'a>> {
        let Some(family) = self.family else {
            return vec![Group { member: 0, table: self.target, rows: ids.to_vec() }];
        };
        let mut groups: Vec<Group<'a>> = Vec::new();
        for id in ids {
            let (member, row) = unpacked(*id);
            match groups.iter_mut().find(|group| group.member == member) {
                Some(group) => group.rows.push(row),
                None => {
                    let table = &family.members[member].table;
                    groups.push(Group { member, table, rows: vec![row] });
                }
            }
        }
        groups.sort_by_key(|group| group.member);
        groups
    }

    /// The id of a table's row, as the statement's steps know it.
    pub fn known_as(&self, member: usize, row: RowId) -> Result<RowId> {
        if self.family.is_some() { packed(member, row) } else { Ok(row) }
    }

    /// Locks rows; those that were locked, and whether one of them is another than was found. `set` are the places of the
    /// columns that are to be set; none where rows are deleted.
    ///
    /// # Errors
    /// Those of waits for locks; conflicts.
    pub fn lock(&self, ids: &[RowId], set: Option<&[usize]>) -> Result<(Vec<RowId>, bool)> {
        let (mut locked, mut moved) = (Vec::with_capacity(ids.len()), false);
        for group in self.groups(ids) {
            let mode = match set {
                None => RowLock::Update,
                Some(set) => lock_mode(&group.table.schema, self.places_in(&group, set)),
            };
            let mut recheck = |_: RowId, _: &Row| {
                moved = true;
                Ok(true)
            };
            if self.family.is_some() {
                hold(self.view, group.table)?;
            }
            let (table, wait) = (&group.table.table, LockWait::Block);
            let mut tx = self.view.scope.tx()?;
            for row in tx.lock_rows(table, &group.rows, mode, wait, &mut recheck)? {
                locked.push(self.known_as(group.member, row)?);
            }
        }
        Ok((locked, moved))
    }

    fn places_in(&self, group: &Group<'_>, set: &[usize]) -> impl Iterator<Item = usize> {
        let family = self.family.map(|family| &family.members[group.member].places);
        let places: Vec<usize> =
            set.iter().map(|at| family.map_or(*at, |places| places[*at])).collect();
        places.into_iter()
    }

    /// Deletes rows that are locked, and says how many.
    ///
    /// # Errors
    /// `40001`: one is not there any more.
    pub fn delete(&self, ids: &[RowId]) -> Result<u64> {
        let mut n = 0;
        for group in self.groups(ids) {
            let mut tx = self.view.scope.tx()?;
            n += tx.delete_rows(&group.table.table, &group.rows)?;
        }
        if n != ids.len() as u64 {
            return Err(SqlError::concurrent_update());
        }
        Ok(n)
    }

    /// Notes that rows are changed.
    ///
    /// # Errors
    /// `53200`.
    pub fn touch(&self, ids: &[RowId], held: &Held) -> Result<()> {
        for group in self.groups(ids) {
            self.shared.touch(&group.table.table, group.rows.into_iter(), held)?;
        }
        Ok(())
    }

    /// Whether the statement has changed a row already, or written it.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn has_touched(&self, id: RowId) -> Result<bool> {
        match self.family {
            None => self.shared.has_touched(&self.target.table, id),
            Some(family) => {
                let (member, row) = unpacked(id);
                self.shared.has_touched(&family.members[member].table.table, row)
            }
        }
    }

    /// Fails where a row that could not be locked may have gone to another partition, so that it is found there now.
    ///
    /// # Errors
    /// `40001`.
    pub fn refuse_moved(&self, before: &[RowId], now: impl Iterator<Item = RowId>) -> Result<()> {
        if !self.family.is_some_and(|family| family.is_divided()) {
            return Ok(());
        }
        let before: HashSet<&RowId> = before.iter().collect();
        let mut new = now.filter(|id| !before.contains(id));
        match new.next() {
            None => Ok(()),
            Some(_) => {
                let text = "tuple to be locked was already moved to another partition due to \
                            concurrent update";
                Err(SqlError::new("40001", text))
            }
        }
    }

    /// Whether rows of which these columns are set may belong to another partition then.
    pub fn may_move(&self, set: impl Iterator<Item = usize>) -> bool {
        if self.routes.is_none() {
            return false;
        }
        let families = self.view.objects.families();
        let own = self.target.schema.id;
        let set: Vec<&str> = set.map(|at| self.target.schema.columns[at].name.as_str()).collect();
        let members = self.family.into_iter().flat_map(|family| &family.members);
        let below = members.map(|member| member.table.schema.id);
        let mut tables: Vec<onlap::TableId> = below.collect();
        tables.extend(families.all_above(own));
        tables.push(own);
        let all = crate::query::family::by_id(self.view).unwrap_or_default();
        tables.iter().any(|table| {
            let Some(divided) = families.divided(*table) else { return false };
            let schema = all.get(table).map(onlap::Table::schema);
            divided.keys.iter().any(|key| match (key, &schema) {
                (Key::Column(id), Some(schema)) => schema
                    .position(*id)
                    .is_none_or(|at| set.contains(&schema.columns[at].name.as_str())),
                _ => true,
            })
        })
    }

    /// Sets columns of rows of one table, of which `values` says what they become; those that go to other tables are deleted.
    ///
    /// # Errors
    /// Values that do not fit; conflicts.
    pub fn set(
        &self,
        group: &Group<'_>,
        moves: &Moves,
        columns: &[&str],
        values: &mut dyn FnMut(RowId) -> Result<Vec<Value>>,
    ) -> Result<()> {
        let (mut stay, mut go) = (Vec::with_capacity(group.rows.len()), Vec::new());
        for row in &group.rows {
            match moves.contains_key(&self.known_as(group.member, *row)?) {
                true => go.push(*row),
                false => stay.push(*row),
            }
        }
        self.change_each(group, &stay, columns, values)?;
        if !go.is_empty() {
            let n = self.view.scope.tx()?.delete_rows(&group.table.table, &go)?;
            if n != go.len() as u64 {
                return Err(SqlError::concurrent_update());
            }
        }
        Ok(())
    }

    /// The rows of one table that belong to another when columns are set, as they are then; they are charged to `held`.
    ///
    /// # Errors
    /// Values that do not fit; `23514`: no partition has the row; `53200`.
    pub fn moves(
        &self,
        group: &Group<'_>,
        columns: &[&str],
        values: &mut dyn FnMut(RowId) -> Result<Vec<Value>>,
        held: &mut Held,
    ) -> Result<Moves> {
        let mut moves = Moves::new();
        let Some(routes) = &self.routes else { return Ok(moves) };
        for some in group.rows.chunks(FETCHED) {
            let rows = self.new_rows(group, &self.target.schema, some, (columns, &mut *values))?;
            let new: Vec<&Row> = rows.iter().map(|(_, row)| row).collect();
            let leaves = routes.borrow_mut().leaves_of(&new)?;
            for ((id, row), leaf) in rows.into_iter().zip(leaves) {
                if leaf.table.schema.id != group.table.schema.id {
                    held.charge(bytes_of(&row) + MOVE_BYTES)?;
                    moves.insert(self.known_as(group.member, id)?, (leaf, row));
                }
            }
        }
        Ok(moves)
    }

    /// Whose rows new ones are, as OIDs.
    ///
    /// # Errors
    /// `23514`.
    pub fn relations_of(&self, rows: &[Row]) -> Result<ArrayRef> {
        let own = oids::of_table(self.target.schema.id);
        let Some(routes) = &self.routes else {
            return Ok(Arc::new(UInt32Array::from_value(own, rows.len())));
        };
        let rows: Vec<&Row> = rows.iter().collect();
        let leaves = routes.borrow_mut().leaves_of(&rows)?;
        let all = leaves.iter().map(|leaf| oids::of_table(leaf.table.schema.id));
        Ok(Arc::new(UInt32Array::from_iter_values(all)))
    }

    /// Changes columns of rows that stay in their table.
    ///
    /// # Errors
    /// As of [`Statement::set`].
    pub fn change_each(
        &self,
        group: &Group<'_>,
        rows: &[RowId],
        columns: &[&str],
        values: &mut dyn FnMut(RowId) -> Result<Vec<Value>>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        called::must_of_rows(self.view, &group.table.schema, Some(columns))?;
        if called::must_of_indexes(self.view, &group.table.schema, Some(columns)).is_err() {
            for some in rows.chunks(FETCHED) {
                let others = self.others(group, some, (columns, &mut *values))?;
                called::must_of_indexes(self.view, &group.table.schema, Some(&others))?;
            }
        }
        let mut failed = None;
        let mut of_engine = |id: RowId| {
            let made = self.known_as(group.member, id).and_then(&mut *values);
            made.map_err(|e| {
                let text = e.to_string();
                failed = Some(e);
                onlap::Error::new(onlap::ErrorKind::InvalidInput, text)
            })
        };
        let mut tx = self.view.scope.tx()?;
        let changed = tx.change_each(&group.table.table, rows, columns, &mut of_engine);
        drop(tx);
        match failed {
            Some(e) => Err(e),
            None => Ok(changed?),
        }
    }

    /// The columns that are set in which one of the rows gets another value than it has.
    ///
    /// # Errors
    /// `40001`: one is not there any more.
    fn others<'c>(
        &self,
        group: &Group<'_>,
        some: &[RowId],
        (columns, values): (&[&'c str], &mut dyn FnMut(RowId) -> Result<Vec<Value>>),
    ) -> Result<Vec<&'c str>> {
        let schema = &group.table.schema;
        let batch = self.view.scope.tx()?.fetch(&group.table.table, some, None)?;
        if batch.row_ids.len() != some.len() {
            return Err(SqlError::concurrent_update());
        }
        let mut others = vec![false; columns.len()];
        for (n, id) in batch.row_ids.iter().enumerate() {
            let new = values(self.known_as(group.member, *id)?)?;
            for ((name, value), other) in columns.iter().zip(new).zip(&mut others) {
                let at = schema.position_by_name(name).ok_or_else(SqlError::concurrent_update)?;
                let of = &batch.columns.columns[at];
                let old = convert::read_value(schema.columns[at].ty, of, n);
                *other |= !is_same(&old, &value);
            }
        }
        Ok(columns.iter().zip(others).filter_map(|(name, other)| other.then_some(*name)).collect())
    }

    /// What rows become, in the columns of a table: the named one, or their own.
    ///
    /// # Errors
    /// `40001`: one is not there any more.
    pub fn new_rows(
        &self,
        group: &Group<'_>,
        target: &TableSchema,
        some: &[RowId],
        (columns, values): (&[&str], &mut dyn FnMut(RowId) -> Result<Vec<Value>>),
    ) -> Result<Vec<(RowId, Row)>> {
        let schema = &group.table.schema;
        let places = |column: &onlap::ColumnSchema| schema.position_by_name(&column.name);
        let places: Vec<Option<usize>> = target.columns.iter().map(places).collect();
        let batch = self.view.scope.tx()?.fetch(&group.table.table, some, None)?;
        if batch.row_ids.len() != some.len() {
            return Err(SqlError::concurrent_update());
        }
        let mut made = Vec::with_capacity(some.len());
        for (n, id) in batch.row_ids.iter().enumerate() {
            let value = |place: &Option<usize>| match place {
                Some(at) => {
                    convert::read_value(schema.columns[*at].ty, &batch.columns.columns[*at], n)
                }
                None => Value::Null,
            };
            let mut row: Row = places.iter().map(value).collect();
            let new = values(self.known_as(group.member, *id)?)?;
            for (name, value) in columns.iter().zip(new) {
                let at = target.position_by_name(name);
                row[at.expect("a column that is set is there")] = value;
            }
            made.push((*id, row));
        }
        Ok(made)
    }

    /// Inserts rows.
    ///
    /// # Errors
    /// Values that do not fit; keys that are there; `23514`.
    pub fn put(&self, rows: &[Row]) -> Result<()> {
        match &self.routes {
            Some(routes) => routes.borrow_mut().put(rows),
            None => super::insert::write(self.view, self.target, rows),
        }
    }

    /// Fails where a statement cannot be about a table with others.
    ///
    /// # Errors
    /// `0A000`.
    pub fn must_be_alone(&self, what: &str) -> Result<()> {
        match self.routes.is_some() || self.family.is_some() {
            true => Err(SqlError::new(
                state::UNSUPPORTED,
                format!("{what} of a table with partitions is not supported"),
            )),
            false => Ok(()),
        }
    }
}

/// Rows that are read at once.
pub const FETCHED: usize = 1024;
/// What a row that moves takes besides its values.
const MOVE_BYTES: usize = 96;

/// A table that a row goes to.
pub type Leafed = Arc<Leaf>;

/// Rows that go to other tables, by their ids as the statement's steps know them.
pub type Moves = BTreeMap<RowId, (Leafed, Row)>;
