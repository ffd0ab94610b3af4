//! What are roots, exponentials, logarithms and powers of numerics, to PostgreSQL's digits?
//!
//! PostgreSQL calculates with eight digits more than it shows and rounds; here the calculation is in binary
//! fixed point ([`Fixed`]) with more than that, so that both round to the same digits.

use std::f64::consts::LN_10;

use num_bigint::{BigInt, Sign};

use super::{Class, MAX_DISPLAY_SCALE, MAX_RESULT_SCALE, MIN_SIG_DIGITS, Numeric, overflow};
use crate::{Error, Result, worked};

/// Decimal digits of a natural logarithm's unit, to the digits that PostgreSQL takes for its guesses of scales.
#[allow(clippy::approx_constant, reason = "more digits give other scales")]
const DECIMAL: f64 = 0.434_294_481_903_252;

impl Numeric {
    /// numeric_sqrt.
    pub fn sqrt(&self) -> Result<Numeric> {
        let negative = || Error::new("2201F", "cannot take square root of a negative number");
        match self.class {
            Class::NaN | Class::Infinity => return Ok(self.clone()),
            Class::Negative | Class::NegativeInfinity => return Err(negative()),
            Class::Positive => {}
        }
        let weight = (self.weight + 1) * 4 / 2 - 1;
        let scale = (MIN_SIG_DIGITS - weight).max(self.dscale).clamp(0, MAX_DISPLAY_SCALE);
        Ok(self.root(scale))
    }

    /// The root of a value that is not negative, to a scale.
    pub(super) fn root(&self, scale: i32) -> Numeric {
        // One decimal more than wanted is enough to round by: a root is never half way without being exact.
        let root = self.scaled(2 * (scale + 1)).sqrt();
        Numeric::of_integer(&root, scale + 1).rounded(scale)
    }

    /// numeric_exp.
    pub fn exp(&self) -> Result<Numeric> {
        match self.class {
            Class::NaN | Class::Infinity => return Ok(self.clone()),
            Class::NegativeInfinity => return Ok(Numeric::zero()),
            _ => {}
        }
        let value = self.approximate();
        let limit = f64::from(MAX_RESULT_SCALE);
        let weight = (value * DECIMAL).clamp(-limit, limit) as i32;
        let scale = (MIN_SIG_DIGITS - weight).max(self.dscale).clamp(0, MAX_DISPLAY_SCALE);
        if value.abs() >= limit * 3.0 {
            return if value > 0.0 { Err(overflow()) } else { Ok(nothing(scale)) };
        }
        let whole_digits = (value * DECIMAL) as i32 + 1;
        let fixed = Fixed::with_decimals(scale + whole_digits.max(0));
        Ok(fixed.to_numeric(&fixed.exp(&fixed.of(self))?, scale))
    }

    /// numeric_ln.
    pub fn ln(&self) -> Result<Numeric> {
        self.check_logarithm()?;
        if !self.is_finite() {
            return Ok(self.clone());
        }
        let scale = MIN_SIG_DIGITS - self.ln_weight();
        let scale = scale.max(self.dscale).clamp(0, MAX_DISPLAY_SCALE);
        let fixed = Fixed::with_decimals(scale);
        Ok(fixed.to_numeric(&fixed.ln(self)?, scale))
    }

    /// numeric_log: the logarithm of a number to a base.
    pub fn log(base: &Numeric, number: &Numeric) -> Result<Numeric> {
        if base.class == Class::NaN || number.class == Class::NaN {
            return Ok(Numeric::nan());
        }
        if !base.is_finite() || !number.is_finite() {
            // A sign is looked for in both before zeros are.
            [base, number]
                .into_iter()
                .filter(|v| v.sign() < 0)
                .try_for_each(Numeric::check_logarithm)?;
        }
        base.check_logarithm()?;
        number.check_logarithm()?;
        match (base.is_finite(), number.is_finite()) {
            (false, false) => return Ok(Numeric::nan()),
            (false, true) => return Ok(Numeric::zero()),
            (true, false) => return Ok(Numeric::infinity(false)),
            (true, true) => {}
        }
        let scale = MIN_SIG_DIGITS - (number.ln_weight() - base.ln_weight());
        let scale = scale.max(base.dscale).max(number.dscale).clamp(0, MAX_DISPLAY_SCALE);
        let smallness = base.ln_weight().min(0).abs();
        let fixed = Fixed::with_decimals(scale + 2 * smallness + 10);
        let divisor = fixed.ln(base)?;
        if divisor.sign() == Sign::NoSign {
            return Err(Error::new("22012", "division by zero"));
        }
        Ok(fixed.to_numeric(&((fixed.ln(number)? << fixed.bits) / divisor), scale))
    }

