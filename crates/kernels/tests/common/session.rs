//! A session of tests: it has memory, and knows nothing else but a moment and a threshold.

use onlap_kernels::{Datum, Session};
use onlap_pg::{Error, Oid, Result};

/// current_setting(text, bool)
const CURRENT_SETTING: Oid = 3294;

/// What it knows.
pub struct Quiet {
    now: i64,
    threshold: Option<String>,
}

/// One that knows nothing.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub static QUIET: Quiet = Quiet { now: 0, threshold: None };

impl Quiet {
    /// One whose statement began with its transaction, at this moment.
    #[allow(dead_code, reason = "not every file of tests needs it")]
    pub fn at(now: i64) -> Quiet {
        Quiet { now, threshold: None }
    }

    /// One in which every setting has this value.
    #[allow(dead_code, reason = "not every file of tests needs it")]
    pub fn with_threshold(threshold: String) -> Quiet {
        Quiet { now: 0, threshold: Some(threshold) }
    }
}

impl Session for Quiet {
    fn room(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn call(&self, function: Oid, _: &[Datum<'_>]) -> Result<Datum<'static>> {
        match (function, &self.threshold) {
            // get_current_ts_config: english, as the server that answers beside it has
            (3759, _) => Ok(Datum::Oid(13164)),
            (CURRENT_SETTING, Some(threshold)) => Ok(Datum::text(threshold.clone())),
            _ => Err(Error::new("0A000", format!("function {function} asks the session"))),
        }
    }
    fn clock(&self) -> i64 {
        self.now
    }
    fn statement_began(&self) -> i64 {
        self.now
    }
    fn random(&self) -> u64 {
        0x0123_4567_89ab_cdef
    }
}
