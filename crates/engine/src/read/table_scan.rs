//! How are all rows of a table read?
//!
//! In the order of their ids: segment by segment and block by block, then the memtables. Only the
//! wanted columns are decoded. The dead rows of a long stretch of ids are asked for once; a block
//! without any, the common case, is decoded as a whole, without a look at single rows. A block all of
//! whose rows are dead is noted as such and not looked at again, nor are segments of such blocks: a
//! scan of a queue begins where its living rows do.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, PROVISIONAL_BASE, Result, RowId, stop};
use onlap_format::batch::remove_values;
use onlap_storage::Direction;
use onlap_storage::marks::ChangeScratch;
use onlap_storage::segment::{DecodeAhead, ScanBlock, Segment, SegmentScan};

use super::counters::ReadCounters;
use super::dead::DeadRows;
use super::rows::{RowBatch, take_column};
use super::{ReadView, Scan};
use crate::activity::Activity;
use onlap_memtable::{Memtable, Piece};

/// Rows of a batch out of a memtable, whose chunks are longer than a segment's blocks.
const MEMORY_ROWS: usize = 4096;

/// Of so many rows, one may be dead where they are decoded as a whole.
const FEW_DEAD: usize = 2;

/// What a scan has yet to come to.
enum Part {
    Segment(Arc<Segment>),
    Memory(Arc<Memtable>),
}

impl Part {
    fn is_segment(&mut self) -> bool {
        matches!(self, Part::Segment(_))
    }
}

/// A scan inside a segment, and the block at hand with its rows that are left.
struct InSegment {
    scan: SegmentScan,
    block: Option<(ScanBlock, Range<usize>)>,
}

/// Where a scan is.
enum Place {
    Between,
    Segment(Box<InSegment>),
    /// The pieces that are left, each with its rows that are left.
    Memory(VecDeque<(Range<usize>, Piece)>),
}

/// A walk over all visible rows.
pub(super) struct TableScan {
    view: ReadView,
    /// Ids of the wanted rows.
    rows: Range<RowId>,
    /// Those of the reading transaction.
    own_rows: Range<RowId>,
    columns: Vec<usize>,
    ids: Vec<ColumnId>,
    decode: Arc<DecodeAhead>,
    direction: Direction,
    parts: VecDeque<Part>,
    place: Place,
    /// The scan of the next segment, where it reads while the blocks before it are worked on.
    next: Option<SegmentScan>,
    dead: DeadRows,
    places: Vec<u32>,
    changes: ChangeScratch,
}

impl TableScan {
    /// `columns` are the wanted ones, by position in the table.
    pub(super) fn new(view: ReadView, columns: &[usize], scan: &Scan) -> TableScan {
        let mut rows = scan.row_range();
        let own_end = view.own.as_ref().map_or(0, |own| own.end);
        let own_rows = rows.start.max(PROVISIONAL_BASE)..rows.end.min(own_end);
        rows.end = rows.end.min(view.count);
        let direction = scan.direction();
        let mut parts = VecDeque::new();
        for segment in view.view.version.segments() {
            let ids = segment.row_ids();
            let asked = ids.start < rows.end && rows.start < ids.end;
            if asked && !segment.skip().all_dead(view.csn) {
                parts.push_back(Part::Segment(Arc::clone(segment)));
            }
        }
        parts.extend(view.memtables().into_iter().map(|m| Part::Memory(Arc::clone(m))));
        if let Some(files) = view.own.as_ref().and_then(|own| own.files.as_ref()) {
            // Before the last part, which has the transaction's newest rows.
            let last = parts.pop_back();
            parts.extend(files.segments().map(|s| Part::Segment(Arc::clone(s))));
            parts.extend(last);
        }
        if direction == Direction::Backward {
            parts.make_contiguous().reverse();
        }
        let wanted = columns.iter().map(|&c| &view.view.schema.columns[c]);
        let wanted: Vec<_> = wanted.map(|c| (c.id, c.ty.physical())).collect();
        let decode = DecodeAhead::new(&wanted);
        let ids = wanted.into_iter().map(|(id, _)| id).collect();
        TableScan {
            view,
            rows,
            own_rows,
            columns: columns.to_vec(),
            ids,
            decode,
            direction,
            parts,
            place: Place::Between,
            next: None,
            dead: DeadRows::default(),
            places: Vec::new(),
            changes: ChangeScratch::default(),
        }
    }

    /// Where it is counted.
    pub(super) fn activity(&self) -> &Activity {
        &self.view.view.activity
    }