    fn check_logarithm(&self) -> Result<()> {
        match self.sign() {
            -1 => Err(Error::new("2201E", "cannot take logarithm of a negative number")),
            0 => Err(Error::new("2201E", "cannot take logarithm of zero")),
            _ => Ok(()),
        }
    }

    /// estimate_ln_dweight: the decimal exponent of the natural logarithm, roughly.
    fn ln_weight(&self) -> i32 {
        let Some(first) = self.digits.first().filter(|_| self.class == Class::Positive) else {
            return 0;
        };
        let near = |text: &str| Numeric::parse(text).expect("a constant");
        if *self >= near("0.9") && *self <= near("1.1") {
            let distance = self.plus(&Numeric::from(-1));
            return if distance.is_zero() { 0 } else { distance.decimal_weight() };
        }
        let mut digits = f64::from(*first);
        let mut weight = self.weight * 4;
        if let Some(second) = self.digits.get(1) {
            digits = digits * 10_000.0 + f64::from(*second);
            weight -= 4;
        }
        let ln = digits.ln() + f64::from(weight) * LN_10;
        ln.abs().log10() as i32
    }

    /// numeric_power.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        let one = Numeric::from(1);
        if self.class == Class::NaN || exponent.class == Class::NaN {
            let neutral = exponent.is_zero() || *self == one;
            return Ok(if neutral { one } else { Numeric::nan() });
        }
        if self.is_zero() && exponent.sign() < 0 {
            return Err(Error::new("2201F", "zero raised to a negative power is undefined"));
        }
        let integral = !exponent.is_finite() || exponent.is_integral();
        if self.sign() < 0 && !integral {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return Err(Error::new("2201F", message));
        }
        if !self.is_finite() || !exponent.is_finite() {
            return Ok(self.power_special(exponent, &one));
        }
        if integral && let Ok(times) = exponent.to_int4() {
            let scale = MIN_SIG_DIGITS.max(self.dscale).min(MAX_DISPLAY_SCALE);
            return self.power_int(times, scale)?.fit();
        }
        if self.is_zero() {
            return Ok(nothing(MIN_SIG_DIGITS));
        }
        let odd = exponent.digit(0) % 2 == 1 && integral;
        let power = self.abs().power_by_logarithm(exponent)?;
        Ok(if self.sign() < 0 && odd { power.negate() } else { power })
    }

    fn is_integral(&self) -> bool {
        self.digits.len() as i32 <= self.weight + 1
    }

    fn power_special(&self, exponent: &Numeric, one: &Numeric) -> Numeric {
        if self == one || exponent.is_zero() {
            return one.clone();
        }
        if self.is_zero() {
            return Numeric::zero();
        }
        if !exponent.is_finite() {
            let size = self.abs().cmp(one);
            return match (size, exponent.sign() > 0) {
                (std::cmp::Ordering::Equal, _) => one.clone(),
                (std::cmp::Ordering::Greater, true) => Numeric::infinity(false),
                (std::cmp::Ordering::Less, false) => Numeric::infinity(false),
                _ => Numeric::zero(),
            };
        }
        if exponent.sign() < 0 {
            return Numeric::zero();
        }
        let odd = exponent.is_integral() && exponent.digit(0) % 2 == 1;
        Numeric::infinity(self.sign() < 0 && odd)
    }

    /// power_var_int.
    fn power_int(&self, exponent: i32, scale: i32) -> Result<Numeric> {
        match exponent {
            0 => return Ok(Numeric::from(1).rounded(scale)),
            1 => return Ok(self.rounded(scale)),
            -1 => return Numeric::from(1).quotient(self, scale, true),
            2 => return Ok(self.times(self)?.rounded(scale)),
            _ if self.is_zero() => return Ok(nothing(scale)),
            _ => {}
        }
        let (mut head, mut weight) = (0.0, self.weight * 4 + 4);
        for digit in self.digits.iter().take(4) {
            head = head * 10_000.0 + f64::from(*digit);
            weight -= 4;
        }
        let estimate = f64::from(exponent) * (head.log10() + f64::from(weight));
        if estimate > 3.0 * f64::from(i16::MAX) * 4.0 {
            return Err(overflow());
        }
        if estimate + 1.0 < -f64::from(scale) || estimate + 1.0 < -f64::from(MAX_DISPLAY_SCALE) {
            return Ok(nothing(scale));
        }
        let significant = 1 + scale + estimate as i32 + f64::from(exponent).abs().ln() as i32 + 24;
        let keep = |v: Numeric| match v.digits.is_empty() {
            true => v,
            false => v.rounded(significant.max(24) - v.decimal_weight()),
        };
        let mut left = exponent.unsigned_abs();
        let (mut square, mut product) = (self.clone(), Numeric::from(1));
        loop {
            if left & 1 == 1 {
                product = keep(product.times(&square)?);
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            square = keep(square.times(&square)?);
        }
        if exponent < 0 {
            return Numeric::from(1).quotient(&product, scale, true);
        }
        Ok(product.rounded(scale))
    }

    /// power_var for what is no small integer.
    fn power_by_logarithm(&self, exponent: &Numeric) -> Result<Numeric> {
        // The scale of the result hangs on the digits that PostgreSQL's first guess has.
        let digits = (8 - self.ln_weight()).clamp(0, MAX_DISPLAY_SCALE);
        let rough = Fixed::with_decimals(digits + 8);
        let logarithm = rough.to_numeric(&rough.ln(self)?, digits);
        let value = logarithm.times(exponent)?.rounded(digits).approximate();
        if value.abs() > f64::from(MAX_RESULT_SCALE) * 3.01 {
            return if value > 0.0 { Err(overflow()) } else { Ok(nothing(MAX_DISPLAY_SCALE)) };
        }
        let weight = (value * DECIMAL) as i32;
        let scale = (MIN_SIG_DIGITS - weight).max(self.dscale).max(exponent.dscale);
        let scale = scale.clamp(0, MAX_DISPLAY_SCALE);
        // The logarithm's error is multiplied by the exponent, and then by the result.
        let fixed = Fixed::with_decimals(scale + weight.max(0) + (exponent.weight.max(0) + 1) * 4);
        let product = (fixed.ln(self)? * exponent.scaled(exponent.dscale)) / ten(exponent.dscale);
        fixed.to_numeric(&fixed.exp(&product)?, scale).fit()
    }

    /// Times a power of ten, as an integer, cut.
    fn scaled(&self, decimals: i32) -> BigInt {
        let value = self.cut(decimals, false);
        let mut text = String::new();
        for weight in (-((decimals + 3) / 4)..=value.weight.max(0)).rev() {
            text.push_str(&format!("{:04}", value.digit(weight)));
        }
        text.truncate(text.len() - ((4 - decimals % 4) % 4) as usize);
        let size = BigInt::parse_bytes(text.as_bytes(), 10).unwrap_or_default();
        if value.is_negative() { -size } else { size }
    }

    /// An integer divided by a power of ten.
    fn of_integer(value: &BigInt, decimals: i32) -> Numeric {
        let text = value.magnitude().to_str_radix(10);
        let pad = (4 - decimals % 4) % 4;
        let text = text + &"0".repeat(pad as usize);
        let bytes = text.as_bytes();
        let number = |part: &[u8]| part.iter().fold(0, |n, d| n * 10 + u16::from(d - b'0'));
        let mut digits: Vec<u16> = bytes.rchunks(4).map(number).collect();
        digits.reverse();
        let weight = digits.len() as i32 - 1 - ((decimals + 3) / 4);
        Numeric::raw(value.sign() == Sign::Minus, weight, digits, decimals)
    }
}

