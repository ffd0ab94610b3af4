//! What become of arrays that get elements, lose them, or are put together?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::form::{Array, Builder, Dim, MAX_DIMENSIONS, count, too_large};
use super::text::too_many;
use super::{Element, element_of, own_array, shape};
use crate::misc::rows::{bytes, called};
use crate::{Cx, Datum, Entry, Kernel, Repr, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("array_append(anycompatiblearray,anycompatible)", |types| {
        let element = element_of(types, types.result);
        called(types, move |args, _| {
            let element = element.as_ref().map_err(Clone::clone)?;
            put(element, &args[0], &args[1], false)
        })
    }),
    ("array_prepend(anycompatible,anycompatiblearray)", |types| {
        let element = element_of(types, types.result);
        called(types, move |args, _| {
            let element = element.as_ref().map_err(Clone::clone)?;
            put(element, &args[1], &args[0], true)
        })
    }),
    ("array_cat(anycompatiblearray,anycompatiblearray)", |types| {
        let element = element_of(types, types.result);
        called(types, move |args, _| match (&args[0], &args[1]) {
            (Datum::Null, other) | (other, Datum::Null) => Ok(other.clone().into_owned()),
            (left, right) => {
                let (a, b) = (own_array(&element, left)?, own_array(&element, right)?);
                if a.is_empty() {
                    return Ok(Datum::bytes(bytes(right)));
                }
                if b.is_empty() {
                    return Ok(Datum::bytes(bytes(left)));
                }
                cat(&a, &b).map(Datum::bytes)
            }
        })
    }),
    ("array_fill(anyelement,_int4)", fill),
    ("array_fill(anyelement,_int4,_int4)", fill),
];

fn no_integer() -> Error {
    Error::new("22003", "integer out of range")
}

/// An element before or after the others; the lower bound stays.
fn put(
    element: &Element,
    array: &Datum<'_>,
    value: &Datum<'_>,
    before: bool,
) -> Result<Datum<'static>> {
    let none = shape::empty();
    let array = match array {
        Datum::Bytes(bytes) => Array::load(bytes, element.repr),
        _ => Array::load(&none, element.repr),
    };
    let dim = match array.ndims() {
        0 => Dim { length: 0, lower: 1 },
        1 => array.dim(0),
        _ => {
            let message = "argument must be empty or one-dimensional array";
            return Err(Error::new("22000", message));
        }
    };
    let at = if before { dim.lower.checked_sub(1) } else { dim.lower.checked_add(dim.length) };
    at.ok_or_else(no_integer)?;
    let grown = Dim { length: dim.length + 1, lower: dim.lower };
    // What is put before others moves them only afterwards.
    let checked = if before {
        Dim { lower: dim.lower.min(grown.lower - i32::from(dim.length > 0)), ..grown }
    } else {
        grown
    };
    count(&[checked])?;
    let mut builder = Builder::new(element.repr);
    if before {
        builder.push(value)?;
    }
    builder.extend(&array)?;
    if !before {
        builder.push(value)?;
    }
    Ok(Datum::bytes(builder.finish_as(&[grown])))
}

/// Two arrays that are not empty.
fn cat(a: &Array<'_>, b: &Array<'_>) -> Result<Vec<u8>> {
    let refused =
        |detail: &str| Error::new("2202E", "cannot concatenate incompatible arrays").detail(detail);
    let (left, right) = (a.dims(), b.dims());
    let mut dims;
    if left.len() == right.len() {
        if left[1..] != right[1..] {
            return Err(refused(
                "Arrays with differing element dimensions are not compatible for concatenation.",
            ));
        }
        dims = left.clone();
        dims[0].length = dims[0].length.saturating_add(right[0].length);
    } else {
        let (inner, outer) =
            if left.len() < right.len() { (&left, &right) } else { (&right, &left) };
        if inner.len() + 1 != outer.len() {
            return Err(refused(&format!(
                "Arrays of {} and {} dimensions are not compatible for concatenation.",
                left.len(),
                right.len()
            )));
        }
        if inner[..] != outer[1..] {
            return Err(refused(
                "Arrays with differing dimensions are not compatible for concatenation.",
            ));
        }
        dims = outer.clone();
        dims[0].length = dims[0].length.saturating_add(1);
    }
    count(&dims)?;
    let mut builder = Builder::new(a.repr());
    builder.extend(a)?;
    builder.extend(b)?;
    Ok(builder.finish_as(&dims))
}

fn fill(types: &Types) -> Box<dyn Kernel> {
    let element = element_of(types, types.result);
    called(types, move |args, cx| {
        let element = element.as_ref().map_err(Clone::clone)?;
        filled(element, args, cx)
    })
}

fn filled(element: &Element, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Datum<'static>> {
    if args[1..].iter().any(Datum::is_null) {
        let message = "dimension array or low bound array cannot be null";
        return Err(Error::new("22004", message));
    }
    let lengths = numbers(&args[1])?;
    if lengths.len() > MAX_DIMENSIONS {
        return Err(too_many(lengths.len()));
    }
    let lowers = match args.get(2) {
        Some(given) => numbers(given)?,
        None => vec![1; lengths.len()],
    };
    if lowers.len() != lengths.len() {
        let detail = "Low bound array has different size than dimensions array.";
        return Err(Error::new("2202E", "wrong number of array subscripts").detail(detail));
    }
    let both = lengths.iter().zip(&lowers);
    let dims: Vec<Dim> =
        both.map(|(length, lower)| Dim { length: *length, lower: *lower }).collect();
    let items = count(&dims)?;
    if items == 0 {
        return Ok(Datum::bytes(shape::empty()));
    }
    let each = super::packed::width(element.repr).unwrap_or_else(|| args[0].size() + 4);
    let whole = each.saturating_mul(items);
    if whole > onlap_pg::value::MAX_BYTES {
        return Err(too_large());
    }
    cx.room(whole)?;
    let mut builder = Builder::new(element.repr);
    for at in 0..items {
        if at % 4096 == 0 {
            cx.go_on()?;
        }
        builder.push(&args[0])?;
    }
    Ok(Datum::bytes(builder.finish_as(&dims)))
}

/// The numbers of a one-dimensional array.
fn numbers(value: &Datum<'_>) -> Result<Vec<i32>> {
    let array = Array::load(bytes(value), Repr::Int4);
    if array.ndims() > 1 {
        let detail = "Dimension array must be one dimensional.";
        return Err(Error::new("2202E", "wrong number of array subscripts").detail(detail));
    }
    let number = |value| match value {
        Datum::Int4(value) => Ok(value),
        _ => Err(Error::new("22004", "dimension values cannot be null")),
    };
    array.iter().map(number).collect()
}
