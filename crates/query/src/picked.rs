//! How are rows of columns picked, more than once perhaps, within the statement's memory?
//!
//! A long value that many rows get would be copied for each, so the memory of all copies is asked for first.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::DataType;
use onlap_pg::Result;

use crate::env::{Env, bytes_of};
use crate::node::arrow;

/// Bytes that rows of an array take, for long values each by itself.
fn size_of_rows(array: &dyn Array, rows: impl Iterator<Item = usize>) -> usize {
    let long = |offsets: &[i32], rows: &mut dyn Iterator<Item = usize>| {
        rows.fold(0, |sum: usize, row| {
            sum.saturating_add((offsets[row + 1] - offsets[row]) as usize)
        })
    };
    let mut rows = rows.inspect(|row| debug_assert!(*row < array.len(), "rows are of the array"));
    match array.data_type() {
        DataType::Utf8 => long(array.as_string::<i32>().value_offsets(), &mut rows),
        DataType::Binary => long(array.as_binary::<i32>().value_offsets(), &mut rows),
        other => rows.count().saturating_mul(other.primitive_width().unwrap_or(1)),
    }
}

/// The values at some places; NULL where there is none.
///
/// # Errors
/// `53200`; `54000`: they are too large together.
pub fn take(column: &dyn Array, at: &UInt32Array, env: &Env) -> Result<ArrayRef> {
    env.room(size_of_rows(column, at.iter().flatten().map(|row| row as usize)))?;
    arrow_select::take::take(column, at, None).map_err(arrow)
}

/// Values by the number of their array and their place in it.
///
/// # Errors
/// `53200`; `54000`: they are too large together.
pub fn interleave(arrays: &[&dyn Array], at: &[(usize, usize)], env: &Env) -> Result<ArrayRef> {
    let of = |number: usize| {
        size_of_rows(arrays[number], at.iter().filter(|at| at.0 == number).map(|at| at.1))
    };
    // Few arrays are looked at by row, many would each go through all rows.
    let bytes = match arrays.len() {
        0..=4 => (0..arrays.len()).map(of).fold(0, usize::saturating_add),
        _ => at.iter().fold(0, |sum: usize, (number, row)| {
            sum.saturating_add(size_of_rows(arrays[*number], std::iter::once(*row)))
        }),
    };
    env.room(bytes)?;
    arrow_select::interleave::interleave(arrays, at).map_err(arrow)
}

/// One array of several.
///
/// # Errors
/// `53200`; `54000`: they are too large together.
pub fn concat(parts: &[ArrayRef], env: &Env) -> Result<ArrayRef> {
    if let [one] = parts {
        return Ok(ArrayRef::clone(one));
    }
    env.room(parts.iter().map(bytes_of).fold(0, usize::saturating_add))?;
    let parts: Vec<&dyn Array> = parts.iter().map(|part| &**part).collect();
    arrow_select::concat::concat(&parts).map_err(arrow)
}
