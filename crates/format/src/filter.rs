//! Can this run hold the key at all?
//!
//! A split-block Bloom filter: a hash chooses one block of 256 bits and one bit in each of its eight
//! words, so that a probe touches one cache line. At 16 bits per key about 1 probe in 1,200 for an
//! absent key says "maybe". Filters say nothing of keys that are there: never "no".
//! (F. Putze, P. Sanders, J. Singler, "Cache-, hash- and space-efficient Bloom filters", 2007; the
//! split form as in Apache Parquet's specification, with multipliers of our own.)
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 4 | number of blocks |
//! | 4 | 32 each | blocks: eight words of 4 bytes |
//! | end - 4 | 4 | CRC-32C of everything before |
//!
//! The hash is [`key_hash`], XXH3 of the key bytes, whose definition is fixed: filters outlive
//! releases. Block = upper half of the hash x number of blocks / 2^32; the bit of word w = the top 5
//! bits of lower half x multiplier w (mod 2^32).
//!
//! ```
//! use onlap_format::filter::{Filter, key_hash};
//! let mut filter = Filter::with_keys(1);
//! filter.insert(key_hash(b"a key"));
//! assert!(filter.contains(key_hash(b"a key")));
//! assert!(!filter.contains(key_hash(b"another")));
//! let mut bytes = Vec::new();
//! filter.encode(&mut bytes);
//! assert_eq!((bytes.len(), &bytes[..4]), (40, &[1, 0, 0, 0][..]));
//! assert_eq!(Filter::parse(&bytes).unwrap(), filter);
//! ```
//!
//! Knows nothing of runs or memory budgets. Plain data, safe to share.

use onlap_base::{Error, Result, limits};

#[cfg(test)]
mod tests;

/// Odd multipliers from the binary digits of pi, so that the eight bits do not depend on each other.
const MULTIPLIERS: [u32; 8] = [
    0x243f_6a89,
    0x85a3_08d3,
    0x1319_8a2f,
    0x0370_7345,
    0xa409_3823,
    0x299f_31d1,
    0x082e_fa99,
    0xec4e_6c89,
];
const BLOCK_BYTES: usize = 32;

/// The hash of key bytes that filters and sketches on disk are built from.
#[inline]
pub fn key_hash(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key)
}

/// A set of hashes that may say "maybe" for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    blocks: Vec<[u32; 8]>,
}

impl Filter {
    /// An empty filter sized for `keys` keys, at 16 bits each.
    pub fn with_keys(keys: usize) -> Filter {
        let blocks = (keys * limits::FILTER_BITS_PER_KEY).div_ceil(BLOCK_BYTES * 8).max(1);
        Filter { blocks: vec![[0; 8]; blocks] }
    }

    #[inline]
    fn block(&self, hash: u64) -> usize {
        (((hash >> 32) * self.blocks.len() as u64) >> 32) as usize
    }

    #[inline]
    fn bits(hash: u64) -> [u32; 8] {
        MULTIPLIERS.map(|m| 1 << ((hash as u32).wrapping_mul(m) >> 27))
    }

    /// Adds the hash of a key.
    #[inline]
    pub fn insert(&mut self, hash: u64) {
        let block = self.block(hash);
        let bits = Self::bits(hash);
        self.blocks[block].iter_mut().zip(bits).for_each(|(word, bit)| *word |= bit);
    }

    /// Whether the key with this hash may have been added; false is certain.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        let bits = Self::bits(hash);
        self.blocks[self.block(hash)].iter().zip(bits).all(|(word, bit)| word & bit != 0)
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.blocks.capacity() * BLOCK_BYTES
    }

    /// Appends the filter's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&(self.blocks.len() as u32).to_le_bytes());
        self.blocks.iter().flatten().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        let sum = crc32c::crc32c(&out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    /// Reads a filter that fills all of `bytes`.
    ///
    /// # Errors
    /// `Corruption`.
    pub fn parse(bytes: &[u8]) -> Result<Filter> {
        let damaged = |text: &str| Error::corruption("", 0, text);
        let Some((body, sum)) = bytes.split_last_chunk::<4>() else {
            return Err(damaged("a filter ends early"));
        };
        if crc32c::crc32c(body) != u32::from_le_bytes(*sum) {
            return Err(damaged("a filter's checksum is wrong"));
        }
        let Some((count, words)) = body.split_first_chunk::<4>() else {
            return Err(damaged("a filter ends early"));
        };
        let count = u32::from_le_bytes(*count) as usize;
        if count == 0 || words.len() != count.saturating_mul(BLOCK_BYTES) {
            return Err(damaged("a filter has another length than it says"));
        }
        let block = |b: &[u8]| {
            std::array::from_fn(|i| {
                u32::from_le_bytes([b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]])
            })
        };
        Ok(Filter { blocks: words.chunks_exact(BLOCK_BYTES).map(block).collect() })
    }
}
