//! What does Python see of Onlap?
//!
//! The compiled half of the package: a database, its sessions and their rows, with Arrow's C interface at both ends. What
//! is nice to have around it is Python (`python/onlap`). A session works on a thread of its own; the Python thread that
//! waits for it has given up the interpreter, and looks whether the user interrupts.
//!
//! Must not know what SQL means. Free of `unsafe`: what crosses the C interface does so in `pyo3-arrow`. Thread safety:
//! everything may be called by any thread.

#![allow(
    clippy::disallowed_methods,
    reason = "the process is Python's: its threads and waits are none of the engine's"
)]

mod command;
mod convert;
mod core;
mod errors;
mod messages;
mod parameters;
mod rows;
mod session;
mod statistics;
mod worker;

use pyo3::prelude::*;

#[pymodule]
mod _onlap {
    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::core::Core;
    #[pymodule_export]
    use crate::rows::Rows;
    #[pymodule_export]
    use crate::session::Session;

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        use super::PyModuleMethods as _;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
