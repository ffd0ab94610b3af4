//! How do changes lie in a log record?
//!
//! | field | |
//! |---|---|
//! | changes | varint |
//! | per change: column | varint |
//! | operation and kind of the value | 1 byte: bit 7 is set where it is added; 0 NULL, 1 integer, 2 128 bits, 3 numeric, 4 bytes |
//! | value | integer: signed varint; 128 bits: 16 bytes; numeric: 16 bytes and the scale; bytes: behind their length |
//! | stretches | varint, then per stretch: ids from the end of the one before to its first row (signed varint), ids less 1 (varint) |
//!
//! One statement that does the same to many rows is one change. Rows are landed rows, whose ids stand
//! for ever (I1).

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Result, RowId, TableId};

use super::{ChangeOp, Scalar};
use crate::wire::{self, Reader};

/// What a commit does to one column of some rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedChange {
    /// The column.
    pub column: ColumnId,
    /// What is done.
    pub op: ChangeOp,
    /// Stretches of row ids, in any order, disjoint.
    pub rows: Vec<Range<RowId>>,
}

const ADDED: u8 = 0x80;

/// Appends the changes of a table.
pub(crate) fn put_changes(out: &mut Vec<u8>, changes: &[LoggedChange]) {
    wire::put_varint(out, changes.len() as u64);
    for change in changes {
        wire::put_varint(out, u64::from(change.column.0));
        put_op(out, &change.op);
        wire::put_varint(out, change.rows.len() as u64);
        let mut at = 0u64;
        for rows in &change.rows {
            wire::put_signed(out, rows.start.wrapping_sub(at) as i64);
            wire::put_varint(out, rows.end - rows.start - 1);
            at = rows.end;
        }
    }
}

fn put_op(out: &mut Vec<u8>, op: &ChangeOp) {
    let added = if matches!(op, ChangeOp::Add(_)) { ADDED } else { 0 };
    match op.scalar() {
        Scalar::Null => out.push(added),
        Scalar::Int(v) => {
            out.push(added | 1);
            wire::put_signed(out, *v);
        }
        Scalar::Wide(v) => {
            out.push(added | 2);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Scalar::Numeric(v) => {
            out.push(added | 3);
            out.extend_from_slice(&v.0.to_le_bytes());
            out.push(v.1);
        }
        Scalar::Bytes(v) => {
            out.push(added | 4);
            wire::put_bytes(out, v);
        }
    }
}

fn read_op(r: &mut Reader<'_>) -> Result<ChangeOp> {
    let head = r.u8()?;
    let value = match head & !ADDED {
        0 => Scalar::Null,
        1 => Scalar::Int(r.signed()?),
        2 => Scalar::Wide(Box::new(i128::from_le_bytes(r.array()?))),
        3 => Scalar::Numeric(Box::new((i128::from_le_bytes(r.array()?), r.u8()?))),
        4 => Scalar::Bytes(Arc::new(r.bytes()?.to_vec())),
        _ => return Err(r.error("an unknown kind of value")),
    };
    match (head & ADDED != 0, &value) {
        (false, _) => Ok(ChangeOp::Set(value)),
        (true, Scalar::Int(_) | Scalar::Wide(_)) => Ok(ChangeOp::Add(value)),
        _ => Err(r.error("something is added that is no number")),
    }
}

/// Reads the changes of a table.
pub(crate) fn read_changes(r: &mut Reader<'_>) -> Result<Vec<LoggedChange>> {
    let n = r.count(3)?;
    let mut changes = Vec::with_capacity(n);
    for _ in 0..n {
        let column = ColumnId(r.varint32()?);
        let op = read_op(r)?;
        let stretches = r.count(2)?;
        let mut rows = Vec::with_capacity(stretches);
        let mut at = 0u64;
        for _ in 0..stretches {
            let start = at.wrapping_add(r.signed()? as u64);
            let end = r.varint()?.checked_add(1).and_then(|len| start.checked_add(len));
            let end = end.ok_or_else(|| r.error("a stretch of rows out of range"))?;
            rows.push(start..end);
            at = end;
        }
        changes.push(LoggedChange { column, op, rows });
    }
    Ok(changes)
}

/// Reads lists of changes, each behind the number of its table among `tables` plus 1, up to a 0.
pub(crate) fn read_change_list(
    r: &mut Reader<'_>,
    tables: &[TableId],
) -> Result<Vec<(usize, Vec<LoggedChange>)>> {
    let mut lists = Vec::new();
    loop {
        let Some(table) = r.varint()?.checked_sub(1) else { return Ok(lists) };
        if table >= tables.len() as u64 {
            return Err(r.error("changes of a table that the commit does not name"));
        }
        lists.push((table as usize, read_changes(r)?));
    }
}
