//! How does a transaction change columns without reading rows?
//!
//! Where nothing but the row depends on the columns ([`crate::changes`]), it notes what is to be done with
//! them, and that is all: the row is locked, but not read, and no index gets an entry. A number is
//! added that way only where no value of the row's block can leave its type by it; otherwise the row is
//! read once, and what it becomes is noted. Rows that the transaction brought itself lie in memory
//! and are replaced as by any update.

use std::ops::Range;

use onlap_base::{ColumnId, Error, ErrorKind, Result, RowId};
use onlap_format::changes::{Change as Noted, ChangeBounds, ChangeOp, LoggedChange, Sweep};
use onlap_format::{IndexSchema, Row, TableSchema, Value};

use super::buffer::{Buffer, Found};
use super::change::lock_for;
use super::{MARK_BYTES, Transaction};
use crate::changes::{self, Change};
use crate::database::Table;
use crate::locks::LockWait;
use crate::table::TableView;

/// What an update does to which column.
pub type ColumnChanges<'a> = &'a [(&'a str, Change)];

/// Changes in physical form; `None` where only the row tells what comes of one.
type Ops = Vec<(ColumnId, Option<ChangeOp>)>;

/// Bytes that a noted change takes.
pub(super) fn change_bytes(change: &LoggedChange) -> usize {
    size_of::<LoggedChange>()
        + change.op.scalar().heap_bytes()
        + change.rows.len() * size_of::<Range<RowId>>()
}

impl Buffer {
    /// Notes a change of committed rows, which rise.
    fn change(&mut self, rows: &[RowId], column: ColumnId, op: ChangeOp) {
        let bounds = ChangeBounds::of(&op);
        match self.change_bounds.iter_mut().find(|b| b.0 == column) {
            Some((_, all)) => *all = all.and(bounds),
            None => self.change_bounds.push((column, bounds)),
        }
        let mut stretches: Vec<Range<RowId>> = Vec::new();
        for &row in rows {
            match stretches.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => stretches.push(row..row + 1),
            }
        }
        let change = LoggedChange { column, op, rows: stretches };
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
        self.changing()?;
        let Some(free) = self.free_columns(table, changes)? else {
            return self.update_by(table, key, &names(changes), |row, schema| {
                set_columns(schema, row, changes)
            });
        };
        let mode = lock_for(&self.buffer(table)?.schema, &names(changes));
        match self.find_locked(table, key, mode)? {
            None => Ok(false),
            Some(Found::Committed(row)) => {
                self.change_landed(table, &[row], &free, changes)?;
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
        self.changing()?;
        let (committed, own) = self.seen(table, rows)?;
        let any = &mut |_: RowId, _: &Row| Ok(true);
        self.change_seen(table, committed, own, changes, any)
    }

    /// Changes those rows that the statement sees, and of which the newest versions pass.
    pub(super) fn change_seen(
        &mut self,
        table: &Table,
        committed: Vec<RowId>,
        own: Vec<RowId>,
        changes: ColumnChanges<'_>,
        recheck: super::rows::Recheck<'_>,
    ) -> Result<u64> {
        let set = |row: &mut Row, schema: &TableSchema| set_columns(schema, row, changes);
        let names = names(changes);
        let Some(free) = self.free_columns(table, changes)? else {
            return self.update_seen(table, committed, own, &names, &set, recheck);
        };
        let mode = lock_for(&self.buffer(table)?.schema, &names);
        let locked = self.lock_all(table, committed, mode, LockWait::Block, recheck)?;
        if locked.moved {
            // What the bounds of blocks are asked for has to be there.
            self.refresh();
        }
        self.atomically(|tx| {
            tx.change_landed(table, &locked.rows, &free, changes)?;
            let n = tx.update_seen(table, Vec::new(), own, &names, &set, &mut |_, _| Ok(true))?;
            Ok(n + locked.rows.len() as u64)
        })
    }

    /// The changes in physical form. `None`: something depends on a column.
    fn free_columns(&mut self, table: &Table, changes: ColumnChanges<'_>) -> Result<Option<Ops>> {
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        let landing = std::sync::Arc::clone(&table.state.view_now().landing);
        let mut free = true;
        let mut ops = Ops::with_capacity(changes.len());
        for (name, change) in changes {
            let column = column_of(&schema, name)?;
            let op = changes::op_of(column, change)?;
            free &= changes::is_free(&schema, column.id)
                && changes::is_free(&landing, column.id)
                && !table.state.fixed.has(column.id)
                && ops.iter().all(|(id, _)| *id != column.id);
            ops.push((column.id, op));
        }
        Ok(free.then_some(ops))
    }

    /// Notes changes of locked rows, which rise; reads those whose values matter.
    fn change_landed(
        &mut self,
        table: &Table,
        rows: &[RowId],
        ops: &[(ColumnId, Option<ChangeOp>)],
        changes: ColumnChanges<'_>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.make_room((MARK_BYTES + size_of::<LoggedChange>()) * ops.len().max(1))?;
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
        let read = match unsure.is_empty() {
            true => None,
            false => Some(self.view_with_own(table)?.fetch_rows(rows)?),
        };
        if let Some((found, values)) = read {
            self.make_room(found.len() * 2 * size_of::<LoggedChange>() * unsure.len())?;
            for (row, values) in found.into_iter().zip(values) {
                for &i in &unsure {
                    let (name, change) = &changes[i];
                    let column = column_of(&schema, name)?;
                    let at = schema.position(column.id).expect("a column of the table");
                    let value = changed_value(column, &values[at], change)?;
                    let op = changes::op_of(column, &Change::Set(value))?;
                    let op = op.expect("a value can be set");
                    self.buffer(table)?.change(&[row], column.id, op);
                }
            }
        }
        let buffer = self.buffer(table)?;
        noted.into_iter().for_each(|(column, op)| buffer.change(rows, column, op));
        self.charge();
        Ok(())
    }

    /// Replaces rows of which columns were changed that are about to stand in an index.
    pub(super) fn replace_changed(&mut self, table: &Table, index: &IndexSchema) -> Result<()> {
        let columns = index.key.iter().map(|part| part.column);
        let columns: Vec<ColumnId> = columns.chain(index.include.clone()).collect();
        let changed: Vec<RowId> = {
            let buffer = self.buffer(table)?;
            let of = |c: &&LoggedChange| columns.contains(&c.column);
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
        let keep = |_: &mut Row, _: &TableSchema| Ok(());
        let name = self.buffer(table)?.schema.columns[0].name.clone();
        self.update_seen(table, committed, Vec::new(), &[&name], &keep, &mut |_, _| Ok(true))?;
        Ok(())
    }

    /// Whether no value of the rows' blocks can leave its type.
    fn rules_out_overflow(
        &self,
        view: &TableView,
        schema: &TableSchema,
        rows: &[RowId],
        column: ColumnId,
        op: &ChangeOp,
        own: ChangeBounds,
    ) -> Result<bool> {
        if matches!(op, ChangeOp::Set(_)) {
            return Ok(true);
        }
        let at = schema.position(column).expect("a column of the table");
        let pending = view.change_bounds(column).and(own);
        for &row in rows {
            let zone = view.zone_of(row, column)?;
            if !zone.is_some_and(|zone| changes::may_add(schema.columns[at].ty, &zone, pending, op))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
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
fn set_columns(schema: &TableSchema, row: &mut Row, changes: ColumnChanges<'_>) -> Result<()> {
    for (name, change) in changes {
        let column = column_of(schema, name)?;
        let at = schema.position(column.id).expect("a column of the table");
        row[at] = changed_value(column, &row[at], change)?;
    }
    Ok(())
}
