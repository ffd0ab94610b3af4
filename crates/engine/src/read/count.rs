//! How many rows are visible?
//!
//! The rows that are stored below the row count, less those among them that are dead. Stored rows
//! are counted by blocks and pieces, whose sizes are known; the ids of a block are looked at only
//! where some of its range are missing (rows that a flush or a compaction left out) and others dead.

use std::ops::Range;

use onlap_base::{Result, RowId, stop};
use onlap_storage::Direction;
use onlap_storage::segment::Segment;

use super::ReadView;
use super::dead::DeadRows;
use onlap_memtable::Piece;

impl ReadView {
    /// Number of visible rows.
    pub(super) fn count_rows(&self) -> Result<u64> {
        let mut dead = DeadRows::default();
        let mut n = 0;
        for segment in self.view.version.segments() {
            stop::check()?;
            n += self.count_segment(segment, self.count, &mut dead)?;
        }
        if let Some(own) = &self.own {
            for segment in own.files.iter().flat_map(|files| files.segments()) {
                n += self.count_segment(segment, own.end, &mut dead)?;
            }
        }
        for memtable in self.memtables() {
            for piece in memtable.pieces(self.rows_of(memtable), &[]) {
                n += self.count_piece(&piece, &mut dead)?;
            }
        }
        Ok(n)
    }

    /// Rows of a segment below `count` that are visible.
    fn count_segment(&self, segment: &Segment, count: RowId, dead: &mut DeadRows) -> Result<u64> {
        let Range { start, end } = segment.row_ids();
        if start >= count {
            return Ok(0);
        }
        let footer = segment.footer();
        if end <= count && !self.has_marks() {
            return Ok(footer.rows);
        }
        let mut n = 0;
        for (i, block) in footer.blocks.iter().enumerate() {
            let next = footer.blocks.get(i + 1).map_or(end, |b| b.first_row_id);
            let ids = block.first_row_id..next.min(count);
            if ids.is_empty() {
                break;
            }
            let dead = dead.within(self, Direction::Forward, ids.clone())?;
            let rows = u64::from(block.rows);
            n += if rows == next - ids.start {
                ids.end - ids.start - dead.len() as u64
            } else if dead.is_empty() && ids.end == next {
                rows
            } else {
                let block = segment.block(i)?;
                let stored = dead.iter().filter(|&&row| block.position(row).is_some()).count();
                (block.lower_bound(ids.end) - stored) as u64
            };
        }
        Ok(n)
    }

    fn count_piece(&self, piece: &Piece, dead: &mut DeadRows) -> Result<u64> {
        let places = piece.range();
        let ids = piece.row_id(places.start)..piece.row_id(places.end - 1) + 1;
        let dense = ids.end - ids.start == places.len() as RowId;
        let dead = dead.within(self, Direction::Forward, ids)?;
        let stored = if dense {
            dead.len()
        } else {
            let mut dead = dead.iter().peekable();
            let is_dead = |&place: &usize| {
                let id = piece.row_id(place);
                while dead.next_if(|&&d| d < id).is_some() {}
                dead.peek() == Some(&&id)
            };
            places.clone().filter(is_dead).count()
        };
        Ok((places.len() - stored) as u64)
    }
}
