//! What did the work cost?
//!
//! Reads the process's and the machine's own counters; must know nothing of engines or workloads.
//! [`process`] has CPU time, memory and bytes written, [`rates`] the steadiness of a load and its
//! latencies, [`device`] what the disk itself can do, [`environment`] where all this was measured.
//!
//! Thread safety: readings are plain values; a [`rates::Recorder`] belongs to one thread.

pub mod device;
pub mod environment;
pub mod process;
pub mod rates;
