//! What do the edits add up to?
//!
//! [`ManifestState::apply`] refuses edits that do not fit the state, which protects both ways: a
//! damaged manifest is found (I8), and a writer that works from an outdated view loses, which is
//! the compare-and-set of the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{ColumnId, Csn, Error, FileId, IndexId, Result, RowId, SequenceId, TableId};

use super::edit::{Edit, MarkRunMeta, RunMeta, SegmentMeta, WrittenTotals};
use crate::log::LogBegun;
use crate::schema::{SequenceSchema, TableSchema};

/// The files of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexState {
    /// By first row id; the output of a merge under way stands before its inputs.
    pub runs: Vec<RunMeta>,
}

/// A sequence and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceState {
    /// The description.
    pub schema: SequenceSchema,
    /// What may have been handed out.
    pub at: SequencePoint,
}

/// Where a sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequencePoint {
    /// This value comes next.
    Next(i64),
    /// This value was the last, and what follows it comes next.
    After(i64),
}

impl SequencePoint {
    /// Where one stands of which the next value is known; it has come to its end where there is none.
    fn before(next: Option<i64>, schema: &SequenceSchema) -> SequencePoint {
        match next {
            Some(next) => SequencePoint::Next(next),
            None if schema.increment > 0 => SequencePoint::After(schema.max),
            None => SequencePoint::After(schema.min),
        }
    }

    /// The edit that says so.
    pub fn edit(self, id: SequenceId) -> Edit {
        match self {
            SequencePoint::Next(next) => Edit::SequenceNext(id, Some(next)),
            SequencePoint::After(last) => Edit::SequenceTaken(id, last),
        }
    }
}

/// A table and its files.
#[derive(Clone, Debug, PartialEq)]
pub struct TableState {
    /// The schema.
    pub schema: TableSchema,
    /// By row id, apart from each other.
    pub segments: Vec<SegmentMeta>,
    /// One per index of the schema.
    pub indexes: BTreeMap<IndexId, IndexState>,
    /// By the CSN of their first mark.
    pub marks: Vec<MarkRunMeta>,
    /// All rows below are in files.
    pub flushed_rows: RowId,
    /// All rows and marks up to here are in files.
    pub flushed_csn: Csn,
    /// Next values of serial columns.
    pub serials: BTreeMap<ColumnId, i64>,
    /// No commit below can be read, where the table keeps a history at all.
    pub history_floor: Csn,
    /// Of a table with blind writes: rows below have met all rows before them.
    pub resolved: RowId,
}

/// Everything the manifest says.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestState {
    /// The tables.
    pub tables: BTreeMap<TableId, TableState>,
    /// Next id of a file or run.
    pub next_file: u64,
    /// Next table id.
    pub next_table: u32,
    /// Next index id.
    pub next_index: u32,
    /// Oldest log file that is needed.
    pub log_oldest: u64,
    /// The newest log file that is known to have been begun; none before version 3 of the format.
    pub log_begun: Option<LogBegun>,
    /// CSNs up to this one are taken.
    pub csn: Csn,
    /// Bytes written since creation.
    pub written: WrittenTotals,
    /// Bytes written per index: at flush, by merges. Dropped indexes keep theirs.
    pub written_indexes: BTreeMap<IndexId, (u64, u64)>,
    /// The sequences.
    pub sequences: BTreeMap<SequenceId, SequenceState>,
    /// Next id of a sequence.
    pub next_sequence: u32,
    /// (CSN, microseconds since 1970), both rising: what was committed when. Kept for tables with a
    /// history; shared, as a change of anything else copies the rest of the state.
    pub timeline: Arc<Vec<(Csn, i64)>>,
}

impl Default for ManifestState {
    /// An empty database; ids begin with 1.
    fn default() -> ManifestState {
        ManifestState {
            tables: BTreeMap::new(),
            next_file: 1,
            next_table: 1,
            next_index: 1,
            log_oldest: 0,
            log_begun: None,
            csn: 0,
            written: WrittenTotals::default(),
            written_indexes: BTreeMap::new(),
            sequences: BTreeMap::new(),
            next_sequence: 1,
            timeline: Arc::default(),
        }
    }
}

fn misfit(what: impl std::fmt::Display) -> Error {
    Error::damaged(format!("a manifest edit does not fit: {what}"))
}

