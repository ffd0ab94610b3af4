//! How are servers measured?
//!
//! The lab starts a private server of its own, on a free port or socket and in a directory of its own,
//! and stops it at the end: Onlap's (this binary), PostgreSQL's or MariaDB's (Debian's packages). All get the
//! same memory, the same durability and the same client code.

mod server;
mod session;
mod sql;

pub(crate) use server::{Kind, Server, ServerOptions};
pub(crate) use session::{Arg, Cell, Dialect, Session, is_retryable, number, of_client, time_text};
pub(crate) use sql::{create_index, create_table, insert_text, row_text, table_options};
