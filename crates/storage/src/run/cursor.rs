//! How does a reader walk the entries of a run in either direction?
//!
//! Fences name the units (blocks, or the whole of an affine file) that hold the first and the last
//! wanted entry; everything between them lies inside the bounds without a look. Inside those two
//! units a binary search finds the ends. Only what is asked for is decoded: the first batch is small
//! and each following one larger. A cursor that comes to a third unit in a row reads ahead.
//!
//! Thread safety: a cursor belongs to one thread.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::Result;
use onlap_format::Physical;

use super::unit::Unit;
use super::{Place, Run};
use crate::entry::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

/// Entries of the first batch: a LIMIT 10 with a few invisible rows among them.
const FIRST_ENTRIES: usize = 16;
/// Each batch may be larger than the one before by this factor.
const GROWTH: usize = 4;
/// Most entries per batch, whatever the caller asks: some 100 KiB.
const ENTRIES_MAX: usize = 4096;

/// Walks entries of a run within bounds.
pub struct RunCursor {
    run: Arc<Run>,
    bounds: KeyBounds,
    direction: Direction,
    wants: EntryWants,
    forms: Vec<Physical>,
    /// First and last unit that may hold wanted entries; `None`: there are none.
    ends: Option<(Place, Place)>,
    /// The current unit and its entries still to come.
    unit: Option<(Place, Unit, Range<usize>)>,
    /// Units left behind.
    passed: usize,
    step: usize,
    /// Scratch for batches that must be turned round.
    forward: EntryBatch,
}

impl RunCursor {
    pub(super) fn new(
        run: Arc<Run>,
        bounds: KeyBounds,
        direction: Direction,
        wants: EntryWants,
    ) -> RunCursor {
        let ends = run.ends(&bounds);
        let forms = run.shape.forms(&wants);
        RunCursor {
            run,
            bounds,
            direction,
            wants,
            forms,
            ends,
            unit: None,
            passed: 0,
            step: FIRST_ENTRIES,
            forward: EntryBatch::default(),
        }
    }

    /// Moves to the next unit that has wanted entries; false at the end.
    fn advance(&mut self) -> Result<bool> {
        let Some((first, last)) = self.ends else { return Ok(false) };
        loop {
            let place = match (&self.unit, self.direction) {
                (None, Direction::Forward) => first,
                (None, Direction::Backward) => last,
                (Some((at, ..)), Direction::Forward) if *at < last => self.run.place_after(*at),
                (Some((at, ..)), Direction::Backward) if *at > first => self.run.place_before(*at),
                _ => {
                    self.ends = None;
                    self.unit = None;
                    return Ok(false);
                }
            };
            // Two units are what a range across a border needs; the third means there is more.
            let ahead = (self.passed >= 2).then_some(self.direction);
            self.passed += 1;
            let unit = self.run.files[place.0].unit(place.1, ahead)?;
            let start =
                if place == first { self.run.start_in(place, &unit, &self.bounds)? } else { 0 };
            let end = if place == last {
                self.run.end_in(place, &unit, &self.bounds)?
            } else {
                unit.len()
            };
            let found = start < end;
            self.unit = Some((place, unit, start..end));
            if found {
                return Ok(true);
            }
        }
    }
}

impl EntryCursor for RunCursor {
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool> {
        debug_assert!(max > 0, "a batch of no entries would look like the end");
        out.reset(&self.forms);
        if self.unit.as_ref().is_none_or(|(.., left)| left.is_empty()) && !self.advance()? {
            return Ok(false);
        }
        let (place, unit, left) = self.unit.as_mut().expect("advance found a unit");
        let n = left.len().min(max).min(self.step);
        self.step = (self.step * GROWTH).min(ENTRIES_MAX);
        let file = &self.run.files[place.0];
        match self.direction {
            Direction::Forward => {
                let range = left.start..left.start + n;
                left.start += n;
                file.read(place.1, unit, range, &self.wants, out)?;
            }
            Direction::Backward => {
                let range = left.end - n..left.end;
                left.end -= n;
                self.forward.reset(&self.forms);
                file.read(place.1, unit, range, &self.wants, &mut self.forward)?;
                out.extend_reversed(&self.forward);
            }
        }
        Ok(true)
    }

    fn about(&mut self) -> Result<u64> {
        if self.unit.as_ref().is_none_or(|(.., left)| left.is_empty()) && !self.advance()? {
            return Ok(0);
        }
        let (Some((place, unit, left)), Some((first, last))) = (&self.unit, self.ends) else {
            return Ok(0);
        };
        let end = if self.direction == Direction::Forward { last } else { first };
        // Units between are taken to be as long as this one, files as long as the run's are on average.
        let files = end.0.abs_diff(place.0) as u64;
        let each = self.run.entries() / self.run.files.len().max(1) as u64;
        let units = if files == 0 { end.1.abs_diff(place.1) as u64 } else { 0 };
        Ok(left.len() as u64 + units * unit.len() as u64 + files * each)
    }
}
