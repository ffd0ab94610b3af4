//! How does a stream of 128-bit integers (uuid, numeric with a declared precision) become few bytes?
//!
//! Numbers that lie within 64 bits of each other become an offset and an [integer
//! stream](super::int). Identifiers do not, yet some of their bits never change (6 of a version-4
//! UUID, most of the time of a version-7 one): each 64-bit half keeps its constant bits once and packs
//! those that vary. The encoder picks by exact size; every value is found by itself.
//!
//! | form | bytes |
//! |---|---|
//! | 0 offset | base: length (1 byte, 0 to 16), then that many bytes, sign-extended; integer stream of `value - base`, signed where there is no base, unsigned where there is |
//! | 1 halves | low half, then high half: mask of varying bits (8 bytes), constant bits (8 bytes), varying bits packed |
//! | 2 raw | 16 bytes per value |
//! | 3 dictionary | count - 1 (1 byte), 16 bytes per distinct value in ascending order, integer stream of indexes |
//!
//! ```
//! use onlap_format::encode::{Effort, wide};
//! use onlap_format::wire::Reader;
//! let mut out = Vec::new();
//! wide::encode(&[7, 8, 9, 9], Effort::Fast, &mut out);
//! // form 0, no base; width 2, base 7 as zigzag 14, differences 0, 1, 2, 2
//! assert_eq!(out, [0, 0, 2, 14, 0b10_10_01_00]);
//! let view = wide::WideView::parse(&mut Reader::new(&out), 4)?;
//! assert_eq!(view.get(2), 9);
//! # Ok::<(), onlap_base::Error>(())
//! ```

use std::ops::Range;

use onlap_base::Result;

use super::int::{self, IntView};
use super::{Effort, bits};
use crate::wire::Reader;

const OFFSET: u8 = 0;
const HALVES: u8 = 1;
const RAW: u8 = 2;
const DICTIONARY: u8 = 3;

/// Runs of varying bits that a half may have; a half with more packs all bits between its lowest
/// and highest varying one.
const RUNS_MAX: usize = 4;

/// Appends the values as a stream.
pub fn encode(values: &[i128], effort: Effort, out: &mut Vec<u8>) {
    let first = values.first().copied().unwrap_or(0);
    let (mut min, mut max) = (first, first);
    let (mut and, mut or) = (first as u128, first as u128);
    for &v in values {
        min = min.min(v);
        max = max.max(v);
        and &= v as u128;
        or |= v as u128;
    }
    let narrow = |v: i128| i64::try_from(v).is_ok();
    if narrow(min) && narrow(max) {
        return put_offset(values, None, effort, out);
    }
    if max.wrapping_sub(min) as u128 <= u128::from(u64::MAX) {
        return put_offset(values, Some(min), effort, out);
    }
    let varying = and ^ or;
    let (low, high) = (Half::new(varying as u64), Half::new((varying >> 64) as u64));
    let halves = 32 + low.packed_len(values.len()) + high.packed_len(values.len());
    let raw = values.len() * 16;
    if effort == Effort::Small
        && let Some(sorted) = distinct(values, halves.min(raw))
    {
        return put_dictionary(values, &sorted, out);
    }
    if halves < raw {
        out.push(HALVES);
        low.put(values, 0, and as u64, out);
        high.put(values, 64, (and >> 64) as u64, out);
    } else {
        out.push(RAW);
        values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
    }
}

fn put_offset(values: &[i128], base: Option<i128>, effort: Effort, out: &mut Vec<u8>) {
    out.push(OFFSET);
    match base {
        None => out.push(0),
        Some(base) => {
            let significant = 129 - (base ^ base >> 127).leading_zeros();
            let n = significant.div_ceil(8) as usize;
            out.push(n as u8);
            out.extend_from_slice(&base.to_le_bytes()[..n]);
        }
    }
    let base = base.unwrap_or(0);
    let differences: Vec<i64> = values.iter().map(|v| v.wrapping_sub(base) as i64).collect();
    int::encode(&differences, effort, out);
}

