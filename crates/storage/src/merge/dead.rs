//! Which index entries are not needed any more?
//!
//! Entries of rows that are dead at the horizon. Row ids are dense and a row has one entry per index,
//! so a run whose row-id range has more dead rows than missing entries still holds entries of dead
//! rows; those that earlier merges or the flush dropped are the missing ones. The count is exact as
//! long as every missing entry is of a marked row, and too low otherwise, never too high: a merge
//! that is due because of it always finds something to drop.
//!
//! Where a row may have any number of entries, missing ones say nothing. A sample of the run's blocks
//! is read instead ([`sampled`]), when enough rows have died since the last one; a share of dead entries
//! that it shows is there to be dropped, too.

use std::ops::Range;

use onlap_base::{Csn, Result, RowId};

use crate::version::{RunEntry, TableVersion};

#[cfg(test)]
mod tests;

/// Row ids whose bits are kept together: 8 KiB.
const PAGE_ROWS: u64 = 1 << 16;
const PAGE_WORDS: usize = (PAGE_ROWS / 64) as usize;

/// How many entries of a run are of rows that are dead at the horizon. 0 where a glance at the number
/// of marks shows that they are below `share` of the entries. Counted once per set of marks.
pub fn dead_entries(
    version: &TableVersion,
    entry: &RunEntry,
    horizon: Csn,
    share: f64,
) -> Result<u64> {
    let rows = &entry.meta.rows;
    let Some((key, bound)) = version.dead_key(rows, horizon) else { return Ok(0) };
    if entry.run.shape().multi_entry {
        return sampled(version, entry, horizon, bound);
    }
    if entry.run.files().iter().any(|f| !f.has_entries()) {
        return Ok(0);
    }
    let entries = entry.meta.entries();
    let missing = (rows.end - rows.start).saturating_sub(entries);
    if (bound.saturating_sub(missing) as f64) < share * entries as f64 {
        return Ok(0);
    }
    let mut counted = entry.dead.lock();
    let dead = match *counted {
        Some((of, dead)) if of == key => dead,
        _ => {
            let mut set = DeadRows::new(version, rows.clone(), horizon);
            let dead = set.count()?;
            *counted = Some((key, dead));
            dead
        }
    };
    Ok(dead.saturating_sub(missing).min(entries))
}

/// Blocks of a sample: where a fifth of the entries is dead, all but one sample in a hundred shows between a
/// fifteenth and a third, even if the entries of each block live or die together.
const SAMPLED_BLOCKS: usize = 64;
/// Marks that came since the last sample, at least, for another one; or a quarter of those before.
const NEW_MARKS: u64 = 1 << 10;

/// A sample of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Marks on rows of the run's range, as far as mark runs tell.
    marks: u64,
    /// Whether some of them came after its horizon.
    held_back: bool,
    /// Entries of the run that are dead by it.
    dead: u64,
}

impl Sample {
    pub(crate) fn dead(&self) -> u64 {
        self.dead
    }

    /// Whether it says little of what is there now.
    fn is_old(&self, marks: u64, held_back: bool) -> bool {
        self.held_back && !held_back || marks >= self.marks + NEW_MARKS.max(self.marks / 4)
    }
}

/// About how many entries of a run are of rows that are dead at the horizon, by a sample.
fn sampled(version: &TableVersion, entry: &RunEntry, horizon: Csn, marks: u64) -> Result<u64> {
    let runs = version.marks.iter().filter(|m| m.run.overlaps(&entry.meta.rows));
    let held_back =
        runs.map(|m| m.meta.csns.end).max().is_some_and(|end| horizon < end.saturating_sub(1));
    let mut sample = entry.sample.lock();
    match &*sample {
        Some(known) if !known.is_old(marks, held_back) => return Ok(known.dead),
        // What few rows died since the run was written is not worth a look.
        None if marks < NEW_MARKS.min(entry.meta.entries() / 8) => return Ok(0),
        _ => {}
    }
    let mut set = DeadRows::new(version, entry.meta.rows.clone(), horizon);
    let (mut seen, mut dead) = (0u64, 0u64);
    for rows in entry.run.sampled_rows(SAMPLED_BLOCKS) {
        for row in rows? {
            seen += 1;
            dead += u64::from(set.contains(row)?);
        }
    }
    let entries = entry.meta.entries();
    let share = dead as f64 / seen.max(1) as f64;
    let found = Sample { marks, held_back, dead: (share * entries as f64) as u64 };
    assert!(found.dead <= entries, "no more entries are dead than there are");
    *sample = Some(found);
    Ok(found.dead)
}

/// The dead rows of a row-id range, looked up page by page as they are asked for.
pub(super) struct DeadRows<'a> {
    version: &'a TableVersion,
    rows: Range<RowId>,
    horizon: Csn,
    pages: Vec<Page>,
}

enum Page {
    Unknown,
    /// No row is dead.
    Clear,
    Bits(Box<[u64; PAGE_WORDS]>),
}

impl<'a> DeadRows<'a> {
    /// Rows that are not resolved count as living: their entries have rows before them to meet.
    pub(super) fn new(version: &'a TableVersion, rows: Range<RowId>, horizon: Csn) -> DeadRows<'a> {
        let rows = rows.start..rows.end.min(version.resolved).max(rows.start);
        let marked = version.has_marks_in(&rows);
        let pages = if marked { (rows.end - rows.start).div_ceil(PAGE_ROWS) } else { 0 };
        let pages = (0..pages).map(|_| Page::Unknown).collect();
        DeadRows { version, rows, horizon, pages }
    }

    /// Whether there are no marks at all, so that nothing needs to be asked.
    pub(super) fn is_clear(&self) -> bool {
        self.pages.is_empty()
    }

    /// Whether a row of the range is dead.
    #[inline]
    pub(super) fn contains(&mut self, row: RowId) -> Result<bool> {
        debug_assert!(row >= self.rows.start, "a row of the range");
        let at = row - self.rows.start;
        let page = (at / PAGE_ROWS) as usize;
        match self.pages.get(page) {
            None | Some(Page::Clear) => Ok(false),
            Some(Page::Bits(bits)) => {
                let bit = at % PAGE_ROWS;
                Ok(bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
            }
            Some(Page::Unknown) => {
                self.pages[page] = self.look_up(page)?;
                self.contains(row)
            }
        }
    }

    #[cold]
    fn look_up(&self, page: usize) -> Result<Page> {
        let start = self.rows.start + page as u64 * PAGE_ROWS;
        let rows = start..self.rows.end.min(start + PAGE_ROWS);
        let mut bits = Box::new([0; PAGE_WORDS]);
        let mut any = false;
        for entry in &self.version.marks {
            any |= entry.run.dead_in(rows.clone(), self.horizon, &mut bits[..])?;
        }
        Ok(if any { Page::Bits(bits) } else { Page::Clear })
    }

    /// Number of dead rows in the range.
    fn count(&mut self) -> Result<u64> {
        let mut dead = 0;
        for page in 0..self.pages.len() {
            if let Page::Bits(bits) = self.look_up(page)? {
                dead += bits.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
            }
        }
        assert!(dead <= self.rows.end - self.rows.start, "no more rows are dead than there are");
        Ok(dead)
    }
}
