//! How is a whole column encoded, NULLs and all?
//!
//! A column is a head byte, the NULLs, and a stream of its physical form ([`int`], [`wide`],
//! [`bytes`]). Where a row is NULL the stream repeats its neighbour, so that an outlying zero does
//! not widen the packing; decoding puts zero or the empty string back.
//!
//! | part | bytes |
//! |---|---|
//! | head | 1: physical form (0 int, 1 wide, 2 numeric, 3 bytes) in bits 0 to 2; NULLs in bits 3 and 4: 0 none, 1 bitmap, 2 all |
//! | bitmap | `ceil(rows / 8)` bytes with NULLs = 1: bit `i % 8` of byte `i / 8` is set where row i is NULL |
//! | values | nothing with NULLs = 2; one stream; for numeric the scales (integers), then the mantissas (wide) |
//!
//! ```
//! use onlap_format::encode::{ColumnView, Effort, encode_column};
//! use onlap_format::{Column, Physical, Vector};
//! let mut column = Column { data: Vector::Int(vec![5, 6]), nulls: None };
//! column.push_null();
//! let mut out = Vec::new();
//! encode_column(&column, 0..3, Effort::Fast, &mut out);
//! // int with a bitmap; row 2 is NULL; width 1, base 5 as zigzag 10, differences 0, 1, 1
//! assert_eq!(out, [0b01_000, 0b100, 1, 10, 0b110]);
//! let view = ColumnView::parse(&out, 3)?;
//! let mut decoded = Column::new(Physical::Int);
//! view.append_to(0..3, &mut decoded);
//! assert_eq!(decoded, column);
//! # Ok::<(), onlap_base::Error>(())
//! ```

use std::ops::Range;

use onlap_base::{Error, Result};

use super::bytes::{self, BytesView};
use super::int::{self, IntView};
use super::nulls::{ALL_NULL, BITMAP, Nulls, append_empty};
use super::wide::{self, WideView};
use super::{Effort, bits};
use crate::batch::{BytesVec, Column, NullMask, Vector};
use crate::types::Physical;
use crate::wire::Reader;

/// Appends rows `range` of a column.
pub fn encode_column(column: &Column, range: Range<usize>, effort: Effort, out: &mut Vec<u8>) {
    encode_with(None, column, range, effort, out);
}

/// Encodes one column piece by piece with [`Effort::Small`], and remembers what made its strings
/// small.
#[derive(Debug, Default)]
pub struct ColumnEncoder {
    memory: bytes::Memory,
}

impl ColumnEncoder {
    /// Appends rows `range` of the column.
    pub fn encode(&mut self, column: &Column, range: Range<usize>, out: &mut Vec<u8>) {
        encode_with(Some(&mut self.memory), column, range, Effort::Small, out);
    }
}

fn encode_with(
    memory: Option<&mut bytes::Memory>,
    column: &Column,
    range: Range<usize>,
    effort: Effort,
    out: &mut Vec<u8>,
) {
    let form = match &column.data {
        Vector::Int(_) => 0,
        Vector::Wide(_) => 1,
        Vector::Numeric(..) => 2,
        Vector::Bytes(_) => 3,
    };
    let nulls = column.nulls.as_ref().filter(|n| range.clone().any(|i| n.get(i)));
    let Some(nulls) = nulls else {
        out.push(form);
        return put_values(memory, &column.data, range, effort, out);
    };
    if range.clone().all(|i| nulls.get(i)) {
        out.push(form | ALL_NULL);
        return;
    }
    out.push(form | BITMAP);
    let is_null = |i: usize| u64::from(nulls.get(range.start + i));
    bits::pack(range.len(), 1, is_null, out);
    let filled = filled(&column.data, range.clone(), nulls);
    put_values(memory, &filled, 0..range.len(), effort, out);
}

fn put_values(
    memory: Option<&mut bytes::Memory>,
    data: &Vector,
    range: Range<usize>,
    effort: Effort,
    out: &mut Vec<u8>,
) {
    match data {
        Vector::Int(v) => int::encode(&v[range], effort, out),
        Vector::Wide(v) => wide::encode(&v[range], effort, out),
        Vector::Numeric(mantissas, scales) => {
            let scales: Vec<i64> = scales[range.clone()].iter().map(|s| i64::from(*s)).collect();
            int::encode(&scales, effort, out);
            wide::encode(&mantissas[range], effort, out);
        }
        Vector::Bytes(v) => bytes::encode_with(memory, v, range, effort, out),
    }
}

