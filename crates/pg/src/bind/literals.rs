//! Is a text one of a type's?
//!
//! A literal is read where it is bound, so that an error is told with its place; what depends on settings or on the
//! time (dates, times, zones) is read where a statement is carried out, and so are types that have no reader here.

use crate::value::{boolean, bytea, float, int, numeric, uuid};
use crate::{Oid, Result};

/// Reads a text as this type's, for its error alone.
pub(super) fn check(oid: Oid, text: &str) -> Result<()> {
    match oid {
        16 => boolean::parse(text).map(drop),
        17 => bytea::parse(text).map(drop),
        20 => int::parse_int8(text).map(drop),
        21 => int::parse_int2(text).map(drop),
        23 => int::parse_int4(text).map(drop),
        26 => int::parse_oid(text).map(drop),
        700 => float::parse4(text).map(drop),
        701 => float::parse8(text).map(drop),
        1700 => numeric::Numeric::parse(text).map(drop),
        2950 => uuid::parse(text).map(drop),
        _ => Ok(()),
    }
}
