//! Do conversations with the server go as with PostgreSQL 15?
//!
//! Most are held with a private PostgreSQL too (a Debian package), and what it says must be the same.

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

mod binary;
#[path = "../common/mod.rs"]
mod common;
mod copies;
mod portals;
mod signals;
mod texts;
mod warnings;
mod xml;
