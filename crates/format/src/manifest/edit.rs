//! What can change in the set of files?

use std::ops::Range;

use onlap_base::{ColumnId, Csn, FileId, IndexId, RowId, SequenceId, TableId};

use crate::log::LogBegun;
use crate::marks::MarkShift;
use crate::schema::{SequenceSchema, TableSchema};

/// How a file of rows that was written before their commit is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The file's row ids count from here.
    pub base: RowId,
    /// The commit that all rows came with.
    pub csn: Csn,
}

/// A segment: rows of a row-id range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentMeta {
    /// The file.
    pub file: FileId,
    /// Its length.
    pub bytes: u64,
    /// Row ids it stands for; rows that no snapshot could see any more when it was written are missing.
    pub rows: Range<RowId>,
    /// Rows that are there.
    pub count: u64,
    /// Schema version of its rows.
    pub schema: u32,
    /// Marks up to this CSN are folded into it.
    pub folded_csn: Csn,
    /// Written before its commit.
    pub adopted: Option<Adopted>,
}

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFileMeta {
    /// The file.
    pub file: FileId,
    /// Its length.
    pub bytes: u64,
    /// Its entries.
    pub entries: u64,
    /// Key bytes of its first entry.
    pub first_key: Vec<u8>,
    /// Key bytes of its last entry.
    pub last_key: Vec<u8>,
    /// Its row ids count from here: above 0 where it was written before its commit.
    pub base: RowId,
}

/// An index run: entries of the rows of a contiguous row-id range, sorted by (key, row id), in one
/// or more files. While a merge is under way its output and its inputs stand side by side: the
/// output has the entries below the trim, the inputs those from the trim on, so that every entry is
/// in exactly one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMeta {
    /// Unique within the database: the id of the first file that was written for the run.
    pub id: u64,
    /// 0 as flushed; merges move entries up.
    pub level: u32,
    /// Row ids it stands for.
    pub rows: Range<RowId>,
    /// Its files in key order; their key ranges may touch in one key.
    pub files: Vec<RunFileMeta>,
    /// Only entries with key bytes at or above this count; the others were merged away.
    pub trim: Option<Vec<u8>>,
    /// The id of the output run, in the output and the inputs of a merge under way.
    pub group: Option<u64>,
}

impl RunMeta {
    /// Entries in its files; with a trim, some of the first file's no longer count.
    pub fn entries(&self) -> u64 {
        self.files.iter().map(|f| f.entries).sum()
    }
    /// Bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }
}

/// A mark run: deletes of the rows of a row-id range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkRunMeta {
    /// The file.
    pub file: FileId,
    /// Its length.
    pub bytes: u64,
    /// Row ids that its marks may concern.
    pub rows: Range<RowId>,
    /// CSNs of its marks.
    pub csns: Range<Csn>,
    /// Marks, including rows known only as dead.
    pub marks: u64,
    /// 0 as flushed; merges move marks up.
    pub level: u32,
    /// Written before its commit.
    pub adopted: Option<MarkShift>,
}

/// Bytes written since the database was created, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenTotals {
    /// Log records and headers.
    pub log: u64,
    /// Segments at flush.
    pub segments: u64,
    /// Segments at compaction.
    pub compaction: u64,
    /// Mark runs.
    pub marks: u64,
    /// The manifest itself.
    pub manifest: u64,
}

