//! Where do bytes wait that will be written past the page cache?
//!
//! Direct writes take memory that begins at a multiple of [`ALIGN`]. [`AlignedBuf`] has a fixed capacity, so that its
//! bytes never move. It knows nothing of files.
//!
//! Thread safety: plain data.

use std::ops::Deref;

/// What offsets, lengths and addresses of direct reads and writes are multiples of. 4 KiB suits every device
/// and file system we know; one that wants more refuses, and is then used through the page cache.
pub const ALIGN: usize = 4096;

/// Bytes that begin at an aligned address.
#[derive(Debug)]
pub struct AlignedBuf {
    bytes: Vec<u8>,
    start: usize,
    capacity: usize,
}

impl AlignedBuf {
    /// An empty buffer with room for `capacity` bytes.
    pub fn new(capacity: usize) -> AlignedBuf {
        let mut bytes: Vec<u8> = Vec::with_capacity(capacity + ALIGN);
        let start = bytes.as_ptr().align_offset(ALIGN);
        assert!(start <= ALIGN, "an address is at most one page from an aligned one");
        bytes.resize(start, 0);
        AlignedBuf { bytes, start, capacity }
    }

    /// Bytes that still fit.
    pub fn room(&self) -> usize {
        self.capacity - self.len()
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// When they do not fit.
    pub fn extend(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.room(), "a buffer of fixed size never moves");
        self.bytes.extend_from_slice(bytes);
    }

    /// Forgets the bytes.
    pub fn clear(&mut self) {
        self.bytes.truncate(self.start);
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_begin_at_an_aligned_address_and_stay_there() {
        for capacity in [1, 4095, 4096, 1 << 20] {
            let mut buffer = AlignedBuf::new(capacity);
            let at = buffer.as_ptr();
            assert_eq!(at.align_offset(ALIGN), 0);
            for round in 0..3u8 {
                assert_eq!((buffer.len(), buffer.room()), (0, capacity));
                (0..capacity).for_each(|i| buffer.extend(&[round ^ i as u8]));
                assert_eq!((buffer.as_ptr(), buffer.room()), (at, 0));
                assert!(buffer.iter().enumerate().all(|(i, b)| *b == round ^ i as u8));
                buffer.clear();
            }
        }
    }

    #[test]
    #[should_panic(expected = "never moves")]
    fn what_does_not_fit_is_refused() {
        AlignedBuf::new(3).extend(&[0; 4]);
    }
}
