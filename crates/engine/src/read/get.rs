//! How is one row found by its key?
//!
//! A unique index holds at most one visible row per key, and it can only be the newest version below
//! the snapshot's row count: that version decides, visible or absent. (Of an index that was built later:
//! the newest of those that did not die before.) So a lookup asks sources from the newest on, stops at
//! the first hit and looks at one mark; it never merges. Rows with a NULL in the key never clash, so for them every version has to be looked at.

use onlap_base::{IndexId, Result, RowId};
use onlap_format::key::KeyDef;
use onlap_format::{Batch, Column, IndexSchema, Row, Value, convert};
use onlap_storage::{Direction, EntryBatch, EntryWants, KeyBounds};

use super::ReadView;
use super::bounds::{Covered, covered, encode_key};
use super::counters::ReadCounters;
use super::own::OwnRow;
use crate::table::key_def;

/// Entries looked at in one step: a key has few versions.
const STEP: usize = 16;

impl ReadView {
    /// The visible row with a whole key (key bytes without NULL) of a unique index.
    pub(crate) fn row_by_key(
        &self,
        index: IndexId,
        key: &[u8],
        counters: &mut ReadCounters,
    ) -> Result<Option<RowId>> {
        let probes = &mut counters.filter_probes;
        if let Some(own) = &self.own {
            match own.row_by_key(index, key, probes)? {
                OwnRow::Found(row) => {
                    counters.index_entries_read += 1;
                    return Ok(Some(row));
                }
                OwnRow::Gone => return Ok(None),
                OwnRow::Unknown => {}
            }
        }
        let Some(row) = self.view.newest_with_key(index, key, self.count, probes)? else {
            return Ok(None);
        };
        counters.index_entries_read += 1;
        if self.view.mark_of(row)?.is_some_and(|(csn, _)| csn <= self.csn) {
            return Ok(None);
        }
        let deleted = self.own.as_ref().map_or(Ok(false), |own| own.is_dead(row))?;
        Ok((!deleted).then_some(row))
    }

    /// The columns (positions in the table) of the visible row with this key; of an index that is
    /// not unique, or a key that is not whole, the first in the order of the index.
    pub(super) fn get_by(
        &self,
        index: &IndexSchema,
        key: &[Value],
        columns: &[usize],
        counters: &mut ReadCounters,
    ) -> Result<Option<Row>> {
        let schema = &self.view.schema;
        let def = key_def(schema, index);
        let bytes = encode_key(schema, index, &def, key)?;
        // Before it was built, live rows could have equal keys.
        let judged = index.unique && self.csn >= index.since;
        let decisive = judged && key.len() == def.columns.len() && !key.contains(&Value::Null);
        if !decisive {
            return self.first_with_prefix(index, &bytes, columns, counters);
        }
        let Some(row) = self.row_by_key(index.id, &bytes, counters)? else { return Ok(None) };
        match covered(schema, index, columns) {
            Some(found) if found.include.is_empty() => from_key(&def, &bytes, &found).map(Some),
            Some(found) => self.read_entry(index, &bytes, row, columns, found, counters),
            None => self.read_one(row, columns, counters).map(Some),
        }
    }

    /// Reads one visible row.
    fn read_one(&self, row: RowId, columns: &[usize], counters: &mut ReadCounters) -> Result<Row> {
        let schema = &self.view.schema;
        let mut batch = Batch::new(columns.iter().map(|&c| schema.columns[c].ty.physical()));
        self.read_sorted(&[row], columns, &mut batch, counters)?;
        Ok(self.values(&batch, columns))
    }

    /// The first row of a batch of these columns.
    fn values(&self, batch: &Batch, columns: &[usize]) -> Row {
        let types = columns.iter().map(|&c| self.view.schema.columns[c].ty);
        types.zip(&batch.columns).map(|(ty, c)| convert::read_value(ty, c, 0)).collect()
    }

    /// The columns of a row as its entry holds them: the entry lies in one source.
    fn read_entry(
        &self,
        index: &IndexSchema,
        key: &[u8],
        row: RowId,
        columns: &[usize],
        found: Covered,
        counters: &mut ReadCounters,
    ) -> Result<Option<Row>> {
        let Covered { key_columns, include, places } = found;
        let wants = EntryWants { keys: false, key_columns, include, ..EntryWants::default() };
        let bounds = KeyBounds::prefix(key);
        let mut batch = EntryBatch::default();
        for mut cursor in self.sources(index.id, &bounds, Direction::Backward, &wants, false)? {
            while cursor.next(STEP, &mut batch)? {
                counters.entries(&batch);
                if let Some(i) = batch.row_ids.iter().position(|&r| r == row) {
                    let value = |(&c, &place): (&usize, &usize)| {
                        let ty = self.view.schema.columns[c].ty;
                        convert::read_value(ty, &batch.columns.columns[place], i)
                    };
                    return Ok(Some(columns.iter().zip(&places).map(value).collect()));
                }
            }
        }
        // The hash of a memtable may know a row whose entry a reader meets a moment later.
        self.read_one(row, columns, counters).map(Some)
    }

    fn first_with_prefix(
        &self,
        index: &IndexSchema,
        prefix: &[u8],
        columns: &[usize],
        counters: &mut ReadCounters,
    ) -> Result<Option<Row>> {
        let mut first: Option<(Vec<u8>, RowId)> = None;
        let wants = EntryWants { keys: true, ..EntryWants::default() };
        let bounds = KeyBounds::prefix(prefix);
        let mut batch = EntryBatch::default();
        let mut picks = Vec::new();
        for mut cursor in self.sources(index.id, &bounds, Direction::Forward, &wants, false)? {
            while cursor.next(STEP, &mut batch)? {
                counters.entries(&batch);
                let at = match self.pick_visible(&batch.row_ids, &mut picks)? {
                    true => picks.first().map(|&i| i as usize),
                    false => Some(0),
                };
                let Some(at) = at else { continue };
                let (key, row) = (batch.keys.get(at), batch.row_ids[at]);
                if first.as_ref().is_none_or(|(k, r)| (key, row) < (k.as_slice(), *r)) {
                    first = Some((key.to_vec(), row));
                }
                break;
            }
        }
        match first {
            Some((_, row)) => self.read_one(row, columns, counters).map(Some),
            None => Ok(None),
        }
    }
}

/// The wanted columns out of the key itself.
fn from_key(def: &KeyDef, key: &[u8], found: &Covered) -> Result<Row> {
    let mut columns: Vec<Column> =
        def.columns.iter().map(|c| Column::new(c.ty.physical())).collect();
    def.decode_into(key, &mut columns)?;
    let value = |&place: &usize| {
        let at = found.key_columns[place];
        convert::read_value(def.columns[at].ty, &columns[at], 0)
    };
    Ok(found.places.iter().map(value).collect())
}
