//! How does a numeric lie in a column?
//!
//! | bytes | what |
//! |---|---|
//! | 1 | class: 0 negative infinity, 1 negative, 2 zero or positive, 3 infinity, 4 NaN |
//! | 2 | decimals shown, little-endian |
//! | 2 | weight: the power of 10,000 of the first digit, signed, little-endian |
//! | 2 each | digits to base 10,000, the first not 0, the last not 0, little-endian |

use super::{Class, Numeric};

const CLASSES: [Class; 5] =
    [Class::NegativeInfinity, Class::Negative, Class::Positive, Class::Infinity, Class::NaN];

impl Numeric {
    /// Appends its form in a column.
    pub fn store(&self, out: &mut Vec<u8>) {
        let class = CLASSES.iter().position(|class| *class == self.class);
        out.push(class.expect("all classes are there") as u8);
        out.extend((self.dscale as u16).to_le_bytes());
        out.extend((self.weight as i16).to_le_bytes());
        out.extend(self.digits.iter().flat_map(|digit| digit.to_le_bytes()));
    }

    /// From its form in a column, which [`Numeric::store`] made.
    ///
    /// # Panics
    /// The bytes are none that it made.
    pub fn load(bytes: &[u8]) -> Numeric {
        let two = |at: usize| [bytes[at], bytes[at + 1]];
        let digits = bytes[5..].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        Numeric {
            class: CLASSES[usize::from(bytes[0])],
            dscale: i32::from(u16::from_le_bytes(two(1))),
            weight: i32::from(i16::from_le_bytes(two(3))),
            digits: digits.collect(),
        }
    }
}
