//! How do tables and indexes come and go?
//!
//! A schema change is one manifest record, made while no commit is under way, so that the log's
//! records never straddle it. What takes long, filling a new index, is done before
//! ([`crate::index_build`]), while writers go on.
//!
//! Thread safety: what comes, goes or gets another name has its names locked first ([`hold_names`]), as
//! transactions lock them; then one change per table at a time, under its `changing`; ids are given under
//! `schema_lock`, for an instant. All come before the commit lock.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Error, ErrorKind, IndexId, Result, TableId, limits};
use onlap_format::manifest::Edit;
use onlap_format::{IndexSchema, TableSchema};

use crate::database::{Shared, unknown_table};
use crate::index_build::{self, BuildControl};
use crate::locks::{HeldLocks, LockWait, RowLock, WaitContext};
use crate::margin;
use crate::pace::owed::Owed;
use crate::rules::{FindSequence, FindTable, References};
use crate::spec::{IndexSpec, TableChange, TableChanges, TableSpec};
use crate::table::TableState;
use crate::{history, rules};

mod alter;
mod convert;
mod lock;
mod plan;
pub(crate) mod truncate;
mod which;

pub(crate) use alter::alter_table;
pub(crate) use convert::cast;
pub(crate) use lock::{ChangeGuard, ChangeLock};
pub(crate) use plan::{Plan, Reads};
pub(crate) use truncate::truncate_table;
pub use which::WhichTable;

pub(crate) fn create_table(shared: &Arc<Shared>, spec: &TableSpec) -> Result<Arc<TableState>> {
    margin::check_room(shared)?;
    let used = spec.sequences().chain(spec.parents()).filter(|name| *name != spec.name());
    let used = used.map(|name| (name, RowLock::KeyShare));
    let _names = hold_names(shared, std::iter::once((spec.name(), RowLock::Update)).chain(used))?;
    let _ids = shared.schema_lock.lock();
    if shared.catalog.by_name(spec.name()).is_some() {
        let text = format!("there is a table named {} already", spec.name());
        return Err(Error::new(ErrorKind::AlreadyExists, text));
    }
    let parents = |name: &str| rules::find_table(shared, name);
    let sequence = |name: &str| rules::find_sequence(shared, name);
    let schema = new_schema(shared, spec, &parents, &sequence)?;
    let table = schema.id;
    shared.commits().exclusively(|leader| {
        let csn = leader.next_csn - 1;
        let mut edits = vec![Edit::CreateTable(schema.clone()), Edit::Flushed(table, 0, csn)];
        edits.extend(history::begin(shared, &schema, csn));
        shared.commit_edits(&edits, |changed| {
            let version = changed[0].1.clone().expect("a created table has a version");
            let state = shared.new_table(version, csn, 1, Vec::new());
            shared.catalog.insert(schema.name.clone(), Arc::clone(&state));
            rules::came_or_went(shared, &schema);
            state
        })
    })
}

/// The schema of a new table. The caller holds `schema_lock`.
fn new_schema(
    shared: &Shared,
    spec: &TableSpec,
    parents: &FindTable<'_>,
    sequence: &FindSequence<'_>,
) -> Result<TableSchema> {
    if shared.catalog.all().len() >= limits::TABLES {
        let text = format!("there are {} tables, the most of a database", limits::TABLES);
        return Err(Error::new(ErrorKind::LimitExceeded, text));
    }
    let (table, mut index) = shared.versions.state(|s| (TableId(s.next_table), s.next_index));
    let mut schema = spec.build(table, &mut || take(&mut index))?;
    rules::complete(spec, &mut schema, parents, sequence)?;
    Ok(schema)
}

/// The same with ids that are taken for ever. Takes `schema_lock`.
pub(crate) fn take_schema(
    shared: &Shared,
    spec: &TableSpec,
    parents: &FindTable<'_>,
    sequence: &FindSequence<'_>,
) -> Result<TableSchema> {
    let _ids = shared.schema_lock.lock();
    let schema = new_schema(shared, spec, parents, sequence)?;
    let indexes = schema.indexes.iter().map(|i| i.id.0 + 1);
    let index = indexes.max().unwrap_or(0);
    let edit = Edit::NextIds { file: 0, table: schema.id.0 + 1, index };
    shared.commit_edits(&[edit], |_| ())?;
    Ok(schema)
}

fn take(next: &mut u32) -> IndexId {
    *next += 1;
    IndexId(*next - 1)
}

/// Locks names of tables and sequences as transactions do; their holders are waited for. A change that has
/// a table's `changing` already must not begin with this: a transaction may wait for that.
pub(crate) fn hold_names<'a>(
    shared: &Shared,
    names: impl IntoIterator<Item = (&'a str, RowLock)>,
) -> Result<HeldLocks> {
    let mut held = HeldLocks::new(shared.locks.next_id());
    let go_on = || shared.check_open();
    let context = WaitContext {
        locks: &shared.locks,
        tasks: &*shared.tasks,
        clock: &*shared.clock,
        go_on: &go_on,
        timeout: None,
    };
    for (name, mode) in names {
        held.lock_name(name, mode, LockWait::Block, context)?;
    }
    Ok(held)
}

pub(crate) fn drop_table(shared: &Arc<Shared>, name: &str) -> Result<()> {
    let _names = hold_names(shared, [(name, RowLock::Update)])?;
    let (state, _changing) = lock_table(shared, name)?;
    shared.references.check_droppable(&state.schema())?;
    shared.commits().exclusively(|_| {
        state.dropped.store(true, Ordering::Release);
        let dropped = shared.commit_edits(&[Edit::DropTable(state.id)], |_| ());
        if dropped.is_ok() {
            forget_table(shared, &state);
            rules::came_or_went(shared, &state.schema());
        } else {
            state.dropped.store(false, Ordering::Release);
        }
        dropped
    })
}