/// A copy of the range in which a NULL repeats the value before it (the first value, at the start).
/// Strings cost by their length, so they do so only where the form stays the same for all of them.
fn filled(data: &Vector, range: Range<usize>, nulls: &NullMask) -> Vector {
    let first = range.clone().find(|i| !nulls.get(*i)).expect("some row is not NULL");
    let mut last = first;
    let sources = range.clone().map(move |i| {
        if !nulls.get(i) {
            last = i;
        }
        last
    });
    match data {
        Vector::Int(v) => Vector::Int(sources.map(|i| v[i]).collect()),
        Vector::Wide(v) => Vector::Wide(sources.map(|i| v[i]).collect()),
        Vector::Numeric(m, s) => {
            let (m, s) = sources.map(|i| (m[i], s[i])).unzip();
            Vector::Numeric(m, s)
        }
        Vector::Bytes(v) => {
            let mut copy = BytesVec::default();
            let mut values = range.clone().filter(|i| !nulls.get(*i)).map(|i| v.get(i));
            if values.clone().all(|s| s == v.get(first)) || values.all(bytes::is_uuid_text) {
                sources.for_each(|i| copy.push(v.get(i)));
            } else {
                copy.extend_range(v, range);
            }
            Vector::Bytes(copy)
        }
    }
}

/// Appends the given rows of the column that takes up all of `bytes`. The same as parsing a
/// [`ColumnView`] and asking it, but a view of every possible form is several hundred bytes to move
/// about, which fetching a single row would notice.
pub fn append_selected(
    bytes: &[u8],
    rows: usize,
    selected: &[u32],
    out: &mut Column,
) -> Result<()> {
    assert!(selected.iter().all(|i| (*i as usize) < rows), "rows outside of the column");
    let mut r = Reader::new(bytes);
    let (form, nulls) = Nulls::take(&mut r, rows)?;
    let before = out.len();
    if form != out.data.physical() {
        return Err(mismatch(form, out.data.physical()));
    }
    match &mut out.data {
        data if matches!(nulls, Nulls::All) => append_empty(data, selected.len()),
        Vector::Int(v) => IntView::parse(&mut r, rows)?.append_selected(selected, v),
        Vector::Wide(v) => WideView::parse(&mut r, rows)?.append_selected(selected, v),
        Vector::Numeric(m, s) => {
            let scales = IntView::parse(&mut r, rows)?;
            WideView::parse(&mut r, rows)?.append_selected(selected, m);
            s.extend(selected.iter().map(|&i| scales.get(i as usize) as u8));
        }
        Vector::Bytes(v) => BytesView::parse(&mut r, rows)?.append_selected(selected, v)?,
    }
    nulls.finish(before, selected.iter().map(|&i| i as usize), out);
    Ok(())
}

#[cold]
fn mismatch(found: Physical, wanted: Physical) -> Error {
    Error::damaged(format!("a column holds {found:?}, expected {wanted:?}"))
}

