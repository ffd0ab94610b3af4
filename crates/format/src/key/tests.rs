//! The order of keys against the order of values.

/// Compares bytes with `tests/golden/NAME.bin`. With `ONLAP_GOLDEN=write` in the environment the file
/// is written instead: for a new format only, never to make a test pass.
pub(crate) fn compare_golden(name: &str, bytes: &[u8]) {
    let path = format!("{}/tests/golden/{name}.bin", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("ONLAP_GOLDEN").is_some_and(|v| v == "write") {
        std::fs::write(&path, bytes).expect("the golden folder is writable");
    }
    let golden = std::fs::read(&path).expect("the golden file is in the repository");
    assert!(golden == bytes, "{path} differs from what is encoded now");
}
