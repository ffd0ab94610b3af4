//! Who gives the binary its memory?
//!
//! mimalloc: memtables and merges free large blocks on other threads than those that took them, which
//! it is good at. It keeps freed memory for a second by default; at hundreds of megabytes per second
//! that is far more than the margin above `memory_limit` that users see, so it is told to hurry.
//!
//! Bytes are counted on their way, for [`onlap_base::memory::heap`]: each thread adds to a number of its own, and to
//! the process's when it has changed by [`FOLD`], and when it ends.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};

use mimalloc::MiMalloc;
use onlap_base::memory::heap::{self, Heap};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes by which a thread's number may differ from what it has told.
const FOLD: i64 = 64 << 10;

/// Bytes that all threads have told.
static TOLD: AtomicI64 = AtomicI64::new(0);

thread_local! {
    /// Bytes that this thread has, and how many of them it has told. Neither needs room of the allocator or a
    /// destructor, so both may be used while a thread begins and ends.
    static OWN: Cell<i64> = const { Cell::new(0) };
    static OWN_TOLD: Cell<i64> = const { Cell::new(NEVER) };
    /// The most that it had when it told, since it gave back last.
    static OWN_MOST: Cell<i64> = const { Cell::new(0) };
}

/// What a thread has told that has told nothing yet: so far from any number of bytes that it tells at once.
const NEVER: i64 = i64::MIN / 2;

/// What others may ask.
const COUNTERS: Heap = Heap {
    process: || TOLD.load(Ordering::Relaxed),
    thread: || OWN.get(),
    give_back,
    thread_freed: || (OWN_MOST.get() - OWN.get()).max(0),
    thread_give_back,
};

/// Gives back what the process keeps and does not need: freed memory, and code that ran once.
fn give_back() {
    // SAFETY: the allocator is linked in with this function, which any thread may call at any time.
    unsafe { mi_collect(true) };
    crate::code::give_back();
}

/// Gives back what this thread keeps of freed memory: mimalloc has pages for each thread.
fn thread_give_back() {
    OWN_MOST.set(OWN.get());
    // SAFETY: as above.
    unsafe { mi_collect(true) };
}

/// mimalloc, with bytes counted.
struct Counting;

fn count(bytes: i64) {
    let own = OWN.get() + bytes;
    OWN.set(own);
    if (own - OWN_TOLD.get()).abs() >= FOLD {
        tell(own);
    }
}

/// Adds what the thread has not told yet to the process's number.
fn tell(own: i64) {
    let told = match OWN_TOLD.get() {
        NEVER => {
            end::tell_at_end();
            0
        }
        told => told,
    };
    OWN_TOLD.set(own);
    OWN_MOST.set(OWN_MOST.get().max(own));
    TOLD.fetch_add(own - told, Ordering::Relaxed);
}

/// What a thread has not told when it ends. A destructor of a `thread_local` may need memory when it is registered,
/// and would come back here; a key of the system's threads needs none.
#[cfg(unix)]
mod end {
    use std::ffi::c_void;
    use std::sync::OnceLock;

    use super::{OWN, tell};

    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

    extern "C" fn ended(_: *mut c_void) {
        tell(OWN.get());
    }

    /// Makes the key, before other threads run.
    pub(super) fn begin() {
        KEY.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the function is there as long as the program, and touches nothing but numbers of its thread.
            (unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0).then_some(key)
        });
    }

    /// Has the thread tell the rest when it ends.
    pub(super) fn tell_at_end() {
        if let Some(Some(key)) = KEY.get() {
            // SAFETY: the key is one of this process; its value only says that there is something to do.
            unsafe { libc::pthread_setspecific(*key, std::ptr::dangling::<u8>().cast()) };
        }
    }
}

#[cfg(not(unix))]
mod end {
    pub(super) fn begin() {}
    pub(super) fn tell_at_end() {}
}

/// All that mimalloc gives is aligned so: what asks for no more needs not say it, and finds its block by fewer steps.
const ALWAYS_ALIGNED: usize = size_of::<usize>();

// SAFETY: memory comes from and goes to mimalloc unchanged; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        if layout.align() <= ALWAYS_ALIGNED {
            // SAFETY: any number of bytes may be asked for.
            return unsafe { mi_malloc(layout.size()) }.cast();
        }
        // SAFETY: the caller's promises are those of mimalloc.
        unsafe { MiMalloc.alloc(layout) }
    }
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        if layout.align() <= ALWAYS_ALIGNED {
            // SAFETY: as above.
            return unsafe { mi_zalloc(layout.size()) }.cast();
        }
        // SAFETY: as above.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }
    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(at, layout) }
    }
    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as above.
        unsafe { MiMalloc.realloc(at, layout, size) }
    }
}

