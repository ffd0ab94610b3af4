//! What do functions of numbers give?
//!
//! Integers, floats, numeric, money, booleans, OIDs; their casts, to_char of numbers; their aggregates.

mod cast;
mod compare;
mod float;
mod int;
mod math;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[
    int::ARITHMETIC,
    int::ONE_TYPE,
    int::OTHERS,
    compare::NUMBERS,
    compare::BOOLEANS,
    float::ARITHMETIC,
    float::SIGNS,
    math::POWERS,
    math::ANGLES,
    math::DEGREES,
    math::BUCKETS,
    cast::WIDER,
    cast::NARROWER,
    cast::ROUNDED,
    cast::OTHERS,
];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = &[];
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[];
