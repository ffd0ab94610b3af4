//! What is on disk, and how does it reorganise?
//!
//! The immutable side: readers and writers of segments, runs and mark runs, the block cache, and
//! what keeps track of those files. A finished file is never modified (I5). This crate does not
//! know of memtables, transactions or the log's contents.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests stand outside the simulation"))]

pub mod asked;
pub mod backup;
pub mod cache;
pub mod compact;
pub mod context;
pub mod editor;
pub mod entry;
pub mod file;
pub mod files;
pub mod manifest;
pub mod marks;
pub mod merge;
pub mod pace;
pub mod run;
pub mod segment;
pub mod version;
pub mod written;

pub use context::StorageContext;
pub use editor::Editor;
pub use entry::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};
pub use marks::{MarkRun, MarkRunSpec, MarkRunWriter};
pub use run::{IndexShape, Run, RunCursor, RunFile, RunScan, RunSpec, RunWriter};
pub use segment::{Segment, SegmentScan, SegmentSpec, SegmentWriter};
pub use written::{Purpose, Written, WrittenReport};

#[cfg(test)]
mod testing;
