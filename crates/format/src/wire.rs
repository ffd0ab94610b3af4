//! How do small fields lie in records?
//!
//! Little-endian fixed-width integers, LEB128 varints (7 bits a byte, lowest first, at most 10
//! bytes), zigzag for signed numbers, byte strings behind their length. Log records, manifest edits
//! and footers use it; blocks have encodings of their own.
//!
//! [`Reader`] never reads past its input and never allocates by an unchecked length (I8). Thread
//! safety: plain data.
//!
//! ```
//! use onlap_format::wire::{self, Reader};
//! let mut out = Vec::new();
//! wire::put_varint(&mut out, 300);
//! wire::put_signed(&mut out, -2);
//! wire::put_bytes(&mut out, b"ab");
//! assert_eq!(out, [0xAC, 0x02, 0x03, 0x02, b'a', b'b']);
//! let mut r = Reader::new(&out);
//! assert_eq!((r.varint().unwrap(), r.signed().unwrap()), (300, -2));
//! assert_eq!(r.bytes().unwrap(), b"ab");
//! assert!(r.is_empty() && r.varint().is_err());
//! ```

use onlap_base::{Error, Result};

#[cfg(test)]
mod tests;

/// Appends a varint.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Bytes that [`put_varint`] appends.
#[inline]
pub fn varint_len(v: u64) -> usize {
    (70 - (v | 1).leading_zeros()) as usize / 7
}

/// A signed number as an unsigned one: 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
pub fn zigzag(v: i64) -> u64 {
    ((v << 1) ^ (v >> 63)) as u64
}

/// Appends a signed varint (zigzag).
#[inline]
pub fn put_signed(out: &mut Vec<u8>, v: i64) {
    put_varint(out, zigzag(v));
}

/// Appends a byte string behind its length.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads fields from the front of a byte slice.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the first byte on.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }
    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }
    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }
    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }
    /// Damage at the present position.
    pub fn error(&self, message: &str) -> Error {
        Error::corruption("", self.at as u64, message)
    }
    /// Damage at the present position, described with numbers.
    #[cold]
    pub fn damaged(&self, message: impl Into<String>) -> Error {
        Error::corruption("", self.at as u64, message)
    }
    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.remaining() {
            return Err(self.error("a field reaches past the end of its record"));
        }
        let part = &self.bytes[self.at..self.at + n];
        self.at += n;
        Ok(part)
    }
    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("took N bytes"))
    }
    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }
    /// A varint that must not exceed `max`: lengths and counts that allocations follow.
    #[inline]
    pub fn varint_max(&mut self, max: usize, what: &str) -> Result<usize> {
        let v = self.varint()?;
        match usize::try_from(v) {
            Ok(n) if n <= max => Ok(n),
            _ => Err(self.damaged(format!("{what} is {v}, expected at most {max}"))),
        }
    }
    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }
    /// A little-endian integer of 2 bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into().expect("took 2 bytes")))
    }
    /// A little-endian integer of 4 bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("took 4 bytes")))
    }
    /// A little-endian integer of 8 bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("took 8 bytes")))
    }
    /// A varint.
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        match self.bytes.get(self.at) {
            Some(&b) if b < 0x80 => {
                self.at += 1;
                Ok(b.into())
            }
            _ => self.long_varint(),
        }
    }
    /// One of several bytes.
    fn long_varint(&mut self) -> Result<u64> {
        let mut v = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.u8()?;
            if shift == 63 && b > 1 {
                return Err(self.error("a varint above 64 bits"));
            }
            v |= u64::from(b & 0x7F) << shift;
            if b < 0x80 {
                return Ok(v);
            }
        }
        Err(self.error("a varint above 10 bytes"))
    }
    /// A varint of at most 32 bits.
    pub fn varint32(&mut self) -> Result<u32> {
        u32::try_from(self.varint()?).map_err(|_| self.error("a varint above 32 bits"))
    }
    /// A signed varint.
    #[inline]
    pub fn signed(&mut self) -> Result<i64> {
        let v = self.varint()?;
        Ok((v >> 1) as i64 ^ -((v & 1) as i64))
    }
    /// A count of things that take at least `bytes_each` bytes of the remaining input each, so that
    /// allocating for them is safe.
    pub fn count(&mut self, bytes_each: usize) -> Result<usize> {
        let n = self.varint()?;
        if n.saturating_mul(bytes_each.max(1) as u64) > self.remaining() as u64 {
            return Err(self.error("a count above what its record can hold"));
        }
        Ok(n as usize)
    }
    /// A byte string behind its length.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.varint()?;
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        self.take(n)
    }
    /// UTF-8 text behind its length.
    pub fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| self.error("text that is not UTF-8"))
    }
    /// A byte that is 0 or 1.
    pub fn flag(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.error("a flag that is neither 0 nor 1")),
        }
    }
    /// Asserts that nothing is left.
    pub fn finish(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.error("bytes behind the end of a record")) }
    }
}
