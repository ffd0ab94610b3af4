//! What does the operator learn of a mistake of ours, and what its client?
//!
//! A [`Defect`] has an id. The client gets one sentence with it ([`Defect::sentence`]); the text of the part that failed, the
//! statement and its plan are for the log alone ([`Defect::report`]), which gets them once, whatever copies of the error
//! travel. A panic becomes a defect where a thread that serves a client catches it ([`Defect::of_panic`]); each catcher on
//! the way adds what it knows and lets the panic go on with the defect as its payload.
//!
//! Must not know who keeps a log. Thread safety: shared freely; what was said first stays.

use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::clock::{Clock, SystemClock};
use crate::limits::DEFECT_BYTES;
use crate::tasks::message_of;

/// A mistake of ours.
pub struct Defect {
    id: u32,
    text: String,
    at: Option<&'static Location<'static>>,
    statement: OnceLock<String>,
    plan: OnceLock<String>,
    is_told: AtomicBool,
}

impl Defect {
    /// One that was found at the place of the call.
    #[track_caller]
    pub fn new(text: impl Into<String>) -> Arc<Defect> {
        Defect::made(text.into(), Some(Location::caller()))
    }

    /// The one that a panic carries, or one of the panic's words: the process's own hook has told where it was.
    pub fn of_panic(panic: Box<dyn Any + Send>) -> Arc<Defect> {
        match panic.downcast::<Arc<Defect>>() {
            Ok(known) => *known,
            Err(panic) => Defect::made(format!("a panic: {}", message_of(&*panic)), None),
        }
    }

    fn made(text: String, at: Option<&'static Location<'static>>) -> Arc<Defect> {
        Arc::new(Defect {
            id: next_id(),
            text: bounded(text),
            at,
            statement: OnceLock::new(),
            plan: OnceLock::new(),
            is_told: AtomicBool::new(false),
        })
    }

    /// What the client may know.
    pub fn sentence(&self) -> String {
        format!("internal error {:08x}; the server's log has its details", self.id)
    }

    /// Says which statement was under way, where that is not known yet: `text` makes it, without passwords.
    pub fn within_statement(&self, text: impl FnOnce() -> String) {
        self.statement.get_or_init(|| bounded(text()));
    }

    /// Says which plan ran, where that is not known yet.
    pub fn within_plan(&self, plan: impl FnOnce() -> String) {
        self.plan.get_or_init(|| bounded(plan()));
    }

    /// All that is known, for the log: the first time that it is asked for.
    pub fn report(&self) -> Option<String> {
        match self.is_told.swap(true, Ordering::Relaxed) {
            true => None,
            false => Some(self.to_string()),
        }
    }
}

/// All that is known.
impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "internal error {:08x}: {}", self.id, self.text)?;
        if let Some(at) = self.at {
            write!(f, " ({}:{})", at.file(), at.line())?;
        }
        let more = [("statement", &self.statement), ("plan", &self.plan)];
        more.iter().try_for_each(|(name, text)| match text.get() {
            Some(text) => write!(f, "; {name}: {text}"),
            None => Ok(()),
        })
    }
}

impl fmt::Debug for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Defect {
    fn eq(&self, other: &Defect) -> bool {
        self.id == other.id
    }
}

impl Eq for Defect {}

/// Differs from all others of the process, and most likely from those of the processes before it.
fn next_id() -> u32 {
    static FIRST: OnceLock<u32> = OnceLock::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // The low bits alone change from start to start.
    let first = *FIRST.get_or_init(|| SystemClock.unix_us() as u32);
    spread(first.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// The finalizer of MurmurHash3 (Austin Appleby, public domain): each number has another result, and neighbours look unlike.
fn spread(mut n: u32) -> u32 {
    n = (n ^ (n >> 16)).wrapping_mul(0x85eb_ca6b);
    n = (n ^ (n >> 13)).wrapping_mul(0xc2b2_ae35);
    n ^ (n >> 16)
}

fn bounded(mut text: String) -> String {
    if text.len() > DEFECT_BYTES {
        text.truncate(text.floor_char_boundary(DEFECT_BYTES));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests;
