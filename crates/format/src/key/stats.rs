//! How many bits does a key column need?
//!
//! [`ColumnStats`] watches the values of one column, so that [`super::Packing::fit`] can choose bit
//! fields. It is exact for what it saw and can be merged: stats of chunks give stats of spans. Plain
//! data, safe to share.

use std::ops::Range;

use super::bytes::{is_float, key_int, key_text};
use super::{decimal, uuid_text};
use crate::batch::{BytesVec, Column, Vector};
use crate::types::{DataType, Physical};
use crate::value::Numeric;

/// Longest text, in bytes, that is packed into a bit field: with its length it fills 124 bits.
pub(super) const SHORT_TEXT: usize = 15;

/// What a column's values have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStats {
    ty: DataType,
    rows: u64,
    nulls: u64,
    pub(super) values: Seen,
}

/// By physical form; an empty range has `min > max`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    /// `stride` divides the distance of every value from `min` (0 while all are equal).
    Int {
        min: i64,
        max: i64,
        stride: u64,
    },
    Wide {
        min: i128,
        max: i128,
    },
    /// Mantissas at the largest scale seen; `None` where that overflows, or NaN or an infinity was seen.
    Numeric {
        scale: u8,
        range: Option<(i128, i128)>,
    },
    /// `min` and `max` are short texts in packed form; meaningful while `len_max <= SHORT_TEXT`.
    Bytes {
        len_max: usize,
        min: u128,
        max: u128,
        uuids: bool,
    },
}

