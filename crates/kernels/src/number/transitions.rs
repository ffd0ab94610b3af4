//! What do the functions behind aggregates of float8 give when they are called by their names?
//!
//! A state is an array: how many values there were, their sum, the sum of the squares of their distances from the mean; for pairs
//! the same of the second values, and the sum of the products of the distances. Sums are kept as Youngs and Cramer do.
//! Thread safety: pure functions.

use onlap_pg::{Error, Result};

use crate::array::{Array, Builder};
use crate::misc::rows::{bytes, strict};
use crate::{Datum, Entry, Repr};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("float8_accum(_float8,float8)", |types| {
        strict(types, |args, _| {
            let state: [f64; 3] = load(&args[0], "float8_accum")?;
            store(&one(state, number(&args[1]))?)
        })
    }),
    ("float8_combine(_float8,_float8)", |types| {
        strict(types, |args, _| {
            let [a, b] = [0, 1].map(|n| load::<3>(&args[n], "float8_combine"));
            store(&both(a?, b?)?)
        })
    }),
    ("float8_regr_accum(_float8,float8,float8)", |types| {
        strict(types, |args, _| {
            let state: [f64; 6] = load(&args[0], "float8_regr_accum")?;
            store(&pair(state, number(&args[2]), number(&args[1]))?)
        })
    }),
    ("float8_regr_combine(_float8,_float8)", |types| {
        strict(types, |args, _| {
            let [a, b] = [0, 1].map(|n| load::<6>(&args[n], "float8_regr_combine"));
            store(&both_pairs(a?, b?)?)
        })
    }),
];

fn load<const N: usize>(value: &Datum<'_>, function: &str) -> Result<[f64; N]> {
    let array = Array::load(bytes(value), Repr::Float8);
    let numbers = array.iter().map(|value| match value {
        Datum::Float8(number) => Some(number),
        _ => None,
    });
    let numbers: Option<Vec<f64>> = if array.ndims() == 1 { numbers.collect() } else { None };
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| Error::internal(format!("{function}: expected {N}-element float8 array")))
}

fn store(state: &[f64]) -> Result<Datum<'static>> {
    let mut builder = Builder::new(Repr::Float8);
    for number in state {
        builder.push(&Datum::Float8(*number))?;
    }
    Ok(Datum::bytes(builder.finish()))
}

fn number(value: &Datum<'_>) -> f64 {
    match value {
        Datum::Float8(number) => *number,
        other => unreachable!("{other:?} is a float8"),
    }
}

fn overflow() -> Error {
    Error::new("22003", "value out of range: overflow")
}

/// A sum that came to have no end without a part that has none is an overflow; with one it is unknown.
fn settled(sum: f64, parts: &[f64]) -> Result<f64> {
    match (sum.is_infinite(), parts.iter().any(|part| part.is_infinite())) {
        (false, _) => Ok(sum),
        (true, false) => Err(overflow()),
        (true, true) => Ok(f64::NAN),
    }
}

fn one([count, sum, squares]: [f64; 3], value: f64) -> Result<[f64; 3]> {
    let (n, total) = (count + 1.0, sum + value);
    if count <= 0.0 {
        let squares = if value.is_finite() { squares } else { f64::NAN };
        return Ok([n, total, squares]);
    }
    let apart = value * n - total;
    let squares = squares + apart * apart / (n * count);
    if total.is_infinite() || squares.is_infinite() {
        return Ok([n, total, settled(f64::INFINITY, &[sum, value])?]);
    }
    Ok([n, total, squares])
}

fn pair([count, sx, sxx, sy, syy, sxy]: [f64; 6], x: f64, y: f64) -> Result<[f64; 6]> {
    let (n, tx, ty) = (count + 1.0, sx + x, sy + y);
    if count <= 0.0 {
        let of = |known: f64, all: &[f64]| {
            if all.iter().all(|value| value.is_finite()) { known } else { f64::NAN }
        };
        return Ok([n, tx, of(sxx, &[x]), ty, of(syy, &[y]), of(sxy, &[x, y])]);
    }
    let (dx, dy, scale) = (x * n - tx, y * n - ty, 1.0 / (n * count));
    let sums = [sxx + dx * dx * scale, syy + dy * dy * scale, sxy + dx * dy * scale];
    if [tx, ty].iter().chain(&sums).all(|sum| !sum.is_infinite()) {
        return Ok([n, tx, sums[0], ty, sums[1], sums[2]]);
    }
    let sxx = settled(sums[0], &[sx, x])?;
    let syy = settled(sums[1], &[sy, y])?;
    let sxy = settled(sums[2], &[sx, x, sy, y])?;
    Ok([n, settled_sum(tx, sx, x)?, sxx, settled_sum(ty, sy, y)?, syy, sxy])
}

fn settled_sum(total: f64, sum: f64, value: f64) -> Result<f64> {
    let ends = total.is_infinite() && !sum.is_infinite() && !value.is_infinite();
    if ends { Err(overflow()) } else { Ok(total) }
}

fn both(a: [f64; 3], b: [f64; 3]) -> Result<[f64; 3]> {
    if a[0] == 0.0 || b[0] == 0.0 {
        return Ok(if a[0] == 0.0 { b } else { a });
    }
    let n = a[0] + b[0];
    let sum = settled_sum(a[1] + b[1], a[1], b[1])?;
    let apart = a[1] / a[0] - b[1] / b[0];
    let squares = a[2] + b[2] + a[0] * b[0] * apart * apart / n;
    Ok([n, sum, settled_sum(squares, a[2], b[2])?])
}

fn both_pairs(a: [f64; 6], b: [f64; 6]) -> Result<[f64; 6]> {
    if a[0] == 0.0 || b[0] == 0.0 {
        return Ok(if a[0] == 0.0 { b } else { a });
    }
    let n = a[0] + b[0];
    let weight = a[0] * b[0] / n;
    let apart = |at: usize| a[at] / a[0] - b[at] / b[0];
    let (dx, dy) = (apart(1), apart(3));
    let sum = |at: usize, more: f64| settled_sum(a[at] + b[at] + more, a[at], b[at]);
    Ok([
        n,
        sum(1, 0.0)?,
        sum(2, weight * dx * dx)?,
        sum(3, 0.0)?,
        sum(4, weight * dy * dy)?,
        sum(5, weight * dx * dy)?,
    ])
}
