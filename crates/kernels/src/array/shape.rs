//! Which dimensions does an array have, and which part of it is asked for?
//!
//! An executor takes subscripts and slices from here, too. Thread safety: pure functions.

use std::fmt::Write as _;

use onlap_pg::{Error, Result};

use super::form::{Array, Builder, Dim};
use super::{of_element, own_array};
use crate::misc::rows::{bytes, int4, strict};
use crate::{Datum, Entry, Kernel, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("array_ndims(anyarray)", |types| {
        of_array(types, |array| match array.ndims() {
            0 => Datum::Null,
            ndims => Datum::Int4(ndims as i32),
        })
    }),
    ("cardinality(anyarray)", |types| of_array(types, |array| Datum::Int4(array.len() as i32))),
    ("array_dims(anyarray)", |types| of_array(types, dims)),
    ("array_length(anyarray,int4)", |types| of_dimension(types, |dim| dim.length)),
    ("array_lower(anyarray,int4)", |types| of_dimension(types, |dim| dim.lower)),
    ("array_upper(anyarray,int4)", |types| of_dimension(types, Dim::upper)),
    ("trim_array(anyarray,int4)", |types| {
        let element = of_element(types, 0);
        strict(types, move |args, _| {
            let array = own_array(&element, &args[0])?;
            let (trimmed, length) = (int4(&args[1]), first_length(&array));
            if trimmed < 0 || trimmed > length {
                let message = format!("number of elements to trim must be between 0 and {length}");
                return Err(Error::new("2202E", message));
            }
            if array.is_empty() {
                return Ok(Datum::bytes(bytes(&args[0])));
            }
            // PostgreSQL lets the upper bound of an array at the end of the range wrap around.
            let upper = array.dim(0).lower.wrapping_add(length - trimmed).wrapping_sub(1);
            slice(&array, &[(None, Some(upper))]).map(Datum::bytes)
        })
    }),
];

fn first_length(array: &Array<'_>) -> i32 {
    if array.ndims() > 0 { array.dim(0).length } else { 0 }
}

fn dims(array: &Array<'_>) -> Datum<'static> {
    if array.ndims() == 0 {
        return Datum::Null;
    }
    let mut out = String::new();
    for dim in array.dims() {
        write!(out, "[{}:{}]", dim.lower, dim.upper()).expect("a String takes all");
    }
    Datum::text(out)
}

fn of_array(types: &Types, f: fn(&Array<'_>) -> Datum<'static>) -> Box<dyn Kernel> {
    let element = of_element(types, 0);
    strict(types, move |args, _| Ok(f(&own_array(&element, &args[0])?)))
}

fn of_dimension(types: &Types, f: fn(Dim) -> i32) -> Box<dyn Kernel> {
    let element = of_element(types, 0);
    strict(types, move |args, _| {
        let array = own_array(&element, &args[0])?;
        let wanted = int4(&args[1]);
        Ok(match usize::try_from(wanted) {
            Ok(wanted @ 1..) if wanted <= array.ndims() => Datum::Int4(f(array.dim(wanted - 1))),
            _ => Datum::Null,
        })
    })
}

/// An array without elements.
pub fn empty() -> Vec<u8> {
    vec![0, 0]
}

/// The element at subscripts, NULL where there is none.
pub fn element<'a>(array: &Array<'a>, subscripts: &[i32]) -> Datum<'a> {
    match position(array, subscripts) {
        Some(at) => array.get(at),
        None => Datum::Null,
    }
}

/// Where the element at subscripts is in the whole.
pub(super) fn position(array: &Array<'_>, subscripts: &[i32]) -> Option<usize> {
    if subscripts.is_empty() || array.ndims() != subscripts.len() {
        return None;
    }
    let mut at = 0;
    for (n, subscript) in subscripts.iter().enumerate() {
        let dim = array.dim(n);
        let offset = i64::from(*subscript) - i64::from(dim.lower);
        let offset = usize::try_from(offset).ok().filter(|o| *o < dim.length as usize)?;
        at = at * dim.length as usize + offset;
    }
    Some(at)
}

/// The part of an array between bounds, each of which may be left open; an empty array where there is nothing. The result
/// counts from 1.
///
/// # Errors
/// `54000`: the part is too large, as the whole would be.
pub fn slice(array: &Array<'_>, bounds: &[(Option<i32>, Option<i32>)]) -> Result<Vec<u8>> {
    if array.is_empty() || bounds.is_empty() || array.ndims() < bounds.len() {
        return Ok(empty());
    }
    // Where the part begins in each dimension, and how long it is there.
    let mut ranges = Vec::new();
    for (n, dim) in array.dims().into_iter().enumerate() {
        let (lower, upper) = bounds.get(n).copied().unwrap_or((None, None));
        let lower = lower.map_or(dim.lower, |lower| lower.max(dim.lower));
        let upper = upper.map_or(dim.upper(), |upper| upper.min(dim.upper()));
        if lower > upper {
            return Ok(empty());
        }
        let start = (i64::from(lower) - i64::from(dim.lower)) as usize;
        ranges.push((
            start,
            (i64::from(upper) - i64::from(lower) + 1) as usize,
            dim.length as usize,
        ));
    }
    let mut builder = Builder::new(array.repr());
    copy(array, &ranges, 0, &mut builder)?;
    let dims: Vec<Dim> = ranges.iter().map(|range| Dim::new(range.1)).collect();
    Ok(builder.finish_as(&dims))
}

fn copy(
    array: &Array<'_>,
    ranges: &[(usize, usize, usize)],
    at: usize,
    builder: &mut Builder,
) -> Result<()> {
    let Some(((start, length, whole), inner)) = ranges.split_first() else {
        return builder.push(&array.get(at));
    };
    (*start..start + length).try_for_each(|n| copy(array, inner, at * whole + n, builder))
}
