//! Which relations end with the session?
//!
//! Temporary tables, views and sequences are ordinary ones in a schema of the session, `pg_temp_N`, where N is its
//! process id as clients know it. The schema comes with the first of them, in the same transaction, and goes with the
//! session; what a process left that was killed goes when the database is opened again ([`forget_left`]). Since the number
//! is that of no other session of the process, what could not be dropped harms none.
//!
//! What ON COMMIT says is known to the session alone: tables are known by their ids, which no other table ever gets, so
//! a rollback takes nothing back here.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap::{Table, TableId};
use onlap_pg::ast::Isolation;

use super::Session;
use super::modes::Modes;
use crate::catalog::names::{temporary, temporary_of};
use crate::catalog::{Kind, Name};
use crate::ddl;
use crate::error::Result;
use crate::instance::Instance;
use crate::view::View;

/// What a session knows of its temporary relations.
#[derive(Clone, Default)]
pub(crate) struct Temporary {
    /// Whether a transaction of the session has made its schema; it may have been rolled back.
    pub is_made: bool,
    /// Whether the statement is about them alone, so that plans of other sessions stay as they are.
    pub is_private: bool,
    /// Whether such a statement has changed something in the transaction.
    pub has_changed: bool,
    /// Grows with every transaction of which that is so: plans of the session are made again.
    pub version: u64,
    on_commit: Vec<OnCommit>,
    /// Tables that the transaction does not know any more.
    gone: Vec<TableId>,
}

/// What a commit does with a table.
#[derive(Clone)]
struct OnCommit {
    table: TableId,
    /// Its name in the engine at first.
    name: String,
    /// DROP; otherwise DELETE ROWS.
    drops: bool,
}

impl Temporary {
    /// Notes what commits do with a table.
    pub fn note(&mut self, table: &Table, drops: bool) {
        let (table, name) = (table.schema().id, table.name());
        self.on_commit.push(OnCommit { table, name, drops });
    }

    /// The end of a transaction: no table that a commit drops outlives the transaction that makes it.
    pub fn ended(&mut self, committed: bool) {
        let gone = std::mem::take(&mut self.gone);
        self.version += u64::from(std::mem::take(&mut self.has_changed));
        self.on_commit.retain(|one| !(one.drops || committed && gone.contains(&one.table)));
    }
}

impl Session {
    /// Does what ON COMMIT says, before the commit; where that fails, the transaction is rolled back.
    ///
    /// # Errors
    /// Those of the engine; `0A000`: a table that stays refers to one that is emptied.
    pub(super) fn do_on_commit(&mut self) -> Result<()> {
        let acts = self.block.as_ref().is_some_and(|block| block.changed && !block.failed);
        if self.temporary.on_commit.is_empty() || !acts {
            return Ok(());
        }
        let done = self.do_each_on_commit();
        // Their statements may have called functions, to which cursors were lent.
        self.reclaim_cursors();
        if done.is_err() {
            self.end_settings(false);
            self.temporary.ended(false);
            if let Some(block) = self.block.take() {
                block.rollback(&self.instance);
            }
        }
        done
    }

    fn do_each_on_commit(&mut self) -> Result<()> {
        self.current()?.scope.tx()?.begin_statement()?;
        // What was put off is judged by the rows that are there now.
        self.current()?.scope.tx()?.set_all_constraints(false)?;
        let view = self.view()?;
        let (mut dropped, mut emptied, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for one in &self.temporary.on_commit {
            match find(&view, one)? {
                Some(table) if one.drops => dropped.push(table),
                Some(table) => emptied.push(table),
                None => gone.push(one.table),
            }
        }
        self.temporary.gone = gone;
        self.temporary.is_private = true;
        if !dropped.is_empty() {
            ddl::temporary::drop_tables(self, &view, dropped)?;
        }
        let judged = self.current()?.changed_catalog;
        ddl::temporary::empty(&view, emptied, judged)
    }

    /// A transaction that only reads may change the session's own tables.
    pub(super) fn allow_temporary(&mut self) -> Result<()> {
        if self.temporary.is_made && self.block()?.modes.read_only {
            let prefix = Name::new(temporary(self.key().pid), "").engine(&self.database);
            self.block()?.scope.tx()?.always_changes(&prefix);
        }
        Ok(())
    }

    /// DISCARD TEMP: drops all temporary relations; their schema stays. Where the session only reads by default, they go
    /// in a transaction of their own.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn discard_temporary(&mut self, view: &View) -> Result<()> {
        self.temporary.is_private = true;
        if !view.temporary {
            return Ok(());
        }
        let own = temporary(view.pid);
        let block = self.block()?;
        if !block.modes.read_only || block.explicit || block.changed {
            return ddl::temporary::drop_all(self, view, &own);
        }
        let outer = self.block.take();
        let done = self.write(|session, view| ddl::temporary::drop_all(session, view, &own));
        self.block = outer;
        done
    }

    /// Does something in a transaction of its own, which may write whatever the settings say.
    fn write(&mut self, act: impl FnOnce(&mut Session, &View) -> Result<()>) -> Result<()> {
        let modes = Modes { level: Isolation::RepeatableRead, ..Modes::default() };
        self.block = Some(self.new_block(modes)?);
        let done = self.in_view(act);
        match (done, self.block.take()) {
            (Ok(()), Some(block)) => block.commit(&self.instance, self.key().pid),
            (done, block) => {
                if let Some(block) = block {
                    block.rollback(&self.instance);
                }
                done
            }
        }
    }

    /// The session's end: drops its schema with all that is in it.
    pub(super) fn forget_temporary(&mut self) {
        if !self.temporary.is_made || std::thread::panicking() {
            return;
        }
        // The session or signal that ended this one may have asked its statements to end.
        self.cancel.store(false, Ordering::Relaxed);
        let own = temporary(self.key().pid);
        self.temporary.is_private = true;
        // What stays is dropped when the database is opened again.
        let _ = self.forget_schema(&own);
    }

    /// Drops a schema of the database in a transaction of its own.
    fn forget_schema(&mut self, schema: &str) -> Result<()> {
        self.write(|session, view| {
            let key = format!("{}/{schema}", view.database);
            if view.objects.get(Kind::Schema, &key).is_none() {
                return Ok(());
            }
            ddl::temporary::drop_all(session, view, schema)?;
            ddl::temporary::drop_schema(session, view, schema)
        })
    }
}

/// The table, whatever it is called now; `None` where it is gone.
fn find(view: &View, one: &OnCommit) -> Result<Option<Table>> {
    let tx = view.scope.tx()?;
    let is = |table: &Table| table.schema().id == one.table;
    let found = tx.table(&one.name).ok().filter(is);
    Ok(found.or_else(|| tx.tables().into_iter().find(is)))
}

/// Drops the temporary relations that a process left, and returns the highest number of a session whose relations
/// could not be dropped.
pub(crate) fn forget_left(instance: &Arc<Instance>) -> i32 {
    let objects = instance.objects();
    let schemas = objects.of_kind(Kind::Schema).filter_map(|(key, _)| {
        let (database, schema) = key.split_once('/')?;
        Some((database.to_string(), schema.to_string(), temporary_of(schema)?))
    });
    let mut left: Vec<(String, String, i32)> = schemas.collect();
    left.sort();
    let mut highest = 0;
    for together in left.chunk_by(|a, b| a.0 == b.0) {
        let mut session = Session::of_system(instance, &together[0].0);
        for (_, schema, pid) in together {
            if session.forget_schema(schema).is_err() {
                highest = highest.max(*pid);
            }
        }
    }
    highest
}
