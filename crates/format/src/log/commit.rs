//! How does a commit's body lie in its record?
//!
//! One part per table, in the order of the frame's bases:
//!
//! | field | |
//! |---|---|
//! | schema version | varint |
//! | rows | see `rows` |
//! | marks | varint; nothing follows 0 |
//! | successors | 1 byte: whether any mark has one |
//! | per mark | signed varint: row id minus the one before; then, with successors, signed varint: successor's ordinal + 1 (0: none) minus the one before |
//!
//! A commit with column changes ends in lists of them: per table that has any, its number among the
//! parts plus 1 (varint), then what [`crate::changes`] says; then 0.
//!
//! Ids of the commit's own rows are ordinals, since their base is only known when the commit's place
//! in the order is. Marked rows are landed rows, whose ids stand for ever (I1); except for a row of the
//! commit's own that only says that its key is gone (a blind delete), marked as 2^63 + ordinal.

use onlap_base::{Csn, Result, RowId, TableId};

use super::{
    Frame, GroupPart, LogPosition, TYPE_CHANGES, TYPE_COMMIT, put_frame, record_bytes, rows,
};
use crate::batch::Batch;
use crate::changes::{LoggedChange, put_changes};
use crate::wire::{self, Reader};

/// A delete that a commit makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedMark {
    /// The landed row that dies, or an own one that is dead on arrival: `PROVISIONAL_BASE` + ordinal.
    pub row: RowId,
    /// Ordinal, among the commit's rows of the same table, of the row that replaces it.
    pub successor: Option<u32>,
}

/// A table's place in a [`CommitBody`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitTable {
    /// The table.
    pub table: TableId,
    /// Rows that the commit adds; the leader takes as many ids.
    pub rows: u64,
    /// Marks that the commit makes.
    pub marks: u64,
}

/// A commit's body, built and checksummed by the client thread; the buffer can be used again.
#[derive(Clone, Debug, Default)]
pub struct CommitBody {
    tables: Vec<CommitTable>,
    bytes: Vec<u8>,
    crc: u32,
    /// Whether lists of changes end the body.
    changes: bool,
}

impl CommitBody {
    /// An empty body.
    pub fn new() -> CommitBody {
        CommitBody::default()
    }
    /// Empties the body and keeps its memory.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.bytes.clear();
        self.crc = 0;
        self.changes = false;
    }
    /// Adds a table's rows and marks; call once per table, in the order in which bases will be
    /// given. `rows` may be an empty batch without columns.
    pub fn push(&mut self, table: TableId, schema: u32, new_rows: &Batch, marks: &[LoggedMark]) {
        debug_assert!(self.tables.iter().all(|t| t.table != table), "one part per table");
        let (rows, count) = (new_rows.rows as u64, marks.len() as u64);
        self.tables.push(CommitTable { table, rows, marks: count });
        let start = self.bytes.len();
        wire::put_varint(&mut self.bytes, u64::from(schema));
        rows::put_rows(&mut self.bytes, new_rows);
        put_marks(&mut self.bytes, marks);
        self.crc = crc32c::crc32c_append(self.crc, &self.bytes[start..]);
    }
    /// Ends the body with column changes, of the tables in the order in which they were pushed. Call it
    /// last, once.
    pub fn push_changes<'a>(&mut self, changes: impl Iterator<Item = &'a [LoggedChange]>) {
        let start = self.bytes.len();
        for (at, changes) in changes.enumerate().filter(|(_, c)| !c.is_empty()) {
            wire::put_varint(&mut self.bytes, at as u64 + 1);
            put_changes(&mut self.bytes, changes);
            self.changes = true;
        }
        if self.changes {
            wire::put_varint(&mut self.bytes, 0);
            self.crc = crc32c::crc32c_append(self.crc, &self.bytes[start..]);
        }
    }
    /// The tables in order.
    pub fn tables(&self) -> &[CommitTable] {
        &self.tables
    }
    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
    /// Length of the body; at most [`super::BODY_BYTES_MAX`], which the caller checks before the
    /// commit is given a place.
    pub fn body_bytes(&self) -> usize {
        self.bytes.len()
    }
    /// Bytes that [`CommitBody::append_to`] will append.
    pub fn record_bytes(&self, with_group: bool) -> usize {
        record_bytes(self.tables.len(), self.bytes.len(), with_group)
    }
    /// Appends the record that stands at position `at`, with one base per table; the first record of
    /// a group brings the group part.
    pub fn append_to(
        &self,
        out: &mut Vec<u8>,
        at: LogPosition,
        csn: Csn,
        bases: &[RowId],
        group: Option<GroupPart>,
    ) {
        assert_eq!(bases.len(), self.tables.len(), "one base per table");
        let pairs: Vec<(TableId, RowId)> =
            self.tables.iter().zip(bases).map(|(t, b)| (t.table, *b)).collect();
        let frame = Frame {
            kind: if self.changes { TYPE_CHANGES } else { TYPE_COMMIT },
            csn,
            group,
            bases: &pairs,
            body_crc: self.crc,
            body_len: self.bytes.len(),
        };
        put_frame(out, at, &frame);
        out.extend_from_slice(&self.bytes);
    }
    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.tables.capacity() * size_of::<CommitTable>()
    }
}

fn put_marks(out: &mut Vec<u8>, marks: &[LoggedMark]) {
    wire::put_varint(out, marks.len() as u64);
    if marks.is_empty() {
        return;
    }
    let successors = marks.iter().any(|m| m.successor.is_some());
    out.push(u8::from(successors));
    let (mut row, mut next) = (0u64, 0i64);
    for mark in marks {
        wire::put_signed(out, mark.row.wrapping_sub(row) as i64);
        row = mark.row;
        if successors {
            let code = mark.successor.map_or(0, |s| i64::from(s) + 1);
            wire::put_signed(out, code - next);
            next = code;
        }
    }
}

pub(super) fn read_marks(r: &mut Reader<'_>) -> Result<Vec<LoggedMark>> {
    let n = r.count(1)?;
    if n == 0 {
        return Ok(Vec::new());
    }
    let successors = r.flag()?;
    let (mut row, mut next) = (0u64, 0i64);
    let mut marks = Vec::with_capacity(n);
    for _ in 0..n {
        row = row.wrapping_add(r.signed()? as u64);
        let mut successor = None;
        if successors {
            next = next.wrapping_add(r.signed()?);
            successor = match next {
                0 => None,
                n => Some(u32::try_from(n - 1).map_err(|_| r.error("a successor out of range"))?),
            };
        }
        marks.push(LoggedMark { row, successor });
    }
    Ok(marks)
}