impl TableState {
    fn new(schema: TableSchema) -> TableState {
        TableState {
            indexes: schema.indexes.iter().map(|i| (i.id, IndexState::default())).collect(),
            schema,
            segments: Vec::new(),
            marks: Vec::new(),
            flushed_rows: 0,
            flushed_csn: 0,
            serials: BTreeMap::new(),
            history_floor: 0,
            resolved: 0,
        }
    }

    /// Names of all its files.
    pub fn files(&self) -> impl Iterator<Item = FileKind> {
        let segments = self.segments.iter().map(|s| FileKind::Segment(s.file));
        let runs = self.indexes.values().flat_map(|i| &i.runs).flat_map(|r| &r.files);
        let marks = self.marks.iter().map(|m| FileKind::Marks(m.file));
        segments.chain(runs.map(|f| FileKind::Run(f.file))).chain(marks)
    }

    fn index(&mut self, index: IndexId) -> Result<&mut IndexState> {
        self.indexes.get_mut(&index).ok_or_else(|| misfit(format!("index {index} is not there")))
    }

    fn add_segment(&mut self, segment: &SegmentMeta) -> Result<()> {
        let at = self.segments.partition_point(|s| s.rows.start < segment.rows.start);
        let before =
            at.checked_sub(1).is_some_and(|i| self.segments[i].rows.end > segment.rows.start);
        let behind = self.segments.get(at).is_some_and(|s| s.rows.start < segment.rows.end);
        if before || behind || segment.rows.is_empty() {
            return Err(misfit(format!("segment {} overlaps others", segment.file)));
        }
        self.segments.insert(at, segment.clone());
        Ok(())
    }

    fn remove_segment(&mut self, file: FileId) -> Result<()> {
        let at = self.segments.iter().position(|s| s.file == file);
        self.segments.remove(at.ok_or_else(|| misfit(format!("segment {file} is not there")))?);
        Ok(())
    }

    fn remove_marks(&mut self, file: FileId) -> Result<()> {
        let at = self.marks.iter().position(|m| m.file == file);
        self.marks.remove(at.ok_or_else(|| misfit(format!("mark run {file} is not there")))?);
        Ok(())
    }

    fn change_schema(&mut self, schema: &TableSchema) {
        self.indexes.retain(|id, _| schema.index(*id).is_some());
        for index in &schema.indexes {
            self.indexes.entry(index.id).or_default();
        }
        self.schema = schema.clone();
    }
}

impl IndexState {
    /// A run by id.
    pub fn run(&self, id: u64) -> Option<&RunMeta> {
        self.runs.iter().find(|r| r.id == id)
    }

    fn run_mut(&mut self, id: u64) -> Result<&mut RunMeta> {
        let run = self.runs.iter_mut().find(|r| r.id == id);
        run.ok_or_else(|| misfit(format!("run {id} is not there")))
    }

    fn add(&mut self, run: &RunMeta) -> Result<()> {
        if self.run(run.id).is_some() || run.rows.is_empty() {
            return Err(misfit(format!("run {} is there already or stands for no row", run.id)));
        }
        let outputs = |r: &RunMeta| (r.rows.start, r.group != Some(r.id));
        let at = self.runs.partition_point(|r| outputs(r) < outputs(run));
        self.runs.insert(at, run.clone());
        Ok(())
    }

    fn remove(&mut self, id: u64) -> Result<()> {
        let at = self.runs.iter().position(|r| r.id == id);
        self.runs.remove(at.ok_or_else(|| misfit(format!("run {id} is not there")))?);
        Ok(())
    }
}

