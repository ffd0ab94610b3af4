//! Which values are equal, and which comes first?
//!
//! A **key** is a value or bytes whose equality and order as they stand are PostgreSQL's equality and order of the value. Joins,
//! groups, sorts, DISTINCT and window frames work on keys ([`key_column`]), so that none of them needs to know a type. Bytes
//! that stand for a whole row of columns are made of [`key_bytes`] of each: none is the beginning of another, and NULL sorts
//! last in them, equal to itself.
//!
//! | type | key |
//! |---|---|
//! | float4, float8 | int4, int8: -0 is 0, one NaN, last |
//! | numeric, jsonb, arrays, records, ranges, multiranges, inet, cidr, bit strings | bytes |
//! | char(n) | the text without blanks at its end |
//! | citext | the text in small letters |
//! | hstore, tsvector, tsquery | bytes |
//! | xid8 | int8: the smallest for 0 |
//! | interval, timetz | fixed bytes: microseconds of the whole; the moment in UTC, then the zone |
//! | all others | the value itself |
//!
//! The order of texts is that of collation C. json has no order in PostgreSQL; its key is its text. The value of an
//! enum is the place of its label, a float8.
//!
//! Thread safety: pure functions.

use std::borrow::Cow;
use std::cmp::Ordering;

use arrow_array::{Array as _, ArrayRef};
use onlap_pg::catalog::{Catalog, Kind, oids};
use onlap_pg::value::{chars, float, interval::Interval, numeric::Numeric};
use onlap_pg::{Oid, Result};

use crate::array::{Array, Record};
use crate::extension::hstore;
use crate::json::order as jsonb;
use crate::misc::net;
use crate::range::{self, Bound, Ranges};
use crate::{Datum, Repr, repr, search};

/// What kind of key a type's values have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The value itself.
    Same,
    Float4,
    Float8,
    Unsigned,
    Numeric,
    Bpchar,
    Interval,
    TimeTz,
    Jsonb,
    Address,
    Bits,
    Folded,
    Pairs,
    Vector,
    Query,
    Record,
    /// Of elements of this type.
    Array(Oid),
    /// A range or multirange between values of this type.
    Ranges(Oid),
}

fn form(catalog: &Catalog, oid: Oid) -> Form {
    let base = catalog.base_type(oid);
    match base {
        700 => Form::Float4,
        701 => Form::Float8,
        5069 => Form::Unsigned,
        1700 => Form::Numeric,
        1042 => Form::Bpchar,
        1186 => Form::Interval,
        1266 => Form::TimeTz,
        3802 => Form::Jsonb,
        869 | 650 => Form::Address,
        1560 | 1562 => Form::Bits,
        2249 => Form::Record,
        3614 => Form::Vector,
        3615 => Form::Query,
        oids::CITEXT => Form::Folded,
        oids::HSTORE => Form::Pairs,
        _ => match catalog.element(base) {
            Some(element) => Form::Array(element),
            None if catalog.get_type(base).is_some_and(|t| t.kind == Kind::Composite) => {
                Form::Record
            }
            None if catalog.is_enum(base) => Form::Float8,
            None => range::element(catalog, base).map_or(Form::Same, Form::Ranges),
        },
    }
}

/// The representation of a type's keys; `None` for a type without values.
pub fn key_repr(catalog: &Catalog, oid: Oid) -> Option<Repr> {
    let own = repr(catalog, oid)?;
    Some(match form(catalog, oid) {
        Form::Same | Form::Bpchar | Form::Folded => own,
        Form::Float4 => Repr::Int4,
        Form::Float8 | Form::Unsigned => Repr::Int8,
        Form::Interval => Repr::Fixed(16),
        Form::TimeTz => Repr::Fixed(12),
        _ => Repr::Bytes,
    })
}

/// Whether the values of a type are their own keys.
pub fn is_own_key(catalog: &Catalog, oid: Oid) -> bool {
    form(catalog, oid) == Form::Same
}

/// Whether the values of a type are rows, of which two may not be comparable.
pub fn is_record(catalog: &Catalog, oid: Oid) -> bool {
    form(catalog, oid) == Form::Record
}

