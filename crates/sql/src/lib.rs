//! What does a statement mean?
//!
//! SQL on top of the engine: parsing, name resolution, planning, execution in three tiers, DML, DDL,
//! settings, catalogs. An [`Instance`] is an open database with what its sessions share; a [`Session`] is
//! one client's state. Everything blocks the caller's thread, of which each session has its own; the
//! query planner's streams run on a runtime inside the instance.
//!
//! Must not know how bytes travel: messages are collected in a [`Reply`], and the server sends them.

mod error;
mod instance;
pub mod scram;
mod session;
mod wire;

pub use error::{Result, SqlError, state};
pub use instance::{Instance, Secret, SessionKey};
pub use session::{Session, SessionInfo, Waker};
pub use wire::{Client, CopyData, Field, Reply, RowWriter};
