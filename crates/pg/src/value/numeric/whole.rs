//! What else do functions of numerics give: scales, factorials, buckets, variances?

use super::{Class, Numeric};
use crate::{Error, Result};

/// NUMERIC_MAX_FACTORIAL: the largest number whose factorial fits.
pub const MAX_FACTORIAL: i64 = 32_177;

impl Numeric {
    /// numeric_min_scale of a finite value: the decimals that it needs.
    pub fn min_scale(&self) -> i32 {
        let Some(last) = self.digits.last() else { return 0 };
        let weight = self.weight - self.digits.len() as i32 + 1;
        let zeros = (0..3).take_while(|power| last % 10_u16.pow(power + 1) == 0).count();
        (-weight * super::DEC_DIGITS - zeros as i32).max(0)
    }

    /// numeric_trim_scale.
    pub fn trim_scale(&self) -> Numeric {
        if !self.is_finite() {
            return self.clone();
        }
        Numeric { dscale: self.min_scale(), ..self.clone() }
    }

    /// The same value with at least so many decimals shown.
    pub fn with_decimals(mut self, scale: i32) -> Numeric {
        if self.is_finite() {
            self.dscale = self.dscale.max(scale);
        }
        self
    }

    /// width_bucket: which of so many buckets of equal width between two bounds a value lies in.
    pub fn bucket(&self, low: &Numeric, high: &Numeric, count: i32) -> Result<i32> {
        let refused = |message: &str| Error::new("2201G", message);
        if count <= 0 {
            return Err(refused("count must be greater than zero"));
        }
        if [self, low, high].iter().any(|value| value.class == Class::NaN) {
            return Err(refused("operand, lower bound, and upper bound cannot be NaN"));
        }
        if !low.is_finite() || !high.is_finite() {
            return Err(refused("lower and upper bounds must be finite"));
        }
        if low == high {
            return Err(refused("lower bound cannot equal upper bound"));
        }
        let (before, behind) =
            if low < high { (self < low, self >= high) } else { (self > low, self <= high) };
        if before {
            return Ok(0);
        }
        if behind {
            let next = count.checked_add(1);
            return next.ok_or_else(|| Error::new("22003", "integer out of range"));
        }
        let counted = Numeric::from(i64::from(count));
        let (way, width) = (self.sub(low)?, high.sub(low)?);
        // The quotient is rounded: it may reach the count, as in PostgreSQL.
        let quotient = way.abs().times(&counted)?.div(&width.abs())?;
        quotient.plus(&Numeric::from(1)).floor()?.to_int4()
    }

    /// numeric_stddev_internal: variance or standard deviation of values of which their number, sum and sum of squares are
    /// known, all finite; of a sample or of all.
    pub fn spread(
        count: i64,
        sum: &Numeric,
        squares: &Numeric,
        sample: bool,
        root: bool,
    ) -> Result<Numeric> {
        let n = Numeric::from(count);
        let numerator = n.times(squares)?.plus(&sum.times(sum)?.negate());
        if numerator.sign() <= 0 {
            return Ok(Numeric::zero());
        }
        let divisor = n.times(&Numeric::from(if sample { count - 1 } else { count }))?;
        let scale = numerator.quotient_scale(&divisor);
        let variance = numerator.quotient(&divisor, scale, true)?;
        if root { variance.root(scale) } else { variance }.fit()
    }

    /// The sum of values that need not fit PostgreSQL's format yet.
    pub fn plus_unchecked(&self, other: &Numeric) -> Numeric {
        self.plus(other)
    }

    /// The product of finite values that need not fit PostgreSQL's format yet.
    ///
    /// # Errors
    /// `57014`.
    pub fn times_unchecked(&self, other: &Numeric) -> Result<Numeric> {
        self.times(other)
    }

    /// Refuses what does not fit PostgreSQL's format.
    pub fn checked(self) -> Result<Numeric> {
        self.fit()
    }

    /// The digits to base 10,000 and the weight of the first; none of zero.
    pub fn digits(&self) -> (&[u16], i32) {
        (&self.digits, self.weight)
    }

    /// The decimal exponent of the first digit of a finite value, and the value divided by that power of ten, rounded to a
    /// scale: ten or more if it is rounded up to that.
    pub fn scientific_parts(&self, scale: i32) -> Result<(i32, Numeric)> {
        let exponent = if self.digits.is_empty() { 0 } else { self.decimal_weight() };
        let weight = exponent.div_euclid(super::DEC_DIGITS);
        let first = 10_u16.pow(exponent.rem_euclid(super::DEC_DIGITS) as u32);
        let power = Numeric::raw(false, weight, vec![first], 0);
        Ok((exponent, self.quotient(&power, scale, true)?))
    }
}
