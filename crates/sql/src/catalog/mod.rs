//! What is there besides tables, and what are things called?
//!
//! The engine knows tables, indexes and sequences by one flat name each. SQL has databases and schemas
//! ([`names`]), and objects that the engine does not need: views, roles, defaults that are computed. These
//! are rows of a table of the engine ([`objects`]), so that they come and go with the transaction that
//! makes them.

pub mod aggregates;
pub mod bound;
pub mod called;
pub mod column_types;
pub mod extensions;
pub mod families;
pub mod frozen;
pub mod functions;
pub mod made_types;
pub mod names;
pub mod objects;
pub mod oids;
pub mod policies;
pub mod roles;
pub mod rules;
pub mod storage;
pub mod triggers;
pub mod view_options;

pub use names::{DEFAULT_DATABASE, Name};
pub use objects::{Kind, Objects};
