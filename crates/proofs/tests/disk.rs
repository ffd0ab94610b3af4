//! Do databases survive disks without room, and without speed?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::{FULL, SLOW, prove};

#[test]
fn a_hundred_fill_cycles() {
    prove(FULL, "fill cycles", 100);
}

#[test]
fn minutes_on_a_slow_disk() {
    prove(SLOW, "seconds on a slow disk", 240);
}