/// Zero that shows decimals.
fn nothing(scale: i32) -> Numeric {
    Numeric::zero().rounded(scale)
}

fn ten(power: i32) -> BigInt {
    BigInt::from(10).pow(power.unsigned_abs())
}

/// Binary fixed point: integers, the low bits of which are the fraction.
struct Fixed {
    bits: u64,
}

impl Fixed {
    /// Exact to the decimals asked for, and far beyond.
    fn with_decimals(decimals: i32) -> Fixed {
        Fixed { bits: (decimals.max(0) as u64 + 24) * 10 / 3 + 64 }
    }

    /// Notes a product of two numbers, of 64 bits a digit.
    fn worked(&self) -> Result<()> {
        let digits = self.bits as usize / 64;
        worked(digits * digits)
    }

    fn of(&self, value: &Numeric) -> BigInt {
        (value.scaled(value.dscale) << self.bits) / ten(value.dscale)
    }

    /// Rounded half away from zero.
    fn to_numeric(&self, value: &BigInt, scale: i32) -> Numeric {
        let size = BigInt::from(value.magnitude().clone()) * ten(scale);
        let whole: BigInt = ((size >> (self.bits - 1)) + 1) >> 1;
        let whole = if value.sign() == Sign::Minus { -whole } else { whole };
        Numeric::of_integer(&whole, scale)
    }

