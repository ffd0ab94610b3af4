//! Which indexes does a transaction create and drop?
//!
//! Each statement changes a private schema of the table, which differs from the one of the moment in
//! indexes alone and has its version ([`Reindexed`]). The transaction's buffer follows it, so that own
//! rows have entries in new indexes; views that it reads get the new indexes' files and lose the
//! dropped ones ([`SchemaSteps::show`]). Statements read through a new index from then on; rows that
//! others commit later are flushed and added where one asks for them. A unique index is judged by the
//! statement that creates it, keys that come later by the statement that brings them as far as it can
//! see them, and everything by the commit ([`crate::adopt`]).
//!
//! Nobody else can change the table's schema until the end: its lock is held. Readers and writers of
//! the table go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{IndexId, Result, RowId, TableId};
use onlap_format::{IndexSchema, TableSchema};
use onlap_storage::version::TableVersion;

use super::Transaction;
use super::schema::{SchemaSteps, Step};
use crate::adopt::IndexChange;
use crate::database::{Shared, Table, unknown_table};
use crate::flush;
use crate::index_build::{self, NOT_YET, NewIndex, judge_view};
use crate::read::{ReadView, Registration};
use crate::schema_change::{self, ChangeGuard};
use crate::spec::IndexSpec;
use crate::table::{TableState, TableView};

/// A table whose indexes a transaction changes.
pub(super) struct Reindexed {
    pub(super) state: Arc<TableState>,
    /// As the transaction sees it.
    pub(super) schema: Arc<TableSchema>,
    /// Those that were created, dropped again or not.
    new: Vec<NewIndex>,
    /// What it made of which files last.
    seen: Option<(Arc<TableVersion>, Arc<TableVersion>)>,
    /// `None`: created by the same transaction.
    _guard: Option<ChangeGuard>,
}

/// What a statement did to the indexes of a table.
pub(super) enum IndexStep {
    Created(IndexId),
    Dropped(IndexId),
}

impl Reindexed {
    /// The indexes that are created and not dropped again.
    fn living(&self) -> impl Iterator<Item = &NewIndex> {
        self.new.iter().filter(|n| self.schema.index(n.index().id).is_some())
    }

    /// Writes entries of all rows that are in files.
    fn cover(&mut self) -> Result<()> {
        let view = self.state.view();
        self.seen = None;
        self.new.iter_mut().try_for_each(|n| n.cover(&view))
    }

    /// What the transaction sees in the place of a view, of whose rows `count` are visible.
    fn view(&mut self, shared: &Shared, view: &TableView, count: RowId) -> Result<TableView> {
        let seen = self.seen.take();
        let same = seen.as_ref().is_some_and(|(base, _)| Arc::ptr_eq(base, &view.version));
        let version = match seen {
            Some((_, version)) if same => version,
            seen => {
                let old = seen.as_ref().map(|(_, version)| &**version);
                let (base, new) = (&view.version, self.living());
                index_build::with_indexes(shared, base, &self.schema, new, old)?
            }
        };
        self.seen = Some((Arc::clone(&view.version), Arc::clone(&version)));
        let mut schema = Arc::clone(&self.schema);
        for new in self.living().filter(|n| n.covered() < count) {
            let index = Arc::make_mut(&mut schema).indexes.iter_mut();
            index.filter(|i| i.id == new.index().id).for_each(|i| i.ready = false);
        }
        Ok(TableView { schema, version, ..view.clone() })
    }
}

impl SchemaSteps {
    pub(super) fn reindexed(&self, table: TableId) -> Option<&Reindexed> {
        self.reindexed.iter().find(|r| r.state.id == table)
    }

    fn reindexed_mut(&mut self, table: TableId) -> Option<&mut Reindexed> {
        self.reindexed.iter_mut().find(|r| r.state.id == table)
    }

    /// The schema of a table as the transaction sees it, if that is another than others see.
    pub(super) fn schema_of(&self, table: &TableState) -> Option<&Arc<TableSchema>> {
        self.reindexed(table.id).map(|r| &r.schema)
    }

    /// Puts what this transaction did to indexes into a view.
    pub(super) fn show(
        &mut self,
        shared: &Shared,
        table: &TableState,
        view: &mut ReadView,
    ) -> Result<()> {
        if let Some(reindexed) = self.reindexed_mut(table.id) {
            view.view = Arc::new(reindexed.view(shared, &view.view, view.count)?);
        }
        Ok(())
    }

    /// After steps were added or undone: makes the private schemas anew, and forgets what no step
    /// needs.
    pub(super) fn reform(&mut self) {
        let steps = &self.steps;
        let of = |table: TableId| {
            steps.iter().filter_map(move |step| match step {
                Step::Index(id, step) if *id == table => Some(step),
                _ => None,
            })
        };
        self.reindexed.retain(|r| of(r.state.id).next().is_some());
        for reindexed in &mut self.reindexed {
            let mut schema = (*reindexed.state.schema()).clone();
            let made =
                |id| of(reindexed.state.id).any(|s| matches!(s, IndexStep::Created(i) if *i == id));
            reindexed.new.retain(|n| made(n.index().id));
            for step in of(reindexed.state.id) {
                match step {
                    IndexStep::Created(id) => {
                        let new = reindexed.new.iter().find(|n| n.index().id == *id);
                        schema.indexes.push(new.expect("kept above").index().clone());
                    }
                    IndexStep::Dropped(id) => schema.indexes.retain(|i| i.id != *id),
                }
            }
            if *reindexed.schema != schema {
                reindexed.schema = Arc::new(schema);
                reindexed.seen = None;
            }
        }
    }

