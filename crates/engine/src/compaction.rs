//! What is merged and compacted, and when?

use std::sync::Arc;

use onlap_base::{Result, TableId};

use crate::background;
use crate::database::Shared;
use crate::table::TableState;

/// Whether a table has files worth joining.
pub(crate) fn is_due(_shared: &Shared, _state: &TableState) -> bool {
    false
}

/// Joins files of a table.
pub(crate) fn run(_shared: &Shared, _table: TableId) -> Result<()> {
    Ok(())
}

/// Waits until nothing is left to do.
pub(crate) fn settle(shared: &Arc<Shared>) -> Result<()> {
    let background = &shared.background;
    loop {
        let seen = background.idle_event().epoch();
        match background::pick(shared) {
            Some(job) => background::run_job(shared, job)?,
            None if background.is_running() => {
                background.idle_event().wait(seen, None);
            }
            None => return Ok(()),
        }
    }
}
