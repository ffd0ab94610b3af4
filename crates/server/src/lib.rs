//! Who is talking?
