//! How do the runs of an index become fewer?
//!
//! [`policy`] says which runs to join next, as a pure function of their shapes; [`worker`] carries it
//! out, slice by slice, and knows no reasons; [`dead`] tells both which entries are not needed.
//! [`marks`] does the same for mark runs. Merging never touches rows.
//!
//! Must not know of memtables, nor who schedules it. Thread safety: one worker per index at a time;
//! readers go on with the versions they hold.

use std::sync::Arc;

use onlap_base::{Csn, IndexId, Result, TableId};

use crate::editor::Editor;
use crate::version::{IndexVersion, RunEntry, TableVersion};

pub mod dead;
mod join;
pub mod marks;
pub mod policy;
mod source;
pub mod worker;

pub use join::join;
pub use policy::{Calm, Choice, PolicyOptions, Reason, RunShape};
pub use worker::{MergeOptions, Outcome};

/// The shapes of an index's runs, with entries that are dead at the horizon where there are enough of
/// them to matter.
pub fn shapes(
    version: &TableVersion,
    index: &IndexVersion,
    horizon: Csn,
    options: &PolicyOptions,
) -> Result<Vec<RunShape>> {
    let shape = |entry: &Arc<RunEntry>| {
        let dead = dead::dead_entries(version, entry, horizon, options.dead_share)?;
        Ok(RunShape::new(&entry.meta, dead))
    };
    index.runs.iter().map(shape).collect()
}

/// Chooses the next merge of an index and carries out some slices of it. `None`: nothing is due.
pub fn work(
    editor: &dyn Editor,
    table: TableId,
    index: IndexId,
    policy: &PolicyOptions,
    options: &MergeOptions,
) -> Result<Option<(Choice, Outcome)>> {
    let Some(version) = editor.version(table) else { return Ok(None) };
    let Some(index) = version.index(index) else { return Ok(None) };
    let shapes = shapes(&version, index, editor.horizon(table), policy)?;
    let Some(choice) = policy::choose(&shapes, policy) else { return Ok(None) };
    let outcome = worker::merge(editor, table, index.id, &choice, options)?;
    Ok(Some((choice, outcome)))
}
