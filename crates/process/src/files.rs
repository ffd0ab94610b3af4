//! How many files may this process have open?
//!
//! A server has one per session, some per table and index, and those that queries spill to; the usual limit
//! of 1024 is soon reached. What the system allows at most is asked for, once, at the start.

/// Raises the soft limit to the hard one, where it is lower; what fails leaves it as it is.
pub fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write the structure that is passed, and nothing else.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0
            && limit.rlim_cur < limit.rlim_max
        {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
