//! How does a rising sequence of 64-bit numbers lie in a block?
//!
//! Elias-Fano coding in mini-blocks of 64: each number is split into `l` low bits, kept side by side,
//! and a high part below 64, kept in unary in two words (bit `high + position` is set). The sequence
//! costs `l + 2` bits a number, `l` being about the logarithm of the mean distance: within some 1.1 bits
//! of the entropy of random numbers, and adapting to dense and sparse stretches. Any element is
//! reached with one select; no sums run through the block. (P. Elias 1974, R. M. Fano 1971.)
//! Where that is smaller, a mini-block is a bitmap instead: bit k is set where the first number + k is
//! there. So it is where distances are below 4 and no number comes twice, as with the row ids of a key
//! that a quarter of the rows have.
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 8 | first number |
//! | 8 | 1 | a: bits of an anchor, 0 to 64 |
//! | 9 | m | l of each of the m mini-blocks, 0 to 58; 64 + b: a bitmap of b bytes, b from 1 to 31 |
//! | 9 + m | m x a bits | anchors: first number of each mini-block less the first of all, lowest bit first, filled up to a byte |
//! | then | per mini-block | 16 bytes of high bits, then count x l low bits, filled up to a byte; or the bitmap |
//!
//! Reading loads 16 bytes at a time, so the block keeps [`SLACK`] bytes after the last section. Pure.

use std::ops::Range;

use onlap_base::{Error, Result};

/// Numbers of a mini-block.
pub(super) const MINI: usize = 64;
/// Bytes that must follow a sequence in its block.
pub(super) const SLACK: usize = 16;

/// Bits of a number.
pub(super) fn bits(v: u64) -> u32 {
    64 - v.leading_zeros()
}

fn low_mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// `width` bits from bit `at` of `bytes`; at least 16 bytes lie there.
#[inline]
pub(super) fn read_bits(bytes: &[u8], at: usize, width: u32) -> u64 {
    let start = at / 8;
    let raw: [u8; 16] = bytes[start..start + 16].try_into().expect("the slice has 16 bytes");
    (u128::from_le_bytes(raw) >> (at % 8)) as u64 & low_mask(width)
}

/// Appends numbers side by side, lowest bit first.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    held: u64,
    used: u32,
}

impl<'a> BitWriter<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        BitWriter { out, held: 0, used: 0 }
    }
    /// Appends a number that has no bits above `width`.
    #[inline]
    pub fn put(&mut self, v: u64, width: u32) {
        self.held |= v << self.used;
        self.used += width;
        if self.used >= 64 {
            self.out.extend_from_slice(&self.held.to_le_bytes());
            self.used -= 64;
            self.held = if self.used == 0 { 0 } else { v >> (width - self.used) };
        }
    }
    /// Fills up to a byte.
    pub fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.held.to_le_bytes()[..bytes]);
    }
}

/// Low bits of a mini-block whose numbers span `range`.
fn low_bits(range: u64) -> u32 {
    bits(range).saturating_sub(6)
}

/// Added to the bytes of a bitmap where low bits have their number.
const BITMAP: u32 = 64;
/// Most bytes of a bitmap, from where low bits are never more.
const BITMAP_MAX: u64 = 31;

fn body_bytes(count: usize, l: u32) -> usize {
    if l > BITMAP { (l - BITMAP) as usize } else { 16 + (count * l as usize).div_ceil(8) }
}

/// How a mini-block lies: its number of low bits, or that it is a bitmap. `at(i)` is its i-th number.
fn form_of(count: usize, at: impl Fn(usize) -> u64) -> u32 {
    let range = at(count - 1) - at(0);
    let (low, bitmap) = (low_bits(range), range / 8 + 1);
    let pays = bitmap <= BITMAP_MAX && (bitmap as usize) < body_bytes(count, low);
    if pays && (1..count).all(|i| at(i - 1) < at(i)) { BITMAP + bitmap as u32 } else { low }
}

/// Bytes of a sequence; `at(i)` is its i-th number.
pub(super) fn encoded_len(n: usize, at: impl Fn(usize) -> u64) -> usize {
    if n == 0 {
        return 9;
    }
    let minis = n.div_ceil(MINI);
    let bodies: usize = (0..minis)
        .map(|m| {
            let count = MINI.min(n - m * MINI);
            body_bytes(count, form_of(count, |i| at(m * MINI + i)))
        })
        .sum();
    let anchor = bits(at((minis - 1) * MINI) - at(0)) as usize;
    9 + minis + (minis * anchor).div_ceil(8) + bodies
}

