//! What do the changes of a mark run do to rows that were read?
//!
//! A reader of a column lays the changes over it, file by file from the oldest on
//! ([`MarkRun::apply_changes`]). A walk over many rows unpacks each block of changes once
//! ([`ChangeScratch`]).
//!
//! Thread safety: scratch and patch belong to one reader.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Csn, Error, FileId, Result, RowId};
use onlap_format::changes::{Change, ChangeBlock, ChangeOp, Scalar, Unpacked, apply};
use onlap_format::{Column, Physical, Vector};

use super::MarkRun;
use crate::cache::Loaded;

/// Rows up to which changes are looked up one by one.
const SINGLE_LOOKUPS: usize = 16;
/// Changes of more rows at once are not kept as single rows.
const NAMED_ROWS: u64 = 64;
/// Unpacked blocks that a walk keeps: one per source and column that it reads at a time.
const KEPT_BLOCKS: usize = 32;

/// Blocks that a reader has unpacked.
#[derive(Debug, Default)]
pub struct ChangeScratch {
    blocks: Vec<(FileId, usize, Arc<Unpacked>)>,
}

/// Rows of one column under the hands of a reader.
pub struct Patched<'a> {
    /// The column.
    column: &'a mut Column,
    /// Where in it the rows stand.
    at: usize,
    /// Their ids, rising.
    ids: &'a [RowId],
    /// Whether they stand in falling order.
    backward: bool,
    /// Changes of strings, which are laid over them at the end.
    steps: Vec<(Range<usize>, ChangeOp)>,
}

impl<'a> Patched<'a> {
    /// Rows `ids`, which rise, of a column, in which they stand from place `at` on; `backward`: the
    /// other way round.
    pub fn new(column: &'a mut Column, at: usize, ids: &'a [RowId], backward: bool) -> Patched<'a> {
        debug_assert!(ids.is_sorted() && column.len() >= at + ids.len());
        Patched { column, at, ids, backward, steps: Vec::new() }
    }

    /// The ids.
    pub fn ids(&self) -> &'a [RowId] {
        self.ids
    }

    fn places(&self, rows: Range<usize>) -> Range<usize> {
        match self.backward {
            false => self.at + rows.start..self.at + rows.end,
            true => {
                let end = self.at + self.ids.len();
                end - rows.end..end - rows.start
            }
        }
    }

    /// Applies an operation to the rows of a range of ids; calls come in the order of commits.
    pub fn apply(&mut self, rows: Range<RowId>, op: &ChangeOp) {
        let start = self.ids.partition_point(|r| *r < rows.start);
        let end = start + self.ids[start..].partition_point(|r| *r < rows.end);
        self.apply_at(start..end, op);
    }

    fn apply_at(&mut self, rows: Range<usize>, op: &ChangeOp) {
        if rows.is_empty() {
            return;
        }
        let places = self.places(rows);
        match &self.column.data {
            Vector::Bytes(_) => self.steps.push((places, op.clone())),
            _ => apply(self.column, places.clone(), &[(places, op)]),
        }
    }

    /// Lays the rest over the column.
    pub fn finish(self) {
        let within = self.at..self.at + self.ids.len();
        let steps: Vec<_> = self.steps.iter().map(|(places, op)| (places.clone(), op)).collect();
        apply(self.column, within, &steps);
    }
}

impl MarkRun {
    /// Whether a column has changes here.
    pub fn changes_column(&self, column: ColumnId) -> bool {
        self.footer.bounds.iter().any(|(id, _)| *id == column)
    }

    /// Applies the changes of a column that came after commit `folded` and not after `csn`.
    pub fn apply_changes(
        &self,
        column: ColumnId,
        csns: (Csn, Csn),
        rows: &mut Patched<'_>,
        scratch: &mut ChangeScratch,
    ) -> Result<()> {
        let (folded, csn) = csns;
        let (Some(first), Some(last)) = (rows.ids.first(), rows.ids.last()) else { return Ok(()) };
        let changes = &self.footer.change_csns;
        if csn < changes.start || changes.end <= folded + 1 {
            return Ok(());
        }
        if rows.ids.len() <= SINGLE_LOOKUPS {
            // Where all changes apply it does not matter when each of them came.
            let all = changes.start > folded && changes.end <= csn.saturating_add(1);
            let between = (!all).then_some((folded, csn));
            return self.apply_single(column, between, rows);
        }
        let form = rows.column.data.physical();
        for i in self.footer.change_blocks(column, &(*first..last + 1)) {
            let unpacked = self.unpacked(i, form, scratch)?;
            lay_over(&unpacked, (folded, csn), rows);
        }
        Ok(())
    }