    /// What the commit of a table has to do for its indexes.
    pub(super) fn take_indexes(&mut self, table: &TableState) -> Option<IndexChange> {
        let reindexed = self.reindexed_mut(table.id)?;
        reindexed.seen = None;
        let schema = &reindexed.schema;
        let mut new = std::mem::take(&mut reindexed.new);
        new.retain(|n| schema.index(n.index().id).is_some());
        Some(IndexChange { new })
    }
}

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
        let guard = self.lock_indexes(table)?;
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let index = self.take_index(&schema, &spec)?;
        let mut new = NewIndex::new(&self.shared, &table.state, index.clone());
        self.replace_changed(table, &index)?;
        if !table.state.unborn.load(Ordering::Acquire) {
            flush::flush_table(&self.shared, &table.state)?;
            new.cover(&table.state.view())?;
        }
        let before = self.schema.len();
        self.add_step(table, guard, IndexStep::Created(index.id), Some(new));
        let judged = if index.unique { self.judge_index(table, &index) } else { Ok(()) };
        if judged.is_err() {
            self.undo_steps(before);
        }
        judged
    }

    /// Drops an index. Others go on with it until the commit, this transaction goes on without.
    ///
    /// # Errors
    /// As [`crate::Database::drop_index`]; [`crate::ErrorKind::LockNotAvailable`] when another schema change
    /// takes too long.
    pub fn drop_index(&mut self, table: &Table, name: &str) -> Result<()> {
        self.changing()?;
        let guard = self.lock_indexes(table)?;
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let index = schema_change::droppable_index(&self.shared, &schema, name)?;
        self.add_step(table, guard, IndexStep::Dropped(index), None);
        Ok(())
    }

    /// Keeps others from changing the schema of a table.
    fn lock_indexes(&mut self, table: &Table) -> Result<Option<ChangeGuard>> {
        self.buffer(table)?;
        let state = &table.state;
        if self.schema.has_created(state) || self.schema.reindexed(state.id).is_some() {
            return Ok(None);
        }
        let guard = self.lock_schema_of(state)?;
        if state.dropped.load(Ordering::Acquire) || state.unborn.load(Ordering::Acquire) {
            return Err(unknown_table(&table.name()));
        }
        // It may have changed until now.
        self.buffer(table)?.upgrade()?;
        Ok(Some(guard))
    }

    /// Checks a spec and takes an id for the index for ever.
    fn take_index(&mut self, schema: &TableSchema, spec: &IndexSpec) -> Result<IndexSchema> {
        let mut index = spec.build(schema, &mut || IndexId(0))?;
        let _names = match self.schema.holds_names() {
            true => None,
            false => Some(self.wait_for_names()?),
        };
        index.id = schema_change::next_index_id(&self.shared)?;
        index.since = NOT_YET;
        Ok(index)
    }

    fn add_step(
        &mut self,
        table: &Table,
        guard: Option<ChangeGuard>,
        step: IndexStep,
        new: Option<NewIndex>,
    ) {
        let state = &table.state;
        match self.schema.reindexed_mut(state.id) {
            Some(reindexed) => reindexed.new.extend(new),
            None => self.schema.reindexed.push(Reindexed {
                state: Arc::clone(state),
                schema: state.schema(),
                new: new.into_iter().collect(),
                seen: None,
                _guard: guard,
            }),
        }
        self.schema.steps.push(Step::Index(state.id, step));
        self.reform();
    }

    /// Undoes the schema steps from `n` on.
    pub(super) fn undo_steps(&mut self, n: usize) {
        self.schema.steps.truncate(n);
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
        let Some(reindexed) = self.schema.reindexed(table.state.id) else { return Ok(()) };
        let Some(covered) = reindexed.living().map(NewIndex::covered).min() else { return Ok(()) };
        if covered < ReadView::new(&table.state, &self.snapshot)?.count {
            flush::flush_table(&self.shared, &table.state)?;
            let reindexed = self.schema.reindexed_mut(table.state.id);
            reindexed.expect("found above").cover()?;
        }
        Ok(())
    }

    /// Refuses a new unique index in which two rows have the same key.
    fn judge_index(&mut self, table: &Table, index: &IndexSchema) -> Result<()> {
        let covered = self
            .schema
            .reindexed(table.state.id)
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

/// Refuses that an index goes which a foreign key came to rely on meanwhile.
pub(super) fn check_gone(shared: &Shared, reindexed: &[Reindexed]) -> Result<()> {
    for r in reindexed {
        let before = r.state.schema();
        let gone = before.indexes.iter().filter(|i| r.schema.index(i.id).is_none());
        for index in gone {
            shared.references.check_index_droppable(&before, index.id)?;
        }
    }
    Ok(())
}

impl Drop for Reindexed {
    fn drop(&mut self) {
        // Files before the lock.
        self.new.clear();
    }
}
