//! Has every row that was replaced a mark?
//!
//! Of the entries of the primary key with equal keys, each but the newest is of a row that died at
//! the CSN of the next one, or before. That is looked at as far as rows are resolved in files.

use onlap_base::{Csn, Result};
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

use super::csn_of;
use crate::read::merge_cursors;
use crate::table::TableView;

/// Entries read in a step.
const STEP: usize = 4096;

/// What is wrong with a table, in words.
pub(crate) fn unmarked(view: &TableView, most: usize) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let Some(primary) = view.schema.primary().filter(|_| view.schema.blind) else {
        return Ok(found);
    };
    let version = &view.version;
    let wants = EntryWants { keys: true, ..EntryWants::default() };
    let mut cursors: Vec<Box<dyn EntryCursor>> = Vec::new();
    let (all, forward) = (KeyBounds::all(), Direction::Forward);
    version.cursors(primary.id, &all, forward, &wants, version.flushed_rows, &mut cursors)?;
    let mut merged = merge_cursors(cursors, forward);
    let mut batch = EntryBatch::default();
    let mut last = None;
    while merged.next(STEP, &mut batch)? {
        for i in 0..batch.len() {
            let (key, row) = (batch.keys.get(i).to_vec(), batch.row_ids[i]);
            if let Some((before, older)) = last.replace((key, row))
                && before == batch.keys.get(i)
                && row < version.resolved
                && found.len() < most
            {
                // What has no commit any more is dead, and so is what it replaced.
                let csn = csn_of(view, row).unwrap_or(Csn::MAX);
                let mut lives = [true];
                version.drop_dead(&[older], csn, &mut lives)?;
                if lives[0] {
                    found.push(format!(
                        "index {}: row {row} of commit {csn} has the key of row {older}, which has \
                         no mark of that commit or before",
                        primary.name
                    ));
                }
            }
        }
    }
    Ok(found)
}
