//! What does a statement mean in PostgreSQL?
//!
//! PostgreSQL 15 is the judge of everything here: how a text is read ([`grammar`], [`ast`]), which types, operators, casts
//! and functions there are and which of them a call means ([`catalog`], [`resolve`]), and what values are, how they
//! are written, and which of them are equal ([`value`]). [`bind`] makes of a statement's tree what it means, name by name and
//! type by type ([`bound`]), and [`mod@print`] writes that as SQL. The tests of each room compare it with a running PostgreSQL.
//!
//! Tables are what a [`bind::Schema`] says. The crate knows nothing of storage or of how a query is carried out. Everything
//! is a pure function of its arguments; there are no threads and no I/O.

#![forbid(unsafe_code)]

pub mod ast;
pub mod bind;
pub mod bound;
pub mod catalog;
mod error;
pub mod grammar;
pub mod print;
pub mod reach;
pub mod resolve;
pub mod value;

pub use error::{About, Error, Result, worked};

/// A number by which PostgreSQL's catalogs name a type, an operator, a function.
pub type Oid = u32;

/// A type with its modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeRef {
    /// Its row of pg_type.
    pub oid: Oid,
    /// Length, or precision and scale, as pg_attribute.atttypmod has it; -1 for none.
    pub modifier: i32,
}

impl TypeRef {
    /// A type without a modifier.
    pub const fn new(oid: Oid) -> TypeRef {
        TypeRef { oid, modifier: -1 }
    }
}
