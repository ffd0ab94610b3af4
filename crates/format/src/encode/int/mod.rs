//! How does a stream of 64-bit integers become few bytes, each value still found by itself?
//!
//! One formula covers constants, frames of reference, serial numbers and times in whole seconds:
//!
//! ```text
//! value(i) = base + slope * i + factor * packed(i)        (arithmetic modulo 2^64)
//! value(i) = dictionary(packed(i))                        (at most 256 distinct values)
//! value(i) = float(base + slope * i + factor * packed(i), exponent)
//! ```
//!
//! A constant is width 0; a frame of reference has slope 0 and factor 1; a serial column has slope 1
//! and few residual bits or none; times that are multiples of a second have factor 1,000,000. Floats,
//! which reach this module as integers of the same order, are mostly short decimals (12.5, 0.07): then
//! their digits are packed and the exponent stands once. The encoder looks at the values once for minimum and maximum, samples whether a slope helps, and picks
//! the smallest by exact size. Lossless whatever the values: differences wrap.
//!
//! A stream does not say how many values it has; its container does.
//!
//! | part | bytes |
//! |---|---|
//! | width | 1: bits per packed value, 0 to 64; plus 128 when a flags byte follows |
//! | flags | 0 or 1: 1 slope, 2 factor, 4 dictionary (alone), 8 decimal |
//! | dictionary | with flag 4 instead of base: count - 1 (1 byte), width (1 byte), base (zigzag), packed differences |
//! | base | zigzag |
//! | slope | with flag 1: zigzag |
//! | factor | with flag 2: varint |
//! | decimal | with flag 8: 1: digits after the point plus 1; plus 128 for single precision |
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

mod decimal;
mod plan;

use std::ops::Range;

use onlap_base::Result;

use self::plan::{ExactDivision, Formula, Plan};
use super::{Effort, bits};
use crate::wire::{self, Reader};

const EXTENDED: u8 = 0x80;
const SLOPE: u8 = 1;
const FACTOR: u8 = 2;
const DICTIONARY: u8 = 4;
const DECIMAL: u8 = 8;

/// Most values of a dictionary; an index then fits a byte.
pub const DICTIONARY_MAX: usize = 256;

/// Appends the values as a stream.
pub fn encode(values: &[i64], effort: Effort, out: &mut Vec<u8>) {
    match plan::plan(values, effort) {
        Plan::Formula(formula) => {
            put_head(&formula, None, out);
            put_packed(values, &formula, out);
        }
        Plan::Decimal(how, digits, formula) => {
            put_head(&formula, Some(how), out);
            put_packed(&digits, &formula, out);
        }
        Plan::Dictionary(sorted) => put_dictionary(values, &sorted, out),
    }
}

/// Appends a stream whose values are exactly `base + slope * i`, however many.
pub fn put_line(base: i64, slope: i64, out: &mut Vec<u8>) {
    put_head(&Formula { base, slope, factor: 1, width: 0 }, None, out);
}

fn put_head(formula: &Formula, decimal: Option<u8>, out: &mut Vec<u8>) {
    let Formula { base, slope, factor, width } = *formula;
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let flags = flag(slope != 0, SLOPE) | flag(factor != 1, FACTOR);
    let flags = flags | flag(decimal.is_some(), DECIMAL);
    out.push(width as u8 | flag(flags != 0, EXTENDED));
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
    out.extend(decimal);
}

fn put_packed(values: &[i64], formula: &Formula, out: &mut Vec<u8>) {
    let Formula { base, slope, factor, width } = *formula;
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
    /// How the values are floats written as decimals; 0 where they are not.
    decimal: u8,
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
            decimal: 0,
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
            flags if flags & !(SLOPE | FACTOR | DECIMAL) == 0 => {
                self.base = r.signed()?;
                if flags & SLOPE != 0 {
                    self.slope = r.signed()?;
                }
                if flags & FACTOR != 0 {
                    self.factor = r.varint()? as i64;
                }
                if flags & DECIMAL != 0 {
                    self.decimal = r.u8()?;
                    if !decimal::is_known(self.decimal) {
                        return Err(r.damaged(format!("unknown decimals {}", self.decimal)));
                    }
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
        let plain = self.dictionary_len == 0 && self.decimal == 0;
        (self.width == 0 && plain).then_some((self.base, self.slope))
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
        let v = self
            .base
            .wrapping_add(self.slope.wrapping_mul(i as i64))
            .wrapping_add(self.factor.wrapping_mul(packed as i64));
        if self.decimal == 0 { v } else { decimal::value(self.decimal, v) }
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
        } else if self.factor == 1 {
            bits::unpack_above(self.base, self.packed, self.width.into(), first, out);
        } else {
            bits::unpack(self.packed, self.width.into(), first, out);
            let value = |v: i64| v.wrapping_mul(self.factor).wrapping_add(self.base);
            out.iter_mut().for_each(|v| *v = value(*v));
        }
        if self.slope != 0 {
            for (i, v) in out.iter_mut().enumerate() {
                *v = v.wrapping_add(self.slope.wrapping_mul((first + i) as i64));
            }
        }
        if self.decimal != 0 {
            out.iter_mut().for_each(|v| *v = decimal::value(self.decimal, *v));
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
