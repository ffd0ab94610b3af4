//! How are numbers calculated?
//!
//! In the type in which they meet, with PostgreSQL's results; what leaves the range of the type is an
//! error, never a wrapped or rounded number.

use onlap_base::{Error, ErrorKind, Result};

use super::Operation;
use super::bind::Kind;
use super::cell::Cell;
use crate::convert::int_range;
use crate::types::DataType;
use crate::value::Numeric;

/// Two numbers, neither NULL.
pub(super) fn calculate(
    how: Operation,
    kind: Kind,
    a: &Cell<'_>,
    b: &Cell<'_>,
) -> Result<Cell<'static>> {
    match kind {
        Kind::Numeric => {
            let (a, b) = (numeric(a)?, numeric(b)?);
            if !a.is_nan() && b.is_finite() && b.mantissa == 0 && divides(how) {
                return Err(division_by_zero());
            }
            let result = match how {
                Operation::Add => a.checked_add(b),
                Operation::Subtract => a.checked_sub(b),
                Operation::Multiply => a.checked_mul(b),
                Operation::Divide => a.checked_div(b),
                Operation::Remainder => a.checked_rem(b),
            };
            result.map(Cell::Numeric).ok_or_else(|| out_of_range(kind))
        }
        Kind::Float4 | Kind::Float8 => floats(how, kind, float(a)?, float(b)?).map(Cell::Float),
        _ => match (a, b) {
            (Cell::Int(a), Cell::Int(b)) => ints(how, kind, *a, *b).map(Cell::Int),
            _ => Err(not_a_number()),
        },
    }
}

fn divides(how: Operation) -> bool {
    matches!(how, Operation::Divide | Operation::Remainder)
}

fn ints(how: Operation, kind: Kind, a: i64, b: i64) -> Result<i64> {
    if b == 0 && divides(how) {
        return Err(division_by_zero());
    }
    let result = match how {
        Operation::Add => a.checked_add(b),
        Operation::Subtract => a.checked_sub(b),
        Operation::Multiply => a.checked_mul(b),
        Operation::Divide => a.checked_div(b),
        Operation::Remainder => Some(a.wrapping_rem(b)),
    };
    let (min, max) = int_range(match kind {
        Kind::Int2 => DataType::Int2,
        Kind::Int4 => DataType::Int4,
        _ => DataType::Int8,
    });
    result.filter(|v| (min..=max).contains(v)).ok_or_else(|| out_of_range(kind))
}

fn floats(how: Operation, kind: Kind, a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && divides(how) && !a.is_nan() {
        return Err(division_by_zero());
    }
    let result = match how {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Multiply => a * b,
        Operation::Divide => a / b,
        Operation::Remainder => a % b,
    };
    let result = if kind == Kind::Float4 { f64::from(result as f32) } else { result };
    let overflow = result.is_infinite() && a.is_finite() && b.is_finite();
    let underflow = result == 0.0
        && a != 0.0
        && match how {
            Operation::Multiply => b != 0.0,
            Operation::Divide => b.is_finite(),
            _ => false,
        };
    if overflow || underflow { Err(out_of_range(kind)) } else { Ok(result) }
}

/// A number without its sign.
pub(super) fn magnitude(kind: Kind, v: Cell<'_>) -> Result<Cell<'_>> {
    Ok(match v {
        Cell::Int(i) if i < 0 => Cell::Int(ints(Operation::Subtract, kind, 0, i)?),
        Cell::Float(f) => Cell::Float(f.abs()),
        Cell::Numeric(n) => Cell::Numeric(Numeric { mantissa: n.mantissa.abs(), ..n }),
        other => other,
    })
}

/// A number as a numeric.
pub(super) fn numeric(v: &Cell<'_>) -> Result<Numeric> {
    match v {
        Cell::Numeric(n) => Ok(*n),
        Cell::Int(i) => Ok(Numeric::from(*i)),
        _ => Err(not_a_number()),
    }
}

/// A number as a float.
pub(super) fn float(v: &Cell<'_>) -> Result<f64> {
    match v {
        Cell::Float(f) => Ok(*f),
        Cell::Int(i) => Ok(*i as f64),
        Cell::Numeric(n) => Ok(n.to_f64()),
        _ => Err(not_a_number()),
    }
}

fn division_by_zero() -> Error {
    Error::new(ErrorKind::DivisionByZero, "division by zero")
}

fn out_of_range(kind: Kind) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("{kind:?} out of range"))
}

/// A row that does not have the types of its table.
fn not_a_number() -> Error {
    Error::new(ErrorKind::WrongType, "a value that is no number where one is expected")
}
