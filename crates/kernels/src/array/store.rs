//! What is an array of which a part became something else?
//!
//! array_set_element and array_set_slice. Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::form::{Array, Builder, Dim, MAX_DIMENSIONS, count, too_large};
use super::packed;
use super::shape::position;
use crate::{Cx, Datum, Repr};

/// After this number of elements a loop asks whether it is still wanted.
const LOOK_EVERY: usize = 1 << 16;

/// Asks before an array of a number of elements is made, most of which may be none that were there.
fn room_for(cx: &Cx<'_>, repr: Repr, elements: usize) -> Result<()> {
    // Where one ends that has no width takes four bytes.
    cx.room(elements.saturating_mul(packed::width(repr).unwrap_or(4)))
}

/// Asks now and then whether the statement is still wanted.
fn look(cx: &Cx<'_>, at: usize) -> Result<()> {
    if at.is_multiple_of(LOOK_EVERY) { cx.go_on() } else { Ok(()) }
}

fn wrong(text: &str) -> Error {
    Error::new("2202E", text)
}

/// The element at subscripts becomes a value. A one-dimensional array grows to where the element is, with NULLs between; no
/// array, or an empty one, becomes one of this element.
///
/// # Errors
/// `22004`: a subscript is NULL; `2202E`: the number of subscripts is not that of the dimensions, or they are outside;
/// `54000`; `53200`.
pub fn store_element(
    array: Option<&Array<'_>>,
    repr: Repr,
    subscripts: &[Option<i32>],
    value: &Datum<'_>,
    cx: &Cx<'_>,
) -> Result<Vec<u8>> {
    let subscripts = subscripts.iter().copied().collect::<Option<Vec<i32>>>();
    let subscripts = subscripts.ok_or_else(null_subscript)?;
    if subscripts.is_empty() || subscripts.len() > MAX_DIMENSIONS {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut builder = Builder::new(repr);
    let Some(array) = array.filter(|array| !array.is_empty()) else {
        let dims: Vec<Dim> =
            subscripts.iter().map(|lower| Dim { length: 1, lower: *lower }).collect();
        count(&dims)?;
        builder.push(value)?;
        return Ok(builder.finish_as(&dims));
    };
    if array.ndims() != subscripts.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    if let Some(at) = position(array, &subscripts) {
        for (n, held) in array.iter().enumerate() {
            builder.push(if n == at { value } else { &held })?;
        }
        return Ok(builder.finish_as(&array.dims()));
    }
    let [wanted] = subscripts[..] else {
        return Err(wrong("array subscript out of range"));
    };
    let dim = array.dim(0);
    let lower = dim.lower.min(wanted);
    let last = i64::from(dim.upper().max(wanted));
    let length = i32::try_from(last - i64::from(lower) + 1).map_err(|_| too_large())?;
    let grown = Dim { length, lower };
    room_for(cx, repr, count(&[grown])?)?;
    let before = (i64::from(dim.lower) - i64::from(lower)) as usize;
    let target = (i64::from(wanted) - i64::from(lower)) as usize;
    for n in 0..length as usize {
        look(cx, n)?;
        let held = n.checked_sub(before).filter(|n| *n < array.len());
        let held = held.map_or(Datum::Null, |n| array.get(n));
        builder.push(if n == target { value } else { &held })?;
    }
    Ok(builder.finish_as(&[grown]))
}

/// "array subscript in assignment must not be null".
pub fn null_subscript() -> Error {
    Error::new("22004", "array subscript in assignment must not be null")
}

/// The part between bounds, each of which may be left open, becomes what another array has, in its order.
///
/// # Errors
/// `2202E`: the bounds are none of the array's, or the other has too few elements; `54000`; `53200`.
pub fn store_slice(
    array: Option<&Array<'_>>,
    repr: Repr,
    bounds: &[(Option<i32>, Option<i32>)],
    source: &Array<'_>,
    cx: &Cx<'_>,
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
    room_for(cx, repr, whole)?;
    let sizes = ranges.iter().map(|(lower, upper)| i64::from(*upper) - i64::from(*lower) + 1);
    if sizes.product::<i64>() > source.len() as i64 {
        return Err(wrong("source array too small"));
    }
    let (mut builder, mut taken) = (Builder::new(repr), 0);
    for at in 0..whole {
        look(cx, at)?;
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
