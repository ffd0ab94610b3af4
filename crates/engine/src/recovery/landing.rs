//! How do the commits of the log come into the memtables?
//!
//! As far as they are not in files. Rows of small commits that follow each other in one table are gathered and
//! land together ([`Gathered`]): views, locks, the highest keys and counts of memory are looked at once for all of
//! them, which is most of the work where a commit has one row.
//!
//! Invariants: commits land in their order; what is gathered lands before anything else does.
//!
//! Thread safety: as recovery.

use std::collections::HashMap;
use std::sync::Arc;

use onlap_base::{Csn, Error, PROVISIONAL_BASE, Result, RowId, TableId};
use onlap_format::Batch;
use onlap_format::log::{CommitRecord, CommitRecordTable, LogPosition, RelogTable};

use super::at_record;
use crate::changes;
use crate::database::Shared;
use crate::table::{TableState, TableView, TableWriter};

/// Rows gathered at most: the pieces in which memtables get them at other times.
const GATHERED_ROWS: usize = 1 << 10;
/// Bytes of log records gathered at most.
const GATHERED_BYTES: u64 = 1 << 20;
/// Commits of more rows land by themselves.
const SMALL_ROWS: usize = 64;

/// What recovery knows on its way through the log.
pub(super) struct Landing<'a> {
    shared: &'a Shared,
    gathered: Option<Gathered>,
    /// Tables some of whose rows the log has left out so far, and the error that this is unless relogged
    /// rows come.
    gaps: HashMap<TableId, Error>,
    /// Tables whose memtable is full.
    full: Vec<Arc<TableState>>,
    /// The last commit of the log so far. The manifest may know later ones, of other tables' files.
    seen: Csn,
}

/// Rows of neighbouring commits that do nothing but add these.
struct Gathered {
    state: Arc<TableState>,
    schema: u32,
    base: RowId,
    rows: Batch,
    /// Number of rows up to and with a commit, and its CSN.
    commits: Vec<(usize, Csn)>,
    bytes: u64,
}

