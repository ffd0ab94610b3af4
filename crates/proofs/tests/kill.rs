//! Is everything acknowledged there after `kill -9`?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::path::Path;

use onlap_proofs::kill::run_with;

#[test]
fn thirty_kills() {
    let program = Path::new(env!("CARGO_BIN_EXE_onlap-proofs"));
    for seed in 0..3 {
        let counts = run_with(program, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        println!("kill: {counts}");
    }
}
