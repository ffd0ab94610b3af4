//! Is a script answered as in a private PostgreSQL 15 (a Debian package)?

#[path = "beside.rs"]
mod beside;

#[allow(unused_imports, reason = "not every file of tests needs both")]
pub use beside::{all_but_columns, compare as same};
