//! INSERT, and UPSERT INTO.

use arrow_array::{ArrayRef, RecordBatch};
use onlap::{Batch, Row, Value, convert};
use onlap_pg::ast::Overriding;
use onlap_pg::bound::{Bound, CheckKind, EntryKind, Expr, ExprId, Query, Target};
use onlap_query::Change;

use super::called;
use super::conflict::Conflict;
use super::returning::{self, Asks, Returned};
use super::seen;
use super::{Done, Statement, value_at};
use crate::ddl::{defaults, generated};
use crate::error::{Result, SqlError};
use crate::fast::bytes_of;
use crate::plan::{Batches, Held, TableHandle};
use crate::query::Changing;
use crate::view::View;

/// A row's values by column; `None` for DEFAULT.
type Given = Vec<Option<Value>>;

/// What is written of the rows of steps.
pub struct Written<'a> {
    /// The columns, by number, with their places; none for DEFAULT.
    pub columns: &'a [(usize, Option<usize>)],
    /// DEFAULT among rows of VALUES.
    pub defaults: &'a [(usize, usize)],
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
}

/// UPSERT INTO; how many rows.
pub fn upsert(statement: &Statement<'_>) -> Result<u64> {
    if statement.shared.several {
        return Err(SqlError::unsupported("UPSERT INTO with a WITH that changes rows"));
    }
    if statement.modify.conflict.is_some() || !statement.modify.returning.is_empty() {
        return Err(SqlError::unsupported("ON CONFLICT or RETURNING with UPSERT INTO")
            .hint("It reads nothing, so it does not know what it replaced; use INSERT."));
    }
    statement.must_be_alone("UPSERT INTO")?;
    if !statement.modify.checks.is_empty() {
        return Err(SqlError::unsupported("UPSERT INTO with rows that are checked")
            .hint("It reads nothing, so it does not know what it replaces; use INSERT."));
    }
    if statement.fires.is_some() {
        return Err(SqlError::unsupported("UPSERT INTO of a table with triggers"));
    }
    let changing = statement.steps()?;
    let (rows, _held) = statement.all_rows(&changing)?;
    let batch = batch_of(statement.target, &rows)?;
    called::must(statement.view, &statement.target.schema, None)?;
    statement.view.scope.tx()?.upsert_batch(&statement.target.table, batch)?;
    Ok(rows.len() as u64)
}

/// INSERT.
pub fn run(statement: &Statement<'_>) -> Result<Done> {
    let changing = statement.steps()?;
    let change = &changing.change;
    let asked = Asks::of(statement, change);
    let returns = |rows: &[Row], changed: &[bool], held: &Held| {
        let row = |source| statement.of_written(source, rows, changed);
        let mut returned = Returned::charged(held.another());
        returned.add(change.returning.as_ref(), rows.len(), row)?;
        Ok::<_, SqlError>(returned)
    };
    let table = &statement.target.table;
    let asks = returning::asks_generated(&statement.target.schema, change);
    let plain = statement.fires.is_none() && !statement.bound.reads_all_first();
    let one_by_one = changing.one_by_one
        || plain && seen::default_asks(statement.view, &statement.target.schema);
    let (returned, n) = if one_by_one {
        let (rows, changed, held, n) = statement.one_by_one(&changing)?;
        (returns(&rows, &changed, &held)?, n)
    } else if statement.modify.conflict.is_some() {
        // What is there already is changed, so all of the query is read first.
        let (mut rows, held) = statement.all_rows(&changing)?;
        if statement.fires.is_none() {
            generated::fill(statement.view, table, &mut rows)?;
        }
        let conflict = Conflict::new(statement, change, &held)?;
        if !statement.shared.several {
            statement.view.scope.waits().fix();
        }
        let (mut kept, mut changed) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            let Some(put) = conflict.put(row)? else { continue };
            kept.push(put.row);
            changed.push(put.was_there);
        }
        (returns(&kept, &changed, &held)?, kept.len())
    } else if statement.fires.is_some() {
        let (rows, held) = statement.all_rows(&changing)?;
        let rows = statement.put_fired(rows, asked)?;
        asked.check_rows(CheckKind::View, &rows)?;
        (returns(&rows, &[], &held)?, rows.len())
    } else if change.returning.is_some() || statement.bound.reads_all_first() {
        // What RETURNING asks of tables, and the query, it asks as they were when the statement began.
        let (mut rows, held) = statement.all_rows(&changing)?;
        if asks {
            generated::fill(statement.view, table, &mut rows)?;
        }
        asked.check_rows(CheckKind::Insert, &rows)?;
        let returned = returns(&rows, &[], &held)?;
        statement.put(&rows)?;
        asked.check_rows(CheckKind::View, &rows)?;
        (returned, rows.len())
    } else {
        let mut batches = changing.run(statement.view)?;
        let mut n = 0;
        while let Some(batch) = batches.next()? {
            let mut rows = statement.rows_of(&statement.written(change), &batch, n)?;
            if asks {
                generated::fill(statement.view, table, &mut rows)?;
            }
            asked.check_rows(CheckKind::Insert, &rows)?;
            statement.put(&rows)?;
            asked.check_rows(CheckKind::View, &rows)?;
            n += rows.len();
        }
        (Returned::default(), n)
    };
    Ok(Done { tag: "INSERT 0", rows: n as u64, returned })
}

