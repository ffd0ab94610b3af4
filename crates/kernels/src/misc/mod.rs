//! What do functions of the system give?
//!
//! Those that ask the session or the catalogs go through [`crate::Session::call`]; network addresses.

mod address;
mod called;
pub(crate) mod enums;
pub(crate) mod gather;
pub(crate) mod geometric;
pub(crate) mod growth;
pub(crate) mod io;
pub(crate) mod lsn;
mod mac;
mod named;
pub(crate) mod net;
pub(crate) mod rows;
mod session;
mod shapes;
mod types;
mod versions;
mod words;

pub use called::{MadeCall, made_kernel, made_series};
pub use session::asks_session;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[
    session::ENTRIES,
    types::ENTRIES,
    address::ENTRIES,
    enums::ENTRIES,
    versions::ENTRIES,
    lsn::ENTRIES,
    shapes::ENTRIES,
    shapes::SIZES,
];
/// Aggregates.
pub const AGGREGATES: &[&[AggregateEntry]] =
    &[address::AGGREGATES, enums::AGGREGATES, lsn::AGGREGATES, versions::AGGREGATES];
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = session::SERIES;
