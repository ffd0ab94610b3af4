//! Which bytes sort and compare as numerics do?
//!
//! One byte of class, the weight with its sign turned, each digit plus one in two bytes, two zero bytes at the end: no
//! key is the beginning of another. All but the class is inverted for negative values.

use super::{Class, Numeric};

impl Numeric {
    /// Appends the key: equal for equal values whatever their scale, in PostgreSQL's order, self-delimiting.
    pub fn key(&self, out: &mut Vec<u8>) {
        out.push(match self.class {
            Class::Positive if self.digits.is_empty() => 2,
            Class::NegativeInfinity => 0,
            Class::Negative => 1,
            Class::Positive => 3,
            Class::Infinity => 4,
            Class::NaN => 5,
        });
        if self.digits.is_empty() {
            return;
        }
        let flip = if self.class == Class::Negative { 0xffff } else { 0 };
        let weight = (self.weight as i16 as u16) ^ 0x8000;
        let digits = self.digits.iter().map(|d| d + 1);
        for word in std::iter::once(weight).chain(digits).chain([0]) {
            out.extend_from_slice(&(word ^ flip).to_be_bytes());
        }
    }
}
