//! How do decimal numbers of up to 38 digits compare, round and print?
//!
//! A [`Numeric`] is a mantissa of at most 38 digits and a scale of at most 38; the largest mantissa
//! lies below 2^127, so sums of digits never overflow before they are checked.

use std::cmp::Ordering;

use crate::value::Numeric;

/// Most digits of a number, and most of them after the point.
pub const DIGITS_MAX: u32 = 38;

/// Powers of ten that an `i128` holds.
const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

impl From<i64> for Numeric {
    fn from(v: i64) -> Numeric {
        Numeric { mantissa: i128::from(v), scale: 0 }
    }
}

impl Numeric {
    /// Whether this is not a number.
    pub fn is_nan(&self) -> bool {
        self.scale == Self::NAN_SCALE
    }

    /// Whether digits and scale are within the limits.
    pub fn is_valid(&self) -> bool {
        self.is_nan() || u32::from(self.scale) <= DIGITS_MAX && self.digits() <= DIGITS_MAX
    }

    /// NaN with mantissa 0; every other number as it is.
    pub fn canonical_nan(self) -> Numeric {
        if self.is_nan() { Self::NAN } else { self }
    }

    /// Digits of the mantissa; 0 for zero.
    pub fn digits(&self) -> u32 {
        let magnitude = self.mantissa.unsigned_abs();
        if magnitude == 0 { 0 } else { magnitude.ilog10() + 1 }
    }

    /// The same number with another scale, rounded half away from zero; `None` where it has more
    /// than 38 digits then. NaN stays.
    pub fn rescale(self, scale: u8) -> Option<Numeric> {
        if self.is_nan() || scale == self.scale {
            return Some(self);
        }
        let mantissa = if scale > self.scale {
            let power = POWERS.get(usize::from(scale - self.scale))?;
            self.mantissa.checked_mul(*power)?
        } else {
            match POWERS.get(usize::from(self.scale - scale)) {
                Some(power) => {
                    let (whole, rest) = (self.mantissa / power, self.mantissa % power);
                    let up = rest.unsigned_abs() >= power.unsigned_abs() / 2;
                    whole + if up { self.mantissa.signum() } else { 0 }
                }
                None => 0,
            }
        };
        Some(Numeric { mantissa, scale }).filter(|n| n.digits() <= DIGITS_MAX)
    }

    /// Order by value: scale does not count, NaN is above all and equal to itself.
    pub fn compare(&self, other: &Numeric) -> Ordering {
        match (self.is_nan(), other.is_nan()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => {}
        }
        if self.scale == other.scale {
            return self.mantissa.cmp(&other.mantissa);
        }
        if self.scale > other.scale {
            return other.compare(self).reverse();
        }
        let power = POWERS.get(usize::from(other.scale - self.scale)).copied();
        match power.and_then(|power| self.mantissa.checked_mul(power)) {
            Some(mantissa) => mantissa.cmp(&other.mantissa),
            // Too large to write with the other's scale: larger than any such number.
            None => self.mantissa.cmp(&0),
        }
    }
}
