//! Which rows could a statement's steps not lock?
//!
//! Steps run while other queries wait for room and for a turn, so they must not wait for a lock: the transaction that holds it
//! may be one of those that wait. A step that finds a row locked, or changed by another transaction since the statement
//! began, notes it here and fails. Its statement then ends its steps, waits, and begins anew (`crate::query::until_locked`).
//!
//! Thread safety: a lock, held for a moment.

use std::collections::HashSet;

use onlap::{RowId, RowLock, Table};
use parking_lot::Mutex;

/// What a statement is to do before it begins anew.
pub struct Again {
    /// The table.
    pub table: Table,
    /// The row that it is to wait for, and how to lock it; none where it has only to look again.
    pub row: Option<(RowId, RowLock)>,
}

#[derive(Default)]
struct State {
    again: Option<Again>,
    /// Rows that were waited for and are gone, by their table's number.
    gone: HashSet<(u64, RowId)>,
    /// Whether it has written rows.
    fixed: bool,
}

/// What a statement's steps could not lock.
#[derive(Default)]
pub struct Waits(Mutex<State>);

impl Waits {
    /// A statement begins.
    pub fn begin(&self) {
        *self.0.lock() = State::default();
    }

    /// The statement writes from now on, and cannot begin anew.
    pub fn fix(&self) {
        self.0.lock().fixed = true;
    }

    /// Notes what the statement is to do, unless it cannot begin anew.
    pub fn note(&self, again: Again) {
        let mut state = self.0.lock();
        if !state.fixed {
            state.again = Some(again);
        }
    }

    /// What was noted.
    pub fn take(&self) -> Option<Again> {
        self.0.lock().again.take()
    }

    /// A row was waited for and is gone.
    pub fn leave_out(&self, table: &Table, row: RowId) {
        self.0.lock().gone.insert((table.schema().id.0.into(), row));
    }

    /// Whether a row was waited for and is gone.
    pub fn is_gone(&self, table: &Table, row: RowId) -> bool {
        self.0.lock().gone.contains(&(table.schema().id.0.into(), row))
    }
}
