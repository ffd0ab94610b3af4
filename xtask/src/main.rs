//! Is the repository what its documents say?
//!
//! Chores that need no other tool: `cargo run -p xtask -- check` runs every check, `-- limits` writes
//! `docs/limits.md` anew, `-- compatibility` the table of `docs/compatibility.md`,
//! `-- catalog` PostgreSQL's facts for `crates/pg`, `-- proofs` that of `docs/proofs.md`,
//! `-- ratchets` what became better, `-- release` the files of a release.
//! Each check is a pure function of the files it is given and returns findings; only this file reads, writes and prints. Not part of any release.

#![allow(clippy::disallowed_methods, reason = "reads the repository, not a database")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod accepted;
mod catalog;
mod compatibility;
mod decisions;
mod functions;
mod layers;
mod limits;
mod lints;
mod paths;
mod proofs;
mod ratchets;
mod release;
mod site;
mod sources;
mod words;

/// A file of the repository: its path from the root, with `/` between the parts, and its text.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 3] = [".git", "target", "onlap-data"];

fn main() -> ExitCode {
    // Cargo says where it is now: a target directory may outlive the clone it was first used for.
    let manifest =
        std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&manifest).parent().expect("xtask lies in the root");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] => check(root),
        ["limits"] => write_limits(root),
        ["catalog", ref only @ ..] => catalog::write(root, only),
        ["compatibility"] => write(root, compatibility::PATH, compatibility::page),
        ["release"] => release::make(root, None),
        ["release", "--binary", binary] => release::make(root, Some(binary)),
        ["ratchets"] => write(root, ratchets::PATH, ratchets::page),
        ["proofs"] => write(root, proofs::PATH, |files| proofs::page(files).map_err(|e| vec![e])),
        _ => {
            eprintln!(
                "usage: cargo run -p xtask -- check | limits | catalog | compatibility | proofs | ratchets | release [--binary FILE]"
            );
            ExitCode::from(2)
        }
    }
}

fn write_limits(root: &Path) -> ExitCode {
    match std::fs::write(root.join(limits::PATH), limits::page()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("cannot write {}: {e}", limits::PATH);
            ExitCode::FAILURE
        }
    }
}

/// Writes a page anew that follows from other files.
fn write(
    root: &Path,
    path: &str,
    page: impl FnOnce(&[SourceFile]) -> Result<String, Vec<String>>,
) -> ExitCode {
    let (mut files, mut paths) = (Vec::new(), Vec::new());
    if let Err(e) = read_tree(root, root, &mut paths, &mut files) {
        eprintln!("cannot read the repository: {e}");
        return ExitCode::FAILURE;
    }
    let written = page(&files).and_then(|page| {
        std::fs::write(root.join(path), page).map_err(|e| vec![format!("cannot write {path}: {e}")])
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(findings) => {
            findings.iter().for_each(|finding| eprintln!("{finding}"));
            ExitCode::FAILURE
        }
    }
}

fn check(root: &Path) -> ExitCode {
    let mut files = Vec::new();
    let mut paths = Vec::new();
    if let Err(e) = read_tree(root, root, &mut paths, &mut files) {
        eprintln!("cannot read the repository: {e}");
        return ExitCode::FAILURE;
    }
    let checks = [
        ("layers follow ARCHITECTURE.md", layers::check(&files)),
        ("unsafe is forbidden where it can be", lints::check(&files)),
        ("docs/limits.md is generated", limits::check(&files)),
        ("docs/compatibility.md is generated", compatibility::check(&files)),
        ("docs/proofs.md adds up", proofs::check(&files)),
        ("decisions are listed", decisions::check(&files)),
        ("paths in Markdown exist", paths::check(&files, &paths)),
        ("the site of documents is whole", site::check(&files)),
        ("files are short", sources::check_lengths(&files)),
        ("modules say their question", sources::check_openings(&files)),
        ("ratchets hold", ratchets::check(&files)),
        ("nothing is left over", sources::check_leftovers(&files)),
        ("XX000 has two makers", sources::check_internal(&files)),
    ];
    let mut findings = 0;
    for (name, found) in &checks {
        println!("{} {name}", if found.is_empty() { "ok  " } else { "FAIL" });
        found.iter().for_each(|finding| println!("     {finding}"));
        findings += found.len();
    }
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Collects all paths, and the texts of the kinds of files that are checked.
fn read_tree(
    root: &Path,
    dir: &Path,
    paths: &mut Vec<String>,
    files: &mut Vec<SourceFile>,
) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for entry in entries {
        let inside = entry.strip_prefix(root).expect("the walk stays inside the root");
        let path = inside.to_string_lossy().into_owned();
        if entry.file_name().is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped)) {
            continue;
        }
        if entry.is_dir() {
            read_tree(root, &entry, paths, files)?;
        } else if matches!(
            entry.extension().and_then(|e| e.to_str()),
            Some("rs" | "md" | "toml" | "py" | "js" | "slt" | "jsonl" | "tsv")
        ) {
            files.push(SourceFile { path: path.clone(), text: std::fs::read_to_string(&entry)? });
        }
        paths.push(path);
    }
    Ok(())
}
