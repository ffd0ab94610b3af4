//! What do all layers call things?
//!
//! Ids, row ids, commit numbers, limits with their derivations, file names, error kinds, the clock,
//! the random generator, the memory budget and the task scheduler seam. This crate knows nothing of
//! files, bytes on disk or tables; it depends on the standard library alone.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests stand outside the simulation"))]

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!(
    "Onlap runs on Linux on x86-64 and arm64 only: it needs direct I/O and 64-bit atomics"
);

pub mod clock;
pub mod defect;
pub mod error;
pub mod files;
pub mod ids;
pub mod limits;
pub mod lock_mode;
pub mod memory;
pub mod names;
pub mod pattern;
pub mod rng;
pub mod stop;
pub mod tasks;
pub mod times;

pub use clock::{Clock, ManualClock, SystemClock};
pub use defect::Defect;
pub use error::{Error, ErrorKind, OtherEnd, Result, Subject};
pub use ids::{
    ColumnId, Csn, FileId, ForeignKeyId, IndexId, PROVISIONAL_BASE, RowId, SequenceId, TableId,
};
pub use lock_mode::LockMode;
pub use memory::{Charge, Memory, Part};
pub use rng::Rng;
pub use tasks::{Event, SimTasks, TaskHandle, Tasks, ThreadTasks};
