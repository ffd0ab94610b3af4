//! How do a commit's rows lie in a log record?
//!
//! | field | |
//! |---|---|
//! | rows | varint; nothing follows 0 |
//! | columns | varint |
//! | form | 1 byte: 0 plain, 1 encoded |
//! | columns | one after another; encoded ones in pieces of [`PIECE_ROWS`] rows, all columns of a piece before the next |
//!
//! A plain column: one byte with the physical form (0 int, 1 wide, 2 numeric, 3 bytes; plus 4 when
//! NULLs are there), the null bitmap if any, then the values that are not NULL: ints as signed
//! varints of the difference to the value before, wides as 16 bytes, numerics as 16 bytes and the
//! scale, byte strings behind their length. It suits few rows; from [`ENCODED_ROWS`] on columns are
//! encoded as in blocks ([`crate::encode`]), with the encodings that cost little time to choose.

use std::ops::Range;

use onlap_base::Result;
use onlap_base::limits::LOG_RECORD_BYTES;

use crate::batch::{Batch, Column, NullMask, Vector};
use crate::encode::{ColumnView, Effort, encode_column};
use crate::types::Physical;
use crate::wire::{self, Reader};

const FORM_PLAIN: u8 = 0;
const FORM_ENCODED: u8 = 1;
/// Below this many rows the headers of encoded columns take more than they save.
const ENCODED_ROWS: usize = 12;
/// A piece of this size is one block of the fastest encodings, and bounds what a reader allocates
/// for a row count before it has seen bytes for it.
const PIECE_ROWS: usize = 4096;
const NULLS: u8 = 4;

/// Appends a batch.
pub(super) fn put_rows(out: &mut Vec<u8>, rows: &Batch) {
    wire::put_varint(out, rows.rows as u64);
    if rows.rows == 0 {
        return;
    }
    wire::put_varint(out, rows.columns.len() as u64);
    if rows.rows < ENCODED_ROWS {
        out.push(FORM_PLAIN);
        rows.columns.iter().for_each(|column| put_plain(out, column));
        return;
    }
    out.push(FORM_ENCODED);
    for piece in pieces(rows.rows) {
        for column in &rows.columns {
            encode_column(column, piece.clone(), Effort::Fast, out);
        }
    }
}

fn pieces(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(PIECE_ROWS).map(move |start| start..rows.min(start + PIECE_ROWS))
}

/// Reads a batch in the place of another, whose memory it takes over. Its columns have the forms that were
/// written; whether those are the table's is the caller's question.
pub(super) fn read_rows(r: &mut Reader<'_>, into: &mut Batch) -> Result<()> {
    let rows = r.varint()?;
    into.rows = 0;
    if rows == 0 {
        into.columns.clear();
        return Ok(());
    }
    let columns = r.count(1)?;
    let form = r.u8()?;
    let rows = usize::try_from(rows).map_err(|_| r.error("a row count above the record"))?;
    if columns == 0 && rows > LOG_RECORD_BYTES {
        return Err(r.error("more rows without columns than a record may stand for"));
    }
    into.columns.truncate(columns);
    match form {
        FORM_PLAIN => {
            for i in 0..columns {
                read_plain(r, rows, i, &mut into.columns)?;
            }
        }
        FORM_ENCODED => read_encoded(r, columns, rows, &mut into.columns)?,
        _ => return Err(r.error("an unknown form of logged rows")),
    }
    into.rows = rows;
    Ok(())
}

/// Makes column `i` an empty one of a form; those before it are there.
fn begin(columns: &mut Vec<Column>, i: usize, form: Physical) -> &mut Column {
    match columns.get_mut(i) {
        None => columns.push(Column::new(form)),
        Some(column) if column.data.physical() == form => {
            column.nulls = None;
            column.truncate(0);
        }
        Some(column) => *column = Column::new(form),
    }
    &mut columns[i]
}

