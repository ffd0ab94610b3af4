//! What is inside the binary?
//!
//! A CycloneDX document (1.5, JSON) of every package that is compiled into it: name, version, licence. `cargo tree` says
//! which those are, with the features that the binary is built with; packages that only tests or the build need are left
//! out. Pure.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// How `cargo tree` is to print a package: its name and version, and its licence.
pub(crate) const FORMAT: &str = "{p}|{l}";

/// The document of the program whose packages these are, the program's own first.
pub(crate) fn document(tree: &str) -> Result<String, String> {
    let mut lines = tree.lines().filter(|line| !line.is_empty());
    let program = component(lines.next().ok_or("the tree has no package")?)?;
    let others: BTreeSet<&str> = lines.map(|line| line.trim_end_matches(" (*)")).collect();
    let components = others.into_iter().map(component).collect::<Result<Vec<_>, _>>()?;
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": program },
        "components": components,
    });
    Ok(format!("{document:#}\n"))
}

/// Of `name v1.2.3 (where)|licence`.
fn component(line: &str) -> Result<Value, String> {
    let (package, license) = line.split_once('|').ok_or_else(|| format!("no package: {line}"))?;
    let mut words = package.split(' ');
    let name = words.next().unwrap_or_default();
    let version = words.next().and_then(|word| word.strip_prefix('v'));
    let version = version.ok_or_else(|| format!("no version: {line}"))?;
    let mut component = json!({
        "type": "library",
        "name": name,
        "version": version,
        "purl": format!("pkg:cargo/{name}@{version}"),
    });
    if !license.is_empty() {
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    Ok(component)
}

#[cfg(test)]
mod tests;
