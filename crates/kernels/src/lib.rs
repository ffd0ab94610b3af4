//! What do PostgreSQL's functions, operators and aggregates calculate?
//!
//! A **kernel** is one row of pg_proc, carried out over columns ([`Kernel`]). It gets Arrow arrays and gives one. How values of
//! a type lie in an array is their representation ([`repr()`]); a value outside of columns is a [`Datum`]. [`find`] gives the
//! kernel of a function by its OID; what is not there is `0A000` to whoever builds a plan.
//!
//! Kernels know nothing of statements, plans, tables or sessions: what differs between sessions comes with [`Cx`]. Their
//! results are bounded before memory is taken for them ([`Cx::room`]), and they look at timeouts and cancellation
//! ([`Cx::go_on`]). Meaning is PostgreSQL 15's, exactly; a running one is the judge in the tests of each family.
//!
//! Thread safety: kernels are shared between threads; a [`Cx`] belongs to one.

#![forbid(unsafe_code)]

mod adapt;
mod cx;
mod datum;
mod io;
mod kernel;
mod key;
mod list;
mod made;
mod repr;
mod ty;

pub mod aggregate;
pub mod array;
mod extension;
pub mod gin;
pub mod json;
pub mod misc;
pub mod number;
pub mod range;
pub mod search;
pub mod series;
pub mod text;
pub mod time;
pub mod xml;

pub use adapt::{
    Of, Plain, check1, check2, each, four, map1, map2, none, one, test_texts, test2, three, two,
};
pub use cx::{Cx, Given, Session};
pub use datum::Datum;
pub use io::{input, output, recv, send};
pub use kernel::{Col, Entry, Kernel, Make, Types};
pub use key::{Comparer, compare, is_own_key, is_record, key, key_bytes, key_column, key_repr};
pub use list::{find, find_aggregate, find_series, signature};
pub use made::{Asking, Made};
pub use onlap_pg::{Error, Oid, Result, TypeRef};
pub use repr::{Repr, arrow_type, repr};
pub use ty::{
    Bool, Bytes, Char, Date, Fixed, Float4, Float8, Int2, Int4, Int8, Interval, Null, Num, OidTy,
    Text, Time, TimeTz, Timestamp, Ty, Uuid,
};
