//! Which bytes sort and compare as numerics do?
//!
//! One byte of class, the weight with its sign turned, each digit plus one in two bytes, two zero bytes at the end: no
//! key is the beginning of another. All but the class is inverted for negative values.

use super::{Class, Numeric};

impl Numeric {
    /// Appends the key: equal for equal values whatever their scale, in PostgreSQL's order, self-delimiting.
    pub fn key(&self, out: &mut Vec<u8>) {
        match self.class {
            Class::NegativeInfinity => out.push(0),
            Class::Infinity => out.push(4),
            Class::NaN => out.push(5),
            Class::Negative | Class::Positive => {
                of_digits(self.class == Class::Negative, self.weight, &self.digits, out);
            }
        }
    }
}

/// Appends the key of a finite value.
pub(super) fn of_digits(negative: bool, weight: i32, digits: &[u16], out: &mut Vec<u8>) {
    if digits.is_empty() {
        return out.push(2);
    }
    out.push(if negative { 1 } else { 3 });
    let flip = if negative { 0xffff } else { 0 };
    let weight = (weight as i16 as u16) ^ 0x8000;
    let digits = digits.iter().map(|d| d + 1);
    for word in std::iter::once(weight).chain(digits).chain([0]) {
        out.extend_from_slice(&(word ^ flip).to_be_bytes());
    }
}
