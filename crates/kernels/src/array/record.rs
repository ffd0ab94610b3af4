//! How does a row value lie in a column?
//!
//! | bytes | what |
//! |---|---|
//! | 2 | number of fields, little-endian |
//! | 2 | depth: one more than that of the deepest row value in its fields; bit 15 is set if fields have names; little-endian |
//! | 8 each | per field the OID of its type; where it ends, counted from the first, with bit 31 set for NULL; little-endian |
//! | 4 | only with names: how many bytes they take, little-endian |
//! | 1, … | only with names: per field the length of its name; the name |
//! | … | the fields, as [`super::packed`] has them |
//!
//! The depth is limited ([`MAX_DEPTH`]), so that whatever walks a row value may do so by recursion.
//! Rows of tables and queries have the names of their columns, since json shows them; those of `ROW(…)` have none, and are
//! shown as f1, f2 and so on.
//!
//! ```
//! use onlap_kernels::{Datum, array::record};
//! let row = record::build(&[(21, Datum::Int2(7)), (25, Datum::Null)]).unwrap();
//! assert_eq!(row, [2, 0, 1, 0, 21, 0, 0, 0, 2, 0, 0, 0, 25, 0, 0, 0, 2, 0, 0, 0x80, 7, 0]);
//! ```
//!
//! Thread safety: plain data.

use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::value::{MAX_BYTES, chars};
use onlap_pg::{Error, Oid, Result};

use super::form::Array;
use super::packed::{self, u32_at};
use crate::{Datum, Repr, repr};

/// The most fields of a row: PostgreSQL's MaxTupleAttributeNumber.
pub const MAX_FIELDS: usize = 1664;

/// How deep row values without a named type may be nested.
pub const MAX_DEPTH: usize = 1000;

const NULL: u32 = 1 << 31;

const NAMED: u16 = 1 << 15;

/// A row value as it lies in a column.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    fields: &'a [u8],
    names: &'a [u8],
    data: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the form of a row value.
    ///
    /// # Panics
    /// The bytes are none that [`build`] made.
    pub fn load(bytes: &'a [u8]) -> Record<'a> {
        let fields = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let named = u16::from_le_bytes([bytes[2], bytes[3]]) & NAMED != 0;
        let (fields, rest) = bytes[4..].split_at(fields * 8);
        let (names, data) = match named {
            true => rest[4..].split_at(u32_at(rest, 0) as usize),
            false => rest.split_at(0),
        };
        Record { fields, names, data }
    }

    /// The names of the fields.
    pub fn names(&self) -> Vec<std::borrow::Cow<'a, str>> {
        if self.names.is_empty() {
            return (1..=self.len()).map(|n| format!("f{n}").into()).collect();
        }
        let mut rest = self.names;
        let mut name = || {
            let (length, tail) = rest.split_first().expect("every field has a name");
            let (name, tail) = tail.split_at(usize::from(*length));
            rest = tail;
            std::str::from_utf8(name).expect("a name is UTF-8").into()
        };
        (0..self.len()).map(|_| name()).collect()
    }

    /// How many fields it has.
    pub fn len(&self) -> usize {
        self.fields.len() / 8
    }

    /// Whether its fields are of these types, none more and none less.
    pub fn is_of(&self, types: impl ExactSizeIterator<Item = Oid>) -> bool {
        types.len() == self.len() && types.enumerate().all(|(at, oid)| self.type_of(at) == oid)
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
            // What has no values can be there as NULL. Of a type that has gone, nothing is known.
            let repr = repr(catalog, oid).unwrap_or(Repr::Bytes);
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
    build_named(&[], fields)
}

/// A row value of fields with their types and names.
///
/// # Errors
/// `54000`: there are more fields than a row may have, or they are too large together.
///
/// # Panics
/// There are names, but not of all fields.
pub fn build_named(names: &[&str], fields: &[(Oid, Datum<'_>)]) -> Result<Vec<u8>> {
    assert!(names.is_empty() || names.len() == fields.len(), "every field has a name");
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
    let named = if names.is_empty() { 0 } else { NAMED };
    out.extend_from_slice(&(depth as u16 | named).to_le_bytes());
    out.resize(4 + fields.len() * 8, 0);
    if named != 0 {
        let size: usize = names.iter().map(|name| chars::to_name(name).len() + 1).sum();
        out.extend_from_slice(&(size as u32).to_le_bytes());
        for name in names {
            let name = chars::to_name(name);
            out.push(name.len() as u8);
            out.extend_from_slice(name.as_bytes());
        }
    }
    let start = out.len();
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
    let of = |bytes: &[u8]| usize::from(u16::from_le_bytes([bytes[2], bytes[3]]) & !NAMED);
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
