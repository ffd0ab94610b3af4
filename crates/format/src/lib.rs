//! What do the bytes mean?
//!
//! Types and values, column batches, column encodings, blocks, runs, log records and manifest
//! edits: pure functions on bytes. This crate does no I/O, starts no threads and keeps no state.
//! Decoders never panic on damaged input (rule I8).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests stand outside the simulation"))]

pub mod activity;
pub mod affine;
pub mod batch;
pub mod blob;
pub mod block;
pub mod changes;
pub mod convert;
pub mod encode;
pub mod entries;
pub mod expr;
pub mod filter;
pub mod frame;
pub mod key;
pub mod log;
pub mod manifest;
pub mod marks;
pub mod run;
pub mod run_block;
pub mod samples;
pub mod schema;
pub mod segment;
pub mod span;
pub mod types;
pub mod value;
pub mod wire;
pub mod zone;

pub use batch::{Batch, BytesVec, Column, NullMask, Vector};
pub use expr::Expr;
pub use schema::{
    Action, CheckSchema, ColumnDefault, ColumnSchema, DERIVED_FIRST, DerivedSchema, Excludes,
    ForeignKeySchema, GeneratedSchema, Identity, IndexSchema, Judged, KeyPart, KeysKept,
    SequenceSchema, TableSchema, Time,
};
pub use types::{DataType, Physical};
pub use value::{Numeric, Row, Value};