    /// The same for few rows, each by itself.
    fn apply_single(
        &self,
        column: ColumnId,
        between: Option<(Csn, Csn)>,
        rows: &mut Patched<'_>,
    ) -> Result<()> {
        let form = rows.column.data.physical();
        let mut ops = Vec::new();
        for i in 0..rows.ids.len() {
            let row = rows.ids[i];
            if self.changes_row(column, form, row)? == Some(false) {
                continue;
            }
            ops.clear();
            for n in self.footer.change_blocks(column, &(row..row + 1)) {
                let place = |e| self.file.place(e, self.footer.changes[n].offset);
                let between = between.filter(|_| self.adopted_at().is_none());
                self.change_block(n, form)?.of_row(row, between, &mut ops).map_err(place)?;
            }
            ops.iter().for_each(|op| rows.apply_at(i..i + 1, op));
        }
        Ok(())
    }

    /// Appends the changes of a column, of this form, that concern any of the rows; unclipped.
    pub fn read_changes(
        &self,
        column: ColumnId,
        form: Physical,
        rows: Range<RowId>,
        out: &mut Vec<Change>,
    ) -> Result<()> {
        for i in self.footer.change_blocks(column, &rows) {
            self.read_block(i, form, rows.clone(), out)?;
        }
        Ok(())
    }

