//! How does a statement lock the rows that its steps give?
//!
//! A step asks [`lock`], which never waits. Where a row is locked by another transaction, or was changed since the statement
//! began, the steps end, [`until_locked`] waits for the row and runs them again: at READ COMMITTED they see then what was
//! committed meanwhile, and rows that are locked stay as they are. That is PostgreSQL's look at the newest row, for all rows
//! of the statement at once. Above READ COMMITTED a row that was changed is an error of the engine's.

use onlap::{LockWait as Wait, RowId, RowLock, Table};
use onlap_pg::ast::{LockStrength, LockWait};
use onlap_pg::bound::{Bound as Tree, EntryKind, QueryId};

use super::Bound;
use crate::catalog::Name;
use crate::error::{Result, SqlError};
use crate::scope::Scope;
use crate::view::View;
use crate::waits::Again;

impl Bound {
    /// Fails where a transaction that only reads would lock rows, as in PostgreSQL: they count as changes.
    pub(super) fn refuse_locks_of_reader(&self, view: &View) -> Result<()> {
        if !self.locks_rows() || !view.scope.tx()?.is_read_only() {
            return Ok(());
        }
        let views = self.others.views.values().map(|view| &view.query.0);
        let trees = std::iter::once(&*self.tree).chain(views);
        let locked = trees.flat_map(|tree| {
            let queries = tree.query_ids();
            queries.flat_map(move |q| tree.query(q).locks.iter().map(move |lock| (tree, q, lock)))
        });
        let mut all = locked;
        let first = all.find(|(tree, query, lock)| !self.is_own(view, tree, *query, lock.entry));
        let what = match first.map(|(.., lock)| lock.strength) {
            None => return Ok(()),
            Some(LockStrength::KeyShare) => "SELECT FOR KEY SHARE",
            Some(LockStrength::Share) => "SELECT FOR SHARE",
            Some(LockStrength::NoKeyUpdate) => "SELECT FOR NO KEY UPDATE",
            Some(LockStrength::Update) => "SELECT FOR UPDATE",
        };
        let text = format!("cannot execute {what} in a read-only transaction");
        Err(SqlError::new("25006", text))
    }

    /// Whether what an entry reads are temporary tables of the session's own alone, through views that are that, too.
    fn is_own(&self, view: &View, tree: &Tree, query: QueryId, entry: usize) -> bool {
        let all_own = |tree: &Tree, query: QueryId| {
            let entries = tree.query(query).entries.iter().enumerate();
            let mut read = entries.filter(|(_, of)| of.in_from);
            read.all(|(at, _)| self.is_own(view, tree, query, at + 1))
        };
        match &tree.query(query).entries[entry - 1].kind {
            EntryKind::Relation { oid, .. } => match self.others.views.get(oid) {
                Some(of) => {
                    let (tree, query) = &*of.query;
                    view.is_own_temporary(&of.schema) && all_own(tree, *query)
                }
                None => self.tables.handle(*oid).is_some_and(|table| {
                    view.is_own_temporary(&Name::of_engine(&table.schema.name).1.schema)
                }),
            },
            EntryKind::Query(inner) => all_own(tree, *inner),
            _ => true,
        }
    }
}

/// Locks rows of a table; says of each whether it is locked, and not left out.
///
/// # Errors
/// `40001`: the statement is to be begun anew, or cannot go on; `55P03`: NOWAIT.
pub fn lock(
    scope: &Scope,
    table: &Table,
    ids: &[i64],
    strength: LockStrength,
    wait: LockWait,
) -> Result<Vec<bool>> {
    scope.go_on()?;
    let mode = match strength {
        LockStrength::KeyShare => RowLock::KeyShare,
        LockStrength::Share => RowLock::Share,
        LockStrength::NoKeyUpdate => RowLock::NoKeyUpdate,
        LockStrength::Update => RowLock::Update,
    };
    let how = if wait == LockWait::Error { Wait::NoWait } else { Wait::SkipLocked };
    let rows: Vec<RowId> = ids.iter().map(|id| *id as RowId).collect();
    let mut moved = false;
    let mut recheck = |_: RowId, _: &onlap::Row| {
        moved = true;
        Ok(true)
    };
    let mut locked = scope.tx()?.lock_rows(table, &rows, mode, how, &mut recheck)?;
    if moved {
        return Err(again(scope, Again { table: table.clone(), row: None }));
    }
    locked.sort_unstable();
    let is_locked = |row: &RowId| locked.binary_search(row).is_ok();
    if wait == LockWait::Block {
        let waits = |row: &&RowId| !is_locked(row) && !scope.waits().is_gone(table, **row);
        for row in rows.iter().filter(waits) {
            // What another part of the statement has changed is left out, as in PostgreSQL.
            if !scope.tx()?.has_ended(table, *row)? {
                let row = Some((*row, mode));
                return Err(again(scope, Again { table: table.clone(), row }));
            }
        }
    }
    Ok(rows.iter().map(is_locked).collect())
}

fn again(scope: &Scope, what: Again) -> SqlError {
    scope.waits().note(what);
    SqlError::concurrent_update()
}

/// Runs a statement's steps, and runs them again for as long as they meet rows that they cannot lock yet.
///
/// # Errors
/// Those of the statement; of waiting: `40P01`, `55P03`, `57014`.
pub fn until_locked<T>(view: &View, mut run: impl FnMut() -> Result<T>) -> Result<T> {
    let scope = &view.scope;
    scope.waits().begin();
    loop {
        let error = match run() {
            Ok(made) => return Ok(made),
            Err(e) => e,
        };
        let Some(Again { table, row }) = scope.waits().take() else { return Err(error) };
        if let Some((row, mode)) = row {
            let mut recheck = |_: RowId, _: &onlap::Row| Ok(true);
            let mut tx = scope.tx()?;
            if tx.lock_rows(&table, &[row], mode, Wait::Block, &mut recheck)?.is_empty() {
                scope.waits().leave_out(&table, row);
            }
        }
        scope.between().undo_statement();
        // What the other transaction committed is seen now.
        scope.tx()?.begin_statement()?;
        scope.go_on()?;
    }
}
