//! Who gives the binary its memory?
//!
//! mimalloc: memtables and merges free large blocks on other threads than those that took them, which
//! it is good at. It keeps freed memory for a second by default; at hundreds of megabytes per second
//! that is far more than the margin above `memory_limit` that users see, so it is told to hurry.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Options of mimalloc 3 by their place in `mi_option_t`.
const PURGE_DELAY: i32 = 15;
const PAGE_RECLAIM_ON_FREE: i32 = 35;

/// Milliseconds after which unused memory goes back to the system.
const DELAY_MS: i64 = 150;

unsafe extern "C" {
    fn mi_option_set(option: i32, value: std::ffi::c_long);
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
    // SAFETY: the allocator is linked in with this function, which stores a number and ignores options
    // that it does not know. No other thread runs yet.
    unsafe {
        mi_option_set(PURGE_DELAY, DELAY_MS);
        mi_option_set(PAGE_RECLAIM_ON_FREE, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn mi_option_get(option: i32) -> std::ffi::c_long;
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
