//! What are roundings, roots, powers, logarithms and angles of floats?
//!
//! The system's mathematical library calculates, as PostgreSQL has it. Three functions that the standard library does
//! otherwise (asinh, acosh, atanh) are calculated by the formulas of that library.

use onlap_pg::{Error, Result};

use super::float::{Float, overflow, underflow};
use crate::{Entry, Float8, Int4, check2, four, map1, none, one, two};

/// A kernel of a function that may refuse.
macro_rules! of {
    ($f:path) => {
        |_| one::<Float8, Float8>(|a, _| $f(a))
    };
}

/// A kernel of a function that does not.
macro_rules! plain {
    ($f:expr) => {
        |_| map1::<Float8, Float8, _>($f)
    };
}

/// Roundings, roots, powers, logarithms.
pub const POWERS: &[Entry] = &[
    ("dround(float8)", plain!(f64::round_ties_even)),
    ("round(float8)", plain!(f64::round_ties_even)),
    ("dtrunc(float8)", plain!(f64::trunc)),
    ("trunc(float8)", plain!(f64::trunc)),
    ("ceil(float8)", plain!(f64::ceil)),
    ("ceiling(float8)", plain!(f64::ceil)),
    ("floor(float8)", plain!(f64::floor)),
    ("sign(float8)", plain!(|a| f64::from(i8::from(a > 0.0) - i8::from(a < 0.0)))),
    ("dsqrt(float8)", of!(root)),
    ("sqrt(float8)", of!(root)),
    ("dcbrt(float8)", plain!(f64::cbrt)),
    ("cbrt(float8)", plain!(f64::cbrt)),
    ("dpow(float8,float8)", |_| two::<Float8, Float8, Float8>(|a, b, _| power(a, b))),
    ("pow(float8,float8)", |_| two::<Float8, Float8, Float8>(|a, b, _| power(a, b))),
    ("power(float8,float8)", |_| two::<Float8, Float8, Float8>(|a, b, _| power(a, b))),
    ("dexp(float8)", of!(exponential)),
    ("exp(float8)", of!(exponential)),
    ("dlog1(float8)", of!(natural)),
    ("ln(float8)", of!(natural)),
    ("dlog10(float8)", of!(common)),
    ("log(float8)", of!(common)),
    ("log10(float8)", of!(common)),
];

/// Angles in radians, and hyperbolic functions.
pub const ANGLES: &[Entry] = &[
    ("pi()", |_| none::<Float8>(|_| Ok(std::f64::consts::PI))),
    ("sin(float8)", |_| one::<Float8, Float8>(|a, _| finite(a).map(f64::sin))),
    ("cos(float8)", |_| one::<Float8, Float8>(|a, _| finite(a).map(f64::cos))),
    ("tan(float8)", |_| one::<Float8, Float8>(|a, _| finite(a).map(f64::tan))),
    ("cot(float8)", |_| one::<Float8, Float8>(|a, _| Ok(1.0 / finite(a)?.tan()))),
    ("asin(float8)", |_| one::<Float8, Float8>(|a, _| unit(a).map(f64::asin))),
    ("acos(float8)", |_| one::<Float8, Float8>(|a, _| unit(a).map(f64::acos))),
    ("atan(float8)", plain!(f64::atan)),
    ("atan2(float8,float8)", |_| two::<Float8, Float8, Float8>(|a, b, _| Ok(a.atan2(b)))),
    ("sinh(float8)", plain!(f64::sinh)),
    ("cosh(float8)", plain!(f64::cosh)),
    ("tanh(float8)", plain!(f64::tanh)),
    ("asinh(float8)", plain!(asinh)),
    ("acosh(float8)", of!(acosh)),
    ("atanh(float8)", of!(atanh)),
    ("degrees(float8)", |_| one::<Float8, Float8>(|a, _| in_range(a.by(RADIANS_PER_DEGREE)))),
    ("radians(float8)", |_| one::<Float8, Float8>(|a, _| in_range(a.times(RADIANS_PER_DEGREE)))),
];

