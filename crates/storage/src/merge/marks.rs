//! How do a table's mark runs become fewer?
//!
//! Mark runs are asked in turn by every reader, so they are merged like index runs, neighbours by
//! age, by the same policy. A row has at most one mark (I1: it dies once), so
//! merging is a union. Marks at or below the horizon lose their CSN and successor: the row is dead
//! for everyone, one bit says so. No bit is ever dropped here: index runs may still have entries of
//! the row, whose readers must learn that it is gone.
//!
//! A merge is one file and one edit; marks are small (8 bytes, or a bit), so slices would not pay.
//!
//! Thread safety: one worker per table at a time.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Csn, ErrorKind, FileId, Result, RowId, TableId};
use onlap_format::manifest::{Edit, MarkRunMeta};
use onlap_format::marks::{DEAD_BLOCK_ROWS, Mark};
use roaring::RoaringBitmap;

use super::policy::{self, Choice, PolicyOptions, RunShape};
use crate::editor::Editor;
use crate::marks::{MarkRun, MarkRunSpec, MarkRunWriter};
use crate::version::{MarksEntry, TableVersion};

#[cfg(test)]
mod tests;

/// The mark runs of a table to merge next; a run's id is its file's.
pub fn choose(version: &TableVersion, options: &PolicyOptions) -> Option<Choice> {
    policy::choose(&shapes(version), options)
}

/// The marks' merge debt in bytes.
pub fn debt_bytes(version: &TableVersion, options: &PolicyOptions) -> u64 {
    policy::debt_bytes(&shapes(version), options)
}

fn shapes(version: &TableVersion) -> Vec<RunShape> {
    let shape = |(i, entry): (usize, &MarksEntry)| RunShape {
        id: entry.meta.file.0,
        // Neighbours by age: any mark may concern any row.
        rows: i as u64..i as u64 + 1,
        entries: entry.meta.marks,
        dead: 0,
        bytes: entry.meta.bytes,
        group: None,
    };
    version.marks.iter().enumerate().map(shape).collect()
}

/// Merges mark runs. `false`: asked to stop, or they are no longer there, and nothing changed.
pub fn merge(editor: &dyn Editor, table: TableId, inputs: &[FileId]) -> Result<bool> {
    let Some(version) = editor.version(table) else { return Ok(false) };
    let find = |file: &FileId| version.marks.iter().find(|m| m.meta.file == *file);
    let Some(entries) = inputs.iter().map(find).collect::<Option<Vec<_>>>() else {
        return Ok(false);
    };
    let Some(meta) = write(editor, table, &entries)? else { return Ok(false) };
    editor.context().sync_dir()?;
    let mut edits: Vec<Edit> = inputs.iter().map(|f| Edit::RemoveMarks(table, *f)).collect();
    edits.push(Edit::AddMarks(table, meta.clone()));
    match editor.commit(&edits) {
        Ok(()) => Ok(true),
        Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::DiskFull) => {
            let name = FileKind::Marks(meta.file).name();
            editor.context().fs.remove(&editor.context().dir.join(name))?;
            if e.kind() == ErrorKind::Conflict { Ok(false) } else { Err(e) }
        }
        Err(e) => Err(e),
    }
}

fn union(mut ranges: impl Iterator<Item = Range<u64>>) -> Range<u64> {
    let first = ranges.next().expect("a merge has inputs");
    ranges.fold(first, |a, b| a.start.min(b.start)..a.end.max(b.end))
}

fn write(
    editor: &dyn Editor,
    table: TableId,
    entries: &[&MarksEntry],
) -> Result<Option<MarkRunMeta>> {
    let spec = MarkRunSpec {
        table,
        rows: union(entries.iter().map(|e| e.meta.rows.clone())),
        csns: union(entries.iter().map(|e| e.meta.csns.clone())),
    };
    let horizon = editor.horizon(table);
    let mut writer = MarkRunWriter::create(editor.context(), spec)?;
    let mut sources: Vec<Source> = entries.iter().map(|e| Source::new(&e.run)).collect();
    let mut marks = Vec::new();
    // One stretch of 65,536 rows after the other, so that memory does not grow with the inputs.
    while let Some(number) = next_number(&mut sources)? {
        if editor.is_stopping() {
            return Ok(None);
        }
        let mut dead = RoaringBitmap::new();
        marks.clear();
        for source in &mut sources {
            source.take(number, horizon, &mut marks, &mut dead)?;
        }
        marks.sort_unstable_by_key(|m| m.row);
        marks.dedup_by_key(|m| m.row);
        marks.retain(|m| !dead.contains((m.row % DEAD_BLOCK_ROWS) as u32));
        writer.push(&marks)?;
        writer.push_dead(number, &dead)?;
    }
    let level = entries.iter().map(|e| e.meta.level).max().unwrap_or(0) + 1;
    Ok(Some(MarkRunMeta { level, ..writer.finish()? }))
}

/// The lowest stretch that any source has marks in.
fn next_number(sources: &mut [Source]) -> Result<Option<u64>> {
    let mut least = None;
    for source in sources {
        if let Some(row) = source.next_row()? {
            let number = row / DEAD_BLOCK_ROWS;
            least = Some(least.map_or(number, |l: u64| l.min(number)));
        }
    }
    Ok(least)
}

/// Walks a mark run in row order.
struct Source {
    run: Arc<MarkRun>,
    marks: Vec<Mark>,
    /// Marks taken of `marks`, mark blocks read, dead blocks taken.
    taken: usize,
    read: usize,
    dead: usize,
}

impl Source {
    fn new(run: &Arc<MarkRun>) -> Source {
        Source { run: Arc::clone(run), marks: Vec::new(), taken: 0, read: 0, dead: 0 }
    }

    fn next_mark(&mut self) -> Result<Option<Mark>> {
        if self.taken == self.marks.len() && self.read < self.run.mark_blocks() {
            self.marks.clear();
            self.run.read_marks(self.read, &mut self.marks)?;
            (self.taken, self.read) = (0, self.read + 1);
        }
        Ok(self.marks.get(self.taken).copied())
    }

    fn next_row(&mut self) -> Result<Option<RowId>> {
        let mark = self.next_mark()?.map(|m| m.row);
        let dead = self.run.footer().dead.get(self.dead).map(|b| b.first * DEAD_BLOCK_ROWS);
        Ok(mark.into_iter().chain(dead).min())
    }

    /// Takes everything of one stretch.
    fn take(
        &mut self,
        number: u64,
        horizon: Csn,
        marks: &mut Vec<Mark>,
        dead: &mut RoaringBitmap,
    ) -> Result<()> {
        while let Some(mark) = self.next_mark()?.filter(|m| m.row / DEAD_BLOCK_ROWS == number) {
            self.taken += 1;
            if mark.csn <= horizon {
                dead.insert((mark.row % DEAD_BLOCK_ROWS) as u32);
            } else {
                marks.push(mark);
            }
        }
        if self.dead < self.run.dead_blocks() {
            let (first, rows) = self.run.read_dead(self.dead)?;
            if first / DEAD_BLOCK_ROWS == number {
                *dead |= &**rows;
                self.dead += 1;
            }
        }
        Ok(())
    }
}
