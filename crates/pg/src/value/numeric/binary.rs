//! What does a numeric look like on the wire?
//!
//! Four 16-bit numbers, then the digits: their count, weight, sign (0 positive, 0x4000 negative, 0xC000 NaN, 0xD000
//! and 0xF000 the infinities), dscale.

use super::{BASE, Class, DSCALE_MAX, Numeric};
use crate::value::bad_binary;
use crate::{Error, Result};

impl Numeric {
    /// numeric_send.
    pub fn send(&self) -> Vec<u8> {
        let sign: u16 = match self.class {
            Class::Positive => 0,
            Class::Negative => 0x4000,
            Class::NaN => 0xc000,
            Class::Infinity => 0xd000,
            Class::NegativeInfinity => 0xf000,
        };
        // What PostgreSQL reads as scale out of the header of an infinity.
        let infinite = matches!(self.class, Class::Infinity | Class::NegativeInfinity);
        let dscale = if infinite { 0x20 } else { self.dscale as u16 };
        let head = [self.digits.len() as u16, self.weight as i16 as u16, sign, dscale];
        head.iter().chain(&self.digits).flat_map(|v| v.to_be_bytes()).collect()
    }

    /// numeric_recv.
    pub fn recv(bytes: &[u8], modifier: i32) -> Result<Numeric> {
        let bad = |what: &str| {
            Error::new("22P03", format!("invalid {what} in external \"numeric\" value"))
        };
        let (pairs, []) = bytes.as_chunks::<2>() else { return Err(bad_binary()) };
        let words: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
        let [count, weight, sign, dscale, digits @ ..] = words.as_slice() else {
            return Err(bad_binary());
        };
        if digits.len() != usize::from(*count) {
            return Err(bad_binary());
        }
        let class = match sign {
            0 => Class::Positive,
            0x4000 => Class::Negative,
            0xc000 => Class::NaN,
            0xd000 => Class::Infinity,
            0xf000 => Class::NegativeInfinity,
            _ => return Err(bad("sign")),
        };
        let dscale = i32::from(*dscale);
        if dscale > DSCALE_MAX {
            return Err(bad("scale"));
        }
        if digits.iter().any(|d| u32::from(*d) >= BASE) {
            return Err(bad("digit"));
        }
        if !matches!(class, Class::Positive | Class::Negative) {
            return Numeric::special(class).with_modifier(modifier);
        }
        let weight = i32::from(*weight as i16);
        let value = Numeric::raw(class == Class::Negative, weight, digits.to_vec(), dscale);
        value.cut(dscale, false).with_modifier(modifier)
    }
}
