//! Where does a range of keys begin, in packed form?
//!
//! [`KeyBound`] is key bytes (a prefix) turned once into the smallest packed key on or after it, so
//! that searching compares integers. Where the prefix ends inside a column or holds values that the
//! packing cannot place, searching falls back to comparing key bytes: slower, same answer.

use std::ops::Range;

use onlap_base::Result;

use super::{Field, Kind, Packing, mask};
use crate::key::bytes::{self, Cell};
use crate::key::keys::{KeyForm, Keys, PackedKey};

/// The first key of a packing that lies on or after a prefix (or after everything that begins with
/// it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyBound {
    /// After every key.
    End,
    /// The smallest key of [`KeyForm::Word`] that belongs.
    Word(u64),
    /// The smallest key of [`KeyForm::Narrow`] that belongs.
    Narrow(u128),
    /// The smallest key of [`KeyForm::Wide4`] that belongs.
    Wide4([u64; 4]),
    /// The smallest key of [`KeyForm::Wide8`] that belongs.
    Wide8([u64; 8]),
    /// Compare key bytes.
    Bytes {
        /// The prefix.
        prefix: Vec<u8>,
        /// Whether keys that begin with the prefix lie before the bound.
        after: bool,
    },
}

/// Where a value lies among the values of a field.
enum Place {
    Exact(u128, bool),
    /// Between two: the bound is this field value, followed by zeros.
    Before(u128, bool),
    /// Above all of them.
    Above,
    Unknown,
}

impl Packing {
    /// The bound of the keys that are `>= prefix`, or with `after` of those that are larger than every
    /// key that begins with `prefix`.
    ///
    /// Of cut keys: of those at or behind the prefix as far as it is kept, or of those behind all that
    /// begin with it.
    pub fn bound(&self, prefix: &[u8], after: bool) -> KeyBound {
        if let Some(cut) = self.cut {
            return cut.bound(&self.def, prefix, after);
        }
        let fallback = || KeyBound::Bytes { prefix: prefix.to_vec(), after };
        let packed = |bound: Option<Option<KeyBound>>| match bound {
            None => fallback(),
            Some(None) => KeyBound::End,
            Some(Some(b)) => b,
        };
        match self.form() {
            KeyForm::Bytes => fallback(),
            KeyForm::Word => packed(self.place(prefix, after).map(|b| b.map(KeyBound::Word))),
            KeyForm::Narrow => packed(self.place(prefix, after).map(|b| b.map(KeyBound::Narrow))),
            KeyForm::Wide4 => packed(self.place(prefix, after).map(|b| b.map(KeyBound::Wide4))),
            KeyForm::Wide8 => packed(self.place(prefix, after).map(|b| b.map(KeyBound::Wide8))),
        }
    }

    /// `None`: cannot be told in packed form; `Some(None)`: after every key.
    fn place<K: PackedKey>(&self, prefix: &[u8], after: bool) -> Option<Option<K>> {
        let mut key = K::ZERO;
        let mut rest = prefix;
        let mut level = self.bits();
        for (field, def) in self.fields.iter().zip(&self.def.columns) {
            if rest.is_empty() {
                break;
            }
            let cell = bytes::decode_cell(*def, &mut rest).ok()?;
            match field.locate(&cell) {
                Place::Exact(code, null_bit) => field.put(&mut key, (code, null_bit)),
                Place::Before(code, null_bit) => {
                    field.put(&mut key, (code, null_bit));
                    return Some(Some(key));
                }
                Place::Above => return Some(key.increment(level).then_some(key)),
                Place::Unknown => return None,
            }
            level = field.offset;
        }
        if !rest.is_empty() {
            return None;
        }
        if after { Some(self.after(key, level)) } else { Some(Some(key)) }
    }

    fn after<K: PackedKey>(&self, mut key: K, level: u32) -> Option<K> {
        key.increment(level).then_some(key)
    }

