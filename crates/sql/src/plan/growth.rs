//! How much memory has this thread's statement taken?
//!
//! A statement runs on its session's thread, but for what a plan hands to others. What the thread has of the
//! allocator at the statement's begin is noted, and what it has more later is the statement's. Where the allocator
//! does not count, and on other threads, that is nothing.

use std::cell::Cell;

use onlap_base::memory::heap;

thread_local! {
    static BEGAN: Cell<Option<i64>> = const { Cell::new(None) };
}

/// A statement begins on this thread.
pub fn begin() {
    BEGAN.set(heap::thread_bytes());
}

/// Bytes that the thread has more than when its statement began.
pub fn bytes() -> u64 {
    let grown = BEGAN.get().and_then(|began| Some(heap::thread_bytes()? - began));
    grown.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}
