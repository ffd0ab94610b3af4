//! Is damage found, or harmless? And would the rig notice if checksums were ignored?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap::Rule;
use onlap_proofs::damage::{run_with, run_without};
use onlap_proofs::{DAMAGE, control, prove};

#[test]
fn two_thousand_corruptions() {
    let counts = prove(DAMAGE, "corruptions", 2000);
    assert!(counts.of("log files missing or others") >= 300 || std::env::var("ONLAP_SEED").is_ok());
    assert!(counts.of("detected") > counts.of("harmless") || std::env::var("ONLAP_SEED").is_ok());
}

/// Two files of one run, of one size, with one number of entries, had each other's names: rows came twice.
#[test]
fn files_of_one_run_are_told_apart() {
    run_with(112, |_, _, _| {}).unwrap();
}

/// Ends of the blocks of a file: each begins with the checksum of the rest of it.
fn blocks(bytes: &[u8], header: usize) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (Vec::new(), header);
    while at + 4 < bytes.len() {
        let sum = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let mut of_rest = 0;
        let end = (at + 4..bytes.len()).find(|&end| {
            of_rest = crc32c::crc32c_append(of_rest, &bytes[end..end + 1]);
            of_rest == sum
        });
        let Some(end) = end else { break };
        found.push((at, end + 1));
        at = end + 1;
    }
    found
}

/// As if the manifest did not say which log files there are.
#[test]
fn lost_log_files_are_found() {
    control("missing log files ignored", 20, |seed| run_without(seed, Rule::LogChain));
}

/// As if checksums were not looked at: those of damaged blocks are made to fit.
#[test]
fn ignored_checksums_are_found() {
    let conceal = |name: &str, intact: &[u8], bytes: &mut Vec<u8>| {
        if bytes.len() == intact.len() && (name.ends_with(".seg") || name.ends_with(".run")) {
            for (from, to) in blocks(intact, onlap_format::frame::HEADER_BYTES) {
                let sum = crc32c::crc32c(&bytes[from + 4..to]);
                bytes[from..from + 4].copy_from_slice(&sum.to_le_bytes());
            }
        }
    };
    control("checksums of blocks ignored", 20, |seed| run_with(seed, conceal));
}
