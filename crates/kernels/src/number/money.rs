//! What do operators of money give?

use onlap_pg::value::money;
use onlap_pg::{Error, Result};

use super::decimal::{Dec, Made};
use super::float::{Float, by_zero};
use crate::{Entry, Float4, Float8, Int2, Int4, Int8, Text, check2, map2, one};

/// An operation of amounts that may leave the range.
macro_rules! checked {
    ($a:ident $b:ident $f:expr) => {
        |_| check2::<$a, $b, Int8, _>($f, |_, _| out_of_range())
    };
}

/// A division by an integer.
macro_rules! divided {
    ($b:ident, $f:expr) => {
        |_| check2::<Int8, $b, Int8, _>($f, |_, b| if b == 0 { by_zero() } else { no_quotient() })
    };
}

/// An operation of floats that is rounded to cents: it may leave their range, or that of amounts.
macro_rules! scaled {
    ($a:ident $b:ident |$x:ident, $y:ident| $f:expr) => {
        |_| {
            check2::<$a, $b, Int8, _>(
                |$x, $y| {
                    let (value, failed) = $f;
                    let (cents, too_large) = whole(value);
                    (cents, failed | too_large)
                },
                |$x, $y| match $f {
                    (_, true) if $y as f64 == 0.0 => by_zero(),
                    (value, true) => f64::why(value),
                    _ => out_of_range(),
                },
            )
        }
    };
}

/// Operators.
pub const OPERATORS: &[Entry] = &[
    ("cash_pl(money,money)", checked!(Int8 Int8 i64::overflowing_add)),
    ("cash_mi(money,money)", checked!(Int8 Int8 i64::overflowing_sub)),
    ("cash_div_cash(money,money)", |_| {
        check2::<Int8, Int8, Float8, _>(|a, b| (a as f64 / b as f64, b == 0), |_, _| by_zero())
    }),
    ("cash_mul_int8(money,int8)", checked!(Int8 Int8 i64::overflowing_mul)),
    ("int8_mul_cash(int8,money)", checked!(Int8 Int8 i64::overflowing_mul)),
    ("cash_mul_int4(money,int4)", checked!(Int8 Int4 |a, b| a.overflowing_mul(i64::from(b)))),
    ("int4_mul_cash(int4,money)", checked!(Int4 Int8 |a, b| b.overflowing_mul(i64::from(a)))),
    ("cash_mul_int2(money,int2)", checked!(Int8 Int2 |a, b| a.overflowing_mul(i64::from(b)))),
    ("int2_mul_cash(int2,money)", checked!(Int2 Int8 |a, b| b.overflowing_mul(i64::from(a)))),
    ("cash_div_int8(money,int8)", divided!(Int8, divide)),
    ("cash_div_int4(money,int4)", divided!(Int4, |a, b| divide(a, i64::from(b)))),
    ("cash_div_int2(money,int2)", divided!(Int2, |a, b| divide(a, i64::from(b)))),
    ("cash_mul_flt8(money,float8)", scaled!(Int8 Float8 |a, b| (a as f64).times(b))),
    ("flt8_mul_cash(float8,money)", scaled!(Float8 Int8 |a, b| a.times(b as f64))),
    ("cash_mul_flt4(money,float4)", scaled!(Int8 Float4 |a, b| (a as f64).times(f64::from(b)))),
    ("flt4_mul_cash(float4,money)", scaled!(Float4 Int8 |a, b| f64::from(a).times(b as f64))),
    ("cash_div_flt8(money,float8)", scaled!(Int8 Float8 |a, b| by(a, b))),
    ("cash_div_flt4(money,float4)", scaled!(Int8 Float4 |a, b| by(a, f64::from(b)))),
    ("cashlarger(money,money)", |_| map2::<Int8, Int8, Int8, _>(i64::max)),
    ("cashsmaller(money,money)", |_| map2::<Int8, Int8, Int8, _>(i64::min)),
];

/// Casts and words.
pub const CASTS: &[Entry] = &[
    ("cash_words(money)", |_| one::<Int8, Text>(|a, _| Ok(money::words(a)))),
    ("money(int4)", |_| one::<Int4, Int8>(|a, _| cents(i64::from(a)))),
    ("money(int8)", |_| one::<Int8, Int8>(|a, _| cents(a))),
    ("money(numeric)", |_| one::<Dec, Int8>(|a, _| a.numeric().mul(&100.into())?.to_int8())),
    ("numeric(money)", |_| one::<Int8, Dec>(|a, _| Ok(Made::of(i128::from(a), 2)))),
];

fn cents(dollars: i64) -> Result<i64> {
    dollars.checked_mul(100).ok_or_else(|| Error::new("22003", "bigint out of range"))
}

fn out_of_range() -> Error {
    Error::new("22003", "money out of range")
}

/// The least amount divided by -1, which PostgreSQL leaves to the processor.
fn no_quotient() -> Error {
    let detail = "An invalid floating-point operation was signaled. This probably means an \
                  out-of-range result or an invalid operation, such as division by zero.";
    Error::new("22P01", "floating-point exception").detail(detail)
}

fn divide(a: i64, b: i64) -> (i64, bool) {
    if b == 0 { (0, true) } else { a.overflowing_div(b) }
}

fn by(a: i64, b: f64) -> (f64, bool) {
    (a as f64).by(b)
}

/// A float rounded to cents, and whether it does not fit.
fn whole(value: f64) -> (i64, bool) {
    let value = value.round_ties_even();
    // The upper bound as a float is one more than the largest amount.
    (value as i64, !(value >= i64::MIN as f64 && value < i64::MAX as f64))
}
