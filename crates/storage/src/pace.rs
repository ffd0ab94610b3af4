//! When may a piece of a file go to the device, and who learns how long it took?
//!
//! Files are written in spans ([`crate::file::FileWriter`]). Before each the writer asks a [`Pace`], which may let it
//! wait for more urgent ones, and tells it afterwards, so that the device's rate is known. The engine has one
//! that paces; [`Unpaced`] is its double.
//!
//! Must not know what devices can do. Thread safety: shared by all tasks that write files.

use crate::written::Purpose;

/// Lets spans of files be written.
pub trait Pace: Send + Sync {
    /// Most bytes of a span now: a multiple of [`onlap_vfs::ALIGN`].
    fn span_bytes(&self, purpose: Purpose) -> usize;

    /// Waits until a span, or a sync (of 0 bytes), may begin.
    fn begin(&self, purpose: Purpose);

    /// The span has ended, written or not.
    fn end(&self, purpose: Purpose, bytes: u64);
}

/// Lets everything go at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unpaced;

impl Pace for Unpaced {
    fn span_bytes(&self, _purpose: Purpose) -> usize {
        crate::file::WRITE_CHUNK_BYTES
    }

    fn begin(&self, _purpose: Purpose) {}

    fn end(&self, _purpose: Purpose, _bytes: u64) {}
}
