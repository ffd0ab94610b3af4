//! How are decimal numbers calculated?
//!
//! Scales follow PostgreSQL: sums keep the longer one, products add them up, quotients have at least
//! 16 significant digits. A result of more than 38 digits before the point, or of which digits behind
//! it would have to go, is `None`; quotients are rounded to what fits. NaN makes NaN, and so do infinities that
//! have no result together.

use super::{DIGITS_MAX, POWERS};
use crate::value::Numeric;

impl Numeric {
    /// `self + other`
    pub fn checked_add(self, other: Numeric) -> Option<Numeric> {
        match (self.is_infinite(), other.is_infinite()) {
            _ if self.is_nan() || other.is_nan() => Some(Numeric::NAN),
            (true, true) if self != other => Some(Numeric::NAN),
            (true, _) => Some(self),
            (false, true) => Some(other),
            (false, false) => aligned(self, other, i128::checked_add),
        }
    }

    /// `self - other`
    pub fn checked_sub(self, other: Numeric) -> Option<Numeric> {
        match other.is_finite() && self.is_finite() {
            true => aligned(self, other, i128::checked_sub),
            false => self.checked_add(Numeric { mantissa: -other.mantissa, ..other }),
        }
    }

    /// The rest of dividing by `other`, with the sign of `self`; `None` for zero.
    pub fn checked_rem(self, other: Numeric) -> Option<Numeric> {
        match (self.is_finite(), other.is_finite()) {
            (true, true) => aligned(self, other, i128::checked_rem),
            (true, false) if other.is_infinite() => Some(self),
            _ => Some(Numeric::NAN),
        }
    }

    /// `self * other`
    pub fn checked_mul(self, other: Numeric) -> Option<Numeric> {
        if self.is_nan() || other.is_nan() {
            return Some(Numeric::NAN);
        }
        if self.is_infinite() || other.is_infinite() {
            let sign = self.mantissa.signum() * other.mantissa.signum();
            return Some(if sign == 0 { Numeric::NAN } else { Numeric::infinity(sign) });
        }
        let mantissa = self.mantissa.checked_mul(other.mantissa)?;
        let scale = self.scale + other.scale;
        let product = Numeric { mantissa, scale };
        if u32::from(scale) > DIGITS_MAX {
            return product.rescale(DIGITS_MAX as u8).filter(Numeric::is_valid);
        }
        Some(product).filter(Numeric::is_valid)
    }

    /// `self / other`; `None` for zero.
    pub fn checked_div(self, other: Numeric) -> Option<Numeric> {
        if self.is_nan() || other.is_nan() {
            return Some(Numeric::NAN);
        }
        if other.mantissa == 0 {
            return None;
        }
        match (self.is_infinite(), other.is_infinite()) {
            (true, true) => return Some(Numeric::NAN),
            (true, false) => {
                return Some(Numeric::infinity(self.mantissa.signum() * other.mantissa.signum()));
            }
            (false, true) => return Some(Numeric { mantissa: 0, scale: 0 }),
            (false, false) => {}
        }
        let mut scale = quotient_scale(&self, &other);
        // Digits that the division has to bring: behind the point of the quotient of the mantissas.
        loop {
            let digits = scale + i32::from(other.scale) - i32::from(self.scale);
            match long_division(self.mantissa, other.mantissa, digits) {
                Some(mantissa) => {
                    let n = Numeric { mantissa, scale: u8::try_from(scale).ok()? };
                    if n.is_valid() {
                        return Some(n);
                    }
                }
                None if scale == 0 => return None,
                None => {}
            }
            scale = scale.checked_sub(1).filter(|s| *s >= 0)?;
        }
    }

    /// The nearest float, except for the last bit.
    pub fn to_f64(self) -> f64 {
        if self.is_nan() {
            return f64::NAN;
        }
        if self.is_infinite() {
            return f64::INFINITY.copysign(self.mantissa as f64);
        }
        // Parsing rounds correctly, dividing by a power of ten above 10^22 does not.
        format!("{}e-{}", self.mantissa, self.scale).parse().unwrap_or(f64::NAN)
    }
}

/// Calculates with mantissas of one scale.
fn aligned(a: Numeric, b: Numeric, f: impl Fn(i128, i128) -> Option<i128>) -> Option<Numeric> {
    let scale = a.scale.max(b.scale);
    let lift = |n: Numeric| n.mantissa.checked_mul(*POWERS.get(usize::from(scale - n.scale))?);
    let mantissa = f(lift(a)?, lift(b)?)?;
    Some(Numeric { mantissa, scale }).filter(Numeric::is_valid)
}

/// PostgreSQL's choice: 16 significant digits, counted in groups of four as it stores them, and no
/// fewer than either operand has.
fn quotient_scale(a: &Numeric, b: &Numeric) -> i32 {
    let ((weight_a, first_a), (weight_b, first_b)) = (first_group(a), first_group(b));
    let weight = weight_a - weight_b - i32::from(first_a <= first_b);
    let significant = 16 - weight * 4;
    let scale = significant.max(i32::from(a.scale)).max(i32::from(b.scale));
    scale.clamp(0, DIGITS_MAX as i32)
}

/// The power of 10,000 of the first group of four digits that is not zero, and that group.
fn first_group(n: &Numeric) -> (i32, i128) {
    let magnitude = n.mantissa.abs();
    if magnitude == 0 {
        return (0, 0);
    }
    // The power of ten of the first digit.
    let exponent = n.digits() as i32 - 1 - i32::from(n.scale);
    let weight = exponent.div_euclid(4);
    // How far the group's last digit lies from that of the mantissa.
    let shift = weight * 4 + i32::from(n.scale);
    let group = match usize::try_from(shift) {
        Ok(shift) => magnitude / POWERS[shift],
        Err(_) => magnitude * POWERS[shift.unsigned_abs() as usize],
    };
    (weight, group)
}

/// `a / b * 10^digits`, rounded half away from zero; `None` where it has more than 38 digits.
fn long_division(a: i128, b: i128, digits: i32) -> Option<i128> {
    let negative = (a < 0) != (b < 0);
    let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
    let (mut quotient, mut rest) = (a / b, a % b);
    if digits < 0 {
        // The divisor's scale is shorter: fewer digits than whole ones are wanted.
        let n = Numeric { mantissa: i128::try_from(quotient).ok()?, scale: 0 };
        let power = *POWERS.get(digits.unsigned_abs() as usize)?;
        let whole = n.mantissa / power;
        let up = (n.mantissa % power) * 2 >= power;
        let rounded = whole + i128::from(up);
        return Some(if negative { -rounded } else { rounded });
    }
    for _ in 0..digits {
        // Ten times the rest, without leaving 128 bits: the rest is below 10^38.
        let (mut digit, mut sum) = (0, 0);
        for _ in 0..10 {
            sum += rest;
            if sum >= b {
                sum -= b;
                digit += 1;
            }
        }
        quotient = quotient.checked_mul(10)?.checked_add(digit)?;
        rest = sum;
    }
    let quotient = quotient + u128::from(rest >= b - rest);
    let quotient = i128::try_from(quotient).ok()?;
    Some(if negative { -quotient } else { quotient })
}
