//! How do marks become a mark run?
//!
//! Marks come rising by row id and leave in blocks of a fixed number; dead rows come as one bitmap
//! per 65,536 row ids. Both may be interleaved. Changes come column by column.
//!
//! Thread safety: a writer belongs to one thread.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{ColumnId, Csn, Result, RowId, TableId};
use onlap_format::Physical;
use onlap_format::changes::{
    CHANGES_PER_BLOCK, Change, ChangeBlockEntry, ChangeBounds, encode_change_block,
};
use onlap_format::frame::{self, Kind};
use onlap_format::manifest::MarkRunMeta;
use onlap_format::marks::{
    BLOCK_MARKS, DEAD_BLOCK_ROWS, MARKS_VERSION, Mark, MarkBlockEntry, MarkFooter,
    encode_dead_block, encode_mark_block,
};
use roaring::RoaringBitmap;

use crate::context::StorageContext;
use crate::file::FileWriter;
use crate::written::Purpose;

/// Marks per block: some 8 bytes each, so a block is about as large as a segment's.
const MARKS_PER_BLOCK: usize = 2048;
const _: () = assert!(MARKS_PER_BLOCK <= BLOCK_MARKS);

/// Strings of a block of changes, about: it is read as a whole for one row.
const CHANGE_BLOCK_BYTES: usize = 64 << 10;

/// What a new mark run is.
#[derive(Clone, Debug)]
pub struct MarkRunSpec {
    /// Whose rows.
    pub table: TableId,
    /// Row ids that it may name.
    pub rows: Range<RowId>,
    /// Commits whose marks it holds.
    pub csns: Range<Csn>,
}

/// Writes one mark run.
pub struct MarkRunWriter {
    file: FileWriter,
    footer: MarkFooter,
    pending: Vec<Mark>,
    next_row: RowId,
    bytes: Vec<u8>,
    changes: Changes,
}

/// Changes that came last.
#[derive(Default)]
struct Changes {
    /// Their column, its form, and what its changes so far may do to a row.
    of: Option<(ColumnId, Physical, ChangeBounds)>,
    pending: Vec<Change>,
    /// Of their strings.
    bytes: usize,
    /// The piece whose changes come, and what they may do together.
    piece: (RowId, ChangeBounds),
}

impl MarkRunWriter {
    /// Starts a file under a new id.
    pub fn create(context: &Arc<StorageContext>, spec: MarkRunSpec) -> Result<MarkRunWriter> {
        let mut file = FileWriter::create(context, FileKind::Marks, Purpose::Marks)?;
        let mut bytes = Vec::new();
        frame::put_header(Kind::Marks, MARKS_VERSION, &mut bytes);
        file.write(&bytes)?;
        let MarkRunSpec { table, rows, csns } = spec;
        assert!(rows.start < rows.end && csns.start < csns.end, "a run may have a mark");
        let next_row = rows.start;
        let footer = MarkFooter {
            table,
            rows,
            csns,
            marks: Vec::new(),
            dead: Vec::new(),
            changes: Vec::new(),
            change_csns: 0..0,
            bounds: Vec::new(),
        };
        Ok(MarkRunWriter {
            file,
            footer,
            pending: Vec::new(),
            next_row,
            bytes,
            changes: Changes::default(),
        })
    }

    /// Appends marks that rise by row id above all before.
    pub fn push(&mut self, marks: &[Mark]) -> Result<()> {
        for mark in marks {
            assert!(mark.row >= self.next_row && mark.row < self.footer.rows.end, "rows in range");
            assert!(self.footer.csns.contains(&mark.csn), "commits in range");
            self.next_row = mark.row + 1;
            self.pending.push(*mark);
            if self.pending.len() == MARKS_PER_BLOCK {
                self.write_marks()?;
            }
        }
        Ok(())
    }

    fn write_marks(&mut self) -> Result<()> {
        assert!(!self.pending.is_empty(), "a block has marks");
        self.bytes.clear();
        encode_mark_block(&self.pending, &mut self.bytes);
        let entry = self.entry(self.pending[0].row, self.pending.len() as u32);
        self.footer.marks.push(entry);
        self.pending.clear();
        self.file.write(&self.bytes)
    }

