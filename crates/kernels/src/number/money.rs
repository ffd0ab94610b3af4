//! What do operators of money give?
//!
//! Sums and products with integers wrap around, as PostgreSQL 15 has it; a float that does not fit becomes the least amount.

use onlap_pg::value::money;
use onlap_pg::{Error, Result};

use super::decimal::{Dec, Made};
use super::float::by_zero;
use crate::{Entry, Float4, Float8, Int2, Int4, Int8, Text, check2, map2, one, two};

/// Operators.
pub const OPERATORS: &[Entry] = &[
    ("cash_pl(money,money)", |_| map2::<Int8, Int8, Int8, _>(i64::wrapping_add)),
    ("cash_mi(money,money)", |_| map2::<Int8, Int8, Int8, _>(i64::wrapping_sub)),
    ("cash_div_cash(money,money)", |_| {
        check2::<Int8, Int8, Float8, _>(|a, b| (a as f64 / b as f64, b == 0), |_, _| by_zero())
    }),
    ("cash_mul_int8(money,int8)", |_| map2::<Int8, Int8, Int8, _>(i64::wrapping_mul)),
    ("int8_mul_cash(int8,money)", |_| map2::<Int8, Int8, Int8, _>(i64::wrapping_mul)),
    ("cash_div_int8(money,int8)", |_| two::<Int8, Int8, Int8>(|a, b, _| divide(a, b))),
    ("cash_mul_int4(money,int4)", |_| {
        map2::<Int8, Int4, Int8, _>(|a, b| a.wrapping_mul(i64::from(b)))
    }),
    ("int4_mul_cash(int4,money)", |_| {
        map2::<Int4, Int8, Int8, _>(|a, b| b.wrapping_mul(i64::from(a)))
    }),
    ("cash_div_int4(money,int4)", |_| two::<Int8, Int4, Int8>(|a, b, _| divide(a, i64::from(b)))),
    ("cash_mul_int2(money,int2)", |_| {
        map2::<Int8, Int2, Int8, _>(|a, b| a.wrapping_mul(i64::from(b)))
    }),
    ("int2_mul_cash(int2,money)", |_| {
        map2::<Int2, Int8, Int8, _>(|a, b| b.wrapping_mul(i64::from(a)))
    }),
    ("cash_div_int2(money,int2)", |_| two::<Int8, Int2, Int8>(|a, b, _| divide(a, i64::from(b)))),
    ("cash_mul_flt8(money,float8)", |_| map2::<Int8, Float8, Int8, _>(|a, b| whole(a as f64 * b))),
    ("flt8_mul_cash(float8,money)", |_| map2::<Float8, Int8, Int8, _>(|a, b| whole(a * b as f64))),
    ("cash_div_flt8(money,float8)", |_| {
        check2::<Int8, Float8, Int8, _>(|a, b| (whole(a as f64 / b), b == 0.0), |_, _| by_zero())
    }),
    ("cash_mul_flt4(money,float4)", |_| {
        map2::<Int8, Float4, Int8, _>(|a, b| whole(f64::from(a as f32 * b)))
    }),
    ("flt4_mul_cash(float4,money)", |_| {
        map2::<Float4, Int8, Int8, _>(|a, b| whole(f64::from(a * b as f32)))
    }),
    ("cash_div_flt4(money,float4)", |_| {
        check2::<Int8, Float4, Int8, _>(
            |a, b| (whole(f64::from(a as f32 / b)), b == 0.0),
            |_, _| by_zero(),
        )
    }),
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

fn divide(a: i64, b: i64) -> Result<i64> {
    if b == 0 {
        return Err(by_zero());
    }
    a.checked_div(b).ok_or_else(|| Error::new("22003", "money out of range"))
}

/// A float rounded to cents.
fn whole(value: f64) -> i64 {
    let value = value.round_ties_even();
    // The upper bound as a float is one more than the largest amount.
    if value >= i64::MIN as f64 && value < i64::MAX as f64 { value as i64 } else { i64::MIN }
}
