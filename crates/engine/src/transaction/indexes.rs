//! Which indexes does a transaction create and drop?
//!
//! Statements read through a new index from its creation on; rows that others commit later are flushed
//! and added where one asks for them. A unique index is judged by the statement that creates it, keys
//! that come later by the statement that brings them as far as it can see them, and everything by the
//! commit ([`crate::adopt`]). How the transaction sees such a table: [`super::altered`]. Readers and
//! writers of the table go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Error, ErrorKind, IndexId, Result, RowId};
use onlap_format::{IndexSchema, TableSchema};

use super::altered::Altered;
use super::schema::Step;
use super::{Isolation, Transaction};
use crate::database::{Table, unknown_table};
use crate::flush;
use crate::index_build::{NOT_YET, NewIndex, changed_before, judge_view};
use crate::read::{ReadView, Registration};
use crate::schema_change;
use crate::spec::IndexSpec;
use crate::table::TableView;

impl Transaction {
    /// Creates an index on a table, which others see with the commit. Statements of this transaction
    /// read through it from then on. Others go on reading and writing the table, but nobody else can
    /// change its schema until the end of this transaction.
    ///
    /// The rows that are there are read and sorted now, those that others add meanwhile by the commit.
    ///
    /// ```
    /// use onlap::{Database, DataType, IndexSpec, KeyRange, Options, TableSpec, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let spec = TableSpec::new("t").column("id", DataType::Int8).column("n", DataType::Int8);
    /// let table = db.create_table(spec.primary_key(["id"]))?;
    /// let mut tx = db.begin()?;
    /// tx.insert(&table, &[Value::Int(1), Value::Int(7)])?;
    /// tx.create_index(&table, IndexSpec::new("by_n", ["n"]).unique())?;
    /// assert_eq!(tx.index_count(&table, "by_n", KeyRange::eq([Value::Int(7)]))?, 1);
    /// tx.commit()?;
    /// # Ok::<(), onlap::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::Database::create_index`]; [`crate::ErrorKind::DuplicateKey`] when two of the rows
    /// that the commit would leave have equal keys in a unique index: such rows that others bring later
    /// make the commit fail; [`crate::ErrorKind::LockNotAvailable`] when another schema change takes
    /// too long.
    pub fn create_index(&mut self, table: &Table, spec: IndexSpec) -> Result<()> {
        self.changing()?;
        self.all_or_nothing(|tx| {
            if spec.is_judged() {
                // What others have brought and not committed they would not judge.
                tx.take_judged(table)?;
            }
            tx.hold_schema(table)?;
            tx.derive(table, &spec)?;
            let schema = Arc::clone(&tx.buffer(table)?.schema);
            let mut index = tx.take_index(&schema, &spec)?;
            let mut columns = schema.columns_of(&index);
            columns.extend(&index.include);
            tx.replace_changed(table, &|column| columns.contains(&column))?;
            tx.build_index(table, &index)?;
            index.only_since = tx.is_changed(table, &index)?;
            let mut after = (*schema).clone();
            after.indexes.push(index.clone());
            tx.set_schema(table, after)?;
            tx.buffer(table)?.check_key_lengths()?;
            if index.is_rule() { tx.judge_index(table, &index) } else { Ok(()) }
        })
    }

    /// Gives a table the derived columns that an index needs. That changes its columns, so that others wait
    /// with changes of its rows.
    fn derive(&mut self, table: &Table, spec: &IndexSpec) -> Result<()> {
        if !spec.derives_new(&self.buffer(table)?.schema) {
            return Ok(());
        }
        self.take_judged(table)?;
        self.replace_changed(table, &|_| true)?;
        let mut schema = (*self.buffer(table)?.schema).clone();
        spec.derive(&mut schema)?;
        self.set_schema(table, schema)
    }