    /// Appends rows of which only the death is known: row ids `number * 65,536 +` each of `rows`.
    /// Numbers rise; a row that is dead here has no mark in this run.
    pub fn push_dead(&mut self, number: u64, rows: &RoaringBitmap) -> Result<()> {
        let (Some(min), Some(max)) = (rows.min(), rows.max()) else { return Ok(()) };
        assert!(self.footer.dead.last().is_none_or(|b| b.first < number), "numbers rise");
        let first = number * DEAD_BLOCK_ROWS;
        let ids = first + u64::from(min)..first + u64::from(max) + 1;
        assert!(ids.start >= self.footer.rows.start && ids.end <= self.footer.rows.end, "in range");
        self.bytes.clear();
        encode_dead_block(rows, &mut self.bytes);
        let count = u32::try_from(rows.len()).expect("at most 65,536 rows");
        let entry = self.entry(number, count);
        self.footer.dead.push(entry);
        self.file.write(&self.bytes)
    }

    /// Begins the changes of a column; ids of columns rise. Marks come before, dead rows may come
    /// between columns.
    pub fn begin_column(&mut self, column: ColumnId, form: Physical) -> Result<()> {
        self.end_column()?;
        assert!(self.footer.changes.last().is_none_or(|b| b.column < column), "columns rise");
        self.changes.of = Some((column, form, ChangeBounds::default()));
        self.changes.piece = (RowId::MAX, ChangeBounds::default());
        Ok(())
    }

    /// Appends changes of the column, by row id and then by commit.
    pub fn push_changes(&mut self, changes: &[Change]) -> Result<()> {
        for change in changes {
            let rows = &self.footer.rows;
            assert!(change.first >= rows.start && change.end() <= rows.end, "rows in range");
            assert!(self.footer.csns.contains(&change.csn), "commits in range");
            let csns = &mut self.footer.change_csns;
            *csns = match csns.is_empty() {
                true => change.csn..change.csn + 1,
                false => csns.start.min(change.csn)..csns.end.max(change.csn + 1),
            };
            let Changes { of, pending, bytes, piece } = &mut self.changes;
            debug_assert!(
                pending.last().is_none_or(|last| last.first <= change.first),
                "changes come by row id"
            );
            let (_, _, bounds) = of.as_mut().expect("a column was begun");
            let these = ChangeBounds::of(&change.op);
            *piece = match piece.0 == change.first {
                true => (piece.0, piece.1.and(these)),
                false => (change.first, these),
            };
            *bounds = bounds.or(piece.1);
            *bytes += change.op.scalar().heap_bytes();
            pending.push(change.clone());
            if pending.len() == CHANGES_PER_BLOCK || *bytes >= CHANGE_BLOCK_BYTES {
                self.write_changes()?;
            }
        }
        Ok(())
    }

    /// Whether any change was pushed.
    pub fn has_changes(&self) -> bool {
        !self.footer.changes.is_empty() || !self.changes.pending.is_empty()
    }

    fn write_changes(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.changes.pending);
        self.changes.bytes = 0;
        let (Some(first), Some(last)) = (pending.first(), pending.last()) else { return Ok(()) };
        let (column, form, _) = self.changes.of.expect("a column was begun");
        self.bytes.clear();
        encode_change_block(form, &pending, &mut self.bytes);
        self.footer.changes.push(ChangeBlockEntry {
            column,
            offset: self.file.offset(),
            len: u32::try_from(self.bytes.len()).expect("a block is below 4 GiB"),
            first: first.first,
            end: last.end(),
            count: pending.len() as u32,
        });
        self.file.write(&self.bytes)
    }

    fn end_column(&mut self) -> Result<()> {
        self.write_changes()?;
        if let Some((column, _, bounds)) = self.changes.of.take()
            && self.footer.changes.last().is_some_and(|b| b.column == column)
        {
            self.footer.bounds.push((column, bounds));
        }
        Ok(())
    }

    fn entry(&self, first: u64, count: u32) -> MarkBlockEntry {
        let len = u32::try_from(self.bytes.len()).expect("some bytes per mark");
        MarkBlockEntry { offset: self.file.offset(), len, first, count }
    }

    /// Writes the rest and the footer and makes the file durable.
    pub fn finish(mut self) -> Result<MarkRunMeta> {
        if !self.pending.is_empty() {
            self.write_marks()?;
        }
        self.end_column()?;
        let mut footer = Vec::new();
        self.footer.encode(&mut footer);
        self.bytes.clear();
        let offset = self.file.offset();
        frame::put_footer(Kind::Marks, MARKS_VERSION, &footer, offset, &mut self.bytes);
        self.file.write(&self.bytes)?;
        let (file, bytes) = self.file.finish()?;
        let marks = self.footer.mark_count() + self.footer.dead_count();
        let MarkFooter { rows, csns, .. } = self.footer;
        Ok(MarkRunMeta { file, bytes, rows, csns, marks, level: 0, adopted: None })
    }
}
