//! Which tables does a transaction create and drop?
//!
//! What it does to the catalog is a private list of steps until it commits: a table that it created is
//! known to nobody else, one that it dropped is gone for itself alone; tables change their form likewise
//! ([`super::alter`], [`super::indexes`]). Its commit goes through the
//! manifest, whose one record holds the steps and adopts the rows ([`crate::adopt`]): all of it becomes
//! visible at once, or nothing.
//!
//! A name that comes or goes, and a table that is dropped or changed, is locked to the end
//! ([`crate::locks`]): a transaction that wants the same one waits, and all others go on. Ids are taken in an instant, and
//! for ever. A deadlock of transactions is told at once. Waits are bounded all the same: a change outside of
//! transactions may wait for what its caller's transaction holds.
//!
//! Thread safety: belongs to its transaction.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onlap_base::{Csn, Error, ErrorKind, Result, TableId};
use onlap_format::TableSchema;
use onlap_format::manifest::Edit;
use onlap_storage::version::{Changed, TableVersion};

use super::altered::Altered;
use super::{Transaction, may_wait, wait_context};
use crate::adopt;
use crate::database::{Shared, Table, unknown_table};
use crate::history;
use crate::locks::{LockWait, RowLock, Target, WaitContext};
use crate::rules::{Reference, References};
use crate::schema_change::{self, ChangeGuard};
use crate::sequences::{Dropping, NewSequence, SequenceState};
use crate::spec::TableSpec;
use crate::table::{TableState, TableView};

/// How long a transaction without a lock timeout waits for another schema change. One outside of transactions
/// may wait for what this one holds already, and stands in no graph of waits.
const WAIT: Duration = Duration::from_secs(30);

/// What a transaction did to the catalog.
#[derive(Default)]
pub(super) struct SchemaSteps {
    pub(super) steps: Vec<Step>,
    /// What the steps make of tables, and whose schemas others cannot change.
    pub(super) altered: Vec<Altered>,
}

pub(super) enum Step {
    Created(Arc<TableState>),
    Dropped {
        state: Arc<TableState>,
        /// `None`: the table is the transaction's own, or its lock is held for its form.
        _guard: Option<ChangeGuard>,
    },
    /// A table has another form from now on.
    Altered(TableId, Arc<TableSchema>),
    /// Others cannot change the schema of a table.
    Held(TableId),
    CreatedSequence(NewSequence),
    DroppedSequence(Arc<SequenceState>),
}

impl SchemaSteps {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn has_created(&self, table: &TableState) -> bool {
        self.created().any(|state| state.id == table.id)
    }

    pub(super) fn has_dropped(&self, table: &TableState) -> bool {
        self.steps.iter().any(|s| matches!(s, Step::Dropped { state, .. } if state.id == table.id))
    }

    pub(super) fn undo_steps(&mut self, n: usize) {
        self.steps.truncate(n);
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
        edits.extend(self.gone_sequences().map(|state| Edit::DropSequence(state.id())));
        edits.extend(self.new_sequences().flat_map(NewSequence::edits));
        edits
    }

    /// Tables of others that have another name after the commit, before it.
    fn renamed(&self) -> Vec<(String, String)> {
        let others = self.altered.iter().filter(|a| {
            self.changes_schema(a.state.id)
                && !self.has_dropped(&a.state)
                && !a.state.unborn.load(Ordering::Acquire)
        });
        let names = others.map(|a| (a.state.schema().name.clone(), a.schema.name.clone()));
        names.filter(|(before, after)| before != after).collect()
    }

    /// The schema of a table as the transaction sees it.
    fn schema_now(&self, state: &TableState) -> Arc<TableSchema> {
        self.schema_of(state).cloned().unwrap_or_else(|| state.schema())
    }

    /// All tables as the transaction sees them.
    fn all(&self, shared: &Shared) -> Vec<Arc<TableState>> {
        let known = shared.catalog.all();
        let left = known.into_iter().filter(|state| !self.has_dropped(state));
        left.chain(self.created().cloned()).collect()
    }

