//! What do the bytes of one log file hold?
//!
//! [`LogReader`] yields the records of a file in order and stops at the first frame that does not
//! check; see the module above for what that means.

use onlap_base::{Csn, Error, Result, RowId, TableId};

use super::commit::{self, LoggedMark};
use super::relog::{self, RelogTable};
use super::{
    BASE_BYTES, FLAG_GROUP, FRAME_BYTES, FileHeader, GROUP_BYTES, GroupPart, LogPosition,
    TYPE_CHANGES, TYPE_COMMIT, TYPE_RELOG, frame_crc, rows,
};
use crate::batch::Batch;
use crate::changes::{LoggedChange, read_change_list};
use crate::wire::Reader;

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Where it begins.
    pub position: LogPosition,
    /// Its commit's number; of relogged rows and notes the last published one.
    pub csn: Csn,
    /// There in the first record of a group.
    pub group: Option<GroupPart>,
    /// What it says.
    pub body: RecordBody,
}

/// What a record says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordBody {
    /// A commit.
    Commit(CommitRecord),
    /// Rows logged again with their own CSNs.
    Relog(RelogTable),
    /// Nothing but its group part.
    #[default]
    Note,
}

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitRecord {
    /// What it does to each table.
    pub tables: Vec<CommitRecordTable>,
}

/// What a commit does to a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitRecordTable {
    /// The table.
    pub table: TableId,
    /// Schema version of the rows.
    pub schema: u32,
    /// Id of the first row; an ordinal plus this is a row id.
    pub base: RowId,
    /// New rows; without columns where there are none.
    pub rows: Batch,
    /// Rows that die.
    pub marks: Vec<LoggedMark>,
    /// Columns of landed rows that change.
    pub changes: Vec<LoggedChange>,
}

/// A frame that checked.
struct View<'a> {
    kind: u8,
    csn: Csn,
    group: Option<GroupPart>,
    bases: &'a [u8],
    body_crc: u32,
    body: &'a [u8],
    /// Of frame and body together.
    len: usize,
}

/// The frame at `at`, which is where `bytes` begin; `None` unless it checks. The body is not checked.
fn view(at: LogPosition, bytes: &[u8]) -> Option<View<'_>> {
    let head = bytes.get(..FRAME_BYTES)?;
    let word = |i: usize| u32::from_le_bytes(head[i..i + 4].try_into().expect("4 bytes"));
    let (kind, flags) = (head[12], head[13]);
    if !(TYPE_COMMIT..=TYPE_CHANGES).contains(&kind) || flags & !FLAG_GROUP != 0 {
        return None;
    }
    let group_bytes = if flags & FLAG_GROUP != 0 { GROUP_BYTES } else { 0 };
    let bases = usize::from(u16::from_le_bytes([head[14], head[15]])) * BASE_BYTES;
    let frame_len = FRAME_BYTES + group_bytes + bases;
    let len = frame_len.checked_add(word(4) as usize)?;
    if len > bytes.len() || word(0) != frame_crc(at, &bytes[4..frame_len]) {
        return None;
    }
    let mut r = Reader::new(&bytes[16..frame_len]);
    let csn = r.u64().ok()?;
    let group = match group_bytes {
        0 => None,
        _ => {
            let durable = LogPosition(r.u64().ok()?);
            Some(GroupPart { durable, unix_us: r.u64().ok()? as i64 })
        }
    };
    let bases = r.take(bases).ok()?;
    Some(View { kind, csn, group, bases, body_crc: word(8), body: &bytes[frame_len..len], len })
}

/// Yields the records of one log file.
#[derive(Debug)]
pub struct LogReader<'a> {
    name: &'a str,
    bytes: &'a [u8],
    at: LogPosition,
    end: Option<u64>,
    csn: Csn,
    stopped: bool,
}

