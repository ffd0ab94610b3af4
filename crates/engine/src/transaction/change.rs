//! How does a transaction change rows?
//!
//! An insert appends to the buffer. A delete marks a row that was locked in its newest version, an
//! update does so with a new row as successor. Whoever changes many rows locks them by rising id, so
//! that statements of that kind do not wait for each other in a circle.

use std::borrow::Cow;
use std::sync::Arc;

use onlap_base::{PROVISIONAL_BASE, Result, RowId, stop};
use onlap_format::{Batch, CheckSchema, Row, TableSchema, Value};
use roaring::RoaringTreemap;

use super::buffer::Found;
use super::by_key::changed_since;
use super::children::Losses;
use super::column_changes::set_columns;
use super::incoming::row_bytes;
use super::rows::{LockedRows, Recheck, Settled};
use super::{Isolation, MARK_BYTES, STEPS, Transaction};
use crate::changes::Change;
use crate::database::Table;
use crate::derive::{self, Calculator};
use crate::locks::{LockWait, RowLock};
use crate::read::Registration;

/// For a new row: no columns were named, all were set.
const NO_NAMES: Option<&[&str]> = None;

/// Rows that are read and replaced at once.
const READ_AT_ONCE: usize = 1 << 12;

/// What an update makes of the row with an id.
pub(super) type SetRow<'a> = &'a mut dyn FnMut(RowId, &mut Row, &TableSchema) -> Result<()>;

