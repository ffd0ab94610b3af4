//! How are rows found by several whole keys of a unique index?
//!
//! Each key is looked up as one is ([`super::get`]); what is not in the keys themselves is read from the rows, all of
//! them at once. A scan per key would open every source anew and make a batch of one row.

use std::collections::HashSet;

use onlap_base::{Result, RowId, stop};
use onlap_format::{Batch, Column, IndexSchema};

use super::bounds::covered;
use super::counters::ReadCounters;
use super::sets::whole_key;
use super::{KeyRange, ReadView};
use crate::table::key_def;

impl ReadView {
    /// The visible rows with these keys, each once, in the order of the keys: their ids, and columns (positions in the table). `None` where
    /// an interval is not that of a whole key without NULL, or the index does not decide by itself which row that is, or the
    /// columns are those of its entries and not of its key.
    pub(super) fn rows_with_keys(
        &self,
        index: &IndexSchema,
        keys: &[KeyRange],
        columns: &[usize],
        counters: &mut ReadCounters,
    ) -> Result<Option<(Vec<RowId>, Batch)>> {
        let schema = &self.view.schema;
        let def = key_def(schema, index);
        let found = covered(schema, index, columns);
        let in_entries = found.as_ref().is_some_and(|found| !found.include.is_empty());
        if !index.unique || self.csn < index.since || in_entries {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(keys.len());
        let mut seen = HashSet::with_capacity(keys.len());
        let mut of_keys: Vec<Column> =
            def.columns.iter().map(|c| Column::new(c.ty.physical())).collect();
        for range in keys {
            stop::check()?;
            let bounds = range.bounds(schema, index, &def)?;
            let Some(key) = whole_key(&bounds, &def) else { return Ok(None) };
            if let Some(row) = self.row_by_key(index.id, key, counters)?
                && seen.insert(row)
            {
                rows.push(row);
                def.decode_into(key, &mut of_keys)?;
            }
        }
        let mut out = Batch::new(columns.iter().map(|&c| schema.columns[c].ty.physical()));
        match found {
            Some(found) => {
                let place = |place: &usize| of_keys[found.key_columns[*place]].clone();
                out.columns = found.places.iter().map(place).collect();
                out.rows = rows.len();
            }
            None => self.read_in_order(&rows, columns, &mut out, counters)?,
        }
        Ok(Some((rows, out)))
    }
}