impl ManifestState {
    /// Makes one change; an edit that does not fit is refused and changes nothing.
    pub fn apply(&mut self, edit: &Edit) -> Result<()> {
        match edit {
            Edit::CreateTable(schema) => {
                if self.tables.contains_key(&schema.id) {
                    return Err(misfit(format!("table {} is there already", schema.id)));
                }
                self.take_schema_ids(schema);
                self.tables.insert(schema.id, TableState::new(schema.clone()));
            }
            Edit::ChangeTable(schema) => {
                self.table_mut(schema.id)?.change_schema(schema);
                self.take_schema_ids(schema);
            }
            Edit::DropTable(table) => {
                self.table_mut(*table)?;
                self.tables.remove(table);
            }
            Edit::NextIds { file, table, index } => {
                self.next_file = self.next_file.max(*file);
                self.next_table = self.next_table.max(*table);
                self.next_index = self.next_index.max(*index);
            }
            // Two who cut the log may come here in either order.
            Edit::LogOldest(number) => self.log_oldest = self.log_oldest.max(*number),
            Edit::LogBegun(begun) => {
                if u32::try_from(begun.file).is_err() {
                    return Err(misfit(format!("log file {} is out of range", begun.file)));
                }
                if self.log_begun.is_none_or(|known| known.file < begun.file) {
                    self.log_begun = Some(*begun);
                }
            }
            Edit::Csn(csn) => self.csn = self.csn.max(*csn),
            Edit::Written(totals) => self.written = *totals,
            Edit::WrittenIndex(index, flushed, merged) => {
                self.written_indexes.insert(*index, (*flushed, *merged));
            }
            Edit::CreateSequence(_)
            | Edit::ChangeSequence(_)
            | Edit::DropSequence(_)
            | Edit::SequenceNext(..)
            | Edit::SequenceTaken(..)
            | Edit::NextSequence(_) => return self.apply_to_sequence(edit),
            Edit::Timeline(upto, points) => self.add_points(*upto, points)?,
            _ => return self.apply_to_table(edit),
        }
        Ok(())
    }

    fn add_points(&mut self, upto: Csn, points: &[(Csn, i64)]) -> Result<()> {
        let timeline = Arc::make_mut(&mut self.timeline);
        timeline.drain(..timeline.partition_point(|p| p.0 <= upto));
        for point in points {
            if timeline.last().is_some_and(|last| last.0 >= point.0 || last.1 > point.1) {
                return Err(misfit("the timeline runs backwards"));
            }
            timeline.push(*point);
        }
        Ok(())
    }

    fn apply_to_sequence(&mut self, edit: &Edit) -> Result<()> {
        match edit {
            Edit::CreateSequence(schema) => {
                if self.sequences.contains_key(&schema.id) {
                    return Err(misfit(format!("sequence {} is there already", schema.id)));
                }
                self.next_sequence = self.next_sequence.max(schema.id.0.saturating_add(1));
                let (schema, at) = (schema.clone(), SequencePoint::Next(schema.start));
                self.sequences.insert(schema.id, SequenceState { schema, at });
            }
            Edit::ChangeSequence(schema) => self.sequence_mut(schema.id)?.schema = schema.clone(),
            Edit::DropSequence(id) => {
                self.sequence_mut(*id)?;
                self.sequences.remove(id);
            }
            Edit::SequenceNext(id, next) => {
                let sequence = self.sequence_mut(*id)?;
                sequence.at = SequencePoint::before(*next, &sequence.schema);
            }
            Edit::SequenceTaken(id, last) => {
                self.sequence_mut(*id)?.at = SequencePoint::After(*last);
            }
            Edit::NextSequence(next) => self.next_sequence = self.next_sequence.max(*next),
            _ => unreachable!("the caller picks the edits of sequences"),
        }
        Ok(())
    }

    fn sequence_mut(&mut self, id: SequenceId) -> Result<&mut SequenceState> {
        self.sequences.get_mut(&id).ok_or_else(|| misfit(format!("sequence {id} is not there")))
    }

    fn apply_to_table(&mut self, edit: &Edit) -> Result<()> {
        match edit {
            Edit::AddSegment(table, segment) => {
                self.table_mut(*table)?.add_segment(segment)?;
                self.take_file(segment.file)?;
            }
            Edit::RemoveSegment(table, file) => self.table_mut(*table)?.remove_segment(*file)?,
            Edit::AddMarks(table, marks) => {
                let runs = &mut self.table_mut(*table)?.marks;
                let at = runs.partition_point(|m| m.csns.start <= marks.csns.start);
                runs.insert(at, marks.clone());
                self.take_file(marks.file)?;
            }
            Edit::RemoveMarks(table, file) => self.table_mut(*table)?.remove_marks(*file)?,
            Edit::Flushed(table, rows, csn) => {
                let table = self.table_mut(*table)?;
                if *rows < table.flushed_rows || *csn < table.flushed_csn {
                    return Err(misfit("flushed rows never become unflushed"));
                }
                (table.flushed_rows, table.flushed_csn) = (*rows, *csn);
                self.csn = self.csn.max(*csn);
            }
            Edit::Serial(table, column, next) => {
                self.table_mut(*table)?.serials.insert(*column, *next);
            }
            Edit::HistoryFloor(table, csn) => {
                let table = self.table_mut(*table)?;
                table.history_floor = table.history_floor.max(*csn);
            }
            Edit::Resolved(table, row) => {
                let table = self.table_mut(*table)?;
                table.resolved = table.resolved.max(*row);
            }
            _ => return self.apply_to_run(edit),
        }
        Ok(())
    }

