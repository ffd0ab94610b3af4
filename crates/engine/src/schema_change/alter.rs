//! How does a table change its columns, names and rules?
//!
//! The new schema is planned first ([`plan`](super::plan)). Where columns come, go or change their
//! type, no memtable outlives the change: it is flushed as far as it goes while writers go on, and the
//! last rows while they wait; so all rows in memory, and all that replay of the log brings, have the
//! columns of the schema of the moment. (Memtables of several schemas side by side would need a mapping
//! of columns in every reader.) Values are rewritten, and indexes built anew, only where a type change
//! asks for it; writers wait for that. Then one manifest record makes everything durable at once: a
//! crash or an error before leaves the table as it was.
//!
//! Thread safety: under the table's change lock, the end under the commit lock too.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{ColumnId, Error, ErrorKind, IndexId, Result, RowId};
use onlap_format::manifest::Edit;
use onlap_format::{IndexSchema, TableSchema};
use onlap_storage::segment::Segment;

use super::plan::Plan;
use super::{WhichTable, convert, hold_names, take_index_ids};
use crate::background::Claim;
use crate::changes::Fixed;
use crate::commit::Leader;
use crate::database::Shared;
use crate::read::{ReadView, Registration, RowBatch, Scan};
use crate::spec::TableChanges;
use crate::table::{Highs, TableState, TableView};
use crate::{flush, index_build, rules};

pub(crate) fn alter_table(
    shared: &Arc<Shared>,
    table: WhichTable<'_>,
    changes: &TableChanges,
) -> Result<()> {
    let name = table.name();
    let _names = hold_names(shared, changes.names(&name))?;
    let (state, _changing) = table.lock(shared)?;
    alter_locked(shared, &state, &name, changes)
}

/// The same for who holds the change lock of the table.
pub(super) fn alter_locked(
    shared: &Arc<Shared>,
    state: &Arc<TableState>,
    table: &str,
    changes: &TableChanges,
) -> Result<()> {
    let sequence = |name: &str| rules::find_sequence(shared, name);
    let taken = state.columns_taken.load(Ordering::Acquire);
    let plan = Plan::new(&state.schema(), taken, &changes.0, &shared.references, &sequence)?;
    if plan.generates {
        let text = "a generated column is added to a table only in a transaction";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    if changes.converts_rows() {
        let text = "values of a column are calculated of whole rows only in a transaction";
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    if plan.schema.name != table && shared.catalog.by_name(&plan.schema.name).is_some() {
        let text = format!("there is a table named {} already", plan.schema.name);
        return Err(Error::new(ErrorKind::AlreadyExists, text));
    }
    let looked = Registration::new(shared);
    let converted = plan.convert.iter().map(|c| c.0);
    let fixed = plan.not_null.iter().copied().chain(converted).collect::<Vec<_>>();
    let _fixed = (!fixed.is_empty()).then(|| Fixed::new(shared, state, fixed));
    let nulls = NotNull::new(&state.schema(), &plan);
    let seen = nulls.check(shared, state, 0, &looked)?;
    if plan.columns {
        flush::flush_table(shared, state)?;
    }
    let _files = (!plan.convert.is_empty()).then(|| shared.background.hold(Claim::Files(state.id)));
    let ids = take_index_ids(shared, plan.rebuild.len())?;
    let mut change = Change { shared, state, plan, ids, edits: Vec::new() };
    shared.commits().exclusively(|leader| {
        nulls.check(shared, state, seen, &Registration::new(shared))?;
        change.run(leader, table)
    })
}

/// The end of a change, while no commit is under way.
struct Change<'a> {
    shared: &'a Arc<Shared>,
    state: &'a Arc<TableState>,
    plan: Plan,
    /// For indexes that are built anew.
    ids: Vec<IndexId>,
    /// Files that are written.
    edits: Vec<Edit>,
}

impl Change<'_> {
    fn run(&mut self, leader: &Leader, name: &str) -> Result<()> {
        let csn = leader.next_csn - 1;
        if self.plan.columns {
            flush::freeze(self.shared, self.state, csn);
            flush::drain(self.shared, self.state, csn)?;
        }
        let done = self.prepare(csn).and_then(|highs| self.install(name, highs));
        // After such a failure the record that names the files may be there.
        if done.as_ref().is_err_and(|e| e.kind() != ErrorKind::ReadOnly) {
            flush::discard(self.shared, &self.edits);
        }
        done
    }

    /// Writes what has to be written.
    fn prepare(&mut self, csn: onlap_base::Csn) -> Result<Highs> {
        let view = self.state.view();
        let segments: Vec<Arc<Segment>> = match self.plan.convert.is_empty() {
            true => view.version.segments().cloned().collect(),
            false => convert::rewrite(self.shared, &view, &self.plan, &mut self.edits)?,
        };
        let mut ids = self.ids.iter();
        let mut indexes: Vec<IndexSchema> = Vec::new();
        for index in &mut self.plan.schema.indexes {
            if self.plan.rebuild.contains(&index.id) {
                let stale = index_build::changed_before(&view, std::slice::from_ref(index));
                index.only_since |= !stale.is_empty();
                index.since = csn;
                index.id = *ids.next().expect("an id was taken for each");
                indexes.push(index.clone());
            }
        }
        if indexes.is_empty() {
            return Ok(Highs::new());
        }
        let mut runs = Vec::new();
        let (shared, schema) = (self.shared, &self.plan.schema);
        let built = index_build::rebuild(shared, &view, schema, &segments, &indexes, &mut runs);
        let table = self.state.id;
        self.edits.extend(runs.into_iter().map(|(i, run)| Edit::AddRun(table, i, run)));
        built
    }

    /// Makes everything durable and visible.
    fn install(&self, name: &str, highs: Highs) -> Result<()> {
        let (shared, state) = (self.shared, self.state);
        let _installing = state.building.lock();
        let schema = Arc::new(self.plan.schema.clone());
        let mut edits = vec![Edit::ChangeTable((*schema).clone())];
        edits.extend(self.edits.iter().cloned());
        shared.commit_edits(&edits, |changed| {
            let version = changed[0].1.clone().expect("a changed table has a version");
            state.change_view(|old| {
                let mut new = TableView {
                    schema: Arc::clone(&schema),
                    landing: Arc::clone(&schema),
                    version,
                    ..old.clone()
                };
                if self.plan.columns {
                    debug_assert!(old.frozen.is_empty() && old.active.rows() == 0);
                    new.active = state.successor_of(&old.active, &schema, old.active.end_row());
                }
                new
            });
            if schema.name != name {
                shared.catalog.rename(name, &schema.name);
            }
        })?;
        let mut writer = state.writer.lock();
        writer.highs.retain(|h| schema.index(h.0).is_some());
        writer.highs.extend(highs);
        drop(writer);
        shared.references.rebuild(&shared.catalog);
        Ok(())
    }
}