    /// Fills an empty batch with the next visible rows, at most `max`; false at the end.
    pub(super) fn next(
        &mut self,
        max: usize,
        out: &mut RowBatch,
        counters: &mut ReadCounters,
    ) -> Result<bool> {
        while out.is_empty() {
            stop::check()?;
            match &mut self.place {
                Place::Segment(_) => self.step_in_segment(max, out, counters)?,
                Place::Memory(_) => self.step_in_memory(max.min(MEMORY_ROWS), out)?,
                Place::Between => match self.parts.pop_front() {
                    Some(part) => self.place = self.enter(&part),
                    None => return Ok(false),
                },
            }
        }
        counters.rows_read += out.len() as u64;
        Ok(true)
    }

    fn enter(&self, part: &Part) -> Place {
        match part {
            Part::Segment(segment) => {
                let rows = rows_in(segment, &self.rows, &self.own_rows);
                let scan = scan_of(&self.view, segment, rows, self.direction, &self.decode);
                Place::Segment(Box::new(InSegment { scan, block: None }))
            }
            Part::Memory(memtable) => {
                let rows = match memtable.first_row() {
                    PROVISIONAL_BASE.. => self.own_rows.clone(),
                    _ => self.rows.start.max(memtable.dead_prefix(self.view.csn))..self.rows.end,
                };
                let pieces = memtable.pieces(rows, &self.columns);
                Place::Memory(pieces.into_iter().map(|p| (p.range(), p)).collect())
            }
        }
    }

    /// Appends the living among the next rows of the block at hand, or goes on to the next.
    fn step_in_segment(
        &mut self,
        max: usize,
        out: &mut RowBatch,
        counters: &mut ReadCounters,
    ) -> Result<()> {
        let Place::Segment(place) = &mut self.place else {
            unreachable!("called inside a segment")
        };
        let InSegment { scan, block } = &mut **place;
        let mut follower = |scan: &SegmentScan| match self.parts.pop_front_if(Part::is_segment)? {
            Part::Segment(segment) => {
                let rows = rows_in(&segment, &self.rows, &self.own_rows);
                let mut next = scan_of(&self.view, &segment, rows, self.direction, &self.decode);
                next.follow(scan);
                Some(next)
            }
            Part::Memory(_) => None,
        };
        let Some((found, left)) = block else {
            match scan.next_block()? {
                Some(found) => {
                    counters.blocks_read += 1;
                    match &mut self.next {
                        Some(next) => next.follow(scan),
                        None if scan.is_read_out() => self.next = follower(scan),
                        None => {}
                    }
                    let rows = found.rows.clone();
                    if rows == (0..found.block.rows())
                        && self.dead.all(&self.view, self.direction, &found)?
                    {
                        note_dead(&self.view, scan.segment(), &found)?;
                    } else {
                        *block = Some((found, rows));
                    }
                }
                None => {
                    self.place = match self.next.take().or_else(|| follower(scan)) {
                        Some(scan) => Place::Segment(Box::new(InSegment { scan, block: None })),
                        None => Place::Between,
                    };
                }
            }
            return Ok(());
        };
        let now = cut(left, max, self.direction);
        let ids = found.block.row_id(now.start)..found.block.row_id(now.end - 1) + 1;
        let dead = self.dead.within(&self.view, self.direction, ids)?;
        if dead.is_empty() && self.direction == Direction::Forward {
            found.block.row_ids(now.clone(), &mut out.row_ids);
            scan.append(found, now, &self.ids, &mut out.columns)?;
        } else if dead.len() * FEW_DEAD <= now.len() && self.direction == Direction::Forward {
            // Closing gaps costs less than decoding single rows.
            found.block.row_ids(now.clone(), &mut out.row_ids);
            scan.append(found, now, &self.ids, &mut out.columns)?;
            places_of(dead, &out.row_ids, &mut self.places);
            out.columns.remove(&self.places);
            remove_values(&mut out.row_ids, &self.places);
        } else {
            let row_id = |i| found.block.row_id(i);
            living(now, dead, self.direction, row_id, &mut self.places, &mut out.row_ids);
            scan.append_selected(found, &self.places, &self.ids, &mut out.columns)?;
        }
        if left.start == left.end {
            *block = None;
        }
        self.lay_changes(out)
    }

