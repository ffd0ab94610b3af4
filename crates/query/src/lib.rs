//! How does a bound query become rows?
//!
//! `compile` turns a query of a `Bound` tree into an `ExecutionPlan`: steps of DataFusion for joins, aggregation and
//! sorting, steps of our own (`step`) for the rest, over columns in the representations of `onlap_kernels`. Expressions
//! are `node`s that call kernels. Nothing here looks up a name or converts a type: both are done when a plan is made.
//!
//! What the plan reads comes from [`Tables`]; what differs between sessions comes with [`Env`]. Every subquery is carried
//! out once per distinct set of the outer values that it uses ([`apply`]); that is always right, and nothing else is needed.
//!
//! Thread safety: a plan is made by one thread and run once; its steps may run on any thread, one at a time.

#![forbid(unsafe_code)]

mod aggregates;
mod apply;
mod asked;
mod build;
mod carried;
mod change;
mod collation;
mod columns;
mod compile;
mod condition;
mod containers;
mod counted;
mod custom;
mod distinct;
mod effects;
mod entries;
mod env;
mod error;
mod estimates;
mod fields;
mod filter;
mod frames;
mod functions;
mod group;
mod group_parts;
mod group_sets;
mod hypothetical;
mod implied;
mod joins;
mod keyed;
mod keys;
mod layout;
mod lists;
mod locks;
mod logic;
mod made;
mod matched;
mod members;
mod membership;
mod node;
mod ordered;
mod outside;
mod over;
mod parts;
mod physical;
mod picked;
mod recursion;
mod restrictions;
mod running;
mod saved;
mod semi;
mod series;
mod sets;
mod shared;
mod sifted;
mod sorted;
mod spread;
mod step;
mod subscripts;
mod ties;
mod totals;
mod values;
mod volatile;
mod windows;
mod within;

pub use build::{Output, OutputColumn, compile};
pub use carried::{Carried, parts};
pub use change::{Change, Checks, RowExprs, Source, Taken, Update, Whole, compile_change};
pub use columns::field;
pub use condition::{Condition, Formula, Keys, literal_value, value};
pub use env::{
    COMMANDS, CTID, Derived, ENDED, Env, Facts, Keyed, Locker, Order, ROW_ID, Read, Restriction,
    RestrictionKind, Scanned, TABLE_OID, Tables, Trees, VERSION, Values, View, Wanted,
};
pub use error::{external, of_external};
pub use estimates::{Estimate, estimate};
pub use implied::implies;
pub use node::{Node, Rows};
pub use sifted::Sifted;
pub use sorted::Spilled;
pub use step::{Detail, Step, stream_of};