fn read_encoded(
    r: &mut Reader<'_>,
    columns: usize,
    rows: usize,
    out: &mut Vec<Column>,
) -> Result<()> {
    for piece in pieces(rows) {
        for i in 0..columns {
            let view = ColumnView::take(r, piece.len())?;
            let column = match piece.start {
                0 => begin(out, i, view.physical()),
                _ => &mut out[i],
            };
            if column.data.physical() != view.physical() {
                return Err(r.error("a column that changes its form between pieces"));
            }
            view.append_to(0..piece.len(), column)?;
        }
    }
    Ok(())
}

fn put_plain(out: &mut Vec<u8>, column: &Column) {
    let form = match column.data.physical() {
        Physical::Int => 0,
        Physical::Wide => 1,
        Physical::Numeric => 2,
        Physical::Bytes => 3,
    };
    let nulls = column.nulls.as_ref();
    out.push(form | if nulls.is_some() { NULLS } else { 0 });
    if let Some(mask) = nulls {
        let bytes = mask.words.iter().flat_map(|w| w.to_le_bytes());
        out.extend(bytes.take(mask.len.div_ceil(8)));
    }
    let present = |i: &usize| !nulls.is_some_and(|n| n.get(*i));
    let all = (0..column.len()).filter(present);
    match &column.data {
        Vector::Int(v) => {
            let mut before = 0i64;
            for i in all {
                wire::put_signed(out, v[i].wrapping_sub(before));
                before = v[i];
            }
        }
        Vector::Wide(v) => all.for_each(|i| out.extend_from_slice(&v[i].to_le_bytes())),
        Vector::Numeric(m, s) => all.for_each(|i| {
            out.extend_from_slice(&m[i].to_le_bytes());
            out.push(s[i]);
        }),
        Vector::Bytes(v) => all.for_each(|i| wire::put_bytes(out, v.get(i))),
    }
}

/// Reads column `i`; those before it are there.
fn read_plain(r: &mut Reader<'_>, rows: usize, i: usize, out: &mut Vec<Column>) -> Result<()> {
    let head = r.u8()?;
    let nulls = match head & NULLS {
        0 => None,
        _ => Some(read_mask(r, rows)?),
    };
    let present = rows - nulls.as_ref().map_or(0, NullMask::count);
    let (form, least) = match head & !NULLS {
        0 => (Physical::Int, 1),
        1 => (Physical::Wide, 16),
        2 => (Physical::Numeric, 17),
        3 => (Physical::Bytes, 1),
        _ => return Err(r.error("an unknown physical form")),
    };
    if present.saturating_mul(least) > r.remaining() {
        return Err(r.error("more rows than the record can hold"));
    }
    let column = begin(out, i, form);
    if let (Vector::Int(v), None) = (&mut column.data, &nulls) {
        let mut before = 0i64;
        for _ in 0..rows {
            before = before.wrapping_add(r.signed()?);
            v.push(before);
        }
        return Ok(());
    }
    let mut before = 0i64;
    for i in 0..rows {
        if nulls.as_ref().is_some_and(|n| n.get(i)) {
            column.push_null();
            continue;
        }
        match &mut column.data {
            Vector::Int(v) => {
                before = before.wrapping_add(r.signed()?);
                v.push(before);
            }
            Vector::Wide(v) => v.push(read_i128(r)?),
            Vector::Numeric(m, s) => {
                m.push(read_i128(r)?);
                s.push(r.u8()?);
            }
            Vector::Bytes(v) => v.push(r.bytes()?),
        }
    }
    column.nulls = nulls;
    Ok(())
}

fn read_mask(r: &mut Reader<'_>, rows: usize) -> Result<NullMask> {
    let bytes = r.take(rows.div_ceil(8))?;
    let mut mask = NullMask::none(rows);
    for (i, b) in bytes.iter().enumerate() {
        mask.words[i / 8] |= u64::from(*b) << (i % 8 * 8);
    }
    if !rows.is_multiple_of(64) && mask.words[rows / 64] >> (rows % 64) != 0 {
        return Err(r.error("null bits behind the last row"));
    }
    Ok(mask)
}

fn read_i128(r: &mut Reader<'_>) -> Result<i128> {
    Ok(i128::from_le_bytes(r.take(16)?.try_into().expect("took 16 bytes")))
}
