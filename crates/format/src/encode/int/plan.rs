//! Which form makes a stream of integers smallest?

use super::super::{Effort, bits};
use super::{DICTIONARY_MAX, decimal};
use crate::wire;

/// `base + slope * i + factor * packed(i)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Formula {
    pub(super) base: i64,
    pub(super) slope: i64,
    pub(super) factor: u64,
    pub(super) width: u32,
}

/// What the encoder decided for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// The values by a formula.
    Formula(Formula),
    /// Floats that are short decimals: how, and their digits, by a formula.
    Decimal(u8, Vec<i64>, Formula),
    /// Sorted distinct values.
    Dictionary(Vec<i64>),
}

/// The smallest form that the effort allows to look for.
pub(super) fn plan(values: &[i64], effort: Effort) -> Plan {
    let (formula, range) = formula(values, effort);
    if effort == Effort::Fast || formula.width <= 1 {
        return Plan::Formula(formula);
    }
    let mut best = Plan::Formula(formula);
    let mut width = formula.width;
    if range > u64::from(u32::MAX)
        && let Some((how, digits)) = decimal::of(values)
    {
        let (formula, _) = self::formula(&digits, effort);
        if formula.width < width {
            width = formula.width;
            best = Plan::Decimal(how, digits, formula);
        }
    }
    let size = bits::packed_len(values.len(), width);
    match distinct(values, bits::width_of(range), size) {
        Some(sorted) if dictionary_len(&sorted, values.len()) < size => Plan::Dictionary(sorted),
        _ => best,
    }
}

/// The best formula, and the distance between the smallest and the largest value.
fn formula(values: &[i64], effort: Effort) -> (Formula, u64) {
    let Some(&first) = values.first() else {
        return (Formula { base: 0, slope: 0, factor: 1, width: 0 }, 0);
    };
    let (mut min, mut max) = (first, first);
    for &v in values {
        min = min.min(v);
        max = max.max(v);
    }
    let range = max.wrapping_sub(min) as u64;
    let mut best = Formula { base: min, slope: 0, factor: 1, width: bits::width_of(range) };
    if best.width == 0 {
        return (best, range);
    }
    if let Some((base, slope, width)) = line(values, range) {
        best = Formula { base, slope, factor: 1, width };
    }
    if effort == Effort::Small
        && best.width > 1
        && let Some(factor) = common_factor(values, min)
    {
        let width = bits::width_of(range / factor);
        if width < best.width {
            best = Formula { base: min, slope: 0, factor, width };
        }
    }
    (best, range)
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
pub(super) struct ExactDivision {
    divisor: u64,
    shift: u32,
    inverse: u64,
}

impl ExactDivision {
    pub(super) fn new(divisor: u64) -> ExactDivision {
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
    pub(super) fn quotient(&self, multiple: u64) -> u64 {
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

/// Bytes of a dictionary and its indexes.
pub(super) fn dictionary_len(sorted: &[i64], n: usize) -> usize {
    let range = sorted[sorted.len() - 1].wrapping_sub(sorted[0]) as u64;
    4 + wire::varint_len(wire::zigzag(sorted[0]))
        + bits::packed_len(sorted.len(), bits::width_of(range))
        + bits::packed_len(n, bits::width_of(sorted.len() as u64 - 1))
}