/// The key of a value; NULL for NULL.
///
/// # Panics
/// The value is not of the type's representation.
pub fn key<'a>(catalog: &Catalog, oid: Oid, value: &'a Datum<'_>) -> Datum<'a> {
    of_form(catalog, form(catalog, oid), value)
}

/// The keys of a column; `None` if its values are their own keys.
///
/// # Errors
/// `54000`: the keys are too large together for one column.
///
/// # Panics
/// The column is not of the type's representation.
pub fn key_column(catalog: &Catalog, oid: Oid, column: &ArrayRef) -> Result<Option<ArrayRef>> {
    let form = form(catalog, oid);
    let (Some(own), Some(to)) = (repr(catalog, oid), key_repr(catalog, oid)) else {
        return Ok(None);
    };
    if form == Form::Same {
        return Ok(None);
    }
    let keys: Vec<Datum<'static>> = (0..column.len())
        .map(|row| of_form(catalog, form, &Datum::at(column, own, row)).into_owned())
        .collect();
    Datum::column(to, keys.iter()).map(Some)
}

fn of_form<'a>(catalog: &Catalog, form: Form, value: &'a Datum<'_>) -> Datum<'a> {
    match (form, value) {
        (_, Datum::Null) => Datum::Null,
        (Form::Float4, Datum::Float4(v)) => Datum::Int4(float::key4(*v)),
        (Form::Float8, Datum::Float8(v)) => Datum::Int8(float::key8(*v)),
        (Form::Unsigned, Datum::Int8(v)) => Datum::Int8(*v ^ i64::MIN),
        (Form::Bpchar, Datum::Text(v)) => Datum::Text(Cow::Borrowed(chars::key(v))),
        (Form::Folded, Datum::Text(v)) => Datum::text(v.to_ascii_lowercase()),
        (Form::Same, value) => borrowed(value),
        (_, value) => {
            let mut out = Vec::new();
            ordered(catalog, form, value, &mut out);
            Datum::bytes(out)
        }
    }
}

fn borrowed<'a>(value: &'a Datum<'_>) -> Datum<'a> {
    match value {
        Datum::Text(v) => Datum::Text(Cow::Borrowed(v)),
        Datum::Bytes(v) => Datum::Bytes(Cow::Borrowed(v)),
        Datum::Null => Datum::Null,
        Datum::Bool(v) => Datum::Bool(*v),
        Datum::Int2(v) => Datum::Int2(*v),
        Datum::Int4(v) => Datum::Int4(*v),
        Datum::Int8(v) => Datum::Int8(*v),
        Datum::Oid(v) => Datum::Oid(*v),
        Datum::Char(v) => Datum::Char(*v),
        Datum::Float4(v) => Datum::Float4(*v),
        Datum::Float8(v) => Datum::Float8(*v),
    }
}

const PRESENT: u8 = 1;
const ABSENT: u8 = 2;

/// Appends bytes that sort as the values do: NULL last and equal to itself, none the beginning of another.
///
/// # Panics
/// The value is not of the type's representation.
pub fn key_bytes(catalog: &Catalog, oid: Oid, value: &Datum<'_>, out: &mut Vec<u8>) {
    marked(catalog, form(catalog, oid), value, out);
}

fn marked(catalog: &Catalog, form: Form, value: &Datum<'_>, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(ABSENT);
    } else {
        out.push(PRESENT);
        ordered(catalog, form, value, out);
    }
}

