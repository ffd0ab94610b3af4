//! Which rows of an encoded column are NULL, and what lies in their places?

use onlap_base::Result;

use crate::batch::{BytesVec, Column, NullMask, Vector};
use crate::types::Physical;
use crate::wire::Reader;

pub(super) const FORM_MASK: u8 = 0b111;
pub(super) const BITMAP: u8 = 0b01_000;
pub(super) const ALL_NULL: u8 = 0b10_000;

/// The NULLs of a column, as its head says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Nulls<'a> {
    None,
    /// One bit per row.
    Bitmap(&'a [u8]),
    All,
}

impl<'a> Nulls<'a> {
    /// Takes head and bitmap off the reader.
    #[inline]
    pub(super) fn take(r: &mut Reader<'a>, rows: usize) -> Result<(Physical, Nulls<'a>)> {
        let head = r.u8()?;
        let form = match head & FORM_MASK {
            0 => Physical::Int,
            1 => Physical::Wide,
            2 => Physical::Numeric,
            3 => Physical::Bytes,
            _ => return Err(r.damaged(format!("unknown column head {head}"))),
        };
        let nulls = match head & !FORM_MASK {
            0 => Nulls::None,
            BITMAP => Nulls::Bitmap(r.take(rows.div_ceil(8))?),
            ALL_NULL => Nulls::All,
            _ => return Err(r.damaged(format!("unknown column head {head}"))),
        };
        Ok((form, nulls))
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> bool {
        match self {
            Nulls::None => false,
            Nulls::Bitmap(bits) => bits[i / 8] >> (i % 8) & 1 == 1,
            Nulls::All => true,
        }
    }

    /// Brings the null mask up to the data appended after `before`, and empties the NULL slots.
    pub(super) fn finish(
        &self,
        before: usize,
        rows: impl ExactSizeIterator<Item = usize>,
        out: &mut Column,
    ) {
        let n = rows.len();
        if matches!(self, Nulls::None) {
            if let Some(mask) = &mut out.nulls {
                (0..n).for_each(|_| mask.push(false));
            }
            return;
        }
        let mut mask = out.nulls.take();
        let mut found = false;
        for (k, i) in rows.enumerate() {
            let null = self.get(i);
            if null && !found {
                found = true;
                let mask = mask.get_or_insert_with(|| NullMask::none(before));
                (0..k).for_each(|_| mask.push(false));
            }
            if found {
                mask.as_mut().expect("made when the first NULL was met").push(null);
            }
        }
        if !found {
            if let Some(mask) = &mut mask {
                (0..n).for_each(|_| mask.push(false));
            }
        } else if let Some(mask) = &mask {
            empty_nulls(&mut out.data, before, mask);
        }
        out.nulls = mask;
    }
}

/// Appends `n` rows of zero or the empty string.
pub(super) fn append_empty(data: &mut Vector, n: usize) {
    match data {
        Vector::Int(v) => v.resize(v.len() + n, 0),
        Vector::Wide(v) => v.resize(v.len() + n, 0),
        Vector::Numeric(m, s) => {
            m.resize(m.len() + n, 0);
            s.resize(s.len() + n, 0);
        }
        Vector::Bytes(v) => {
            let end = *v.offsets.last().expect("offsets begin with 0");
            v.offsets.resize(v.offsets.len() + n, end);
        }
    }
}

/// Puts zero or the empty string where rows from `from` are NULL.
fn empty_nulls(data: &mut Vector, from: usize, mask: &NullMask) {
    let nulls = (from..mask.len).filter(|i| mask.get(*i));
    match data {
        Vector::Int(v) => nulls.for_each(|i| v[i] = 0),
        Vector::Wide(v) => nulls.for_each(|i| v[i] = 0),
        Vector::Numeric(m, s) => nulls.for_each(|i| {
            m[i] = 0;
            s[i] = 0;
        }),
        Vector::Bytes(v) => empty_null_strings(v, from, mask),
    }
}

fn empty_null_strings(v: &mut BytesVec, from: usize, mask: &NullMask) {
    let BytesVec { offsets, data } = v;
    if (from..mask.len).all(|i| !mask.get(i) || offsets[i] == offsets[i + 1]) {
        return;
    }
    let mut end = offsets[from] as usize;
    let mut begin = end;
    for i in from..mask.len {
        let next = offsets[i + 1] as usize;
        if !mask.get(i) {
            data.copy_within(begin..next, end);
            end += next - begin;
        }
        begin = next;
        offsets[i + 1] = end as u32;
    }
    data.truncate(end);
}
