//! How do packed keys become key bytes without a detour over columns?
//!
//! Readers that merge sources ask for key bytes of a handful of entries at a time. Pure.

use std::ops::Range;

use onlap_base::Result;

use super::{Field, Kind, Packing, SIGN, cut, damaged, mask, short_text_bytes};
use crate::batch::BytesVec;
use crate::key::keys::{Keys, PackedKey, each_form};
use crate::key::{bytes, decimal, uuid_text};

impl Packing {
    /// Appends the key bytes of key `i`.
    /// A cut key gives its first bytes ([`super::cut_key`]).
    pub fn key_bytes(&self, keys: &Keys, i: usize, out: &mut Vec<u8>) -> Result<()> {
        if let Some(cut) = self.cut {
            cut.append_bytes(&self.def, cut::number(keys, i), out);
            return Ok(());
        }
        each_form!(keys, v => {
            self.fields.iter().try_for_each(|f| f.append_key_bytes(&v[i], out))
        }, b => {
            out.extend_from_slice(b.get(i));
            Ok(())
        })
    }

    /// Appends the key bytes of keys `range`.
    pub fn all_key_bytes(
        &self,
        keys: &Keys,
        range: Range<usize>,
        out: &mut BytesVec,
    ) -> Result<()> {
        if let Some(cut) = self.cut {
            for i in range {
                cut.append_bytes(&self.def, cut::number(keys, i), &mut out.data);
                out.push(b"");
            }
            return Ok(());
        }
        each_form!(keys, v => {
            out.offsets.reserve(range.len());
            out.data.reserve(range.len() * (self.bits as usize / 8 + 2 * self.fields.len()));
            for key in &v[range] {
                self.fields.iter().try_for_each(|f| f.append_key_bytes(key, &mut out.data))?;
                // An empty string at the end closes what was written.
                out.push(b"");
            }
        }, b => out.extend_range(b, range));
        Ok(())
    }
}

impl Field {
    fn append_key_bytes<K: PackedKey>(&self, key: &K, out: &mut Vec<u8>) -> Result<()> {
        let flip = if self.descending { 0xff } else { 0 };
        if self.nullable && (key.get64(self.offset + self.bits) & 1 == 1) != self.descending {
            bytes::append_null(flip, out);
            return Ok(());
        }
        bytes::append_marker(flip, out);
        if self.kind == Kind::Int {
            let limit = mask(self.bits) as u64;
            let code = key.get64(self.offset) & limit ^ if self.descending { limit } else { 0 };
            let raw = (self.base as u64).wrapping_add(code.wrapping_mul(self.stride));
            bytes::append_int(self.ty, (raw ^ SIGN) as i64, flip, out);
            return Ok(());
        }
        let limit = mask(self.bits);
        let code = key.get(self.offset) & limit ^ if self.descending { limit } else { 0 };
        let raw = self.base.wrapping_add(code.wrapping_mul(u128::from(self.stride)));
        match self.kind {
            Kind::Int => unreachable!("integers were taken above"),
            Kind::Wide => bytes::append_wide((raw ^ 1 << 127) as i128, flip, out),
            Kind::Numeric { scale } => {
                decimal::encode(decimal::normalize((raw ^ 1 << 127) as i128, scale), flip, out);
            }
            Kind::UuidText => bytes::append_bytes(self.ty, &uuid_text::format(raw), flip, out),
            Kind::Text { len } => {
                let (text, used) = short_text_bytes(raw, len)
                    .ok_or_else(|| damaged("a packed text is longer than its field"))?;
                bytes::append_bytes(self.ty, &text[..used], flip, out);
            }
        }
        Ok(())
    }
}
