//! What did a table look like some time ago?
//!
//! A table may keep a **history**: for so long after a row died, the row can still be read by
//! snapshots of a past commit ([`Database::snapshot_as_of`]). It costs nothing but space: rows carry no
//! versions, so the past is read like the present, with an older CSN. What is needed for it:
//!
//! * the number of rows at that commit, from the commit maps of memtables and segments
//!   ([`TableView::count_at`]), as the list that open snapshots use forgets all others;
//! * that nothing is thrown away which died later: the table's horizon stays at the commit of so long
//!   ago, whatever is flushed, merged or compacted ([`crate::snapshots`]);
//! * a **timeline** of (CSN, time) that says which commit that is. The log holds one point per group of
//!   commits; what the log is about to lose goes into the manifest, with the edit that cuts the log.
//!
//! The floor of a table, below which nobody may read, is in the manifest with every change of the
//! table's files, and so at least as high as what was thrown away for these files. Reads of the past use
//! the columns and indexes of today.
//!
//! Thread safety: any thread; the timeline has a lock of its own, taken for list operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::{Csn, Error, ErrorKind, Result, RowId};
use onlap_format::TableSchema;
use onlap_format::manifest::Edit;
use parking_lot::Mutex;

use crate::database::{Database, Shared, Table};
use crate::read::Snapshot;
use crate::table::{TableState, TableView};

#[cfg(test)]
mod tests;

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// Right after a commit.
    Csn(Csn),
    /// A time in microseconds since 1970: everything committed until then, give or take
    /// a second.
    Time(i64),
}

/// Most points that a timeline keeps for its longest history: 4 MiB.
const POINTS: u64 = 1 << 18;
/// Points lie at least this far apart, a four thousandth of the history if that is less, in
/// microseconds.
const STEP_US: u64 = 1_000_000;
const STEPS: u64 = 4096;

/// Which commit was the newest at which time.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The longest history of any table, in microseconds. 0: nobody needs a timeline.
    longest_us: AtomicU64,
    points: Mutex<Points>,
}

#[derive(Debug, Default)]
struct Points {
    /// (CSN, microseconds since 1970), rising.
    list: Vec<(Csn, i64)>,
    /// The manifest has those up to this CSN.
    saved: Csn,
}

impl Timeline {
    /// Takes over what the manifest has.
    pub(crate) fn load(&self, points: &[(Csn, i64)]) {
        let mut own = self.points.lock();
        own.saved = points.last().map_or(0, |p| p.0);
        own.list = points.to_vec();
    }

    /// A table with a history of this length is there.
    pub(crate) fn keep(&self, history_us: u64) {
        self.longest_us.fetch_max(history_us, Ordering::Relaxed);
    }

    fn is_kept(&self) -> bool {
        self.longest_us.load(Ordering::Relaxed) > 0
    }

    /// Commits up to `csn` happened until now. In CSN order.
    pub(crate) fn push(&self, csn: Csn, unix_us: i64) {
        let longest = self.longest_us.load(Ordering::Relaxed);
        if longest == 0 {
            return;
        }
        let step = (longest / STEPS).clamp(1, STEP_US).max(longest / POINTS) as i64;
        let mut points = self.points.lock();
        let Points { list, saved } = &mut *points;
        let Some(last) = list.last().copied() else { return list.push((csn, unix_us)) };
        if csn <= last.0 {
            return;
        }
        // Clocks may be set back.
        let unix_us = unix_us.max(last.1);
        if unix_us.div_euclid(step) == last.1.div_euclid(step) && last.0 > *saved {
            list.pop();
        }
        list.push((csn, unix_us));
    }

    /// The newest commit at a time; `None`: before the timeline begins.
    pub(crate) fn csn_at(&self, unix_us: i64) -> Option<Csn> {
        let points = self.points.lock();
        let i = points.list.partition_point(|p| p.1 <= unix_us);
        i.checked_sub(1).map(|i| points.list[i].0)
    }

