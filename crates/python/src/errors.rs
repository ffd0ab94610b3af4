//! Which exception is a failure?
//!
//! The classes are Python's (`onlap._errors`), chosen there by SQLSTATE.

use onlap_server::{Level, Log};
use onlap_sql::SqlError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The log of a process without a server: standard error.
pub fn note(error: &SqlError) {
    Log::stderr(Level::Error).severe(error);
}

/// The exception of a failure.
pub fn raised(py: Python<'_>, error: &SqlError) -> PyErr {
    if error.as_defect().is_some() {
        note(error);
    }
    let fields: Vec<(String, String)> = error
        .fields()
        .into_iter()
        .map(|(kind, text)| (char::from(kind).to_string(), text))
        .collect();
    of_fields(py, fields)
}

/// The exception of an error message's fields.
pub fn of_fields(py: Python<'_>, fields: Vec<(String, String)>) -> PyErr {
    let made = py
        .import("onlap._errors")
        .and_then(|module| module.getattr("of_fields"))
        .and_then(|make| make.call1((fields,)));
    made.map_or_else(|e| e, PyErr::from_value)
}

/// The engine's.
pub fn of_engine(py: Python<'_>, error: onlap::Error) -> PyErr {
    raised(py, &SqlError::from(error))
}

/// A failure with a SQLSTATE of this package's own.
pub fn new(py: Python<'_>, state: &'static str, text: &str) -> PyErr {
    raised(py, &SqlError::new(state, text))
}

/// A session's thread is not there any more.
pub fn ended() -> PyErr {
    PyRuntimeError::new_err("the session has ended: the database was closed, or its thread died")
}
