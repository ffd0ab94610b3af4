//! How much has the program's allocator handed out?
//!
//! A program whose allocator counts says so once, by [`install`]; in others, and in programs that the library is
//! part of, nothing is known. The numbers are bytes that were asked for and not given back: what the allocator
//! itself keeps is not among them, so they tell how memory grows rather than what the process takes.
//! Safe to share; asking costs some loads.

use std::sync::OnceLock;

/// An allocator's counters.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    /// Bytes of the whole process, give or take what threads have not told yet.
    pub process: fn() -> i64,
    /// Bytes that this thread has taken, less those that it has given back: below 0 where it frees what others
    /// took.
    pub thread: fn() -> i64,
    /// Gives back to the system what the program keeps and does not need: freed memory, code that ran once.
    pub give_back: fn(),
    /// Bytes that this thread has freed since it had most, or since it gave back.
    pub thread_freed: fn() -> i64,
    /// Gives back to the system the freed memory that this thread keeps for itself.
    pub thread_give_back: fn(),
}

static HEAP: OnceLock<Heap> = OnceLock::new();

/// Makes an allocator's counters known; the first one counts.
pub fn install(heap: Heap) {
    let _ = HEAP.set(heap);
}

/// Bytes that the process has of its allocator; `None` where it does not count.
pub fn process_bytes() -> Option<i64> {
    HEAP.get().map(|heap| (heap.process)())
}

/// Gives back to the system what the program keeps and does not need, where it can.
pub fn give_back() {
    if let Some(heap) = HEAP.get() {
        (heap.give_back)();
    }
}

/// Bytes that this thread has freed since it had most, or since it gave back; 0 where the allocator does not count.
pub fn thread_freed() -> i64 {
    let freed = HEAP.get().map_or(0, |heap| (heap.thread_freed)());
    debug_assert!(freed >= 0, "{freed} bytes");
    freed
}

/// Gives back to the system the freed memory that this thread keeps for itself, which no other thread could use.
pub fn thread_give_back() {
    if let Some(heap) = HEAP.get() {
        (heap.thread_give_back)();
    }
}

/// Bytes that this thread has taken, less those that it has given back.
pub fn thread_bytes() -> Option<i64> {
    HEAP.get().map(|heap| (heap.thread)())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(process: fn() -> i64) -> Heap {
        let nothing = || ();
        Heap {
            process,
            thread: || 2,
            give_back: nothing,
            thread_freed: || 3,
            thread_give_back: nothing,
        }
    }

    #[test]
    fn the_first_allocator_that_is_installed_is_asked() {
        assert_eq!((process_bytes(), thread_bytes(), thread_freed()), (None, None, 0));
        install(of(|| 1));
        install(of(|| 9));
        assert_eq!((process_bytes(), thread_bytes(), thread_freed()), (Some(1), Some(2), 3));
    }
}
