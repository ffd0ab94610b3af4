//! What do functions of json and jsonb give?
//!
//! jsonb is a tree in bytes ([`form`]), json a text kept as it was. Both are read by one reader; depth is limited, so that
//! whatever walks a value may do so by recursion. Thread safety: pure functions.

mod access;
mod at_path;
mod compare;
mod edit;
mod encode;
pub mod form;
mod gather;
mod make;
pub(crate) mod order;
pub(crate) mod path;
mod populate;
pub(crate) mod read;
mod rows;
mod series;
mod walk;
pub(crate) mod write;

pub use at_path::store_part;
pub(crate) use encode::shown;
pub use form::{Encoder, Items, Node, Pairs, node};
pub use populate::{Field, Source, populate, populate_set};
pub use rows::rows_of;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[
    access::ENTRIES,
    compare::ENTRIES,
    edit::ENTRIES,
    make::ENTRIES,
    path::ENTRIES,
    rows::ENTRIES,
];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = gather::AGGREGATES;
/// Functions that give sets.
pub const SERIES: &[&[SeriesEntry]] = &[series::SERIES, rows::SERIES];
