//! Which version of a row may a transaction change?
//!
//! It locks the version that its statement sees, waiting for whoever has it, and then asks the marks:
//! they are newer than the statement where somebody changed the row meanwhile. At REPEATABLE READ
//! and above that is a conflict: the first updater wins. At READ COMMITTED the mark leads to the
//! successor, which is locked and asked in turn, until there is none or none is left; whether the
//! newest version is still wanted is the caller's to say.
//!
//! What is locked is there: at READ COMMITTED a statement sees, in addition to what its snapshot shows, the rows that
//! its transaction has locked. So a change of rows that were locked is a change of exactly these, however
//! old the statement is.

use onlap_base::{Error, ErrorKind, PROVISIONAL_BASE, Result, RowId, stop};
use onlap_format::convert;
use onlap_format::{IndexSchema, Row, Value};

use super::buffer::Found;
use super::by_key::{changed_since, deleted_since};
use super::parents::Parent;
use super::{Isolation, STEPS, Transaction, may_wait, wait_context};
use crate::blind;
use crate::database::Table;
use crate::locks::{LockWait, Locked, RowLock, Target};
use crate::options::Rule;
use crate::read::{ReadCounters, Registration};
use crate::table::key_def;

/// Says of a row that another transaction changed meanwhile whether its newest version, with the id
/// given, still is one of those that the statement is about.
pub type Recheck<'a> = &'a mut dyn FnMut(RowId, &Row) -> Result<bool>;

/// What locking a row version found.
pub(super) enum Settled {
    /// Locked as it was seen.
    Same,
    /// Locked, and somebody changed columns of it meanwhile.
    Changed,
    /// Somebody deleted it meanwhile, or replaced it.
    Gone(Option<RowId>),
    /// Somebody has it, and nobody wanted to wait.
    Skipped,
}

/// Rows that were locked in their newest versions.
pub(super) struct LockedRows {
    /// Committed ones, ascending.
    pub rows: Vec<RowId>,
    /// Whether any is newer than the statement's snapshot.
    pub moved: bool,
}

impl Transaction {
    /// Locks rows by row id, as reads return them; returns the ids of those that were locked, which
    /// at READ COMMITTED may be newer versions: of these `recheck` says whether they are wanted. Own
    /// rows need no lock and are returned as they are; rows that are not visible are left out.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] above READ COMMITTED; [`ErrorKind::LockNotAvailable`];
    /// [`ErrorKind::Deadlock`].
    pub fn lock_rows(
        &mut self,
        table: &Table,
        rows: &[RowId],
        mode: RowLock,
        wait: LockWait,
        recheck: Recheck<'_>,
    ) -> Result<Vec<RowId>> {
        self.share(table)?;
        self.statement()?;
        let (committed, own) = self.seen(table, rows)?;
        let parents = match mode {
            RowLock::Update => self.parents_in(table)?,
            _ => Vec::new(),
        };
        let locked = match parents.is_empty() {
            true => self.lock_all(table, committed, mode, wait, recheck)?.rows,
            false => self.lock_parents(table, &parents, committed, wait, recheck)?,
        };
        let own = self.lock_own(table, own, mode, wait)?;
        Ok(locked.into_iter().chain(own).collect())
    }

