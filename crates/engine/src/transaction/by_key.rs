//! Which row has a unique key now, and how is it kept?
//!
//! An upsert is about the newest committed state, whatever its statement sees: a row that came since is in
//! its way, and one that went since is not. So the key is looked up there, and looked up again after each
//! wait: its owner may have deleted the row, or given it another key, and then there is nothing to
//! change. Above READ COMMITTED a row that the transaction cannot see, or not as it is, is a conflict.
//!
//! That no row has the key is no promise: [`Transaction::insert`] reserves it, or finds out.

use onlap_base::{Error, ErrorKind, Result, RowId};
use onlap_format::{IndexSchema, Row, Value};

use super::buffer::Found;
use super::rows::Settled;
use super::{Isolation, Transaction};
use crate::database::Table;
use crate::derive;
use crate::index_build::NOT_YET;
use crate::locks::{LockWait, RowLock};
use crate::options::Rule;
use crate::read::ReadCounters;
use crate::table::key_def;
use crate::unique;

impl Transaction {
    /// The row that has a whole key of a unique index in the newest committed state, or among the
    /// transaction's own; locked in this mode. `None` where no row has it, or where it holds a NULL. At READ
    /// COMMITTED the statement sees from then on what it waited for.
    ///
    /// ```
    /// use onlap::{Database, DataType, Options, RowLock, TableSpec, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let pages = db.create_table(
    ///     TableSpec::new("pages").column("id", DataType::Int8).column("views", DataType::Int8)
    ///         .primary_key(["id"]),
    /// )?;
    /// let mut tx = db.begin()?;
    /// assert!(tx.lock_by(&pages, "pages_pkey", &[Value::Int(7)], RowLock::NoKeyUpdate)?.is_none());
    /// tx.insert(&pages, &[Value::Int(7), Value::Int(1)])?;
    /// let found = tx.lock_by(&pages, "pages_pkey", &[Value::Int(7)], RowLock::NoKeyUpdate)?;
    /// assert_eq!(found.unwrap().1, [Value::Int(7), Value::Int(1)]);
    /// # Ok::<(), onlap::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnknownIndex`]: the table has no unique index of that name. A value that its column cannot
    /// have. Those of [`Transaction::lock_rows`].
    pub fn lock_by(
        &mut self,
        table: &Table,
        index: &str,
        key: &[Value],
        mode: RowLock,
    ) -> Result<Option<(RowId, Row)>> {
        let found = self.settle_by(table, index, key, mode, true);
        let Some(found) = self.or_begin_anew(table, found)? else { return Ok(None) };
        Ok(Some((found.row_id(), self.read_found(table, found)?)))
    }

    /// Whether a row has a whole key of a unique index, as [`Transaction::lock_by`] finds it, once no other
    /// transaction is about to change it. Keeps no lock.
    ///
    /// # Errors
    /// As [`Transaction::lock_by`].
    pub fn has_key(&mut self, table: &Table, index: &str, key: &[Value]) -> Result<bool> {
        let found = self.settle_by(table, index, key, RowLock::Share, false);
        Ok(self.or_begin_anew(table, found)?.is_some())
    }

    /// The key that a row would have in an index, calculated parts included; `None` where the index would not have
    /// the row.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownIndex`]; values that their columns cannot have, or that cannot be calculated with.
    pub fn key_of(
        &mut self,
        table: &Table,
        index: &str,
        row: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        let index = schema.index_by_name(index).ok_or_else(|| {
            let text = format!("table {} has no index {index}", schema.name);
            Error::new(ErrorKind::UnknownIndex, text)
        })?;
        let keys = index.key.iter().map(|part| part.column).chain(index.filter);
        let places: Vec<usize> = keys.filter_map(|id| schema.position(id)).collect();
        let mut row = row.to_vec();
        derive::generate_row(&self.shared.calculator, &schema, &mut row)?;
        let calculates = places.iter().any(|at| *at >= schema.columns.len());
        let whole = match calculates {
            true => derive::whole_row(&self.shared.calculator, &schema, &row)?,
            false => row,
        };
        let mut values: Vec<Value> = places.iter().map(|at| whole[*at].clone()).collect();
        let is_member = index.filter.is_none() || values.pop() == Some(Value::Bool(true));
        Ok(is_member.then_some(values))
    }

    fn settle_by(
        &mut self,
        table: &Table,
        index: &str,
        key: &[Value],
        mode: RowLock,
        keep: bool,
    ) -> Result<Option<Found>> {
        self.share(table)?;
        self.statement()?;
        let judged = self.buffer(table)?.schema.index_by_name(index);
        let is_key = |i: &&IndexSchema| i.ready && i.judged.is_some() && i.is_unique();
        if let Some(index) = judged.filter(is_key).cloned() {
            return self.settle_judged(table, &index, key, mode, keep);
        }
        let (index, key) = match self.whole_key(table, index, key)? {
            (index, Some(key)) => (index, key),
            (_, None) => return Ok(None),
        };
        loop {
            let end = self.buffer(table)?.rows.rows;
            if let Some(ordinal) = self.buffer(table)?.own_row(&index, &key)? {
                let found = Found::Own(ordinal);
                if keep {
                    self.lock_own(table, vec![found.row_id()], mode, LockWait::Block)?;
                }
                return Ok(Some(found));
            }
            if self.buffer(table)?.has_ended(&index, &key, end) {
                return Ok(None);
            }
            let Some(row) = self.committed_with_key(table, &index, &key)? else { return Ok(None) };
            if self.settle_row(table, row, mode, keep)? {
                self.note_key(table, index.id, &key)?;
                return Ok(Some(Found::Committed(row)));
            }
        }
    }

