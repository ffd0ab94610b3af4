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

/// The error for a statement's end: ours as it was, others for the caller to name.
pub(crate) fn ours(error: DataFusionError) -> Error {
    match of_external(&error) {
        Some(error) => error.clone(),
        None => {
            let state = match error.find_root() {
                DataFusionError::ResourcesExhausted(_) => "53200",
                _ => "XX000",
            };
            Error::new(state, error.strip_backtrace())
        }
    }
}
