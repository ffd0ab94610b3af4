//! UPDATE and DELETE.
//!
//! What RETURNING asks of tables, it asks as they were when the statement began: so it is calculated before rows are written.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use onlap::{Row, RowId, RowLock, TableSchema, Value};
use onlap_pg::bound::CheckKind;
use onlap_query::Source;

use super::find::{Found, ids_in, ids_of};
use super::insert::write;
use super::members::{FETCHED, Group, Moves};
use super::returning::{Asks, Returned, asks_generated, asks_version, versions_of};
use super::{Done, Statement, array_of, default_of, places, value_at};
use crate::catalog::oids;
use crate::ddl::generated;
use crate::error::{Result, SqlError};
use crate::fast::bytes_of;
use crate::plan::Held;

/// DELETE.
pub fn delete(statement: &Statement<'_>) -> Result<Done> {
    let Found { changing, batches } = statement.find(None)?;
    let mut returned = Returned::charged(batches.another());
    for batch in &batches {
        let found = |source| match source {
            Source::Found(at) | Source::Relation(Some(at)) => Ok(batch.column(at).clone()),
            Source::Ended => Ok(statement.ended(ids_in(batch).map(|_| true))),
            _ => Err(SqlError::defect("a row that is deleted is as it was found")),
        };
        returned.add(changing.change.returning.as_ref(), batch.num_rows(), found)?;
    }
    let ids = ids_of(&batches);
    let n = statement.delete(&ids)?;
    Ok(Done { tag: "DELETE", rows: n, returned })
}

/// UPDATE.
pub fn update(statement: &Statement<'_>) -> Result<Done> {
    let schema = &statement.target.schema;
    let set = places(&statement.query().targets).filter(|at| !schema.is_generated(*at));
    let set: Vec<usize> = set.collect();
    let found = statement.find(Some(&set))?;
    let written = &found.changing.change.written;
    let mut setting = Setting::new(statement, &found.batches, written)?;
    let mut moving = found.batches.another();
    setting.find_moves(&mut moving)?;
    if asks_generated(schema, &found.changing.change) {
        setting.generate(&mut moving)?;
    }
    if asks_version(&found.changing.change) {
        setting.find_versions(&mut moving)?;
    }
    let mut returned = Returned::charged(found.batches.another());
    let source = |at: usize| {
        let (batch, setting): (&RecordBatch, &Setting<'_>) = (&found.batches[at], &setting);
        move |source| match source {
            Source::Found(place) => Ok(batch.column(place).clone()),
            Source::Row(number) => setting.column(at, number),
            Source::Relation(Some(place)) => Ok(setting.relations(batch, place)),
            Source::Version => Ok(setting.versions_of(batch)),
            Source::Excluded(_) | Source::Relation(None) | Source::Ended | Source::Command => {
                Err(SqlError::defect("UPDATE has no row to insert"))
            }
        }
    };
    let change = &found.changing.change;
    let asked = Asks::of(statement, change);
    for (at, batch) in found.batches.iter().enumerate() {
        asked.check(CheckKind::Update, batch.num_rows(), source(at), |_| Ok(None))?;
    }
    for (at, batch) in found.batches.iter().enumerate() {
        returned.add(change.returning.as_ref(), batch.num_rows(), source(at))?;
    }
    setting.write()?;
    for (at, batch) in found.batches.iter().enumerate() {
        let whole = |row| setting.row_of(batch, row);
        asked.check(CheckKind::View, batch.num_rows(), source(at), whole)?;
    }
    let n = setting.places.len() as u64;
    Ok(Done { tag: "UPDATE", rows: n, returned })
}

/// What a row's version takes while it is known by the row's id, in a hash table that has just grown.
const VERSION_BYTES: usize = 48;

/// How rows are locked of which columns are set: more strongly where one is part of a unique key.
pub fn lock_mode(schema: &TableSchema, mut places: impl Iterator<Item = usize>) -> RowLock {
    let keyed = |place: usize| {
        let id = schema.columns[place].id;
        let mut unique = schema.indexes.iter().filter(|index| index.is_unique());
        unique.any(|index| schema.columns_of(index).contains(&id))
    };
    if places.any(keyed) { RowLock::Update } else { RowLock::NoKeyUpdate }
}

/// What rows become that were found and locked.
pub struct Setting<'a> {
    statement: &'a Statement<'a>,
    batches: &'a [RecordBatch],
    /// The columns that are set, with the places of their values; none for DEFAULT.
    written: Vec<(usize, Option<usize>)>,
    /// Rows by id, with their places in the batches.
    places: Vec<(RowId, usize, usize)>,
    /// Of each column that is set to DEFAULT, the values by batch and row.
    defaults: Vec<(usize, Vec<Vec<Value>>)>,
    /// The rows that go to other tables.
    moves: Moves,
    /// Generated columns, if they were asked for, as of `defaults`.
    generated: Vec<(usize, Vec<Vec<Value>>)>,
    /// What versions rows become, by their ids, if they were asked for.
    versions: HashMap<RowId, u32>,
}

