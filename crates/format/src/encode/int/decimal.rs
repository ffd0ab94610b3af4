//! Which floats are short decimals?
//!
//! A float printed with few digits is the float nearest to `digits / 10^exponent`; that division is
//! exact to the last bit as long as both are integers below 2^53. (The observation behind ALP:
//! Afroozeh, Kuffo, Boncz, "ALP: Adaptive Lossless floating-Point Compression", SIGMOD 2024, without
//! its exceptions.) Every value is tried before it counts, so nothing is lost.

use crate::convert::{f64_of, order_f64};

const SINGLE: u8 = 0x80;
/// Most digits after the point, for double and single precision: all that 53 and 24 bits tell apart.
const EXPONENT_MAX: [u8; 2] = [15, 8];
/// Digits beyond this are not exact in a float.
const DIGITS_MAX: f64 = (1u64 << 53) as f64;

const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Whether this is how an encoder writes decimals.
pub(super) fn is_known(how: u8) -> bool {
    let single = usize::from(how >> 7);
    (1..=EXPONENT_MAX[single] + 1).contains(&(how & !SINGLE))
}

/// The float, in its order, that these digits stand for. `how` is known.
#[inline]
pub(super) fn value(how: u8, digits: i64) -> i64 {
    let quotient = digits as f64 / POWERS[usize::from((how & !SINGLE) - 1)];
    order_f64(if how & SINGLE != 0 { f64::from(quotient as f32) } else { quotient })
}

/// The digits of a value, where they are few enough.
#[inline]
fn digits(how: u8, v: i64) -> Option<i64> {
    let product = (f64_of(v) * POWERS[usize::from((how & !SINGLE) - 1)]).round();
    // NaN and infinity fail the comparison.
    (product.abs() < DIGITS_MAX && value(how, product as i64) == v).then_some(product as i64)
}

/// How, and all digits, where every value is a short decimal.
pub(super) fn of(values: &[i64]) -> Option<(u8, Vec<i64>)> {
    let how = fitting(values, 0).or_else(|| fitting(values, SINGLE))?;
    let all: Option<Vec<i64>> = values.iter().map(|v| digits(how, *v)).collect();
    Some((how, all?))
}

/// The fewest digits after the point that fit all values one after the other. What is no float at
/// all fails at its first value.
fn fitting(values: &[i64], single: u8) -> Option<u8> {
    let last = EXPONENT_MAX[usize::from(single >> 7)] + 1;
    let mut exponent = 1;
    for v in values {
        while digits(exponent | single, *v).is_none() {
            exponent += 1;
            if exponent > last {
                return None;
            }
        }
    }
    Some(exponent | single)
}
