//! How do merges read runs from end to end?
//!
//! Block by block, keys as packed as they lie in the file, 256 KiB per read, past the cache: what a
//! merge reads is about to be replaced. A slice of a merge is a scan within bounds.
//!
//! Thread safety: a scan belongs to one thread.

use std::sync::Arc;

use onlap_base::Result;
use onlap_format::Batch;
use onlap_format::key::{Entries, Packing};

use super::unit::Unit;
use super::{Place, Run};
use crate::entry::KeyBounds;
use crate::file::SpanReader;

/// Entries that an affine file gives at a time.
const AFFINE_ENTRIES: usize = 4096;

/// Walks the entries of a run in order, many at a time.
pub struct RunScan {
    run: Arc<Run>,
    bounds: KeyBounds,
    /// Unit to come, first entry in it if it was begun, and the last unit.
    ends: Option<(Place, Place)>,
    first: Place,
    begun: usize,
    reader: Option<(usize, SpanReader)>,
}

impl RunScan {
    /// A scan of the entries within bounds.
    pub fn new(run: &Arc<Run>, bounds: KeyBounds) -> RunScan {
        let ends = run.ends(&bounds);
        let first = ends.map_or((0, 0), |(first, _)| first);
        RunScan { run: run.clone(), bounds, ends, first, begun: 0, reader: None }
    }

    /// Empties `out` and fills it with the entries of the next block, INCLUDE columns and all. Gives
    /// the packing of the keys, which may change from file to file; `None`: the end.
    pub fn next(&mut self, out: &mut Entries) -> Result<Option<Arc<Packing>>> {
        out.clear();
        while let Some((place, last)) = self.ends {
            let file = self.run.files[place.0].clone();
            let unit = match &mut self.reader {
                Some((of, reader)) if *of == place.0 => file.unit_ahead(place.1, reader)?,
                _ => {
                    let mut reader = file.span_reader();
                    let unit = file.unit_ahead(place.1, &mut reader)?;
                    self.reader = Some((place.0, reader));
                    unit
                }
            };
            let mut start = self.begun;
            if start == 0 && place == self.first {
                start = self.run.start_in(place, &unit, &self.bounds)?;
            }
            let whole = if place == last {
                self.run.end_in(place, &unit, &self.bounds)?
            } else {
                unit.len()
            };
            let end = match unit {
                Unit::Block(_) => whole,
                Unit::Affine(_) => whole.min(start + AFFINE_ENTRIES),
            };
            if end < whole {
                self.begun = end;
            } else {
                self.begun = 0;
                self.ends = (place < last).then(|| (self.run.place_after(place), last));
            }
            if start < end {
                let packing = file.packing()?;
                if out.keys.form() != packing.form() {
                    out.keys = packing.new_keys();
                }
                if out.include.columns.len() != self.run.shape.include.len() {
                    out.include = Batch::new(self.run.shape.include_forms());
                }
                file.whole_entries(place.1, &unit, start..end, out)?;
                return Ok(Some(packing.clone()));
            }
        }
        Ok(None)
    }
}