    /// All points.
    pub(crate) fn points(&self) -> Vec<(Csn, i64)> {
        self.points.lock().list.clone()
    }

    /// The edit that saves what is not in the manifest, and forgets what is older than every history.
    /// [`Timeline::saved`] when it is durable.
    pub(crate) fn unsaved(&self, now_us: i64) -> Option<Edit> {
        let longest = self.longest_us.load(Ordering::Relaxed) as i64;
        let mut points = self.points.lock();
        let before = points.list.partition_point(|p| p.1 <= now_us.saturating_sub(longest));
        // The last of those says what was the newest commit when the history begins.
        let gone = before.saturating_sub(1);
        let upto = points.list[..gone].last().map_or(0, |p| p.0);
        points.list.drain(..gone);
        let from = points.list.partition_point(|p| p.0 <= points.saved);
        let new = points.list[from..].to_vec();
        (!new.is_empty() || upto > 0).then_some(Edit::Timeline(upto, new))
    }

    /// An edit is durable.
    pub(crate) fn saved(&self, edit: &Edit) {
        if let Edit::Timeline(_, new) = edit
            && let Some(last) = new.last()
        {
            let mut points = self.points.lock();
            points.saved = points.saved.max(last.0);
        }
    }
}

impl Shared {
    /// Where the history of a table begins; `None`: it keeps none.
    pub(crate) fn history_begin(&self, schema: &TableSchema) -> Option<Csn> {
        if schema.history_us == 0 {
            return None;
        }
        let age = i64::try_from(schema.history_us).unwrap_or(i64::MAX);
        Some(self.timeline.csn_at(self.clock.unix_us().saturating_sub(age)).unwrap_or(0))
    }

    /// The same, as far as it was not given up for its limit ([`crate::debts`]).
    pub(crate) fn history_begin_of(&self, state: &TableState) -> Option<Csn> {
        let begin = self.history_begin(&state.view_now().schema)?;
        Some(begin.max(state.history_given_up.load(Ordering::Acquire)))
    }

    /// Floors of the tables that edits change, as far as they matter after a reopen.
    pub(crate) fn history_floors(&self, edits: &[Edit]) -> Vec<Edit> {
        let drops =
            |table| edits.iter().any(|edit| matches!(edit, Edit::DropTable(id) if *id == table));
        let mut floors = Vec::new();
        for table in edits.iter().filter_map(Edit::table) {
            let known = floors.iter().any(|f: &Edit| f.table() == Some(table));
            // A floor behind the end of its table fits nothing.
            if !known
                && !drops(table)
                && let Some(state) = self.catalog.by_id(table)
                && state.view_now().schema.history_us > 0
                && !state.dropped.load(Ordering::Relaxed)
            {
                let floor = state.history_floor.load(Ordering::Acquire);
                floors.push(Edit::HistoryFloor(table, floor));
            }
        }
        floors
    }

    /// The horizon of a table: what died at or below it may be thrown away.
    pub(crate) fn horizon_of(&self, state: &TableState) -> Csn {
        let begin = self.history_begin_of(state);
        self.snapshots.horizon(&state.history_floor, begin)
    }
}

impl TableView {
    /// Rows below this id had come with commits up to `csn`. Rows that nobody may see any more, because
    /// they died below the horizon, count or not.
    pub(crate) fn count_at(&self, csn: Csn) -> RowId {
        for memtable in self.memtables_newest_first() {
            let end = memtable.end_at(csn);
            if end > memtable.first_row() {
                return end;
            }
        }
        let ends = self.version.segments().rev().map(|s| s.footer().commits.end_at(csn));
        ends.flatten().next().unwrap_or(0)
    }
}

