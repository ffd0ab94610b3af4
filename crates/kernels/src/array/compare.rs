//! Which arrays and rows are equal, which comes first, and which has the elements of another?
//!
//! Thread safety: pure functions.

use std::cmp::Ordering;
use std::collections::HashSet;

use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::{Error, Oid, Result, worked};

use super::form::{Array, ELEMENT};
use super::packed;
use super::record::Record;
use super::search::equality;
use super::{Element, of_element, own_array};
use crate::key::{Comparer, key_bytes};
use crate::misc::rows::{bytes, strict};
use crate::{Datum, Entry, Kernel, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("array_eq(anyarray,anyarray)", |types| arrays(types, true, Ordering::is_eq)),
    ("array_ne(anyarray,anyarray)", |types| arrays(types, true, Ordering::is_ne)),
    ("array_lt(anyarray,anyarray)", |types| arrays(types, false, Ordering::is_lt)),
    ("array_le(anyarray,anyarray)", |types| arrays(types, false, Ordering::is_le)),
    ("array_gt(anyarray,anyarray)", |types| arrays(types, false, Ordering::is_gt)),
    ("array_ge(anyarray,anyarray)", |types| arrays(types, false, Ordering::is_ge)),
    ("oidvectoreq(oidvector,oidvector)", |types| vectors(types, Ordering::is_eq)),
    ("oidvectorne(oidvector,oidvector)", |types| vectors(types, Ordering::is_ne)),
    ("oidvectorlt(oidvector,oidvector)", |types| vectors(types, Ordering::is_lt)),
    ("oidvectorle(oidvector,oidvector)", |types| vectors(types, Ordering::is_le)),
    ("oidvectorgt(oidvector,oidvector)", |types| vectors(types, Ordering::is_gt)),
    ("oidvectorge(oidvector,oidvector)", |types| vectors(types, Ordering::is_ge)),
    ("record_eq(record,record)", |types| records(types, true, Ordering::is_eq)),
    ("record_ne(record,record)", |types| records(types, true, Ordering::is_ne)),
    ("record_lt(record,record)", |types| records(types, false, Ordering::is_lt)),
    ("record_le(record,record)", |types| records(types, false, Ordering::is_le)),
    ("record_gt(record,record)", |types| records(types, false, Ordering::is_gt)),
    ("record_ge(record,record)", |types| records(types, false, Ordering::is_ge)),
    ("record_image_eq(record,record)", |types| images(types, true)),
    ("record_image_ne(record,record)", |types| images(types, false)),
    ("arraycontains(anyarray,anyarray)", |types| contains(types, |a, b| (b, a), true)),
    ("arraycontained(anyarray,anyarray)", |types| contains(types, |a, b| (a, b), true)),
    ("arrayoverlap(anyarray,anyarray)", |types| contains(types, |a, b| (a, b), false)),
];

/// How values of a type are ordered.
///
/// # Errors
/// `42883`: they are not.
pub fn ordering(catalog: &Catalog, oid: Oid) -> Result<Comparer> {
    let base = catalog.base_type(oid);
    // json, xml, jsonpath, unknown, xid, cid, aclitem
    if matches!(base, 114 | 142 | 4072 | 705 | 28 | 29 | 1033) {
        let shown = catalog.shown(oid);
        let message = format!("could not identify a comparison function for type {shown}");
        return Err(Error::new("42883", message));
    }
    Ok(Comparer::new(catalog, oid))
}

fn arrays(types: &Types, equal: bool, test: fn(Ordering) -> bool) -> Box<dyn Kernel> {
    let element = of_element(types, 0);
    let whole = types.args[0].oid;
    strict(types, move |args, cx| {
        let element = element.as_ref().map_err(Clone::clone)?;
        if equal {
            equality(cx.catalog, element.oid)?;
        } else {
            ordering(cx.catalog, element.oid)?;
        }
        let order = Comparer::new(cx.catalog, whole).compare(cx.catalog, &args[0], &args[1]);
        Ok(Datum::Bool(test(order)))
    })
}

/// Vectors: first by their lengths.
fn vectors(types: &Types, test: fn(Ordering) -> bool) -> Box<dyn Kernel> {
    let element = of_element(types, 0);
    strict(types, move |args, _| {
        let (a, b) = (own_array(&element, &args[0])?, own_array(&element, &args[1])?);
        let numbers = |array: &Array<'_>| -> Vec<u32> {
            array.iter().map(|value| if let Datum::Oid(oid) = value { oid } else { 0 }).collect()
        };
        let order = a.len().cmp(&b.len()).then_with(|| numbers(&a).cmp(&numbers(&b)));
        Ok(Datum::Bool(test(order)))
    })
}

