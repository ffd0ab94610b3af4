//! Links the system's librocksdb for the feature `rocksdb`, after checking that its header declares
//! every function that the binding declares, with as many parameters.

#![allow(clippy::disallowed_methods, reason = "a build script has no seams")]

use std::path::Path;
use std::{env, fs};

const BINDING: &str = "src/drivers/rocksdb/ffi.rs";
const HEADER: &str = "/usr/include/rocksdb/c.h";

fn main() {
    println!("cargo:rerun-if-changed={BINDING}");
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_ROCKSDB").is_none() {
        return;
    }
    println!("cargo:rerun-if-changed={HEADER}");
    let binding = fs::read_to_string(BINDING).expect("the binding is part of this crate");
    assert!(
        Path::new(HEADER).exists(),
        "feature rocksdb needs {HEADER}; on Debian: apt-get install librocksdb-dev"
    );
    let header = fs::read_to_string(HEADER).expect("the header was just found");
    let mut checked = 0;
    for (at, _) in binding.match_indices("fn rocksdb_") {
        let (name, parameters) = declaration(&binding[at + 3..]);
        let declared = header
            .match_indices(&format!("{name}("))
            .map(|(at, _)| declaration(&header[at..]))
            .find(|(declared, _)| *declared == name);
        let Some((_, expected)) = declared else { panic!("{HEADER} has no {name}") };
        assert_eq!(
            parameters, expected,
            "number of parameters of {name} in {BINDING} and {HEADER}"
        );
        checked += 1;
    }
    assert!(checked > 0, "no function found in {BINDING}");
    println!("cargo:rustc-link-lib=rocksdb");
}

/// Name and number of parameters of a declaration that begins with its name.
fn declaration(text: &str) -> (&str, usize) {
    let open = text.find('(').expect("a declaration has parameters");
    let close = open + text[open..].find(')').expect("a parameter list ends");
    let list = text[open + 1..close].trim().trim_end_matches(',');
    let parameters = if list.is_empty() || list == "void" { 0 } else { list.split(',').count() };
    (text[..open].trim(), parameters)
}