/// The number of rows of a table at a past commit, from a view that was loaded before.
pub(crate) fn count_of_past(state: &TableState, view: &TableView, csn: Csn) -> Result<RowId> {
    let too_old = |why: String| {
        let text = format!("table {} cannot be read as of commit {csn}: {why}", view.schema.name);
        Err(Error::new(ErrorKind::SnapshotTooOld, text))
    };
    if view.schema.history_us == 0 {
        return too_old("it keeps no history; see Table::set_history".to_owned());
    }
    let count = view.count_at(csn);
    // What is thrown away from here on is not in this view.
    let floor = state.history_floor.load(Ordering::Acquire);
    if csn < floor {
        return too_old(format!("its history begins with commit {floor}"));
    }
    Ok(count)
}

impl Database {
    /// A snapshot of a moment in the past. Tables that keep a history
    /// ([`crate::TableSpec::history`]) can be read as they were then, with the columns and indexes that
    /// they have today; for all others, and where the history does not reach back so far, reading fails
    /// with [`ErrorKind::SnapshotTooOld`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a moment that has not come yet, [`ErrorKind::SnapshotTooOld`]
    /// for a time of which nobody knows the commit.
    pub fn snapshot_as_of(&self, moment: AsOf) -> Result<Snapshot> {
        let shared = self.shared();
        shared.check_open()?;
        // Histories end where they are said to, whether something was thrown away or not.
        shared.catalog.all().iter().for_each(|t| {
            shared.horizon_of(t);
        });
        let csn = match moment {
            AsOf::Csn(csn) => csn,
            AsOf::Time(unix_us) => csn_at(shared, unix_us)?,
        };
        let held = shared.snapshots.register_past(csn).ok_or_else(|| {
            let newest = shared.snapshots.published();
            let text = format!("there is no commit {csn} yet; the newest is {newest}");
            Error::new(ErrorKind::InvalidInput, text)
        })?;
        Ok(Snapshot::of(shared, held))
    }
}

fn csn_at(shared: &Shared, unix_us: i64) -> Result<Csn> {
    let now = shared.clock.unix_us();
    if unix_us > now {
        let text = format!("{unix_us} us since 1970 lies in the future; it is {now} now");
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    let csn = shared.timeline.csn_at(unix_us).map(|csn| csn.min(shared.snapshots.published()));
    csn.ok_or_else(|| {
        let text = match shared.timeline.is_kept() {
            true => format!("no history reaches back to {unix_us} us since 1970"),
            false => "no table keeps a history; see Table::set_history".to_owned(),
        };
        Error::new(ErrorKind::SnapshotTooOld, text)
    })
}

impl Table {
    /// Sets for how long the table can be read as it was ([`Database::snapshot_as_of`]); zero ends its
    /// history. A longer history grows from now on: what is gone does not come back.
    pub fn set_history(&self, length: Duration) -> Result<()> {
        let shared = &self.shared;
        shared.check_writable()?;
        let history_us = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        let _changing = self.state.changing.lock();
        shared.commits().exclusively(|leader| {
            let csn = leader.next_csn - 1;
            let mut schema = (*self.state.schema()).clone();
            let began = schema.history_us == 0;
            schema.history_us = history_us;
            // No version of its own: rows are what they were.
            let mut edits = vec![Edit::ChangeTable(schema.clone())];
            if began {
                self.state.history_floor.fetch_max(csn, Ordering::AcqRel);
                edits.extend(begin(shared, &schema, csn));
            } else {
                shared.timeline.keep(history_us);
            }
            let schema = Arc::new(schema);
            shared.commit_edits(&edits, |changed| {
                let version = changed[0].1.clone().expect("a changed table has a version");
                let schema = Arc::clone(&schema);
                self.state.change_view(|old| TableView { schema, version, ..old.clone() });
            })
        })
    }
}

/// The history of a table begins with commit `csn`; what the manifest is to know of it.
pub(crate) fn begin(shared: &Shared, schema: &TableSchema, csn: Csn) -> Option<Edit> {
    if schema.history_us == 0 {
        return None;
    }
    shared.timeline.keep(schema.history_us);
    shared.timeline.push(csn, shared.clock.unix_us());
    Some(Edit::HistoryFloor(schema.id, csn))
}
