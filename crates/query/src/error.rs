//! How do errors pass through steps that are not ours?

use datafusion_common::DataFusionError;
use onlap_pg::Error;

/// Wraps an error so that it comes out of a plan as it went in.
pub fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The error that went in, if it was one of ours.
pub fn of_external(error: &DataFusionError) -> Option<&Error> {
    match error.find_root() {
        DataFusionError::External(inner) => inner.downcast_ref::<Error>(),
        _ => None,
    }
}

/// The error for a statement's end: ours as it was, and a library's as a defect where it is not one of memory.
pub(crate) fn ours(error: DataFusionError) -> Error {
    match of_external(&error) {
        Some(error) => error.clone(),
        None => match error.find_root() {
            DataFusionError::ResourcesExhausted(_) => Error::new("53200", error.strip_backtrace()),
            _ => Error::defect(error.strip_backtrace()),
        },
    }
}
