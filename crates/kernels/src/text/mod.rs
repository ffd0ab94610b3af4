//! What do functions of texts and bytes give?
//!
//! text, varchar, char(n), name, bytea, uuid; patterns and regular expressions; encodings and digests.

mod basic;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[basic::ENTRIES];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = &[];
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[];
