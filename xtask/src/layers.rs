//! Do the crates depend on each other as ARCHITECTURE.md says?
//!
//! The document is the source: its table with the columns `crate` … `may depend on` lists for every
//! folder under `crates/` the folders it may name in `[dependencies]`. Test-only dependencies may also
//! name `testkit`, and nothing else that the table does not allow. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::SourceFile;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// What a crate may depend on, by folder name.
type Layers = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let Some(document) = files.iter().find(|file| file.path == DOCUMENT) else {
        return vec![format!("{DOCUMENT} is missing")];
    };
    let layers = table(&document.text);
    if layers.is_empty() {
        return vec![format!("{DOCUMENT} has no table with `crate` and `may depend on`")];
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for file in files {
        let Some(name) = crate_of(&file.path) else { continue };
        seen.insert(name.to_owned());
        match layers.get(name) {
            Some(allowed) => found.extend(violations(name, &file.text, allowed)),
            None => found.push(format!("{DOCUMENT}: the table lacks crate `{name}`")),
        }
    }
    for name in layers.keys().filter(|name| !seen.contains(*name)) {
        found.push(format!("{DOCUMENT}: there is no crate `{name}`"));
    }
    for (name, below) in &layers {
        for other in below.iter().filter(|other| !layers.contains_key(*other)) {
            found.push(format!("{DOCUMENT}: `{name}` may depend on `{other}`, which is no crate"));
        }
    }
    found.extend(circle(&layers));
    found
}

/// `base` for `crates/base/Cargo.toml`.
fn crate_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!name.contains('/')).then_some(name)
}

/// Reads the layer table; empty when there is none.
fn table(text: &str) -> Layers {
    let mut layers = Layers::new();
    let mut inside = false;
    for line in text.lines() {
        let cells: Vec<&str> = match line.trim().strip_prefix('|') {
            Some(row) => row.trim_end_matches('|').split('|').map(str::trim).collect(),
            None => {
                inside = false;
                continue;
            }
        };
        let (first, last) = (cells[0], cells[cells.len() - 1]);
        if first == "crate" && last == "may depend on" {
            inside = true;
        } else if inside && !first.starts_with("---") {
            let below = last.split(',').map(plain).filter(|name| name != "std").collect();
            layers.insert(plain(first), below);
        }
    }
    layers
}

fn plain(cell: &str) -> String {
    cell.trim().trim_matches('`').to_owned()
}

fn violations(name: &str, manifest: &str, allowed: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut section = "";
    for line in manifest.lines().map(str::trim) {
        if let Some(title) = line.strip_prefix('[') {
            section = title.trim_end_matches(']');
            continue;
        }
        let for_tests = match section {
            "dependencies" | "build-dependencies" => false,
            "dev-dependencies" => true,
            _ => continue,
        };
        let Some(other) = ours(line) else { continue };
        if !(allowed.contains(other) || for_tests && (other == "testkit" || other == name)) {
            found.push(format!("crates/{name}/Cargo.toml: `{name}` must not depend on `{other}`"));
        }
    }
    found
}

/// The folder of the crate that a dependency line names, if it is one of ours.
fn ours(line: &str) -> Option<&str> {
    let package = line.split(['.', '=', ' ']).next()?;
    match package {
        "onlap" => Some("engine"),
        _ => package.strip_prefix("onlap-"),
    }
}

/// A crate that the table lets depend on itself by way of others.
fn circle(layers: &Layers) -> Option<String> {
    let mut free: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = free.len();
        for (name, below) in layers {
            if below.iter().all(|other| free.contains(other.as_str())) {
                free.insert(name);
            }
        }
        if free.len() == before {
            break;
        }
    }
    let stuck: Vec<&String> = layers.keys().filter(|name| !free.contains(name.as_str())).collect();
    (!stuck.is_empty()).then(|| format!("{DOCUMENT}: arrows must point down, but not in {stuck:?}"))
}

#[cfg(test)]
mod tests;
