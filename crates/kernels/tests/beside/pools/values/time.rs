//! Values for functions of dates and times that the general ones do not test well.

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc};

/// Texts of values for an argument, if the general ones do not do.
pub fn pool(_: &Catalog, _: &Proc, _: usize, _: Oid) -> Option<&'static [&'static str]> {
    None
}
