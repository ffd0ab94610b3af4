//! How do rows lie that are logged a second time?
//!
//! A table that pins an old log file with little unflushed data has its unflushed rows and marks
//! logged again, with their ids and CSNs, instead of being flushed; then the old file can go. A
//! record of relogged rows holds for one table:
//!
//! | field | |
//! |---|---|
//! | number of rows, table id, schema version, first row id | varints |
//! | commits | varint, then per commit that added rows: CSN (varint, minus the one before), row id behind its last row (varint, minus the one before; the first minus the first row id) |
//! | gaps | 1 byte: whether ids are missing (rows that no snapshot can see any more); then the ids as varint differences, minus 1 |
//! | rows | see `rows` |
//! | marks | varint, then per mark: CSN (signed varint of the difference), row id (the same), successor (varint: 0 none, or id + 1) |
//! | column changes | not there in older records: varint, then per commit: CSN (varint), what [`crate::changes`] says |

use onlap_base::{Csn, Result, RowId, TableId};

use super::{Frame, LogPosition, TYPE_RELOG, put_frame, record_bytes, rows};
use crate::batch::Batch;
use crate::changes::{LoggedChange, put_changes, read_changes};
use crate::wire::{self, Reader};

/// A mark with everything that is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelogMark {
    /// The row that died.
    pub row: RowId,
    /// The commit in which it did.
    pub csn: Csn,
    /// The row that replaced it.
    pub successor: Option<RowId>,
}

/// A table's unflushed rows and marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelogTable {
    /// The table.
    pub table: TableId,
    /// Schema version of the rows.
    pub schema: u32,
    /// Id of the first row, or of the row that would come next where there is none.
    pub first_row: RowId,
    /// Ids of the rows, rising; `None` where they are dense from `first_row` on.
    pub row_ids: Option<Vec<RowId>>,
    /// (row id behind the commit's last row, CSN), rising; the last one is the end of the rows.
    pub commits: Vec<(RowId, Csn)>,
    /// The rows.
    pub rows: Batch,
    /// The marks, in any order.
    pub marks: Vec<RelogMark>,
    /// Column changes by commit, in the order of commits.
    pub changes: Vec<(Csn, Vec<LoggedChange>)>,
}

/// The record's body.
#[derive(Clone, Debug, Default)]
pub struct RelogBody {
    bytes: Vec<u8>,
}

impl RelogBody {
    /// Encodes a table's rows and marks.
    pub fn new(table: &RelogTable) -> RelogBody {
        let mut out = Vec::new();
        wire::put_varint(&mut out, u64::from(table.table.0));
        wire::put_varint(&mut out, u64::from(table.schema));
        wire::put_varint(&mut out, table.first_row);
        wire::put_varint(&mut out, table.commits.len() as u64);
        let (mut row, mut csn) = (table.first_row, 0);
        for (end, commit) in &table.commits {
            wire::put_varint(&mut out, commit - csn);
            wire::put_varint(&mut out, end - row);
            (row, csn) = (*end, *commit);
        }
        out.push(u8::from(table.row_ids.is_some()));
        if let Some(ids) = &table.row_ids {
            assert_eq!(ids.len(), table.rows.rows, "one id per row");
            let mut next = table.first_row;
            for id in ids {
                wire::put_varint(&mut out, id - next);
                next = id + 1;
            }
        }
        rows::put_rows(&mut out, &table.rows);
        // The ids stand before the rows, whose count is read with them: repeat it in front.
        let mut bytes = Vec::with_capacity(out.len() + 10);
        wire::put_varint(&mut bytes, table.rows.rows as u64);
        bytes.append(&mut out);
        wire::put_varint(&mut bytes, table.marks.len() as u64);
        let (mut row, mut csn) = (0u64, 0u64);
        for mark in &table.marks {
            wire::put_signed(&mut bytes, mark.csn.wrapping_sub(csn) as i64);
            wire::put_signed(&mut bytes, mark.row.wrapping_sub(row) as i64);
            wire::put_varint(&mut bytes, mark.successor.map_or(0, |s| s + 1));
            (row, csn) = (mark.row, mark.csn);
        }
        wire::put_varint(&mut bytes, table.changes.len() as u64);
        for (csn, changes) in &table.changes {
            wire::put_varint(&mut bytes, *csn);
            put_changes(&mut bytes, changes);
        }
        RelogBody { bytes }
    }
    /// Length of the body; at most [`super::BODY_BYTES_MAX`].
    pub fn body_bytes(&self) -> usize {
        self.bytes.len()
    }
    /// Bytes that [`RelogBody::append_to`] will append.
    pub fn record_bytes(&self) -> usize {
        record_bytes(0, self.bytes.len(), false)
    }
    /// Appends the record that stands at position `at`; `csn` is the last published one.
    pub fn append_to(&self, out: &mut Vec<u8>, at: LogPosition, csn: Csn) {
        let frame = Frame {
            kind: TYPE_RELOG,
            csn,
            group: None,
            bases: &[],
            body_crc: crc32c::crc32c(&self.bytes),
            body_len: self.bytes.len(),
        };
        put_frame(out, at, &frame);
        out.extend_from_slice(&self.bytes);
    }
}

pub(super) fn read_relog(body: &[u8]) -> Result<RelogTable> {
    let r = &mut Reader::new(body);
    let count = r.varint()?;
    let table = TableId(r.varint32()?);
    let schema = r.varint32()?;
    let first_row = r.varint()?;
    let n = r.count(2)?;
    let mut commits = Vec::with_capacity(n);
    let (mut row, mut csn) = (first_row, 0u64);
    for _ in 0..n {
        csn = csn.checked_add(r.varint()?).ok_or_else(|| r.error("a CSN out of range"))?;
        row = row.checked_add(r.varint()?).ok_or_else(|| r.error("a row id out of range"))?;
        commits.push((row, csn));
    }
    let row_ids = if r.flag()? { Some(read_ids(r, first_row, count)?) } else { None };
    let mut rows = Batch::default();
    rows::read_rows(r, &mut rows)?;
    if rows.rows as u64 != count {
        return Err(r.error("a row count that differs from its rows"));
    }
    let n = r.count(3)?;
    let mut marks = Vec::with_capacity(n);
    let (mut row, mut csn) = (0u64, 0u64);
    for _ in 0..n {
        csn = csn.wrapping_add(r.signed()? as u64);
        row = row.wrapping_add(r.signed()? as u64);
        marks.push(RelogMark { row, csn, successor: r.varint()?.checked_sub(1) });
    }
    let n = if r.is_empty() { 0 } else { r.count(2)? };
    let mut changes = Vec::with_capacity(n);
    for _ in 0..n {
        changes.push((r.varint()?, read_changes(r)?));
    }
    r.finish()?;
    Ok(RelogTable { table, schema, first_row, row_ids, commits, rows, marks, changes })
}

fn read_ids(r: &mut Reader<'_>, first: RowId, count: u64) -> Result<Vec<RowId>> {
    if count > r.remaining() as u64 {
        return Err(r.error("more row ids than the record can hold"));
    }
    let mut next = first;
    let mut ids = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let id = next.checked_add(r.varint()?).filter(|id| *id < RowId::MAX);
        let id = id.ok_or_else(|| r.error("a row id out of range"))?;
        ids.push(id);
        next = id + 1;
    }
    Ok(ids)
}
