//! Which rows does an UPDATE or DELETE change?
//!
//! The rows that its steps find are locked. Where another transaction had changed one meanwhile, at READ COMMITTED, the
//! steps are run again for the rows that are locked now, which no other transaction changes any more. Other tables, and the same
//! table in subqueries, they see as they did the first time (EvalPlanQual in PostgreSQL).

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use onlap::RowId;

use super::Statement;
use crate::error::Result;
use crate::plan::Held;
use crate::query::Changing;

/// What the id of a row takes while it is found and locked: in two lists, and in a hash table that has just grown.
pub(super) const ID_BYTES: usize = 48;

/// Rows that were found and are locked, with what the steps say of each.
pub struct Found {
    /// The steps.
    pub changing: Changing,
    /// Batches whose first column is the row's id; each id once.
    pub batches: Held,
}

impl Statement<'_> {
    /// Finds and locks rows; `set` are the places of the columns that are to be set, none where rows are deleted.
    ///
    /// # Errors
    /// Those of the steps; conflicts with other transactions.
    pub fn find(&self, set: Option<&[usize]>) -> Result<Found> {
        let mut found = self.ask()?;
        let ids = ids_of(&found.batches);
        if ids.is_empty() {
            return Ok(found);
        }
        found.batches.let_others_run();
        let (mut locked, moved) = self.lock(&ids, set)?;
        if !moved && locked.len() == ids.len() {
            return self.touched(found);
        }
        // Of these rows that is seen now which the other transaction committed, and they stay as they are; of all else what
        // was seen before.
        self.view.scope.tx()?.see_newer()?;
        let Found { changing, batches } = self.ask()?;
        locked.sort_unstable();
        let wanted = |id| locked.binary_search(&id).is_ok();
        if locked.len() < ids.len() {
            let now = batches.iter().flat_map(ids_in).filter(|id| !wanted(*id));
            self.refuse_moved(&ids, now)?;
        }
        self.touched(Found { changing, batches: batches.keep(|batches| keep(batches, wanted))? })
    }

    /// Notes that the rows are changed, where other parts might change them, too.
    fn touched(&self, found: Found) -> Result<Found> {
        if self.shared.several {
            self.touch(&ids_of(&found.batches), &found.batches)?;
        }
        Ok(found)
    }

    /// What the steps find. A row that joins with several others is changed once, and one that another part has changed not
    /// at all.
    fn ask(&self) -> Result<Found> {
        let changing = self.steps()?;
        let mut seen = HashSet::new();
        let mut batches = changing.run(self.view)?.all()?;
        batches.charge(batches.iter().map(RecordBatch::num_rows).sum::<usize>() * ID_BYTES)?;
        if self.shared.several {
            let mut failed = None;
            let is_free = |id| match self.has_touched(id) {
                Ok(touched) => !touched,
                Err(e) => {
                    failed = Some(e);
                    false
                }
            };
            batches = batches.keep(|batches| keep(batches, is_free))?;
            if let Some(e) = failed {
                return Err(e);
            }
        }
        let batches = batches.keep(|batches| keep(batches, |id| seen.insert(id)))?;
        Ok(Found { changing, batches })
    }
}

/// The ids of the rows of a batch.
pub fn ids_in(batch: &RecordBatch) -> impl Iterator<Item = RowId> {
    batch.column(0).as_primitive::<Int64Type>().values().iter().map(|id| *id as RowId)
}

/// The ids of rows.
pub fn ids_of(batches: &[RecordBatch]) -> Vec<RowId> {
    batches.iter().flat_map(ids_in).collect()
}

fn keep(
    batches: Vec<RecordBatch>,
    mut wanted: impl FnMut(RowId) -> bool,
) -> Result<Vec<RecordBatch>> {
    let mut kept = Vec::with_capacity(batches.len());
    for batch in batches {
        let mask: Vec<bool> = ids_in(&batch).map(&mut wanted).collect();
        kept.push(match mask.iter().all(|keep| *keep) {
            true => batch,
            false => filter_record_batch(&batch, &BooleanArray::from(mask))
                .map_err(datafusion_common::DataFusionError::from)?,
        });
    }
    Ok(kept)
}
