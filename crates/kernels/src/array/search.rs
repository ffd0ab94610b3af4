//! Where is an element in an array, and what is an array without it?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Oid, Result, worked};

use super::compare::ordering;
use super::form::{Array, Builder, Dim, ELEMENT};
use super::{Element, of_element};
use crate::key::Comparer;
use crate::misc::rows::{bytes, called, int4, strict};
use crate::{Datum, Entry, Kernel, Repr, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("array_position(anycompatiblearray,anycompatible)", position),
    ("array_position(anycompatiblearray,anycompatible,int4)", position),
    ("array_positions(anycompatiblearray,anycompatible)", positions),
    ("width_bucket(anycompatible,anycompatiblearray)", |types| {
        let element = of_element(types, 1);
        strict(types, move |args, cx| {
            let element = element.as_ref().map_err(Clone::clone)?;
            bucket(element, &args[0], &Array::load(bytes(&args[1]), element.repr), cx.catalog)
        })
    }),
    ("array_remove(anycompatiblearray,anycompatible)", |types| {
        let element = of_element(types, 0);
        called(types, move |args, cx| {
            let element = element.as_ref().map_err(Clone::clone)?;
            let Datum::Bytes(own) = &args[0] else { return Ok(Datum::Null) };
            let array = Array::load(own, element.repr);
            if array.is_empty() {
                return Ok(Datum::bytes(own.as_ref()));
            }
            if array.ndims() > 1 {
                let message = "removing elements from multidimensional arrays is not supported";
                return Err(Error::new("0A000", message));
            }
            let same = equality(cx.catalog, element.oid)?;
            let mut builder = Builder::new(element.repr);
            for held in array.iter() {
                worked(ELEMENT)?;
                if !same.is_same(cx.catalog, &held, &args[1]) {
                    builder.push(&held)?;
                }
            }
            let dim = Dim { length: builder.len() as i32, lower: array.dim(0).lower };
            Ok(Datum::bytes(builder.finish_as(&[dim])))
        })
    }),
    ("array_replace(anycompatiblearray,anycompatible,anycompatible)", |types| {
        let element = of_element(types, 0);
        called(types, move |args, cx| {
            let element = element.as_ref().map_err(Clone::clone)?;
            let Datum::Bytes(own) = &args[0] else { return Ok(Datum::Null) };
            let array = Array::load(own, element.repr);
            if array.is_empty() {
                return Ok(Datum::bytes(own.as_ref()));
            }
            let same = equality(cx.catalog, element.oid)?;
            let mut builder = Builder::new(element.repr);
            for held in array.iter() {
                let found = same.is_same(cx.catalog, &held, &args[1]);
                builder.push(if found { &args[2] } else { &held })?;
            }
            Ok(Datum::bytes(builder.finish_as(&array.dims())))
        })
    }),
];

/// How values of a type are equal.
///
/// # Errors
/// `42883`: they are not.
pub(crate) fn equality(catalog: &onlap_pg::catalog::Catalog, oid: Oid) -> Result<Comparer> {
    let base = catalog.base_type(oid);
    // json, xml, jsonpath, unknown
    if matches!(base, 114 | 142 | 4072 | 705) {
        let shown = catalog.shown(oid);
        let message = format!("could not identify an equality operator for type {shown}");
        return Err(Error::new("42883", message));
    }
    Ok(Comparer::new(catalog, oid))
}

/// The positions of an element from a subscript on, in order; errors are those of being ended.
fn places<'a>(
    element: &Element,
    array: &Array<'a>,
    value: &'a Datum<'_>,
    from: i32,
    catalog: &'a onlap_pg::catalog::Catalog,
) -> Result<impl Iterator<Item = Result<i32>> + use<'a>> {
    let array = *array;
    let same = equality(catalog, element.oid)?;
    let lower = i64::from(if array.ndims() == 0 { 1 } else { array.dim(0).lower });
    let first = (i64::from(from) - lower).clamp(0, array.len() as i64) as usize;
    Ok((first..array.len()).filter_map(move |at| {
        let held = array.get(at);
        if let Err(why) = worked(ELEMENT + held.size()) {
            return Some(Err(why));
        }
        same.is_same(catalog, &held, value).then_some(Ok((lower + at as i64) as i32))
    }))
}

/// An array that may be searched; `None` for NULL.
fn searched<'a>(element: &Element, value: &'a Datum<'_>) -> Result<Option<Array<'a>>> {
    if value.is_null() {
        return Ok(None);
    }
    let array = Array::load(bytes(value), element.repr);
    if array.ndims() > 1 {
        let message = "searching for elements in multidimensional arrays is not supported";
        return Err(Error::new("0A000", message));
    }
    Ok(Some(array))
}

fn position(types: &Types) -> Box<dyn Kernel> {
    let element = of_element(types, 0);
    called(types, move |args, cx| {
        let element = element.as_ref().map_err(Clone::clone)?;
        let Some(array) = searched(element, &args[0])? else { return Ok(Datum::Null) };
        if array.is_empty() || args[1].is_null() && !array.has_nulls() {
            return Ok(Datum::Null);
        }
        let from = match args.get(2) {
            None => i32::MIN,
            Some(Datum::Null) => {
                return Err(Error::new("22004", "initial position must not be null"));
            }
            Some(from) => int4(from),
        };
        let mut found = places(element, &array, &args[1], from, cx.catalog)?;
        Ok(found.next().transpose()?.map_or(Datum::Null, Datum::Int4))
    })
}

fn positions(types: &Types) -> Box<dyn Kernel> {
    let element = of_element(types, 0);
    called(types, move |args, cx| {
        let element = element.as_ref().map_err(Clone::clone)?;
        let Some(array) = searched(element, &args[0])? else { return Ok(Datum::Null) };
        let mut builder = Builder::new(Repr::Int4);
        if !array.is_empty() {
            for at in places(element, &array, &args[1], i32::MIN, cx.catalog)? {
                builder.push(&Datum::Int4(at?))?;
            }
        }
        Ok(Datum::bytes(builder.finish()))
    })
}

/// How many thresholds a value has reached, of those that an array has in order.
fn bucket(
    element: &Element,
    value: &Datum<'_>,
    thresholds: &Array<'_>,
    catalog: &onlap_pg::catalog::Catalog,
) -> Result<Datum<'static>> {
    if thresholds.ndims() > 1 {
        return Err(Error::new("2202E", "thresholds must be one-dimensional array"));
    }
    if thresholds.has_nulls() {
        return Err(Error::new("22004", "thresholds array must not contain NULLs"));
    }
    let order = ordering(catalog, element.oid)?;
    let (mut low, mut high) = (0, thresholds.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if order.compare(catalog, value, &thresholds.get(middle)).is_lt() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(Datum::Int4(low as i32))
}
