//! Which rows does SELECT … FOR UPDATE lock, and how do they reach the client?
//!
//! 1. The ids of the rows are found, in the order asked for. What is sorted here takes a few megabytes; where it
//!    takes more, the query goes by its steps, which sort on disk (`crate::query`).
//! 2. Each row is locked, until there are as many as LIMIT says. Where another transaction had changed a row, its
//!    newest version is judged again, and kept: the statement's snapshot does not show it.
//! 3. The rows are read some at a time, as the client takes them: until then only their ids are held. What the
//!    transaction itself does to them meanwhile shows: a row that it deleted does not come.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use onlap::{LockWait, Row, RowBatch, RowId, RowLock, convert};

use super::conditions::{Conditions, Resolved};
use super::select::{Order, Part, SORT_BYTES, Select, Wanted, bytes_of, holds};
use crate::error::Result;
use crate::plan::access::Choice;
use crate::scope::Scope;
use crate::session::answer::{self, Answer, Chunk, RowsAnswer};

/// Rows that are read at a time.
const READ_ROWS: usize = 64;
/// Locks between two looks at whether the statement is to go on.
const LOCKS_BETWEEN: usize = 64;

/// Ids of rows, as they are found.
pub(super) type Ids<'a> = Box<dyn Iterator<Item = Result<RowId>> + 'a>;

/// A batch, which of its rows meet the conditions, and where its columns are.
type Judged = (RowBatch, Vec<usize>, Arc<Wanted>);

/// How rows are locked, and which of them are answered.
pub(super) struct Locking {
    pub(super) mode: RowLock,
    pub(super) wait: LockWait,
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
}

impl Select {
    /// Locks rows in this order, until there are enough.
    pub(super) fn locked(
        &self,
        scope: &Arc<Scope>,
        resolved: &Resolved,
        ids: Ids<'_>,
        locking: &Locking,
    ) -> Result<Answer> {
        let Locking { mode, wait, limit, offset } = *locking;
        let (table, schema) = (&self.source.table, &self.source.schema);
        let (mut locked, mut newer, mut skipped) = (Vec::new(), HashMap::new(), 0);
        for (n, id) in ids.enumerate() {
            if limit.is_some_and(|limit| locked.len() >= limit) {
                break;
            }
            let id = id?;
            if n % LOCKS_BETWEEN == 0 {
                scope.go_on()?;
            }
            let mut newest = None;
            let mut recheck = |_: RowId, row: &Row| {
                newest = Some(row.clone());
                Ok(Conditions::hold(resolved, schema, row))
            };
            let found = scope.tx()?.lock_rows(table, &[id], mode, wait, &mut recheck)?;
            let Some(&id) = found.first() else { continue };
            if skipped < offset {
                skipped += 1;
                continue;
            }
            locked.push(id);
            if let Some(row) = newest {
                let output: Row = self.output.iter().map(|c| row[*c].clone()).collect();
                newer.insert(id, output);
            }
        }
        let wanted = Wanted::each_once(&self.output);
        let outs = self.output.iter().map(|c| wanted.at(*c)).collect();
        let columns = wanted.columns.iter().map(|c| schema.columns[*c].name.clone()).collect();
        let source = Locked {
            scope: Arc::clone(scope),
            table: table.clone(),
            columns,
            outs,
            ids: locked.into_iter(),
            newer,
        };
        Ok(Answer::Rows(RowsAnswer::new(Arc::clone(&self.columns), Box::new(source), "SELECT")))
    }