/// One change. The edits of one record take effect together.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// A new table.
    CreateTable(TableSchema),
    /// A new schema version of a table; indexes that are gone lose their runs.
    ChangeTable(TableSchema),
    /// A table goes with all its files.
    DropTable(TableId),
    /// A segment; its rows lie apart from those of the table's other segments.
    AddSegment(TableId, SegmentMeta),
    /// A segment goes.
    RemoveSegment(TableId, FileId),
    /// A run.
    AddRun(TableId, IndexId, RunMeta),
    /// More files at the end of a run: the finished slice of a merge.
    ExtendRun(TableId, IndexId, u64, Vec<RunFileMeta>),
    /// Entries below the key are merged away; files that hold nothing else go.
    TrimRun(TableId, IndexId, u64, Vec<u8>),
    /// A run goes.
    RemoveRun(TableId, IndexId, u64),
    /// The merge that wrote a run has ended.
    FinishRun(TableId, IndexId, u64),
    /// A run joins a merge, whose output has this id.
    JoinMerge(TableId, IndexId, u64, u64),
    /// A mark run.
    AddMarks(TableId, MarkRunMeta),
    /// A mark run goes.
    RemoveMarks(TableId, FileId),
    /// All rows below the id, and all marks up to the CSN, are in files.
    Flushed(TableId, RowId, Csn),
    /// Next value of a serial column.
    Serial(TableId, ColumnId, i64),
    /// Every id below these is taken; only ever raised.
    NextIds {
        /// Files and runs.
        file: u64,
        /// Tables.
        table: u32,
        /// Indexes.
        index: u32,
    },
    /// Older log files are not needed.
    LogOldest(u64),
    /// A log file was begun and is durable, and so are all before it; only ever raised.
    LogBegun(LogBegun),
    /// CSNs up to this one are taken; only ever raised.
    Csn(Csn),
    /// Bytes written so far.
    Written(WrittenTotals),
    /// Bytes written so far for an index: at flush, by merges.
    WrittenIndex(IndexId, u64, u64),
    /// A new sequence, whose next value is its first.
    CreateSequence(SequenceSchema),
    /// Another description of a sequence, which stands where it stood.
    ChangeSequence(SequenceSchema),
    /// A sequence goes.
    DropSequence(SequenceId),
    /// Every value of a sequence before this one may have been handed out; `None` where the sequence
    /// has come to its end.
    SequenceNext(SequenceId, Option<i64>),
    /// Every value of a sequence up to this one may have been handed out; the next follows it.
    SequenceTaken(SequenceId, i64),
    /// Every sequence id below is taken; only ever raised.
    NextSequence(u32),
    /// What died in a table at or below this CSN may be gone: no older commit can be read.
    HistoryFloor(TableId, Csn),
    /// Rows of a table with blind writes below this id have met all rows before them: those that they
    /// replaced have marks. Only ever raised.
    Resolved(TableId, RowId),
    /// When commits happened: points are forgotten up to a CSN, and (CSN, microseconds since 1970)
    /// are added behind the others.
    Timeline(Csn, Vec<(Csn, i64)>),
}

impl Edit {
    /// Whether it takes files, rows or log out of use, or is part of a record that does: what may go on
    /// where a disk is full. So may the beginning of a log file, which those who delete need.
    pub fn gives_up(&self) -> bool {
        matches!(
            self,
            Edit::DropTable(_)
                | Edit::ChangeTable(_)
                | Edit::RemoveSegment(..)
                | Edit::TrimRun(..)
                | Edit::RemoveRun(..)
                | Edit::RemoveMarks(..)
                | Edit::Flushed(_, 1.., _)
                | Edit::LogOldest(_)
                | Edit::LogBegun(_)
                | Edit::DropSequence(_)
        )
    }

    /// The table that the edit changes; `None` for edits of the database.
    pub fn table(&self) -> Option<TableId> {
        match self {
            Edit::CreateTable(schema) | Edit::ChangeTable(schema) => Some(schema.id),
            Edit::DropTable(table)
            | Edit::AddSegment(table, ..)
            | Edit::RemoveSegment(table, ..)
            | Edit::AddRun(table, ..)
            | Edit::ExtendRun(table, ..)
            | Edit::TrimRun(table, ..)
            | Edit::RemoveRun(table, ..)
            | Edit::FinishRun(table, ..)
            | Edit::JoinMerge(table, ..)
            | Edit::AddMarks(table, ..)
            | Edit::RemoveMarks(table, ..)
            | Edit::Flushed(table, ..)
            | Edit::HistoryFloor(table, _)
            | Edit::Resolved(table, _)
            | Edit::Serial(table, ..) => Some(*table),
            Edit::NextIds { .. }
            | Edit::LogOldest(_)
            | Edit::LogBegun(_)
            | Edit::Csn(_)
            | Edit::Written(_)
            | Edit::WrittenIndex(..)
            | Edit::CreateSequence(_)
            | Edit::ChangeSequence(_)
            | Edit::DropSequence(_)
            | Edit::SequenceNext(..)
            | Edit::SequenceTaken(..)
            | Edit::NextSequence(_)
            | Edit::Timeline(..) => None,
        }
    }

    /// Whether the edit changes a sequence.
    pub fn is_of_sequence(&self) -> bool {
        matches!(
            self,
            Edit::CreateSequence(_)
                | Edit::ChangeSequence(_)
                | Edit::DropSequence(_)
                | Edit::SequenceNext(..)
                | Edit::SequenceTaken(..)
        )
    }

    /// The index whose runs the edit changes.
    pub fn index(&self) -> Option<IndexId> {
        match self {
            Edit::AddRun(_, index, _)
            | Edit::ExtendRun(_, index, ..)
            | Edit::TrimRun(_, index, ..)
            | Edit::RemoveRun(_, index, _)
            | Edit::FinishRun(_, index, _)
            | Edit::JoinMerge(_, index, ..) => Some(*index),
            _ => None,
        }
    }
}
