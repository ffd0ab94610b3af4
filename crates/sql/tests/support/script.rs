//! Is a script answered as in a private PostgreSQL 15 (a Debian package)?

#[path = "compared.rs"]
mod compared;

#[allow(unused_imports, reason = "not every file of tests needs both")]
pub use compared::{all_but_columns, compare as same};