    /// Ids of rows in the order asked for; `None` where what is sorted does not fit here.
    pub(super) fn candidates<'a>(
        &'a self,
        scope: &'a Arc<Scope>,
        resolved: &'a Resolved,
        plan: &'a [(bool, Option<(String, Choice)>)],
    ) -> Result<Option<Ids<'a>>> {
        if let Some(found) = self.by_key(scope, resolved, plan)? {
            return Ok(Some(Box::new(found.into_iter().map(Ok))));
        }
        let sorted = !self.order.is_empty() && !self.is_ordered(plan);
        if !sorted {
            let ids = self.batches(scope, resolved, plan, Vec::new()).flat_map(|judged| {
                let (batch, rows) = match judged {
                    Ok((batch, rows, _)) => (batch, rows),
                    Err(e) => return vec![Err(e)],
                };
                rows.into_iter().map(|row| Ok(batch.row_ids[row])).collect()
            });
            return Ok(Some(Box::new(ids)));
        }
        let columns = self.order.iter().map(|o| o.column).collect();
        let (mut keys, mut bytes) = (Vec::new(), 0);
        for judged in self.batches(scope, resolved, plan, columns) {
            let (batch, rows, wanted) = judged?;
            for row in rows {
                let value = |order: &Order| batch.value(row, wanted.at(order.column));
                let key: Row = self.order.iter().map(value).collect();
                bytes += bytes_of(&key) + size_of::<RowId>();
                if bytes > SORT_BYTES {
                    return Ok(None);
                }
                keys.push((key, batch.row_ids[row]));
            }
        }
        keys.sort_by(|(a, _), (b, _)| self.compare(a, b));
        Ok(Some(Box::new(keys.into_iter().map(|(_, id)| Ok(id)))))
    }

    /// The row whose whole unique key the conditions name, and nothing else; `None` where they say more or less, or the
    /// key's index does not tell by itself.
    fn by_key(
        &self,
        scope: &Scope,
        resolved: &Resolved,
        plan: &[(bool, Option<(String, Choice)>)],
    ) -> Result<Option<Vec<RowId>>> {
        let ([(_, Some((index, choice)))], [bounds]) = (plan, &resolved.alternatives[..]) else {
            return Ok(None);
        };
        let is_all = choice.is_one_row() && choice.used.len() == bounds.len();
        if !is_all || !resolved.rest.is_empty() || scope.past().is_some() {
            return Ok(None);
        }
        let keys = std::slice::from_ref(&choice.range);
        let found = scope.tx()?.rows_with_keys(&self.source.table, index, keys, Some(&[]))?;
        Ok(found.map(|found| found.row_ids))
    }

    /// Batches with these columns, and which of their rows meet the conditions.
    fn batches<'a>(
        &'a self,
        scope: &'a Arc<Scope>,
        resolved: &'a Resolved,
        plan: &'a [(bool, Option<(String, Choice)>)],
        columns: Vec<usize>,
    ) -> impl Iterator<Item = Result<Judged>> + 'a {
        let wanted = Arc::new(Wanted::with_judged(columns, resolved));
        plan.iter().zip(&resolved.alternatives).flat_map(move |((reverse, choice), bounds)| {
            let part = self.open(scope, choice.as_ref(), *reverse, bounds, resolved, &wanted, None);
            let (rows, rest, failed) = match part {
                Ok(Part { rows, rest }) => (Some(rows), rest, None),
                Err(e) => (None, Vec::new(), Some(Err(e))),
            };
            let wanted = Arc::clone(&wanted);
            let judged = rows.into_iter().flatten().map(move |batch| {
                scope.go_on()?;
                let batch = batch?;
                let rows = (0..batch.len()).filter(|&row| holds(&rest, &batch, row)).collect();
                Ok((batch, rows, Arc::clone(&wanted)))
            });
            failed.into_iter().chain(judged)
        })
    }

    /// Compares values of the columns of ORDER BY.
    fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let each = self.order.iter().zip(a.iter().zip(b)).map(|(order, (a, b))| {
            let ty = self.source.schema.columns[order.column].ty;
            let compared = convert::compare_values(ty, a, b);
            if order.descending { compared.reverse() } else { compared }
        });
        each.fold(Ordering::Equal, Ordering::then)
    }
}

/// Rows that are locked, read as they are asked for.
struct Locked {
    scope: Arc<Scope>,
    table: onlap::Table,
    /// Columns that are read.
    columns: Vec<String>,
    /// The answer's columns, by their places among these.
    outs: Vec<usize>,
    ids: std::vec::IntoIter<RowId>,
    /// Answers for rows that others had changed.
    newer: HashMap<RowId, Row>,
}

impl answer::Source for Locked {
    fn next(&mut self) -> Result<Option<Chunk>> {
        loop {
            let ids: Vec<RowId> = self.ids.by_ref().take(READ_ROWS).collect();
            if ids.is_empty() {
                return Ok(None);
            }
            self.scope.go_on()?;
            let mut read: Vec<RowId> =
                ids.iter().copied().filter(|id| !self.newer.contains_key(id)).collect();
            read.sort_unstable();
            let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
            let batch = self.scope.tx()?.fetch(&self.table, &read, Some(&columns))?;
            let places: HashMap<RowId, usize> =
                batch.row_ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
            let row = |id: &RowId| match places.get(id) {
                Some(&at) => Some(self.outs.iter().map(|c| batch.value(at, *c)).collect()),
                None => self.newer.remove(id),
            };
            let rows: Vec<Row> = ids.iter().filter_map(row).collect();
            if !rows.is_empty() {
                return Ok(Some(Chunk::Rows(rows)));
            }
        }
    }
}
