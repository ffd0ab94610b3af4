//! Which tables does a transaction create and drop?
//!
//! What it does to the catalog is a private list of steps until it commits: a table that it created is
//! known to nobody else, one that it dropped is gone for itself alone; indexes come and go likewise
//! ([`super::indexes`]). Its commit goes through the
//! manifest, whose one record holds the steps and adopts the rows ([`crate::adopt`]): all of it becomes
//! visible at once, or nothing.
//!
//! The first table that comes or goes takes the lock of names and ids, and each that is dropped or
//! whose indexes change its own; they are held to the end. Waits for them are bounded.
//!
//! Thread safety: belongs to its transaction.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onlap_base::{Csn, Error, ErrorKind, Result, TableId};
use onlap_format::manifest::Edit;
use onlap_storage::version::{Changed, TableVersion};

use super::Transaction;
use super::indexes::{IndexStep, Reindexed, check_gone};
use crate::adopt;
use crate::database::{Shared, Table, unknown_table};
use crate::schema_change::{self, ChangeGuard};
use crate::sequences::{self, Sequence};
use crate::spec::{SequenceSpec, TableSpec};
use crate::table::{TableState, TableView};
use crate::{history, rules};

/// How long a transaction without a lock timeout waits for another schema change: others may wait for
/// what this one holds already.
const WAIT: Duration = Duration::from_secs(30);

/// What a transaction did to the catalog.
#[derive(Default)]
pub(super) struct SchemaSteps {
    names: Option<ChangeGuard>,
    pub(super) steps: Vec<Step>,
    /// What the steps make of the indexes of tables.
    pub(super) reindexed: Vec<Reindexed>,
}

pub(super) enum Step {
    Created(Arc<TableState>),
    Dropped {
        state: Arc<TableState>,
        /// `None`: the table is the transaction's own, or its lock is held for its indexes.
        _guard: Option<ChangeGuard>,
    },
    Index(TableId, IndexStep),
}

impl SchemaSteps {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn holds_names(&self) -> bool {
        self.names.is_some()
    }

    pub(super) fn has_created(&self, table: &TableState) -> bool {
        self.created().any(|state| state.id == table.id)
    }

    pub(super) fn has_dropped(&self, table: &TableState) -> bool {
        self.steps.iter().any(|s| matches!(s, Step::Dropped { state, .. } if state.id == table.id))
    }

    /// Tables that were created and not dropped again.
    fn created(&self) -> impl Iterator<Item = &Arc<TableState>> {
        self.steps.iter().filter_map(|step| match step {
            Step::Created(state) if !self.has_dropped(state) => Some(state),
            _ => None,
        })
    }

    /// Tables that others know and that were dropped.
    fn dropped(&self) -> impl Iterator<Item = &Arc<TableState>> {
        self.steps.iter().filter_map(|step| match step {
            Step::Dropped { state, .. } if !state.unborn.load(Ordering::Acquire) => Some(state),
            _ => None,
        })
    }

    fn edits(&self, shared: &Shared) -> Vec<Edit> {
        let mut edits: Vec<Edit> = self.dropped().map(|state| Edit::DropTable(state.id)).collect();
        for state in self.created() {
            // Where its indexes changed since, another edit says so.
            let (schema, before) = (state.schema(), shared.snapshots.published());
            edits.push(Edit::CreateTable((*schema).clone()));
            state.history_floor.fetch_max(before, Ordering::AcqRel);
            edits.extend(history::begin(shared, &schema, before));
        }
        edits
    }

    /// Shows everybody what is durable.
    fn publish(&self, shared: &Shared, changed: &[Changed]) {
        for state in self.dropped() {
            schema_change::forget_table(shared, state);
        }
        for state in self.created() {
            let version = changed.iter().find(|c| c.0 == state.id).and_then(|c| c.1.as_ref());
            let version = version.expect("a created table has a version");
            state.change_view(|old| TableView { version: Arc::clone(version), ..old.clone() });
            state.unborn.store(false, Ordering::Release);
            shared.catalog.insert(state.schema().name.clone(), Arc::clone(state));
        }
    }
}

impl Transaction {
    /// The table of a name, as this transaction sees the catalog.
    ///
    /// # Errors
    /// There is none, or this transaction dropped it.
    pub fn table(&self, name: &str) -> Result<Table> {
        self.shared.check_open()?;
        let own = self.schema.created().find(|state| state.schema().name == name);
        let found = own.cloned().or_else(|| {
            let state = self.shared.catalog.by_name(name)?;
            (!self.schema.has_dropped(&state)).then_some(state)
        });
        found.map(|s| Table::new(s, &self.shared)).ok_or_else(|| unknown_table(name))
    }

    /// All tables, as this transaction sees the catalog, by name.
    pub fn tables(&self) -> Vec<Table> {
        let known = self.shared.catalog.all();
        let left = known.into_iter().filter(|state| !self.schema.has_dropped(state));
        let mut all: Vec<_> = left.chain(self.schema.created().cloned()).collect();
        all.sort_by_cached_key(|state| state.schema().name.clone());
        all.into_iter().map(|state| Table::new(state, &self.shared)).collect()
    }

