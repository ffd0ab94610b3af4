//! What is kept of a key that is cut?
//!
//! Where the first column is long and random, few of its bits tell keys apart, and the others cost disk
//! and merges for nothing. A *cut key* is the first [`cut_len`] bytes of the key bytes, without the zeros
//! at their end ([`cut_key`]); it stands for an interval of keys. Cutting never turns the order of two
//! keys round, though it may make them equal. So whole keys and cut ones can be brought into one
//! order as soon as all of them are cut, and no byte that was cut off is needed for it.
//!
//! For a whole key k and a cut key c: k lies before c as a byte string exactly where cutting k gives
//! something before c. This holds because c does not end in a zero. A prefix of at most as many bytes as
//! are kept begins the same keys before and after the cut.
//!
//! Packed, a cut key is one number: its bytes, big-endian, filled up with zeros. Of canonical UUIDs in
//! text form there is a *dense* form: the marker, then the bits that the digits stand for.
//!
//! Pure.

use std::ops::Range;

use onlap_base::{Error, ErrorKind, Result};

use super::{KeyBound, Kind, Packing};
use crate::batch::Column;
use crate::key::KeyDef;
use crate::key::bytes;
use crate::key::keys::{KeyForm, Keys, PackedKey, each_form};
use crate::types::DataType;

/// Bytes kept of binary keys: the marker and 40 bits, by which a billion random keys have one false
/// neighbour in a thousand.
const BINARY: usize = 6;
/// Bytes kept of texts: those in which a canonical UUID has its first 40 bits.
const TEXT: usize = 12;
/// Bits of a dense key below its marker.
const DENSE_BITS: u32 = 40;
/// Where the first hyphen of a UUID stands, behind the marker.
const HYPHEN: usize = 9;

/// How keys are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Bytes kept.
    len: usize,
    /// Whether all are of canonical UUIDs, and their digits are bits.
    pub dense: bool,
}

/// How many bytes of the keys of an index are kept where they are cut; `None` where that is of no use,
/// as the first column has at most 64 bits, or its bits do not decide.
pub fn cut_len(def: &KeyDef) -> Option<usize> {
    match def.columns.first()?.ty {
        DataType::Uuid | DataType::Bytea => Some(BINARY),
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => Some(TEXT),
        _ => None,
    }
}

/// What is kept of key bytes, whole ones or a prefix, of which `len` bytes are kept.
pub fn cut_key(key: &[u8], len: usize) -> &[u8] {
    let kept = &key[..key.len().min(len)];
    let end = kept.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    &kept[..end]
}

/// Key `i` as a number.
pub(super) fn number(keys: &Keys, i: usize) -> u128 {
    each_form!(keys, v => v[i].get(0), _b => 0)
}

impl Packing {
    /// Cut keys; dense ones hold canonical UUIDs in text form alone. `None` where keys cannot be cut.
    pub fn cut(def: &KeyDef, dense: bool) -> Option<Packing> {
        let len = cut_len(def).filter(|len| !dense || *len == TEXT)?;
        let bits = if dense { 8 + DENSE_BITS } else { 8 * len as u32 };
        let form = if bits <= u64::BITS { KeyForm::Word } else { KeyForm::Narrow };
        let cut = Some(Cut { len, dense });
        Some(Packing { def: def.clone(), form, bits, fields: Vec::new(), cut })
    }

    /// Keys of this packing as they are when they are cut; `None` where they cannot be.
    pub fn to_cut(&self) -> Option<Packing> {
        Packing::cut(&self.def, self.cuts_to_dense())
    }

    /// Whether its keys are cut.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Whether its keys, when they are cut, fit the dense form.
    pub(super) fn cuts_to_dense(&self) -> bool {
        match self.cut {
            Some(cut) => cut.dense,
            None => {
                self.fields.first().is_some_and(|f| f.kind == Kind::UuidText && !f.nullable)
                    && cut_len(&self.def) == Some(TEXT)
            }
        }
    }

    pub(super) fn has_values(&self) -> Result<()> {
        match self.cut {
            None => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::Unsupported, "keys that were cut have no values")),
        }
    }
}

impl Cut {
    /// The number of key bytes; `None` where the dense form does not hold them.
    fn number(self, def: &KeyDef, key: &[u8]) -> Option<u128> {
        let kept = &key[..key.len().min(self.len)];
        if !self.dense {
            let mut padded = [0; 16];
            padded[16 - self.len..][..kept.len()].copy_from_slice(kept);
            return Some(u128::from_be_bytes(padded));
        }
        let flip = flip(def);
        if kept.len() != TEXT || kept[0] ^ flip != 1 || kept[HYPHEN] ^ flip != b'-' {
            return None;
        }
        let mut bits = u128::from(kept[0]);
        for (at, byte) in kept.iter().enumerate().skip(1).filter(|(at, _)| *at != HYPHEN) {
            debug_assert!(at < TEXT);
            let digit = match byte ^ flip {
                digit @ b'0'..=b'9' => digit - b'0',
                letter @ b'a'..=b'f' => letter - b'a' + 10,
                _ => return None,
            };
            bits = bits << 4 | u128::from(digit ^ (flip & 15));
        }
        Some(bits)
    }

