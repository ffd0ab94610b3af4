//! What does a statement give back while it waits for another session?
//!
//! Its queries' turns, and their place among those that run: the session that it waits for may need one. What they hold in
//! memory stays with them.
//!
//! Thread safety: one thread of a statement at a time.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::scope::Scope;

/// The turns that a statement's queries have, one within the other.
#[derive(Debug, Default)]
pub struct Turns(Mutex<Vec<OwnedSemaphorePermit>>);

impl Turns {
    /// A query has its turn until this is dropped.
    pub fn hold(&self, turn: OwnedSemaphorePermit) -> Turn<'_> {
        self.0.lock().push(turn);
        Turn(self)
    }
}

/// A query's turn.
#[derive(Debug)]
pub struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.0.lock().pop();
    }
}

impl Scope {
    /// Waits for another session, which may need what this one's queries have.
    pub fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        tokio::task::block_in_place(|| {
            let turns = std::mem::take(&mut *self.turns().0.lock());
            let all: Vec<Arc<Semaphore>> =
                turns.iter().map(|turn| Arc::clone(turn.semaphore())).collect();
            drop(turns);
            let running = self.running();
            let pause = running.as_ref().map(|running| running.pause());
            let waited = wait();
            drop(pause);
            for turns in all {
                let turn = Handle::current().block_on(turns.acquire_owned());
                self.turns().0.lock().push(turn.expect("turns are never closed"));
            }
            waited
        })
    }
}