/// Sorted distinct values, given up once a dictionary cannot be smaller than `size` bytes.
fn distinct(values: &[i128], size: usize) -> Option<Vec<i128>> {
    let mut found: Vec<i128> = Vec::new();
    for &v in values {
        if let Err(at) = found.binary_search(&v) {
            let k = found.len() + 1;
            let index_bytes = bits::packed_len(values.len(), bits::width_of(k as u64 - 1));
            if k > int::DICTIONARY_MAX || k * 16 + index_bytes + 12 >= size {
                return None;
            }
            found.insert(at, v);
        }
    }
    Some(found)
}

fn put_dictionary(values: &[i128], sorted: &[i128], out: &mut Vec<u8>) {
    out.extend([DICTIONARY, (sorted.len() - 1) as u8]);
    sorted.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
    let index = |v: &i128| sorted.binary_search(v).expect("the dictionary holds every value");
    let indexes: Vec<i64> = values.iter().map(|v| index(v) as i64).collect();
    int::encode(&indexes, Effort::Fast, out);
}

/// Which bits of a 64-bit half vary, as runs of neighbouring bits.
#[derive(Clone, Copy, Debug)]
struct Half {
    mask: u64,
    width: u32,
    runs: usize,
    /// Lowest bit and width of each run.
    run: [(u32, u32); RUNS_MAX],
}

impl Half {
    fn new(varying: u64) -> Half {
        let mut mask = varying;
        let mut half = Half { mask, width: 0, runs: 0, run: [(0, 0); RUNS_MAX] };
        while mask != 0 {
            let from = mask.trailing_zeros();
            let width = (mask >> from).trailing_ones();
            if half.runs == RUNS_MAX {
                let from = varying.trailing_zeros();
                let width = 64 - varying.leading_zeros() - from;
                half.run[0] = (from, width);
                half.mask = bits::mask_of(width) << from;
                half.runs = 1;
                break;
            }
            half.run[half.runs] = (from, width);
            half.runs += 1;
            mask &= !(bits::mask_of(width) << from);
        }
        half.width = half.mask.count_ones();
        half
    }

    fn packed_len(&self, n: usize) -> usize {
        bits::packed_len(n, self.width)
    }

    fn put(&self, values: &[i128], shift: u32, constant: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.mask.to_le_bytes());
        out.extend_from_slice(&(constant & !self.mask).to_le_bytes());
        let gathered = |i: usize| self.gather((values[i] as u128 >> shift) as u64);
        bits::pack(values.len(), self.width, gathered, out);
    }

    /// The varying bits of `v`, side by side.
    #[inline]
    fn gather(&self, v: u64) -> u64 {
        let (mut packed, mut at) = (0, 0);
        for &(from, width) in &self.run[..self.runs] {
            packed |= (v >> from & bits::mask_of(width)) << at;
            at += width;
        }
        packed
    }

    /// Inverse of [`Half::gather`]; the constant bits are 0.
    #[inline]
    fn scatter(&self, packed: u64) -> u64 {
        let (mut v, mut at) = (0, 0);
        for &(from, width) in &self.run[..self.runs] {
            v |= (packed >> at & bits::mask_of(width)) << from;
            at += width;
        }
        v
    }
}

/// A half of all values, parsed.
#[derive(Clone, Copy, Debug)]
struct HalfView<'a> {
    mask: u64,
    constant: u64,
    packed: &'a [u8],
}