/// Appends the key of a value that is not NULL as bytes none of which is the beginning of another.
fn ordered(catalog: &Catalog, form: Form, value: &Datum<'_>, out: &mut Vec<u8>) {
    match (form, value) {
        (Form::Float4, Datum::Float4(v)) => put_i32(float::key4(*v), out),
        (Form::Float8, Datum::Float8(v)) => put_i64(float::key8(*v), out),
        (Form::Unsigned, Datum::Int8(v)) => put_i64(*v ^ i64::MIN, out),
        (Form::Numeric, Datum::Bytes(v)) => Numeric::load(v).key(out),
        (Form::Bpchar, Datum::Text(v)) => put_bytes(chars::key(v).as_bytes(), out),
        (Form::Interval, Datum::Bytes(v)) => {
            let key = Interval::recv(v).expect("an interval has 16 bytes").key();
            out.extend_from_slice(&(key as u128 ^ 1 << 127).to_be_bytes());
        }
        (Form::TimeTz, Datum::Bytes(v)) => {
            let (time, zone) = v.split_at(8);
            let time = i64::from_be_bytes(time.try_into().expect("a timetz has 12 bytes"));
            let zone = i32::from_be_bytes(zone.try_into().expect("a timetz has 12 bytes"));
            put_i64(time + i64::from(zone) * 1_000_000, out);
            put_i32(zone, out);
        }
        (Form::Folded, Datum::Text(v)) => put_bytes(v.to_ascii_lowercase().as_bytes(), out),
        (Form::Pairs, Datum::Bytes(v)) => hstore::key(v, out),
        (Form::Vector, Datum::Bytes(v)) => search::vector::key(v, out),
        (Form::Query, Datum::Bytes(v)) => search::query::key(v, out),
        (Form::Jsonb, Datum::Bytes(v)) => jsonb::key(v, out),
        (Form::Address, Datum::Bytes(v)) => net::key(v, out),
        (Form::Bits, Datum::Bytes(v)) => {
            // How many bits there are stands before them.
            let (length, bits) = v.split_at(4);
            put_bytes(bits, out);
            out.extend_from_slice(length);
        }
        (Form::Record, Datum::Bytes(v)) => {
            for (oid, field) in Record::load(v).fields(catalog) {
                key_bytes(catalog, oid, &field, out);
            }
            out.push(0);
        }
        (Form::Array(element), Datum::Bytes(v)) => array(catalog, element, v, out),
        (Form::Ranges(element), Datum::Bytes(v)) => ranges(catalog, element, v, out),
        (_, value) => plain(value, out),
    }
}

fn array(catalog: &Catalog, element: Oid, bytes: &[u8], out: &mut Vec<u8>) {
    let Some(own) = repr(catalog, element) else { return put_bytes(bytes, out) };
    let array = Array::load(bytes, own);
    let form = form(catalog, element);
    for value in array.iter() {
        marked(catalog, form, &value, out);
    }
    out.push(0);
    out.push(array.ndims() as u8);
    let dims = array.dims();
    dims.iter().for_each(|dim| put_i32(dim.length, out));
    dims.iter().for_each(|dim| put_i32(dim.lower, out));
}

/// A range, or ranges in order: each after a 1, with what says on which side of their values its ends are; then a zero.
fn ranges(catalog: &Catalog, element: Oid, bytes: &[u8], out: &mut Vec<u8>) {
    let Some(own) = repr(catalog, element) else { return put_bytes(bytes, out) };
    let form = form(catalog, element);
    let end = |bound: &Bound<'_>, out: &mut Vec<u8>| match &bound.value {
        None => out.push(if bound.lower { 0 } else { 2 }),
        Some(value) => {
            out.push(1);
            ordered(catalog, form, value, out);
            out.push(u8::from(bound.inclusive != bound.lower));
        }
    };
    for range in Ranges::load(bytes, own) {
        out.push(1);
        end(&range.lower, out);
        end(&range.upper, out);
    }
    out.push(0);
}

/// A value that is its own key.
fn plain(value: &Datum<'_>, out: &mut Vec<u8>) {
    match value {
        Datum::Null => {}
        Datum::Bool(v) => out.push(u8::from(*v)),
        Datum::Char(v) => out.push(*v),
        Datum::Int2(v) => out.extend_from_slice(&(*v as u16 ^ 1 << 15).to_be_bytes()),
        Datum::Int4(v) => put_i32(*v, out),
        Datum::Int8(v) => put_i64(*v, out),
        Datum::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Datum::Float4(v) => put_i32(float::key4(*v), out),
        Datum::Float8(v) => put_i64(float::key8(*v), out),
        Datum::Text(v) => put_bytes(v.as_bytes(), out),
        Datum::Bytes(v) => put_bytes(v, out),
    }
}

fn put_i32(value: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value as u32 ^ 1 << 31).to_be_bytes());
}

fn put_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value as u64 ^ 1 << 63).to_be_bytes());
}