#[expect(
    clippy::large_enum_variant,
    reason = "views live on the stack; a box would be an allocation per parsed column"
)]
#[derive(Clone, Copy, Debug)]
enum Values<'a> {
    Int(IntView<'a>),
    Wide(WideView<'a>),
    Numeric {
        mantissas: WideView<'a>,
        scales: IntView<'a>,
    },
    Bytes(BytesView<'a>),
    /// All rows are NULL.
    Absent(Physical),
}

/// An encoded column, parsed; the values stay packed.
#[derive(Clone, Copy, Debug)]
pub struct ColumnView<'a> {
    rows: usize,
    nulls: Nulls<'a>,
    values: Values<'a>,
}

impl<'a> ColumnView<'a> {
    /// Parses a column of `rows` rows that takes up all of `bytes`.
    pub fn parse(bytes: &'a [u8], rows: usize) -> Result<ColumnView<'a>> {
        let mut r = Reader::new(bytes);
        let view = Self::take(&mut r, rows)?;
        r.finish()?;
        Ok(view)
    }

    /// Takes a column of `rows` rows off the reader. The caller has bounded `rows`.
    pub fn take(r: &mut Reader<'a>, rows: usize) -> Result<ColumnView<'a>> {
        let (form, nulls) = Nulls::take(r, rows)?;
        if matches!(nulls, Nulls::All) {
            return Ok(ColumnView { rows, nulls, values: Values::Absent(form) });
        }
        let values = match form {
            Physical::Int => Values::Int(IntView::parse(r, rows)?),
            Physical::Wide => Values::Wide(WideView::parse(r, rows)?),
            Physical::Numeric => {
                let scales = IntView::parse(r, rows)?;
                Values::Numeric { mantissas: WideView::parse(r, rows)?, scales }
            }
            Physical::Bytes => Values::Bytes(BytesView::parse(r, rows)?),
        };
        Ok(ColumnView { rows, nulls, values })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The physical form.
    pub fn physical(&self) -> Physical {
        match &self.values {
            Values::Int(_) => Physical::Int,
            Values::Wide(_) => Physical::Wide,
            Values::Numeric { .. } => Physical::Numeric,
            Values::Bytes(_) => Physical::Bytes,
            Values::Absent(form) => *form,
        }
    }

    /// Whether any row may be NULL.
    pub fn has_nulls(&self) -> bool {
        !matches!(self.nulls, Nulls::None)
    }

    /// Whether row `i` is NULL.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        debug_assert!(i < self.rows);
        self.nulls.get(i)
    }

    /// The integer stream, for loops that look at many values; NULL rows hold any value.
    pub fn ints(&self) -> Option<&IntView<'a>> {
        match &self.values {
            Values::Int(view) => Some(view),
            _ => None,
        }
    }

    /// Row `i` of an integer column; 0 where it is NULL.
    #[inline]
    pub fn int(&self, i: usize) -> i64 {
        match &self.values {
            Values::Int(view) if !self.is_null(i) => view.get(i),
            _ => 0,
        }
    }

    /// Row `i` of a 128-bit column; 0 where it is NULL.
    #[inline]
    pub fn wide(&self, i: usize) -> i128 {
        match &self.values {
            Values::Wide(view) if !self.is_null(i) => view.get(i),
            _ => 0,
        }
    }

    /// Appends row `i` of a byte column to a buffer; nothing where it is NULL.
    #[inline]
    pub fn bytes_into(&self, i: usize, out: &mut Vec<u8>) {
        if let Values::Bytes(view) = &self.values
            && !self.is_null(i)
        {
            view.get_into(i, out);
        }
    }

    /// Appends rows `range` to a column. Fails, appending nothing, where the column's form differs.
    pub fn append_to(&self, range: Range<usize>, out: &mut Column) -> Result<()> {
        assert!(range.start <= range.end && range.end <= self.rows, "rows outside of the column");
        let before = out.len();
        match (&self.values, &mut out.data) {
            (Values::Int(view), Vector::Int(v)) => view.append_to(range.clone(), v),
            (Values::Wide(view), Vector::Wide(v)) => view.append_to(range.clone(), v),
            (Values::Numeric { mantissas, scales }, Vector::Numeric(m, s)) => {
                mantissas.append_to(range.clone(), m);
                append_scales(scales, range.clone(), s);
            }
            (Values::Bytes(view), Vector::Bytes(v)) => view.append_to(range.clone(), v)?,
            (Values::Absent(form), data) if *form == data.physical() => {
                append_empty(data, range.len());
            }
            _ => return Err(mismatch(self.physical(), out.data.physical())),
        }
        self.nulls.finish(before, range, out);
        Ok(())
    }

    /// Appends the given rows, each below the row count, to a column. Fails, appending nothing,
    /// where the column's form differs.
    pub fn append_selected(&self, rows: &[u32], out: &mut Column) -> Result<()> {
        assert!(rows.iter().all(|i| (*i as usize) < self.rows), "rows outside of the column");
        let before = out.len();
        match (&self.values, &mut out.data) {
            (Values::Int(view), Vector::Int(v)) => view.append_selected(rows, v),
            (Values::Wide(view), Vector::Wide(v)) => view.append_selected(rows, v),
            (Values::Numeric { mantissas, scales }, Vector::Numeric(m, s)) => {
                mantissas.append_selected(rows, m);
                s.extend(rows.iter().map(|&i| scales.get(i as usize) as u8));
            }
            (Values::Bytes(view), Vector::Bytes(v)) => view.append_selected(rows, v)?,
            (Values::Absent(form), data) if *form == data.physical() => {
                append_empty(data, rows.len());
            }
            _ => return Err(mismatch(self.physical(), out.data.physical())),
        }
        self.nulls.finish(before, rows.iter().map(|&i| i as usize), out);
        Ok(())
    }
}

fn append_scales(scales: &IntView<'_>, range: Range<usize>, out: &mut Vec<u8>) {
    match scales.constant() {
        Some(scale) => out.resize(out.len() + range.len(), scale as u8),
        None => out.extend(range.map(|i| scales.get(i) as u8)),
    }
}
