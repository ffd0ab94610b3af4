//! Do keys, rows, aggregates and sets of arrays and json give what PostgreSQL gives?
//!
//! What the calls of functions beside PostgreSQL cannot ask: the order of values by their keys, comparisons of rows, which
//! have no literals, aggregates over rows in groups that are saved and merged, and functions that give sets.

#![allow(clippy::disallowed_methods, reason = "a test reads and writes its own files")]

mod forms;
mod keys;
mod many;
mod oracle;
mod ours;
mod records;
mod rows;
#[path = "../common/session.rs"]
mod session;
