//! Do indexes with several entries of a row name exactly the rows that have a key?
//!
//! The double makes the words of a text the keys of its row, and of a number whether it is high. Every way of rows into
//! and out of a table is taken; after each, at snapshots of different age, every word finds by the index the
//! rows that a scan finds, ranges and trees of predicates too, and a check finds nothing.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod build;
mod double;
mod edges;
mod follow;

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../support/mod.rs"]
mod support;
