//! Do decoders survive bytes that nobody wrote?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::{DECODERS, prove};

#[test]
fn a_million_executions() {
    prove(DECODERS, "executions", 1_000_000);
}