/// Angles in degrees.
pub const DEGREES: &[Entry] = &[
    ("sind(float8)", |_| one::<Float8, Float8>(|a, _| finite(a).map(sind))),
    ("cosd(float8)", |_| one::<Float8, Float8>(|a, _| finite(a).map(cosd))),
    ("tand(float8)", |_| one::<Float8, Float8>(|a, _| finite(a).map(tand))),
    ("cotd(float8)", |_| one::<Float8, Float8>(|a, _| finite(a).map(cotd))),
    ("asind(float8)", |_| one::<Float8, Float8>(|a, _| unit(a).map(asind))),
    ("acosd(float8)", |_| one::<Float8, Float8>(|a, _| unit(a).map(acosd))),
    ("atand(float8)", plain!(|a| a.atan() / 1_f64.atan() * 45.0)),
    ("atan2d(float8,float8)", |_| {
        check2::<Float8, Float8, Float8, _>(
            |a, b| (a.atan2(b) / 1_f64.atan() * 45.0, false),
            |_, _| overflow(),
        )
    }),
];

/// Buckets.
pub const BUCKETS: &[Entry] = &[("width_bucket(float8,float8,float8,int4)", |_| {
    four::<Float8, Float8, Float8, Int4, Int4>(|value, low, high, count, _| {
        bucket(value, low, high, count)
    })
})];

const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

fn in_range((value, failed): (f64, bool)) -> Result<f64> {
    if failed { Err(f64::why(value)) } else { Ok(value) }
}

fn out_of_domain() -> Error {
    Error::new("22003", "input is out of range")
}

/// What has an angle: anything but infinity.
fn finite(a: f64) -> Result<f64> {
    if a.is_infinite() { Err(out_of_domain()) } else { Ok(a) }
}

/// What is a sine: from -1 to 1, or NaN.
fn unit(a: f64) -> Result<f64> {
    if a.abs() > 1.0 { Err(out_of_domain()) } else { Ok(a) }
}

fn root(a: f64) -> Result<f64> {
    if a < 0.0 {
        return Err(Error::new("2201F", "cannot take square root of a negative number"));
    }
    Ok(a.sqrt())
}

fn exponential(a: f64) -> Result<f64> {
    let result = a.exp();
    if a.is_infinite() || a.is_nan() {
        Ok(result)
    } else if result.is_infinite() {
        Err(overflow())
    } else if result == 0.0 {
        Err(underflow())
    } else {
        Ok(result)
    }
}

fn has_logarithm(a: f64) -> Result<f64> {
    if a == 0.0 {
        return Err(Error::new("2201E", "cannot take logarithm of zero"));
    }
    if a < 0.0 {
        return Err(Error::new("2201E", "cannot take logarithm of a negative number"));
    }
    Ok(a)
}

fn natural(a: f64) -> Result<f64> {
    has_logarithm(a).map(f64::ln)
}

fn common(a: f64) -> Result<f64> {
    has_logarithm(a).map(f64::log10)
}

/// dpow.
fn power(a: f64, b: f64) -> Result<f64> {
    if a == 1.0 || b == 0.0 {
        return Ok(1.0);
    }
    if a.is_nan() || b.is_nan() {
        return Ok(f64::NAN);
    }
    if a == 0.0 && b < 0.0 {
        return Err(Error::new("2201F", "zero raised to a negative power is undefined"));
    }
    if a < 0.0 && b.floor() != b {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(Error::new("2201F", message));
    }
    let result = a.powf(b);
    if a.is_infinite() || b.is_infinite() {
        Ok(result)
    } else if result.is_infinite() {
        Err(overflow())
    } else if result == 0.0 && a != 0.0 {
        Err(underflow())
    } else {
        Ok(result)
    }
}

/// 2^-28, below which a hyperbolic area is its argument, and 2^28, above which a square swallows one.
const TINY: f64 = 1.0 / HUGE;
const HUGE: f64 = 268_435_456.0;

