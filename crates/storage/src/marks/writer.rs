//! How do marks become a mark run?
//!
//! Marks come rising by row id and leave in blocks of a fixed number; dead rows come as one bitmap
//! per 65,536 row ids. Both may be interleaved.
//!
//! Thread safety: a writer belongs to one thread.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Csn, Result, RowId, TableId};
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
}

impl MarkRunWriter {
    /// Starts a file under a new id.
    pub fn create(context: &Arc<StorageContext>, spec: MarkRunSpec) -> Result<MarkRunWriter> {
        let mut file = FileWriter::create(context, FileKind::Marks, Purpose::Marks)?;
        let mut bytes = Vec::new();
        frame::put_header(Kind::Marks, MARKS_VERSION, &mut bytes);
        file.write(&bytes)?;
        let MarkRunSpec { table, rows, csns } = spec;
        let next_row = rows.start;
        let footer = MarkFooter { table, rows, csns, marks: Vec::new(), dead: Vec::new() };
        Ok(MarkRunWriter { file, footer, pending: Vec::new(), next_row, bytes })
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

    fn entry(&self, first: u64, count: u32) -> MarkBlockEntry {
        let len = u32::try_from(self.bytes.len()).expect("some bytes per mark");
        MarkBlockEntry { offset: self.file.offset(), len, first, count }
    }

    /// Writes the rest and the footer and makes the file durable.
    pub fn finish(mut self) -> Result<MarkRunMeta> {
        if !self.pending.is_empty() {
            self.write_marks()?;
        }
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
