//! Is `unsafe` refused everywhere but where it is needed?
//!
//! The workspace forbids it, and a crate that inherits the workspace's lints cannot allow it again. The crates of
//! [`UNSAFE`] have a table of their own, which must have all other lints of the workspace. Pure.

use std::collections::BTreeSet;

use crate::SourceFile;

/// Crates that call the system, a library in C, or are an allocator.
const UNSAFE: [&str; 4] = ["cli", "lab", "process", "testkit"];

const FORBID: &str = "unsafe_code = \"forbid\"";

pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let Some(workspace) = files.iter().find(|file| file.path == "Cargo.toml") else {
        return vec!["Cargo.toml is missing".to_owned()];
    };
    let mut wanted = lints(&workspace.text, "workspace.lints.");
    let mut found = Vec::new();
    if !wanted.remove(&("rust".to_owned(), FORBID.to_owned())) {
        found.push(format!("Cargo.toml: [workspace.lints.rust] lacks `{FORBID}`"));
    }
    for file in files {
        let Some(name) = package(&file.path) else { continue };
        let inherits =
            lints(&file.text, "lints").contains(&(String::new(), "workspace = true".into()));
        if !UNSAFE.contains(&name) {
            if !inherits {
                found.push(format!("{}: `[lints] workspace = true` is missing", file.path));
            }
            continue;
        }
        let own = lints(&file.text, "lints.");
        found.extend(wanted.symmetric_difference(&own).map(|(group, lint)| {
            format!("{}: [lints.{group}] and the workspace differ in `{lint}`", file.path)
        }));
    }
    found
}

/// `base` for `crates/base/Cargo.toml`, `xtask` for `xtask/Cargo.toml`.
fn package(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    let name = folder.strip_prefix("crates/").unwrap_or(folder);
    (!name.contains('/')).then_some(name)
}

/// Lines of tables whose title begins so, each with the rest of its title.
fn lints(manifest: &str, prefix: &str) -> BTreeSet<(String, String)> {
    let mut group = None;
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(title) = line.strip_prefix('[') {
            group = title.trim_end_matches(']').strip_prefix(prefix).map(str::to_owned);
        } else if let Some(group) = &group
            && !line.is_empty()
            && !line.starts_with('#')
        {
            found.insert((group.clone(), line.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests;