/// What an update sets.
pub type Changes<'a> = &'a [(&'a str, Value)];

impl Transaction {
    /// Inserts one row: one value per column; NULL in a serial column takes the next counter value.
    ///
    /// # Errors
    /// Wrong number or type of values, a value above a limit or outside its type's range, NULL where
    /// the column refuses it; [`crate::ErrorKind::DuplicateKey`], after waiting for another transaction that
    /// brings the same key or deletes the row that has it.
    pub fn insert(&mut self, table: &Table, row: &[Value]) -> Result<()> {
        self.insert_rows(table, &[row])
    }

    /// Inserts few rows, as [`Transaction::insert`] does one. Each is judged as it comes, by foreign keys when all are there, so
    /// that they may refer to each other.
    ///
    /// # Errors
    /// As [`Transaction::insert`], of the first row that is refused; nothing of the rows is kept.
    pub fn insert_rows<R: AsRef<[Value]>>(&mut self, table: &Table, rows: &[R]) -> Result<()> {
        self.writing(table)?;
        let mut room = self.make_room(rows.iter().map(|row| row_bytes(row.as_ref())).sum());
        let buffer = self.buffer(table)?;
        let (before, from) = (buffer.mark(), buffer.rows.rows);
        let due = self.due.mark();
        let mut inserted = rows.iter().try_for_each(|row| {
            let buffer = self.buffer(table)?;
            let at = buffer.rows.rows;
            buffer.push_row(row.as_ref(), true)?;
            buffer.did.insert(1);
            std::mem::replace(&mut room, Ok(()))?;
            self.reserve(table, at)?;
            self.check_at_once(table, at, NO_NAMES)
        });
        inserted = inserted.and_then(|()| self.check_at_end(table, from, NO_NAMES));
        if let Err(e) = inserted {
            self.buffer(table)?.rewind(before);
            self.undo_due(&due);
            return Err(e);
        }
        self.charge();
        Ok(())
    }

    /// Judges a row by what an insert would refuse whatever other rows there are: NULL, checks. A serial column
    /// that is NULL keeps its counter; a check of such a column is left to the insert.
    ///
    /// # Errors
    /// As [`Transaction::insert`], without those of keys.
    pub fn judge_new(&mut self, table: &Table, row: &[Value]) -> Result<()> {
        self.writing(table)?;
        let buffer = self.buffer(table)?;
        let mut row = Cow::Borrowed(row);
        // A table has one serial column at most.
        if let Some(at) = buffer.schema.serial() {
            let column = &buffer.schema.columns[at];
            if row.get(at) == Some(&Value::Null) {
                let reads = |check: &CheckSchema| check.expr.columns().contains(&column.id);
                if buffer.schema.checks.iter().any(reads) {
                    return Ok(());
                }
                row.to_mut()[at] = Value::Int(1);
            }
        }
        buffer.judge_row(&row)
    }

    /// Inserts many rows in column form. The batch has the table's columns in order, in physical
    /// form; NULLs in a serial column take counter values.
    ///
    /// # Errors
    /// As [`Transaction::insert`]; nothing of the batch is kept.
    pub fn insert_batch(&mut self, table: &Table, batch: Batch) -> Result<()> {
        self.writing(table)?;
        let step = self.rows_at_once(&batch);
        if batch.rows <= step {
            self.make_room(batch.heap_bytes())?;
            return self.atomically(|tx| tx.append(table, batch));
        }
        self.atomically(|tx| {
            tx.judged_at_end(|tx| {
                for from in (0..batch.rows).step_by(step) {
                    let mut part = Batch::new(batch.columns.iter().map(|c| c.data.physical()));
                    part.extend_range(&batch, from..batch.rows.min(from + step));
                    tx.make_room(part.heap_bytes())?;
                    tx.append(table, part)?;
                    tx.charge();
                }
                Ok(())
            })
        })
    }

    fn append(&mut self, table: &Table, batch: Batch) -> Result<()> {
        let buffer = self.buffer(table)?;
        let at = buffer.rows.rows;
        let rows = batch.rows as u64;
        buffer.push_batch(batch)?;
        self.reserve(table, at)?;
        self.check_rules(table, at, NO_NAMES)?;
        // One that is refused comes again row by row, where its first bad row is looked for.
        self.buffer(table)?.did.insert(rows);
        Ok(())
    }

    /// Deletes the row with this primary key; false when there is none.
    ///
    /// # Errors
    /// The table has no primary key, or the key does not have its types; those of
    /// [`Transaction::lock_rows`].
    pub fn delete(&mut self, table: &Table, key: &[Value]) -> Result<bool> {
        self.writing(table)?;
        let Some(found) = self.find_locked(table, key, RowLock::Update)? else { return Ok(false) };
        self.make_room(MARK_BYTES)?;
        let mut losses = self.losses(table);
        if losses.wanted {
            losses.note(self.read_found(table, found)?, None);
        }
        self.atomically(|tx| {
            tx.buffer(table)?.delete(found);
            tx.follow(table, losses)
        })?;
        Ok(true)
    }

    /// Deletes rows by row id, as index scans return them; returns how many were visible. At READ
    /// COMMITTED rows that others replaced meanwhile are deleted in their newest version; see
    /// [`Transaction::lock_rows`] to look at them first.
    ///
    /// # Errors
    /// Those of [`Transaction::lock_rows`].
    pub fn delete_rows(&mut self, table: &Table, rows: &[RowId]) -> Result<u64> {
        self.delete_rows_if(table, rows, &mut |_: RowId, _: &Row| Ok(true))
    }

    /// As [`Transaction::delete_rows`]; of rows that others changed meanwhile `recheck` says whether they
    /// are still wanted.
    ///
    /// # Errors
    /// Those of [`Transaction::lock_rows`] and of `recheck`.
    pub fn delete_rows_if(
        &mut self,
        table: &Table,
        rows: &[RowId],
        recheck: Recheck<'_>,
    ) -> Result<u64> {
        self.writing(table)?;
        self.delete_seen(table, rows, recheck)
    }

    /// Deletes those of the rows that the statement sees, and of which the newest versions pass.
    pub(crate) fn delete_seen(
        &mut self,
        table: &Table,
        rows: &[RowId],
        recheck: Recheck<'_>,
    ) -> Result<u64> {
        let (committed, own) = self.seen(table, rows)?;
        let locked = self.lock_all(table, committed, RowLock::Update, LockWait::Block, recheck)?;
        self.delete_locked(table, locked, own)
    }

    /// Deletes rows that are locked, and own ones.
    pub(super) fn delete_locked(
        &mut self,
        table: &Table,
        locked: LockedRows,
        own: Vec<RowId>,
    ) -> Result<u64> {
        let own = self.lock_own(table, own, RowLock::Update, LockWait::Block)?;
        let mut losses = self.losses(table);
        if losses.wanted {
            let rows = self.read_locked(table, &locked.rows, locked.moved)?;
            rows.into_iter().for_each(|row| losses.note(row, None));
            for row in &own {
                losses.note(self.read_found(table, Found::of(*row))?, None);
            }
        }
        let all = locked.rows.into_iter().chain(own);
        self.atomically(|tx| {
            let mut deleted = 0;
            tx.make_room(all.size_hint().0 * MARK_BYTES)?;
            let buffer = tx.buffer(table)?;
            for row in all {
                buffer.delete(Found::of(row));
                deleted += 1;
            }
            tx.follow(table, losses)?;
            Ok(deleted)
        })
    }

    /// Changes columns of the row with this primary key; false when there is none. The new version
    /// is a new row; the old one is marked with it as successor.
    ///
    /// # Errors
    /// As [`Transaction::delete`] and [`Transaction::insert`].
    pub fn update(&mut self, table: &Table, key: &[Value], changes: Changes<'_>) -> Result<bool> {
        let changes: Vec<_> = changes.iter().map(|(n, v)| (*n, Change::Set(v.clone()))).collect();
        self.change(table, key, &changes)
    }

    /// Changes the row with this primary key as `set` does, which gets the newest version that the
    /// transaction may change, and sets no other columns than those named; false when there is none.
    ///
    /// # Errors
    /// As [`Transaction::update`], and those of `set`.
    pub fn update_with(
        &mut self,
        table: &Table,
        key: &[Value],
        columns: &[&str],
        mut set: impl FnMut(&mut Row) -> Result<()>,
    ) -> Result<bool> {
        self.update_by(table, key, columns, |row, _| set(row))
    }

    pub(super) fn update_by(
        &mut self,
        table: &Table,
        key: &[Value],
        columns: &[&str],
        mut set: impl FnMut(&mut Row, &TableSchema) -> Result<()>,
    ) -> Result<bool> {
        self.writing(table)?;
        let mode = lock_for(&self.buffer(table)?.schema, columns);
        let Some(found) = self.find_locked(table, key, mode)? else { return Ok(false) };
        let mut row = self.read_found(table, found)?;
        self.atomically(|tx| {
            let schema = Arc::clone(&tx.buffer(table)?.schema);
            let mut losses = tx.losses_of(table, mode);
            let old = losses.wanted.then(|| row.clone());
            let calculator = &tx.shared.calculator;
            let keys = Keys::of(calculator, &schema, mode, &row)?;
            set(&mut row, &schema)?;
            derive::generate_row(calculator, &schema, &mut row)?;
            let keeps = keys.are_of(calculator, &schema, &row)?;
            tx.make_room(MARK_BYTES + row_bytes(&row))?;
            let from = tx.buffer(table)?.rows.rows;
            tx.replace(table, found, &row, columns, keeps)?;
            tx.note_replaced(table, old, &mut losses)?;
            tx.reserve_changed(table, from, mode)?;
            tx.check_rules(table, from, Some(columns))?;
            tx.follow(table, losses)
        })?;
        Ok(true)
    }

    /// Changes columns of rows given by row id, as index scans return them; returns how many were
    /// visible. Each row is read. At READ COMMITTED rows that others replaced meanwhile are changed in
    /// their newest version.
    ///
    /// # Errors
    /// As [`Transaction::update`].
    pub fn update_rows(
        &mut self,
        table: &Table,
        rows: &[RowId],
        changes: Changes<'_>,
    ) -> Result<u64> {
        let changes: Vec<_> = changes.iter().map(|(n, v)| (*n, Change::Set(v.clone()))).collect();
        self.change_rows(table, rows, &changes)
    }

    /// Changes columns of rows that the statement sees or has locked, each row in its own way: `values` says
    /// what the columns become of the row with an id, and may be asked twice. All of the rows change, or none:
    /// rows that are locked first ([`Transaction::lock_rows`]) are there.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`]: a row is not there, or another transaction changed it since it was found.
    /// As [`Transaction::change`]; those of `values`.
    pub fn change_each(
        &mut self,
        table: &Table,
        rows: &[RowId],
        columns: &[&str],
        values: &mut dyn FnMut(RowId) -> Result<Vec<Value>>,
    ) -> Result<()> {
        self.writing(table)?;
        let (committed, own) = self.seen(table, rows)?;
        let mode = lock_for(&self.buffer(table)?.schema, columns);
        let own_for_long =
            |row: &RowId| self.locks.has_row(&table.state, *row, RowLock::NoKeyUpdate);
        let before: RoaringTreemap = match self.options.isolation {
            Isolation::ReadCommitted => committed.iter().copied().filter(own_for_long).collect(),
            Isolation::RepeatableRead | Isolation::Serializable => RoaringTreemap::new(),
        };
        // What others changed before it was locked, the caller has seen.
        let mut as_found = |row: RowId, _: &Row| Ok(before.contains(row));
        let locked = self.lock_all(table, committed, mode, LockWait::Block, &mut as_found)?;
        let own = self.lock_own(table, own, mode, LockWait::Block)?;
        if locked.rows.len() + own.len() != distinct(rows) {
            return Err(changed_since(table));
        }
        if locked.moved {
            self.refresh();
        }
        let changes =
            |values: Vec<Value>| columns.iter().copied().zip(values.into_iter().map(Change::Set));
        self.atomically(|tx| {
            let mut replaced = LockedRows { rows: Vec::new(), moved: locked.moved };
            if tx.are_free(table, columns)? {
                for (n, row) in locked.rows.into_iter().enumerate() {
                    if n % STEPS == 0 {
                        stop::check()?;
                    }
                    let changes: Vec<_> = changes(values(row)?).collect();
                    match tx.free_columns(table, &changes)? {
                        Some(free) => tx.change_landed(table, &[row..row + 1], &free, &changes)?,
                        None => replaced.rows.push(row),
                    }
                }
            } else {
                replaced.rows = locked.rows;
            }
            let set = &mut |id: RowId, row: &mut Row, schema: &TableSchema| {
                let changes: Vec<_> = changes(values(id)?).collect();
                set_columns(schema, row, &changes)
            };
            tx.judged_at_end(|tx| tx.replace_locked(table, &replaced, &own, columns, set).map(drop))
        })
    }

    /// Replaces rows that the statement sees, and of which the newest versions pass.
    pub(super) fn update_seen(
        &mut self,
        table: &Table,
        committed: Vec<RowId>,
        own: Vec<RowId>,
        columns: &[&str],
        set: SetRow<'_>,
        recheck: Recheck<'_>,
    ) -> Result<u64> {
        let mode = lock_for(&self.buffer(table)?.schema, columns);
        let locked = self.lock_all(table, committed, mode, LockWait::Block, recheck)?;
        let own = self.lock_own(table, own, mode, LockWait::Block)?;
        self.atomically(|tx| {
            tx.judged_at_end(|tx| tx.replace_locked(table, &locked, &own, columns, set))
        })
    }

    /// Puts new versions in the places of rows that are locked, and of own ones; returns how many.
    fn replace_locked(
        &mut self,
        table: &Table,
        locked: &LockedRows,
        own: &[RowId],
        columns: &[&str],
        set: SetRow<'_>,
    ) -> Result<u64> {
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let mode = lock_for(&schema, columns);
        let mut losses = self.losses_of(table, mode);
        let mut from = self.buffer(table)?.rows.rows;
        for part in locked.rows.chunks(READ_AT_ONCE) {
            stop::check()?;
            let values = self.read_locked(table, part, locked.moved)?;
            let bytes = values.iter().map(|row| MARK_BYTES + row_bytes(row)).sum();
            if self.is_full(bytes) {
                // Rows are judged while they are in memory.
                self.judge_replaced(table, from, mode, columns)?;
                self.make_room(bytes)?;
                from = self.buffer(table)?.rows.rows;
            }
            self.check_room(bytes)?;
            for (id, row) in part.iter().zip(values) {
                self.replace_by(table, *id, row, columns, &mut *set, &mut losses)?;
            }
            self.charge();
        }
        for part in own.chunks(READ_AT_ONCE) {
            stop::check()?;
            if self.is_full(part.len() * MARK_BYTES) {
                self.judge_replaced(table, from, mode, columns)?;
                self.make_room(part.len() * MARK_BYTES)?;
                from = self.buffer(table)?.rows.rows;
            }
            for id in part {
                let row = self.read_found(table, Found::of(*id))?;
                self.check_room(row_bytes(&row))?;
                self.replace_by(table, *id, row, columns, &mut *set, &mut losses)?;
            }
            self.charge();
        }
        self.judge_replaced(table, from, mode, columns)?;
        self.follow(table, losses)?;
        Ok((locked.rows.len() + own.len()) as u64)
    }

    /// Puts a new version in the place of a row.
    fn replace_by(
        &mut self,
        table: &Table,
        id: RowId,
        mut row: Row,
        columns: &[&str],
        set: SetRow<'_>,
        losses: &mut Losses,
    ) -> Result<()> {
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let calculator = &self.shared.calculator;
        let keys = Keys::of(calculator, &schema, lock_for(&schema, columns), &row)?;
        let old = losses.wanted.then(|| row.clone());
        set(id, &mut row, &schema)?;
        if lock_for(&schema, columns) == RowLock::Update {
            // Its keys are compared before it comes in.
            derive::generate_row(&self.shared.calculator, &schema, &mut row)?;
        }
        let keeps = keys.are_of(&self.shared.calculator, &schema, &row)?;
        self.replace(table, Found::of(id), &row, columns, keeps)?;
        self.note_replaced(table, old, losses)
    }

    /// New versions from the `from`-th on in memory have keys that are free, and parents.
    fn judge_replaced(
        &mut self,
        table: &Table,
        from: usize,
        mode: RowLock,
        columns: &[&str],
    ) -> Result<()> {
        self.reserve_changed(table, from, mode)?;
        self.check_rules(table, from, Some(columns))
    }

    /// Rows that are locked, in the versions that were locked: all of them.
    fn read_locked(&mut self, table: &Table, rows: &[RowId], moved: bool) -> Result<Vec<Row>> {
        let (found, values) = if moved {
            let now = Registration::new(&self.shared);
            let mut view = self.view_at(table, &now)?;
            view.own = self.view_with_own(table)?.own;
            view.fetch_rows(rows)?
        } else {
            self.view_with_own(table)?.fetch_rows(rows)?
        };
        if found != rows {
            return Err(changed_since(table));
        }
        Ok(values)
    }

    /// The row with this primary key, locked. At READ COMMITTED the key is looked up again where
    /// somebody changed the row meanwhile.
    pub(super) fn find_locked(
        &mut self,
        table: &Table,
        key: &[Value],
        mode: RowLock,
    ) -> Result<Option<Found>> {
        loop {
            let Some(found) = self.find(table, key)? else { return Ok(None) };
            let row = match found {
                Found::Committed(row) => row,
                Found::Own(ordinal) => {
                    let own = PROVISIONAL_BASE + ordinal as RowId;
                    self.lock_own(table, vec![own], mode, LockWait::Block)?;
                    return Ok(Some(found));
                }
            };
            match self.lock_row(table, row, mode, LockWait::Block)? {
                Settled::Same => return Ok(Some(found)),
                Settled::Gone(_) | Settled::Changed | Settled::Skipped => {
                    self.renew();
                }
            }
        }
    }

    /// Puts a new version in the place of a row, of which these columns were set; `keeps`: it has the unique
    /// keys of the row before.
    pub(super) fn replace(
        &mut self,
        table: &Table,
        found: Found,
        row: &[Value],
        columns: &[impl AsRef<str>],
        keeps: bool,
    ) -> Result<()> {
        let buffer = self.buffer(table)?;
        let serial = buffer.schema.columns.iter().find(|c| c.is_serial()).map(|c| c.name.as_str());
        let chosen = columns.iter().any(|name| Some(name.as_ref()) == serial);
        buffer.push_row(row, chosen)?;
        let at = buffer.end() - 1;
        buffer.succeed(found, at, keeps);
        Ok(())
    }

    /// After an update: new keys are judged when all rows have theirs, so that rows may exchange them.
    pub(super) fn reserve_changed(
        &mut self,
        table: &Table,
        from: usize,
        mode: RowLock,
    ) -> Result<()> {
        if mode == RowLock::Update { self.reserve(table, from) } else { Ok(()) }
    }
}

/// Values of a row in its unique keys, where columns of these are about to be set.
struct Keys {
    values: Vec<(usize, Value)>,
    /// Whether some of them are calculated.
    derived: bool,
}

impl Keys {
    fn of(
        calculator: &Calculator,
        schema: &TableSchema,
        mode: RowLock,
        row: &[Value],
    ) -> Result<Keys> {
        if mode != RowLock::Update {
            return Ok(Keys { values: Vec::new(), derived: false });
        }
        let unique = || schema.indexes.iter().filter(|i| i.unique);
        let columns = unique().flat_map(|i| i.key.iter().map(|part| part.column).chain(i.filter));
        let places: Vec<usize> = columns.filter_map(|id| schema.position(id)).collect();
        let derived = places.iter().any(|at| *at >= schema.columns.len());
        let whole;
        let row = match derived {
            true => {
                whole = derive::whole_row(calculator, schema, row)?;
                &whole[..]
            }
            false => row,
        };
        let values = places.into_iter().map(|at| (at, row[at].clone())).collect();
        Ok(Keys { values, derived })
    }

    /// Whether a row has the same.
    fn are_of(&self, calculator: &Calculator, schema: &TableSchema, row: &[Value]) -> Result<bool> {
        let whole;
        let row = match self.derived {
            true => {
                whole = derive::whole_row(calculator, schema, row)?;
                &whole[..]
            }
            false => row,
        };
        Ok(self.values.iter().all(|(at, value)| row[*at] == *value))
    }
}

/// How many different ones there are.
fn distinct(rows: &[RowId]) -> usize {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows.dedup();
    rows.len()
}

/// How a row is to be locked for a change of these columns.
pub(super) fn lock_for(schema: &TableSchema, columns: &[impl AsRef<str>]) -> RowLock {
    let in_key = |name: &str| {
        let column = schema.columns.iter().find(|c| c.name == name);
        column.is_some_and(|column| {
            let mut unique = schema.indexes.iter().filter(|i| i.is_unique());
            unique.any(|index| schema.columns_of(index).contains(&column.id))
        })
    };
    if columns.iter().any(|name| in_key(name.as_ref())) {
        RowLock::Update
    } else {
        RowLock::NoKeyUpdate
    }
}
