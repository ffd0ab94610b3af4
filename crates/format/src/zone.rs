//! Between which values does a column of a block lie?
//!
//! A [`Zone`] is a minimum and a maximum in physical order, so that scans skip blocks. It may be
//! wider than the truth, never narrower: strings keep a bounded prefix, numbers without declared
//! scale their integer parts. A [`ZoneProbe`] is a range of SQL values in the same terms. Zones know
//! nothing of pending column changes: the reader must not prune a (block, column) that has some.

use std::ops::Range;

use onlap_base::Result;

use crate::batch::{Column, Vector};
use crate::convert;
use crate::types::{DataType, Physical};
use crate::value::{Numeric, Value};

#[cfg(test)]
mod tests;

/// Bytes kept of a string: enough to tell most keys apart, and at most 0.2 percent of a block.
pub const ZONE_BYTES: usize = 16;

/// The values of one column in one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// How many rows are NULL.
    pub nulls: u32,
    /// Between which values the others lie.
    pub bounds: Bounds,
}

/// A closed range that holds every value that is not NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// There is no value.
    Empty,
    /// Smallest and largest number.
    Int(i64, i64),
    /// Smallest and largest number; for numeric without scale the integers around them.
    Wide(i128, i128),
    /// A prefix of the smallest string, and a string not below any that begins like the largest;
    /// `None` where no short one exists.
    Bytes(Vec<u8>, Option<Vec<u8>>),
}

impl Zone {
    /// The zone of rows `range`.
    pub fn of(column: &Column, range: Range<usize>) -> Zone {
        let nulls =
            column.nulls.as_ref().map_or(0, |n| range.clone().filter(|i| n.get(*i)).count());
        let bounds = if nulls == 0 {
            bounds_of(&column.data, range)
        } else {
            bounds_of(&column.data, range.filter(|i| !column.is_null(*i)))
        };
        Zone { nulls: nulls as u32, bounds }
    }
}

fn bounds_of(data: &Vector, mut rows: impl Iterator<Item = usize>) -> Bounds {
    let Some(first) = rows.next() else { return Bounds::Empty };
    match data {
        Vector::Int(v) => {
            let start = (v[first], v[first]);
            let (min, max) = rows.fold(start, |(min, max), i| (min.min(v[i]), max.max(v[i])));
            Bounds::Int(min, max)
        }
        Vector::Wide(v) => {
            let start = (v[first], v[first]);
            let (min, max) = rows.fold(start, |(min, max), i| (min.min(v[i]), max.max(v[i])));
            Bounds::Wide(min, max)
        }
        Vector::Numeric(m, s) => {
            let around = |i: usize| integers_around(Numeric { mantissa: m[i], scale: s[i] });
            let (min, max) = rows.fold(around(first), |(min, max), i| {
                let (floor, ceil) = around(i);
                (min.min(floor), max.max(ceil))
            });
            Bounds::Wide(min, max)
        }
        Vector::Bytes(v) => {
            // The first eight bytes decide nearly every comparison.
            let (mut min, mut max) = (first, first);
            let (mut min_head, mut max_head) = (head(v.get(first)), head(v.get(first)));
            for i in rows {
                let this = head(v.get(i));
                if this < min_head || this == min_head && v.get(i) < v.get(min) {
                    (min, min_head) = (i, this);
                }
                if this > max_head || this == max_head && v.get(i) > v.get(max) {
                    (max, max_head) = (i, this);
                }
            }
            Bounds::Bytes(lower_bytes(v.get(min)), upper_bytes(v.get(max)))
        }
    }
}

/// The first eight bytes as a number that orders as they do.
#[inline]
fn head(s: &[u8]) -> u64 {
    match s.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..s.len()].copy_from_slice(s);
            u64::from_be_bytes(bytes)
        }
    }
}

/// Largest integer not above and smallest not below; infinities are beyond those of 38 digits, NaN is above all.
fn integers_around(n: Numeric) -> (i128, i128) {
    match (n.scale, n.mantissa) {
        (Numeric::NAN_SCALE, _) => return (i128::MAX, i128::MAX),
        (Numeric::INFINITE_SCALE, ..0) => return (i128::MIN, i128::MIN),
        (Numeric::INFINITE_SCALE, _) => return (i128::MAX - 1, i128::MAX - 1),
        _ => {}
    }
    let Some(power) = 10i128.checked_pow(u32::from(n.scale)) else {
        return (-1, 1); // only damaged data has such a scale
    };
    let floor = n.mantissa.div_euclid(power);
    (floor, if n.mantissa.rem_euclid(power) == 0 { floor } else { floor + 1 })
}

fn lower_bytes(s: &[u8]) -> Vec<u8> {
    s[..s.len().min(ZONE_BYTES)].to_vec()
}

fn upper_bytes(s: &[u8]) -> Option<Vec<u8>> {
    if s.len() <= ZONE_BYTES {
        return Some(s.to_vec());
    }
    // The next string after everything that begins like s.
    let mut prefix = s[..ZONE_BYTES].to_vec();
    while let Some(last) = prefix.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return Some(prefix);
        }
        prefix.pop();
    }
    None
}

/// A closed range of values that a scan looks for.
#[derive(Clone, Debug)]
pub struct ZoneProbe {
    lower: Option<Bounds>,
    upper: Option<Bounds>,
}

impl ZoneProbe {
    /// Values from `lower` to `upper`, both included; `None` is open. Fails where a value does not
    /// have the type.
    pub fn new(ty: DataType, lower: Option<&Value>, upper: Option<&Value>) -> Result<ZoneProbe> {
        // -0 lies just below 0 in physical order and equals it in SQL's.
        let zero = |v: Option<&Value>, with: f64| match v {
            Some(Value::Float(f)) if *f == 0.0 => Some(Value::Float(with)),
            v => v.cloned(),
        };
        let bound = |v: Option<Value>| v.map(|v| scalar_bounds(ty, &v)).transpose();
        Ok(ZoneProbe { lower: bound(zero(lower, -0.0))?, upper: bound(zero(upper, 0.0))? })
    }

    /// Whether the block may hold a value of the range.
    pub fn may_match(&self, zone: &Zone) -> bool {
        let above_lower = self.lower.as_ref().is_none_or(|l| !ends_before(&zone.bounds, l));
        let below_upper = self.upper.as_ref().is_none_or(|u| !ends_before(u, &zone.bounds));
        zone.bounds != Bounds::Empty && above_lower && below_upper
    }
}

/// A value as the bounds of itself alone.
fn scalar_bounds(ty: DataType, value: &Value) -> Result<Bounds> {
    let mut column = Column::new(ty.physical());
    convert::push_value(ty, value, &mut column, "the bound")?;
    Ok(Zone::of(&column, 0..1).bounds)
}

/// Whether all of `a` is below all of `b`.
fn ends_before(a: &Bounds, b: &Bounds) -> bool {
    match (a, b) {
        (Bounds::Int(_, max), Bounds::Int(min, _)) => max < min,
        (Bounds::Wide(_, max), Bounds::Wide(min, _)) => max < min,
        (Bounds::Bytes(_, Some(max)), Bounds::Bytes(min, _)) => max < min,
        _ => false,
    }
}

/// Physical form in which zones of a column of form `p` are stored.
pub(crate) fn stored_form(p: Physical) -> Physical {
    if p == Physical::Numeric { Physical::Wide } else { p }
}
