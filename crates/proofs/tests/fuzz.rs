//! The decoders under bolero: each file of the corpus and inputs at random.
//!
//! `cargo test` runs bolero's own engine, on a stable compiler; a seed that it prints is replayed with
//! `BOLERO_RANDOM_SEED`. `cargo bolero test -p onlap-proofs --test fuzz NAME` runs one that looks at the code, where
//! cargo-bolero is installed. What they find goes into `__fuzz__/NAME/corpus`.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::decoders::{execute, names};

/// Inputs at random for each decoder, of which each is given to it three times.
const INPUTS: usize = 2000;
/// Longer ones than most files of the corpus.
const BYTES_MAX: usize = 4096;

macro_rules! fuzz {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                let check = bolero::check!(name = stringify!($name));
                check.with_iterations(INPUTS).with_max_len(BYTES_MAX).for_each(|bytes: &[u8]| {
                    execute(stringify!($name), bytes).unwrap_or_else(|finding| panic!("{finding}"));
                });
            }
        )*

        #[test]
        fn every_decoder_is_here() {
            assert_eq!(names().collect::<Vec<_>>(), [$(stringify!($name)),*]);
        }
    };
}

fuzz![
    block,
    column,
    blob_frame,
    segment_footer,
    trailer,
    run_block_flat,
    run_block_grouped,
    run_block_bytes,
    run_block_wide,
    run_footer,
    affine,
    filter,
    mark_block,
    dead_block,
    mark_footer,
    change_block,
    log,
    manifest,
    expression,
    text,
];