    /// Whether the transaction itself has deleted or replaced a row, be it one of its own.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn has_ended(&mut self, table: &Table, row: RowId) -> Result<bool> {
        let buffer = self.buffer(table)?;
        Ok(match Found::of(row) {
            Found::Own(ordinal) => !buffer.is_alive(ordinal),
            _ => buffer.has_marked(row),
        })
    }

    /// Locks rows that children may name, so that none comes any more: the rows, and the keys by which children would name them.
    fn lock_parents(
        &mut self,
        table: &Table,
        parents: &[Parent],
        rows: Vec<RowId>,
        wait: LockWait,
        recheck: Recheck<'_>,
    ) -> Result<Vec<RowId>> {
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            stop::check()?;
            all.extend(self.lock_parent(table, parents, row, wait, &mut *recheck)?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Locks one of them. It is waited for with neither its row nor its keys: who has the row may bring a child next, and who has
    /// brought a child may change the row.
    fn lock_parent(
        &mut self,
        table: &Table,
        parents: &[Parent],
        row: RowId,
        wait: LockWait,
        recheck: Recheck<'_>,
    ) -> Result<Option<RowId>> {
        let held = self.locks.count_in(table.state.id);
        let mut waits = wait;
        loop {
            let locked =
                self.lock_all(table, vec![row], RowLock::Update, waits, &mut *recheck)?.rows;
            assert!(locked.len() <= 1, "a row has one newest version");
            let Some(&version) = locked.first() else {
                self.locks.give_back(&table.state, held, &self.shared.locks);
                if waits == wait {
                    return Ok(None);
                }
                // Another transaction has the row by now: it is waited for next.
                waits = wait;
                continue;
            };
            let now = self.read_newest(table, version)?;
            if self.lock_keys_of(parents, &now, LockWait::SkipLocked)? {
                return Ok(Some(version));
            }
            self.locks.give_back(&table.state, held, &self.shared.locks);
            if !self.lock_keys_of(parents, &now, wait)? {
                self.locks.give_back(&table.state, held, &self.shared.locks);
                return Ok(None);
            }
            waits = LockWait::SkipLocked;
        }
    }

    /// Those of the rows that the transaction sees: committed ones, and its own.
    pub(super) fn seen(
        &mut self,
        table: &Table,
        rows: &[RowId],
    ) -> Result<(Vec<RowId>, Vec<RowId>)> {
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut own = sorted.split_off(sorted.partition_point(|&r| r < PROVISIONAL_BASE));
        let buffer = self.buffer(table)?;
        own.retain(|&row| matches!(Found::of(row), Found::Own(o) if buffer.is_alive(o)));
        sorted.retain(|&row| !buffer.has_marked(row));
        let view = self.view(table)?;
        let newer = sorted.split_off(sorted.partition_point(|&r| r < view.count));
        let visible = view.visible(&sorted)?;
        let mut committed = view.existing(visible)?;
        if self.options.isolation == Isolation::ReadCommitted {
            let locked = |row: &RowId| self.locks.has_row(&table.state, *row, RowLock::KeyShare);
            committed.extend(newer.into_iter().filter(locked));
        }
        Ok((committed, own))
    }

    /// Locks the newest versions of rows, ascending, that the statement sees or that are locked.
    pub(super) fn lock_all(
        &mut self,
        table: &Table,
        rows: Vec<RowId>,
        mode: RowLock,
        wait: LockWait,
        recheck: Recheck<'_>,
    ) -> Result<LockedRows> {
        let seen = self.view_of_keys(table)?.count;
        let moved = rows.last().is_some_and(|last| *last >= seen);
        let mut out = LockedRows { rows: Vec::with_capacity(rows.len()), moved };
        for (n, row) in rows.into_iter().enumerate() {
            if n % STEPS == 0 {
                stop::check()?;
            }
            let mut at = Some(row);
            while let Some(version) = at {
                at = match self.lock_row(table, version, mode, wait)? {
                    Settled::Same
                        if version == row
                            || self.still_wanted(table, version, &mut *recheck)? =>
                    {
                        out.moved |= version != row;
                        out.rows.push(version);
                        None
                    }
                    Settled::Changed => {
                        if self.still_wanted(table, version, &mut *recheck)? {
                            out.moved = true;
                            out.rows.push(version);
                        }
                        None
                    }
                    Settled::Gone(successor) => successor,
                    Settled::Same | Settled::Skipped => None,
                };
            }
        }
        if out.moved {
            out.rows.sort_unstable();
            out.rows.dedup();
        }
        Ok(out)
    }

    /// Locks the rows in whose place own rows stand: they may be held less strongly than a further
    /// change asks for. Returns the own rows that nobody is in the way of.
    pub(super) fn lock_own(
        &mut self,
        table: &Table,
        own: Vec<RowId>,
        mode: RowLock,
        wait: LockWait,
    ) -> Result<Vec<RowId>> {
        let mut out = Vec::with_capacity(own.len());
        for row in own {
            let Found::Own(ordinal) = Found::of(row) else { unreachable!("own rows are given") };
            let skipped = match self.buffer(table)?.replaced(ordinal)? {
                Some(replaced) => {
                    matches!(self.lock_row(table, replaced, mode, wait)?, Settled::Skipped)
                }
                None => false,
            };
            if !skipped {
                out.push(row);
            }
        }
        Ok(out)
    }

    /// Locks one row version and finds out what became of it. One that is dead is not kept locked: others
    /// who meet it are not to wait for a transaction that has nothing to do with it.
    pub(super) fn lock_row(
        &mut self,
        table: &Table,
        row: RowId,
        mode: RowLock,
        wait: LockWait,
    ) -> Result<Settled> {
        let held = self.locks.count_in(table.state.id);
        if self.lock_version(table, row, mode, wait)? == Locked::Skipped {
            return Ok(Settled::Skipped);
        }
        let settled = self.became(table, row)?;
        if matches!(settled, Settled::Same) {
            return Ok(settled);
        }
        if self.options.isolation != Isolation::ReadCommitted
            && self.shared.obeys(Rule::FirstUpdaterWins)
        {
            return Err(match settled {
                Settled::Gone(None) => deleted_since(table),
                _ => changed_since(table),
            });
        }
        if matches!(settled, Settled::Gone(_)) {
            self.locks.give_back(&table.state, held, &self.shared.locks);
        }
        self.tally.add(&ReadCounters { rechecks: 1, ..ReadCounters::default() });
        Ok(settled)
    }

    pub(super) fn lock_version(
        &mut self,
        table: &Table,
        row: RowId,
        mode: RowLock,
        wait: LockWait,
    ) -> Result<Locked> {
        let shared = &self.shared;
        let go_on = may_wait(shared, &self.cancel);
        let context = wait_context(shared, &self.options, &go_on);
        self.locks.lock(&table.state, Target::Row(row), mode, wait, context)
    }

    /// What became of a row version since the statement's snapshot; waits until that can be seen.
    pub(super) fn became(&self, table: &Table, row: RowId) -> Result<Settled> {
        let shared = &self.shared;
        if table.state.schema().blind {
            blind::resolve(shared, &table.state, RowId::MAX)?;
        }
        let (csn, settled) = {
            let view = table.state.view_now();
            match view.mark_of(row)? {
                Some((csn, successor)) => (csn, Settled::Gone(successor)),
                None => match view.newest_change(&[row], self.snapshot.csn())? {
                    Some(csn) => (csn, Settled::Changed),
                    None => return Ok(Settled::Same),
                },
            }
        };
        // A lock that goes together with the change may come just before that is published.
        while shared.snapshots.published() < csn {
            shared.tasks.yield_now();
        }
        // Successors of rows that died before every snapshot are forgotten.
        self.snapshot.check()?;
        Ok(settled)
    }

    /// Whether the newest version of a row, which is locked, passes.
    fn still_wanted(&mut self, table: &Table, row: RowId, recheck: Recheck<'_>) -> Result<bool> {
        if !self.shared.obeys(Rule::Recheck) {
            return Ok(true);
        }
        let now = Registration::new(&self.shared);
        let view = self.view_at(table, &now)?;
        let (_, mut values) = view.fetch_rows(&[row])?;
        values.pop().map_or(Ok(false), |values| recheck(row, &values))
    }

    /// The row with this primary key, as the statement sees it.
    pub(super) fn find(&mut self, table: &Table, key: &[Value]) -> Result<Option<Found>> {
        let view = self.view_of_keys(table)?;
        let buffer = self.buffer(table)?;
        let primary = buffer.schema.primary().cloned().ok_or_else(|| {
            let text = format!("table {} has no primary key", buffer.schema.name);
            Error::new(ErrorKind::UnknownIndex, text)
        })?;
        let bytes = primary_key(&buffer.schema, &primary, key)?;
        if let Some(ordinal) = buffer.own_row(&primary, &bytes)? {
            return Ok(Some(Found::Own(ordinal)));
        }
        let end = buffer.rows.rows;
        if buffer.has_ended(&primary, &bytes, end) {
            return Ok(None);
        }
        let mut counters = ReadCounters::default();
        let row = view.row_by_key(primary.id, &bytes, &mut counters);
        view.note_use(primary.id, 1, counters.index_entries_read);
        view.count_up(&counters);
        let row = row?.filter(|r| !buffer.has_marked(*r));
        self.note_key(table, primary.id, &bytes)?;
        Ok(row.map(Found::Committed))
    }

    /// A row that the transaction sees, whole.
    pub(super) fn read_found(&mut self, table: &Table, found: Found) -> Result<Row> {
        match found {
            Found::Own(ordinal) => {
                let buffer = self.buffer(table)?;
                let Some(at) = ordinal.checked_sub(buffer.first) else {
                    return buffer.read_spilled(ordinal);
                };
                let columns = buffer.schema.columns.iter().zip(&buffer.rows.columns);
                Ok(columns.map(|(s, c)| convert::read_value(s.ty, c, at)).collect())
            }
            Found::Committed(row) => {
                let view = self.view_of_keys(table)?;
                let view = match self.buffer(table)?.changes.is_empty() {
                    true => view,
                    false => self.with_own(table, view)?,
                };
                let (_, mut rows) = view.fetch_rows(&[row])?;
                rows.pop().ok_or_else(|| Error::damaged(format!("row {row} is not in its segment")))
            }
        }
    }
}

/// The key bytes of a whole primary key.
fn primary_key(
    schema: &onlap_format::TableSchema,
    primary: &IndexSchema,
    key: &[Value],
) -> Result<Vec<u8>> {
    let def = key_def(schema, primary);
    if key.len() != def.columns.len() {
        let text = format!(
            "the primary key of table {} has {} columns; {} values were given",
            schema.name,
            def.columns.len(),
            key.len()
        );
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    def.encode_values(key)
}
