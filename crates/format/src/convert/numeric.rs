//! How do decimal numbers of up to 38 digits compare, round and print?
//!
//! A [`Numeric`] is a mantissa of at most 38 digits and a scale of at most 38; the largest mantissa
//! lies below 2^127, so sums of digits never overflow before they are checked. NaN and the infinities
//! have scales of their own.

use std::cmp::Ordering;

mod arithmetic;

use super::time::Refusal;
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

    /// Whether it is one of the infinities.
    pub fn is_infinite(&self) -> bool {
        self.scale == Self::INFINITE_SCALE
    }

    /// Whether it has digits: neither NaN nor infinite.
    pub fn is_finite(&self) -> bool {
        !self.is_nan() && !self.is_infinite()
    }

    /// An infinity of the sign of a number that is not zero.
    fn infinity(sign: i128) -> Numeric {
        if sign < 0 { Self::NEGATIVE_INFINITY } else { Self::INFINITY }
    }

    /// Whether digits and scale are within the limits.
    pub fn is_valid(&self) -> bool {
        match self.scale {
            Self::NAN_SCALE => true,
            Self::INFINITE_SCALE => matches!(self.mantissa, -1 | 1),
            scale => u32::from(scale) <= DIGITS_MAX && self.digits() <= DIGITS_MAX,
        }
    }

    /// NaN with mantissa 0; every other number as it is.
    pub fn canonical_nan(self) -> Numeric {
        if self.is_nan() { Self::NAN } else { self }
    }

    /// Digits of the mantissa; 0 for zero.
    #[inline]
    pub fn digits(&self) -> u32 {
        let magnitude = self.mantissa.unsigned_abs();
        if magnitude == 0 { 0 } else { magnitude.ilog10() + 1 }
    }

    /// The same number with another scale, rounded half away from zero; `None` where it has more
    /// than 38 digits then, or is infinite. NaN stays.
    pub fn rescale(self, scale: u8) -> Option<Numeric> {
        if self.is_nan() || scale == self.scale {
            return Some(self);
        }
        if self.is_infinite() {
            return None;
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

    /// Order by value: scale does not count, infinities are beyond numbers, NaN is above all and equal to itself.
    pub fn compare(&self, other: &Numeric) -> Ordering {
        match (self.is_nan(), other.is_nan()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => {}
        }
        if self.is_infinite() || other.is_infinite() {
            let place = |n: &Numeric| if n.is_infinite() { n.mantissa } else { 0 };
            return place(self).cmp(&place(other));
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

/// Reads `[sign] digits [. digits] [e exponent]`, `NaN` or `[sign] Infinity`. With a scale, digits past it are rounded;
/// without one all are kept, and a number that needs more than 38 is refused.
pub(super) fn parse(s: &str, scale: Option<u8>) -> Result<Numeric, Refusal> {
    if s.eq_ignore_ascii_case("nan") {
        return Ok(Numeric::NAN);
    }
    let infinity = s.strip_prefix(['+', '-']).unwrap_or(s);
    if infinity.eq_ignore_ascii_case("infinity") || infinity.eq_ignore_ascii_case("inf") {
        let whole = Numeric::infinity(if s.starts_with('-') { -1 } else { 1 });
        return if scale.is_none() { Ok(whole) } else { Err(Refusal::Range) };
    }
    let negative = s.starts_with('-');
    let s = s.strip_prefix(['+', '-']).unwrap_or(s);
    let (number, exponent) = match s.find(['e', 'E']) {
        Some(at) => (&s[..at], parse_exponent(&s[at + 1..])?),
        None => (s, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return Err(Refusal::Syntax);
    }
    let digits = whole.bytes().chain(fraction.bytes()).map(|b| i128::from(b - b'0'));
    let count = (whole.len() + fraction.len()) as i64;
    // Digits after the point, were all of them written without an exponent.
    let wanted = (fraction.len() as i64 - exponent).max(0);
    let kept_scale = scale.map_or(wanted, |scale| wanted.min(i64::from(scale)));
    // How many of the digits stay; negative where even the first lies far behind the last kept one.
    let kept = count - (fraction.len() as i64 - exponent) + kept_scale;
    let mut mantissa = 0i128;
    let mut up = false;
    for (i, digit) in digits.enumerate() {
        if (i as i64) < kept {
            mantissa = push_digit(mantissa, digit)?;
        } else {
            up = i as i64 == kept && digit >= 5;
            break;
        }
    }
    // An exponent adds zeros to a whole number.
    for _ in count..kept {
        if mantissa == 0 {
            break;
        }
        mantissa = push_digit(mantissa, 0)?;
    }
    mantissa += i128::from(up);
    let n = Numeric {
        mantissa: if negative { -mantissa } else { mantissa },
        scale: u8::try_from(kept_scale).map_err(|_| Refusal::Range)?,
    };
    let n = if n.is_valid() { n } else { return Err(Refusal::Range) };
    match scale {
        Some(scale) => n.rescale(scale).ok_or(Refusal::Range),
        None => Ok(n),
    }
}

fn push_digit(mantissa: i128, digit: i128) -> Result<i128, Refusal> {
    if mantissa >= POWERS[37] { Err(Refusal::Range) } else { Ok(mantissa * 10 + digit) }
}

fn parse_exponent(s: &str) -> Result<i64, Refusal> {
    let digits = s.strip_prefix(['+', '-']).unwrap_or(s);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Refusal::Syntax);
    }
    match s.parse::<i64>() {
        Ok(exponent) if exponent.abs() <= 100_000 => Ok(exponent),
        _ => Err(Refusal::Range),
    }
}

/// Appends all digits that the scale asks for.
pub(super) fn format(n: Numeric, out: &mut String) {
    if n.is_nan() {
        return out.push_str("NaN");
    }
    if n.mantissa < 0 {
        out.push('-');
    }
    if n.is_infinite() {
        return out.push_str("Infinity");
    }
    let scale = usize::from(n.scale);
    let digits = format!("{:0width$}", n.mantissa.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    out.push_str(whole);
    if scale > 0 {
        out.push('.');
        out.push_str(fraction);
    }
}
