//! What is a bit string, and how is it written?
//!
//! A value is stored as it travels: the number of its bits as four bytes, big-endian, then the bits from the highest
//! of the first byte on; what is left of the last byte is zero. Order is that of the bits, the beginning of a string
//! before the string.

use std::cmp::Ordering;

use super::{MAX_BYTES, bad_binary, left_over};
use crate::{Error, Result, worked};

/// VARBITMAXLEN: the most bits of a value.
pub const MAX_BITS: usize = i32::MAX as usize - 7;

/// Bytes between two questions whether the work is still wanted.
const AT_ONCE: usize = 16 << 10;

/// Whether a type takes as many bits as it says, or up to as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// bit(n)
    Fixed,
    /// bit varying(n)
    Varying,
}

/// A value that is stored somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits<'a> {
    /// Bits that it has.
    pub length: usize,
    /// The bytes that they lie in.
    pub bytes: &'a [u8],
}

impl<'a> Bits<'a> {
    /// A stored value.
    ///
    /// # Panics
    /// It is not one.
    pub fn load(stored: &'a [u8]) -> Bits<'a> {
        let (length, bytes) = stored.split_at(4);
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        assert_eq!(bytes.len(), length.div_ceil(8), "bits lie in their bytes");
        Bits { length, bytes }
    }

    /// A bit, counted from 0.
    pub fn get(&self, at: usize) -> bool {
        self.bytes[at / 8] >> (7 - at % 8) & 1 == 1
    }

    /// Eight bits from a place on; those beyond the end are zero.
    pub fn eight(&self, at: usize) -> u8 {
        let byte = |i: usize| self.bytes.get(i).map_or(0, |byte| u16::from(*byte));
        let pair = byte(at / 8) << 8 | byte(at / 8 + 1);
        (pair >> (8 - at % 8)) as u8
    }

    /// The bits from a place on, up to another one.
    ///
    /// # Errors
    /// `57014`.
    pub fn part(&self, from: usize, to: usize) -> Result<Vec<u8>> {
        let to = to.min(self.length);
        let length = to.saturating_sub(from);
        store(length, (0..length.div_ceil(8)).map(|i| self.eight(from + i * 8)))
    }

    /// What equality and order are. Each eight bytes are followed by the number of bits that are meant, 65 where more
    /// bits come.
    pub fn key(&self, out: &mut Vec<u8>) {
        let mut left = self.length;
        let mut bytes = self.bytes;
        loop {
            let (group, rest) = bytes.split_at(bytes.len().min(8));
            out.extend_from_slice(group);
            out.extend(std::iter::repeat_n(0, 8 - group.len()));
            if left <= 64 {
                out.push(left as u8);
                return;
            }
            out.push(65);
            left -= 64;
            bytes = rest;
        }
    }

    /// Zeros and ones.
    ///
    /// # Errors
    /// `54000`: the text would be too long.
    pub fn print(&self) -> Result<String> {
        if self.length > MAX_BYTES {
            return Err(Error::new("54000", "invalid memory alloc request size"));
        }
        let mut out = String::with_capacity(self.length);
        for at in 0..self.length {
            worked(1)?;
            out.push(if self.get(at) { '1' } else { '0' });
        }
        Ok(out)
    }
}

impl PartialOrd for Bits<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bits<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes.cmp(other.bytes).then(self.length.cmp(&other.length))
    }
}

/// A value of so many bits, which lie in these bytes.
///
/// # Errors
/// `57014`.
///
/// # Panics
/// Too few bytes come.
pub fn store(length: usize, mut bytes: impl Iterator<Item = u8>) -> Result<Vec<u8>> {
    let count = length.div_ceil(8);
    let mut out = Vec::with_capacity(4 + count);
    out.extend((length as u32).to_be_bytes());
    let mut left = count;
    while left > 0 {
        let some = left.min(AT_ONCE);
        worked(some)?;
        out.extend(bytes.by_ref().take(some));
        left -= some;
    }
    assert_eq!(out.len(), 4 + count, "there are bytes for all bits");
    if let (Some(last), spare @ 1..) = (out.last_mut(), count * 8 - length) {
        *last &= 0xff << spare;
    }
    Ok(out)
}

