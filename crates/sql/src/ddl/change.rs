//! How far is a change of the catalog part of its transaction?
//!
//! What the engine's transactions can do goes through them. What they cannot (ALTER TABLE, foreign keys)
//! takes effect at once; in a transaction that has changed anything before it is refused, for it could not
//! be taken back with the rest, and might wait for locks that the transaction itself holds.

use serde_json::Value as Json;

use crate::catalog::Kind;
use crate::catalog::objects::Object;
use crate::error::{Result, SqlError, state};
use crate::session::Session;
use crate::wire::Client;

impl Session {
    /// Begins a change that takes effect at once.
    ///
    /// # Errors
    /// `0A000`: the transaction has changed something.
    pub(crate) fn at_once(&mut self, what: &str, client: &mut dyn Client) -> Result<()> {
        let explicit = self.is_in_block();
        let block = self.current()?;
        if block.changed {
            return Err(SqlError::new(
                state::UNSUPPORTED,
                format!("{what} is not supported after other changes in a transaction"),
            )
            .hint("Commit first, and run it in a transaction of its own."));
        }
        block.changed_catalog = true;
        if explicit {
            let text = format!("{what} takes effect at once and is not undone by ROLLBACK");
            client.reply().notice("WARNING", &SqlError::new("01000", text));
        }
        Ok(())
    }

    /// Notes that the transaction has changed the catalog.
    pub(crate) fn catalog_changed(&mut self) -> Result<()> {
        let block = self.current()?;
        block.changed = true;
        block.changed_catalog = true;
        Ok(())
    }

    /// Makes, replaces or removes an object that the engine does not know.
    pub(crate) fn put(&mut self, kind: Kind, name: &str, body: Option<Json>) -> Result<()> {
        let instance = std::sync::Arc::clone(&self.instance);
        let block = self.current()?;
        let objects = instance.objects().with(&block.pending);
        let object = body.map(|body| {
            let known = objects.get(kind, name).map(|o| o.number);
            Object { number: known.unwrap_or_else(|| instance.take_number()), body }
        });
        let mut tx = block.scope.tx()?;
        block.pending.put(&mut tx, &instance.objects_table, kind, name, object)
    }
}

/// Tells the client something.
pub fn notice(client: &mut dyn Client, state: &'static str, text: impl Into<String>) {
    client.reply().notice("NOTICE", &SqlError::new(state, text));
}
