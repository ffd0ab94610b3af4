//! Placeholder.

pub mod memtable;
