//! How are many small unsigned numbers laid into as few bits as they need?
//!
//! Value `i` of width `w` occupies bits `i * w .. (i + 1) * w` of the bytes, lowest bit first, with
//! nothing between the values, so any one of them is a load, a shift and a mask. Widths are 0 to 64.
//! The last byte is filled up with zero bits. Nothing here knows what the numbers stand for.
//!
//! ```
//! use onlap_format::encode::bits;
//! let mut out = Vec::new();
//! bits::pack(3, 5, |i| [1, 30, 7][i], &mut out);
//! assert_eq!(out, [0b110_00001, 0b0_00111_11]); // value 1 begins at bit 5
//! assert_eq!(bits::get(&out, 5, 1), 30);
//! ```

/// Bits needed for numbers up to `max`.
#[inline]
pub fn width_of(max: u64) -> u32 {
    64 - max.leading_zeros()
}

/// Bytes that `n` values of `width` bits take.
#[inline]
pub fn packed_len(n: usize, width: u32) -> usize {
    (n * width as usize).div_ceil(8)
}

/// The low `width` bits set.
#[inline]
pub fn mask_of(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width) }
}

/// Appends `n` values of `width` bits. `value(i)` must not exceed the width.
#[inline]
pub fn pack(n: usize, width: u32, mut value: impl FnMut(usize) -> u64, out: &mut Vec<u8>) {
    if width == 0 || n == 0 {
        return;
    }
    let start = out.len();
    let bytes = packed_len(n, width);
    // Whole words are stored, so leave room for the last one.
    out.resize(start + bytes + 8, 0);
    let body = &mut out[start..];
    let (mut acc, mut used, mut at) = (0u64, 0u32, 0usize);
    for i in 0..n {
        let v = value(i);
        debug_assert!(v <= mask_of(width), "value {v} is wider than {width} bits");
        acc |= v << used;
        used += width;
        if used >= 64 {
            body[at..at + 8].copy_from_slice(&acc.to_le_bytes());
            at += 8;
            used -= 64;
            // The bits of v that did not fit; all did where used is 0.
            acc = if used == 0 { 0 } else { v >> (width - used) };
        }
    }
    if used > 0 {
        body[at..at + 8].copy_from_slice(&acc.to_le_bytes());
    }
    out.truncate(start + bytes);
}

/// Value `i`. Bits past the end of `bytes` read as 0.
#[inline]
pub fn get(bytes: &[u8], width: u32, i: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let bit = i * width as usize;
    let (at, shift) = (bit / 8, (bit % 8) as u32);
    let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
        return get_at_end(bytes, width, at, shift);
    };
    let low = u64::from_le_bytes(*word) >> shift;
    if shift + width <= 64 {
        return low & mask_of(width);
    }
    let high = bytes.get(at + 8).copied().unwrap_or(0);
    (low | u64::from(high) << (64 - shift)) & mask_of(width)
}

/// [`get`] for a value that begins in the last seven bytes, or past them.
fn get_at_end(bytes: &[u8], width: u32, at: usize, shift: u32) -> u64 {
    let word = match bytes.last_chunk::<8>() {
        // The last eight bytes, without those before the value.
        Some(last) if at < bytes.len() => u64::from_le_bytes(*last) >> (8 * (at + 8 - bytes.len())),
        _ => {
            let rest = bytes.get(at..).unwrap_or(&[]);
            rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
        }
    };
    (word >> shift) & mask_of(width)
}

/// Bytes that [`unpack8`] may look at: the group, and what one more load reads past it.
const fn reach(width: usize) -> usize {
    width + 9
}

/// Eight values of `W` bits from the front of `src`, which has at least `reach(W)` bytes, each above
/// `base`.
#[inline(always)]
fn unpack8<const W: usize>(src: &[u8], base: i64, out: &mut [i64; 8]) {
    let src = &src[..reach(W)];
    for (k, value) in out.iter_mut().enumerate() {
        let (at, shift) = (k * W / 8, k * W % 8);
        let word: [u8; 8] = src[at..at + 8].try_into().expect("eight bytes");
        let mut v = u64::from_le_bytes(word) >> shift;
        if shift + W > 64 {
            v |= u64::from(src[at + 8]) << (64 - shift);
        }
        *value = base.wrapping_add((v & mask_of(W as u32)) as i64);
    }
}

/// All of `out`, which begins at value `first`, a multiple of 8.
fn unpack_width<const W: usize>(bytes: &[u8], base: i64, first: usize, out: &mut [i64]) {
    let mut at = first / 8 * W;
    let (groups, last) = out.as_chunks_mut::<8>();
    for group in groups {
        match bytes.get(at..) {
            Some(src) if src.len() >= reach(W) => unpack8::<W>(src, base, group),
            _ => unpack8::<W>(&padded(bytes, at), base, group),
        }
        at += W;
    }
    if !last.is_empty() {
        let mut group = [0; 8];
        unpack8::<W>(&padded(bytes, at), base, &mut group);
        last.copy_from_slice(&group[..last.len()]);
    }
}

/// The bytes from `at`, with zeros after the end.
#[cold]
fn padded(bytes: &[u8], at: usize) -> [u8; reach(64)] {
    let mut src = [0u8; reach(64)];
    let rest = bytes.get(at..).unwrap_or(&[]);
    let n = rest.len().min(src.len());
    src[..n].copy_from_slice(&rest[..n]);
    src
}

macro_rules! by_width {
    ($width:expr, $bytes:expr, $base:expr, $first:expr, $out:expr; $($w:literal)*) => {
        match $width {
            $($w => unpack_width::<$w>($bytes, $base, $first, $out),)*
            _ => unreachable!("widths are checked when a stream is parsed"),
        }
    };
}

/// Values `first .. first + out.len()`, as the `i64` of the same bits. Bits past the end of `bytes`
/// read as 0.
///
/// Every width has code of its own, so that offsets, shifts and masks of eight values at a time are
/// constants; only the values before the first multiple of 8 are read one by one.
pub fn unpack(bytes: &[u8], width: u32, first: usize, out: &mut [i64]) {
    unpack_above(0, bytes, width, first, out);
}

/// [`unpack`], with `base` added to each value (modulo 2^64).
pub fn unpack_above(base: i64, bytes: &[u8], width: u32, first: usize, out: &mut [i64]) {
    debug_assert!(width <= 64);
    let single = (first.next_multiple_of(8) - first).min(out.len());
    let (ahead, rest) = out.split_at_mut(single);
    for (k, value) in ahead.iter_mut().enumerate() {
        *value = base.wrapping_add(get(bytes, width, first + k) as i64);
    }
    if rest.is_empty() {
        return;
    }
    let first = first + single;
    by_width!(width, bytes, base, first, rest;
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62
        63 64)
}
