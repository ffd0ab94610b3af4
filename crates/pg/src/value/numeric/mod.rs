//! What is a numeric, how is it written, and which are equal?
//!
//! A value has a class (finite of either sign, NaN, two infinities), digits to base 10,000, the weight of the first
//! of them as a power of 10,000, and the number of decimals it shows (`dscale`), which has no part in
//! equality: 1.0 = 1.00. Finite values are kept without zero digits at either end; zero has no digits, weight 0.
//!
//! `arith` has PostgreSQL's operators with the scales of their results, `roots` what needs roots and logarithms,
//! `convert` integers and floats, `text` and `binary` the two forms that travel. `stored` is the form in a column; `small`
//! calculates with values of few digits.

mod arith;
mod binary;
mod convert;
mod divide;
mod key;
mod roots;
mod small;
mod stored;
mod text;
mod whole;

pub use small::Small;
pub use whole::MAX_FACTORIAL;
mod units;

use std::cmp::Ordering;

use crate::{Error, Result};

/// Decimal digits per digit.
pub(crate) const DEC_DIGITS: i32 = 4;
const BASE: u32 = 10_000;
/// NUMERIC_WEIGHT_MAX: of a stored value.
const WEIGHT_MAX: i32 = 0x7fff;
/// NUMERIC_DSCALE_MAX: of a stored value.
const DSCALE_MAX: i32 = 0x3fff;
/// NUMERIC_MIN_SIG_DIGITS: a quotient has at least this number of digits.
const MIN_SIG_DIGITS: i32 = 16;
/// NUMERIC_MAX_DISPLAY_SCALE: no function chooses more decimals.
const MAX_DISPLAY_SCALE: i32 = 1000;
/// NUMERIC_MAX_PRECISION, which some results may need decimals up to.
const MAX_RESULT_SCALE: i32 = 2000;

/// The class of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Below every number.
    NegativeInfinity,
    /// A number below zero.
    Negative,
    /// Zero or a number above it.
    Positive,
    /// Above every number.
    Infinity,
    /// Equal to itself, above everything.
    NaN,
}

/// A value of type numeric.
#[derive(Clone, Debug)]
pub struct Numeric {
    class: Class,
    weight: i32,
    dscale: i32,
    digits: Vec<u16>,
}

fn overflow() -> Error {
    Error::new("22003", "value overflows numeric format")
}

impl Numeric {
    /// NaN.
    pub fn nan() -> Numeric {
        Numeric::special(Class::NaN)
    }

    /// Infinity of a sign.
    pub fn infinity(negative: bool) -> Numeric {
        Numeric::special(if negative { Class::NegativeInfinity } else { Class::Infinity })
    }

    /// Zero that shows no decimals.
    pub fn zero() -> Numeric {
        Numeric::special(Class::Positive)
    }

    fn special(class: Class) -> Numeric {
        Numeric { class, weight: 0, dscale: 0, digits: Vec::new() }
    }

    /// A finite value, stripped of zero digits, however large: [`Numeric::fit`] checks.
    fn raw(negative: bool, weight: i32, mut digits: Vec<u16>, dscale: i32) -> Numeric {
        let zeros = digits.iter().take_while(|d| **d == 0).count();
        digits.drain(..zeros);
        digits.truncate(digits.iter().rposition(|d| *d != 0).map_or(0, |at| at + 1));
        let weight = if digits.is_empty() { 0 } else { weight - zeros as i32 };
        let class = if negative && !digits.is_empty() { Class::Negative } else { Class::Positive };
        Numeric { class, weight, dscale, digits }
    }

    /// make_result: refuses what does not fit PostgreSQL's format.
    fn fit(self) -> Result<Numeric> {
        let small = self.weight <= WEIGHT_MAX && self.weight >= -WEIGHT_MAX - 1;
        if small && self.dscale <= DSCALE_MAX { Ok(self) } else { Err(overflow()) }
    }

    /// The class.
    pub fn class(&self) -> Class {
        self.class
    }

    /// How many decimals it shows.
    pub fn dscale(&self) -> i32 {
        self.dscale
    }

    /// Neither NaN nor infinite.
    pub fn is_finite(&self) -> bool {
        matches!(self.class, Class::Negative | Class::Positive)
    }

    /// Zero of any scale.
    pub fn is_zero(&self) -> bool {
        self.is_finite() && self.digits.is_empty()
    }