/// Options of mimalloc 3 by their place in `mi_option_t`.
const PURGE_DELAY: i32 = 15;
const PAGE_RECLAIM_ON_FREE: i32 = 35;

/// Milliseconds after which unused memory goes back to the system.
const DELAY_MS: i64 = 150;

unsafe extern "C" {
    fn mi_malloc(bytes: usize) -> *mut c_void;
    fn mi_zalloc(bytes: usize) -> *mut c_void;
    fn mi_option_set(option: i32, value: std::ffi::c_long);
    fn mi_collect(force: bool);
}

/// Bytes of memory below which there are no huge pages.
#[cfg(target_os = "linux")]
const SMALL_MACHINE: u64 = 4 << 30;

/// Sets the allocator's options; the first thing that the process does.
pub fn configure() {
    #[cfg(target_os = "linux")]
    if onlap_base::memory::machine_bytes() < SMALL_MACHINE {
        // SAFETY: tells the kernel about pages that come from now on; a kernel that does not know it says so.
        unsafe {
            libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);
        }
    }
    end::begin();
    heap::install(COUNTERS);
    // SAFETY: the allocator is linked in with this function, which stores a number and ignores options
    // that it does not know. No other thread runs yet.
    unsafe {
        mi_option_set(PURGE_DELAY, DELAY_MS);
        mi_option_set(PAGE_RECLAIM_ON_FREE, 1);
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn mi_option_get(option: i32) -> std::ffi::c_long;
    }

    #[test]
    fn threads_that_end_leave_nothing_uncounted() {
        end::begin();
        let before = TOLD.load(Ordering::Relaxed);
        let mut held = Vec::new();
        for _ in 0..1000 {
            // Less than a thread tells while it runs.
            held.push(std::thread::spawn(|| vec![0_u8; 48 << 10]).join().expect("it ends"));
        }
        let counted = TOLD.load(Ordering::Relaxed) - before;
        // Other tests run meanwhile, and hold 16 MiB at most.
        assert!(counted > 30 << 20, "{counted} of {} bytes", held.len() * (48 << 10));
    }

    #[test]
    fn bytes_are_counted_by_thread_and_process() {
        heap::install(COUNTERS);
        let (thread, process) = (heap::thread_bytes(), heap::process_bytes());
        let mut held = vec![0_u8; 8 << 20];
        held.reserve_exact(8 << 20);
        let grown = heap::thread_bytes().zip(thread).map(|(now, then)| now - then);
        assert_eq!(grown, Some(16 << 20));
        // Other tests allocate as well, but not that much.
        let all = heap::process_bytes().zip(process).map(|(now, then)| now - then);
        assert!(all.is_some_and(|grown| grown > 12 << 20), "{all:?}");
        let elsewhere = std::thread::spawn(move || {
            drop(held);
            heap::thread_bytes()
        });
        let freed = elsewhere.join().expect("it does not panic");
        assert!(freed.is_some_and(|bytes| bytes < -(15 << 20)), "{freed:?}");
        assert!(heap::thread_bytes() > thread.map(|then| then + (15 << 20)));
    }

    #[test]
    fn a_thread_that_had_much_gives_back_once() {
        heap::install(COUNTERS);
        std::thread::spawn(|| {
            let held: Vec<Vec<u8>> = (0..1000).map(|_| vec![1; 4 << 10]).collect();
            assert!(heap::thread_freed() < 1 << 20, "it has what it has");
            drop(held);
            assert!(heap::thread_freed() > 3 << 20);
            heap::thread_give_back();
            assert!(heap::thread_freed() < 1 << 20);
        })
        .join()
        .expect("it does not panic");
    }

    #[test]
    fn options_are_those_that_are_meant() {
        // SAFETY: as above; reads a number.
        let get = |option| unsafe { mi_option_get(option) };
        // What mimalloc 3 begins with; another order of options would show here.
        assert_eq!((get(PURGE_DELAY), get(PAGE_RECLAIM_ON_FREE)), (1000, 0));
        configure();
        assert_eq!((get(PURGE_DELAY), get(PAGE_RECLAIM_ON_FREE)), (DELAY_MS, 1));
    }
}
