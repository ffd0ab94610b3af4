//! How does `onlap` of the package run what the binary runs?

use std::ffi::OsString;

use pyo3::prelude::*;

/// Does what the arguments say, of which the first is the program's name; the exit code. The process is the command's
/// from now on: its signals too.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| onlap_cli::run(arguments))
}