    /// Appends the living among the next rows of the piece at hand, or goes on to the next.
    fn step_in_memory(&mut self, max: usize, out: &mut RowBatch) -> Result<()> {
        let Place::Memory(pieces) = &mut self.place else {
            unreachable!("called inside a memtable")
        };
        let piece = match self.direction {
            Direction::Forward => pieces.front_mut(),
            Direction::Backward => pieces.back_mut(),
        };
        let Some((left, piece)) = piece else {
            self.place = Place::Between;
            return Ok(());
        };
        let now = cut(left, max, self.direction);
        let ids = piece.row_id(now.start)..piece.row_id(now.end - 1) + 1;
        let dead = self.dead.within(&self.view, self.direction, ids)?;
        let whole = dead.is_empty() && self.direction == Direction::Forward;
        let row_id = |i| piece.row_id(i);
        living(now.clone(), dead, self.direction, row_id, &mut self.places, &mut out.row_ids);
        for (&c, to) in self.columns.iter().zip(&mut out.columns.columns) {
            let from = &piece.batch().columns[c];
            match whole {
                true => to.extend_range(from, now.clone()),
                false => take_column(from, &self.places, to),
            }
        }
        out.columns.rows = out.row_ids.len();
        if left.start == left.end {
            match self.direction {
                Direction::Forward => pieces.pop_front(),
                Direction::Backward => pieces.pop_back(),
            };
        }
        self.lay_changes(out)
    }

    /// Lays column changes over the rows of an otherwise empty batch.
    fn lay_changes(&mut self, out: &mut RowBatch) -> Result<()> {
        let (ids, columns) = (&out.row_ids, &mut out.columns.columns);
        self.view.lay_changes(&self.columns, ids, columns, 0, &mut self.changes)
    }
}

/// The wanted rows of a segment: of the table, or of the transaction.
fn rows_in<'a>(
    segment: &Segment,
    rows: &'a Range<RowId>,
    own: &'a Range<RowId>,
) -> &'a Range<RowId> {
    if segment.row_ids().start < PROVISIONAL_BASE { rows } else { own }
}

/// A scan of the segment that leaves out blocks known to be wholly dead.
fn scan_of(
    view: &ReadView,
    segment: &Arc<Segment>,
    rows: &Range<RowId>,
    direction: Direction,
    decode: &Arc<DecodeAhead>,
) -> SegmentScan {
    let mut scan = SegmentScan::new(segment, rows.clone(), direction).decode_ahead(decode);
    if segment.skip().any_dead(view.csn) {
        scan.retain(|block| !segment.skip().is_dead(block, view.csn));
    }
    scan
}

/// Tells later scans that a block is wholly dead, unless only this transaction deleted rows of it.
fn note_dead(view: &ReadView, segment: &Segment, found: &ScanBlock) -> Result<()> {
    let last = found.block.rows() - 1;
    let ids = found.block.row_id(0)..found.block.row_id(last) + 1;
    let own = view.own.as_ref().map(|own| own.dead_rows(ids)).transpose()?;
    if own.is_none_or(|dead| dead.is_empty()) {
        segment.skip().note(found.number, view.csn);
    }
    Ok(())
}

/// Takes at most `max` off the end of the range where the direction begins.
fn cut(left: &mut Range<usize>, max: usize, direction: Direction) -> Range<usize> {
    let n = left.len().min(max);
    match direction {
        Direction::Forward => {
            left.start += n;
            left.start - n..left.start
        }
        Direction::Backward => {
            left.end -= n;
            left.end..left.end + n
        }
    }
}

/// Fills `places` with those of dead rows among the rows; both ascend.
fn places_of(dead: &[RowId], rows: &[RowId], places: &mut Vec<u32>) {
    places.clear();
    let mut at = 0;
    for &row in dead {
        // They are dense, or nearly so.
        let guess = row.checked_sub(rows[0]).map(|d| d as usize);
        at = match guess.filter(|&g| rows.get(g) == Some(&row)) {
            Some(place) => place,
            None => at + rows[at..].partition_point(|&r| r < row),
        };
        if rows.get(at) == Some(&row) && places.last() != Some(&(at as u32)) {
            places.push(at as u32);
        }
    }
}

/// Fills `places` and appends to `row_ids` those of the rows that are not among the dead ones.
fn living(
    rows: Range<usize>,
    dead: &[RowId],
    direction: Direction,
    row_id: impl Fn(usize) -> RowId,
    places: &mut Vec<u32>,
    row_ids: &mut Vec<RowId>,
) {
    let before = row_ids.len();
    places.clear();
    let mut dead = dead.iter().peekable();
    for i in rows {
        let id = row_id(i);
        while dead.next_if(|&&d| d < id).is_some() {}
        if dead.peek() != Some(&&id) {
            places.push(i as u32);
            row_ids.push(id);
        }
    }
    if direction == Direction::Backward {
        places.reverse();
        row_ids[before..].reverse();
    }
}
