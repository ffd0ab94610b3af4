//! How does one column's value become a bit field, and back?
//!
//! The kinds and their raw numbers are listed in [`super`]. Pure.

use std::ops::Range;

use onlap_base::Result;

use super::{Field, Kind, SIGN, damaged, mask, raw_wide, short_text_bytes, trim_text};
use crate::batch::{Column, Vector};
use crate::key::bytes::{is_float, key_int, key_text};
use crate::key::keys::PackedKey;
use crate::key::stats::short_text;
use crate::key::{decimal, uuid_text};

impl Field {
    /// Ors this column's field into one key per row; `false` where some value does not fit.
    pub(super) fn pack<K: PackedKey>(
        &self,
        column: &Column,
        range: Range<usize>,
        out: &mut [K],
    ) -> bool {
        if let Some(nulls) = &column.nulls {
            return range.zip(out).all(|(row, key)| {
                let field = if nulls.get(row) {
                    self.nullable.then(|| self.null())
                } else {
                    self.code(&column.data, row).map(|c| self.place(c))
                };
                field.is_some_and(|f| {
                    self.put(key, f);
                    true
                })
            });
        }
        if let (Vector::Int(v), Kind::Int) = (&column.data, self.kind) {
            return self.pack_ints(&v[range], out);
        }
        range.zip(out).all(|(row, key)| {
            self.code(&column.data, row).is_some_and(|c| {
                self.put(key, self.place(c));
                true
            })
        })
    }

    fn pack_ints<K: PackedKey>(&self, values: &[i64], out: &mut [K]) -> bool {
        let float = is_float(self.ty);
        let base = self.base as u64 ^ SIGN;
        let limit = mask(self.bits) as u64;
        let invert = if self.descending { limit } else { 0 };
        let mut over = 0u64;
        if self.stride == 1 {
            for (&v, key) in values.iter().zip(out.iter_mut()) {
                let code = (key_int(float, v) as u64).wrapping_sub(base);
                over |= code & !limit;
                key.put64(self.offset, (code & limit) ^ invert);
            }
        } else {
            let (mut last, mut code) = (i64::MIN, u64::MAX);
            for (&v, key) in values.iter().zip(out.iter_mut()) {
                if v != last || code == u64::MAX {
                    last = v;
                    let distance = (key_int(float, v) as u64).wrapping_sub(base);
                    code = distance / self.stride;
                    over |= code & !limit | (distance % self.stride);
                }
                key.put64(self.offset, (code & limit) ^ invert);
            }
        }
        if self.descending && self.nullable {
            out.iter_mut().for_each(|k| k.put64(self.offset + self.bits, 1));
        }
        over == 0
    }

    /// The code of a value that is not NULL, where it fits.
    #[inline]
    fn code(&self, data: &Vector, row: usize) -> Option<u128> {
        let raw = match (self.kind, data) {
            (Kind::Int, Vector::Int(v)) => {
                u128::from(key_int(is_float(self.ty), v[row]) as u64 ^ SIGN)
            }
            (Kind::Wide, Vector::Wide(v)) => raw_wide(v[row]),
            (Kind::Numeric { scale }, Vector::Numeric(m, s)) => {
                raw_wide(at_scale(m[row], s[row], scale)?)
            }
            (Kind::UuidText, Vector::Bytes(v)) => uuid_text::parse(&key_text(self.ty, v.get(row)))?,
            (Kind::Text { len }, Vector::Bytes(v)) => {
                let s = &*key_text(self.ty, v.get(row));
                if s.len() > usize::from(len) {
                    return None;
                }
                trim_text(short_text(s), len)
            }
            _ => panic!("a column of another form than its type"),
        };
        self.code_of_raw(raw)
    }

    #[inline]
    fn code_of_raw(&self, raw: u128) -> Option<u128> {
        let distance = raw.checked_sub(self.base)?;
        let code = if self.stride == 1 {
            distance
        } else {
            let stride = u128::from(self.stride);
            if !distance.is_multiple_of(stride) {
                return None;
            }
            distance / stride
        };
        (code <= mask(self.bits)).then_some(code)
    }

    /// Appends the values of this field of each key. Fails on codes that no value has, which only
    /// damage brings about.
    pub(super) fn unpack<K: PackedKey>(&self, keys: &[K], column: &mut Column) -> Result<()> {
        let limit = mask(self.bits);
        let invert = if self.descending { limit } else { 0 };
        if let (Kind::Int, Vector::Int(out), false, None) =
            (self.kind, &mut column.data, self.nullable, &column.nulls)
        {
            let (base, limit, invert) = (self.base as u64 ^ SIGN, limit as u64, invert as u64);
            out.extend(keys.iter().map(|k| {
                let code = k.get64(self.offset) & limit ^ invert;
                base.wrapping_add(code.wrapping_mul(self.stride)) as i64
            }));
            return Ok(());
        }
        for key in keys {
            if self.nullable {
                let null_bit = key.get64(self.offset + self.bits) & 1 == 1;
                if null_bit != self.descending {
                    column.push_null();
                    continue;
                }
            }
            let code = key.get(self.offset) & limit ^ invert;
            self.push(code, column)?;
            column.pushed();
        }
        Ok(())
    }

    fn push(&self, code: u128, column: &mut Column) -> Result<()> {
        let raw = self.base.wrapping_add(code.wrapping_mul(u128::from(self.stride)));
        match (self.kind, &mut column.data) {
            (Kind::Int, Vector::Int(v)) => v.push((raw as u64 ^ SIGN) as i64),
            (Kind::Wide, Vector::Wide(v)) => v.push((raw ^ 1 << 127) as i128),
            (Kind::Numeric { scale }, Vector::Numeric(m, s)) => {
                let n = decimal::normalize((raw ^ 1 << 127) as i128, scale);
                m.push(n.mantissa);
                s.push(n.scale);
            }
            (Kind::UuidText, Vector::Bytes(v)) => v.push(&uuid_text::format(raw)),
            (Kind::Text { len }, Vector::Bytes(v)) => {
                let (text, used) = short_text_bytes(raw, len)
                    .ok_or_else(|| damaged("a packed text is longer than its field"))?;
                v.push(&text[..used]);
            }
            _ => panic!("a column of another form than its type"),
        }
        Ok(())
    }
}

/// A mantissa at another scale, where that is exact.
pub(super) fn at_scale(mantissa: i128, scale: u8, to: u8) -> Option<i128> {
    if scale > 38 {
        return None;
    }
    let n = decimal::normalize(mantissa, scale);
    let up = to.checked_sub(n.scale)?;
    n.mantissa.checked_mul(10i128.checked_pow(u32::from(up))?)
}