    /// First position in `range` of sorted keys of this packing that is not before the bound;
    /// `range.end` where all are.
    pub fn lower_bound(&self, keys: &Keys, range: Range<usize>, bound: &KeyBound) -> Result<usize> {
        let start = range.start;
        Ok(match (keys, bound) {
            (_, KeyBound::End) => range.end,
            (Keys::Word(v), KeyBound::Word(b)) => start + v[range].partition_point(|k| k < b),
            (Keys::Narrow(v), KeyBound::Narrow(b)) => start + v[range].partition_point(|k| k < b),
            (Keys::Wide4(v), KeyBound::Wide4(b)) => start + v[range].partition_point(|k| k < b),
            (Keys::Wide8(v), KeyBound::Wide8(b)) => start + v[range].partition_point(|k| k < b),
            (_, KeyBound::Bytes { prefix, after }) => {
                let (mut low, mut high) = (range.start, range.end);
                let mut key = Vec::new();
                while low < high {
                    let middle = low.midpoint(high);
                    key.clear();
                    self.key_bytes(keys, middle, &mut key)?;
                    if is_before(&key, prefix, *after) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                low
            }
            _ => panic!("a bound of another packing"),
        })
    }

    /// How key `i` compares with a prefix of key bytes; `Equal` where it begins with it.
    pub fn cmp_bytes(&self, keys: &Keys, i: usize, prefix: &[u8]) -> Result<std::cmp::Ordering> {
        let mut key = Vec::new();
        self.key_bytes(keys, i, &mut key)?;
        key.truncate(prefix.len());
        Ok(key.as_slice().cmp(prefix))
    }
}

/// Whether key bytes lie before the bound (prefix, after).
pub(crate) fn is_before(key: &[u8], prefix: &[u8], after: bool) -> bool {
    key < prefix || after && key.starts_with(prefix)
}

impl Field {
    fn locate(&self, cell: &Cell) -> Place {
        let raw = match (cell, self.kind) {
            (Cell::Null, _) if self.nullable => {
                let (code, null_bit) = self.null();
                return Place::Exact(code, null_bit);
            }
            // No NULL was seen: it sorts below all values, or above them.
            (Cell::Null, _) if self.descending => return Place::Before(0, false),
            (Cell::Null, _) => return Place::Above,
            (Cell::Int(v), Kind::Int) => u128::from(*v as u64 ^ super::SIGN),
            (Cell::Wide(v), Kind::Wide) => super::raw_wide(*v),
            (Cell::Numeric(n), Kind::Numeric { scale }) => {
                match super::field::at_scale(n.mantissa, n.scale, scale) {
                    Some(m) => super::raw_wide(m),
                    None => return Place::Unknown,
                }
            }
            (Cell::Bytes(b), Kind::UuidText) => match crate::key::uuid_text::parse(b) {
                Some(id) => id,
                None => return Place::Unknown,
            },
            (Cell::Bytes(b), Kind::Text { len }) if b.len() <= usize::from(len) => {
                super::trim_text(crate::key::stats::short_text(b), len)
            }
            _ => return Place::Unknown,
        };
        self.locate_raw(raw)
    }

    fn locate_raw(&self, raw: u128) -> Place {
        let top = mask(self.bits);
        let stride = u128::from(self.stride);
        let Some(distance) = raw.checked_sub(self.base) else {
            return if self.descending { self.above_values() } else { self.before(0) };
        };
        let (code, exact) = (distance / stride, distance % stride == 0);
        if code > top {
            return if self.descending { self.before(top) } else { self.above_values() };
        }
        if exact {
            let (code, null_bit) = self.place(code);
            Place::Exact(code, null_bit)
        } else if self.descending {
            self.before(code)
        } else if code == top {
            self.above_values()
        } else {
            self.before(code + 1)
        }
    }

    fn before(&self, code: u128) -> Place {
        let (code, null_bit) = self.place(code);
        Place::Before(code, null_bit)
    }

    /// Above every value: NULL is next where the field has it and sorts it last.
    fn above_values(&self) -> Place {
        if self.nullable && !self.descending {
            let (code, null_bit) = self.null();
            Place::Before(code, null_bit)
        } else {
            Place::Above
        }
    }
}