/// A short text as an integer: padded with zeros to 15 bytes, then the length.
pub(super) fn short_text(s: &[u8]) -> u128 {
    let mut raw = [0u8; 16];
    raw[..s.len()].copy_from_slice(s);
    u128::from_be_bytes(raw) >> 4 | s.len() as u128
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl ColumnStats {
    /// Of no values.
    pub fn new(ty: DataType) -> ColumnStats {
        let values = match ty.physical() {
            Physical::Int => Seen::Int { min: i64::MAX, max: i64::MIN, stride: 0 },
            Physical::Wide => Seen::Wide { min: i128::MAX, max: i128::MIN },
            Physical::Numeric => Seen::Numeric { scale: 0, range: Some((i128::MAX, i128::MIN)) },
            Physical::Bytes => Seen::Bytes { len_max: 0, min: u128::MAX, max: 0, uuids: true },
        };
        ColumnStats { ty, rows: 0, nulls: 0, values }
    }

    /// Stats that were not observed but are known to hold.
    pub(super) fn assumed(ty: DataType, rows: u64, nulls: u64, values: Seen) -> ColumnStats {
        ColumnStats { ty, rows, nulls, values }
    }

    /// The column's type.
    pub fn ty(&self) -> DataType {
        self.ty
    }
    /// Values seen, NULL included.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// NULLs seen.
    pub fn nulls(&self) -> u64 {
        self.nulls
    }

    /// Takes rows `range` of a column of this type into account.
    pub fn observe(&mut self, column: &Column, range: Range<usize>) {
        self.rows += range.len() as u64;
        let float = is_float(self.ty);
        let Some(nulls) = &column.nulls else {
            match (&mut self.values, &column.data) {
                (Seen::Int { min, max, stride }, Vector::Int(v)) if !range.is_empty() => {
                    observe_ints(&v[range], float, min, max, stride);
                }
                (_, data) => range.for_each(|i| self.observe_one(data, i)),
            }
            return;
        };
        for i in range {
            if nulls.get(i) {
                self.nulls += 1;
            } else {
                self.observe_one(&column.data, i);
            }
        }
    }

    fn observe_one(&mut self, data: &Vector, i: usize) {
        let ty = self.ty;
        match (&mut self.values, data) {
            (Seen::Int { min, max, stride }, Vector::Int(v)) => {
                observe_ints(&v[i..=i], is_float(ty), min, max, stride);
            }
            (Seen::Wide { min, max }, Vector::Wide(v)) => {
                (*min, *max) = ((*min).min(v[i]), (*max).max(v[i]));
            }
            (seen @ Seen::Numeric { .. }, Vector::Numeric(m, s)) => {
                seen.observe_numeric(m[i], s[i]);
            }
            (seen @ Seen::Bytes { .. }, Vector::Bytes(v)) => seen.observe_bytes(ty, v, i),
            _ => panic!("a column of another form than its type"),
        }
    }

    /// Takes everything that `other` saw into account.
    pub fn merge(&mut self, other: &ColumnStats) {
        debug_assert_eq!(self.ty, other.ty);
        if other.rows == other.nulls {
            // Only NULLs: the other's range is empty.
        } else if self.rows == self.nulls {
            self.values = other.values.clone();
        } else {
            self.values.merge(&other.values);
        }
        self.rows += other.rows;
        self.nulls += other.nulls;
    }
}

/// Minimum, maximum and stride of a stretch that is not empty.
fn observe_ints(values: &[i64], float: bool, min: &mut i64, max: &mut i64, stride: &mut u64) {
    let (mut low, mut high) = (*min, *max);
    for &v in values {
        let v = key_int(float, v);
        low = low.min(v);
        high = high.max(v);
    }
    if *stride != 1 {
        let base = if *min <= *max { *min } else { low };
        let mut last = base;
        for &v in values {
            let v = key_int(float, v);
            if v != last {
                last = v;
                let distance = v.abs_diff(base);
                if *stride == 0 || distance % *stride != 0 {
                    *stride = gcd(*stride, distance);
                    if *stride == 1 {
                        break;
                    }
                }
            }
        }
    }
    (*min, *max) = (low, high);
}

impl Seen {
    fn observe_numeric(&mut self, mantissa: i128, scale: u8) {
        if matches!(scale, Numeric::NAN_SCALE | Numeric::INFINITE_SCALE) {
            *self = Seen::Numeric { scale: 0, range: None };
        } else {
            let n = decimal::normalize(mantissa, scale);
            self.merge(&Seen::Numeric { scale: n.scale, range: Some((n.mantissa, n.mantissa)) });
        }
    }

    fn observe_bytes(&mut self, ty: DataType, v: &BytesVec, i: usize) {
        let Seen::Bytes { len_max, min, max, uuids } = self else { return };
        let s = &*key_text(ty, v.get(i));
        *len_max = (*len_max).max(s.len());
        if *uuids {
            *uuids = uuid_text::parse(s).is_some();
        }
        if s.len() <= SHORT_TEXT {
            let raw = short_text(s);
            (*min, *max) = ((*min).min(raw), (*max).max(raw));
        }
    }

    fn merge(&mut self, other: &Seen) {
        match (self, other) {
            (Seen::Int { min, max, stride }, Seen::Int { min: m, max: x, stride: s }) => {
                *stride = gcd(gcd(*stride, *s), min.abs_diff(*m));
                (*min, *max) = ((*min).min(*m), (*max).max(*x));
            }
            (Seen::Wide { min, max }, Seen::Wide { min: m, max: x }) => {
                (*min, *max) = ((*min).min(*m), (*max).max(*x));
            }
            (
                Seen::Bytes { len_max, min, max, uuids },
                Seen::Bytes { len_max: l, min: m, max: x, uuids: u },
            ) => {
                *len_max = (*len_max).max(*l);
                (*min, *max) = ((*min).min(*m), (*max).max(*x));
                *uuids &= u;
            }
            (Seen::Numeric { scale, range }, Seen::Numeric { scale: s, range: r }) => {
                let top = (*scale).max(*s);
                let mine = range.and_then(|r| rescale(r, top - *scale));
                let theirs = r.and_then(|r| rescale(r, top - s));
                *range = mine.zip(theirs).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
                *scale = top;
            }
            _ => panic!("stats of different types are never merged"),
        }
    }
}

/// A range of mantissas at a scale larger by `up`; an empty range stays one.
fn rescale(range: (i128, i128), up: u8) -> Option<(i128, i128)> {
    if range.0 > range.1 {
        return Some(range);
    }
    let factor = 10i128.checked_pow(u32::from(up))?;
    Some((range.0.checked_mul(factor)?, range.1.checked_mul(factor)?))
}