fn asinh(a: f64) -> f64 {
    let size = a.abs();
    if size < TINY || !size.is_finite() {
        return a;
    }
    let area = if size > HUGE {
        size.ln() + std::f64::consts::LN_2
    } else if size > 2.0 {
        (2.0 * size + 1.0 / ((a * a + 1.0).sqrt() + size)).ln()
    } else {
        let square = a * a;
        (size + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
    };
    area.copysign(a)
}

fn acosh(a: f64) -> Result<f64> {
    if a < 1.0 {
        return Err(out_of_domain());
    }
    if !a.is_finite() {
        return Ok(a);
    }
    Ok(if a > HUGE {
        a.ln() + std::f64::consts::LN_2
    } else if a > 2.0 {
        (2.0 * a - 1.0 / (a + (a * a - 1.0).sqrt())).ln()
    } else {
        let above = a - 1.0;
        (above + (2.0 * above + above * above).sqrt()).ln_1p()
    })
}

fn atanh(a: f64) -> Result<f64> {
    let size = unit(a)?.abs();
    if size == 1.0 {
        return Ok(f64::INFINITY.copysign(a));
    }
    if size < TINY || size.is_nan() {
        return Ok(a);
    }
    let twice = size + size;
    let area = if size < 0.5 {
        0.5 * (twice + twice * size / (1.0 - size)).ln_1p()
    } else {
        0.5 * (twice / (1.0 - size)).ln_1p()
    };
    Ok(area.copysign(a))
}

/// The sine of 0 to 30 degrees, exact at the ends.
fn sine_to_30(a: f64) -> f64 {
    (a * RADIANS_PER_DEGREE).sin() / (30.0 * RADIANS_PER_DEGREE).sin() / 2.0
}

/// The cosine of 0 to 60 degrees, exact at the ends.
fn cosine_to_60(a: f64) -> f64 {
    let rest = 1.0 - (a * RADIANS_PER_DEGREE).cos();
    1.0 - rest / (1.0 - (60.0 * RADIANS_PER_DEGREE).cos()) / 2.0
}

/// Of 0 to 90 degrees.
fn sine_to_90(a: f64) -> f64 {
    if a <= 30.0 { sine_to_30(a) } else { cosine_to_60(90.0 - a) }
}

fn cosine_to_90(a: f64) -> f64 {
    if a <= 60.0 { cosine_to_60(a) } else { sine_to_30(90.0 - a) }
}

/// An angle in the first quadrant, and the signs of its sine and cosine.
fn quadrant(a: f64) -> (f64, f64, f64) {
    let (mut a, mut sine, mut cosine) = (a % 360.0, 1.0, 1.0);
    if a < 0.0 {
        a = -a;
        sine = -sine;
    }
    if a > 180.0 {
        a = 360.0 - a;
        sine = -sine;
    }
    if a > 90.0 {
        a = 180.0 - a;
        cosine = -cosine;
    }
    (a, sine, cosine)
}

fn sind(a: f64) -> f64 {
    let (a, sign, _) = quadrant(a);
    sign * sine_to_90(a)
}

fn cosd(a: f64) -> f64 {
    let (a, _, sign) = quadrant(a);
    sign * cosine_to_90(a)
}

fn tand(a: f64) -> f64 {
    let (a, sine, cosine) = quadrant(a);
    let of_45 = sine_to_90(45.0) / cosine_to_90(45.0);
    let result = sine * cosine * (sine_to_90(a) / cosine_to_90(a) / of_45);
    if result == 0.0 { 0.0 } else { result }
}

fn cotd(a: f64) -> f64 {
    let (a, sine, cosine) = quadrant(a);
    let of_45 = cosine_to_90(45.0) / sine_to_90(45.0);
    let result = sine * cosine * (cosine_to_90(a) / sine_to_90(a) / of_45);
    if result == 0.0 { 0.0 } else { result }
}

/// Of a sine from 0 to 1.
fn asind_above(a: f64) -> f64 {
    if a <= 0.5 {
        a.asin() / 0.5_f64.asin() * 30.0
    } else {
        90.0 - a.acos() / 0.5_f64.acos() * 60.0
    }
}

fn asind(a: f64) -> f64 {
    if a >= 0.0 { asind_above(a) } else { -asind_above(-a) }
}

fn acosd(a: f64) -> f64 {
    if a < 0.0 {
        90.0 + asind_above(-a)
    } else if a <= 0.5 {
        90.0 - a.asin() / 0.5_f64.asin() * 30.0
    } else {
        a.acos() / 0.5_f64.acos() * 60.0
    }
}

/// width_bucket of floats.
fn bucket(value: f64, low: f64, high: f64, count: i32) -> Result<i32> {
    let refused = |message: &str| Err(Error::new("2201G", message));
    if count <= 0 {
        return refused("count must be greater than zero");
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return refused("operand, lower bound, and upper bound cannot be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return refused("lower and upper bounds must be finite");
    }
    if low == high {
        return refused("lower bound cannot equal upper bound");
    }
    let (before, behind) =
        if low < high { (value < low, value >= high) } else { (value > low, value <= high) };
    if before {
        return Ok(0);
    }
    if behind {
        return count.checked_add(1).ok_or_else(|| Error::new("22003", "integer out of range"));
    }
    // Beyond the range of integers there is what a processor makes of such a float.
    let bucket = f64::from(count) * (value - low).abs() / (high - low).abs() + 1.0;
    let fits = bucket < -f64::from(i32::MIN);
    Ok(if fits { bucket as i32 } else { i32::MIN })
}
