//! What do functions of extensions give?
//!
//! citext, hstore, uuid-ossp, pg_trgm, and those of pgcrypto that are served. Functions of an extension that are only
//! another name for one of PostgreSQL's own are in [`SAME`].

mod citext;
mod crypto;
pub(crate) mod hstore;
mod identifiers;
pub(crate) mod trigram;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[
    citext::ENTRIES,
    citext::COMPARISONS,
    citext::PATTERNS,
    hstore::ENTRIES,
    hstore::COMPARISONS,
    crypto::ENTRIES,
    identifiers::ENTRIES,
    trigram::ENTRIES,
];

/// Functions that are carried out as another function is, whose values have the same representation.
pub const SAME: &[(&str, &str)] = citext::SAME;

/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = citext::AGGREGATES;

/// Functions that give sets.
pub const SERIES: &[&[SeriesEntry]] = &[citext::SERIES, hstore::SERIES];
