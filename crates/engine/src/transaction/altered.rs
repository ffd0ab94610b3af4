//! What do tables look like to a transaction that changes their form?
//!
//! Each statement leaves a private schema of the table behind ([`Altered`]), which has the version of
//! the one of the moment. The transaction's buffer follows it, so that own rows have its columns, and
//! entries in its indexes; views that it reads get the same columns and indexes over the table's files
//! ([`SchemaSteps::show`]).
//!
//! Indexes come and go while others read and write the table. Where anything else changes, others may
//! read it and not write ([`super::table_lock`]): then all committed rows are in files, which know
//! columns by ids that are never used again, so that any schema can be laid over them.
//!
//! Nobody else can change the table's schema until the end: its lock is held.

use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result, RowId, TableId};
use onlap_format::TableSchema;
use onlap_storage::version::TableVersion;

use super::schema::{SchemaSteps, Step};
use crate::adopt::IndexChange;
use crate::database::Shared;
use crate::index_build::{self, NewIndex};
use crate::read::ReadView;
use crate::schema_change::ChangeGuard;
use crate::table::{TableState, TableView};
use onlap_memtable::Memtable;

/// A table whose form a transaction changes, or keeps others from changing.
pub(super) struct Altered {
    pub(super) state: Arc<TableState>,
    /// As the transaction sees it.
    pub(super) schema: Arc<TableSchema>,
    /// Indexes that were created, dropped again or not.
    pub(super) new: Vec<NewIndex>,
    /// What it made of which files last.
    seen: Option<(Arc<TableVersion>, Arc<TableVersion>)>,
    /// In the place of the table's, which has no rows, where columns are others.
    empty: Option<Arc<Memtable>>,
    /// `None`: created by the same transaction.
    _guard: Option<ChangeGuard>,
}

impl Altered {
    pub(super) fn new(state: &Arc<TableState>, guard: Option<ChangeGuard>) -> Altered {
        Altered {
            state: Arc::clone(state),
            schema: state.schema(),
            new: Vec::new(),
            seen: None,
            empty: None,
            _guard: guard,
        }
    }

    /// The indexes that are created and not dropped again.
    pub(super) fn living(&self) -> impl Iterator<Item = &NewIndex> {
        self.new.iter().filter(|n| self.schema.index(n.index().id).is_some())
    }

    /// The table's files of the moment, under the private schema.
    pub(super) fn files(&self) -> TableView {
        TableView { schema: Arc::clone(&self.schema), ..(*self.state.view()).clone() }
    }

    /// Writes entries of all rows that are in files.
    pub(super) fn cover(&mut self) -> Result<()> {
        let view = self.files();
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
        let active = self.memtable(view)?;
        let mut schema = Arc::clone(&self.schema);
        for new in self.living().filter(|n| n.covered() < count) {
            let index = Arc::make_mut(&mut schema).indexes.iter_mut();
            index.filter(|i| i.id == new.index().id).for_each(|i| i.ready = false);
        }
        Ok(TableView { schema, version, active, ..view.clone() })
    }

    /// A memtable with the columns of the private schema. Rows have the table's.
    fn memtable(&mut self, view: &TableView) -> Result<Arc<Memtable>> {
        if view.schema.columns == self.schema.columns
            && view.schema.derived == self.schema.derived
            && view.schema.generated == self.schema.generated
        {
            return Ok(Arc::clone(&view.active));
        }
        if !view.frozen.is_empty() || view.active.rows() > 0 {
            let text = format!("rows came to table {} while it was changed", view.schema.name);
            return Err(Error::new(ErrorKind::Conflict, text));
        }
        let end = view.active.end_row();
        let known = self.empty.take().filter(|m| m.first_row() == end);
        let empty = known.unwrap_or_else(|| self.state.new_memtable(&self.schema, end));
        Ok(Arc::clone(self.empty.insert(empty)))
    }
}

impl SchemaSteps {
    pub(super) fn altered(&self, table: TableId) -> Option<&Altered> {
        self.altered.iter().find(|a| a.state.id == table)
    }

    pub(super) fn altered_mut(&mut self, table: TableId) -> Option<&mut Altered> {
        self.altered.iter_mut().find(|a| a.state.id == table)
    }

    /// The schema of a table as the transaction sees it, if that is another than others see.
    pub(super) fn schema_of(&self, table: &TableState) -> Option<&Arc<TableSchema>> {
        self.altered(table.id).map(|a| &a.schema)
    }

    /// Whether the commit has to change the schema of a table.
    pub(super) fn changes_schema(&self, table: TableId) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Altered(id, _) if *id == table))
    }

    /// Puts what this transaction did to the form of a table into a view.
    pub(super) fn show(
        &mut self,
        shared: &Shared,
        table: &TableState,
        view: &mut ReadView,
    ) -> Result<()> {
        if self.changes_schema(table.id)
            && let Some(altered) = self.altered_mut(table.id)
        {
            view.view = Arc::new(altered.view(shared, &view.view, view.count)?);
        }
        Ok(())
    }

    /// After steps were added or undone: the last step on a table says what it looks like. Forgets
    /// what no step needs.
    pub(super) fn reform(&mut self) {
        let steps = &self.steps;
        let mentions = |step: &Step, table: TableId| matches!(step, Step::Altered(id, _) | Step::Held(id) if *id == table);
        self.altered.retain(|a| steps.iter().any(|step| mentions(step, a.state.id)));
        for altered in &mut self.altered {
            let id = altered.state.id;
            let schemas = || {
                steps.iter().filter_map(move |step| match step {
                    Step::Altered(table, schema) if *table == id => Some(schema),
                    _ => None,
                })
            };
            altered.new.retain(|n| schemas().any(|s| s.index(n.index().id).is_some()));
            let schema = schemas().next_back().cloned().unwrap_or_else(|| altered.state.schema());
            if *altered.schema != *schema {
                altered.schema = schema;
                altered.seen = None;
                altered.empty = None;
            }
        }
    }

    /// What the commit of a table has to do for its form.
    pub(super) fn take_indexes(&mut self, table: &TableState) -> Option<IndexChange> {
        if !self.changes_schema(table.id) {
            return None;
        }
        let altered = self.altered_mut(table.id)?;
        altered.seen = None;
        let schema = &altered.schema;
        let mut new = std::mem::take(&mut altered.new);
        new.retain(|n| schema.index(n.index().id).is_some());
        Some(IndexChange { new })
    }
}

impl Drop for Altered {
    fn drop(&mut self) {
        // Files before the lock.
        self.new.clear();
    }
}