    /// Whether columns of an index had been changed in place, so that it does not answer for older snapshots.
    fn is_changed(&mut self, table: &Table, index: &IndexSchema) -> Result<bool> {
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let view = TableView { landing: schema, ..(*table.state.view()).clone() };
        if changed_before(&view, std::slice::from_ref(index)).is_empty() {
            return Ok(false);
        }
        let committed = table.state.writer.lock().last_csn;
        if self.options.isolation != Isolation::ReadCommitted && committed > self.snapshot.csn() {
            let text = format!(
                "table {} was changed by another transaction since this one began; run it again",
                table.name()
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
        Ok(true)
    }

    /// Gives committed rows entries in an index that is about to come.
    pub(super) fn build_index(&mut self, table: &Table, index: &IndexSchema) -> Result<()> {
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let mut new = NewIndex::new(&self.shared, &table.state, &schema, index.clone());
        if !table.state.unborn.load(Ordering::Acquire) {
            flush::flush_table(&self.shared, &table.state)?;
        }
        let altered = self.schema.altered_mut(table.state.id).expect("its schema is held");
        if !altered.state.unborn.load(Ordering::Acquire) {
            new.cover(&altered.files())?;
        }
        altered.new.push(new);
        Ok(())
    }

    /// Drops an index. Others go on with it until the commit, this transaction goes on without.
    ///
    /// # Errors
    /// As [`crate::Database::drop_index`]; [`crate::ErrorKind::LockNotAvailable`] when another schema change
    /// takes too long.
    pub fn drop_index(&mut self, table: &Table, name: &str) -> Result<()> {
        self.changing()?;
        self.all_or_nothing(|tx| {
            tx.hold_schema(table)?;
            let mut schema = (*tx.buffer(table)?.schema).clone();
            let references = tx.references();
            let index = schema_change::droppable_index(&references, &schema, name)?;
            schema.indexes.retain(|i| i.id != index);
            if schema.forget_unused_derived() {
                tx.take_alone(table)?;
                tx.replace_changed(table, &|_| true)?;
            }
            tx.set_schema(table, schema)
        })
    }

    /// Runs a statement on the catalog; its steps are undone when it fails, and its locks given up.
    pub(super) fn all_or_nothing<T>(
        &mut self,
        f: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let (before, locks) = (self.schema.len(), self.locks.mark());
        let done = self.atomically(f);
        if done.is_err() {
            self.undo_steps(before);
            self.locks.release_since(&locks, &self.shared.locks);
        }
        done
    }

    /// Keeps others from changing the schema of a table.
    pub(super) fn hold_schema(&mut self, table: &Table) -> Result<()> {
        self.buffer(table)?;
        let state = &table.state;
        if self.schema.altered(state.id).is_none() {
            let guard = match self.schema.has_created(state) {
                true => None,
                false => Some(self.lock_schema_of(state)?),
            };
            let others = guard.is_some() && state.unborn.load(Ordering::Acquire);
            if others || (!self.in_statement && state.dropped.load(Ordering::Acquire)) {
                return Err(unknown_table(&table.name()));
            }
            if guard.is_some() {
                self.must_be_as_seen(table)?;
            }
            self.schema.altered.push(Altered::new(state, guard));
            // It may have changed until now.
            self.buffer(table)?.upgrade()?;
        }
        self.schema.steps.push(Step::Held(state.id));
        Ok(())
    }

    /// Checks a spec and takes an id for the index for ever.
    fn take_index(&mut self, schema: &TableSchema, spec: &IndexSpec) -> Result<IndexSchema> {
        let mut index = spec.build(schema, &mut || IndexId(0))?;
        index.id = self.take_index_id()?;
        index.since = NOT_YET;
        Ok(index)
    }

    pub(super) fn take_index_id(&mut self) -> Result<IndexId> {
        Ok(schema_change::take_index_ids(&self.shared, 1)?[0])
    }

    /// Gives a table, whose schema is held, another form.
    pub(super) fn set_schema(&mut self, table: &Table, schema: TableSchema) -> Result<()> {
        let schema = Arc::new(schema);
        self.buffer(table)?.make_room_for(&schema)?;
        self.schema.steps.push(Step::Altered(table.state.id, schema));
        self.reform();
        Ok(())
    }

    /// Undoes the schema steps from `n` on.
    pub(super) fn undo_steps(&mut self, n: usize) {
        self.schema.undo_steps(n);
        self.reform();
    }

    /// Lets private schemas and the buffers follow the steps.
    fn reform(&mut self) {
        self.schema.reform();
        for buffer in &mut self.tables {
            let schema = self.schema.schema_of(&buffer.table.state).cloned();
            // A buffer that is behind the table is upgraded by the next statement.
            let now = buffer.table.state.schema();
            if now.version == buffer.schema.version {
                buffer.reform(schema.unwrap_or(now));
            }
        }
    }

    /// Lets new indexes of a table answer for all rows that a statement sees.
    pub(super) fn cover(&mut self, table: &Table) -> Result<()> {
        let Some(altered) = self.schema.altered(table.state.id) else { return Ok(()) };
        let Some(covered) = altered.living().map(NewIndex::covered).min() else { return Ok(()) };
        if covered < ReadView::new(&table.state, &self.snapshot)?.count {
            flush::flush_table(&self.shared, &table.state)?;
            let altered = self.schema.altered_mut(table.state.id);
            altered.expect("found above").cover()?;
        }
        Ok(())
    }

    /// Refuses a new unique index in which two rows have the same key.
    pub(super) fn judge_index(&mut self, table: &Table, index: &IndexSchema) -> Result<()> {
        let covered = self
            .schema
            .altered(table.state.id)
            .and_then(|r| r.new.iter().find(|n| n.index().id == index.id).map(NewIndex::covered));
        let now = Registration::new(&self.shared);
        let mut view = self.view_at(table, &now)?;
        // The rest is the commit's to judge.
        view.count = view.count.min(covered.unwrap_or(0));
        view.own = self.buffer(table)?.own_rows(Vec::new())?;
        let shared = Arc::clone(&self.shared);
        let judged = judge_view(&view, index, &|| shared.check_writable());
        self.charge();
        judged
    }

    /// The committed row, not deleted by this transaction, that carries a key of an index which this
    /// transaction created; among those that have entries by now.
    pub(super) fn row_in_new_index(
        &mut self,
        table: &Table,
        index: IndexId,
        key: &[u8],
    ) -> Result<Option<RowId>> {
        let now = Registration::new(&self.shared);
        let view = self.view_at(table, &now)?.view;
        let buffer = self.buffer(table)?;
        let (mut below, mut probes) = (RowId::MAX, 0);
        while let Some(row) = view.version.newest_with_key(index, key, below, &mut probes)? {
            if !buffer.has_marked(row) && view.mark_of(row)?.is_none() {
                return Ok(Some(row));
            }
            below = row;
        }
        Ok(None)
    }
}
