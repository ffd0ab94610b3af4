//! How does a decimal number become bytes that sort by value?
//!
//! Works on [`Numeric`] alone; knows nothing of columns. Pure functions, no shared state.
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | class | 1 | `80` zero, `ff` NaN, `fe` and `01` the infinities, alone; positive: `c0` + exponent; negative: that inverted |
//! | digits | 1 to 19 | base 100, most significant first, without trailing zeros; each byte is twice the pair, plus 1 while another follows; inverted for negative numbers |
//!
//! The value is `0.d1 d2 d3 … x 10^exponent` with a first decimal digit that is not 0, so the exponent
//! is the number of digits before the point (negative for zeros after it): -37 to 38. Numbers that
//! are equal have equal bytes, whatever their scale.

use onlap_base::{Error, Result};

use crate::value::Numeric;

const ZERO: u8 = 0x80;
const NAN: u8 = 0xff;
const INFINITY: u8 = 0xfe;
const NEGATIVE_INFINITY: u8 = !INFINITY;
const EXPONENT_BIAS: i32 = 0xc0;
const DIGITS_MAX: usize = 38;

/// Removes trailing zeros after the point: the normal form that keys give back.
pub(super) fn normalize(mut mantissa: i128, mut scale: u8) -> Numeric {
    if scale == Numeric::NAN_SCALE {
        return Numeric::NAN;
    }
    if scale == Numeric::INFINITE_SCALE {
        return Numeric { mantissa, scale };
    }
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    Numeric { mantissa, scale }
}

/// Appends the bytes of a number; every byte is xored with `flip`.
pub(super) fn encode(n: Numeric, flip: u8, out: &mut Vec<u8>) {
    if n.scale == Numeric::NAN_SCALE {
        return out.push(NAN ^ flip);
    }
    if n.scale == Numeric::INFINITE_SCALE {
        let class = if n.mantissa < 0 { NEGATIVE_INFINITY } else { INFINITY };
        return out.push(class ^ flip);
    }
    if n.mantissa == 0 {
        return out.push(ZERO ^ flip);
    }
    let flip = if n.mantissa < 0 { !flip } else { flip };
    let mut digits = [0u8; 2 * DIGITS_MAX + 2];
    let mut first = 40;
    let mut rest = n.mantissa.unsigned_abs();
    while rest > 0 {
        first -= 1;
        digits[first] = (rest % 10) as u8;
        rest /= 10;
    }
    let count = 40 - first;
    let exponent = count as i32 - i32::from(n.scale);
    // Exponents outside the type's range cannot come from a checked column; clamping keeps the
    // bytes decodable.
    out.push((EXPONENT_BIAS + exponent.clamp(-60, 60)) as u8 ^ flip);
    let pairs = count.div_ceil(2);
    let pair = |i: usize| digits[first + 2 * i] * 10 + digits[first + 2 * i + 1];
    let last = (0..pairs).rev().find(|&i| pair(i) != 0).unwrap_or(0);
    for i in 0..=last {
        out.push((pair(i) * 2 + u8::from(i < last)) ^ flip);
    }
}

/// Reads a number off the front of `bytes`.
pub(super) fn decode(bytes: &mut &[u8], flip: u8) -> Result<Numeric> {
    let short = || Error::damaged("a numeric key ends early");
    let (class, mut rest) = bytes.split_first().ok_or_else(short)?;
    let class = class ^ flip;
    let alone = match class {
        ZERO => Some(Numeric { mantissa: 0, scale: 0 }),
        NAN => Some(Numeric::NAN),
        INFINITY => Some(Numeric::INFINITY),
        NEGATIVE_INFINITY => Some(Numeric::NEGATIVE_INFINITY),
        _ => None,
    };
    if let Some(alone) = alone {
        *bytes = rest;
        return Ok(alone);
    }
    let negative = class < ZERO;
    let flip = if negative { !flip } else { flip };
    let class = if negative { !class } else { class };
    let exponent = i32::from(class) - EXPONENT_BIAS;
    let (mut mantissa, mut digits) = (0u128, 0i32);
    loop {
        let (byte, tail) = rest.split_first().ok_or_else(short)?;
        rest = tail;
        let byte = byte ^ flip;
        if byte >= 200 || digits >= DIGITS_MAX as i32 {
            return Err(Error::damaged("a numeric key has impossible digits"));
        }
        mantissa = mantissa * 100 + u128::from(byte / 2);
        digits += 2;
        if byte & 1 == 0 {
            break;
        }
    }
    let mut scale = digits - exponent;
    while scale > 0 && mantissa.is_multiple_of(10) && mantissa != 0 {
        mantissa /= 10;
        scale -= 1;
    }
    while scale < 0 && mantissa < 10u128.pow(37) {
        mantissa *= 10;
        scale += 1;
    }
    if !(0..=38).contains(&scale) || mantissa >= 10u128.pow(38) || mantissa == 0 {
        return Err(Error::damaged("a numeric key is out of range"));
    }
    *bytes = rest;
    let mantissa = if negative { -(mantissa as i128) } else { mantissa as i128 };
    Ok(Numeric { mantissa, scale: scale as u8 })
}
