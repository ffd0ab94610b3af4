//! What does the log learn of a statement that met a defect?
//!
//! Its text, without passwords: [`Session::watched`] adds it to errors and to panics, which go on with it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::Defect;

use super::{Portal, Prepared, Session};
use crate::error::{Result, SqlError};
use crate::parse;

/// deadlock_detected.
const DEADLOCK: &str = "40P01";

/// Makes the text of the statement under way.
pub(super) trait Text: FnOnce() -> String {}

impl<F: FnOnce() -> String> Text for F {}

/// A text as the log has it.
pub(super) fn shown(sql: &str) -> String {
    parse::shown(sql).to_string()
}

/// The statement of a portal, if there is one.
pub(super) fn of_portal(portal: Option<&Portal>) -> impl Text + use<> {
    of_prepared(portal.map(|portal| Arc::clone(&portal.prepared)))
}

/// A prepared statement.
pub(super) fn of_prepared(prepared: Option<Arc<Prepared>>) -> impl Text {
    move || {
        let parsed = prepared.as_ref().and_then(|prepared| prepared.parsed.as_ref());
        parsed.map_or_else(String::new, |parsed| parsed.shown().to_string())
    }
}

/// The error, which knows its statement where it is a mistake of ours.
pub(super) fn told(error: SqlError, text: impl Text) -> SqlError {
    if let Some(defect) = error.as_defect() {
        defect.within_statement(text);
    }
    error
}

impl Session {
    /// Runs what a client has asked for.
    ///
    /// # Errors
    /// Those of `run`.
    pub(super) fn watched<T>(
        &mut self,
        text: impl Text,
        run: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        match catch_unwind(AssertUnwindSafe(|| run(self))) {
            Ok(result) => {
                if result.as_ref().is_err_and(|e| e.state() == DEADLOCK) {
                    self.between.counts().deadlocks.fetch_add(1, Ordering::Relaxed);
                }
                result.map_err(|e| told(e, text))
            }
            Err(panic) => {
                let defect = Defect::of_panic(panic);
                defect.within_statement(text);
                resume_unwind(Box::new(defect))
            }
        }
    }
}