/// Appends a sequence that does not fall.
pub(super) fn encode(values: &[u64], out: &mut Vec<u8>) {
    debug_assert!(values.is_sorted());
    let first = values.first().copied().unwrap_or(0);
    out.extend_from_slice(&first.to_le_bytes());
    let anchor_bits = values.chunks(MINI).last().map_or(0, |c| bits(c[0] - first));
    out.push(anchor_bits as u8);
    let forms_at = out.len();
    out.extend(values.chunks(MINI).map(|c| form_of(c.len(), |i| c[i]) as u8));
    let mut anchors = BitWriter::new(out);
    values.chunks(MINI).for_each(|c| anchors.put(c[0] - first, anchor_bits));
    anchors.finish();
    for (m, chunk) in values.chunks(MINI).enumerate() {
        let base = chunk[0];
        let l = u32::from(out[forms_at + m]);
        if l > BITMAP {
            let mut bits = [0u8; BITMAP_MAX as usize];
            chunk.iter().map(|v| (v - base) as usize).for_each(|k| bits[k / 8] |= 1 << (k % 8));
            out.extend_from_slice(&bits[..body_bytes(chunk.len(), l)]);
            continue;
        }
        let mask = low_mask(l);
        let mut high = [0u64; 2];
        for (j, v) in chunk.iter().enumerate() {
            let bit = ((v - base) >> l) as usize + j;
            high[bit / 64] |= 1 << (bit % 64);
        }
        out.extend_from_slice(&high[0].to_le_bytes());
        out.extend_from_slice(&high[1].to_le_bytes());
        if l > 0 {
            let mut lows = BitWriter::new(out);
            chunk.iter().for_each(|v| lows.put((v - base) & mask, l));
            lows.finish();
        }
    }
}

/// Where the parts of a sequence lie in its block.
#[derive(Debug, Default)]
pub(super) struct Rising {
    len: usize,
    first: u64,
    anchor_bits: u32,
    lows_at: usize,
    anchors_at: usize,
    /// Start of each mini-block's body.
    bodies: Vec<u32>,
    end: usize,
}

impl Rising {
    /// Stands for a sequence until it is parsed.
    pub fn none() -> Rising {
        Rising::default()
    }

    /// Finds a sequence of `len` numbers at `at`; checks all lengths, so that no read goes wrong.
    pub fn parse(bytes: &[u8], at: usize, len: usize) -> Result<Rising> {
        let damaged = |text: &str| Error::corruption("", at as u64, text);
        let room = bytes.len().saturating_sub(SLACK);
        let minis = len.div_ceil(MINI);
        if at + 9 + minis > room {
            return Err(damaged("a rising sequence ends early"));
        }
        let first = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let anchor_bits = u32::from(bytes[at + 8]);
        let lows_at = at + 9;
        let anchors_at = lows_at + minis;
        if anchor_bits > 64 {
            return Err(damaged("a rising sequence has impossible anchors"));
        }
        let mut next = anchors_at + (minis * anchor_bits as usize).div_ceil(8);
        let mut bodies = Vec::with_capacity(minis);
        for m in 0..minis {
            let count = MINI.min(len - m * MINI);
            let l = u32::from(bytes[lows_at + m]);
            let end = next + body_bytes(count, l);
            let is_bitmap = l > BITMAP && l <= BITMAP + BITMAP_MAX as u32;
            if l > 58 && !is_bitmap || end > room {
                return Err(damaged("a rising sequence ends early"));
            }
            let high = if is_bitmap { next..end } else { next..next + 16 };
            let ones: u32 = bytes[high].iter().map(|b| b.count_ones()).sum();
            if ones as usize != count {
                return Err(damaged("a mini-block has the wrong number of high bits"));
            }
            bodies.push(next as u32);
            next = end;
        }
        Ok(Rising { len, first, anchor_bits, lows_at, anchors_at, bodies, end: next })
    }

    pub fn len(&self) -> usize {
        self.len
    }
    /// First byte after the sequence.
    pub fn end(&self) -> usize {
        self.end
    }
    pub fn heap_bytes(&self) -> usize {
        self.bodies.capacity() * 4
    }

    #[inline]
    fn anchor(&self, bytes: &[u8], m: usize) -> u64 {
        let width = self.anchor_bits;
        self.first.wrapping_add(read_bits(bytes, self.anchors_at * 8 + m * width as usize, width))
    }

    /// Low bit width, high bits and place of the low bits of mini-block `m`.
    #[inline]
    fn body(&self, bytes: &[u8], m: usize) -> (u32, u128, usize) {
        let at = self.bodies[m] as usize;
        let high = u128::from_le_bytes(bytes[at..at + 16].try_into().expect("16 bytes"));
        (u32::from(bytes[self.lows_at + m]), high, (at + 16) * 8)
    }

    /// Appends numbers `range`.
    pub fn decode(&self, bytes: &[u8], range: Range<usize>, out: &mut Vec<u64>) {
        out.reserve(range.len());
        let mut at = range.start;
        while at < range.end {
            let m = at / MINI;
            let end = range.end.min((m + 1) * MINI);
            self.decode_mini(bytes, m, at - m * MINI, end - m * MINI, out);
            at = end;
        }
    }

    /// The bits of mini-block `m` where it is a bitmap.
    #[inline]
    fn bitmap(&self, bytes: &[u8], m: usize) -> Option<[u64; 4]> {
        let form = u32::from(bytes[self.lows_at + m]);
        if form <= BITMAP {
            return None;
        }
        let (at, len) = (self.bodies[m] as usize, (form - BITMAP) as usize);
        let mut raw = [0; 32];
        raw[..len].copy_from_slice(&bytes[at..at + len]);
        let word = |w: usize| {
            u64::from_le_bytes(raw[8 * w..8 * w + 8].try_into().expect("a word has 8 bytes"))
        };
        Some([word(0), word(1), word(2), word(3)])
    }

