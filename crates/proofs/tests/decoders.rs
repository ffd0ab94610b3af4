//! Do decoders survive bytes that nobody wrote?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::decoders::{DecoderFault, names, run_with, takes_any};
use onlap_proofs::{DECODERS, control, prove};

#[test]
fn a_million_executions() {
    let counts = prove(DECODERS, "executions", 1_000_000);
    // Checksums that are made to fit let changed bytes in.
    assert!(counts.of("taken") > counts.of("executions") / 10, "{counts}");
}

#[test]
fn decoders_take_what_was_written() {
    for name in names() {
        assert!(takes_any(name).unwrap(), "{name} takes none of its corpus");
    }
}

#[test]
fn a_decoder_that_believes_a_length_is_found() {
    let found = control("a length", 2, |seed| run_with(DecoderFault::TrustsALength, seed));
    assert!(found.contains("panic"), "{found}");
}

#[test]
fn a_decoder_that_ignores_its_checksum_is_found() {
    let found = control("a checksum", 2, |seed| run_with(DecoderFault::IgnoresTheChecksum, seed));
    assert!(found.contains("in spite of its checksum"), "{found}");
}

#[test]
fn a_decoder_that_does_not_end_is_found() {
    let found = control("a loop", 1, |seed| run_with(DecoderFault::NeverEnds, seed));
    assert!(found.contains("has not ended"), "{found}");
}
