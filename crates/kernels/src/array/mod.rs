//! What do functions of arrays and rows give?
//!
//! The forms of arrays and records as bytes, their order and operators; unnest, array_agg, generate_series.

mod form;
mod item;
pub mod packed;
pub mod record;
pub(crate) mod row_text;
pub(crate) mod text;

pub use form::{Array, Builder, Dim, MAX_DIMENSIONS, MAX_ITEMS};
pub use record::Record;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = &[];
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[];