    /// Who refers to whom, as the transaction sees it.
    fn references(&self, shared: &Shared) -> References {
        let mut all = Vec::new();
        for state in self.all(shared) {
            let schema = self.schema_now(&state);
            let of = |key: &_| Reference { child: state.id, key: Clone::clone(key) };
            all.extend(schema.foreign_keys.iter().map(of));
        }
        shared.references.with_coming(all)
    }

    /// Refuses that something goes which a foreign key came to rely on meanwhile.
    fn check_gone(&self, shared: &Shared) -> Result<()> {
        let references = self.references(shared);
        for altered in self.altered.iter().filter(|a| !self.has_dropped(&a.state)) {
            let before = altered.state.schema();
            let gone = before.indexes.iter().filter(|i| altered.schema.index(i.id).is_none());
            gone.into_iter().try_for_each(|i| references.check_index_droppable(&before, i.id))?;
        }
        self.dropped().try_for_each(|state| references.check_droppable(&state.schema()))
    }

    /// Shows everybody what is durable.
    fn publish(&self, shared: &Shared, changed: &[Changed], renamed: &[(String, String)]) {
        for state in self.dropped() {
            schema_change::forget_table(shared, state);
        }
        shared.catalog.rename_all(renamed);
        for state in self.created() {
            let version = changed.iter().find(|c| c.0 == state.id).and_then(|c| c.1.as_ref());
            let version = version.expect("a created table has a version");
            state.change_view(|old| TableView { version: Arc::clone(version), ..old.clone() });
            state.unborn.store(false, Ordering::Release);
            shared.catalog.insert(state.schema().name.clone(), Arc::clone(state));
        }
        self.new_sequences().for_each(NewSequence::born);
        shared.references.rebuild(&shared.catalog);
    }
}

impl Transaction {
    /// The table of a name, as this transaction sees the catalog.
    ///
    /// # Errors
    /// There is none, or this transaction dropped it.
    pub fn table(&self, name: &str) -> Result<Table> {
        self.shared.check_open()?;
        let found = self.find_table(name);
        found.map(|state| self.handle(state)).ok_or_else(|| unknown_table(name))
    }

    fn find_table(&self, name: &str) -> Option<Arc<TableState>> {
        let steps = &self.schema;
        let is_named = |state: &&Arc<TableState>| steps.schema_now(state).name == name;
        let altered = steps.altered.iter().map(|a| &a.state);
        let mut altered = altered.filter(|state| !steps.has_dropped(state));
        let own = altered.find(is_named).or_else(|| steps.created().find(is_named));
        own.cloned().or_else(|| {
            let state = self.shared.catalog.by_name(name)?;
            (!steps.has_dropped(&state) && steps.schema_now(&state).name == name).then_some(state)
        })
    }

    /// The table of an id, as this transaction sees the catalog.
    pub(super) fn table_by_id(&self, id: TableId) -> Option<Table> {
        let own = self.schema.created().find(|state| state.id == id).cloned();
        let found = own.or_else(|| self.shared.catalog.by_id(id));
        found.filter(|s| !self.schema.has_dropped(s)).map(|s| self.handle(s))
    }

    fn handle(&self, state: Arc<TableState>) -> Table {
        let private = self.schema.schema_of(&state).cloned();
        let seen = Some(state.schema().version);
        Table { private, seen, ..Table::new(state, &self.shared) }
    }

    /// The foreign keys that refer to a table, as this transaction sees them.
    pub(super) fn references_to(&self, parent: TableId) -> Option<Arc<[Reference]>> {
        if self.schema.is_empty() {
            return self.shared.references.to(parent);
        }
        self.references().to(parent)
    }

    pub(super) fn references(&self) -> References {
        self.schema.references(&self.shared)
    }

