//! Which blocks of a segment need not be looked at again?
//!
//! A scan that finds every row of a block dead notes it here, so that later scans of a table that
//! is used as a queue do not read its dead beginning over and over. One bit per block and one CSN
//! per segment: the blocks of all bits are dead at that CSN, and, since a mark is never taken back,
//! at every later one. Scans at an older snapshot, for which some of their rows may live, look
//! everywhere. (Noting only what is dead below the horizon needs no CSN, but one forgotten snapshot
//! makes it useless.) In memory only: a crash may take marks back, and the bits with them.
//!
//! Must not know where marks are kept. Thread safety: shared freely; the CSN is raised before a bit
//! is set, and read after it was seen, so that no bit is ever believed at too old a snapshot.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use onlap_base::Csn;

/// One bit per block of a segment.
#[derive(Debug)]
pub struct SkipBits {
    words: Box<[AtomicU64]>,
    blocks: usize,
    /// Bits set.
    dead: AtomicUsize,
    /// All blocks whose bits are set are dead from this commit on.
    csn: AtomicU64,
}

impl SkipBits {
    /// No block of this number is known to be dead.
    pub fn new(blocks: usize) -> SkipBits {
        let words = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        SkipBits { words, blocks, dead: AtomicUsize::new(0), csn: AtomicU64::new(0) }
    }

    /// Notes that all rows of a block are dead at `csn`.
    pub fn note(&self, block: usize, csn: Csn) {
        assert!(block < self.blocks, "a block of this segment");
        let bit = 1 << (block % 64);
        let word = &self.words[block / 64];
        if word.load(Ordering::Acquire) & bit != 0 {
            return;
        }
        self.csn.fetch_max(csn, Ordering::AcqRel);
        if word.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            self.dead.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether a scan at `csn` may leave out a block.
    pub fn is_dead(&self, block: usize, csn: Csn) -> bool {
        let set = self.words[block / 64].load(Ordering::Acquire) >> (block % 64) & 1 != 0;
        set && self.csn.load(Ordering::Acquire) <= csn
    }

    /// Whether a scan at `csn` may leave out the whole segment.
    pub fn all_dead(&self, csn: Csn) -> bool {
        self.dead.load(Ordering::Acquire) == self.blocks && self.csn.load(Ordering::Acquire) <= csn
    }

    /// Whether a scan at `csn` may leave out any block.
    pub fn any_dead(&self, csn: Csn) -> bool {
        self.dead.load(Ordering::Acquire) > 0 && self.csn.load(Ordering::Acquire) <= csn
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.words.len() * size_of::<AtomicU64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_count_from_the_newest_commit_that_set_one() {
        let bits = SkipBits::new(70);
        assert!(!bits.is_dead(69, 100) && !bits.any_dead(100) && !bits.all_dead(100));
        bits.note(69, 10);
        assert!(bits.is_dead(69, 10) && bits.any_dead(10) && !bits.is_dead(69, 9));
        bits.note(3, 20);
        assert!(!bits.is_dead(69, 19), "one CSN for all bits");
        assert!(bits.is_dead(69, 20) && bits.is_dead(3, 20) && !bits.is_dead(4, 20));
        // What is known needs no newer commit.
        bits.note(3, 30);
        assert!(bits.is_dead(3, 20) && !bits.all_dead(20));
        (0..70).for_each(|block| bits.note(block, 30));
        assert!(bits.all_dead(30) && !bits.all_dead(29));
    }
}
