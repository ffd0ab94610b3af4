//! Which bits of a packed key mean what?
//!
//! A [`Packing`] lays the key columns side by side as bit fields, the first column on top, so that the
//! order of the integers is the order of the keys. Keys of one packing compare with each other only;
//! a packing is chosen from [`ColumnStats`] and travels with its keys (run footers hold it).
//!
//! Field of a column, high bits first: one bit that is set for NULL (only where NULLs were seen), then
//! `bits` of code, where `code = (raw - base) / stride` and `raw` is the value as an unsigned number:
//!
//! | kind | raw | base |
//! |---|---|---|
//! | 0 int | value + 2^63 | smallest |
//! | 1 wide | value + 2^127 | smallest; 0 for uuid |
//! | 2 uuid text | the 128 bits of a canonical UUID text | 0 |
//! | 3 short text | bytes padded with zeros to the longest, then 4 bits of length | common leading bits |
//! | 4 numeric | mantissa at the largest scale + 2^127 | smallest |
//!
//! A descending column has its whole field inverted. Bits that never vary cost nothing on disk (run
//! blocks drop them), so a UUID keeps its place in the field even where its version bits are fixed.
//!
//! Plain data, safe to share; knows nothing of blocks or files.

use std::ops::Range;

use onlap_base::{Error, Result};

use super::keys::{KeyForm, Keys, PackedKey, each_form};
use super::stats::{SHORT_TEXT, Seen};
use super::{ColumnStats, KeyColumn, KeyDef, uuid_text};
use crate::batch::Column;
use crate::types::{DataType, Physical};

mod bound;
mod codec;
mod cut;
mod field;
mod scan;
mod text;
mod union;

pub use bound::KeyBound;
pub(crate) use bound::is_before;
use cut::Cut;
pub use cut::{cut_key, cut_len};

/// What a field's raw number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Wide,
    UuidText,
    Text { len: u8 },
    Numeric { scale: u8 },
}

/// One column's bit field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub ty: DataType,
    pub descending: bool,
    pub kind: Kind,
    pub base: u128,
    pub stride: u64,
    pub nullable: bool,
    /// Bits of the code, without the NULL bit.
    pub bits: u32,
    /// Place of the lowest bit.
    pub offset: u32,
}

fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

const SIGN: u64 = 1 << 63;

impl Field {
    fn width(&self) -> u32 {
        self.bits + u32::from(self.nullable)
    }

    /// A field that holds every value seen; `None` where none of at most 128 bits does.
    fn fit(column: KeyColumn, stats: &ColumnStats) -> Option<Field> {
        let mut stride = 1;
        let empty = stats.rows() == stats.nulls();
        let (kind, base, top) = match stats.values {
            Seen::Int { .. } if empty => (Kind::Int, u128::from(SIGN), u128::from(SIGN)),
            Seen::Int { min, max, stride: s } => {
                stride = s.max(1);
                let raw = |v: i64| u128::from(v as u64 ^ SIGN);
                (Kind::Int, raw(min), raw(max))
            }
            Seen::Wide { .. } if empty => (Kind::Wide, 1 << 127, 1 << 127),
            Seen::Wide { .. } if column.ty == DataType::Uuid => (Kind::Wide, 0, u128::MAX),
            Seen::Wide { min, max } => (Kind::Wide, raw_wide(min), raw_wide(max)),
            Seen::Numeric { .. } if empty => (Kind::Numeric { scale: 0 }, 1 << 127, 1 << 127),
            Seen::Numeric { scale, range } => {
                let (min, max) = range?;
                (Kind::Numeric { scale }, raw_wide(min), raw_wide(max))
            }
            Seen::Bytes { .. } if empty => (Kind::Text { len: 0 }, 0, 0),
            Seen::Bytes { len_max, min, max, uuids } => match len_max {
                uuid_text::LEN if uuids => (Kind::UuidText, 0, u128::MAX),
                0..=SHORT_TEXT => {
                    let len = len_max as u8;
                    let (min, max) = (trim_text(min, len), trim_text(max, len));
                    let vary = 128 - (min ^ max).leading_zeros();
                    (Kind::Text { len }, min & !mask(vary), max)
                }
                _ => return None,
            },
        };
        let bits = 128 - ((top - base) / u128::from(stride)).leading_zeros();
        let nullable = stats.nulls() > 0;
        let KeyColumn { ty, descending } = column;
        Some(Field { ty, descending, kind, base, stride, nullable, bits, offset: 0 })
    }

