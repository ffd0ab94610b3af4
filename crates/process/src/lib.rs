//! What does a program of ours do to its own process?
//!
//! Its allocator, its signals, its limit of open files, the pages of its code, its exit code. For programs, never for
//! libraries: another program that embeds the engine decides all of this itself. Everything here may be
//! called by any thread; [`allocator::configure`] and [`interrupt::install`] are the first things that a program does.

#![allow(clippy::disallowed_methods, reason = "the process is the machine's, not the simulation's")]

pub mod allocator;
pub mod code;
pub mod exit;
pub mod files;
pub mod interrupt;