/// Columns that are about to refuse NULL.
struct NotNull {
    /// Names of those that rows have.
    names: Vec<String>,
    /// One that is new and that rows read as NULL.
    empty: Option<String>,
}

impl NotNull {
    fn new(schema: &TableSchema, plan: &Plan) -> NotNull {
        let mut out = NotNull { names: Vec::new(), empty: None };
        for &id in &plan.not_null {
            let before = |c: &&(ColumnId, ColumnId)| c.1 == id;
            let old = plan.convert.iter().find(before).map_or(id, |c| c.0);
            let new = plan.schema.position(id).map(|at| &plan.schema.columns[at]);
            match (schema.position(old), new) {
                (Some(at), _) => out.names.push(schema.columns[at].name.clone()),
                (None, Some(new)) if new.missing.is_none() => out.empty = Some(new.name.clone()),
                _ => {}
            }
        }
        out
    }

    /// Looks at the visible rows from `from` on; returns where they end.
    fn check(
        &self,
        shared: &Shared,
        state: &TableState,
        from: RowId,
        at: &Registration,
    ) -> Result<RowId> {
        let view = ReadView::new(state, at)?;
        let end = view.count;
        if self.names.is_empty() && self.empty.is_none() {
            return Ok(end);
        }
        let scan = Scan::all().columns(self.names.clone()).row_ids(from..end);
        let mut rows = view.scan(scan)?;
        let types: Vec<_> = rows.columns().map(|(_, ty)| ty).collect();
        let mut batch = RowBatch::new(&types.into());
        while rows.next_into(&mut batch)? {
            shared.check_open()?;
            let has_null = |c: &onlap_format::Column| (0..batch.len()).any(|i| c.is_null(i));
            let at = batch.columns.columns.iter().position(has_null);
            let name = at.map(|at| &self.names[at]).or(self.empty.as_ref());
            if let Some(name) = name {
                return Err(rules::has_null(&state.schema(), name));
            }
        }
        Ok(end)
    }
}
