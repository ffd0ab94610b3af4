//! What do functions of numbers give?
//!
//! Integers, floats, numeric, money, bit strings, booleans, OIDs; their casts, to_char of numbers; their aggregates.

mod int;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[int::ENTRIES];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = &[];
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[];
