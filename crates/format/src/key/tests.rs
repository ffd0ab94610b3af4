//! The order of keys against the order of values.