/// Bytes with an end that none of them can be: a zero is followed by 255, the end is two zeros.
fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == 0) {
        out.extend_from_slice(&rest[..=at]);
        out.push(255);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 0]);
}

/// Compares two values of a type, neither of which is NULL.
///
/// # Panics
/// A value is not of the type's representation.
pub fn compare(catalog: &Catalog, oid: Oid, a: &Datum<'_>, b: &Datum<'_>) -> Ordering {
    Comparer::new(catalog, oid).compare(catalog, a, b)
}

/// Compares values of one type.
#[derive(Clone, Copy, Debug)]
pub struct Comparer(Form);

impl Comparer {
    /// For a type.
    pub fn new(catalog: &Catalog, oid: Oid) -> Comparer {
        Comparer(form(catalog, oid))
    }

    /// Compares two values, neither of which is NULL.
    ///
    /// # Panics
    /// A value is not of the type's representation.
    pub fn compare(self, catalog: &Catalog, a: &Datum<'_>, b: &Datum<'_>) -> Ordering {
        match (self.0, a, b) {
            (_, Datum::Float4(a), Datum::Float4(b)) => float::key4(*a).cmp(&float::key4(*b)),
            (_, Datum::Float8(a), Datum::Float8(b)) => float::key8(*a).cmp(&float::key8(*b)),
            (Form::Bpchar, Datum::Text(a), Datum::Text(b)) => chars::key(a).cmp(chars::key(b)),
            (Form::Same, a, b) => same(a, b),
            (Form::Array(element), Datum::Bytes(a), Datum::Bytes(b)) => {
                arrays(catalog, element, a, b)
            }
            (form, a, b) => {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                ordered(catalog, form, a, &mut left);
                ordered(catalog, form, b, &mut right);
                left.cmp(&right)
            }
        }
    }

    /// Whether two values are the same, NULLs among themselves too.
    pub fn is_same(self, catalog: &Catalog, a: &Datum<'_>, b: &Datum<'_>) -> bool {
        match (a.is_null(), b.is_null()) {
            (false, false) => self.compare(catalog, a, b) == Ordering::Equal,
            (a, b) => a == b,
        }
    }
}

/// Element by element, NULL last; then the number of elements, of dimensions, lengths, lower bounds.
fn arrays(catalog: &Catalog, element: Oid, a: &[u8], b: &[u8]) -> Ordering {
    let Some(own) = repr(catalog, element) else { return a.cmp(b) };
    let (a, b) = (Array::load(a, own), Array::load(b, own));
    let comparer = Comparer::new(catalog, element);
    for (x, y) in a.iter().zip(b.iter()) {
        let order = match (x.is_null(), y.is_null()) {
            (false, false) => comparer.compare(catalog, &x, &y),
            (x, y) => x.cmp(&y),
        };
        if order.is_ne() {
            return order;
        }
    }
    let (left, right) = (a.dims(), b.dims());
    let lengths = |dims: &[crate::array::Dim]| dims.iter().map(|d| d.length).collect::<Vec<_>>();
    let lowers = |dims: &[crate::array::Dim]| dims.iter().map(|d| d.lower).collect::<Vec<_>>();
    a.len()
        .cmp(&b.len())
        .then_with(|| left.len().cmp(&right.len()))
        .then_with(|| lengths(&left).cmp(&lengths(&right)))
        .then_with(|| lowers(&left).cmp(&lowers(&right)))
}

/// Values that are their own keys.
fn same(a: &Datum<'_>, b: &Datum<'_>) -> Ordering {
    match (a, b) {
        (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
        (Datum::Char(a), Datum::Char(b)) => a.cmp(b),
        (Datum::Int2(a), Datum::Int2(b)) => a.cmp(b),
        (Datum::Int4(a), Datum::Int4(b)) => a.cmp(b),
        (Datum::Int8(a), Datum::Int8(b)) => a.cmp(b),
        (Datum::Oid(a), Datum::Oid(b)) => a.cmp(b),
        (Datum::Text(a), Datum::Text(b)) => a.cmp(b),
        (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
        (a, b) => unreachable!("{a:?} and {b:?} are of one type"),
    }
}