    /// Creates a table with its indexes, which nobody else sees before the commit.
    ///
    /// # Errors
    /// As [`crate::Database::create_table`]; foreign keys are for that alone;
    /// [`ErrorKind::LockNotAvailable`] when another schema change takes too long.
    pub fn create_table(&mut self, spec: TableSpec) -> Result<Table> {
        self.changing()?;
        self.lock_names()?;
        if self.table(spec.name()).is_ok() {
            let text = format!("there is a table named {} already", spec.name());
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        let schema = schema_change::take_schema(&self.shared, &spec)?;
        if !schema.foreign_keys.is_empty() {
            let text = "a transaction creates no foreign keys; create the table before it";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let version = TableVersion::empty(self.shared.versions.files(), &schema)?;
        let state = self.shared.new_table(Arc::new(version), 0, 1, Vec::new());
        state.unborn.store(true, Ordering::Release);
        self.schema.steps.push(Step::Created(Arc::clone(&state)));
        Ok(Table::new(state, &self.shared))
    }

    /// Drops a table with its indexes, and with what this transaction did to it. Others go on with it
    /// until the commit.
    ///
    /// # Errors
    /// As [`crate::Database::drop_table`]; [`ErrorKind::LockNotAvailable`] when another schema change
    /// takes too long.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        self.changing()?;
        self.lock_names()?;
        let state = self.table(name)?.state;
        let mut guard = None;
        if !state.unborn.load(Ordering::Acquire) {
            if self.schema.reindexed(state.id).is_none() {
                guard = Some(self.lock_schema_of(&state)?);
            }
            self.shared.references.check_droppable(&state.schema())?;
        }
        self.schema.steps.push(Step::Dropped { state, _guard: guard });
        Ok(())
    }

    /// Creates a sequence, for a table that this transaction creates. Everybody sees it at once, and it
    /// stays when the transaction rolls back: sequences are no part of transactions. Unlike
    /// [`crate::Database::create_sequence`] it does not wait for this transaction itself.
    ///
    /// # Errors
    /// As [`crate::Database::create_sequence`]; [`ErrorKind::LockNotAvailable`] when another schema
    /// change takes too long.
    pub fn create_sequence(&mut self, spec: &SequenceSpec) -> Result<Sequence> {
        self.changing()?;
        self.lock_names()?;
        let state = sequences::create_locked(&self.shared, spec)?;
        Ok(Sequence::new(&self.shared, state))
    }

    fn lock_names(&mut self) -> Result<()> {
        if self.schema.names.is_none() {
            self.schema.names = Some(self.wait_for_names()?);
        }
        Ok(())
    }

    /// The lock of names and ids.
    pub(super) fn wait_for_names(&self) -> Result<ChangeGuard> {
        let wait = self.options.lock_timeout.unwrap_or(WAIT);
        self.shared.schema_lock.lock_within(wait, &*self.shared.clock, "the catalog")
    }

    /// The lock that keeps others from changing the schema of a table.
    pub(super) fn lock_schema_of(&self, state: &TableState) -> Result<ChangeGuard> {
        let what = format!("table {}", state.schema().name);
        let wait = self.options.lock_timeout.unwrap_or(WAIT);
        state.changing.lock_within(wait, &*self.shared.clock, &what)
    }

    /// Commits rows and steps together.
    pub(super) fn commit_schema(mut self) -> Result<Csn> {
        let reindexed = self.schema.reindexed.iter().map(|r| Arc::clone(&r.state));
        for state in reindexed.collect::<Vec<_>>() {
            if !self.schema.has_dropped(&state) {
                // A table whose rows stay as they are gets a buffer too.
                self.buffer(&Table::new(state, &self.shared))?;
            }
        }
        let mut steps = std::mem::take(&mut self.schema);
        let mut parts = Vec::with_capacity(self.tables.len());
        for buffer in std::mem::take(&mut self.tables) {
            let state = Arc::clone(&buffer.table.state);
            if steps.has_dropped(&state) {
                continue;
            }
            let indexes = steps.take_indexes(&state);
            if indexes.is_some() || !buffer.is_untouched() {
                parts.push(buffer.finish_spilled(&self.shared, indexes)?);
            }
        }
        let mut reads = self.reads.take();
        if let Some(reads) = &mut reads {
            reads.look(&self.shared)?;
        }
        let shared = Arc::clone(&self.shared);
        let mut validate = || {
            check_gone(&shared, &steps.reindexed)?;
            reads.as_ref().map_or(Ok(()), |reads| reads.validate(&shared))
        };
        let mut publish = |changed: &[Changed], _: Csn| steps.publish(&self.shared, changed);
        let further = adopt::Further {
            edits: steps.edits(&self.shared),
            validate: Some(&mut validate),
            publish: Some(&mut publish),
        };
        let csn = adopt::commit(&self.shared, parts, further)?;
        steps.dropped().for_each(|s| rules::came_or_went(&self.shared, &s.schema()));
        self.shared.versions.files().sweep()?;
        Ok(csn)
    }
}
