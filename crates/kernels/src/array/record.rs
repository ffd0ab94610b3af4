//! How does a row value lie in a column?
//!
//! | bytes | what |
//! |---|---|
//! | 2 | number of fields, little-endian |
//! | 2 | depth: one more than that of the deepest row value in its fields, little-endian |
//! | 8 each | per field the OID of its type; where it ends, counted from the first, with bit 31 set for NULL; little-endian |
//! | … | the fields, as [`super::packed`] has them |
//!
//! The depth is limited ([`MAX_DEPTH`]), so that whatever walks a row value may do so by recursion.
//! Names of fields are not here: those of a named type are its own, others are what the query says.
//!
//! ```
//! use onlap_kernels::{Datum, array::record};
//! let row = record::build(&[(21, Datum::Int2(7)), (25, Datum::Null)]).unwrap();
//! assert_eq!(row, [2, 0, 1, 0, 21, 0, 0, 0, 2, 0, 0, 0, 25, 0, 0, 0, 2, 0, 0, 0x80, 7, 0]);
//! ```
//!
//! Thread safety: plain data.

use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Oid, Result};

use super::form::Array;
use super::packed::{self, u32_at};
use crate::{Datum, Repr, repr};

/// The most fields of a row: PostgreSQL's MaxTupleAttributeNumber.
pub const MAX_FIELDS: usize = 1664;

/// How deep row values without a named type may be nested.
pub const MAX_DEPTH: usize = 1000;

const NULL: u32 = 1 << 31;

/// A row value as it lies in a column.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    fields: &'a [u8],
    data: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the form of a row value.
    ///
    /// # Panics
    /// The bytes are none that [`build`] made.
    pub fn load(bytes: &'a [u8]) -> Record<'a> {
        let fields = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let (fields, data) = bytes[4..].split_at(fields * 8);
        Record { fields, data }
    }

    /// How many fields it has.
    pub fn len(&self) -> usize {
        self.fields.len() / 8
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The type of a field.
    pub fn type_of(&self, at: usize) -> Oid {
        u32_at(self.fields, at * 8)
    }

    /// Whether a field is NULL.
    pub fn is_null(&self, at: usize) -> bool {
        u32_at(self.fields, at * 8 + 4) & NULL != 0
    }

    /// A field of a type with this representation.
    ///
    /// # Panics
    /// There is none, or it is of another representation.
    pub fn get(&self, at: usize, repr: Repr) -> Datum<'a> {
        let end = u32_at(self.fields, at * 8 + 4);
        if end & NULL != 0 {
            return Datum::Null;
        }
        let start = if at == 0 { 0 } else { u32_at(self.fields, at * 8 - 4) & !NULL };
        packed::get(repr, &self.data[start as usize..end as usize])
    }

    /// The fields, each with its type.
    pub fn fields(&self, catalog: &Catalog) -> Vec<(Oid, Datum<'a>)> {
        let field = |at| {
            let oid = self.type_of(at);
            // What has no values can be there as NULL.
            let repr = repr(catalog, oid).unwrap_or(Repr::Text);
            (oid, self.get(at, repr))
        };
        (0..self.len()).map(field).collect()
    }
}

/// A row value of fields with their types.
///
/// # Errors
/// `54000`: there are more fields than a row may have, or they are too large together.
pub fn build(fields: &[(Oid, Datum<'_>)]) -> Result<Vec<u8>> {
    if fields.len() > MAX_FIELDS {
        let message = format!("number of columns ({}) exceeds limit ({MAX_FIELDS})", fields.len());
        return Err(Error::new("54011", message));
    }
    let size = fields.iter().fold(0_usize, |sum, (_, value)| sum.saturating_add(value.size()));
    if size > MAX_BYTES - MAX_FIELDS * 24 {
        return Err(Error::new("54000", "row is too big"));
    }
    let depth = 1 + fields.iter().map(|(oid, value)| depth_of(*oid, value)).max().unwrap_or(0);
    if depth > MAX_DEPTH {
        return Err(Error::new("54001", "stack depth limit exceeded"));
    }
    let mut out = Vec::with_capacity(4 + fields.len() * 16 + size);
    out.extend_from_slice(&(fields.len() as u16).to_le_bytes());
    out.extend_from_slice(&(depth as u16).to_le_bytes());
    let start = 4 + fields.len() * 8;
    out.resize(start, 0);
    for (at, (oid, value)) in fields.iter().enumerate() {
        packed::put(value, &mut out);
        let end = (out.len() - start) as u32 | if value.is_null() { NULL } else { 0 };
        let entry = &mut out[4 + at * 8..][..8];
        entry[..4].copy_from_slice(&oid.to_le_bytes());
        entry[4..].copy_from_slice(&end.to_le_bytes());
    }
    Ok(out)
}

/// How deep row values in a field are nested. Types with names nest as often as they were declared, no deeper.
fn depth_of(oid: Oid, value: &Datum<'_>) -> usize {
    let of = |bytes: &[u8]| usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
    match (oid, value) {
        (oids::RECORD, Datum::Bytes(bytes)) => of(bytes),
        (oids::RECORD_ARRAY, Datum::Bytes(bytes)) => {
            let rows = Array::load(bytes, Repr::Bytes);
            let depths = rows.iter().map(|row| match row {
                Datum::Bytes(bytes) => of(&bytes),
                _ => 0,
            });
            depths.max().unwrap_or(0)
        }
        _ => 0,
    }
}
