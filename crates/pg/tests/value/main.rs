//! Are Onlap's values PostgreSQL's: read, written, sent, compared and calculated with alike?
//!
//! `cases.tsv` holds edge cases with PostgreSQL 15's answers; they run without one. With one beside it, the same cases
//! and thousands of seeded random ones are asked there; `ONLAP_RECORD=1` writes the file's answers anew.

#![allow(clippy::disallowed_methods, reason = "a test reads and writes its own files")]

mod bytes;
mod case;
mod cases;
mod intervals;
mod moments;
mod oracle;
mod order;
mod random;
