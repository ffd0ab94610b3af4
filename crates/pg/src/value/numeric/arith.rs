//! What are the sums, products, remainders and roundings of numerics, and how many decimals do they show?

use std::cmp::Ordering;

use super::{BASE, Class, DEC_DIGITS, DSCALE_MAX, Numeric, WEIGHT_MAX, compare_sizes};
use crate::{Result, worked};

/// Decimals before the point beyond which every value is rounded to zero.
const LEAST_SCALE: i32 = -(WEIGHT_MAX + 1) * DEC_DIGITS - 1;

impl Numeric {
    /// numeric_uminus.
    pub fn negate(&self) -> Numeric {
        let class = match self.class {
            Class::NegativeInfinity => Class::Infinity,
            Class::Infinity => Class::NegativeInfinity,
            Class::Negative => Class::Positive,
            Class::Positive if !self.digits.is_empty() => Class::Negative,
            other => other,
        };
        Numeric { class, ..self.clone() }
    }

    /// numeric_abs.
    pub fn abs(&self) -> Numeric {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    /// numeric_sign.
    pub fn signum(&self) -> Numeric {
        if self.class == Class::NaN {
            Numeric::nan()
        } else {
            Numeric::from(i64::from(self.sign()))
        }
    }

    /// numeric_add.
    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        if !self.is_finite() || !other.is_finite() {
            return Ok(match (self.class, other.class) {
                (Class::NaN, _) | (_, Class::NaN) => Numeric::nan(),
                (Class::Infinity, Class::NegativeInfinity)
                | (Class::NegativeInfinity, Class::Infinity) => Numeric::nan(),
                _ if self.is_finite() => other.clone(),
                _ => self.clone(),
            });
        }
        self.plus(other).fit()
    }

    /// numeric_sub.
    pub fn sub(&self, other: &Numeric) -> Result<Numeric> {
        self.add(&other.negate())
    }

    /// numeric_mul: as many decimals as both have together.
    pub fn mul(&self, other: &Numeric) -> Result<Numeric> {
        if !self.is_finite() || !other.is_finite() {
            return Ok(match self.sign() * other.sign() {
                _ if self.class == Class::NaN || other.class == Class::NaN => Numeric::nan(),
                0 => Numeric::nan(),
                sign => Numeric::infinity(sign < 0),
            });
        }
        let product = self.times(other)?;
        if product.dscale > DSCALE_MAX { product.rounded(DSCALE_MAX) } else { product }.fit()
    }

    /// numeric_round.
    pub fn round(&self, scale: i32) -> Result<Numeric> {
        self.rounded(scale.clamp(LEAST_SCALE, DSCALE_MAX)).fit()
    }

    /// numeric_trunc.
    pub fn trunc(&self, scale: i32) -> Result<Numeric> {
        self.cut(scale.clamp(LEAST_SCALE, DSCALE_MAX), false).fit()
    }

    /// numeric_ceil.
    pub fn ceil(&self) -> Result<Numeric> {
        let whole = self.cut(0, false);
        if self.is_finite() && whole < *self {
            whole.plus(&Numeric::from(1)).fit()
        } else {
            Ok(whole)
        }
    }

    /// numeric_floor.
    pub fn floor(&self) -> Result<Numeric> {
        let whole = self.cut(0, false);
        if self.is_finite() && whole > *self {
            whole.plus(&Numeric::from(-1)).fit()
        } else {
            Ok(whole)
        }
    }

    /// The sum of two finite values, unchecked.
    pub(super) fn plus(&self, other: &Numeric) -> Numeric {
        let dscale = self.dscale.max(other.dscale);
        if self.class == other.class {
            let (weight, digits) = add_sizes(self, other);
            return Numeric::raw(self.class == Class::Negative, weight, digits, dscale);
        }
        let (large, small) = match compare_sizes(self, other) {
            Ordering::Equal => return Numeric::raw(false, 0, Vec::new(), dscale),
            Ordering::Greater => (self, other),
            Ordering::Less => (other, self),
        };
        let (weight, digits) = subtract_sizes(large, small);
        Numeric::raw(large.class == Class::Negative, weight, digits, dscale)
    }

    /// The product of two finite values, unchecked.
    ///
    /// # Errors
    /// `57014`: products of many digits take long.
    pub(super) fn times(&self, other: &Numeric) -> Result<Numeric> {
        let dscale = self.dscale + other.dscale;
        let (a, b) = (&self.digits, &other.digits);
        if a.is_empty() || b.is_empty() {
            return Ok(Numeric::raw(false, 0, Vec::new(), dscale));
        }
        let mut sums = vec![0_u64; a.len() + b.len()];
        for (i, x) in a.iter().enumerate() {
            worked(b.len())?;
            for (j, y) in b.iter().enumerate() {
                sums[i + j + 1] += u64::from(*x) * u64::from(*y);
            }
        }
        let mut carry = 0;
        let mut digits = vec![0_u16; sums.len()];
        for (digit, sum) in digits.iter_mut().zip(sums).rev() {
            let sum = sum + carry;
            (*digit, carry) = ((sum % u64::from(BASE)) as u16, sum / u64::from(BASE));
        }
        let negative = self.class != other.class;
        Ok(Numeric::raw(negative, self.weight + other.weight + 1, digits, dscale))
    }
}

/// The weights of the first and the last digit that either value has.
fn span(a: &Numeric, b: &Numeric) -> (i32, i32) {
    let last = |v: &Numeric| v.weight - v.digits.len() as i32 + 1;
    match (a.digits.is_empty(), b.digits.is_empty()) {
        (true, _) => (b.weight, last(b)),
        (_, true) => (a.weight, last(a)),
        _ => (a.weight.max(b.weight), last(a).min(last(b))),
    }
}

fn add_sizes(a: &Numeric, b: &Numeric) -> (i32, Vec<u16>) {
    let (first, last) = span(a, b);
    let mut carry = 0;
    let mut digits: Vec<u16> = (last..=first)
        .map(|weight| {
            let sum = a.digit(weight) + b.digit(weight) + carry;
            carry = u16::from(sum >= 10_000);
            sum - 10_000 * carry
        })
        .collect();
    digits.push(carry);
    digits.reverse();
    (first + 1, digits)
}

/// The larger size minus the smaller.
fn subtract_sizes(large: &Numeric, small: &Numeric) -> (i32, Vec<u16>) {
    let (first, last) = span(large, small);
    let mut borrow = 0;
    let mut digits: Vec<u16> = (last..=first)
        .map(|weight| {
            let (from, what) = (large.digit(weight), small.digit(weight) + borrow);
            borrow = u16::from(from < what);
            from + 10_000 * borrow - what
        })
        .collect();
    digits.reverse();
    (first, digits)
}
