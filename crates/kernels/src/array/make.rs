//! How does an executor make arrays, and ask whether an element is in one?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::form::{Array, Builder, Dim, MAX_DIMENSIONS, count};
use super::shape::empty;
use super::text::too_many;
use crate::{Datum, Repr};

/// `ARRAY[…]` of values, or of arrays of elements of a representation if `nested`.
///
/// # Errors
/// `2202E`: inner arrays have other dimensions; `54000`.
///
/// # Panics
/// A value is not of the representation, or no array.
pub fn collect<'a>(
    repr: Repr,
    nested: bool,
    values: impl ExactSizeIterator<Item = Datum<'a>>,
) -> Result<Vec<u8>> {
    let length = values.len();
    let mut builder = Builder::new(repr);
    if !nested {
        for value in values {
            builder.push(&value)?;
        }
        return Ok(builder.finish());
    }
    let uneven = || {
        let message =
            "multidimensional arrays must have array expressions with matching dimensions";
        Error::new("2202E", message)
    };
    let mut inner: Option<Vec<Dim>> = None;
    let mut missing = false;
    for value in values {
        let none = empty();
        let array = match &value {
            Datum::Bytes(bytes) => Array::load(bytes, repr),
            _ => Array::load(&none, repr),
        };
        if array.is_empty() {
            missing = true;
            continue;
        }
        if array.ndims() >= MAX_DIMENSIONS {
            return Err(too_many(array.ndims() + 1));
        }
        let dims = array.dims();
        if *inner.get_or_insert_with(|| dims.clone()) != dims {
            return Err(uneven());
        }
        builder.extend(&array)?;
    }
    let Some(inner) = inner else { return Ok(empty()) };
    if missing {
        return Err(uneven());
    }
    let mut dims = vec![Dim::new(length)];
    dims.extend(inner);
    count(&dims)?;
    Ok(builder.finish_as(&dims))
}

/// `value operator ANY (array)`, or with `all` `ALL`: three-valued, over what the operator gives for each element.
///
/// # Errors
/// Those of the operator.
pub fn any(
    array: &Array<'_>,
    all: bool,
    mut test: impl FnMut(&Datum<'_>) -> Result<Option<bool>>,
) -> Result<Option<bool>> {
    let mut unknown = false;
    for value in array.iter() {
        match test(&value)? {
            Some(found) if found != all => return Ok(Some(found)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(all) })
}
