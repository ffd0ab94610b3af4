//! What does a statement mean?
//!
//! SQL on top of the engine: parsing, name resolution, planning, execution in three tiers, DML, DDL,
//! settings, catalogs. An [`Instance`] is an open database with what its sessions share; a [`Session`] is
//! one client's state. Everything blocks the caller's thread, of which each session has its own; the
//! queries' streams run on a runtime inside the instance.
//!
//! Must not know how bytes travel: messages are collected in a [`Reply`], and the server sends them.

mod assign;
mod between;
mod calls;
mod catalog;
mod change;
pub mod columnar;
mod columns;
mod commands;
mod copy;
mod counts;
mod ddl;
mod deep;
mod encoding;
mod error;
mod exported;
mod fast;
mod formulas;
mod functions;
mod instance;
mod parse;
mod plan;
mod progress;
mod query;
mod rights;
mod routine;
mod scope;
pub mod scram;
mod secrets;
mod session;
pub mod settings;
mod settings_sql;
pub mod shards;
mod source;
mod system;
mod types;
mod view;
mod waits;
mod wire;

pub use encoding::Encoding;
pub use error::{Result, SqlError, state};
pub use formulas::attach;
pub use instance::{Instance, Secret, SessionKey};
#[doc(hidden)]
pub use plan::defects::{Fault, PLANTED};
pub use secrets::without_passwords;
pub use session::{Columns, Fetched, Session, SessionInfo, Waker};
pub use wire::{Client, CopyData, Field, Reply, RowWriter};

/// What server_version says, and the first word of version(): clients ask for PostgreSQL's.
pub const SERVER_VERSION: &str = "15.0";

/// What version() says: PostgreSQL's first, for clients that look for it, then our own.
pub fn version() -> String {
    format!("PostgreSQL {SERVER_VERSION} (Onlap {})", env!("CARGO_PKG_VERSION"))
}