    /// The exponential: of a 2^-k-th, by Taylor's series, then squared k times.
    fn exp(&self, value: &BigInt) -> Result<BigInt> {
        let halvings = value.bits().saturating_sub(self.bits) + 10;
        let inner = Fixed { bits: self.bits + 2 * halvings };
        let small = (value.clone() << (2 * halvings)) >> halvings;
        let one = BigInt::from(1) << inner.bits;
        let (mut sum, mut term) = (one.clone() + &small, small.clone());
        for n in 2_u32.. {
            inner.worked()?;
            term = ((term * &small) >> inner.bits) / n;
            if term.magnitude().bits() <= 1 {
                break;
            }
            sum += &term;
        }
        if value.sign() == Sign::Minus {
            // Squares of small numbers lose digits; those of large ones do not.
            let positive = self.exp(&-value)?;
            return Ok((BigInt::from(1) << (2 * self.bits)) / positive);
        }
        for _ in 0..halvings {
            inner.worked()?;
            sum = (&sum * &sum) >> inner.bits;
        }
        Ok(sum >> (2 * halvings))
    }

    /// The natural logarithm of a value above zero.
    fn ln(&self, value: &Numeric) -> Result<BigInt> {
        let inner = Fixed { bits: self.bits + 64 };
        let (number, divisor) = (value.scaled(value.dscale), ten(value.dscale));
        let power = number.bits() as i64 - divisor.bits() as i64;
        let shift = inner.bits as i64 - power;
        let mantissa = match shift {
            0.. => (number << shift) / divisor,
            _ => number / (divisor << shift.unsigned_abs()),
        };
        let two = BigInt::from(2) << inner.bits;
        let sum = inner.ln_near_one(mantissa)? + inner.ln_near_one(two)? * power;
        Ok(sum >> 64)
    }

    /// Of a value between a half and two: 256 times the logarithm of its 256th root, by the series of artanh.
    fn ln_near_one(&self, value: BigInt) -> Result<BigInt> {
        let one = BigInt::from(1) << self.bits;
        let root = (0..8).fold(value, |v, _| (v << self.bits).sqrt());
        let z = ((&root - &one) << self.bits) / (&root + &one);
        let square = (&z * &z) >> self.bits;
        let (mut sum, mut power) = (z.clone(), z);
        for n in (3_u32..).step_by(2) {
            self.worked()?;
            power = (power * &square) >> self.bits;
            if power.magnitude().bits() <= 1 {
                break;
            }
            sum += &power / n;
        }
        Ok(sum << 9)
    }
}
