//! Which numbers does generate_series give?

use onlap_pg::value::numeric::{Class, Numeric};
use onlap_pg::{Error, Result};

use crate::series::{Rows, SeriesEntry};
use crate::{Cx, Datum};

/// generate_series.
pub const SERIES: &[SeriesEntry] = &[
    ("generate_series(int4,int4)", |_| Box::new(ints)),
    ("generate_series(int4,int4,int4)", |_| Box::new(ints)),
    ("generate_series(int8,int8)", |_| Box::new(ints)),
    ("generate_series(int8,int8,int8)", |_| Box::new(ints)),
    ("generate_series(numeric,numeric)", |_| Box::new(numerics)),
    ("generate_series(numeric,numeric,numeric)", |_| Box::new(numerics)),
];

fn refused<T>(message: &str) -> Result<T> {
    Err(Error::new("22023", message))
}

/// int4 and int8: the series ends before it leaves the type.
fn ints(args: &[Datum<'_>], _: &mut Cx<'_>) -> Result<Rows> {
    let mut numbers = [0, 0, 1];
    let is_long = matches!(args.first(), Some(Datum::Int8(_)));
    for (number, arg) in numbers.iter_mut().zip(args) {
        match arg {
            Datum::Int4(value) => *number = i64::from(*value),
            Datum::Int8(value) => *number = *value,
            _ => return Ok(Box::new(std::iter::empty())),
        }
    }
    let [start, stop, step] = numbers;
    if step == 0 {
        return refused("step size cannot equal zero");
    }
    let inside = move |value: &i64| if step > 0 { *value <= stop } else { *value >= stop };
    let first = Some(start).filter(inside);
    let rows = std::iter::successors(first, move |value| value.checked_add(step).filter(inside));
    Ok(Box::new(rows.map(move |value| {
        Ok(vec![if is_long { Datum::Int8(value) } else { Datum::Int4(value as i32) }])
    })))
}

/// A finite number of a series; `what` it is, and how an infinity is called there.
fn finite(value: &Numeric, what: &str) -> Result<()> {
    match value.class() {
        Class::NaN => refused(&format!("{what} cannot be NaN")),
        Class::Infinity | Class::NegativeInfinity => refused(&format!("{what} cannot be infinity")),
        Class::Negative | Class::Positive => Ok(()),
    }
}

fn numerics(args: &[Datum<'_>], _: &mut Cx<'_>) -> Result<Rows> {
    let mut numbers = [Numeric::zero(), Numeric::zero(), Numeric::from(1)];
    for (number, arg) in numbers.iter_mut().zip(args) {
        match arg {
            Datum::Bytes(bytes) => *number = Numeric::load(bytes),
            _ => return Ok(Box::new(std::iter::empty())),
        }
    }
    for (value, what) in numbers.iter().zip(["start value", "stop value", "step size"]) {
        finite(value, what)?;
    }
    let [start, stop, step] = numbers;
    if step.is_zero() {
        return refused("step size cannot equal zero");
    }
    let rises = step > Numeric::zero();
    let mut next = Some(start);
    Ok(Box::new(std::iter::from_fn(move || {
        let value = next.take().filter(|v| if rises { *v <= stop } else { *v >= stop })?;
        match value.add(&step) {
            Ok(value) => next = Some(value),
            Err(e) => return Some(Err(e)),
        }
        let mut bytes = Vec::new();
        value.store(&mut bytes);
        Some(Ok(vec![Datum::bytes(bytes)]))
    })))
}
