//! How does a change of the catalog become part of its transaction?
//!
//! What the engine knows goes through its transaction; what it does not know is kept in a table of it.

use onlap::{ErrorKind, Table};
use serde_json::Value as Json;

use crate::catalog::Kind;
use crate::catalog::objects::Object;
use crate::error::{Result, SqlError};
use crate::session::Session;
use crate::view::View;
use crate::wire::Client;

impl Session {
    /// Notes that the transaction has changed the catalog.
    pub(crate) fn catalog_changed(&mut self) -> Result<()> {
        self.catalog_changes()?;
        self.current()?.changed = true;
        Ok(())
    }

    /// Notes that the catalog is changed outside of the transaction, which takes nothing back of it.
    pub(crate) fn catalog_changes(&mut self) -> Result<()> {
        self.outdate_plans()?;
        self.current()?.changed_catalog = true;
        Ok(())
    }

    /// Plans that were made before are made again after the transaction: those of all sessions, unless the statement is
    /// about temporary relations of this one alone.
    fn outdate_plans(&mut self) -> Result<()> {
        self.current()?.see_another();
        match self.temporary.is_private {
            true => self.temporary.has_changed = true,
            false => self.current()?.changed_for_others = true,
        }
        Ok(())
    }

    /// The number of an object that the statement made.
    pub(crate) fn number_of(&mut self, kind: Kind, name: &str) -> Result<u32> {
        let instance = std::sync::Arc::clone(&self.instance);
        let objects = instance.objects().with(&self.current()?.pending);
        Ok(objects.get(kind, name).map_or(0, |object| object.number))
    }

    /// Makes, replaces or removes an object that the engine does not know.
    pub(crate) fn put(&mut self, kind: Kind, name: &str, body: Option<Json>) -> Result<()> {
        let instance = std::sync::Arc::clone(&self.instance);
        self.outdate_plans()?;
        let block = self.current()?;
        let seen = instance.objects();
        // What goes needs no number, and what is there now need not be put together for it.
        let object = body.map(|body| {
            let objects = seen.with(&block.pending);
            let known = objects.get(kind, name).map(|o| o.number);
            Object { number: known.unwrap_or_else(|| instance.take_number()), body }
        });
        let is_own = block.pending.has(kind, name);
        let mut tx = block.scope.tx()?;
        block.pending.put(&mut tx, &instance.objects_table, kind, name, object)?;
        // Another transaction may have been waited for, which changed what has the name.
        if !is_own && instance.newest_objects().get(kind, name) != seen.get(kind, name) {
            tx.note_outdated();
            return Err(SqlError::concurrent_update());
        }
        Ok(())
    }
}

/// The error of a statement that has to begin anew, because another transaction changed what it knows of the catalog.
pub fn anew(view: &View) -> SqlError {
    if let Ok(mut tx) = view.scope.tx() {
        tx.note_outdated();
    }
    SqlError::concurrent_update()
}

/// The error of a change outside of the transaction: where the table had changed when its turn came, the statement begins anew.
pub fn of_waiting(view: &View, table: &Table, error: onlap::Error) -> SqlError {
    match (error.kind(), view.scope.tx()) {
        (ErrorKind::Conflict, Ok(mut tx)) => tx.begin_anew(table).into(),
        _ => error.into(),
    }
}

/// Tells the client something.
pub fn notice(client: &mut dyn Client, state: &'static str, text: impl Into<String>) {
    client.reply().notice("NOTICE", &SqlError::new(state, text));
}

/// How many lines PostgreSQL tells a client of what depends on something.
pub const LINES: usize = 100;

/// The first [`LINES`] of all lines, and how many more there are.
pub fn first_lines(lines: &[String], all: usize) -> String {
    match all - lines.len() {
        0 => lines.join("\n"),
        more => {
            let s = if more == 1 { "" } else { "s" };
            format!("{}\nand {more} other object{s} (see server log for list)", lines.join("\n"))
        }
    }
}

/// Says what goes with something that is dropped: the first [`LINES`] of all lines.
pub fn tell_cascades(client: &mut dyn Client, lines: &[String], all: usize) {
    match lines {
        [] => {}
        [one] => notice(client, "00000", one.clone()),
        many => {
            let text = format!("drop cascades to {all} other objects");
            let error = SqlError::new("00000", text).detail(first_lines(many, all));
            client.reply().notice("NOTICE", &error);
        }
    }
}
