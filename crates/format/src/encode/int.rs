//! How does a stream of 64-bit integers become few bytes, each value still found by itself?
//!
//! One formula covers constants, frames of reference, serial numbers and times in whole seconds:
//!
//! ```text
//! value(i) = base + slope * i + factor * packed(i)        (arithmetic modulo 2^64)
//! value(i) = dictionary(packed(i))                        (at most 256 distinct values)
//! ```
//!
//! A constant is width 0; a frame of reference has slope 0 and factor 1; a serial column has slope 1
//! and few residual bits or none; times that are multiples of a second have factor 1,000,000. The
//! encoder looks at the values once for minimum and maximum, samples whether a slope helps, and picks
//! the smallest by exact size. Lossless whatever the values: differences wrap.
//!
//! A stream does not say how many values it has; its container does.
//!
//! | part | bytes |
//! |---|---|
//! | width | 1: bits per packed value, 0 to 64; plus 128 when a flags byte follows |
//! | flags | 0 or 1: 1 slope, 2 factor, 4 dictionary (alone) |
//! | dictionary | with flag 4 instead of base: count - 1 (1 byte), width (1 byte), base (zigzag), packed differences |
//! | base | zigzag |
//! | slope | with flag 1: zigzag |
//! | factor | with flag 2: varint |
//! | packed | `ceil(values * width / 8)` bytes, see [`bits`] |
//!
//! ```
//! use onlap_format::encode::{Effort, int};
//! use onlap_format::wire::Reader;
//! let mut out = Vec::new();
//! int::encode(&[1000, 1003, 1001, 1002], Effort::Fast, &mut out);
//! // width 2; base 1000 as zigzag 2000; differences 0, 3, 1, 2
//! assert_eq!(out, [2, 0xD0, 0x0F, 0b10_01_11_00]);
//! let view = int::IntView::parse(&mut Reader::new(&out), 4)?;
//! assert_eq!(view.get(3), 1002);
//! # Ok::<(), onlap_base::Error>(())
//! ```

use std::ops::Range;

use onlap_base::Result;

use super::{Effort, bits};
use crate::wire::{self, Reader};

const EXTENDED: u8 = 0x80;
const SLOPE: u8 = 1;
const FACTOR: u8 = 2;
const DICTIONARY: u8 = 4;

/// Most values of a dictionary; an index then fits a byte.
pub const DICTIONARY_MAX: usize = 256;

/// What the encoder decided for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Plan {
    /// base, slope, factor, width
    Formula { base: i64, slope: i64, factor: u64, width: u32 },
    /// sorted distinct values
    Dictionary(Vec<i64>),
}

/// Appends the values as a stream.
pub fn encode(values: &[i64], effort: Effort, out: &mut Vec<u8>) {
    match plan(values, effort) {
        Plan::Formula { base, slope, factor, width } => {
            put_head(base, slope, factor, width, out);
            put_packed(values, base, slope, factor, width, out);
        }
        Plan::Dictionary(sorted) => put_dictionary(values, &sorted, out),
    }
}

/// Appends a stream whose values are exactly `base + slope * i`, however many.
pub fn put_line(base: i64, slope: i64, out: &mut Vec<u8>) {
    put_head(base, slope, 1, 0, out);
}

/// Bytes that [`encode`] with the same effort would append.
pub fn encoded_len(values: &[i64], effort: Effort) -> usize {
    match plan(values, effort) {
        Plan::Formula { base, slope, factor, width } => {
            let mut head = Vec::with_capacity(32);
            put_head(base, slope, factor, width, &mut head);
            head.len() + bits::packed_len(values.len(), width)
        }
        Plan::Dictionary(sorted) => dictionary_len(&sorted, values.len()),
    }
}