    /// The same by an index that is judged by a look at the rows.
    fn settle_judged(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        key: &[Value],
        mode: RowLock,
        keep: bool,
    ) -> Result<Option<Found>> {
        loop {
            let row = self.row_with_judged_key(table, index, key)?;
            let Some(found) = row.map(Found::of) else { return Ok(None) };
            match found {
                Found::Own(_) if keep => {
                    self.lock_own(table, vec![found.row_id()], mode, LockWait::Block)?;
                    return Ok(Some(found));
                }
                Found::Own(_) => return Ok(Some(found)),
                Found::Committed(row) if self.settle_row(table, row, mode, keep)? => {
                    let def = key_def(&self.buffer(table)?.schema, index);
                    self.note_key(table, index.id, &def.encode_values(key)?)?;
                    return Ok(Some(found));
                }
                Found::Committed(_) => {}
            }
        }
    }

    /// Waits until no other transaction is about to change a committed row, and keeps it so where that is wanted;
    /// false where it is gone.
    fn settle_row(&mut self, table: &Table, row: RowId, mode: RowLock, keep: bool) -> Result<bool> {
        let (held, id) = (self.locks.count_in(table.state.id), self.locks.id());
        if keep || table.state.locks.is_taken(row, id, mode) {
            self.lock_version(table, row, mode, LockWait::Block)?;
        }
        let settled = self.became(table, row)?;
        if !keep || matches!(settled, Settled::Gone(_)) {
            self.locks.give_back(&table.state, held, &self.shared.locks);
        }
        match settled {
            Settled::Gone(_) | Settled::Skipped => return Ok(false),
            Settled::Same if row < self.view_of_keys(table)?.count => {}
            Settled::Same | Settled::Changed => self.see_newest(table, row)?,
        }
        Ok(true)
    }

    /// A unique index, and bytes of its key where no part is NULL.
    fn whole_key(
        &mut self,
        table: &Table,
        name: &str,
        key: &[Value],
    ) -> Result<(IndexSchema, Option<Vec<u8>>)> {
        let schema = &self.buffer(table)?.schema;
        let index =
            schema.index_by_name(name).filter(|i| i.ready && i.unique).ok_or_else(|| {
                let text = format!("table {} has no unique index {name}", schema.name);
                Error::new(ErrorKind::UnknownIndex, text)
            })?;
        let def = key_def(schema, index);
        if key.len() != def.columns.len() {
            let text = format!(
                "the key of index {name} has {} columns; {} values were given",
                def.columns.len(),
                key.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let whole = !key.contains(&Value::Null);
        Ok((index.clone(), whole.then(|| def.encode_values(key)).transpose()?))
    }

    /// The committed row that has a key of a unique index, unless this transaction ends it.
    pub(super) fn committed_with_key(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        key: &[u8],
    ) -> Result<Option<RowId>> {
        let row = if index.since == NOT_YET {
            self.row_in_new_index(table, index.id, key)?
        } else {
            let mut cost = ReadCounters::default();
            let (view, probes) = (table.state.view(), &mut cost.filter_probes);
            let row = unique::live_row_now(&view, index.id, key, probes);
            self.tally.add(&cost);
            row?
        };
        let buffer = self.buffer(table)?;
        Ok(row.filter(|row| !buffer.has_marked(*row)))
    }

    /// Lets the statement see a row that was committed, or changed, since its snapshot.
    pub(super) fn see_newest(&mut self, table: &Table, row: RowId) -> Result<()> {
        if self.options.isolation != Isolation::ReadCommitted
            && self.shared.obeys(Rule::FirstUpdaterWins)
        {
            return Err(changed_since(table));
        }
        loop {
            self.renew();
            if row < self.view_of_keys(table)?.count {
                return Ok(());
            }
            // It is there, and its commit is about to be published.
            self.shared.tasks.yield_now();
        }
    }
}

/// A row is not there any more.
pub(super) fn deleted_since(table: &Table) -> Error {
    let text = format!(
        "a row of table {} was deleted by another transaction since this one began; roll it back and \
         run it again",
        table.name()
    );
    Error::new(ErrorKind::Conflict, text)
}

/// A row is not what the transaction sees.
pub(super) fn changed_since(table: &Table) -> Error {
    let text = format!(
        "a row of table {} was changed by another transaction since this one began; roll it back and \
         run it again",
        table.name()
    );
    Error::new(ErrorKind::Conflict, text)
}
