//! Is `docs/cli.md` what the flags say, and are completions and manual pages there?
//!
//! `ONLAP_BLESS=1` writes the page anew.

#![cfg(feature = "server")]
#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::path::Path;
use std::process::Command;

fn onlap(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_onlap")).args(args).output().expect("it was built");
    assert_eq!(out.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("texts are UTF-8")
}

#[test]
fn the_page_of_commands_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let text = onlap(&["reference"]);
    if std::env::var_os("ONLAP_BLESS").is_some() {
        std::fs::write(&path, &text).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let how = "ONLAP_BLESS=1 cargo test -p onlap-cli --test reference";
    assert!(page == text, "docs/cli.md is out of date: {how}");
}

#[test]
fn shells_get_completions_and_man_its_pages() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = onlap(&["completions", shell]);
        assert!(script.contains("restore") && script.contains("data-dir"), "{shell}");
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().to_str().expect("temporary paths are UTF-8");
    onlap(&["reference", "--man", path]);
    let page = std::fs::read_to_string(dir.path().join("onlap-serve.1")).expect("it was written");
    assert!(page.starts_with(".ie") && page.contains("memory"), "{page}");
    assert!(dir.path().join("onlap.1").exists() && dir.path().join("onlap-backup.1").exists());
}