fn plan(values: &[i64], effort: Effort) -> Plan {
    let Some(&first) = values.first() else {
        return Plan::Formula { base: 0, slope: 0, factor: 1, width: 0 };
    };
    let (mut min, mut max) = (first, first);
    for &v in values {
        min = min.min(v);
        max = max.max(v);
    }
    let range = max.wrapping_sub(min) as u64;
    let width = bits::width_of(range);
    let mut best = Plan::Formula { base: min, slope: 0, factor: 1, width };
    if width == 0 {
        return best;
    }
    let mut best_width = width;
    if let Some((base, slope, width)) = line(values, range) {
        best = Plan::Formula { base, slope, factor: 1, width };
        best_width = width;
    }
    if effort == Effort::Fast || best_width <= 1 {
        return best;
    }
    if let Some(factor) = common_factor(values, min) {
        let width = bits::width_of(range / factor);
        if width < best_width {
            best = Plan::Formula { base: min, slope: 0, factor, width };
            best_width = width;
        }
    }
    let size = bits::packed_len(values.len(), best_width);
    match distinct(values, bits::width_of(range), size) {
        Some(sorted) if dictionary_len(&sorted, values.len()) < size => Plan::Dictionary(sorted),
        _ => best,
    }
}

/// Base, slope and residual width of a line through the values, where one is narrower than the
/// frame of reference of `range`.
fn line(values: &[i64], range: u64) -> Option<(i64, i64, u32)> {
    let n = values.len();
    if n < 3 {
        // Two values cost as much as a slope.
        return None;
    }
    let (first, last) = (values[0], values[n - 1]);
    let slope = (i128::from(last) - i128::from(first)) / (n as i128 - 1);
    let slope = i64::try_from(slope).ok().filter(|s| *s != 0)?;
    let residual = |i: usize| values[i].wrapping_sub(slope.wrapping_mul(i as i64));
    // A few samples turn away columns in random order before all values are looked at.
    let (mut min, mut max) = (first, first);
    for i in [1, n / 4, n / 2, n / 4 * 3, n - 1] {
        min = min.min(residual(i));
        max = max.max(residual(i));
    }
    if max.wrapping_sub(min) as u64 > range / 4 {
        return None;
    }
    for i in 0..n {
        let r = residual(i);
        min = min.min(r);
        max = max.max(r);
    }
    let width = bits::width_of(max.wrapping_sub(min) as u64);
    let saved = bits::packed_len(n, bits::width_of(range)).checked_sub(bits::packed_len(n, width));
    saved
        .is_some_and(|saved| saved > 2 + wire::varint_len(wire::zigzag(slope)))
        .then_some((min, slope, width))
}

