//! Integers.

use onlap_pg::{Error, Result};

use crate::{Bool, Entry, Int4, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("int4pl(int4,int4)", |_| two::<Int4, Int4, Int4>(|a, b, _| fits4(a.checked_add(b)))),
    ("int4mi(int4,int4)", |_| two::<Int4, Int4, Int4>(|a, b, _| fits4(a.checked_sub(b)))),
    ("int4lt(int4,int4)", |_| two::<Int4, Int4, Bool>(|a, b, _| Ok(a < b))),
];

fn fits4(value: Option<i32>) -> Result<i32> {
    value.ok_or_else(|| Error::new("22003", "integer out of range"))
}
