//! What is an array of which a part became something else?
//!
//! array_set_element and array_set_slice. Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::form::{Array, Builder, Dim, count, too_large};
use super::shape::assign;
use crate::{Datum, Repr};

fn wrong(text: &str) -> Error {
    Error::new("2202E", text)
}

/// The element at subscripts, none of which is NULL, becomes a value; see [`assign`].
///
/// # Errors
/// `22004`: a subscript is NULL; those of [`assign`].
pub fn store_element(
    array: Option<&Array<'_>>,
    repr: Repr,
    subscripts: &[Option<i32>],
    value: &Datum<'_>,
) -> Result<Vec<u8>> {
    let known = subscripts.iter().copied().collect::<Option<Vec<i32>>>();
    assign(array, repr, &known.ok_or_else(null_subscript)?, value)
}

/// "array subscript in assignment must not be null".
pub fn null_subscript() -> Error {
    Error::new("22004", "array subscript in assignment must not be null")
}

/// The part between bounds, each of which may be left open, becomes what another array has, in its order.
///
/// # Errors
/// `2202E`: the bounds are none of the array's, or the other has too few elements; `54000`.
pub fn store_slice(
    array: Option<&Array<'_>>,
    repr: Repr,
    bounds: &[(Option<i32>, Option<i32>)],
    source: &Array<'_>,
) -> Result<Vec<u8>> {
    let Some(array) = array.filter(|array| !array.is_empty()) else {
        return made(repr, bounds, source);
    };
    let mut dims = array.dims();
    if dims.len() < bounds.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut ranges = Vec::with_capacity(dims.len());
    for (n, dim) in dims.iter().enumerate() {
        let (lower, upper) = bounds.get(n).copied().unwrap_or((None, None));
        let (lower, upper) = (lower.unwrap_or(dim.lower), upper.unwrap_or(dim.upper()));
        if lower > upper {
            return Err(wrong("upper bound cannot be less than lower bound"));
        }
        if dims.len() > 1 && (lower < dim.lower || upper > dim.upper()) {
            return Err(wrong("array subscript out of range"));
        }
        ranges.push((lower, upper));
    }
    // An array of one dimension grows to where the part is.
    let mut before = 0;
    if let ([dim], [(lower, upper)]) = (&mut dims[..], &ranges[..]) {
        before = (i64::from(dim.lower) - i64::from(*lower)).max(0) as usize;
        let first = dim.lower.min(*lower);
        let last = i64::from(dim.upper().max(*upper));
        let length = i32::try_from(last - i64::from(first) + 1).map_err(|_| too_large())?;
        *dim = Dim { length, lower: first };
    }
    let whole = count(&dims)?;
    let sizes = ranges.iter().map(|(lower, upper)| i64::from(*upper) - i64::from(*lower) + 1);
    if sizes.product::<i64>() > source.len() as i64 {
        return Err(wrong("source array too small"));
    }
    let (mut builder, mut taken) = (Builder::new(repr), 0);
    for at in 0..whole {
        let value = match is_inside(at, &dims, &ranges) {
            true => {
                taken += 1;
                source.get(taken - 1)
            }
            false => match at.checked_sub(before).filter(|at| *at < array.len()) {
                Some(at) => array.get(at),
                None => Datum::Null,
            },
        };
        builder.push(&value)?;
    }
    Ok(builder.finish_as(&dims))
}

/// Whether a position in the whole is in a range of each dimension.
fn is_inside(mut at: usize, dims: &[Dim], ranges: &[(i32, i32)]) -> bool {
    dims.iter().zip(ranges).rev().all(|(dim, (lower, upper))| {
        let length = dim.length as usize;
        let subscript = i64::from(dim.lower) + (at % length) as i64;
        at /= length;
        (i64::from(*lower)..=i64::from(*upper)).contains(&subscript)
    })
}

/// An array that was none becomes the part alone.
fn made(repr: Repr, bounds: &[(Option<i32>, Option<i32>)], source: &Array<'_>) -> Result<Vec<u8>> {
    let mut dims = Vec::with_capacity(bounds.len());
    for bound in bounds {
        let (Some(lower), Some(upper)) = *bound else {
            let detail = "When assigning to a slice of an empty array value, slice boundaries must be \
                          fully specified.";
            return Err(wrong("array slice subscript must provide both boundaries").detail(detail));
        };
        let length = i64::from(upper) - i64::from(lower) + 1;
        let length = i32::try_from(length).map_err(|_| too_large())?;
        if length < 0 {
            return Err(too_large());
        }
        dims.push(Dim { length, lower });
    }
    let whole = count(&dims)?;
    if source.len() < whole {
        return Err(wrong("source array too small"));
    }
    let mut builder = Builder::new(repr);
    for at in 0..whole {
        builder.push(&source.get(at))?;
    }
    Ok(builder.finish_as(&dims))
}