/// From this number of rows on they go to the engine in column form.
const MANY: usize = 4;

impl Statement<'_> {
    /// All rows of the query, and what they are charged by.
    fn all_rows(&self, changing: &Changing) -> Result<(Vec<Row>, Held)> {
        let batches = changing.run(self.view)?.all()?;
        let (mut rows, mut held) = (Vec::new(), batches.another());
        for batch in &batches {
            let some = self.rows_of(&self.written(&changing.change), batch, rows.len())?;
            held.charge(some.iter().map(bytes_of).sum())?;
            rows.extend(some);
        }
        Ok((rows, held))
    }

    /// Writes each row before the next one is calculated: functions that the query and the defaults call may ask for those before.
    /// The rows that RETURNING is asked of, which of them were there before, what they are charged by, and how many were written.
    fn one_by_one(&self, changing: &Changing) -> Result<(Vec<Row>, Vec<bool>, Held, usize)> {
        let (change, asked) = (&changing.change, Asks::of(self, &changing.change));
        let mut batches = changing.run(self.view)?;
        let (mut held, memory) = (batches.nothing_held(), batches.nothing_held());
        let conflict = match &self.modify.conflict {
            Some(_) => Some(Conflict::new(self, change, &memory)?),
            None => None,
        };
        let (mut all, mut changed, mut read, mut n) = (Vec::new(), Vec::new(), 0, 0);
        while let Some(batch) = batches.next()? {
            for at in 0..batch.num_rows() {
                let mut rows = self.rows_of(&self.written(change), &batch.slice(at, 1), read)?;
                read += rows.len();
                generated::fill(self.view, &self.target.table, &mut rows)?;
                let written = match &conflict {
                    Some(conflict) => {
                        let mut written = Vec::with_capacity(1);
                        for row in rows {
                            let Some(put) = conflict.put(row)? else { continue };
                            written.push(put.row);
                            changed.push(put.was_there);
                        }
                        written
                    }
                    None => {
                        asked.check_rows(CheckKind::Insert, &rows)?;
                        self.put(&rows)?;
                        asked.check_rows(CheckKind::View, &rows)?;
                        rows
                    }
                };
                n += written.len();
                if change.returning.is_some() {
                    held.charge(written.iter().map(bytes_of).sum())?;
                    all.extend(written);
                }
            }
        }
        Ok((all, changed, held, n))
    }

    /// What INSERT writes.
    fn written<'c>(&self, change: &'c Change) -> Written<'c> {
        let overriding = self.modify.overriding;
        Written { columns: &change.written, defaults: &change.defaults, overriding }
    }

    /// Whole rows of a batch, of which `before` came in others.
    pub fn rows_of(
        &self,
        written: &Written<'_>,
        batch: &RecordBatch,
        before: usize,
    ) -> Result<Vec<Row>> {
        let schema = &self.target.schema;
        let mut rows: Vec<Given> = vec![vec![None; schema.columns.len()]; batch.num_rows()];
        for (number, place) in written.columns {
            let Some(place) = place else { continue };
            for (at, row) in rows.iter_mut().enumerate() {
                row[number - 1] = Some(value_at(self.target, *number, batch.column(*place), at)?);
            }
        }
        let first = written.defaults.partition_point(|(row, _)| *row < before);
        let defaults = written.defaults[first..].iter();
        let end = before + rows.len();
        for (row, number) in defaults.take_while(|(row, _)| *row < end) {
            rows[row - before][number - 1] = None;
        }
        for at in (0..schema.columns.len()).filter(|at| schema.is_generated(*at)) {
            rows.iter_mut().for_each(|row| row[at] = None);
        }
        self.override_identities(written, &mut rows)?;
        defaults::complete(self.view, &self.target.table, rows)
    }

    /// Whose values identity columns get.
    fn override_identities(&self, written: &Written<'_>, rows: &mut [Given]) -> Result<()> {
        let schema = &self.target.schema;
        for (number, _) in written.columns {
            let column = &schema.columns[number - 1];
            let always = defaults::identity(self.view, schema.id, column.id);
            let Some(always) = always else { continue };
            let mut slots = rows.iter_mut().map(|row| &mut row[number - 1]);
            match written.overriding {
                Some(Overriding::System) => {}
                Some(Overriding::User) => slots.for_each(|value| *value = None),
                None if always && slots.any(|value| value.is_some()) => {
                    return Err(generated_always(&column.name));
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// Whether all rows of VALUES say DEFAULT for a column.
pub fn is_default_in_all(tree: &Bound, query: &Query, target: &Target) -> bool {
    let rows = query.entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::Values(rows) if entry.in_from => Some(rows),
        _ => None,
    });
    let place = query.targets.iter().filter(|of| !of.hidden).position(|of| of == target);
    let is_default = |row: &Vec<ExprId>, at: usize| {
        row.get(at).is_some_and(|id| matches!(tree.expr(*id), Expr::Default))
    };
    match (rows, place) {
        (Some(rows), Some(at)) => rows.iter().all(|row| is_default(row, at)),
        _ => false,
    }
}

/// Inserts the rows of a query into all columns of a table, and says how many.
///
/// # Errors
/// Those of the query; values that do not fit.
pub fn fill(view: &View, target: &TableHandle, mut batches: Batches) -> Result<u64> {
    let mut n = 0;
    while let Some(batch) = batches.next()? {
        let value = |row, (at, array): (usize, &ArrayRef)| value_at(target, at + 1, array, row);
        // Rows without columns come with one that counts them.
        let columns = &batch.columns()[..target.schema.columns.len().min(batch.num_columns())];
        let row = |row| columns.iter().enumerate().map(|c| value(row, c)).collect();
        let rows = (0..batch.num_rows()).map(row).collect::<Result<Vec<Row>>>()?;
        hand_over(view, target, &rows)?;
        n += rows.len() as u64;
    }
    Ok(n)
}

/// Inserts rows.
///
/// # Errors
/// Values that do not fit; keys that are there; `42501`: the role may not call what is calculated of them.
pub fn write(view: &View, target: &TableHandle, rows: &[Row]) -> Result<()> {
    if !rows.is_empty() {
        called::must(view, &target.schema, None)?;
    }
    hand_over(view, target, rows)
}

fn hand_over(view: &View, target: &TableHandle, rows: &[Row]) -> Result<()> {
    let mut tx = view.scope.tx()?;
    if rows.len() < MANY {
        return Ok(tx.insert_rows(&target.table, rows)?);
    }
    Ok(tx.insert_batch(&target.table, batch_of(target, rows)?)?)
}

/// Rows in column form.
///
/// # Errors
/// Values that their columns cannot have.
pub fn batch_of(target: &TableHandle, rows: &[Row]) -> Result<Batch> {
    let columns = &target.schema.columns;
    let mut batch = Batch::new(columns.iter().map(|c| c.ty.physical()));
    for (i, column) in columns.iter().enumerate() {
        let out = &mut batch.columns[i];
        for row in rows {
            convert::push_value(column.ty, &row[i], out, &column.name)?;
        }
    }
    batch.rows = rows.len();
    Ok(batch)
}

fn generated_always(column: &str) -> SqlError {
    let text = format!("cannot insert a non-DEFAULT value into column \"{column}\"");
    let detail = format!("Column \"{column}\" is an identity column defined as GENERATED ALWAYS.");
    let hint = "Use OVERRIDING SYSTEM VALUE to override.";
    SqlError::new("428C9", text).detail(detail).hint(hint)
}
