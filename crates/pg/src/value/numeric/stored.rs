//! How does a numeric lie in a column?
//!
//! A value of at most 38 digits and 36 decimals is small:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | decimals shown, at most 36 |
//! | 8 or 16 | value times ten to the power of the decimals, signed, little-endian; 16 bytes only if 8 do not do |
//!
//! Every other one, and only those:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | 128 plus the class: 0 negative infinity, 1 negative, 2 zero or positive, 3 infinity, 4 NaN |
//! | 2 | decimals shown, little-endian |
//! | 2 | weight: the power of 10,000 of the first digit, signed, little-endian |
//! | 2 each | digits to base 10,000, the first not 0, the last not 0, little-endian |

use super::{Class, Numeric, Small};

const CLASSES: [Class; 5] =
    [Class::NegativeInfinity, Class::Negative, Class::Positive, Class::Infinity, Class::NaN];

/// What the first byte of a value that is not small has.
const LARGE: u8 = 128;

impl Small {
    /// Appends its form in a column.
    #[inline]
    pub fn store(self, out: &mut Vec<u8>) {
        let (mantissa, scale) = (self.mantissa(), self.scale());
        match i64::try_from(mantissa) {
            Ok(short) => {
                let mut bytes = [scale; 9];
                bytes[1..].copy_from_slice(&short.to_le_bytes());
                out.extend_from_slice(&bytes);
            }
            Err(_) => {
                let mut bytes = [scale; 17];
                bytes[1..].copy_from_slice(&mantissa.to_le_bytes());
                out.extend_from_slice(&bytes);
            }
        }
    }

    /// From its form in a column; `None` if that is not of a small value.
    #[inline]
    pub fn load(bytes: &[u8]) -> Option<Small> {
        let (scale, rest) = bytes.split_first()?;
        // The first byte of a value that is not small is no number of decimals that a small one has.
        if let Ok(short) = rest.try_into() {
            return Small::new(i128::from(i64::from_le_bytes(short)), *scale);
        }
        Small::new(i128::from_le_bytes(rest.try_into().ok()?), *scale)
    }
}

impl Numeric {
    /// Appends its form in a column.
    pub fn store(&self, out: &mut Vec<u8>) {
        if let Some(small) = self.to_small() {
            return small.store(out);
        }
        let class = CLASSES.iter().position(|class| *class == self.class);
        out.push(LARGE + class.expect("all classes are there") as u8);
        out.extend((self.dscale as u16).to_le_bytes());
        out.extend((self.weight as i16).to_le_bytes());
        out.extend(self.digits.iter().flat_map(|digit| digit.to_le_bytes()));
    }

    /// From its form in a column, which [`Numeric::store`] made.
    ///
    /// # Panics
    /// The bytes are none that it made.
    pub fn load(bytes: &[u8]) -> Numeric {
        if let Some(small) = Small::load(bytes) {
            return small.into();
        }
        let two = |at: usize| [bytes[at], bytes[at + 1]];
        let digits = bytes[5..].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        Numeric {
            class: CLASSES[usize::from(bytes[0] - LARGE)],
            dscale: i32::from(u16::from_le_bytes(two(1))),
            weight: i32::from(i16::from_le_bytes(two(3))),
            digits: digits.collect(),
        }
    }

    /// Appends the key of a value in its form in a column.
    ///
    /// # Panics
    /// The bytes are none that [`Numeric::store`] made.
    pub fn key_of_stored(bytes: &[u8], out: &mut Vec<u8>) {
        match Small::load(bytes) {
            Some(small) => small.key(out),
            None => Numeric::load(bytes).key(out),
        }
    }

    /// Bytes of its digits.
    pub fn size(&self) -> usize {
        self.digits.capacity() * size_of::<u16>() + size_of::<Numeric>()
    }

    /// Appends a value that need not fit PostgreSQL's format: a sum under way.
    pub fn save(&self, out: &mut Vec<u8>) {
        let class = CLASSES.iter().position(|class| *class == self.class);
        out.push(class.expect("all classes are there") as u8);
        for part in [self.dscale, self.weight, self.digits.len() as i32] {
            out.extend(part.to_le_bytes());
        }
        out.extend(self.digits.iter().flat_map(|digit| digit.to_le_bytes()));
    }

    /// A value that [`Numeric::save`] wrote, and what follows it.
    ///
    /// # Panics
    /// The bytes are none that it made.
    pub fn restore(bytes: &[u8]) -> (Numeric, &[u8]) {
        let part = |at: usize| i32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let (digits, rest) = bytes[13..].split_at(part(9) as usize * 2);
        let digits = digits.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let class = CLASSES[usize::from(bytes[0])];
        let value = Numeric { class, dscale: part(1), weight: part(5), digits: digits.collect() };
        (value, rest)
    }
}
