//! When is a segment rewritten without its dead rows and with its changes, and how?
//!
//! A segment whose dead share passes a threshold is replaced by one with the survivors, who keep
//! their row ids (I1); ids without a row are dead for every snapshot. Dead means dead at the
//! horizon. Column changes up to the horizon, as far as everything up to there was flushed, are folded
//! into the rows, and the segment says so (`folded_csn`); many of them are a reason of their own. They
//! stay in their mark runs until these are merged. The marks stay: index runs may still have entries of the rows that are gone, and a dead
//! bit tells readers not to look for them.
//!
//! Steps: (1) write the survivors to a new file, (2) one edit removes the old segment and adds the
//! new one. A crash before (2) leaves an orphan, which the next open removes; a version change in
//! between (another compaction, a dropped table) refuses the edit, and the new file is removed.
//!
//! Thread safety: one worker per segment at a time; readers go on with the old one.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{ColumnId, Csn, ErrorKind, Result, RowId, TableId};
use onlap_format::manifest::{Edit, SegmentMeta};
use onlap_format::{Batch, Physical};

use crate::editor::Editor;
use crate::entry::Direction;
use crate::marks::ChangeScratch;
use crate::segment::{Segment, SegmentScan, SegmentSpec, SegmentWriter};
use crate::version::{SegmentEntry, TableVersion};
use crate::written::Purpose;

#[cfg(test)]
mod tests;

/// Share of dead rows from which a segment is rewritten: at a fifth, a rewrite of four live rows
/// takes one dead row away, and space is at most a quarter above what the live rows need.
pub const DEAD_SHARE: f64 = 0.2;

/// Row ids whose dead rows are looked up at once: a list of at most 512 KiB.
const STRETCH_ROWS: u64 = 1 << 16;

/// A segment that is worth rewriting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What the manifest says of it.
    pub segment: SegmentMeta,
    /// Rows of it that are dead at the horizon.
    pub dead: u64,
    /// Changes of its rows that would be folded.
    pub changes: u64,
}

/// The segment with the largest share of rows that are dead at `horizon` or of changes to fold, if that
/// share is at least `dead_share` or `change_share`.
pub fn choose(
    version: &TableVersion,
    horizon: Csn,
    dead_share: f64,
    change_share: f64,
) -> Result<Option<Candidate>> {
    let share = |c: &Candidate| (c.dead + c.changes) as f64 / c.segment.count.max(1) as f64;
    let mut best: Option<Candidate> = None;
    let mut offer = |candidate: Candidate| {
        if best.as_ref().is_none_or(|b| share(&candidate) > share(b)) {
            best = Some(candidate);
        }
    };
    for entry in &version.segments {
        if entry.meta.rows.end > version.resolved {
            continue;
        }
        let count = entry.meta.count as f64;
        let folded = entry.segment.footer().folded_csn;
        let changes =
            version.foldable_changes(&entry.meta.rows, folded, fold_csn(version, horizon));
        if changes > 0 && changes as f64 >= change_share * count {
            offer(Candidate { segment: entry.meta.clone(), dead: 0, changes });
        }
        let Some((key, bound)) = version.dead_key(&entry.meta.rows, horizon) else { continue };
        if (bound as f64) < dead_share * count {
            continue;
        }
        let known = entry.dead.lock().filter(|(of, _)| *of == key);
        let dead = match known {
            Some((_, dead)) => dead,
            None => dead_rows_stored(version, entry, horizon)?,
        };
        assert!(dead <= entry.meta.count, "no more rows are dead than there are");
        *entry.dead.lock() = Some((key, dead));
        if dead > 0 && dead as f64 >= dead_share * count {
            offer(Candidate { segment: entry.meta.clone(), dead, changes });
        }
    }
    Ok(best)
}

/// Up to which commit a compaction at this horizon folds changes: files have all of them.
fn fold_csn(version: &TableVersion, horizon: Csn) -> Csn {
    horizon.min(version.flushed_csn)
}

/// How many rows of a segment are dead at a CSN. Blocks are looked into only where ids are missing.
pub fn dead_rows_stored(version: &TableVersion, entry: &SegmentEntry, csn: Csn) -> Result<u64> {
    let rows = entry.meta.rows.clone();
    if !version.has_marks_in(&rows) {
        return Ok(0);
    }
    let blocks = &entry.segment.footer().blocks;
    let mut dead = Vec::new();
    let mut end = rows.start;
    let mut stored = 0;
    for (i, block) in blocks.iter().enumerate() {
        let next = blocks.get(i + 1).map_or(rows.end, |b| b.first_row_id);
        if next > end {
            end = rows.end.min(next.max(block.first_row_id + STRETCH_ROWS));
            dead = version.dead_rows(block.first_row_id..end, csn)?;
        }
        let from = dead.partition_point(|r| *r < block.first_row_id);
        let here = &dead[from..dead.partition_point(|r| *r < next)];
        stored += if here.is_empty() || u64::from(block.rows) == next - block.first_row_id {
            here.len() as u64
        } else {
            let block = entry.segment.block(i)?;
            here.iter().filter(|r| block.position(**r).is_some()).count() as u64
        };
    }
    Ok(stored)
}