    /// The field's value from a code.
    #[inline]
    fn place(&self, code: u128) -> (u128, bool) {
        if self.descending { (code ^ mask(self.bits), self.nullable) } else { (code, false) }
    }

    /// Field of NULL: (low 128 bits, top bit where there are 129).
    fn null(&self) -> (u128, bool) {
        if self.descending { (mask(self.bits), false) } else { (0, true) }
    }

    #[inline]
    fn put<K: PackedKey>(&self, key: &mut K, (code, null_bit): (u128, bool)) {
        key.put(self.offset, code);
        if null_bit {
            key.put64(self.offset + self.bits, 1);
        }
    }
}

fn raw_wide(v: i128) -> u128 {
    v as u128 ^ 1 << 127
}

/// A short text in the form of texts of at most `len` bytes.
fn trim_text(raw: u128, len: u8) -> u128 {
    let unused = 8 * (SHORT_TEXT as u32 - u32::from(len));
    (raw >> 4 >> unused) << 4 | raw & 15
}

/// The bytes of a short text and their number; `None` where there are more than the field holds.
fn short_text_bytes(raw: u128, len: u8) -> Option<([u8; 16], usize)> {
    let used = (raw & 15) as usize;
    let unused = 8 * (SHORT_TEXT as u32 - u32::from(len));
    (used <= usize::from(len)).then(|| ((raw >> 4 << unused << 8).to_be_bytes(), used))
}

/// The layout of packed keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packing {
    def: KeyDef,
    form: KeyForm,
    bits: u32,
    /// One per column; empty for [`KeyForm::Bytes`] and cut keys.
    fields: Vec<Field>,
    /// Where only the first part of each key is kept.
    cut: Option<Cut>,
}

impl Packing {
    /// Keys as key bytes: holds every key.
    pub fn bytes(def: &KeyDef) -> Packing {
        Packing { def: def.clone(), form: KeyForm::Bytes, bits: 0, fields: Vec::new(), cut: None }
    }

    /// The narrowest packing that holds all values that `stats` saw, one per key column.
    pub fn fit(def: &KeyDef, stats: &[ColumnStats]) -> Packing {
        debug_assert_eq!(def.columns.len(), stats.len());
        let columns = def.columns.iter().zip(stats);
        match columns.map(|(c, s)| Field::fit(*c, s)).collect::<Option<Vec<_>>>() {
            Some(fields) => Packing::from_fields(def, fields),
            None => Packing::bytes(def),
        }
    }

    fn from_fields(def: &KeyDef, mut fields: Vec<Field>) -> Packing {
        let mut bits = 0;
        for field in fields.iter_mut().rev() {
            field.offset = bits;
            bits += field.width();
        }
        let form = match bits {
            0..=64 => KeyForm::Word,
            65..=128 => KeyForm::Narrow,
            129..=256 => KeyForm::Wide4,
            257..=512 => KeyForm::Wide8,
            _ => return Packing::bytes(def),
        };
        Packing { def: def.clone(), form, bits, fields, cut: None }
    }

    /// The key's columns.
    pub fn def(&self) -> &KeyDef {
        &self.def
    }
    /// Width of its keys.
    pub fn form(&self) -> KeyForm {
        self.form
    }
    /// Bits in use, at the low end of a key; 0 for [`KeyForm::Bytes`].
    pub fn bits(&self) -> u32 {
        self.bits
    }
    /// An empty vector of this packing's form.
    pub fn new_keys(&self) -> Keys {
        Keys::new(self.form)
    }
    /// Empty columns for [`Packing::unpack`], one per key column.
    pub fn new_columns(&self) -> Vec<Column> {
        self.def.columns.iter().map(|c| Column::new(c.ty.physical())).collect()
    }