/// A factor above 1 that divides all differences from `min`.
fn common_factor(values: &[i64], min: i64) -> Option<u64> {
    let mut factor = 0u64;
    for &v in values.iter().take(32) {
        factor = gcd(factor, v.wrapping_sub(min) as u64);
        if factor == 1 {
            return None;
        }
    }
    let mut division = ExactDivision::new(factor);
    for &v in values {
        let difference = v.wrapping_sub(min) as u64;
        // The factor is 0 as long as all values were equal.
        if difference != 0 && (factor == 0 || !division.divides(difference)) {
            factor = gcd(factor, difference);
            if factor <= 1 {
                return None;
            }
            division = ExactDivision::new(factor);
        }
    }
    (factor > 1).then_some(factor)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Division of multiples of a fixed number by a multiplication: an odd number has an inverse modulo
/// 2^64 (Hensel lifting doubles its correct bits each round).
struct ExactDivision {
    divisor: u64,
    shift: u32,
    inverse: u64,
}

impl ExactDivision {
    fn new(divisor: u64) -> ExactDivision {
        let divisor = divisor.max(1);
        let shift = divisor.trailing_zeros();
        let odd = divisor >> shift;
        let mut inverse = odd; // correct to 3 bits
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        ExactDivision { divisor, shift, inverse }
    }

    /// The quotient, meaningful only for multiples.
    #[inline]
    fn quotient(&self, multiple: u64) -> u64 {
        (multiple >> self.shift).wrapping_mul(self.inverse)
    }

    #[inline]
    fn divides(&self, v: u64) -> bool {
        self.quotient(v).checked_mul(self.divisor) == Some(v)
    }
}

/// The sorted distinct values, given up as soon as a dictionary of them cannot be smaller than
/// `size` bytes.
fn distinct(values: &[i64], value_width: u32, size: usize) -> Option<Vec<i64>> {
    const SLOTS: usize = 1024;
    let mut slots = [0u16; SLOTS];
    let mut found: Vec<i64> = Vec::new();
    for &v in values {
        let hash = (v as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mut slot = hash as usize % SLOTS;
        loop {
            match slots[slot] {
                0 => {
                    let k = found.len() + 1;
                    let index_bytes = bits::packed_len(values.len(), bits::width_of(k as u64 - 1));
                    if k > DICTIONARY_MAX || k * value_width as usize / 8 + index_bytes >= size {
                        return None;
                    }
                    found.push(v);
                    slots[slot] = k as u16;
                    break;
                }
                k if found[k as usize - 1] == v => break,
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }
    found.sort_unstable();
    Some(found)
}

fn dictionary_len(sorted: &[i64], n: usize) -> usize {
    let range = sorted[sorted.len() - 1].wrapping_sub(sorted[0]) as u64;
    4 + wire::varint_len(wire::zigzag(sorted[0]))
        + bits::packed_len(sorted.len(), bits::width_of(range))
        + bits::packed_len(n, bits::width_of(sorted.len() as u64 - 1))
}

fn put_head(base: i64, slope: i64, factor: u64, width: u32, out: &mut Vec<u8>) {
    let flags = if slope != 0 { SLOPE } else { 0 } | if factor != 1 { FACTOR } else { 0 };
    out.push(width as u8 | if flags != 0 { EXTENDED } else { 0 });
    if flags != 0 {
        out.push(flags);
    }
    wire::put_signed(out, base);
    if slope != 0 {
        wire::put_signed(out, slope);
    }
    if factor != 1 {
        wire::put_varint(out, factor);
    }
}

fn put_packed(values: &[i64], base: i64, slope: i64, factor: u64, width: u32, out: &mut Vec<u8>) {
    let n = values.len();
    if factor != 1 {
        let division = ExactDivision::new(factor);
        bits::pack(n, width, |i| division.quotient(values[i].wrapping_sub(base) as u64), out);
    } else if slope != 0 {
        let line = |i: usize| base.wrapping_add(slope.wrapping_mul(i as i64));
        bits::pack(n, width, |i| values[i].wrapping_sub(line(i)) as u64, out);
    } else {
        bits::pack(n, width, |i| values[i].wrapping_sub(base) as u64, out);
    }
}

fn put_dictionary(values: &[i64], sorted: &[i64], out: &mut Vec<u8>) {
    let width = bits::width_of(sorted.len() as u64 - 1);
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    let value_width = bits::width_of(max.wrapping_sub(min) as u64);
    out.extend([width as u8 | EXTENDED, DICTIONARY, (sorted.len() - 1) as u8, value_width as u8]);
    wire::put_signed(out, min);
    bits::pack(sorted.len(), value_width, |i| sorted[i].wrapping_sub(min) as u64, out);
    let index = |v: i64| sorted.binary_search(&v).expect("the dictionary holds every value");
    bits::pack(values.len(), width, |i| index(values[i]) as u64, out);
}

/// An encoded stream, parsed. Copying it is cheap; values stay packed.
#[derive(Clone, Copy, Debug)]
pub struct IntView<'a> {
    packed: &'a [u8],
    /// Packed differences of a dictionary's values from `base`; see `dictionary_len`.
    dictionary: &'a [u8],
    base: i64,
    slope: i64,
    factor: i64,
    len: u32,
    /// Values of the dictionary; 0 where there is none.
    dictionary_len: u16,
    dictionary_width: u8,
    width: u8,
}

impl<'a> IntView<'a> {
    /// Takes a stream of `len` values, fewer than 2^32, off the reader. The caller has bounded `len`.
    #[inline]
    pub fn parse(r: &mut Reader<'a>, len: usize) -> Result<IntView<'a>> {
        let head = r.u8()?;
        let mut view = IntView {
            packed: &[],
            dictionary: &[],
            base: 0,
            slope: 0,
            factor: 1,
            len: u32::try_from(len).map_err(|_| r.damaged("a stream of 2^32 values or more"))?,
            dictionary_len: 0,
            dictionary_width: 0,
            width: checked_width(r, head & !EXTENDED)?,
        };
        if head & EXTENDED == 0 {
            view.base = r.signed()?;
        } else {
            view.parse_extended(r)?;
        }
        view.packed = r.take(bits::packed_len(len, view.width.into()))?;
        Ok(view)
    }

    fn parse_extended(&mut self, r: &mut Reader<'a>) -> Result<()> {
        match r.u8()? {
            DICTIONARY => {
                let count = u16::from(r.u8()?) + 1;
                let width = r.u8()?;
                self.dictionary_len = count;
                self.dictionary_width = checked_width(r, width)?;
                self.base = r.signed()?;
                self.dictionary = r.take(bits::packed_len(count.into(), width.into()))?;
                if self.width > 8 {
                    return Err(r.damaged("a dictionary's indexes are wider than a byte"));
                }
            }
            flags @ 0..=3 => {
                self.base = r.signed()?;
                if flags & SLOPE != 0 {
                    self.slope = r.signed()?;
                }
                if flags & FACTOR != 0 {
                    self.factor = r.varint()? as i64;
                }
            }
            flags => return Err(r.damaged(format!("unknown flags {flags} of an integer stream"))),
        }
        Ok(())
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The one value that all have, where the form shows it.
    #[inline]
    pub fn constant(&self) -> Option<i64> {
        self.exact_line().filter(|(_, slope)| *slope == 0).map(|(base, _)| base)
    }

    /// Base and slope, where the values are exactly `base + slope * i`.
    #[inline]
    pub fn exact_line(&self) -> Option<(i64, i64)> {
        (self.width == 0 && self.dictionary_len == 0).then_some((self.base, self.slope))
    }

    /// Value `i`, below the length.
    #[inline]
    pub fn get(&self, i: usize) -> i64 {
        debug_assert!(i < self.len());
        let packed = bits::get(self.packed, self.width.into(), i);
        if self.dictionary_len > 0 {
            let width = self.dictionary_width.into();
            return self
                .base
                .wrapping_add(bits::get(self.dictionary, width, packed as usize) as i64);
        }
        self.base
            .wrapping_add(self.slope.wrapping_mul(i as i64))
            .wrapping_add(self.factor.wrapping_mul(packed as i64))
    }

    /// Writes values `first ..` over all of `out`.
    pub fn fill(&self, first: usize, out: &mut [i64]) {
        debug_assert!(first + out.len() <= self.len());
        if self.dictionary_len > 0 {
            let mut values = [0; DICTIONARY_MAX];
            let known = &mut values[..self.dictionary_len.into()];
            bits::unpack(self.dictionary, self.dictionary_width.into(), 0, known);
            bits::unpack(self.packed, self.width.into(), first, out);
            out.iter_mut().for_each(|v| *v = self.base.wrapping_add(values[*v as u8 as usize]));
            return;
        }
        if self.width == 0 {
            out.fill(self.base);
        } else {
            bits::unpack(self.packed, self.width.into(), first, out);
            if self.factor != 1 {
                out.iter_mut().for_each(|v| *v = v.wrapping_mul(self.factor));
            }
            out.iter_mut().for_each(|v| *v = v.wrapping_add(self.base));
        }
        if self.slope != 0 {
            for (i, v) in out.iter_mut().enumerate() {
                *v = v.wrapping_add(self.slope.wrapping_mul((first + i) as i64));
            }
        }
    }

    /// Appends the values of a range.
    pub fn append_to(&self, range: Range<usize>, out: &mut Vec<i64>) {
        let start = out.len();
        out.resize(start + range.len(), 0);
        self.fill(range.start, &mut out[start..]);
    }

    /// Appends the values of the given rows.
    pub fn append_selected(&self, rows: &[u32], out: &mut Vec<i64>) {
        out.extend(rows.iter().map(|&i| self.get(i as usize)));
    }

    /// First position whose value is not below `v`, in a stream whose values ascend.
    pub fn lower_bound(&self, v: i64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle) < v {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[inline]
fn checked_width(r: &Reader<'_>, width: u8) -> Result<u8> {
    if width > 64 {
        return Err(r.damaged(format!("bit width {width}, expected at most 64")));
    }
    Ok(width)
}
