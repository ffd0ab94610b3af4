//! What is calculated with numerics of few digits, without memory of their own?
//!
//! Most values have at most 38 decimal digits. Such a value is a mantissa and the decimals that it shows; what comes out is
//! what [`Numeric`] gives, or `None` where the result has more digits, and then [`Numeric`] calculates.

use std::cmp::Ordering;

use super::{MIN_SIG_DIGITS, Numeric};

/// The most decimals of a small value: padded to whole digits of base 10,000 they still fit 128 bits.
pub(super) const MOST_DECIMALS: u8 = 36;

/// Powers of ten that fit 128 bits.
const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Powers of ten that a float8 has exactly.
const FLOAT_POWERS: [f64; 23] = {
    let mut powers = [1.0; 23];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10.0;
        at += 1;
    }
    powers
};

/// The size that a mantissa stays below.
const BOUND: u128 = POWERS[38] as u128;

/// Powers of ten that fit 64 bits.
const SHORT_POWERS: usize = 19;

/// Digits to base 10,000 that a small value has at most: ten before the point, nine behind it.
const MOST_DIGITS: usize = 19;

/// A finite value of at most 38 digits and [`MOST_DECIMALS`] decimals.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    mantissa: i128,
    scale: u8,
}

/// Times a power of ten.
#[inline]
fn raise(value: i128, power: u8) -> Option<i128> {
    let factor = *POWERS.get(usize::from(power))?;
    match i64::try_from(value) {
        // The product of two numbers of 64 bits.
        Ok(value) if usize::from(power) < SHORT_POWERS => {
            Some(i128::from(value) * i128::from(factor as i64))
        }
        _ => value.checked_mul(factor),
    }
}

/// The quotient of a number and one above zero, halves away from zero.
#[inline]
fn divide_rounded(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = match (i64::try_from(value), i64::try_from(divisor)) {
        (Ok(value), Ok(divisor)) => (i128::from(value / divisor), i128::from(value % divisor)),
        _ => (value / divisor, value % divisor),
    };
    // The rest is below the divisor, so that the difference does not overflow.
    let up = rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
    quotient + if up { value.signum() } else { 0 }
}

impl From<i64> for Small {
    #[inline]
    fn from(value: i64) -> Small {
        Small { mantissa: i128::from(value), scale: 0 }
    }
}

impl Small {
    /// A mantissa with decimals, if it is small.
    #[inline]
    pub fn new(mantissa: i128, scale: u8) -> Option<Small> {
        (mantissa.unsigned_abs() < BOUND && scale <= MOST_DECIMALS)
            .then_some(Small { mantissa, scale })
    }

    /// The value times ten to the power of [`Small::scale`].
    #[inline]
    pub fn mantissa(self) -> i128 {
        self.mantissa
    }

    /// How many decimals it shows.
    #[inline]
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// The mantissas of two values at the scale of the one with more decimals.
    #[inline]
    fn align(self, other: Small) -> Option<(i128, i128, u8)> {
        Some(match self.scale.cmp(&other.scale) {
            Ordering::Equal => (self.mantissa, other.mantissa, self.scale),
            Ordering::Less => {
                (raise(self.mantissa, other.scale - self.scale)?, other.mantissa, other.scale)
            }
            Ordering::Greater => {
                (self.mantissa, raise(other.mantissa, self.scale - other.scale)?, self.scale)
            }
        })
    }

    /// numeric_add.
    #[inline]
    pub fn checked_add(self, other: Small) -> Option<Small> {
        let (a, b, scale) = self.align(other)?;
        Small::new(a.checked_add(b)?, scale)
    }

    /// numeric_sub.
    #[inline]
    pub fn checked_sub(self, other: Small) -> Option<Small> {
        let (a, b, scale) = self.align(other)?;
        Small::new(a.checked_sub(b)?, scale)
    }

    /// numeric_mul.
    #[inline]
    pub fn checked_mul(self, other: Small) -> Option<Small> {
        let product = match (i64::try_from(self.mantissa), i64::try_from(other.mantissa)) {
            (Ok(a), Ok(b)) => i128::from(a) * i128::from(b),
            _ => self.mantissa.checked_mul(other.mantissa)?,
        };
        Small::new(product, self.scale + other.scale)
    }

    /// numeric_div, unless the divisor is zero.
    pub fn checked_div(self, other: Small) -> Option<Small> {
        if other.mantissa == 0 {
            return None;
        }
        let ((weight, first), (by_weight, by_first)) = (self.head(), other.head());
        let weight = weight - by_weight - i32::from(first <= by_first);
        let most = self.scale.max(other.scale);
        let scale = u8::try_from((MIN_SIG_DIGITS - weight * 4).max(i32::from(most))).ok()?;
        let dividend = raise(self.mantissa, (scale + other.scale).checked_sub(self.scale)?)?;
        let sign = other.mantissa.signum();
        Small::new(sign * divide_rounded(dividend, other.mantissa.abs()), scale)
    }

    /// numeric_mod, unless the divisor is zero.
    pub fn checked_rem(self, other: Small) -> Option<Small> {
        let (a, b, scale) = self.align(other)?;
        Small::new(a.checked_rem(b)?, scale)
    }

