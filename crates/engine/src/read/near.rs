//! Which rows may a predicate be true of, where rows are judged in any case?
//!
//! As [`super::sets`], but what leaves few rows out for what it takes to read is not read: the ranges that an AND is of are
//! read from the shortest on, and those that are long for the rows that are left have no part in it. So what comes out has
//! all rows of which the predicate is true, and perhaps others. A key that each row has is not read for a row or two that
//! another key led to.
//!
//! How long a range is, cursors tell before they read it. NOT is exact: more rows of a part would be fewer of the whole.
//! Thread safety: as of the view.

use onlap_base::{Result, stop};
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants};

use super::bounds::index_by_name;
use super::counters::ReadCounters;
use super::predicate::Predicate;
use super::row_set::{Collector, RowSet};
use super::rows::BATCH_ROWS;
use super::sets::Named;
use super::{KeyRange, ReadView};
use crate::table::key_def;

/// Entries that are read in the time in which one row is fetched and judged: 8 nanoseconds each, and some two microseconds for a
/// document of 150 bytes.
const ENTRIES_OF_ROW: u64 = 256;
/// Entries that are read in the time that a set of few rows takes in addition.
const ENTRIES_OF_SET: u64 = 128;

/// Rows that are judged before anything is read of which it is not known how long it is.
const FEW_ROWS: u64 = 16;
/// Ranges that are open at once, at most: each holds a block of every run, so that these take some 1 MiB for each run. Four
/// parts are mostly enough; what is beyond is read in its turn.
const OPENED: u64 = 64;

/// The entries of some ranges of an index, not read yet.
struct Opened<'a> {
    /// About how many there are.
    about: u64,
    name: &'a str,
    ranges: u64,
    cursors: Vec<Box<dyn EntryCursor>>,
}

impl ReadView {
    /// The rows of which all parts may be true.
    pub(super) fn all_near(
        &self,
        parts: &[Predicate],
        counters: &mut ReadCounters,
    ) -> Result<Named> {
        let (mut opened, mut others) = (Vec::with_capacity(parts.len()), Vec::new());
        self.open_all(parts, &mut opened, &mut others)?;
        opened.sort_by_key(|part| part.about);
        let mut all = Named::everything();
        for part in opened {
            if let Some(rows) = all.count()
                && rows.saturating_mul(ENTRIES_OF_ROW) < part.about.saturating_add(ENTRIES_OF_SET)
            {
                return Ok(all);
            }
            all = all.and(self.read_opened(part, counters)?);
            if all.is_nothing() {
                return Ok(all);
            }
        }
        for part in others {
            if all.count().is_some_and(|rows| rows <= FEW_ROWS) {
                break;
            }
            all = all.and(self.named(part, true, counters)?);
        }
        Ok(all)
    }

    /// Opens the ranges of lists that parts are, and notes the other parts.
    fn open_all<'a>(
        &self,
        parts: &'a [Predicate],
        opened: &mut Vec<Opened<'a>>,
        others: &mut Vec<&'a Predicate>,
    ) -> Result<()> {
        for part in parts {
            let open: u64 = opened.iter().map(|part| part.ranges).sum();
            match part {
                Predicate::And(parts) => self.open_all(parts, opened, others)?,
                Predicate::Index { name, ranges }
                    if open + ranges.len() as u64 <= OPENED
                        && index_by_name(&self.view.schema, name)?.multi_entry =>
                {
                    opened.push(self.open_ranges(name, ranges)?);
                }
                other => others.push(other),
            }
        }
        Ok(())
    }

    fn open_ranges<'a>(&self, name: &'a str, ranges: &[KeyRange]) -> Result<Opened<'a>> {
        let schema = &*self.view.schema;
        let index = index_by_name(schema, name)?;
        let (def, wants) = (key_def(schema, index), EntryWants::default());
        let mut part = Opened { about: 0, name, ranges: ranges.len() as u64, cursors: Vec::new() };
        for range in ranges {
            stop::check()?;
            let bounds = range.bounds(schema, index, &def)?;
            let cursors = self.sources(index.id, &bounds, Direction::Forward, &wants, false)?;
            for mut cursor in cursors {
                part.about = part.about.saturating_add(cursor.about()?);
                part.cursors.push(cursor);
            }
        }
        Ok(part)
    }

    fn read_opened(&self, part: Opened<'_>, counters: &mut ReadCounters) -> Result<Named> {
        let (mut out, mut batch, mut entries) = (Collector::default(), EntryBatch::default(), 0);
        for mut cursor in part.cursors {
            while cursor.next(BATCH_ROWS, &mut batch)? {
                stop::check()?;
                entries += batch.len() as u64;
                out.push(&batch.row_ids);
            }
        }
        counters.index_entries_read += entries;
        self.note_use(index_by_name(&self.view.schema, part.name)?.id, part.ranges, entries);
        Ok(Named::only(out.finish()))
    }
}

impl Named {
    fn only(rows: RowSet) -> Named {
        Named { rows, all_but: false }
    }

    /// How many rows it is, unless it is all but some.
    fn count(&self) -> Option<u64> {
        (!self.all_but).then(|| self.rows.len())
    }
}