/// After a table was dropped.
pub(crate) fn forget_table(shared: &Shared, state: &TableState) {
    state.dropped.store(true, Ordering::Release);
    shared.catalog.remove(&state.schema().name);
    shared.pressure.change_merge_debt(state.merge_debt.swap(0, Ordering::Relaxed), 0);
    shared.pace.owes(state.id, Owed::default());
    let frozen = state.view().frozen.iter().map(|f| f.bytes).sum();
    shared.pressure.dropped(frozen, shared.clock.monotonic_ns());
}

/// Builds indexes of a table together, while writers go on: all of them, or none.
pub(crate) fn build_indexes(
    shared: &Arc<Shared>,
    table: WhichTable<'_>,
    specs: &[IndexSpec],
    control: &BuildControl,
) -> Result<()> {
    if let Some(judged) = specs.iter().find(|spec| spec.is_judged()) {
        let text =
            format!("index {} is made by a transaction, which has the table alone", judged.name());
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let (state, _changing) = table.lock(shared)?;
    let name = &state.schema().name;
    if specs.is_empty() {
        return Ok(());
    }
    let schema = state.schema();
    let derives = specs.iter().any(|spec| spec.derives_new(&schema));
    if derives {
        let derive = |spec: &IndexSpec| TableChange::Derive { index: Box::new(spec.clone()) };
        let changes = TableChanges(specs.iter().map(derive).collect());
        alter::alter_locked(shared, &state, name, &changes)?;
    }
    let built = take_indexes(shared, &state.schema(), specs)
        .and_then(|indexes| index_build::run(shared, &state, &indexes, control));
    if derives && built.is_err() {
        // The error is the build's, whatever becomes of this; what stays goes with the next open.
        let changes = TableChanges(vec![TableChange::ForgetDerived]);
        let _ = alter::alter_locked(shared, &state, name, &changes);
    }
    built
}

/// Takes away the derived columns of indexes whose build was interrupted: rows of the log had them, so that this
/// comes after the replay.
pub(crate) fn forget_derived(shared: &Arc<Shared>) -> Result<()> {
    for state in shared.catalog.all() {
        let mut schema = (*state.schema()).clone();
        if schema.forget_unused_derived() && shared.check_writable().is_ok() {
            let changes = TableChanges(vec![TableChange::ForgetDerived]);
            alter_table(shared, (&schema.name).into(), &changes)?;
        }
    }
    Ok(())
}

/// Checks specs and takes index ids for them for ever.
fn take_indexes(
    shared: &Shared,
    schema: &TableSchema,
    specs: &[IndexSpec],
) -> Result<Vec<IndexSchema>> {
    let _ids = shared.schema_lock.lock();
    let (table, mut next) = shared.versions.state(|s| (s.next_table, s.next_index));
    let mut schema = schema.clone();
    let before = schema.indexes.len();
    for spec in specs {
        let index = spec.build(&schema, &mut || take(&mut next))?;
        schema.indexes.push(index);
    }
    shared.commit_edits(&[Edit::NextIds { file: 0, table, index: next }], |_| ())?;
    Ok(schema.indexes.split_off(before))
}

/// Takes index ids for ever.
pub(crate) fn take_index_ids(shared: &Shared, n: usize) -> Result<Vec<IndexId>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let _ids = shared.schema_lock.lock();
    let (table, first) = shared.versions.state(|s| (s.next_table, s.next_index));
    let next = first + n as u32;
    shared.commit_edits(&[Edit::NextIds { file: 0, table, index: next }], |_| ())?;
    Ok((first..next).map(IndexId).collect())
}

/// A table by name, with the lock that keeps other changes of its schema away.
pub(crate) fn lock_table(shared: &Shared, name: &str) -> Result<(Arc<TableState>, ChangeGuard)> {
    loop {
        let find = || shared.catalog.by_name(name).ok_or_else(|| unknown_table(name));
        let state = find()?;
        let guard = state.changing.lock();
        // Another table may have the name by now.
        if find()?.id == state.id {
            return Ok((state, guard));
        }
    }
}

pub(crate) fn drop_index(shared: &Arc<Shared>, table: WhichTable<'_>, name: &str) -> Result<()> {
    let (state, _changing) = table.lock(shared)?;
    let mut schema = (*state.schema()).clone();
    let index = droppable_index(&shared.references, &schema, name)?;
    schema.version += 1;
    schema.indexes.retain(|i| i.id != index);
    if schema.clone().forget_unused_derived() {
        let changes = TableChanges(vec![TableChange::DropIndex { name: name.to_owned() }]);
        return alter::alter_locked(shared, &state, &state.schema().name, &changes);
    }
    shared.commits().exclusively(|_| {
        // Flushes under way leave the index out when they see the new schema.
        let _installing = state.building.lock();
        state.change_schema(shared, schema, Vec::new())?;
        state.writer.lock().highs.retain(|h| h.0 != index);
        Ok(())
    })
}

/// An index by name that may be dropped.
pub(crate) fn droppable_index(
    references: &References,
    schema: &TableSchema,
    name: &str,
) -> Result<IndexId> {
    let table = &schema.name;
    let index = schema.index_by_name(name).ok_or_else(|| {
        let text = format!("table {table} has no index named {name}");
        Error::new(ErrorKind::UnknownIndex, text)
    })?;
    if index.primary {
        let text = format!("{name} is the primary key of table {table} and cannot be dropped");
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    references.check_index_droppable(schema, index.id)?;
    Ok(index.id)
}
