//! Do the tutorials give what they say?
//!
//! In each page of `docs/tutorials`, a fenced block `csv file=NAME` is a file, one of `sql` goes to `onlap shell` on the
//! page's directory, and one of `text` is what the block before it printed. Other blocks are for readers.

#![cfg(feature = "server")]
#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What stands behind the fence, and the block.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(kind), false) => {
                found.push((kind.trim().to_owned(), String::new()));
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let (_, block) = found.last_mut().expect("a block is open");
                block.push_str(line);
                block.push('\n');
            }
            (None, false) => {}
        }
    }
    found
}

/// What the shell prints.
fn shell(dir: &Path, statements: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_onlap"))
        .args(["shell", "./data"])
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(statements.as_bytes()).expect("it reads");
    drop(stdin);
    let out = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{statements}\n{told}");
    String::from_utf8(out.stdout).expect("texts are UTF-8")
}

fn follow(page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials").join(page);
    let text = std::fs::read_to_string(path).expect("the page is there");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut printed = String::new();
    let mut compared = 0;
    for (kind, block) in blocks(&text) {
        if let Some(name) = kind.strip_prefix("csv file=") {
            std::fs::write(dir.path().join(name), block).expect("it can be written");
        } else if kind == "sql" {
            printed = shell(dir.path(), &block);
        } else if kind == "text" {
            assert_eq!(printed, block, "{page}");
            compared += 1;
        }
    }
    assert!(compared > 0, "{page} shows answers");
}

#[test]
fn the_first_table() {
    follow("first-table.md");
}

#[test]
fn your_own_data() {
    follow("your-own-data.md");
}