    fn apply_to_run(&mut self, edit: &Edit) -> Result<()> {
        match edit {
            Edit::AddRun(table, index, run) => {
                self.table_mut(*table)?.index(*index)?.add(run)?;
                self.take_file(FileId(run.id))?;
                run.files.iter().try_for_each(|f| self.take_file(f.file))?;
            }
            Edit::ExtendRun(table, index, run, files) => {
                let run = self.table_mut(*table)?.index(*index)?.run_mut(*run)?;
                run.files.extend_from_slice(files);
                files.iter().try_for_each(|f| self.take_file(f.file))?;
            }
            Edit::TrimRun(table, index, run, key) => {
                let run = self.table_mut(*table)?.index(*index)?.run_mut(*run)?;
                if run.trim.as_ref().is_some_and(|t| t > key) {
                    return Err(misfit(format!("the trim of run {} moves back", run.id)));
                }
                run.files.retain(|f| f.last_key >= *key);
                run.trim = Some(key.clone());
            }
            Edit::RemoveRun(table, index, run) => {
                self.table_mut(*table)?.index(*index)?.remove(*run)?;
            }
            Edit::FinishRun(table, index, run) => {
                self.table_mut(*table)?.index(*index)?.run_mut(*run)?.group = None;
            }
            Edit::JoinMerge(table, index, run, group) => {
                self.table_mut(*table)?.index(*index)?.run_mut(*run)?.group = Some(*group);
            }
            _ => unreachable!("every edit is of the database, a table or a run"),
        }
        Ok(())
    }

    /// The edits that rebuild this state from an empty one.
    pub fn to_edits(&self) -> Vec<Edit> {
        let mut edits = vec![
            Edit::NextIds { file: self.next_file, table: self.next_table, index: self.next_index },
            Edit::LogOldest(self.log_oldest),
            Edit::Csn(self.csn),
            Edit::Written(self.written),
        ];
        edits.extend(self.log_begun.map(Edit::LogBegun));
        if self.next_sequence > 1 {
            edits.push(Edit::NextSequence(self.next_sequence));
        }
        for (id, sequence) in &self.sequences {
            edits.push(Edit::CreateSequence(sequence.schema.clone()));
            edits.push(sequence.at.edit(*id));
        }
        if !self.timeline.is_empty() {
            edits.push(Edit::Timeline(0, self.timeline.to_vec()));
        }
        for (index, (flushed, merged)) in &self.written_indexes {
            edits.push(Edit::WrittenIndex(*index, *flushed, *merged));
        }
        for (id, table) in &self.tables {
            edits.push(Edit::CreateTable(table.schema.clone()));
            edits.extend(table.segments.iter().map(|s| Edit::AddSegment(*id, s.clone())));
            for (index, state) in &table.indexes {
                edits.extend(state.runs.iter().map(|r| Edit::AddRun(*id, *index, r.clone())));
            }
            edits.extend(table.marks.iter().map(|m| Edit::AddMarks(*id, m.clone())));
            edits.push(Edit::Flushed(*id, table.flushed_rows, table.flushed_csn));
            if table.history_floor > 0 {
                edits.push(Edit::HistoryFloor(*id, table.history_floor));
            }
            if table.resolved > 0 {
                edits.push(Edit::Resolved(*id, table.resolved));
            }
            edits.extend(table.serials.iter().map(|(c, v)| Edit::Serial(*id, *c, *v)));
        }
        edits
    }

    /// Names of all segment, run and mark files.
    pub fn files(&self) -> impl Iterator<Item = FileKind> {
        self.tables.values().flat_map(TableState::files)
    }

    fn table_mut(&mut self, table: TableId) -> Result<&mut TableState> {
        self.tables.get_mut(&table).ok_or_else(|| misfit(format!("table {table} is not there")))
    }

    fn take_file(&mut self, file: FileId) -> Result<()> {
        let next = file.0.checked_add(1).ok_or_else(|| misfit("a file id out of range"))?;
        self.next_file = self.next_file.max(next);
        Ok(())
    }

    fn take_schema_ids(&mut self, schema: &TableSchema) {
        self.next_table = self.next_table.max(schema.id.0.saturating_add(1));
        for index in &schema.indexes {
            self.next_index = self.next_index.max(index.id.0.saturating_add(1));
        }
    }
}
