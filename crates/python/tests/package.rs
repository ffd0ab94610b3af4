//! Does the Python package do what its tests and its documentation say?
//!
//! Runs `crates/python/check` over the library that was built next to this test: the tests are Python's.

#![allow(clippy::disallowed_methods, reason = "a test of a program")]

use std::path::{Path, PathBuf};
use std::process::Command;

use onlap_testkit::programs;

/// Where `check` keeps its environment.
fn cache() -> PathBuf {
    let var = |name| std::env::var_os(name).map(PathBuf::from);
    var("ONLAP_PYTHON_CACHE").unwrap_or_else(|| {
        let home = || var("HOME").unwrap_or_else(|| "/tmp".into()).join(".cache");
        var("XDG_CACHE_HOME").unwrap_or_else(home).join("onlap-python")
    })
}

#[test]
fn tests_and_examples_of_the_package_pass() {
    let prepared = cache().join("needed").to_string_lossy().into_owned();
    if !programs::are_there(&[(&prepared, "crates/python/check prepare")]) {
        return;
    }
    let test = std::env::current_exe().expect("a test is a program");
    let library = test.with_file_name("libonlap_python.so");
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("check");
    let done = Command::new(check).arg("library").arg(&library).output().expect("bash is there");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&done.stdout), said(&done.stderr));
    assert!(done.status.success(), "{out}\n{err}");
    println!("{out}");
}
