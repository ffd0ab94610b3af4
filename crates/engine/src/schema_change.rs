//! How do tables and indexes come and go?
//!
//! A schema change is one manifest record, made while no commit is under way, so that the log's
//! records never straddle it. A new index covers the rows that are there in pieces: rows are flushed,
//! then read a piece at a time, sorted, and written as one run per piece, which ordinary merges join
//! later; memory stays bounded whatever the table's size. Writers wait meanwhile; building while
//! writers go on comes with transactions.
//!
//! Thread safety: one change at a time, under `schema_lock`, then the commit lock.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{Error, ErrorKind, IndexId, Result, TableId, limits};
use onlap_format::manifest::Edit;
use onlap_format::{IndexSchema, TableSchema};

use crate::database::{Shared, unknown_table};
use crate::spec::{IndexSpec, TableSpec};
use crate::table::{TableState, TableView};
use crate::{flush, history, index_build, rules};

pub(crate) fn create_table(shared: &Arc<Shared>, spec: &TableSpec) -> Result<Arc<TableState>> {
    let _one = shared.schema_lock.lock();
    if shared.catalog.by_name(spec.name()).is_some() {
        let text = format!("there is a table named {} already", spec.name());
        return Err(Error::new(ErrorKind::AlreadyExists, text));
    }
    if shared.catalog.all().len() >= limits::TABLES {
        let text = format!("there are {} tables, the most of a database", limits::TABLES);
        return Err(Error::new(ErrorKind::LimitExceeded, text));
    }
    let (table, mut index) = shared.versions.state(|s| (TableId(s.next_table), s.next_index));
    let mut schema = spec.build(table, &mut || take(&mut index))?;
    rules::complete(shared, spec, &mut schema)?;
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

fn take(next: &mut u32) -> IndexId {
    *next += 1;
    IndexId(*next - 1)
}

pub(crate) fn drop_table(shared: &Arc<Shared>, name: &str) -> Result<()> {
    let _one = shared.schema_lock.lock();
    let state = shared.catalog.by_name(name).ok_or_else(|| unknown_table(name))?;
    shared.references.check_droppable(&state.schema())?;
    shared.commits().exclusively(|_| {
        state.dropped.store(true, Ordering::Release);
        let dropped = shared.commit_edits(&[Edit::DropTable(state.id)], |_| ());
        if dropped.is_ok() {
            shared.catalog.remove(name);
            rules::came_or_went(shared, &state.schema());
            shared.pressure.change_merge_debt(state.merge_debt.swap(0, Ordering::Relaxed), 0);
            let frozen = state.view().frozen.iter().map(|f| f.bytes).sum();
            shared.pressure.dropped(frozen, shared.clock.monotonic_ns());
        } else {
            state.dropped.store(false, Ordering::Release);
        }
        dropped
    })
}

pub(crate) fn create_index(shared: &Arc<Shared>, table: &str, spec: &IndexSpec) -> Result<()> {
    let _one = shared.schema_lock.lock();
    let state = shared.catalog.by_name(table).ok_or_else(|| unknown_table(table))?;
    let mut next = shared.versions.state(|s| s.next_index);
    let index = spec.build(&state.schema(), &mut || take(&mut next))?;
    // Most rows go to files while writers still run; only the rest is flushed with writers waiting.
    flush::flush_table(shared, &state)?;
    shared.commits().exclusively(|leader| {
        let csn = leader.next_csn - 1;
        flush::freeze(shared, &state, csn);
        flush::drain(shared, &state, csn)?;
        let schema = with_index(&state.schema(), &index);
        let mut edits = vec![Edit::ChangeTable(schema.clone())];
        if let Err(e) = index_build::build(shared, &state, &index, &mut edits) {
            flush::discard(shared, &edits);
            return Err(e);
        }
        change(shared, &state, schema, &edits)?;
        if index.unique {
            state.writer.lock().highs.push((index.id, index_build::high(&state, index.id)));
        }
        Ok(())
    })
}

fn with_index(schema: &TableSchema, index: &IndexSchema) -> TableSchema {
    let mut schema = schema.clone();
    schema.version += 1;
    schema.indexes.push(index.clone());
    schema
}

pub(crate) fn drop_index(shared: &Arc<Shared>, table: &str, name: &str) -> Result<()> {
    let _one = shared.schema_lock.lock();
    let state = shared.catalog.by_name(table).ok_or_else(|| unknown_table(table))?;
    let mut schema = (*state.schema()).clone();
    let index = schema.index_by_name(name).cloned().ok_or_else(|| {
        let text = format!("table {table} has no index named {name}");
        Error::new(ErrorKind::UnknownIndex, text)
    })?;
    if index.primary {
        let text = format!("{name} is the primary key of table {table} and cannot be dropped");
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    shared.references.check_index_droppable(&schema, index.id)?;
    schema.version += 1;
    schema.indexes.retain(|i| i.id != index.id);
    shared.commits().exclusively(|leader| {
        let csn = leader.next_csn - 1;
        // Frozen memtables are written with the schema they were filled under.
        flush::freeze(shared, &state, csn);
        flush::drain(shared, &state, csn)?;
        change(shared, &state, schema.clone(), &[Edit::ChangeTable(schema)])?;
        state.writer.lock().highs.retain(|h| h.0 != index.id);
        Ok(())
    })
}

/// Makes a schema change of a table without unflushed rows durable and visible.
fn change(
    shared: &Arc<Shared>,
    state: &Arc<TableState>,
    schema: TableSchema,
    edits: &[Edit],
) -> Result<()> {
    let schema = Arc::new(schema);
    debug_assert_eq!(
        schema.indexes.iter().map(|i| i.id).collect::<HashSet<_>>().len(),
        schema.indexes.len()
    );
    shared.commit_edits(edits, |changed| {
        let version = changed[0].1.clone().expect("a changed table has a version");
        state.change_view(|old| TableView {
            active: state.new_memtable(&schema, old.active.end_row()),
            schema: Arc::clone(&schema),
            version,
            frozen: Vec::new(),
        });
    })
}
