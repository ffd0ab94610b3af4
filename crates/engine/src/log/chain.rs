//! How is it known which log files there must be?
//!
//! A file's header names the file before it ([`onlap_format::log`]), so a file that goes missing is noticed by
//! the one behind it. The newest has none behind it: the manifest says that it was begun. Each file has a
//! stamp that no other has, in its own header, in that of the next one and in the manifest, so that a file of
//! another database or of another time is told apart.
//!
//! The manifest is told once per file, when the file is durable under its name and before the first commit in
//! it is acknowledged: one more sync per log file, none per commit. In mode `os`, which syncs nothing before
//! a power cut may come, it is told when the log is synced: a record that outlives its file would be taken
//! for damage. After a cut between the two the file is behind the newest one that the manifest knows, and
//! goes on from it or is void.
//!
//! To put a stamp of the next file into this one ahead of time, and have no record in the manifest, was
//! rejected: a file that was never begun looks like one that was lost.
//!
//! Thread safety: shared by the commit leader and those who sync; the manifest has a lock of its own.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use onlap_base::Result;
use onlap_base::clock::Clock;
use onlap_base::rng::splitmix;
use onlap_format::log::LogBegun;
use onlap_storage::version::Versions;

/// What makes log files known.
pub(crate) struct LogChain {
    versions: Arc<Versions>,
    clock: Arc<dyn Clock>,
    place: u64,
}

impl LogChain {
    pub(crate) fn new(versions: &Arc<Versions>, clock: &Arc<dyn Clock>, dir: &Path) -> LogChain {
        let mix = |mut sum: u64, byte: &u8| {
            sum ^= u64::from(*byte);
            splitmix(&mut sum)
        };
        let place = dir.as_os_str().as_bytes().iter().fold(0, mix);
        LogChain { versions: Arc::clone(versions), clock: Arc::clone(clock), place }
    }

    /// A stamp for a file: of when and where it was begun, and of what came before. Two are equal where all
    /// of that is, to the nanosecond, or by chance, once in 2^64.
    pub(crate) fn stamp(&self, file: u64, previous: u64) -> u64 {
        let (unix_us, ns) = (self.clock.unix_us() as u64, self.clock.monotonic_ns());
        let mix = |sum: u64, part: u64| splitmix(&mut (sum ^ part));
        [previous, file, unix_us, ns].into_iter().fold(self.place, mix).max(1)
    }

    /// Makes the manifest say that a file was begun; it and all before it are durable.
    ///
    /// # Errors
    /// `DiskFull` with nothing changed. After any other nothing is known about the manifest (I6).
    pub(crate) fn note(&self, begun: LogBegun) -> Result<()> {
        self.versions.log_begun(begun)
    }
}
