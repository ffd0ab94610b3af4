//! What does a numeric look like on the wire?
//!
//! Four 16-bit numbers, then the digits: their count, weight, sign (0 positive, 0x4000 negative, 0xC000 NaN, 0xD000
//! and 0xF000 the infinities), dscale.

use super::{BASE, Class, DSCALE_MAX, Numeric};
use crate::value::{bad_binary, left_over};
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
        let mut rest = bytes;
        let mut word = || {
            let (word, behind) = rest.split_first_chunk().ok_or_else(bad_binary)?;
            rest = behind;
            Ok::<u16, Error>(u16::from_be_bytes(*word))
        };
        let (count, weight, sign) = (word()?, word()?, word()?);
        let class = match sign {
            0 => Class::Positive,
            0x4000 => Class::Negative,
            0xc000 => Class::NaN,
            0xd000 => Class::Infinity,
            0xf000 => Class::NegativeInfinity,
            _ => return Err(bad("sign")),
        };
        let dscale = i32::from(word()?);
        if dscale > DSCALE_MAX {
            return Err(bad("scale"));
        }
        let mut digits = Vec::new();
        for _ in 0..count {
            digits.push(word()?);
            if digits.last().is_some_and(|digit| u32::from(*digit) >= BASE) {
                return Err(bad("digit"));
            }
        }
        if !rest.is_empty() {
            return Err(left_over());
        }
        if !matches!(class, Class::Positive | Class::Negative) {
            return Numeric::special(class).with_modifier(modifier);
        }
        let weight = i32::from(weight as i16);
        let value = Numeric::raw(class == Class::Negative, weight, digits, dscale);
        value.cut(dscale, false).with_modifier(modifier)
    }
}
