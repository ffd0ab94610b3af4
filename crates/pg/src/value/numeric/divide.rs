//! How does a numeric divide another, and to how many decimals?

use super::{BASE, Class, DEC_DIGITS, MAX_DISPLAY_SCALE, MIN_SIG_DIGITS, Numeric};
use crate::{Error, Result, worked};

fn by_zero() -> Error {
    Error::new("22012", "division by zero")
}

impl Numeric {
    /// numeric_div: at least 16 significant digits, and as many decimals as either operand.
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        if let Some(special) = self.divide_special(other) {
            return special;
        }
        self.quotient(other, self.quotient_scale(other), true)?.fit()
    }

    /// numeric_div_trunc: the whole part of the quotient.
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric> {
        if let Some(special) = self.divide_special(other) {
            return special;
        }
        self.quotient(other, 0, false)?.fit()
    }

    /// numeric_mod: what the whole part of the quotient leaves, with the dividend's sign.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        match (self.class, other.class) {
            (Class::NaN, _) | (_, Class::NaN) => return Ok(Numeric::nan()),
            (Class::Infinity | Class::NegativeInfinity, _) if other.is_zero() => {
                return Err(by_zero());
            }
            (Class::Infinity | Class::NegativeInfinity, _) => return Ok(Numeric::nan()),
            (_, Class::Infinity | Class::NegativeInfinity) => return Ok(self.clone()),
            _ => {}
        }
        let whole = self.quotient(other, 0, false)?;
        self.plus(&whole.times(other)?.negate()).fit()
    }

    fn divide_special(&self, other: &Numeric) -> Option<Result<Numeric>> {
        if self.is_finite() && other.is_finite() {
            return None;
        }
        Some(match (self.class, other.class) {
            (Class::NaN, _) | (_, Class::NaN) => Ok(Numeric::nan()),
            _ if self.is_finite() => Ok(Numeric::zero()),
            _ if !other.is_finite() => Ok(Numeric::nan()),
            _ if other.is_zero() => Err(by_zero()),
            _ => Ok(Numeric::infinity(self.sign() != other.sign())),
        })
    }

    /// select_div_scale.
    pub(super) fn quotient_scale(&self, other: &Numeric) -> i32 {
        let first = |v: &Numeric| (v.digits.first().copied().unwrap_or(0), v.weight);
        let ((a, weight_a), (b, weight_b)) = (first(self), first(other));
        let weight = weight_a - weight_b - i32::from(a <= b);
        let scale = MIN_SIG_DIGITS - weight * DEC_DIGITS;
        scale.max(self.dscale).max(other.dscale).clamp(0, MAX_DISPLAY_SCALE)
    }

    /// div_var: the quotient of finite values to a scale, cut or rounded half away from zero.
    pub(super) fn quotient(&self, other: &Numeric, scale: i32, round: bool) -> Result<Numeric> {
        if other.is_zero() {
            return Err(by_zero());
        }
        // Digits wanted after the point: one more than the scale fills, so that the cut rounds right.
        let wanted = (scale + DEC_DIGITS - 1).div_euclid(DEC_DIGITS) + 1;
        let last = |v: &Numeric| v.weight - v.digits.len() as i32 + 1;
        let shift = wanted + last(self) - last(other);
        let length = self.digits.len() as i32 + shift;
        if self.is_zero() || length <= 0 {
            return Ok(Numeric::raw(false, 0, Vec::new(), scale.max(0)));
        }
        let mut dividend = self.digits.clone();
        dividend.resize(length as usize, 0);
        let digits = long_division(dividend, &other.digits)?;
        let weight = digits.len() as i32 - 1 - wanted;
        Ok(Numeric::raw(self.class != other.class, weight, digits, 0).cut(scale, round))
    }
}

/// The whole quotient of two numbers to base 10,000 (Knuth's algorithm D); the divisor's first digit is not zero.
///
/// # Errors
/// `57014`: quotients of many digits take long.
fn long_division(dividend: Vec<u16>, divisor: &[u16]) -> Result<Vec<u16>> {
    let factor = BASE / (u32::from(divisor[0]) + 1);
    let scaled = |digits: &[u16]| -> Vec<u32> {
        let mut carry = 0;
        let mut out: Vec<u32> = digits
            .iter()
            .rev()
            .map(|d| {
                let product = u32::from(*d) * factor + carry;
                carry = product / BASE;
                product % BASE
            })
            .collect();
        out.push(carry);
        out.reverse();
        out
    };
    let mut rest = scaled(&dividend);
    let divisor = &scaled(divisor)[1..];
    let n = divisor.len();
    if rest.len() <= n {
        return Ok(vec![0]);
    }
    let mut quotient = Vec::with_capacity(rest.len() - n);
    for at in 0..rest.len() - n {
        worked(n)?;
        let head = rest[at] * BASE + rest[at + 1];
        let (mut guess, mut left) = (head / divisor[0], head % divisor[0]);
        while n > 1
            && left < BASE
            && (guess >= BASE
                || u64::from(guess) * u64::from(divisor[1])
                    > u64::from(left * BASE + rest.get(at + 2).copied().unwrap_or(0)))
        {
            guess -= 1;
            left += divisor[0];
        }
        guess = guess.min(BASE - 1);
        if subtract_multiple(&mut rest[at..=at + n], divisor, guess) {
            guess -= 1;
            add_back(&mut rest[at..=at + n], divisor);
        }
        quotient.push(guess as u16);
    }
    Ok(quotient)
}

/// Takes a multiple of the divisor away; whether that was once too often.
fn subtract_multiple(rest: &mut [u32], divisor: &[u32], times: u32) -> bool {
    let mut borrow = 0;
    for (digit, d) in rest[1..].iter_mut().zip(divisor).rev() {
        let take = d * times + borrow;
        let low = take % BASE;
        borrow = take / BASE + u32::from(*digit < low);
        *digit = (*digit + BASE - low) % BASE;
    }
    let short = rest[0] < borrow;
    rest[0] = (rest[0] + BASE - borrow % BASE) % BASE;
    short
}

fn add_back(rest: &mut [u32], divisor: &[u32]) {
    let mut carry = 0;
    for (digit, d) in rest[1..].iter_mut().zip(divisor).rev() {
        let sum = *digit + d + carry;
        (*digit, carry) = (sum % BASE, sum / BASE);
    }
    rest[0] = (rest[0] + carry) % BASE;
}