    /// The weight of the first digit to base 10,000, and that digit; zeros of zero.
    fn head(self) -> (i32, i128) {
        let size = self.mantissa.abs();
        if size == 0 {
            return (0, 0);
        }
        let scale = i32::from(self.scale);
        let weight = (size.ilog10() as i32 - scale).div_euclid(4);
        let lower = weight * 4 + scale;
        let power = POWERS[lower.unsigned_abs() as usize];
        (weight, if lower >= 0 { size / power } else { size * power })
    }

    /// numeric_round to decimals before which there is no rounding to tens.
    #[inline]
    pub fn round(self, scale: u8) -> Option<Small> {
        if scale >= self.scale {
            return Small::new(raise(self.mantissa, scale - self.scale)?, scale);
        }
        let divisor = POWERS[usize::from(self.scale - scale)];
        Small::new(divide_rounded(self.mantissa, divisor), scale)
    }

    /// numeric_uminus.
    #[inline]
    pub fn negate(self) -> Small {
        Small { mantissa: -self.mantissa, scale: self.scale }
    }

    /// numeric_abs.
    #[inline]
    pub fn abs(self) -> Small {
        Small { mantissa: self.mantissa.abs(), scale: self.scale }
    }

    /// The nearest float8; `None` where that takes more than a division.
    #[inline]
    pub fn to_float8(self) -> Option<f64> {
        // Both are exact as floats, so that their quotient is the nearest one.
        let mantissa = i64::try_from(self.mantissa).ok().filter(|m| m.unsigned_abs() <= 1 << 53)?;
        FLOAT_POWERS.get(usize::from(self.scale)).map(|power| mantissa as f64 / power)
    }

    /// The digits to base 10,000, first to last, and the weight of the first; zeros may stand at both ends.
    fn digits(self) -> ([u16; MOST_DIGITS], usize, i32) {
        let (size, scale) = (self.mantissa.unsigned_abs(), usize::from(self.scale));
        let mut digits = [0; MOST_DIGITS];
        // From the last digit to the first.
        let mut count = 0;
        let mut split = |value: u128, least: usize| {
            let end = count + least;
            let mut left = value;
            while left > u128::from(u64::MAX) {
                digits[count] = (left % 10_000) as u16;
                left /= 10_000;
                count += 1;
            }
            let mut left = left as u64;
            while left > 0 {
                digits[count] = (left % 10_000) as u16;
                left /= 10_000;
                count += 1;
            }
            count = count.max(end);
        };
        let behind = scale.div_ceil(4);
        let one = POWERS[scale] as u128;
        split(size % one * POWERS[behind * 4 - scale] as u128, behind);
        split(size / one, 0);
        digits[..count].reverse();
        (digits, count, count as i32 - behind as i32 - 1)
    }

    /// Appends the key, as [`Numeric::key`] does.
    pub fn key(self, out: &mut Vec<u8>) {
        let (digits, count, weight) = self.digits();
        let digits = &digits[..count];
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        let end = digits.iter().rposition(|digit| *digit != 0).map_or(zeros, |at| at + 1);
        super::key::of_digits(self.mantissa < 0, weight - zeros as i32, &digits[zeros..end], out);
    }
}

impl PartialEq for Small {
    #[inline]
    fn eq(&self, other: &Small) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Small {}

impl PartialOrd for Small {
    #[inline]
    fn partial_cmp(&self, other: &Small) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Small {
    #[inline]
    fn cmp(&self, other: &Small) -> Ordering {
        match self.align(*other) {
            Some((a, b, _)) => a.cmp(&b),
            // The one that does not fit at the other's scale is farther from zero.
            None if self.scale < other.scale => self.mantissa.cmp(&0),
            None => 0.cmp(&other.mantissa),
        }
    }
}

impl From<Small> for Numeric {
    fn from(value: Small) -> Numeric {
        let (digits, count, weight) = value.digits();
        let scale = i32::from(value.scale);
        Numeric::raw(value.mantissa < 0, weight, digits[..count].to_vec(), scale)
    }
}

impl Numeric {
    /// The same value in few digits, if it has few.
    pub fn to_small(&self) -> Option<Small> {
        let scale = u8::try_from(self.dscale).ok().filter(|scale| *scale <= MOST_DECIMALS)?;
        if !self.is_finite() || self.digits.len() > MOST_DIGITS {
            return None;
        }
        let mut mantissa = 0_i128;
        // The decimals of the last digit may be fewer than four.
        let last = self.weight - self.digits.len() as i32 + 1;
        let shift = last * 4 + self.dscale;
        for (at, digit) in self.digits.iter().enumerate() {
            let is_last = at + 1 == self.digits.len();
            let (factor, digit) = match shift {
                -3..=-1 if is_last => {
                    let cut = POWERS[shift.unsigned_abs() as usize] as u16;
                    if digit % cut != 0 {
                        return None;
                    }
                    (POWERS[(4 + shift) as usize], digit / cut)
                }
                _ => (POWERS[4], *digit),
            };
            mantissa = mantissa.checked_mul(factor)?.checked_add(i128::from(digit))?;
        }
        let mantissa = match shift {
            _ if mantissa == 0 => 0,
            0.. => raise(mantissa, u8::try_from(shift).ok()?)?,
            -3..=-1 => mantissa,
            _ => return None,
        };
        Small::new(if self.is_negative() { -mantissa } else { mantissa }, scale)
    }
}

#[cfg(test)]
mod tests;