impl<'a> HalfView<'a> {
    fn parse(r: &mut Reader<'a>, len: usize) -> Result<HalfView<'a>> {
        let mask = r.u64()?;
        let half = Half::new(mask);
        if half.mask != mask {
            return Err(r.damaged("a mask of varying bits has too many runs"));
        }
        let constant = r.u64()?;
        Ok(HalfView { mask, constant, packed: r.take(half.packed_len(len))? })
    }

    #[inline]
    fn get(&self, i: usize) -> u64 {
        let half = Half::new(self.mask);
        self.constant | half.scatter(bits::get(self.packed, half.width, i))
    }

    fn fill(&self, first: usize, out: &mut [i64]) {
        let half = Half::new(self.mask);
        bits::unpack(self.packed, half.width, first, out);
        out.iter_mut().for_each(|v| *v = (self.constant | half.scatter(*v as u64)) as i64);
    }
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Offset { base: i128, differences: IntView<'a>, narrow: bool },
    Halves { low: HalfView<'a>, high: HalfView<'a> },
    Raw(&'a [u8]),
    Dictionary { values: &'a [u8], indexes: IntView<'a> },
}

/// An encoded stream, parsed.
#[derive(Clone, Copy, Debug)]
pub struct WideView<'a> {
    len: usize,
    form: Form<'a>,
}

/// Values decoded at a time by way of a buffer on the stack.
const STEP: usize = 128;

impl<'a> WideView<'a> {
    /// Takes a stream of `len` values off the reader. The caller has bounded `len`.
    pub fn parse(r: &mut Reader<'a>, len: usize) -> Result<WideView<'a>> {
        let form = match r.u8()? {
            OFFSET => {
                let n = usize::from(r.u8()?);
                if n > 16 {
                    return Err(r.damaged(format!("an offset of {n} bytes, expected at most 16")));
                }
                let bytes = r.take(n)?;
                let negative = bytes.last().is_some_and(|b| *b >= 0x80);
                let mut base = [if negative { 0xFF } else { 0 }; 16];
                base[..n].copy_from_slice(bytes);
                let differences = IntView::parse(r, len)?;
                Form::Offset { base: i128::from_le_bytes(base), differences, narrow: n == 0 }
            }
            HALVES => {
                Form::Halves { low: HalfView::parse(r, len)?, high: HalfView::parse(r, len)? }
            }
            RAW => Form::Raw(r.take(len.saturating_mul(16))?),
            DICTIONARY => {
                let count = usize::from(r.u8()?) + 1;
                Form::Dictionary { values: r.take(count * 16)?, indexes: IntView::parse(r, len)? }
            }
            form => return Err(r.damaged(format!("unknown form {form} of a 128-bit stream"))),
        };
        Ok(WideView { len, form })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Value `i`, below the length.
    #[inline]
    pub fn get(&self, i: usize) -> i128 {
        match &self.form {
            Form::Offset { base, differences, narrow } => {
                offset(*base, *narrow, differences.get(i))
            }
            Form::Halves { low, high } => join(low.get(i), high.get(i)),
            Form::Raw(bytes) => at(bytes, i),
            Form::Dictionary { values, indexes } => at(values, indexes.get(i) as usize),
        }
    }

    /// Appends the values of a range.
    pub fn append_to(&self, range: Range<usize>, out: &mut Vec<i128>) {
        out.reserve(range.len());
        let (mut low_buffer, mut high_buffer) = ([0i64; STEP], [0i64; STEP]);
        let mut first = range.start;
        while first < range.end {
            let n = STEP.min(range.end - first);
            let (lows, highs) = (&mut low_buffer[..n], &mut high_buffer[..n]);
            match &self.form {
                Form::Offset { base, differences, narrow } => {
                    differences.fill(first, lows);
                    out.extend(lows.iter().map(|d| offset(*base, *narrow, *d)));
                }
                Form::Halves { low, high } => {
                    low.fill(first, lows);
                    high.fill(first, highs);
                    out.extend(lows.iter().zip(highs).map(|(l, h)| join(*l as u64, *h as u64)));
                }
                Form::Raw(bytes) => out.extend((first..first + n).map(|i| at(bytes, i))),
                Form::Dictionary { values, indexes } => {
                    indexes.fill(first, lows);
                    out.extend(lows.iter().map(|k| at(values, *k as usize)));
                }
            }
            first += n;
        }
    }

    /// Appends the values of the given rows.
    pub fn append_selected(&self, rows: &[u32], out: &mut Vec<i128>) {
        out.extend(rows.iter().map(|&i| self.get(i as usize)));
    }
}

/// Without a base the differences are signed values; with one they are unsigned distances.
#[inline]
fn offset(base: i128, narrow: bool, difference: i64) -> i128 {
    if narrow { i128::from(difference) } else { base.wrapping_add(i128::from(difference as u64)) }
}

#[inline]
fn join(low: u64, high: u64) -> i128 {
    (u128::from(high) << 64 | u128::from(low)) as i128
}

/// 16 bytes at place `i`; 0 where a damaged index points outside.
#[inline]
fn at(bytes: &[u8], i: usize) -> i128 {
    let rest = i.checked_mul(16).and_then(|at| bytes.get(at..));
    rest.and_then(|rest| rest.first_chunk::<16>()).map_or(0, |b| i128::from_le_bytes(*b))
}