impl<'a> Landing<'a> {
    pub(super) fn new(shared: &'a Shared) -> Landing<'a> {
        Landing { shared, gathered: None, gaps: HashMap::new(), full: Vec::new(), seen: 0 }
    }

    /// Takes a commit whose record has so many bytes.
    pub(super) fn commit(
        &mut self,
        commit: &mut CommitRecord,
        csn: Csn,
        at: LogPosition,
        bytes: u64,
    ) -> Result<()> {
        if !self.gather(commit, csn, bytes) {
            self.land();
            for part in &mut commit.tables {
                self.apply(part, csn, at)?;
            }
        }
        self.seen = csn;
        if self.gathered.as_ref().is_some_and(Gathered::is_full) {
            self.land();
        }
        Ok(())
    }

    /// Takes rows that were logged again.
    pub(super) fn relog(&mut self, rows: RelogTable) -> Result<()> {
        self.land();
        self.gaps.remove(&rows.table);
        crate::relog::apply(self.shared, rows)
    }

    /// Tables whose memtable was found to be full, since asked last.
    pub(super) fn take_full(&mut self) -> Vec<Arc<TableState>> {
        std::mem::take(&mut self.full)
    }

    /// The newest commit that is in memtables, with all before it.
    pub(super) fn landed(&self) -> Csn {
        // Those of the gathered rows are the newest ones.
        self.gathered.as_ref().map_or(self.seen, |g| g.commits[0].1 - 1)
    }

    /// All of the log was seen.
    pub(super) fn finish(mut self) -> Result<()> {
        self.land();
        for table in self.shared.catalog.all() {
            table.view().active.end_load();
        }
        self.gaps.into_values().next().map_or(Ok(()), Err)
    }

    /// Gathers a commit if it can stand with the ones before it, or alone where there are none.
    fn gather(&mut self, commit: &CommitRecord, csn: Csn, bytes: u64) -> bool {
        let [part] = &commit.tables[..] else { return false };
        let plain = part.marks.is_empty() && part.changes.is_empty();
        if !plain || !(1..=SMALL_ROWS).contains(&part.rows.rows) {
            return false;
        }
        if self.gathered.as_ref().is_some_and(|g| !g.goes_on(part)) {
            self.land();
        }
        if self.gathered.is_none() {
            let Some(state) = self.shared.catalog.by_id(part.table) else { return false };
            if csn <= state.view().version.flushed_csn
                || self.gaps.contains_key(&part.table)
                || part.base != state.writer.lock().next_row
            {
                return false;
            }
            self.gathered = Some(Gathered::new(state, part));
        }
        if let Some(gathered) = &mut self.gathered {
            gathered.push(part, csn, bytes);
        }
        true
    }

    /// What was gathered goes into the memtable.
    fn land(&mut self) {
        let Some(Gathered { state, rows, base, commits, .. }) = self.gathered.take() else {
            return;
        };
        let view = state.view();
        let mut writer = state.writer.lock();
        self.add_rows(&state, &view, &mut writer, &rows, base, &commits);
        drop(writer);
        self.look_at_memory(state);
    }

    fn add_rows(
        &self,
        state: &TableState,
        view: &TableView,
        writer: &mut TableWriter,
        rows: &Batch,
        base: RowId,
        commits: &[(usize, Csn)],
    ) {
        writer.active_since.get_or_insert(commits[0].1);
        crate::unique::raise_highs_of_rows(&view.schema, rows, &mut writer.highs);
        state.note_serials(rows);
        if rows.rows > 0 {
            view.active.load(rows, commits);
        }
        if view.schema.blind {
            // Which of them were written blindly, the log does not say.
            state.pending.push(base..base + rows.rows as RowId);
        }
        writer.next_row += rows.rows as RowId;
        state.counts.push(commits[commits.len() - 1].1, writer.next_row, &self.shared.snapshots);
    }

    fn look_at_memory(&mut self, state: Arc<TableState>) {
        if state.count_memory() >= self.shared.memtable_bytes
            && !self.full.iter().any(|t| t.id == state.id)
        {
            self.full.push(state);
        }
    }

    /// What a commit does to a table goes into the memtable at once.
    fn apply(&mut self, part: &mut CommitRecordTable, csn: Csn, at: LogPosition) -> Result<()> {
        let Some(state) = self.shared.catalog.by_id(part.table) else { return Ok(()) };
        let view = state.view();
        let mut writer = state.writer.lock();
        let rows = part.rows.rows as RowId;
        if csn <= view.version.flushed_csn || self.gaps.contains_key(&part.table) {
            return Ok(());
        }
        // A mark on a row that is not there yet is as much of a gap as a row behind one.
        let next = if rows > 0 { part.base } else { writer.next_row };
        let changed = part.changes.iter().flat_map(|c| &c.rows).map(|rows| rows.end);
        let landed = part.marks.iter().filter(|m| m.row < PROVISIONAL_BASE).map(|m| m.row + 1);
        let marked = landed.chain(changed).max().unwrap_or(0);
        if next != writer.next_row || marked > next {
            let text = format!(
                "table {}: rows from id {next} and marks below {marked} in the log, rows from {} \
                 expected",
                view.schema.name, writer.next_row
            );
            let e = at_record(Error::damaged(text), at);
            if next < writer.next_row {
                return Err(e);
            }
            self.gaps.insert(part.table, e);
            return Ok(());
        }
        self.add_rows(&state, &view, &mut writer, &part.rows, part.base, &[(part.rows.rows, csn)]);
        for mark in &part.marks {
            let successor = mark.successor.map(|s| part.base + RowId::from(s));
            let row = match mark.row.checked_sub(PROVISIONAL_BASE) {
                Some(ordinal) if ordinal < rows => part.base + ordinal,
                Some(_) => {
                    return Err(at_record(Error::damaged("a mark on a row of no commit"), at));
                }
                None => mark.row,
            };
            view.active.mark(row, csn, successor);
        }
        let changes = std::mem::take(&mut part.changes);
        let changes = changes::of_log(&view.schema, changes).map_err(|e| at_record(e, at))?;
        let history = view.schema.history_us > 0;
        view.active.change_all(csn, &changes, &|_, _| history);
        drop(writer);
        self.look_at_memory(state);
        Ok(())
    }
}

impl Gathered {
    fn new(state: Arc<TableState>, part: &CommitRecordTable) -> Gathered {
        let forms = part.rows.columns.iter().map(|c| c.data.physical());
        let (schema, base, rows) = (part.schema, part.base, Batch::new(forms));
        Gathered { state, schema, base, rows, commits: Vec::new(), bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.rows.rows >= GATHERED_ROWS || self.bytes >= GATHERED_BYTES
    }

    /// Whether rows are the next ones of the same table and schema.
    fn goes_on(&self, part: &CommitRecordTable) -> bool {
        part.table == self.state.id
            && part.schema == self.schema
            && part.base == self.base + self.rows.rows as RowId
    }

    fn push(&mut self, part: &CommitRecordTable, csn: Csn, bytes: u64) {
        self.rows.extend_range(&part.rows, 0..part.rows.rows);
        self.commits.push((self.rows.rows, csn));
        self.bytes += bytes;
    }
}