impl<'a> Setting<'a> {
    /// Of rows whose ids are the first column of batches.
    ///
    /// # Errors
    /// Those of defaults.
    pub fn new(
        statement: &'a Statement<'a>,
        batches: &'a [RecordBatch],
        written: &'a [(usize, Option<usize>)],
    ) -> Result<Setting<'a>> {
        let mut places = Vec::new();
        for (b, batch) in batches.iter().enumerate() {
            places.extend(ids_in(batch).enumerate().map(|(row, id)| (id, b, row)));
        }
        places.sort_unstable();
        // Triggers may be of a generated column that is set to DEFAULT.
        let is_own = |(number, _): &&(usize, Option<usize>)| {
            statement.fires.is_some() || !statement.target.schema.is_generated(number - 1)
        };
        let written: Vec<_> = written.iter().filter(is_own).copied().collect();
        let table = &statement.target.table;
        let mut defaults = Vec::new();
        for (number, _) in written.iter().filter(|(_, place)| place.is_none()) {
            let mut all = Vec::with_capacity(batches.len());
            for batch in batches {
                let one = |_| default_of(statement, table, *number);
                all.push((0..batch.num_rows()).map(one).collect::<Result<_>>()?);
            }
            defaults.push((*number, all));
        }
        let (moves, generated) = (Moves::new(), Vec::new());
        let versions = HashMap::new();
        Ok(Setting { statement, batches, written, places, defaults, moves, generated, versions })
    }

    /// Calculates generated columns, for who asks what rows become. They are charged to `held`.
    ///
    /// # Errors
    /// Values that cannot be calculated with; `53200`.
    pub fn generate(&mut self, held: &mut Held) -> Result<()> {
        let schema = &self.statement.target.schema;
        let numbers: Vec<usize> =
            (1..=schema.columns.len()).filter(|n| schema.is_generated(n - 1)).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let empty = || self.batches.iter().map(|b| vec![Value::Null; b.num_rows()]).collect();
        let mut all: Vec<(usize, Vec<Vec<Value>>)> =
            numbers.iter().map(|number| (*number, empty())).collect();
        // A table below may calculate a column in another way, and of columns that it alone has.
        self.each_whole(|group, ids, rows| {
            let own = &group.table.schema;
            for (id, row) in ids.into_iter().zip(rows) {
                let (_, batch, at) = self.place(id);
                for (number, values) in &mut all {
                    let at_own = own.position_by_name(&schema.columns[*number - 1].name);
                    let value = row[at_own.ok_or_else(SqlError::concurrent_update)?].clone();
                    held.charge(size_of::<Value>() + bytes_of(&vec![value.clone()]))?;
                    values[batch][at] = value;
                }
            }
            Ok(())
        })?;
        self.generated = all;
        Ok(())
    }

    /// Hands on what rows become as a whole, some of a table at a time, by the ids that the statement knows.
    fn each_whole(
        &self,
        mut take: impl FnMut(&Group<'a>, Vec<RowId>, Vec<Row>) -> Result<()>,
    ) -> Result<()> {
        let (statement, columns) = (self.statement, self.columns());
        let ids: Vec<RowId> = self.places.iter().map(|place| place.0).collect();
        for group in statement.groups(&ids) {
            for some in group.rows.chunks(FETCHED) {
                let mut values = |id: RowId| self.values(id);
                let own = &group.table.schema;
                let rows = statement.new_rows(&group, own, some, (&columns, &mut values))?;
                let (known, mut rows): (Vec<RowId>, Vec<Row>) = rows.into_iter().unzip();
                generated::fill(statement.view, &group.table.table, &mut rows)?;
                let known_as = |id| statement.known_as(group.member, id);
                let ids = known.into_iter().map(known_as).collect::<Result<_>>()?;
                take(&group, ids, rows)?;
            }
        }
        Ok(())
    }

    /// Finds what versions rows become, for who asks. They are charged to `held`.
    ///
    /// # Errors
    /// Values that their columns cannot have; `53200`.
    pub fn find_versions(&mut self, held: &mut Held) -> Result<()> {
        held.charge(self.places.len() * VERSION_BYTES)?;
        let mut found = HashMap::with_capacity(self.places.len());
        self.each_whole(|group, ids, rows| {
            found.extend(ids.into_iter().zip(versions_of(group.table, &rows)?));
            Ok(())
        })?;
        self.versions = found;
        Ok(())
    }

    /// The versions that the rows of a batch become.
    fn versions_of(&self, batch: &RecordBatch) -> ArrayRef {
        let of = |id: RowId| self.versions.get(&id).copied();
        Arc::new(ids_in(batch).map(of).collect::<UInt32Array>())
    }

    fn place(&self, id: RowId) -> (RowId, usize, usize) {
        let at = self.places.binary_search_by_key(&id, |place| place.0);
        self.places[at.expect("a row that was found")]
    }

    fn defaults(&self, number: usize, batch: usize) -> &[Value] {
        let mut all = self.generated.iter().chain(&self.defaults);
        let found = all.find(|(known, _)| *known == number);
        &found.expect("it is set to DEFAULT").1[batch]
    }

    /// The values that are set in a row.
    pub fn values(&self, id: RowId) -> Result<Vec<Value>> {
        let (_, batch, row) = self.place(id);
        let columns = &self.batches[batch];
        let value = |(number, place): &(usize, Option<usize>)| match place {
            Some(place) => value_at(self.statement.target, *number, columns.column(*place), row),
            None => Ok(self.defaults(*number, batch)[row].clone()),
        };
        self.written.iter().map(value).collect()
    }

    /// A column of the rows of a batch, as it is written.
    fn column(&self, batch: usize, number: usize) -> Result<ArrayRef> {
        match self.written.iter().find(|(known, _)| *known == number) {
            Some((_, Some(place))) => Ok(self.batches[batch].column(*place).clone()),
            _ => {
                let values = self.defaults(number, batch).iter();
                array_of(self.statement.target, number, values)
            }
        }
    }

    /// Changes the rows, all of them at once: what one row's change brings about in another does not hide that.
    ///
    /// # Errors
    /// Values that do not fit; conflicts.
    pub fn write(&self) -> Result<()> {
        let ids: Vec<RowId> = self.places.iter().map(|place| place.0).collect();
        let columns = self.columns();
        let mut values = |id: RowId| self.values(id);
        let statement = self.statement;
        for group in statement.groups(&ids) {
            statement.set(&group, &self.moves, &columns, &mut values)?;
        }
        for (leaf, row) in self.moves.values() {
            write(statement.view, &leaf.table, &[leaf.fit(row)])?;
        }
        Ok(())
    }

    /// Finds the rows that go to other tables; they are charged to `held`.
    ///
    /// # Errors
    /// Values that do not fit; `23514`: no partition has a row.
    pub fn find_moves(&mut self, held: &mut Held) -> Result<()> {
        let statement = self.statement;
        if !statement.may_move(self.written.iter().map(|(number, _)| number - 1)) {
            return Ok(());
        }
        let ids: Vec<RowId> = self.places.iter().map(|place| place.0).collect();
        let columns = self.columns();
        let mut moves = Moves::new();
        for group in statement.groups(&ids) {
            let mut values = |id: RowId| self.values(id);
            moves.extend(statement.moves(&group, &columns, &mut values, held)?);
        }
        self.moves = moves;
        Ok(())
    }

    /// Asks of what the rows are to become whether they may be written.
    ///
    /// # Errors
    /// `42501`; values that cannot be calculated with.
    pub fn check_new(&self, asked: Asks<'_>) -> Result<()> {
        let statement = self.statement;
        let ids: Vec<RowId> = self.places.iter().map(|place| place.0).collect();
        let columns = self.columns();
        for group in statement.groups(&ids) {
            for some in group.rows.chunks(FETCHED) {
                let mut values = |id: RowId| self.values(id);
                let target = &statement.target.schema;
                let rows = statement.new_rows(&group, target, some, (&columns, &mut values))?;
                let mut rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
                generated::fill(statement.view, &statement.target.table, &mut rows)?;
                asked.check_rows(CheckKind::Update, &rows)?;
            }
        }
        Ok(())
    }

    /// What a row of a batch becomes, in the columns of the table that the statement names.
    fn row_of(&self, batch: &RecordBatch, row: usize) -> Result<Option<Row>> {
        let (statement, columns) = (self.statement, self.columns());
        let Some(id) = ids_in(batch).nth(row) else { return Ok(None) };
        let groups = statement.groups(&[id]);
        let [group] = &groups[..] else { return Ok(None) };
        let mut values = |id: RowId| self.values(id);
        let target = &statement.target.schema;
        let found = statement.new_rows(group, target, &group.rows, (&columns, &mut values))?;
        let mut rows: Vec<Row> = found.into_iter().map(|(_, row)| row).collect();
        generated::fill(statement.view, &statement.target.table, &mut rows)?;
        Ok(rows.pop())
    }

    /// The names of the columns that are set.
    pub fn columns(&self) -> Vec<&'a str> {
        let schema = &self.statement.target.schema;
        self.written.iter().map(|(number, _)| schema.columns[number - 1].name.as_str()).collect()
    }

    /// Whose rows they are that a batch has, which says whose they were.
    fn relations(&self, batch: &RecordBatch, place: usize) -> ArrayRef {
        if self.moves.is_empty() {
            return batch.column(place).clone();
        }
        let were = batch.column(place).as_primitive::<UInt32Type>();
        let is = |(row, id): (usize, RowId)| match self.moves.get(&id) {
            Some((leaf, _)) => oids::of_table(leaf.table.schema.id),
            None => were.value(row),
        };
        let all = ids_in(batch).enumerate().map(is);
        Arc::new(UInt32Array::from_iter_values(all))
    }
}
