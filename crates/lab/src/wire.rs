//! How are servers measured that speak the PostgreSQL protocol?
//!
//! The lab starts a private server of its own, on a free port of loopback and in a directory of its own,
//! and stops it at the end: Onlap's (this binary) or PostgreSQL's (Debian's package). Both get the same
//! memory, the same durability and the same client code.

mod limit;
mod server;
mod sql;

pub(crate) use server::{Kind, Server, of_client};
pub(crate) use sql::{create_index, create_table, insert_text, row_text};