/// bit_in, varbit_in: zeros and ones, `b` before them; or hexadecimal digits behind `x`.
pub fn parse(text: &str, modifier: i32, kind: Kind) -> Result<Vec<u8>> {
    let (digits, width) = match text.as_bytes().first() {
        Some(b'b' | b'B') => (&text[1..], 1),
        Some(b'x' | b'X') => (&text[1..], 4),
        _ => (text, 1),
    };
    let given = digits.len().checked_mul(width).filter(|bits| *bits <= MAX_BITS);
    let given = given.ok_or_else(too_long)?;
    let length = fit(given, modifier, kind)?;
    let mut out = vec![0; 4 + length.div_ceil(8)];
    out[..4].copy_from_slice(&(length as u32).to_be_bytes());
    for (at, c) in digits.chars().enumerate() {
        worked(1)?;
        let (radix, name) = if width == 1 { (2, "binary") } else { (16, "hexadecimal") };
        let Some(digit) = c.to_digit(radix) else {
            let message = format!("\"{c}\" is not a valid {name} digit");
            return Err(Error::new("22P02", message));
        };
        let first = at * width;
        let byte = &mut out[4 + first / 8];
        *byte |= (digit as u8) << (8 - width - first % 8);
    }
    Ok(out)
}

fn too_long() -> Error {
    Error::new("54000", format!("bit string length exceeds the maximum allowed ({MAX_BITS})"))
}

/// The length of a value that a type takes.
fn fit(given: usize, modifier: i32, kind: Kind) -> Result<usize> {
    let most = if modifier > 0 { modifier as usize } else { return Ok(given) };
    match kind {
        Kind::Fixed if given != most => {
            let message = format!("bit string length {given} does not match type bit({most})");
            Err(Error::new("22026", message))
        }
        Kind::Varying if given > most => {
            let message = format!("bit string too long for type bit varying({most})");
            Err(Error::new("22001", message))
        }
        _ => Ok(given),
    }
}

/// The cast to a length: cut or filled up with zeros if it is explicit, else refused.
pub fn cast(stored: &[u8], modifier: i32, explicit: bool, kind: Kind) -> Result<Vec<u8>> {
    let bits = Bits::load(stored);
    if modifier <= 0 || modifier as usize > MAX_BITS || bits.length == modifier as usize {
        return Ok(stored.into());
    }
    let length = modifier as usize;
    match kind {
        _ if !explicit => fit(bits.length, modifier, kind).map(|_| stored.into()),
        Kind::Varying if bits.length <= length => Ok(stored.into()),
        Kind::Varying => bits.part(0, length),
        Kind::Fixed => {
            let zeros = std::iter::repeat(0);
            store(length, bits.bytes.iter().copied().chain(zeros))
        }
    }
}

/// bit_recv, varbit_recv.
pub fn recv(bytes: &[u8], modifier: i32, kind: Kind) -> Result<Vec<u8>> {
    let (length, bytes) = bytes.split_at_checked(4).ok_or_else(bad_binary)?;
    let length = i32::from_be_bytes(length.try_into().expect("four bytes"));
    let length = usize::try_from(length).ok().filter(|bits| *bits <= MAX_BITS);
    let invalid = || Error::new("22P03", "invalid length in external bit string");
    let length = length.ok_or_else(invalid)?;
    fit(length, modifier, kind)?;
    match bytes.len().cmp(&length.div_ceil(8)) {
        Ordering::Less => Err(bad_binary()),
        Ordering::Greater => Err(left_over()),
        Ordering::Equal => store(length, bytes.iter().copied()),
    }
}