/// Rewrites a segment without the rows that are dead at the horizon. `false`: it was asked to stop,
/// or the segment is no longer there, and nothing changed.
pub fn compact(editor: &dyn Editor, table: TableId, candidate: &Candidate) -> Result<bool> {
    let Some(version) = editor.version(table) else { return Ok(false) };
    let old = &candidate.segment;
    let Some(entry) = version.segments.iter().find(|s| s.meta == *old) else { return Ok(false) };
    // What was dead when it was counted stays dead: of a segment of dead rows nothing is read.
    let new = match candidate.dead < old.count {
        true => rewrite(editor, table, &version, entry)?,
        false => Some(None),
    };
    let Some(new) = new else { return Ok(false) };
    let mut edits = vec![Edit::RemoveSegment(table, old.file)];
    if let Some(new) = &new {
        editor.context().sync_dir()?;
        edits.push(Edit::AddSegment(table, new.clone()));
    }
    match editor.commit(&edits) {
        Ok(()) => Ok(true),
        Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::DiskFull) => {
            if let Some(new) = new {
                let name = FileKind::Segment(new.file).name();
                editor.context().fs.remove(&editor.context().dir.join(name))?;
            }
            if e.kind() == ErrorKind::Conflict { Ok(false) } else { Err(e) }
        }
        Err(e) => Err(e),
    }
}

/// Writes the survivors. `None`: asked to stop; `Some(None)`: no row survived.
fn rewrite(
    editor: &dyn Editor,
    table: TableId,
    version: &TableVersion,
    entry: &SegmentEntry,
) -> Result<Option<Option<SegmentMeta>>> {
    let horizon = editor.horizon(table);
    let footer = entry.segment.footer();
    // Columns that were dropped since go.
    let kept = |(id, _): &&(ColumnId, Physical)| version.schema.position(*id).is_some();
    let mut columns: Vec<(ColumnId, Physical)> =
        footer.columns.iter().filter(kept).copied().collect();
    // Columns that came since, and were changed, have more than one value by now.
    let new = version.schema.columns.iter().filter(|c| footer.position(c.id).is_none());
    columns.extend(new.filter(|c| version.changes_column(c.id)).map(|c| (c.id, c.ty.physical())));
    let projection: Vec<ColumnId> = columns.iter().map(|(id, _)| *id).collect();
    let spec = SegmentSpec {
        table,
        schema_version: footer.schema_version,
        columns: columns.clone(),
        row_ids: entry.meta.rows.clone(),
        folded_csn: fold_csn(version, horizon).max(footer.folded_csn),
        compress: false,
        block_rows: onlap_base::limits::BLOCK_ROWS_MAX,
        purpose: Purpose::Compaction,
        cache: true,
    };
    let mut writer = SegmentWriter::create(editor.context(), spec)?;
    let mut survivors = Survivors::new(version, &entry.segment, horizon);
    let mut batch = Batch::new(columns.iter().map(|(_, form)| *form));
    let mut ids = Vec::new();
    let mut kept = 0;
    let (fold, mut scratch) = (fold_csn(version, horizon), ChangeScratch::default());
    while survivors.next(&projection, &mut batch, &mut ids)? {
        if editor.is_stopping() {
            return Ok(None);
        }
        for (id, column) in projection.iter().zip(&mut batch.columns) {
            version.lay_changes(*id, fold, &ids, column, 0, false, &mut scratch)?;
        }
        assert_eq!(batch.rows, ids.len(), "one id per survivor");
        writer.push(&batch, &ids)?;
        kept += ids.len();
    }
    assert!(kept as u64 <= entry.meta.count, "a compaction makes no rows");
    if kept == 0 {
        return Ok(Some(None));
    }
    // Commits whose rows are all gone stay in the map: it says what was visible when.
    writer.push_commits(&footer.commits.iter().collect::<Vec<_>>());
    Ok(Some(Some(writer.finish()?)))
}

/// Walks the rows of a segment that live on.
struct Survivors<'a> {
    version: &'a TableVersion,
    scan: SegmentScan,
    csn: Csn,
    dead: Vec<RowId>,
    known: Range<RowId>,
}

impl<'a> Survivors<'a> {
    fn new(version: &'a TableVersion, segment: &Arc<Segment>, csn: Csn) -> Survivors<'a> {
        let rows = segment.row_ids();
        let scan = SegmentScan::new(segment, rows.clone(), Direction::Forward);
        Survivors { version, scan, csn, dead: Vec::new(), known: rows.start..rows.start }
    }

    /// Fills `batch` and `ids` with the survivors of the next block, of which there may be none.
    fn next(
        &mut self,
        projection: &[ColumnId],
        batch: &mut Batch,
        ids: &mut Vec<RowId>,
    ) -> Result<bool> {
        batch.truncate(0);
        batch.columns.iter_mut().for_each(|c| c.nulls = None);
        ids.clear();
        let Some(mut found) = self.scan.next_block()? else { return Ok(false) };
        found.block.row_ids(found.rows.clone(), ids);
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(true) };
        if *last >= self.known.end {
            self.known = *first..(last + 1).max(first + STRETCH_ROWS);
            self.dead = self.version.dead_rows(self.known.clone(), self.csn)?;
        }
        let from = self.dead.partition_point(|r| r < first);
        let mut dead = self.dead[from..].iter().peekable();
        let mut positions = Vec::with_capacity(ids.len());
        for (row, position) in ids.iter().zip(found.rows.clone()) {
            while dead.next_if(|d| *d < row).is_some() {}
            if dead.peek() != Some(&row) {
                positions.push(position as u32);
            }
        }
        if positions.len() == ids.len() {
            let rows = found.rows.clone();
            self.scan.append(&mut found, rows, projection, batch)?;
            return Ok(true);
        }
        let start = found.rows.start;
        *ids = positions.iter().map(|p| ids[*p as usize - start]).collect();
        self.scan.append_selected(&found, &positions, projection, batch)?;
        Ok(true)
    }
}
