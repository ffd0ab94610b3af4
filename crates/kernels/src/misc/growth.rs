//! How is memory asked for while a value grows?
//!
//! A loop that does not know the size of its result says how far it is, again and again; the session is asked only for what
//! was not taken yet, in steps. Thread safety: belongs to one call.

use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Result};

use crate::Cx;

/// Room is taken in steps of at least this.
const STEP: usize = 64 << 10;

/// What a growing value has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Growth {
    taken: usize,
}

impl Growth {
    /// Nothing yet.
    pub(crate) fn new() -> Growth {
        Growth::default()
    }

    /// Asks for what a value of a number of bytes takes beyond what was taken.
    ///
    /// # Errors
    /// `54000`: no value may be that long; `53200`.
    pub(crate) fn value(&mut self, cx: &Cx<'_>, bytes: usize) -> Result<()> {
        fits(bytes)?;
        self.memory(cx, bytes)
    }

    /// Likewise of memory that is no value.
    ///
    /// # Errors
    /// `53200`.
    pub(crate) fn memory(&mut self, cx: &Cx<'_>, bytes: usize) -> Result<()> {
        // What is small is part of the batch.
        if bytes < STEP || bytes <= self.taken {
            return Ok(());
        }
        let more = (bytes - self.taken).max(STEP);
        cx.session.room(more)?;
        self.taken += more;
        Ok(())
    }
}

/// Whether a value may be that long.
///
/// # Errors
/// `54000`.
pub(crate) fn fits(bytes: usize) -> Result<()> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(Error::new("54000", "requested length too large"))
}

/// Whether a text that is being put together, of `has` bytes, may get `more`; PostgreSQL's words.
///
/// # Errors
/// `54000`.
pub(crate) fn enlarged(has: usize, more: usize) -> Result<()> {
    if has.saturating_add(more) <= MAX_BYTES {
        return Ok(());
    }
    let text = format!("Cannot enlarge string buffer containing {has} bytes by {more} more bytes.");
    Err(Error::new("54000", "out of memory").detail(text))
}