fn records(types: &Types, equal: bool, test: fn(Ordering) -> bool) -> Box<dyn Kernel> {
    strict(types, move |args, cx| {
        let order = compare_records(cx.catalog, bytes(&args[0]), bytes(&args[1]), equal)?;
        Ok(Datum::Bool(test(order)))
    })
}

/// Whether rows have the same bytes in their fields, or have not.
fn images(types: &Types, wanted: bool) -> Box<dyn Kernel> {
    strict(types, move |args, cx| {
        let same = |_: Oid, a: &Datum<'_>, b: &Datum<'_>| {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            packed::put(a, &mut left);
            packed::put(b, &mut right);
            Ok(left.cmp(&right))
        };
        let order = walk(cx.catalog, bytes(&args[0]), bytes(&args[1]), same)?;
        Ok(Datum::Bool(order.is_eq() == wanted))
    })
}

/// Compares two rows, for equality alone or for order; NULLs are equal and come last.
///
/// # Errors
/// `42804`: they have other fields; `42883`: fields have no equality, or no order.
pub fn compare_records(catalog: &Catalog, a: &[u8], b: &[u8], equal: bool) -> Result<Ordering> {
    walk(catalog, a, b, |oid, x, y| {
        let comparer = match equal {
            true => equality(catalog, oid)?,
            false => ordering(catalog, oid)?,
        };
        match (x, y) {
            (Datum::Bytes(x), Datum::Bytes(y)) if catalog.base_type(oid) == oids::RECORD => {
                compare_records(catalog, x, y, equal)
            }
            (x, y) if x.is_null() || y.is_null() => Ok(Ordering::Equal),
            (x, y) => Ok(comparer.compare(catalog, x, y)),
        }
    })
}

/// Goes over the fields of two rows until they differ.
fn walk(
    catalog: &Catalog,
    a: &[u8],
    b: &[u8],
    compare: impl Fn(Oid, &Datum<'_>, &Datum<'_>) -> Result<Ordering>,
) -> Result<Ordering> {
    let (a, b) = (Record::load(a).fields(catalog), Record::load(b).fields(catalog));
    for (at, ((oid, left), (right_oid, right))) in a.iter().zip(&b).enumerate() {
        if oid != right_oid {
            let (x, y, n) = (catalog.shown(*oid), catalog.shown(*right_oid), at + 1);
            let message =
                format!("cannot compare dissimilar column types {x} and {y} at record column {n}");
            return Err(Error::new("42804", message));
        }
        let order = compare(*oid, left, right)?;
        let order = left.is_null().cmp(&right.is_null()).then(order);
        if order.is_ne() {
            return Ok(order);
        }
    }
    if a.len() != b.len() {
        let message = "cannot compare record types with different numbers of columns";
        return Err(Error::new("42804", message));
    }
    Ok(Ordering::Equal)
}

fn contains(
    types: &Types,
    turn: for<'a> fn(Array<'a>, Array<'a>) -> (Array<'a>, Array<'a>),
    all: bool,
) -> Box<dyn Kernel> {
    let element = of_element(types, 0);
    strict(types, move |args, cx| {
        let own = element.as_ref().map_err(Clone::clone)?;
        let (a, b) = (own_array(&element, &args[0])?, own_array(&element, &args[1])?);
        let (wanted, held) = turn(a, b);
        equality(cx.catalog, own.oid)?;
        has(cx.catalog, own, &wanted, &held, all).map(Datum::Bool)
    })
}

/// Comparisons of arrays beyond which a table of keys is made first.
const MANY: usize = 256;

/// Whether an array has all, or any, elements that are wanted; NULL is never one of them.
fn has(
    catalog: &Catalog,
    element: &Element,
    wanted: &Array<'_>,
    held: &Array<'_>,
    all: bool,
) -> Result<bool> {
    if all && wanted.has_nulls() {
        return Ok(false);
    }
    let present = |value: &Datum<'_>| !value.is_null();
    if wanted.len().saturating_mul(held.len()) <= MANY {
        let comparer = Comparer::new(catalog, element.oid);
        let held: Vec<Datum<'_>> = held.iter().filter(present).collect();
        let found = |value: Datum<'_>| {
            held.iter().any(|other| comparer.compare(catalog, &value, other).is_eq())
        };
        let mut wanted = wanted.iter().filter(present);
        return Ok(if all { wanted.all(found) } else { wanted.any(found) });
    }
    let key = |value: Datum<'_>| {
        let mut out = Vec::new();
        key_bytes(catalog, element.oid, &value, &mut out);
        out
    };
    let mut keys: HashSet<Vec<u8>> = HashSet::new();
    for value in held.iter().filter(present) {
        worked(ELEMENT + value.size())?;
        keys.insert(key(value));
    }
    for value in wanted.iter().filter(present) {
        worked(ELEMENT + value.size())?;
        if keys.contains(&key(value)) != all {
            return Ok(!all);
        }
    }
    Ok(all)
}