    /// All tables, as this transaction sees the catalog, by name.
    pub fn tables(&self) -> Vec<Table> {
        let all = self.schema.all(&self.shared).into_iter();
        let mut all: Vec<Table> = all.map(|state| self.handle(state)).collect();
        all.sort_by_cached_key(Table::name);
        all
    }

    /// Creates a table with its indexes, which no other transaction sees before the commit. Tables that its
    /// foreign keys refer to are nobody else's to change until then.
    ///
    /// # Errors
    /// As [`crate::Database::create_table`]; [`ErrorKind::LockNotAvailable`] when another schema change
    /// takes too long.
    pub fn create_table(&mut self, spec: TableSpec) -> Result<Table> {
        self.changing()?;
        self.all_or_nothing(|tx| tx.create(&spec))
    }

    fn create(&mut self, spec: &TableSpec) -> Result<Table> {
        self.lock_name(spec.name(), RowLock::Update)?;
        for sequence in spec.sequences() {
            self.lock_name(sequence, RowLock::KeyShare)?;
        }
        if self.table(spec.name()).is_ok() {
            let text = format!("there is a table named {} already", spec.name());
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        for parent in spec.parents().filter(|parent| *parent != spec.name()) {
            let parent = self.table(parent)?;
            self.take_alone(&parent)?;
        }
        let find = |name: &str| self.table(name).map(|t| t.schema());
        let sequence = |name: &str| self.find_sequence(name).map(|s| s.id());
        let schema = schema_change::take_schema(&self.shared, spec, &find, &sequence)?;
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
        self.lock_name(name, RowLock::Update)?;
        let table = self.table(name)?;
        self.drop_known(&table)
    }

    /// Drops a table whose name is locked.
    fn drop_known(&mut self, table: &Table) -> Result<()> {
        let state = Arc::clone(&table.state);
        let mut guard = None;
        let others = !state.unborn.load(Ordering::Acquire);
        if others && self.schema.altered(state.id).is_none() {
            guard = Some(self.lock_schema_of(&state)?);
            self.must_be_as_seen(table)?;
        }
        self.references().check_droppable(&state.schema())?;
        self.schema.steps.push(Step::Dropped { state, _guard: guard });
        Ok(())
    }

    /// Drops a table that a statement knows, as [`Transaction::drop_table`] drops one by its name.
    ///
    /// # Errors
    /// As of that; [`ErrorKind::Conflict`]: another transaction changed it or has dropped it, see
    /// [`Transaction::wants_anew`].
    pub fn drop_seen_table(&mut self, table: &Table) -> Result<()> {
        self.changing()?;
        let name = table.name();
        self.lock_name(&name, RowLock::Update)?;
        let known = self.find_table(&name).filter(|state| state.id == table.state.id);
        if known.is_none() {
            return Err(self.begin_anew(table));
        }
        self.drop_known(table)
    }

    /// Keeps others from creating, dropping and renaming what has a name, until the end of this transaction;
    /// for objects that the engine does not know and that share the names of tables and sequences. Another
    /// transaction may have ended first: look then what has the name.
    ///
    /// # Errors
    /// Those of waits for locks.
    pub fn hold_name(&mut self, name: &str) -> Result<()> {
        self.changing()?;
        self.lock_name(name, RowLock::Update)
    }

    /// Keeps others from dropping and renaming what has a name, until the end of this transaction: for objects that read it, of
    /// which the engine knows nothing. Another transaction may have ended first: look then what has the name.
    ///
    /// # Errors
    /// Those of waits for locks.
    pub fn share_name(&mut self, name: &str) -> Result<()> {
        self.changing()?;
        self.lock_name(name, RowLock::KeyShare)
    }

    /// Gives up the names that it holds: for a caller who goes on with a change of the database itself, outside
    /// of this transaction.
    pub fn release_names(&mut self) {
        self.locks.release_names();
    }

    /// Keeps others from what may be done with a name of tables and sequences: from giving and taking it
    /// (`KeyShare`), and from relying on it too (`Update`).
    pub(super) fn lock_name(&mut self, name: &str, mode: RowLock) -> Result<()> {
        let go_on = may_wait(&self.shared, &self.cancel);
        let context = wait_context(&self.shared, &self.options, &go_on);
        let context = WaitContext { timeout: Some(context.timeout.unwrap_or(WAIT)), ..context };
        self.locks.lock_name(name, mode, LockWait::Block, context).map(|_| ())
    }

    /// The lock that keeps others from changing the schema of a table: other transactions by a lock whose
    /// deadlocks are found, changes outside of transactions by the one that they take.
    pub(super) fn lock_schema_of(&mut self, state: &Arc<TableState>) -> Result<ChangeGuard> {
        let go_on = may_wait(&self.shared, &self.cancel);
        let context = wait_context(&self.shared, &self.options, &go_on);
        let context = WaitContext { timeout: Some(context.timeout.unwrap_or(WAIT)), ..context };
        self.locks.lock(state, Target::Schema, RowLock::Update, LockWait::Block, context)?;
        let what = format!("table {}", state.schema().name);
        let wait = self.options.lock_timeout.unwrap_or(WAIT);
        state.changing.lock_within(wait, &*self.shared.clock, &what)
    }

    /// Waits for other transactions that change the form of a table, for a caller who goes on with a change of the database
    /// itself, outside of this transaction.
    ///
    /// # Errors
    /// Those of waits for locks; [`ErrorKind::Conflict`]: they have changed it, see [`Transaction::wants_anew`].
    pub fn await_form(&mut self, table: &Table) -> Result<()> {
        if self.schema.has_created(&table.state) || self.schema.altered(table.state.id).is_some() {
            return Ok(());
        }
        let mark = self.locks.mark();
        let waited = self.await_schema_of(&table.state);
        self.locks.release_since(&mark, &self.shared.locks);
        waited?;
        self.must_be_as_seen(table)
    }

    fn await_schema_of(&mut self, state: &Arc<TableState>) -> Result<()> {
        let go_on = may_wait(&self.shared, &self.cancel);
        let context = wait_context(&self.shared, &self.options, &go_on);
        self.locks.lock(state, Target::Schema, RowLock::Update, LockWait::Block, context)?;
        let begun = self.shared.clock.monotonic_ns();
        let look = || {
            go_on()?;
            let waited = self.shared.clock.monotonic_ns().saturating_sub(begun);
            match self.options.lock_timeout.is_some_and(|most| u128::from(waited) > most.as_nanos())
            {
                true => {
                    Err(Error::new(ErrorKind::LockNotAvailable, "the form of a table is locked"))
                }
                false => Ok(()),
            }
        };
        state.changing.lock_while(&look).map(drop)
    }

    /// Commits rows and steps together.
    pub(super) fn commit_schema(mut self) -> Result<Csn> {
        let altered = self.schema.altered.iter().map(|a| Arc::clone(&a.state));
        for state in altered.collect::<Vec<_>>() {
            if self.schema.changes_schema(state.id) && !self.schema.has_dropped(&state) {
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
            steps.check_gone(&shared)?;
            steps.new_sequences().try_for_each(NewSequence::check)?;
            reads.as_ref().map_or(Ok(()), |reads| reads.validate(&shared))
        };
        let renamed = steps.renamed();
        let dropping = steps.gone_sequences().map(|state| Dropping::new(state));
        let dropping = dropping.collect::<Result<Vec<_>>>()?;
        let mut publish = |changed: &[Changed], _: Csn| {
            dropping.iter().for_each(|d| d.gone(&self.shared));
            steps.publish(&self.shared, changed, &renamed);
        };
        let further = adopt::Further {
            edits: steps.edits(&self.shared),
            validate: Some(&mut validate),
            publish: Some(&mut publish),
        };
        let csn = adopt::commit(&self.shared, parts, further)?;
        self.shared.versions.files().sweep()?;
        Ok(csn)
    }
}
