//! What is a timetz to kernels?

use std::cmp::Ordering;

use onlap_pg::value::timetz;

/// Microseconds from midnight, seconds west of UTC.
pub type Pair = (i64, i32);

/// The order of two values.
pub fn order(a: Pair, b: Pair) -> Ordering {
    value(a).cmp(&value(b))
}

fn value((time, west): Pair) -> timetz::TimeTz {
    timetz::TimeTz { time, west }
}
