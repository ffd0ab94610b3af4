//! How do a table's mark runs become fewer?
//!
//! Mark runs are asked in turn by every reader, so they are merged like index runs, neighbours by
//! age, by the same policy. A row has at most one mark (I1: it dies once), so
//! merging is a union. Marks at or below the horizon lose their CSN and successor: the row is dead
//! for everyone, one bit says so. No bit is ever dropped here: index runs may still have entries of
//! the row, whose readers must learn that it is gone.
//!
//! Column changes lose what the segments have by now, and those at or below the horizon become one per
//! row and column ([`Sweep`]).
//!
//! A merge is one file and one edit; marks are small (8 bytes, or a bit), so slices would not pay.
//!
//! Thread safety: one worker per table at a time.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{ColumnId, Csn, ErrorKind, FileId, Result, RowId, TableId};
use onlap_format::changes::Sweep;
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

/// A mark run of whose changes the segments have every one, and which is worth writing again without
/// them.
pub fn choose_folded(version: &TableVersion) -> Option<FileId> {
    version.marks.iter().find(|m| version.all_folded(&m.run)).map(|m| m.meta.file)
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
        entries: entry.meta.marks + entry.run.footer().change_count(),
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
    let Some((meta, empty)) = write(editor, table, &entries)? else { return Ok(false) };
    editor.context().sync_dir()?;
    let mut edits: Vec<Edit> = inputs.iter().map(|f| Edit::RemoveMarks(table, *f)).collect();
    let remove = |meta: &MarkRunMeta| {
        let name = FileKind::Marks(meta.file).name();
        editor.context().fs.remove(&editor.context().dir.join(name))
    };
    if !empty {
        edits.push(Edit::AddMarks(table, meta.clone()));
    }
    match editor.commit(&edits) {
        Ok(()) if empty => remove(&meta).map(|()| true),
        Ok(()) => Ok(true),
        Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::DiskFull) => {
            remove(&meta)?;
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
) -> Result<Option<(MarkRunMeta, bool)>> {
    assert!(!entries.is_empty(), "a merge has inputs");
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
        debug_assert!(marks.iter().all(|m| m.csn > horizon), "marks below the horizon are bits");
        writer.push(&marks)?;
        writer.push_dead(number, &dead)?;
    }
    if !write_changes(editor, table, entries, horizon, &mut writer)? {
        return Ok(None);
    }
    let level = entries.iter().map(|e| e.meta.level).max().unwrap_or(0) + 1;
    let changes = writer.has_changes();
    let meta = writer.finish()?;
    let empty = meta.marks == 0 && !changes;
    let before: u64 = entries.iter().map(|e| e.meta.marks).sum();
    assert!(meta.marks <= before, "a merge makes no marks");
    Ok(Some((MarkRunMeta { level, ..meta }, empty)))
}

/// Writes the changes that no segment has yet, those at or below the horizon as one per row and column.
/// False: asked to stop.
fn write_changes(
    editor: &dyn Editor,
    table: TableId,
    entries: &[&MarksEntry],
    horizon: Csn,
    writer: &mut MarkRunWriter,
) -> Result<bool> {
    let mut runs: Vec<&Arc<MarkRun>> = entries.iter().map(|e| &e.run).collect();
    runs.retain(|run| run.change_blocks() > 0);
    runs.sort_by_key(|run| run.footer().change_csns.start);
    let Some(last) = runs.last() else { return Ok(true) };
    let horizon = horizon.min(last.footer().change_csns.end - 1);
    let Some(version) = editor.version(table) else { return Ok(false) };
    let columns = version.schema.columns.iter().map(|c| (c.id, c.ty.physical()));
    let mut columns: Vec<_> = columns.filter(|c| version.changes_column(c.0)).collect();
    columns.sort_unstable_by_key(|c| c.0);
    let mut folded = |row: RowId| version.folded_at(row);
    for (column, form) in columns {
        writer.begin_column(column, form)?;
        let (mut from, mut found, mut out) = (0, Vec::new(), Vec::new());
        while let Some(window) = next_window(&runs, column, from) {
            if editor.is_stopping() {
                return Ok(false);
            }
            let mut sweep = Sweep::default();
            for run in &runs {
                run.read_changes(column, form, window.clone(), &mut found)?;
                found.drain(..).for_each(|change| sweep.push(change, &window));
            }
            sweep.finish(horizon, &mut folded, &mut out);
            writer.push_changes(&out)?;
            out.clear();
            from = window.end;
        }
    }
    Ok(true)
}

/// The next window of row ids in which any run may have changes of a column.
fn next_window(runs: &[&Arc<MarkRun>], column: ColumnId, from: RowId) -> Option<Range<RowId>> {
    let next = |run: &&Arc<MarkRun>| {
        let blocks = &run.footer().changes;
        let at = blocks.partition_point(|b| (b.column, b.end) <= (column, from));
        blocks.get(at).filter(|b| b.column == column).map(|b| b.first.max(from))
    };
    let start = runs.iter().filter_map(next).min()?;
    Some(start..(start / DEAD_BLOCK_ROWS + 1) * DEAD_BLOCK_ROWS)
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
