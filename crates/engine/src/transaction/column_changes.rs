//! How does a transaction change columns without reading rows?
//!
//! Where nothing but the row depends on the columns ([`crate::changes`]), it notes what is to be done with
//! them, and that is all: the row is locked, but not read, and no index gets an entry. A number is
//! added that way only where no value of the row's block can leave its type by it; otherwise the row is
//! read once, and what it becomes is noted. Rows that the transaction brought itself lie in memory
//! and are replaced as by any update.

use std::ops::Range;

use onlap_base::{ColumnId, Error, ErrorKind, Result, RowId, limits};
use onlap_format::changes::{Change as Noted, ChangeBounds, ChangeOp, LoggedChange, Sweep};
use onlap_format::zone::Bounds;
use onlap_format::{Row, TableSchema, Value};
use roaring::RoaringTreemap;

use super::buffer::{Buffer, Found};
use super::by_key::changed_since;
use super::change::lock_for;
use super::rows::{LockedRows, Recheck};
use super::{Isolation, MARK_BYTES, Transaction};
use crate::changes::{self, Change};
use crate::database::Table;
use crate::locks::{LockWait, RowLock};
use crate::read::Predicate;
use crate::rules::not_null;
use crate::table::TableView;

/// What an update does to which column.
pub type ColumnChanges<'a> = &'a [(&'a str, Change)];

/// Changes in physical form; `None` where only the row tells what comes of one.
type Ops = Vec<(ColumnId, Option<ChangeOp>)>;

/// Rows that are read at once where their values matter.
const READ_AT_ONCE: usize = 1 << 14;
/// Rows from which on a statement tries to lock them all at once.
const BULK_ROWS: u64 = 1 << 12;
/// How often it looks again before it takes one row after the other.
const BULK_TRIES: usize = 3;

/// Bytes that a noted change takes.
pub(super) fn change_bytes(change: &LoggedChange) -> usize {
    size_of::<LoggedChange>()
        + change.op.scalar().heap_bytes()
        + change.rows.len() * size_of::<Range<RowId>>()
}

impl Buffer {
    /// Notes a change of committed rows.
    fn change(&mut self, rows: &[Range<RowId>], column: ColumnId, op: ChangeOp) {
        let bounds = ChangeBounds::of(&op);
        match self.change_bounds.iter_mut().find(|b| b.0 == column) {
            Some((_, all)) => *all = all.and(bounds),
            None => self.change_bounds.push((column, bounds)),
        }
        let change = LoggedChange { column, op, rows: rows.to_vec() };
        self.change_bytes += change_bytes(&change);
        self.changes.push(change);
    }

    /// What this transaction may have done to a column of a row.
    fn own_bounds(&self, column: ColumnId) -> ChangeBounds {
        let own = self.change_bounds.iter().find(|b| b.0 == column);
        own.map_or(ChangeBounds::default(), |b| b.1)
    }

    /// Forgets changes behind a savepoint.
    pub(super) fn cut_changes(&mut self, to: usize) {
        for change in self.changes.drain(to.min(self.changes.len())..) {
            self.change_bytes -= change_bytes(&change);
        }
        if self.changes.is_empty() {
            self.change_bounds.clear();
        }
    }

    /// A change without the rows that die.
    fn unmarked(&self, change: Noted) -> Vec<Noted> {
        let rows = change.first..change.end();
        if self.marked.range_cardinality(rows.clone()) == 0 {
            return vec![change];
        }
        let mut out: Vec<Noted> = Vec::new();
        for row in rows.filter(|row| !self.marked.contains(*row)) {
            match out.last_mut() {
                Some(last) if last.end() == row => last.len += 1,
                _ => out.push(Noted { first: row, len: 1, ..change.clone() }),
            }
        }
        out
    }

    /// What is left of all changes: one per row and column, of rows that live on.
    pub(super) fn joined_changes(&self) -> Vec<LoggedChange> {
        if self.changes.len() < 2 && self.marked.is_empty() {
            return self.changes.clone();
        }
        let mut out: Vec<LoggedChange> = Vec::new();
        for column in self.change_bounds.iter().map(|b| b.0) {
            let mut sweep = Sweep::default();
            for change in self.changes.iter().filter(|c| c.column == column) {
                for rows in &change.rows {
                    let (first, len, op) = (rows.start, rows.end - rows.start, change.op.clone());
                    sweep.push(Noted { first, len, csn: 1, op }, &(0..RowId::MAX));
                }
            }
            let mut pieces = Vec::new();
            sweep.finish(1, &mut |_| (Some(0), RowId::MAX), &mut pieces);
            let pieces = pieces.into_iter().flat_map(|p| self.unmarked(p));
            for piece in pieces {
                let rows = piece.first..piece.end();
                match out.last_mut() {
                    Some(last) if last.column == column && last.op == piece.op => {
                        last.rows.push(rows);
                    }
                    _ => {
                        let rows = std::iter::once(rows).collect();
                        out.push(LoggedChange { column, op: piece.op, rows });
                    }
                }
            }
        }
        out
    }
}

impl Transaction {
    /// Changes columns of the row with this primary key; false when there is none. Where nothing but
    /// the row depends on the columns, neither the row nor any block of rows is read: see
    /// `docs/guarantees.md`. Otherwise this is [`Transaction::update`].
    ///
    /// # Errors
    /// As [`Transaction::update`]; a sum that leaves its type.
    ///
    /// ```
    /// use onlap::{Change, Database, DataType, Options, TableSpec, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let pages = db.create_table(
    ///     TableSpec::new("pages").column("id", DataType::Int8).column("views", DataType::Int4)
    ///         .primary_key(["id"]),
    /// )?;
    /// pages.insert_many([[Value::Int(7), Value::Int(0)]])?;
    /// let mut tx = db.begin()?;
    /// assert!(tx.change(&pages, &[Value::Int(7)], &[("views", Change::Add(Value::Int(1)))])?);
    /// tx.commit()?;
    /// assert_eq!(db.snapshot()?.get(&pages, &[Value::Int(7)], None)?.unwrap()[1], Value::Int(1));
    /// # Ok::<(), onlap::Error>(())
    /// ```
    pub fn change(
        &mut self,
        table: &Table,
        key: &[Value],
        changes: ColumnChanges<'_>,
    ) -> Result<bool> {
        self.writing(table)?;
        let Some(free) = self.free_columns(table, changes)? else {
            return self.update_by(table, key, &names(changes), |row, schema| {
                set_columns(schema, row, changes)
            });
        };
        let mode = lock_for(&self.buffer(table)?.schema, &names(changes));
        match self.find_locked(table, key, mode)? {
            None => Ok(false),
            Some(Found::Committed(row)) => {
                self.atomically(|tx| tx.change_landed(table, &[row..row + 1], &free, changes))?;
                Ok(true)
            }
            Some(Found::Own(_)) => self.update_by(table, key, &names(changes), |row, schema| {
                set_columns(schema, row, changes)
            }),
        }
    }

    /// Changes columns of rows by row id, as [`Transaction::change`] does; returns how many were visible.
    /// At READ COMMITTED rows that others replaced meanwhile are changed in their newest version.
    ///
    /// # Errors
    /// As [`Transaction::change`].
    pub fn change_rows(
        &mut self,
        table: &Table,
        rows: &[RowId],
        changes: ColumnChanges<'_>,
    ) -> Result<u64> {
        self.change_rows_if(table, rows, changes, &mut |_: RowId, _: &Row| Ok(true))
    }

    /// As [`Transaction::change_rows`]; of rows that others changed meanwhile `recheck` says whether they
    /// are still wanted.
    ///
    /// # Errors
    /// As [`Transaction::change`]; those of `recheck`.
    pub fn change_rows_if(
        &mut self,
        table: &Table,
        rows: &[RowId],
        changes: ColumnChanges<'_>,
        recheck: Recheck<'_>,
    ) -> Result<u64> {
        self.writing(table)?;
        let (committed, own) = self.seen(table, rows)?;
        self.change_seen(table, committed, own, changes, recheck)
    }

    /// Changes columns of the rows of which a predicate is true, as [`Transaction::change`] does; returns
    /// how many there were. Which rows these are, index entries alone say. At READ COMMITTED rows that
    /// others changed meanwhile are judged again in their newest version.
    ///
    /// # Errors
    /// As [`Transaction::change`] and [`crate::Snapshot::row_set`].
    pub fn update_where(
        &mut self,
        table: &Table,
        predicate: &Predicate,
        changes: ColumnChanges<'_>,
    ) -> Result<u64> {
        self.writing(table)?;
        let free = self.free_columns(table, changes)?;
        let mode = lock_for(&self.buffer(table)?.schema, &names(changes));
        let (rows, own, locked) = self.select(table, predicate, mode)?;
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        let recheck = &mut |_: RowId, row: &Row| predicate.matches(&schema, row);
        let Some(free) = free.filter(|_| locked) else {
            return self.change_seen(table, rows.iter().collect(), own, changes, recheck);
        };
        let set =
            &mut |_: RowId, row: &mut Row, schema: &TableSchema| set_columns(schema, row, changes);
        let names = names(changes);
        self.atomically(|tx| {
            tx.change_landed(table, &stretches_in(&rows), &free, changes)?;
            let n = tx.update_seen(table, Vec::new(), own, &names, set, &mut |_, _| Ok(true))?;
            Ok(n + rows.len())
        })
    }

    /// Deletes the rows of which a predicate is true; returns how many there were. Neither rows nor
    /// blocks of rows are read, unless a foreign key refers to the table. At READ COMMITTED rows that others
    /// changed meanwhile are judged again in their newest version.
    ///
    /// # Errors
    /// As [`Transaction::delete`] and [`crate::Snapshot::row_set`].
    pub fn delete_where(&mut self, table: &Table, predicate: &Predicate) -> Result<u64> {
        self.writing(table)?;
        let (rows, own, locked) = self.select(table, predicate, RowLock::Update)?;
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        let recheck = &mut |_: RowId, row: &Row| predicate.matches(&schema, row);
        let (rows, mode) = (rows.iter().collect(), RowLock::Update);
        let locked = match locked {
            true => LockedRows { rows, moved: false },
            false => self.lock_all(table, rows, mode, LockWait::Block, recheck)?,
        };
        self.delete_locked(table, locked, own)
    }

    /// The rows of which a predicate is true, committed ones and own ones; whether the former are locked
    /// and were changed by nobody since: many rows are locked at once where that can be.
    fn select(
        &mut self,
        table: &Table,
        predicate: &Predicate,
        mode: RowLock,
    ) -> Result<(RoaringTreemap, Vec<RowId>, bool)> {
        let noted = self.note_predicate(table, predicate);
        self.or_begin_anew(table, noted)?;
        let mut tries = 0;
        loop {
            let found = self.reader(table)?.row_set(predicate);
            let found = self.or_begin_anew(table, found)?;
            let (rows, own) = found.split_own();
            tries += 1;
            if rows.len() < BULK_ROWS || tries > BULK_TRIES {
                return Ok((rows, own, false));
            }
            if !self.locks.lock_bulk(&table.state, &rows, mode) {
                return Ok((rows, own, false));
            }
            if table.state.writer.lock().last_csn <= self.snapshot.csn() {
                return Ok((rows, own, true));
            }
            if self.options.isolation != Isolation::ReadCommitted {
                return Ok((rows, own, false));
            }
            self.refresh();
        }
    }

    /// Changes those rows that the statement sees, and of which the newest versions pass.
    pub(super) fn change_seen(
        &mut self,
        table: &Table,
        committed: Vec<RowId>,
        own: Vec<RowId>,
        changes: ColumnChanges<'_>,
        recheck: Recheck<'_>,
    ) -> Result<u64> {
        let set =
            &mut |_: RowId, row: &mut Row, schema: &TableSchema| set_columns(schema, row, changes);
        let names = names(changes);
        let Some(free) = self.free_columns(table, changes)? else {
            return self.update_seen(table, committed, own, &names, set, recheck);
        };
        let mode = lock_for(&self.buffer(table)?.schema, &names);
        let locked = self.lock_all(table, committed, mode, LockWait::Block, recheck)?;
        if locked.moved {
            // What the bounds of blocks are asked for has to be there.
            self.refresh();
        }
        self.atomically(|tx| {
            tx.change_landed(table, &stretches_of(&locked.rows), &free, changes)?;
            let n = tx.update_seen(table, Vec::new(), own, &names, set, &mut |_, _| Ok(true))?;
            Ok(n + locked.rows.len() as u64)
        })
    }

    /// The changes in physical form. `None`: something depends on a column.
    pub(super) fn free_columns(
        &mut self,
        table: &Table,
        changes: ColumnChanges<'_>,
    ) -> Result<Option<Ops>> {
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        let landing = std::sync::Arc::clone(&table.state.view_now().landing);
        // Others do not know its columns.
        let mut free = schema.columns == landing.columns;
        let mut ops = Ops::with_capacity(changes.len());
        for (name, change) in changes {
            let column = column_of(&schema, name)?;
            let op = changes::op_of(&schema, column, change)?;
            // Long values have a place of their own in segments, and none in mark runs.
            let short = |op: &ChangeOp| op.scalar().heap_bytes() <= limits::INLINE_VALUE_BYTES;
            free &= op.as_ref().is_none_or(short)
                && is_free(table, &schema, column.id)
                && ops.iter().all(|(id, _)| *id != column.id);
            ops.push((column.id, op));
        }
        Ok(free.then_some(ops))
    }

    /// Whether columns may be changed in place, if their values are short.
    pub(super) fn are_free(&mut self, table: &Table, columns: &[&str]) -> Result<bool> {
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        let mut free = schema.columns == table.state.view_now().landing.columns;
        for name in columns {
            free &= is_free(table, &schema, column_of(&schema, name)?.id);
        }
        Ok(free)
    }

    /// Notes changes of locked rows, which rise; reads those whose values matter.
    pub(super) fn change_landed(
        &mut self,
        table: &Table,
        rows: &[Range<RowId>],
        ops: &[(ColumnId, Option<ChangeOp>)],
        changes: ColumnChanges<'_>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let bytes = MARK_BYTES + size_of::<LoggedChange>() + size_of_val(rows);
        self.make_room(bytes * ops.len().max(1))?;
        let view = table.state.view();
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        let mut noted: Vec<(ColumnId, ChangeOp)> = Vec::new();
        let mut unsure: Vec<usize> = Vec::new();
        for (i, (column, op)) in ops.iter().enumerate() {
            let own = self.buffer(table)?.own_bounds(*column);
            match op {
                Some(op) if self.rules_out_overflow(&view, &schema, rows, *column, op, own)? => {
                    noted.push((*column, op.clone()));
                }
                _ => unsure.push(i),
            }
        }
        for part in parts(rows).filter(|_| !unsure.is_empty()) {
            self.read_and_set(table, &part, &unsure, changes)?;
        }
        let buffer = self.buffer(table)?;
        buffer.did.update_in_place(rows.iter().map(|rows| rows.end - rows.start).sum());
        noted.into_iter().for_each(|(column, op)| buffer.change(rows, column, op));
        self.charge();
        Ok(())
    }

    /// Replaces rows of which some columns were changed: they are about to stand in an index, or to
    /// have another form.
    pub(super) fn replace_changed(
        &mut self,
        table: &Table,
        of: &dyn Fn(ColumnId) -> bool,
    ) -> Result<()> {
        let changed: Vec<RowId> = {
            let buffer = self.buffer(table)?;
            let of = |c: &&LoggedChange| of(c.column);
            let rows = buffer.changes.iter().filter(of).flat_map(|c| c.rows.clone()).flatten();
            let mut rows: Vec<RowId> = rows.filter(|row| !buffer.has_marked(*row)).collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        if changed.is_empty() {
            return Ok(());
        }
        let (committed, _) = self.seen(table, &changed)?;
        let keep = &mut |_: RowId, _: &mut Row, _: &TableSchema| Ok(());
        let name = self.buffer(table)?.schema.columns[0].name.clone();
        let did = self.buffer(table)?.did;
        self.update_seen(table, committed, Vec::new(), &[&name], keep, &mut |_, _| Ok(true))?;
        // The change was counted when it was noted.
        self.buffer(table)?.did = did;
        Ok(())
    }

    /// Reads rows and notes what becomes of some columns of them.
    fn read_and_set(
        &mut self,
        table: &Table,
        rows: &[RowId],
        of: &[usize],
        changes: ColumnChanges<'_>,
    ) -> Result<()> {
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        let (found, values) = self.view_with_own(table)?.fetch_rows(rows)?;
        if found != rows {
            return Err(changed_since(table));
        }
        self.make_room(found.len() * 2 * size_of::<LoggedChange>() * of.len())?;
        for (row, values) in found.into_iter().zip(values) {
            for &i in of {
                let (name, change) = &changes[i];
                let column = column_of(&schema, name)?;
                let at = schema.position(column.id).expect("a column of the table");
                let value = changed_value(column, &values[at], change)?;
                let op = changes::op_of(&schema, column, &Change::Set(value))?;
                let Some(op) = op else {
                    let new = |i: usize| if i == at { Value::Null } else { values[i].clone() };
                    return Err(not_null(&schema, &column.name, new));
                };
                self.buffer(table)?.change(&[row..row + 1], column.id, op);
            }
        }
        Ok(())
    }

    /// Whether no value of the rows' blocks can leave its type.
    fn rules_out_overflow(
        &self,
        view: &TableView,
        schema: &TableSchema,
        rows: &[Range<RowId>],
        column: ColumnId,
        op: &ChangeOp,
        own: ChangeBounds,
    ) -> Result<bool> {
        if matches!(op, ChangeOp::Set(_)) {
            return Ok(true);
        }
        let at = schema.position(column).expect("a column of the table");
        let pending = view.change_bounds(column).and(own);
        let ty = schema.columns[at].ty;
        let fits = &mut |zone: &Bounds| changes::may_add(ty, zone, pending, op);
        rows.iter().try_fold(true, |all, rows| Ok(all && view.each_zone(rows, at, fits)?))
    }
}

/// Whether nothing but the row depends on a column, here and for others.
fn is_free(table: &Table, schema: &TableSchema, column: ColumnId) -> bool {
    // Which rows are the transaction's own counts to keys that old rows may break.
    !schema.foreign_keys.iter().any(|key| key.unproven)
        && changes::is_free(schema, column)
        && changes::is_free(&table.state.view_now().landing, column)
        && !table.state.fixed.has(column)
}

/// Stretches of consecutive ids among some that rise.
fn stretches_of(rows: &[RowId]) -> Vec<Range<RowId>> {
    let mut stretches: Vec<Range<RowId>> = Vec::new();
    for &row in rows {
        match stretches.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            _ => stretches.push(row..row + 1),
        }
    }
    stretches
}

/// The same of a set.
fn stretches_in(rows: &RoaringTreemap) -> Vec<Range<RowId>> {
    let mut stretches: Vec<Range<RowId>> = Vec::new();
    for (high, bitmap) in rows.bitmaps() {
        let base = u64::from(high) << 32;
        let mut iter = bitmap.iter();
        while let Some(range) = iter.next_range() {
            let (start, end) =
                (base + u64::from(*range.start()), base + u64::from(*range.end()) + 1);
            match stretches.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => stretches.push(start..end),
            }
        }
    }
    stretches
}

/// The ids of stretches, a limited number at a time.
fn parts(rows: &[Range<RowId>]) -> impl Iterator<Item = Vec<RowId>> + '_ {
    let mut ids = rows.iter().flat_map(Clone::clone);
    std::iter::from_fn(move || {
        let part: Vec<RowId> = ids.by_ref().take(READ_AT_ONCE).collect();
        (!part.is_empty()).then_some(part)
    })
}

fn names<'a>(changes: &'a [(&'a str, Change)]) -> Vec<&'a str> {
    changes.iter().map(|(name, _)| *name).collect()
}

fn column_of<'a>(schema: &'a TableSchema, name: &str) -> Result<&'a onlap_format::ColumnSchema> {
    schema.columns.iter().find(|c| c.name == name).ok_or_else(|| {
        let text = format!("table {} has no column {name}", schema.name);
        Error::new(ErrorKind::UnknownColumn, text)
    })
}

fn changed_value(
    column: &onlap_format::ColumnSchema,
    value: &Value,
    change: &Change,
) -> Result<Value> {
    match change {
        Change::Set(value) => Ok(value.clone()),
        Change::Add(delta) => changes::sum(column, value, delta),
    }
}

/// What a reading update does.
pub(super) fn set_columns(
    schema: &TableSchema,
    row: &mut Row,
    changes: ColumnChanges<'_>,
) -> Result<()> {
    for (name, change) in changes {
        let column = column_of(schema, name)?;
        let at = schema.position(column.id).expect("a column of the table");
        row[at] = changed_value(column, &row[at], change)?;
    }
    Ok(())
}
