//! What do the parts of a statement share while they change rows?
//!
//! All of them see what was there when the statement began: reads look back to a savepoint ([`onlap::Transaction::look_back_to`]),
//! and what RETURNING gave reaches later parts as rows. A row that one part has changed is left alone by the others, as in
//! PostgreSQL, where the second change of a row within a statement has no effect.
//!
//! A statement that meets rows that it cannot lock yet begins anew (`crate::query::until_locked`); what its parts wrote before
//! is undone then.
//!
//! Thread safety: belongs to its statement's thread.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use onlap::{RowId, Savepoint, Table};

use super::deferred::Mark;
use super::queue::Queue;
use crate::error::{Result, SqlError};
use crate::plan::Held;
use crate::query::Course;
use crate::scope::Scope;
use crate::view::View;

/// What the parts share.
pub struct Shared {
    /// What their steps share.
    pub course: Course,
    /// Whether there are several.
    pub several: bool,
    /// Whether nothing stays of it where it fails, so that it may begin anew: rows of several tables are written.
    undoes: bool,
    /// Where the transaction was when the statement began.
    began: Savepoint,
    /// The calls of triggers that had been put off then.
    put_off: Mark,
    scope: Arc<Scope>,
    touched: RefCell<Touched>,
    /// Triggers that are due when all rows are changed.
    pub due: Queue,
}

#[derive(Default)]
struct Touched {
    /// Rows that were changed or deleted, by their table's number and as they were known before.
    rows: HashSet<(u64, RowId)>,
    /// What they are charged by.
    held: Option<Held>,
}

/// Bytes of a row that is known as changed.
const TOUCHED_BYTES: usize = 32;

impl Shared {
    /// The statement begins, which has this number of parts; `spreads`: one of them may write to several tables.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn begin(view: &View, course: Course, parts: usize, spreads: bool) -> Result<Shared> {
        let (scope, several) = (Arc::clone(&view.scope), parts > 1);
        let began = {
            let mut tx = scope.tx()?;
            let began = tx.savepoint();
            tx.look_back_to(Some(began.clone()));
            // Foreign keys are judged when all parts are done.
            tx.hold_rules(parts > 1);
            began
        };
        let undoes = several || spreads;
        Ok(Shared {
            course,
            several,
            undoes,
            began,
            put_off: scope.deferred().mark(),
            scope,
            touched: RefCell::default(),
            due: Queue::default(),
        })
    }

    /// The statement has ended. With an error nothing stays of what its parts did, so that it may begin anew.
    ///
    /// # Errors
    /// The one that it has ended with.
    pub fn end<T>(self, made: Result<T>) -> Result<T> {
        let Ok(mut tx) = self.scope.tx() else { return made };
        tx.look_back_to(None);
        let failed = match made {
            Ok(made) => match tx.judge_held() {
                Ok(()) => {
                    self.scope.deferred().end_statement(&self.put_off, || tx.due_place());
                    return Ok(made);
                }
                Err(e) => SqlError::from(e),
            },
            Err(e) => {
                tx.forget_held();
                if !self.undoes {
                    self.scope.deferred().back_to(&self.put_off);
                    return Err(e);
                }
                e
            }
        };
        self.scope.deferred().back_to(&self.put_off);
        tx.rollback_to(&self.began)?;
        Err(failed)
    }

    /// Whether the statement has changed a row already, or written it.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn has_touched(&self, table: &Table, row: RowId) -> Result<bool> {
        let number = table.schema().id.0.into();
        if self.touched.borrow().rows.contains(&(number, row)) {
            return Ok(true);
        }
        Ok(self.scope.tx()?.is_own_since(table, row, &self.began))
    }

    /// Notes that rows are changed; `held` is of the query that found them.
    ///
    /// # Errors
    /// `53200`.
    pub fn touch(
        &self,
        table: &Table,
        rows: impl ExactSizeIterator<Item = RowId>,
        held: &Held,
    ) -> Result<()> {
        let number = table.schema().id.0.into();
        let mut touched = self.touched.borrow_mut();
        let charged = touched.held.get_or_insert_with(|| held.another());
        charged.charge(rows.len() * TOUCHED_BYTES)?;
        touched.rows.extend(rows.map(|row| (number, row)));
        Ok(())
    }
}
