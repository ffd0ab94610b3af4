//! What do functions of numbers give?
//!
//! Integers, floats, numeric, money, booleans, OIDs; their casts, to_char of numbers; their aggregates.

mod cast;
mod compare;
pub(crate) mod decimal;
mod float;
mod fold;
mod frame;
pub mod hash;
mod int;
mod math;
mod money;
mod numeric;
mod random;
mod series;
mod sizes;
mod template;
mod transitions;

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
    compare::UNORDERED,
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
    numeric::OPERATORS,
    numeric::FUNCTIONS,
    numeric::CASTS,
    money::OPERATORS,
    money::CASTS,
    hash::ENTRIES,
    sizes::ENTRIES,
    template::ENTRIES,
    random::ENTRIES,
    frame::ENTRIES,
    transitions::ENTRIES,
];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = fold::ENTRIES;
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = series::SERIES;
