//! Is there room to understand a statement?
//!
//! A long text waits for its turn before it is parsed, and has room until its statement has ended; what a prepared
//! statement takes it has until it is deallocated.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::clock::{Clock, SystemClock};

use super::Session;
use crate::error::{Result, SqlError, state};
use crate::plan::growth;
use crate::plan::room::{Kept, Running};
use crate::plan::texts::expected_bytes;
use crate::scope::too_late;
use crate::settings::Id;

/// Where the allocator does not count: which part of what a statement was expected to take its plan has at the end.
const KEPT_OF_EXPECTED: u64 = 4;

/// What a prepared statement or a portal takes at least.
const LEAST_KEPT: u64 = 1 << 10;
/// The portal's own, the plan's, and that of the step which works on it.
const VALUE_COPIES: u64 = 3;
/// Bytes of the values of the portal without a name that are not counted: a session has one.
const SMALL_VALUES: usize = 8 << 10;

impl Session {
    /// Waits until there is room for a text.
    pub(super) fn make_room(&mut self, sql: &str) -> Result<()> {
        growth::begin();
        self.room = None;
        let bytes = expected_bytes(sql);
        if bytes == 0 {
            return Ok(());
        }
        // One statement of the transaction runs already, and may have what others wait for.
        let running = self.block.as_ref().and_then(|block| block.scope.running());
        self.room = Some(match running {
            Some(running) => {
                self.instance.runner.room().check(bytes)?;
                running
            }
            None => Arc::new(self.admitted(bytes)?),
        });
        Ok(())
    }

    fn admitted(&self, bytes: u64) -> Result<Running> {
        let time = self.settings.time(Id::StatementTimeout).filter(|time| !time.is_zero());
        let end = time.map(|time| SystemClock.monotonic_ns() + time.as_nanos() as u64);
        let holds = self.block.as_ref().is_some_and(|block| block.scope.holds_much());
        self.instance.runner.admit(bytes, holds, || {
            if self.cancel.load(Ordering::Relaxed) {
                let text = "canceling statement due to user request";
                return Err(SqlError::new(state::CANCELLED, text));
            }
            match end.is_some_and(|end| SystemClock.monotonic_ns() >= end) {
                true => Err(too_late()),
                false => Ok(()),
            }
        })
    }

    /// Ends what a text had room for, but for what its prepared statement takes. A session has one statement without
    /// a name, and as many with names as it likes.
    ///
    /// # Errors
    /// `53200`: prepared statements have all the room.
    pub(super) fn keep_room(&mut self, name: &str, sql: &str) -> Result<Option<Kept>> {
        let expected = expected_bytes(sql);
        let bytes = match (growth::bytes(), expected) {
            (_, 0) if name.is_empty() => return Ok(None),
            (0, 0) => sql.len() as u64 + LEAST_KEPT,
            (bytes, 0) => bytes.max(LEAST_KEPT),
            (0, expected) => expected / KEPT_OF_EXPECTED,
            (bytes, expected) => bytes.min(expected),
        };
        self.room = None;
        self.instance.runner.room().keep(bytes).map(Some)
    }

    /// Fails for values that a planned statement has no room for, of which it makes copies.
    ///
    /// # Errors
    /// `53200`.
    pub(super) fn check_values(&self, bytes: usize) -> Result<()> {
        self.instance.runner.room().check(VALUE_COPIES * bytes as u64)
    }

    /// Counts what a portal keeps: its values, and what a session needs to know of it.
    ///
    /// # Errors
    /// `53200`: there is no room for it.
    pub(super) fn keep_portal(&self, name: &str, bytes: usize) -> Result<Option<Kept>> {
        if name.is_empty() && bytes < SMALL_VALUES {
            return Ok(None);
        }
        self.instance.runner.room().keep(bytes as u64 + LEAST_KEPT).map(Some)
    }
}