    /// Whether a column of a row is changed, where that is known without its block.
    fn changes_row(&self, column: ColumnId, form: Physical, row: RowId) -> Result<Option<bool>> {
        let Some((_, first, named)) = self.changed.iter().find(|c| c.0 == column) else {
            return Ok(None);
        };
        named.has(&self.file.context().memory, row, |blocks, names| {
            for i in blocks {
                let block = self.change_block(first + i, form)?;
                let place = |e| self.file.place(e, self.footer.changes[first + i].offset);
                for rows in block.stretches().map_err(place)? {
                    if rows.end - rows.start > NAMED_ROWS || !names.add(rows) {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        })
    }

    /// The commit of all changes of a file that was written before it.
    fn adopted_at(&self) -> Option<Csn> {
        self.adopted.map(|shift| shift.csn).filter(|csn| *csn > 0)
    }

    /// Number of blocks of changes.
    pub fn change_blocks(&self) -> usize {
        self.footer.changes.len()
    }

    /// All changes of block `i`, of a column of this form, for checks.
    pub fn read_change_block(&self, i: usize, form: Physical, out: &mut Vec<Change>) -> Result<()> {
        self.read_block(i, form, 0..RowId::MAX, out)
    }

    fn read_block(
        &self,
        i: usize,
        form: Physical,
        rows: Range<RowId>,
        out: &mut Vec<Change>,
    ) -> Result<()> {
        let entry = &self.footer.changes[i];
        let block = self.change_block(i, form)?;
        let before = out.len();
        block.read(rows, out).map_err(|e| self.file.place(e, entry.offset))?;
        if let Some(csn) = self.adopted_at() {
            out[before..].iter_mut().for_each(|c| c.csn = csn);
        }
        Ok(())
    }

    fn change_block(&self, i: usize, form: Physical) -> Result<Arc<Loaded<ChangeBlock>>> {
        let entry = &self.footer.changes[i];
        let block = self.file.block(entry.offset, entry.len as usize, |bytes| {
            let block = ChangeBlock::parse(bytes, form)?;
            let heap = block.heap_bytes();
            Ok((block, heap))
        })?;
        if block.len() != entry.count as usize {
            let text = "a block differs from what the footer says of it";
            return Err(self.file.damaged(entry.offset, text));
        }
        Ok(block)
    }

    fn unpacked(
        &self,
        i: usize,
        form: Physical,
        scratch: &mut ChangeScratch,
    ) -> Result<Arc<Unpacked>> {
        let known =
            scratch.blocks.iter().find(|(file, block, _)| (*file, *block) == (self.id(), i));
        if let Some((_, _, unpacked)) = known {
            return Ok(Arc::clone(unpacked));
        }
        let entry = &self.footer.changes[i];
        let block = self.change_block(i, form)?;
        let mut unpacked = block.unpack().map_err(|e| self.file.place(e, entry.offset))?;
        if let Some(csn) = self.adopted_at() {
            unpacked.csns.fill(csn as i64);
        }
        if unpacked.values.as_ref().is_none_or(|v| v.data.physical() != form) {
            return Err(self.file.place(Error::damaged("changes of another form"), entry.offset));
        }
        let unpacked = Arc::new(unpacked);
        if scratch.blocks.len() == KEPT_BLOCKS {
            scratch.blocks.remove(0);
        }
        scratch.blocks.push((self.id(), i, Arc::clone(&unpacked)));
        Ok(unpacked)
    }
}

/// Applies those of the changes of a block that are of the given rows and of commits in between.
fn lay_over(block: &Unpacked, (folded, csn): (Csn, Csn), rows: &mut Patched<'_>) {
    let values = block.values.as_ref().expect("unpacked with its values");
    let (first, last) = (rows.ids[0] as i64, rows.ids[rows.ids.len() - 1] as i64);
    let mut i = block.firsts.partition_point(|f| *f < first);
    while i > 0 && block.firsts[i - 1] + block.len_of(i - 1) > first {
        i -= 1;
    }
    let end = block.firsts.partition_point(|f| *f <= last);
    if lay_dense(block, i..end, (folded, csn), rows) {
        return;
    }
    let applies = |i: usize| block.csns[i] as Csn > folded && block.csns[i] as Csn <= csn;
    let mut at = 0;
    for i in i..end {
        if !applies(i) {
            continue;
        }
        let (start, until) = (block.firsts[i], block.firsts[i] + block.len_of(i));
        // Stretches rise; the same one may come again.
        while at < rows.ids.len() && (rows.ids[at] as i64) < start {
            at += 1;
        }
        let to = match block.len_of(i) {
            1 => at + usize::from(rows.ids.get(at).is_some_and(|r| *r as i64 == start)),
            _ => at + rows.ids[at..].partition_point(|r| (*r as i64) < until),
        };
        if to == at + 1
            && let (Vector::Int(to), Vector::Int(from)) = (&mut rows.column.data, &values.data)
            && rows.column.nulls.is_none()
            && values.nulls.is_none()
        {
            let place =
                if rows.backward { rows.at + rows.ids.len() - 1 - at } else { rows.at + at };
            to[place] = match block.is_add(i) {
                false => from[i],
                true => to[place].wrapping_add(from[i]),
            };
            continue;
        }
        if to > at {
            let value = Scalar::of(values, i);
            let op = if block.is_add(i) { ChangeOp::Add(value) } else { ChangeOp::Set(value) };
            rows.apply_at(at..to, &op);
        }
    }
}

/// The same where rows follow each other without a gap, and changes are of integers, of one row each and
/// of one kind: the usual case of a scan, in a loop that looks nothing up. False: it is not that.
fn lay_dense(
    block: &Unpacked,
    changes: Range<usize>,
    (folded, csn): (Csn, Csn),
    rows: &mut Patched<'_>,
) -> bool {
    let (first, n) = (rows.ids[0], rows.ids.len());
    let dense = rows.ids[n - 1] - first + 1 == n as RowId && !rows.backward;
    let values = block.values.as_ref().expect("unpacked with its values");
    let (Vector::Int(to), Vector::Int(from)) = (&mut rows.column.data, &values.data) else {
        return false;
    };
    let Some(add) = block.all_add.filter(|_| dense && block.lens.is_empty()) else { return false };
    if rows.column.nulls.is_some() || values.nulls.is_some() {
        return false;
    }
    let to = &mut to[rows.at..rows.at + n];
    let firsts = &block.firsts[changes.clone()];
    let (csns, from) = (&block.csns[changes.clone()], &from[changes]);
    for ((row, at), value) in firsts.iter().zip(csns).zip(from) {
        if (*at as Csn) > folded && (*at as Csn) <= csn {
            let place = &mut to[(*row as RowId - first) as usize];
            *place = if add { place.wrapping_add(*value) } else { *value };
        }
    }
    true
}
