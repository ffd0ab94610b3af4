//! How are committed examples of a format compared?
//!
//! `tests/golden/NAME.bin` is what a release wrote. An encoder that writes anything else changes the
//! format: it takes a new version number, and the old file stays to be read. With `ONLAP_BLESS` set
//! the files are written instead of compared.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::path::Path;

/// What an older release wrote.
#[allow(dead_code, reason = "not every format has an older version")]
pub fn read(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read(&path).expect("the golden file is committed")
}

/// Compares `bytes` with the golden file `name`.
pub fn check(name: &str, bytes: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("ONLAP_BLESS").is_some() {
        std::fs::write(&path, bytes).expect("the golden file can be written");
    }
    let golden = std::fs::read(&path).expect("the golden file is committed");
    assert!(golden == bytes, "{name} differs from what the encoder writes now");
}