    /// Appends the bytes of a cut key that is given as a number.
    pub fn append_bytes(self, def: &KeyDef, number: u128, out: &mut Vec<u8>) {
        if !self.dense {
            out.extend_from_slice(cut_key(&number.to_be_bytes()[16 - self.len..], self.len));
            return;
        }
        let flip = flip(def);
        out.push((number >> DENSE_BITS) as u8);
        for at in 1..TEXT {
            if at == HYPHEN {
                out.push(b'-' ^ flip);
                continue;
            }
            let after = if at < HYPHEN { TEXT - 2 - at } else { TEXT - 1 - at };
            let digit = (number >> (4 * after)) as u8 & 15 ^ (flip & 15);
            out.push((if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }) ^ flip);
        }
    }

    /// Appends the cut keys of rows `range`. `false`: the dense form does not hold one, and nothing was
    /// appended.
    pub fn pack(
        self,
        def: &KeyDef,
        columns: &[&Column],
        range: Range<usize>,
        out: &mut Keys,
    ) -> bool {
        let before = out.len();
        let mut key = Vec::new();
        for row in range {
            key.clear();
            for (part, column) in def.columns.iter().zip(columns) {
                if key.len() < self.len {
                    bytes::encode_cell(*part, column, row, &mut key);
                }
            }
            let Some(number) = self.number(def, &key) else {
                out.truncate(before);
                return false;
            };
            push(out, number);
        }
        true
    }

    /// Appends keys of another packing.
    pub fn repack(
        self,
        from: &Packing,
        keys: &Keys,
        range: Range<usize>,
        out: &mut Keys,
    ) -> Result<bool> {
        if self.repack_field(from, keys, range.clone(), out) {
            return Ok(true);
        }
        let before = out.len();
        let mut key = Vec::new();
        for i in range {
            key.clear();
            from.key_bytes(keys, i, &mut key)?;
            let Some(number) = self.number(&from.def, &key) else {
                out.truncate(before);
                return Ok(false);
            };
            push(out, number);
        }
        Ok(true)
    }

    /// The same where the kept bits are the first ones of a field of 128. `false`: they are not.
    fn repack_field(
        self,
        from: &Packing,
        keys: &Keys,
        range: Range<usize>,
        out: &mut Keys,
    ) -> bool {
        let Some(field) = from.fields.first().filter(|f| f.bits == 128 && !f.nullable) else {
            return false;
        };
        let uuid = field.kind == Kind::Wide && field.ty == DataType::Uuid && self.len == BINARY;
        let text = field.kind == Kind::UuidText && self.dense;
        if !uuid && !text {
            return false;
        }
        let marker = u128::from(1 ^ flip(&from.def)) << DENSE_BITS;
        each_form!(keys, v => {
            for key in &v[range] {
                push(out, marker | key.get(field.offset) >> (128 - DENSE_BITS));
            }
        }, _b => return false);
        true
    }

    /// See [`Packing::bound`].
    pub fn bound(self, def: &KeyDef, prefix: &[u8], after: bool) -> KeyBound {
        let kept = &prefix[..prefix.len().min(self.len)];
        if !self.dense {
            let low = self.number(def, kept).expect("every key fits this form");
            let step = if after { 1 << (8 * (self.len - kept.len())) } else { 0 };
            let bound = low + step;
            return match bound >> (8 * self.len) {
                0 => as_bound(
                    if self.len * 8 <= 64 { KeyForm::Word } else { KeyForm::Narrow },
                    bound,
                ),
                _ => KeyBound::End,
            };
        }
        match self.number(def, kept) {
            Some(number) => as_bound(KeyForm::Word, number + u128::from(after)),
            None => {
                let prefix = if after { kept } else { cut_key(kept, self.len) };
                KeyBound::Bytes { prefix: prefix.to_vec(), after }
            }
        }
    }

    /// How many of keys `range` have NULL in the first column.
    pub fn count_nulls(self, def: &KeyDef, keys: &Keys, range: Range<usize>) -> u64 {
        if self.dense {
            return 0;
        }
        let null = u128::from(2 ^ flip(def));
        range.filter(|&i| number(keys, i) >> (8 * (self.len - 1)) == null).count() as u64
    }
}

/// What bytes of the first column are inverted with.
fn flip(def: &KeyDef) -> u8 {
    if def.columns[0].descending { 0xff } else { 0 }
}

fn push(keys: &mut Keys, number: u128) {
    match keys {
        Keys::Word(v) => v.push(number as u64),
        Keys::Narrow(v) => v.push(number),
        _ => unreachable!("cut keys have two forms"),
    }
}

fn as_bound(form: KeyForm, number: u128) -> KeyBound {
    match form {
        KeyForm::Word => KeyBound::Word(number as u64),
        _ => KeyBound::Narrow(number),
    }
}

#[cfg(test)]
mod tests;
