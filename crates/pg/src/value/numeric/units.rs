//! How does a count of small units become a numeric? Microseconds are seconds with six decimals.

use super::Numeric;

impl Numeric {
    /// A count of units of 10^-scale; scale is 0 to 6, and the result shows so many decimals.
    pub fn from_units(value: i128, scale: u32) -> Numeric {
        assert!(scale <= 6, "units are not below a millionth");
        // Whole digits to base 10,000 need a number of decimals that is a multiple of four.
        let places = scale.next_multiple_of(4);
        let negative = value < 0;
        let size = value.unsigned_abs();
        let (mut whole, part) = (size / 10_u128.pow(scale), size % 10_u128.pow(scale));
        let mut part = part * 10_u128.pow(places - scale);
        let mut digits = Vec::with_capacity(12);
        for _ in 0..places / 4 {
            digits.push((part % 10_000) as u16);
            part /= 10_000;
        }
        while whole > 0 {
            digits.push((whole % 10_000) as u16);
            whole /= 10_000;
        }
        digits.reverse();
        let weight = digits.len() as i32 - 1 - places as i32 / 4;
        Numeric::raw(negative, weight, digits, scale as i32)
    }
}
