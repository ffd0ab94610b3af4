//! Is a script answered as in a private PostgreSQL 15 (a Debian package)?

#[path = "beside.rs"]
mod beside;

pub use beside::compare as same;
