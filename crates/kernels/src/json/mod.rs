//! What do functions of json and jsonb give?
//!
//! The form of jsonb values, their order, operators, paths; json as text.

pub mod form;
pub(crate) mod order;
pub(crate) mod read;
pub(crate) mod write;

pub use form::{Encoder, Items, Node, Pairs, node};

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = &[];
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[];
