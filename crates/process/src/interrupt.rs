//! Has the user pressed Ctrl-C?
//!
//! The first Ctrl-C (or SIGTERM) asks the running work to end and clean up; the second ends the
//! process at once. Both end with exit code 130.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Exit code of an interrupted process, as shells have it.
const EXIT_INTERRUPTED: i32 = 130;

/// Is set by the first Ctrl-C.
pub fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Whether it is set.
pub fn requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Whether it was set; it is not any more.
pub fn take() -> bool {
    INTERRUPTED.swap(false, Ordering::Relaxed)
}

extern "C" fn on_signal(_signal: libc::c_int) {
    if INTERRUPTED.swap(true, Ordering::Relaxed) {
        // SAFETY: _exit may be called in a signal handler.
        unsafe { libc::_exit(EXIT_INTERRUPTED) }
    }
}

/// Catches the signals.
pub fn install() {
    let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler touches an atomic and calls _exit, both allowed in a handler.
        unsafe { libc::signal(signal, handler) };
    }
}
