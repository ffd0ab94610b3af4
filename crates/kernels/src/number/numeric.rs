//! What do operators, functions and casts of numerics give?

use onlap_pg::value::numeric::{MAX_FACTORIAL, Numeric, Small, precision_and_scale};
use onlap_pg::{Error, Result};

use super::decimal::{Dec, Decimal, Made, arithmetic, of_ints, test};
use crate::{Bytes, Cx, Entry, Float4, Float8, Int2, Int4, Int8, Null, Num, four, one, two};

/// + - * / % and comparisons.
pub const OPERATORS: &[Entry] = &[
    ("numeric_add(numeric,numeric)", |_| arithmetic(Small::checked_add, Numeric::add)),
    ("numeric_sub(numeric,numeric)", |_| arithmetic(Small::checked_sub, Numeric::sub)),
    ("numeric_mul(numeric,numeric)", |_| arithmetic(Small::checked_mul, Numeric::mul)),
    ("numeric_div(numeric,numeric)", |_| arithmetic(Small::checked_div, Numeric::div)),
    ("numeric_mod(numeric,numeric)", |_| arithmetic(Small::checked_rem, Numeric::rem)),
    ("mod(numeric,numeric)", |_| arithmetic(Small::checked_rem, Numeric::rem)),
    ("numeric_eq(numeric,numeric)", |_| test(|order| order.is_eq())),
    ("numeric_ne(numeric,numeric)", |_| test(|order| order.is_ne())),
    ("numeric_lt(numeric,numeric)", |_| test(|order| order.is_lt())),
    ("numeric_le(numeric,numeric)", |_| test(|order| order.is_le())),
    ("numeric_gt(numeric,numeric)", |_| test(|order| order.is_gt())),
    ("numeric_ge(numeric,numeric)", |_| test(|order| order.is_ge())),
    ("numeric_uplus(numeric)", |_| one::<Dec, Dec>(|a, _| a.map(Some, |a| Ok(a.clone())))),
    ("numeric_uminus(numeric)", |_| {
        one::<Dec, Dec>(|a, _| a.map(|a| Some(a.negate()), |a| Ok(a.negate())))
    }),
    ("numeric_abs(numeric)", |_| one::<Dec, Dec>(|a, _| size(a))),
    ("abs(numeric)", |_| one::<Dec, Dec>(|a, _| size(a))),
    ("numeric_inc(numeric)", |_| one::<Num, Num>(|a, _| a.add(&1.into()))),
    ("numeric_larger(numeric,numeric)", |_| {
        two::<Num, Num, Num>(|a, b, _| Ok(if a > b { a } else { b }))
    }),
    ("numeric_smaller(numeric,numeric)", |_| {
        two::<Num, Num, Num>(|a, b, _| Ok(if a < b { a } else { b }))
    }),
    ("div(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, _| a.div_trunc(&b))),
    ("numeric_div_trunc(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, _| a.div_trunc(&b))),
];

/// A kernel of a function of one numeric.
macro_rules! of {
    ($f:expr) => {
        |_| one::<Num, Num>(|a, _| $f(&a))
    };
}

/// Roundings, scales, roots, powers, logarithms.
pub const FUNCTIONS: &[Entry] = &[
    ("sign(numeric)", of!(|a: &Numeric| Ok(a.signum()))),
    ("ceil(numeric)", of!(Numeric::ceil)),
    ("ceiling(numeric)", of!(Numeric::ceil)),
    ("floor(numeric)", of!(Numeric::floor)),
    ("round(numeric)", |_| one::<Dec, Dec>(|a, _| round(a, 0))),
    ("round(numeric,int4)", |_| two::<Dec, Int4, Dec>(|a, scale, _| round(a, scale))),
    ("trunc(numeric)", of!(|a: &Numeric| a.trunc(0))),
    ("trunc(numeric,int4)", |_| two::<Num, Int4, Num>(|a, scale, _| a.trunc(scale))),
    ("sqrt(numeric)", of!(Numeric::sqrt)),
    ("numeric_sqrt(numeric)", of!(Numeric::sqrt)),
    ("exp(numeric)", of!(Numeric::exp)),
    ("numeric_exp(numeric)", of!(Numeric::exp)),
    ("ln(numeric)", of!(Numeric::ln)),
    ("numeric_ln(numeric)", of!(Numeric::ln)),
    ("log(numeric)", of!(|a: &Numeric| Numeric::log(&10.into(), a))),
    ("log10(numeric)", of!(|a: &Numeric| Numeric::log(&10.into(), a))),
    ("log(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, _| Numeric::log(&a, &b))),
    ("numeric_log(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, _| Numeric::log(&a, &b))),
    ("pow(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, _| a.power(&b))),
    ("power(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, _| a.power(&b))),
    ("numeric_power(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, _| a.power(&b))),
    ("scale(numeric)", |_| one::<Num, Null<Int4>>(|a, _| Ok(a.is_finite().then(|| a.dscale())))),
    ("min_scale(numeric)", |_| {
        one::<Num, Null<Int4>>(|a, _| Ok(a.is_finite().then(|| a.min_scale())))
    }),
    ("trim_scale(numeric)", of!(|a: &Numeric| Ok(a.trim_scale()))),
    ("gcd(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, cx| divisor(&a, &b, cx))),
    ("lcm(numeric,numeric)", |_| two::<Num, Num, Num>(|a, b, cx| multiple(&a, &b, cx))),
    ("factorial(int8)", |_| one::<Int8, Num>(factorial)),
    ("width_bucket(numeric,numeric,numeric,int4)", |_| {
        four::<Num, Num, Num, Int4, Int4>(|a, low, high, count, _| a.bucket(&low, &high, count))
    }),
    ("numeric_send(numeric)", |_| one::<Num, Bytes>(|a, _| Ok(a.send()))),
];

/// Casts.
pub const CASTS: &[Entry] = &[
    ("numeric(numeric,int4)", |_| two::<Dec, Int4, Dec>(|a, modifier, _| fit(a, modifier))),
    ("numeric(int2)", |_| of_ints::<Int2>(i64::from)),
    ("numeric(int4)", |_| of_ints::<Int4>(i64::from)),
    ("numeric(int8)", |_| of_ints::<Int8>(|a| a)),
    ("numeric(float4)", |_| one::<Float4, Num>(|a, _| Ok(Numeric::from_float4(a)))),
    ("numeric(float8)", |_| one::<Float8, Num>(|a, _| Ok(Numeric::from_float8(a)))),
    ("int2(numeric)", |_| {
        one::<Dec, Int2>(|a, _| whole(a).map_or_else(|| a.numeric().to_int2(), Ok))
    }),
    ("int4(numeric)", |_| {
        one::<Dec, Int4>(|a, _| whole(a).map_or_else(|| a.numeric().to_int4(), Ok))
    }),
    ("int8(numeric)", |_| {
        one::<Dec, Int8>(|a, _| whole(a).map_or_else(|| a.numeric().to_int8(), Ok))
    }),
    ("float4(numeric)", |_| one::<Num, Float4>(|a, _| a.to_float4())),
    ("float8(numeric)", |_| {
        one::<Dec, Float8>(|a, _| {
            let fast = if let Decimal::Small(small) = a { small.to_float8() } else { None };
            fast.map_or_else(|| a.numeric().to_float8(), Ok)
        })
    }),
];

fn size(a: Decimal<'_>) -> Result<Made> {
    a.map(|a| Some(a.abs()), |a| Ok(a.abs()))
}

fn round(a: Decimal<'_>, scale: i32) -> Result<Made> {
    a.map(|a| a.round(u8::try_from(scale).ok()?), |a| a.round(scale))
}

/// An integer of a narrower type, if it fits one.
fn whole<T: TryFrom<i128>>(a: Decimal<'_>) -> Option<T> {
    let Decimal::Small(small) = a else { return None };
    T::try_from(small.round(0)?.mantissa()).ok()
}

/// What a column numeric(p, s) makes of a value.
fn fit(a: Decimal<'_>, modifier: i32) -> Result<Made> {
    let fast = |a: Small| {
        let (precision, scale) = precision_and_scale(modifier)?;
        let rounded = a.round(u8::try_from(scale).ok()?)?;
        let bound = 10_u128.checked_pow(precision as u32);
        bound.is_none_or(|bound| rounded.mantissa().unsigned_abs() < bound).then_some(rounded)
    };
    a.map(fast, |a| a.with_modifier(modifier))
}

/// Euclid's algorithm; as many decimals as either has.
fn divisor(a: &Numeric, b: &Numeric, cx: &mut Cx<'_>) -> Result<Numeric> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Numeric::nan());
    }
    let scale = a.dscale().max(b.dscale());
    let (mut a, mut b) = (a.abs(), b.abs());
    while !b.is_zero() {
        cx.go_on()?;
        let rest = a.rem(&b)?;
        (a, b) = (b, rest);
    }
    Ok(a.with_decimals(scale))
}

fn multiple(a: &Numeric, b: &Numeric, cx: &mut Cx<'_>) -> Result<Numeric> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Numeric::nan());
    }
    let scale = a.dscale().max(b.dscale());
    if a.is_zero() || b.is_zero() {
        return Ok(Numeric::zero().with_decimals(scale));
    }
    let product = a.div_trunc(&divisor(a, b, cx)?)?.mul(b)?.abs();
    Ok(product.round(scale)?.with_decimals(scale))
}

fn factorial(number: i64, cx: &mut Cx<'_>) -> Result<Numeric> {
    if number < 0 {
        return Err(Error::new("22003", "factorial of a negative number is undefined"));
    }
    if number > MAX_FACTORIAL {
        return Err(Error::new("22003", "value overflows numeric format"));
    }
    let mut product = Numeric::from(1);
    for factor in 2..=number {
        cx.go_on()?;
        product = product.mul(&factor.into())?;
    }
    Ok(product)
}
