//! What do functions of texts and bytes give?
//!
//! text, varchar, char(n), name, "char", bytea, uuid, bit; patterns and regular expressions; encodings and digests.
//!
//! The collation is C and the encoding UTF-8: texts are ordered by their bytes, and only ASCII has case.

pub(crate) mod agg;
mod any;
mod basic;
mod bits;
mod bytes;
pub(crate) mod codes;
pub(crate) mod compare;
pub(crate) mod encodings;
mod like;
mod matches;
mod parts;
mod patterns;
mod quote;
pub(crate) mod regex;
mod shape;
mod similar;
mod unicode;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[
    basic::ENTRIES,
    parts::ENTRIES,
    shape::ENTRIES,
    quote::ENTRIES,
    any::ENTRIES,
    like::ENTRIES,
    similar::ENTRIES,
    patterns::OPERATORS,
    patterns::ENTRIES,
    matches::ENTRIES,
    bytes::ENTRIES,
    codes::ENTRIES,
    encodings::ENTRIES,
    unicode::ENTRIES,
    compare::TEXTS,
    compare::TEXT_PATTERNS,
    compare::NAMES,
    compare::NAMES_AND_TEXTS,
    compare::TEXTS_AND_NAMES,
    compare::PADDED,
    compare::PADDED_PATTERNS,
    compare::CHARS,
    compare::BYTES,
    compare::UUIDS,
    bits::ENTRIES,
    bits::FIXED,
    bits::VARYING,
];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = agg::AGGREGATES;
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = matches::SERIES;