    fn is_negative(&self) -> bool {
        matches!(self.class, Class::Negative | Class::NegativeInfinity)
    }

    /// -1, 0 or 1; NaN has none.
    fn sign(&self) -> i32 {
        match self.class {
            Class::NegativeInfinity | Class::Negative => -1,
            Class::Positive if self.digits.is_empty() => 0,
            _ => 1,
        }
    }

    /// The digit of a power of 10,000.
    fn digit(&self, weight: i32) -> u16 {
        usize::try_from(self.weight - weight)
            .ok()
            .and_then(|at| self.digits.get(at))
            .map_or(0, |d| *d)
    }

    /// round_var: to a number of decimals (before the point where negative), halves away from zero.
    fn rounded(&self, scale: i32) -> Numeric {
        self.cut(scale, true)
    }

    /// Cut or rounded to a scale.
    fn cut(&self, scale: i32, round: bool) -> Numeric {
        if !self.is_finite() {
            return self.clone();
        }
        let dscale = scale.max(0);
        // The decimal digits that stay, counted from the first digit's highest place.
        let keep = i64::from(self.weight + 1) * 4 + i64::from(scale);
        if keep < 0 || self.digits.is_empty() {
            return Numeric::raw(false, 0, Vec::new(), dscale);
        }
        let whole = (keep / 4) as usize;
        if whole >= self.digits.len() {
            return Numeric { dscale, ..self.clone() };
        }
        let unit = 10_u16.pow(4 - (keep % 4) as u32);
        let last = self.digits[whole];
        let mut digits = self.digits[..=whole].to_vec();
        let (kept, up) = match unit {
            10_000 => (0, last >= 5_000),
            _ => (last - last % unit, last % unit >= unit / 2),
        };
        digits[whole] = kept;
        let mut weight = self.weight;
        if round && up {
            let mut carry = unit;
            for digit in digits[..=whole].iter_mut().rev() {
                let sum = *digit + carry;
                (*digit, carry) = (sum % 10_000, sum / 10_000);
                if carry == 0 {
                    break;
                }
            }
            if carry > 0 {
                digits.insert(0, carry);
                weight += 1;
            }
        }
        Numeric::raw(self.class == Class::Negative, weight, digits, dscale)
    }

    /// apply_typmod: what a column numeric(p, s) makes of a value.
    pub fn with_modifier(&self, modifier: i32) -> Result<Numeric> {
        let Some((precision, scale)) = precision_and_scale(modifier) else {
            return self.clone().fit();
        };
        let refused =
            |detail: String| Err(Error::new("22003", "numeric field overflow").detail(detail));
        match self.class {
            Class::NaN => return Ok(self.clone()),
            Class::Infinity | Class::NegativeInfinity => {
                let field = format!("A field with precision {precision}, scale {scale}");
                return refused(format!("{field} cannot hold an infinite value."));
            }
            _ => {}
        }
        let value = self.rounded(scale);
        let whole = precision - scale;
        if !value.digits.is_empty() && value.decimal_weight() >= whole {
            let power = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
            let field = format!("A field with precision {precision}, scale {scale}");
            let must = "must round to an absolute value less than";
            return refused(format!("{field} {must} {power}."));
        }
        value.fit()
    }

    /// The decimal exponent of the first decimal digit; of a value that is not zero.
    fn decimal_weight(&self) -> i32 {
        self.weight * DEC_DIGITS + self.digits[0].ilog10() as i32
    }
}

/// Precision and scale of a type modifier of numeric.
pub fn precision_and_scale(modifier: i32) -> Option<(i32, i32)> {
    if modifier < 4 {
        return None;
    }
    let packed = modifier - 4;
    Some((packed >> 16 & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024))
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Numeric) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Numeric) -> Ordering {
        let by_class = (self.class as u8).cmp(&(other.class as u8));
        if by_class != Ordering::Equal || !self.is_finite() {
            return by_class;
        }
        let size = compare_sizes(self, other);
        if self.class == Class::Negative { size.reverse() } else { size }
    }
}

/// Which of two finite values is farther from zero.
fn compare_sizes(a: &Numeric, b: &Numeric) -> Ordering {
    match (a.digits.is_empty(), b.digits.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.weight.cmp(&b.weight).then_with(|| a.digits.cmp(&b.digits)),
    }
}
