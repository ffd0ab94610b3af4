//! How fast, how many bytes, against whom?
//!
//! Workloads, drivers of engines, measuring and reports. A client of the engine crate like any
//! other: it must not reach into storage. What it measures is the real machine, so time, threads
//! and files are the standard library's here, not those of the seams.

#![allow(clippy::disallowed_methods, reason = "the real machine is what is measured")]

pub mod bench;
pub mod campaign;
pub mod cleaner;
pub mod confine;
pub mod drivers;
pub mod engine;
pub mod figures;
pub mod generate;
pub mod measure;
pub mod names;
pub mod report;
#[cfg(feature = "wire")]
pub mod served;
pub mod sync;
pub mod trials;
pub mod units;
pub mod volume;
pub mod wear;
#[cfg(feature = "wire")]
mod wire;
pub mod workload;