    /// Appends the keys of rows `range`; `columns` are the key's columns in its order. `false`: some
    /// value does not fit this packing, and nothing was appended.
    #[must_use]
    pub fn pack(&self, columns: &[&Column], range: Range<usize>, keys: &mut Keys) -> bool {
        debug_assert_eq!(columns.len(), self.def.columns.len());
        if let Some(cut) = self.cut {
            return cut.pack(&self.def, columns, range, keys);
        }
        each_form!(keys, v => self.pack_fields(columns, range, v), b => {
            let mut key = Vec::new();
            for row in range {
                key.clear();
                self.def.encode_row(columns, row, &mut key);
                b.push(&key);
            }
            true
        })
    }

    fn pack_fields<K: PackedKey>(
        &self,
        columns: &[&Column],
        range: Range<usize>,
        keys: &mut Vec<K>,
    ) -> bool {
        let before = keys.len();
        keys.resize(before + range.len(), K::ZERO);
        let out = &mut keys[before..];
        let fits = self.fields.iter().zip(columns).all(|(f, c)| f.pack(c, range.clone(), out));
        if !fits {
            keys.truncate(before);
        }
        fits
    }

    /// Appends the values of keys `range` to one column per key column.
    ///
    /// # Errors
    /// `Corruption`; `Unsupported` of cut keys, which have no values.
    pub fn unpack(&self, keys: &Keys, range: Range<usize>, columns: &mut [Column]) -> Result<()> {
        debug_assert_eq!(columns.len(), self.def.columns.len());
        self.has_values()?;
        each_form!(keys, v => {
            for (field, column) in self.fields.iter().zip(columns) {
                field.unpack(&v[range.clone()], column)?;
            }
        }, b => {
            for i in range {
                self.def.decode_into(b.get(i), columns)?;
            }
        });
        Ok(())
    }

    /// Appends the values of some key columns (`which`, positions in the key) of keys `range`, each to
    /// the column at the same place of `columns`.
    pub fn unpack_some(
        &self,
        keys: &Keys,
        range: Range<usize>,
        which: &[usize],
        columns: &mut [Column],
    ) -> Result<()> {
        self.has_values()?;
        each_form!(keys, v => {
            for (&w, column) in which.iter().zip(columns) {
                self.fields[w].unpack(&v[range.clone()], column)?;
            }
        }, b => {
            let mut all = self.new_columns();
            for i in range {
                self.def.decode_into(b.get(i), &mut all)?;
            }
            for (&w, column) in which.iter().zip(columns) {
                column.extend_range(&all[w], 0..all[w].len());
            }
        });
        Ok(())
    }

    /// Appends keys `range` of another packing of the same key; those of a packing of cut keys are cut. `Ok(false)`: some key does not fit,
    /// and nothing was appended.
    pub fn repack(
        &self,
        from: &Packing,
        keys: &Keys,
        range: Range<usize>,
        out: &mut Keys,
    ) -> Result<bool> {
        debug_assert_eq!(self.def, from.def);
        if self == from {
            out.extend_range(keys, range);
            return Ok(true);
        }
        if let Some(cut) = self.cut {
            return cut.repack(from, keys, range, out);
        }
        // Pieces, so that the columns in between stay in the cache.
        let before = out.len();
        let mut columns = from.new_columns();
        for start in range.clone().step_by(1024) {
            columns.iter_mut().for_each(|c| c.truncate(0));
            let end = range.end.min(start + 1024);
            from.unpack(keys, start..end, &mut columns)?;
            let refs: Vec<&Column> = columns.iter().collect();
            if !self.pack(&refs, 0..end - start, out) {
                out.truncate(before);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The physical form of a field's column, for a check of kinds read from disk.
fn kind_matches(kind: Kind, ty: DataType) -> bool {
    matches!(
        (kind, ty.physical()),
        (Kind::Int, Physical::Int)
            | (Kind::Wide, Physical::Wide)
            | (Kind::UuidText | Kind::Text { .. }, Physical::Bytes)
            | (Kind::Numeric { .. }, Physical::Numeric)
    )
}

fn damaged(text: &str) -> Error {
    Error::damaged(text)
}
