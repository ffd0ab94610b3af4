//! What do functions of ranges and multiranges give?
//!
//! A range is what lies between two values of a type, with or without them; a multirange is several of them with room between.
//! Their forms as bytes, texts and binary messages, how they lie to each other, what they are as sets, their aggregates.
//!
//! The type of the bounds is known from the call ([`crate::Types`]). Thread safety: pure functions.

mod form;
mod functions;
mod gather;
mod line;
mod relate;
mod sets;
pub(crate) mod text;

pub(crate) use form::{Bound, Ranges};
pub(crate) use line::element;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[
    relate::PAIRS,
    relate::OTHERS,
    functions::MAKERS,
    functions::SAID,
    functions::SETS,
    functions::BEHIND,
];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = gather::AGGREGATES;
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = gather::SERIES;