impl<'a> LogReader<'a> {
    /// Reads the file `name` with this header; `bytes` are the whole file. `end` is the offset at
    /// which the log goes on in the next file, where there is one.
    pub fn new(
        name: &'a str,
        header: &FileHeader,
        bytes: &'a [u8],
        end: Option<u64>,
    ) -> LogReader<'a> {
        let at = LogPosition::new(header.file, header.bytes() as u64);
        LogReader { name, bytes, at, end, csn: header.csn, stopped: false }
    }

    /// Where the next record would begin.
    pub fn position(&self) -> LogPosition {
        self.at
    }

    /// CSN of the last commit read, or of the last before the file.
    pub fn csn(&self) -> Csn {
        self.csn
    }

    /// Whether reading stopped before the end that the next file names.
    pub fn is_torn(&self) -> bool {
        self.stopped && self.end.is_some_and(|end| self.at.offset() < end)
    }

    /// The next record; `None` at the end of the log or at a torn tail. Damage before a position of
    /// this file that was durable is an error.
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        let mut record = Record::default();
        Ok(self.read_into(&mut record)?.then_some(record))
    }

    /// Like [`LogReader::next_record`], in the place of another record whose memory it takes over; false
    /// where there is none.
    pub fn read_into(&mut self, record: &mut Record) -> Result<bool> {
        let offset = self.at.offset();
        if self.stopped || self.end == Some(offset) {
            self.stopped = true;
            return Ok(false);
        }
        let limit = self.end.unwrap_or(u64::MAX).min(self.bytes.len() as u64) as usize;
        let rest = self.bytes.get(offset as usize..limit).unwrap_or_default();
        let found = view(self.at, rest).filter(|v| crc32c::crc32c(v.body) == v.body_crc);
        let Some(view) = found else {
            self.stopped = true;
            let durable = durable_behind(self.at, rest);
            if durable > self.at {
                return Err(damage(self.name, self.at, durable));
            }
            return Ok(false);
        };
        (record.position, record.csn, record.group) = (self.at, view.csn, view.group);
        decode(&view, &mut record.body).map_err(|e| {
            let body = offset + (view.len - view.body.len()) as u64;
            e.at(self.name, body)
        })?;
        if matches!(view.kind, TYPE_COMMIT | TYPE_CHANGES) {
            if view.csn <= self.csn {
                let text = format!("commit {} stands behind commit {}", view.csn, self.csn);
                return Err(Error::corruption(self.name, offset, text));
            }
            self.csn = view.csn;
        }
        self.at = self.at.forward(view.len);
        Ok(true)
    }
}

fn decode(view: &View<'_>, body: &mut RecordBody) -> Result<()> {
    match view.kind {
        TYPE_COMMIT | TYPE_CHANGES => {
            let mut commit = match std::mem::take(body) {
                RecordBody::Commit(commit) => commit,
                _ => CommitRecord::default(),
            };
            read_commit(view, &mut commit)?;
            *body = RecordBody::Commit(commit);
        }
        TYPE_RELOG => *body = RecordBody::Relog(relog::read_relog(view.body)?),
        _ => *body = RecordBody::Note,
    }
    Ok(())
}

/// The error for a hole at `hole` in a log that was durable up to `durable`.
pub(super) fn damage(name: &str, hole: LogPosition, durable: LogPosition) -> Error {
    Error::corruption(
        name,
        hole.offset(),
        format!(
            "a log record does not match its checksum although the log was durable up to offset {} \
             of log file {}",
            durable.offset(),
            durable.file()
        ),
    )
}

/// The highest position that any valid frame in `bytes` behind their first says was durable. Bytes
/// begin at `at`.
pub(super) fn durable_behind(at: LogPosition, bytes: &[u8]) -> LogPosition {
    let mut durable = LogPosition::START;
    let mut i = 1;
    while i + FRAME_BYTES <= bytes.len() {
        let kind = bytes[i + 12];
        let found = (TYPE_COMMIT..=TYPE_CHANGES).contains(&kind);
        match found.then(|| view(at.forward(i), &bytes[i..])).flatten() {
            Some(view) => {
                durable = durable.max(view.group.map_or(LogPosition::START, |g| g.durable));
                i += view.len - view.body.len();
            }
            None => i += 1,
        }
    }
    durable
}

fn read_commit(view: &View<'_>, commit: &mut CommitRecord) -> Result<()> {
    let tables = &mut commit.tables;
    let mut bases = Reader::new(view.bases);
    let mut r = Reader::new(view.body);
    let count = view.bases.len() / BASE_BYTES;
    tables.resize_with(count, CommitRecordTable::default);
    for part in &mut *tables {
        (part.table, part.base) = (TableId(bases.u32()?), bases.u64()?);
        part.schema = r.varint32()?;
        rows::read_rows(&mut r, &mut part.rows)?;
        part.marks = commit::read_marks(&mut r)?;
        if part.marks.iter().any(|m| m.successor.is_some_and(|s| s as usize >= part.rows.rows)) {
            return Err(r.error("a successor that is not a row of its commit"));
        }
        part.changes.clear();
    }
    if view.kind == TYPE_CHANGES {
        let ids: Vec<TableId> = tables.iter().map(|t| t.table).collect();
        for (at, changes) in read_change_list(&mut r, &ids)? {
            tables[at].changes.extend(changes);
        }
    }
    r.finish()
}
