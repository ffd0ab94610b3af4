//! Which bytes sort as arrays do, and can be read again?
//!
//! Of elements whose equality is that of their bits: booleans, integers, OIDs, "char", texts, names, uuid, dates and times, places of enums' labels.
//!
//! | bytes | what |
//! |---|---|
//! | each element | 1 and its bytes, or 2 for NULL, which is last |
//! | 1 | 0: there are no more |
//! | 1 | number of dimensions |
//! | 4 each | their lengths, then their lower bounds |
//!
//! Numbers are big-endian with their sign bit turned, texts end with two zeros, a zero in them is followed by 255.
//!
//! ```text
//! '{7,NULL}'::int2[]  01 80 07  02  00  01  80 00 00 02  80 00 00 01
//! '{}'::int2[]        00  00
//! ```
//!
//! Thread safety: pure functions.

use onlap_kernels::array::{Array, Builder, Dim};
use onlap_kernels::{Datum, Repr, is_own_key, repr};
use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Kind};

use super::ordered::{
    put_bytes, put_f64, put_i32, put_i64, take_bytes, take_f64, take_i32, take_i64,
};

const PRESENT: u8 = 1;
const ABSENT: u8 = 2;
/// PostgreSQL's MAXDIM.
const DIMENSIONS: u8 = 6;

/// Whether arrays of a type are kept in this form.
pub(super) fn is_plain(catalog: &Catalog, element: Oid) -> bool {
    if catalog.is_enum(element) {
        return true;
    }
    let is_base = catalog.get_type(element).is_some_and(|ty| ty.kind == Kind::Base);
    // json has no order. Nor has xml, whose binary form is another text than the value.
    let is_unordered = element == 114;
    is_base
        && !is_unordered
        && is_own_key(catalog, element)
        && !matches!(repr(catalog, element), None | Some(Repr::Bytes))
}

/// An array as it lies in a column.
pub(super) fn put(bytes: &[u8], own: Repr, out: &mut Vec<u8>) {
    let array = Array::load(bytes, own);
    for value in array.iter() {
        match value {
            Datum::Null => out.push(ABSENT),
            value => {
                out.push(PRESENT);
                put_element(&value, out);
            }
        }
    }
    out.push(0);
    let dims = array.dims();
    out.push(dims.len() as u8);
    dims.iter().for_each(|dim| put_i32(dim.length, out));
    dims.iter().for_each(|dim| put_i32(dim.lower, out));
}

fn put_element(value: &Datum<'_>, out: &mut Vec<u8>) {
    match value {
        Datum::Bool(v) => out.push(u8::from(*v)),
        Datum::Char(v) => out.push(*v),
        Datum::Int2(v) => out.extend_from_slice(&(*v as u16 ^ 1 << 15).to_be_bytes()),
        Datum::Int4(v) => put_i32(*v, out),
        Datum::Int8(v) => put_i64(*v, out),
        Datum::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Text(v) => put_bytes(v.as_bytes(), out),
        // Of fixed width.
        Datum::Bytes(v) => out.extend_from_slice(v),
        // The place of an enum's label.
        Datum::Float8(v) => put_f64(*v, out),
        Datum::Null | Datum::Float4(_) => {}
    }
}

/// The array that bytes are, as it lies in a column.
pub(super) fn take(mut bytes: &[u8], own: Repr) -> Option<Vec<u8>> {
    let mut builder = Builder::new(own);
    loop {
        let (mark, rest) = bytes.split_first()?;
        bytes = rest;
        match *mark {
            PRESENT => builder.push(&take_element(&mut bytes, own)?).ok()?,
            ABSENT => builder.push(&Datum::Null).ok()?,
            0 => break,
            _ => return None,
        }
    }
    let (count, mut rest) = bytes.split_first().filter(|(count, _)| **count <= DIMENSIONS)?;
    let mut number = || take_i32(&mut rest);
    let lengths = (0..*count).map(|_| number()).collect::<Option<Vec<i32>>>()?;
    let lowers = (0..*count).map(|_| number()).collect::<Option<Vec<i32>>>()?;
    let whole = lengths.iter().try_fold(usize::from(*count > 0), |all, length| {
        all.checked_mul(usize::try_from(*length).ok()?)
    })?;
    if whole != builder.len() || !rest.is_empty() {
        return None;
    }
    let dims = lengths.into_iter().zip(lowers).map(|(length, lower)| Dim { length, lower });
    Some(builder.finish_as(&dims.collect::<Vec<Dim>>()))
}

fn take_element(bytes: &mut &[u8], own: Repr) -> Option<Datum<'static>> {
    let mut fixed = |width: usize| {
        let (head, tail) = bytes.split_at_checked(width)?;
        *bytes = tail;
        Some(head)
    };
    Some(match own {
        Repr::Bool => Datum::Bool(fixed(1)?[0] != 0),
        Repr::Char => Datum::Char(fixed(1)?[0]),
        Repr::Int2 => {
            let bytes = fixed(2)?.try_into().ok()?;
            Datum::Int2((u16::from_be_bytes(bytes) ^ 1 << 15) as i16)
        }
        Repr::Oid => Datum::Oid(u32::from_be_bytes(fixed(4)?.try_into().ok()?)),
        Repr::Fixed(width) => Datum::bytes(fixed(usize::try_from(width).ok()?)?),
        Repr::Int4 => Datum::Int4(take_i32(bytes)?),
        Repr::Int8 => Datum::Int8(take_i64(bytes)?),
        Repr::Text => Datum::text(String::from_utf8(take_bytes(bytes)?).ok()?),
        Repr::Float8 => Datum::Float8(take_f64(bytes)?),
        Repr::Float4 | Repr::Bytes => return None,
    })
}
