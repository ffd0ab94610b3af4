//! Which numbers lie within a distance of another? The ends of window frames of RANGE ask that.
//!
//! `in_range(value, base, offset, sub, less)`: whether the value is at most (`less`), or at least, the base plus, or minus
//! (`sub`), the offset. Sums leave their types without an error.
//!
//! Thread safety: pure functions.

use onlap_pg::value::numeric::{Class, Numeric};
use onlap_pg::{Error, Result};

use crate::{Bool, Col, Entry, Float4, Float8, Int2, Int4, Int8, Kernel, Num, Ty, each};

/// in_range of numbers.
pub const ENTRIES: &[Entry] = &[
    ("in_range(int2,int2,int2,bool,bool)", |_| ints::<Int2, Int2>()),
    ("in_range(int2,int2,int4,bool,bool)", |_| ints::<Int2, Int4>()),
    ("in_range(int2,int2,int8,bool,bool)", |_| ints::<Int2, Int8>()),
    ("in_range(int4,int4,int2,bool,bool)", |_| ints::<Int4, Int2>()),
    ("in_range(int4,int4,int4,bool,bool)", |_| ints::<Int4, Int4>()),
    ("in_range(int4,int4,int8,bool,bool)", |_| ints::<Int4, Int8>()),
    ("in_range(int8,int8,int8,bool,bool)", |_| ints::<Int8, Int8>()),
    ("in_range(float4,float4,float8,bool,bool)", |_| {
        within::<Float4, Float8>(|value, base, offset, ends| {
            floats(f64::from(value), f64::from(base), offset, ends)
        })
    }),
    ("in_range(float8,float8,float8,bool,bool)", |_| within::<Float8, Float8>(floats)),
    ("in_range(numeric,numeric,numeric,bool,bool)", |_| within::<Num, Num>(numerics)),
];

/// On which side of the base the end is, and which values are within.
#[derive(Clone, Copy)]
struct Ends {
    sub: bool,
    less: bool,
}

fn refused<T>() -> Result<T> {
    Err(Error::new("22013", "invalid preceding or following size in window function"))
}

fn within<T: Ty, O: Ty>(
    test: for<'x> fn(T::Value<'x>, T::Value<'x>, O::Value<'x>, Ends) -> Result<bool>,
) -> Box<dyn Kernel> {
    each(move |args: &[Col], rows, cx| {
        let (value, base) = (T::column(&args[0].array), T::column(&args[1].array));
        let offset = O::column(&args[2].array);
        let (sub, less) = (Bool::column(&args[3].array), Bool::column(&args[4].array));
        let mut out = Bool::builder(rows);
        for row in 0..rows {
            if row % 1024 == 0 {
                cx.go_on()?;
            }
            if args.iter().any(|arg| arg.is_null(row)) {
                Bool::push_null(&mut out);
                continue;
            }
            let ends = Ends {
                sub: Bool::get(&sub, args[3].at(row)),
                less: Bool::get(&less, args[4].at(row)),
            };
            let (value, base) = (T::get(&value, args[0].at(row)), T::get(&base, args[1].at(row)));
            let is_within = test(value, base, O::get(&offset, args[2].at(row)), ends)?;
            Bool::push(&mut out, is_within)?;
        }
        Ok(Bool::finish(out))
    })
}

fn ints<T, O>() -> Box<dyn Kernel>
where
    T: for<'x> Ty<Value<'x>: Into<i64>>,
    O: for<'x> Ty<Value<'x>: Into<i64>>,
{
    within::<T, O>(|value, base, offset, ends| {
        let (value, base, offset): (i64, i64, i64) = (value.into(), base.into(), offset.into());
        if offset < 0 {
            return refused();
        }
        let (base, offset) = (i128::from(base), i128::from(offset));
        let end = if ends.sub { base - offset } else { base + offset };
        Ok(if ends.less { i128::from(value) <= end } else { i128::from(value) >= end })
    })
}

fn floats(value: f64, base: f64, offset: f64, ends: Ends) -> Result<bool> {
    if offset.is_nan() || offset < 0.0 {
        return refused();
    }
    if value.is_nan() || base.is_nan() {
        return Ok(of_nan(value.is_nan(), base.is_nan(), ends));
    }
    // An infinite distance from the infinity on the other side reaches everything.
    if offset.is_infinite() && base.is_infinite() && ends.sub == (base > 0.0) {
        return Ok(true);
    }
    let end = if ends.sub { base - offset } else { base + offset };
    Ok(if ends.less { value <= end } else { value >= end })
}

/// NaN is above everything and within any distance of itself.
fn of_nan(value: bool, base: bool, ends: Ends) -> bool {
    match (value, base) {
        (true, true) => true,
        (true, false) => !ends.less,
        _ => ends.less,
    }
}

fn numerics(value: Numeric, base: Numeric, offset: Numeric, ends: Ends) -> Result<bool> {
    if matches!(offset.class(), Class::NaN | Class::Negative | Class::NegativeInfinity) {
        return refused();
    }
    let is_nan = |number: &Numeric| number.class() == Class::NaN;
    if is_nan(&value) || is_nan(&base) {
        return Ok(of_nan(is_nan(&value), is_nan(&base), ends));
    }
    let other_side = if ends.sub { Class::Infinity } else { Class::NegativeInfinity };
    if offset.class() == Class::Infinity && base.class() == other_side {
        return Ok(true);
    }
    let offset = if ends.sub { offset.negate() } else { offset };
    let end = match base.is_finite() && offset.is_finite() {
        true => base.plus_unchecked(&offset),
        false => base.add(&offset)?,
    };
    Ok(if ends.less { value <= end } else { value >= end })
}
