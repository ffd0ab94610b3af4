//! What do functions of json and jsonb give?
//!
//! jsonb is a tree in bytes ([`form`]), json a text kept as it was. Both are read by one reader; depth is limited, so that
//! whatever walks a value may do so by recursion. Thread safety: pure functions.

mod access;
mod compare;
mod edit;
pub mod form;
pub(crate) mod order;
pub(crate) mod read;
mod walk;
pub(crate) mod write;

pub use form::{Encoder, Items, Node, Pairs, node};

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[access::ENTRIES, compare::ENTRIES, edit::ENTRIES];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = &[];
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[];