    fn decode_mini(&self, bytes: &[u8], m: usize, from: usize, to: usize, out: &mut Vec<u64>) {
        let anchor = self.anchor(bytes, m);
        if let Some(words) = self.bitmap(bytes, m) {
            return decode_bitmap(words, anchor, from..to, out);
        }
        let (l, mut high, lows) = self.body(bytes, m);
        let before = out.len();
        if l == 0 {
            out.resize(before + (to - from), 0);
        } else {
            out.extend((from..to).map(|j| read_bits(bytes, lows + j * l as usize, l)));
        }
        if from > 0 {
            // Drop the ones of the numbers before.
            let at = select(high, from as u32);
            high = high >> at << at;
        }
        let (mut word, mut base) = (high as u64, 0);
        for (j, v) in (from..).zip(&mut out[before..]) {
            if word == 0 {
                (word, base) = ((high >> 64) as u64, 64);
            }
            let unary = base + u64::from(word.trailing_zeros()) - j as u64;
            *v = anchor.wrapping_add(unary << l | *v);
            word &= word.wrapping_sub(1);
        }
    }

    /// Position of the first number `>= target`.
    pub fn lower_bound(&self, bytes: &[u8], target: u64) -> usize {
        // The last mini-block whose first number is below the target holds the answer, or ends there.
        let (mut low, mut high) = (0, self.bodies.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.anchor(bytes, middle) < target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(m) = low.checked_sub(1) else { return 0 };
        let count = MINI.min(self.len - m * MINI);
        let distance = target - self.anchor(bytes, m);
        if let Some(words) = self.bitmap(bytes, m) {
            return m * MINI + ones_below(words, distance).min(count);
        }
        let (l, unary, lows) = self.body(bytes, m);
        let high = distance >> l;
        if high >= 64 {
            return m * MINI + count;
        }
        // Numbers of a smaller high part stand before the zero that ends them.
        let mut j = if high == 0 {
            0
        } else {
            (select(!unary, high as u32 - 1) + 1).saturating_sub(high as u32) as usize
        };
        let low = distance & low_mask(l);
        while j < count
            && unary >> (high as usize + j).min(127) & 1 == 1
            && read_bits(bytes, lows + j * l as usize, l) < low
        {
            j += 1;
        }
        m * MINI + j.min(count)
    }
}

/// Appends the numbers of a bitmap from the `from`-th on.
fn decode_bitmap(words: [u64; 4], anchor: u64, range: Range<usize>, out: &mut Vec<u64>) {
    let (mut skip, mut left) = (range.start as u32, range.len());
    for (base, mut word) in (0..).step_by(64).zip(words) {
        let ones = word.count_ones();
        if skip >= ones {
            skip -= ones;
            continue;
        }
        if skip > 0 {
            let at = select64(word, skip);
            word = word >> at << at;
            skip = 0;
        }
        while word != 0 && left > 0 {
            out.push(anchor.wrapping_add(base + u64::from(word.trailing_zeros())));
            word &= word - 1;
            left -= 1;
        }
    }
}

/// How many bits are set before bit `end`.
fn ones_below(words: [u64; 4], end: u64) -> usize {
    let below = |(base, word): (u64, u64)| match end.saturating_sub(base) {
        0 => 0,
        n @ 1..64 => word & low_mask(n as u32),
        _ => word,
    };
    (0..).step_by(64).zip(words).map(|at| below(at).count_ones() as usize).sum()
}

/// Place of the `k`-th set bit (from 0), 127 where there are fewer.
#[inline]
fn select(word: u128, k: u32) -> u32 {
    let low = word as u64;
    let ones = low.count_ones();
    if k < ones { select64(low, k) } else { 64 + select64((word >> 64) as u64, k - ones) }
}

/// Place of the `k`-th set bit, 63 where there are fewer: byte counts side by side find the byte
/// (S. Vigna, "Broadword implementation of rank/select queries", 2008), a short loop the bit.
#[inline]
fn select64(word: u64, k: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut sums = word - ((word >> 1) & (ONES * 0x55));
    sums = (sums & (ONES * 0x33)) + ((sums >> 2) & (ONES * 0x33));
    sums = ((sums + (sums >> 4)) & (ONES * 0x0f)).wrapping_mul(ONES);
    // Bytes whose running count is at most k lie before the one that holds the bit.
    let below =
        ((((u64::from(k) * ONES) | (ONES << 7)) - (sums & !(ONES << 7))) & (ONES << 7)) >> 7;
    let byte = (below.wrapping_mul(ONES) >> 56) as u32;
    if byte > 7 {
        return 63;
    }
    let before = if byte == 0 { 0 } else { (sums >> (8 * (byte - 1))) as u32 & 0xff };
    let mut rest = word >> (8 * byte);
    for _ in before..k {
        rest &= rest.wrapping_sub(1);
    }
    8 * byte + rest.trailing_zeros().min(63 - 8 * byte)
}
