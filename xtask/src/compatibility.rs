//! Is the table in `docs/compatibility.md` what the logic tests prove?
//!
//! A record of a script in `crates/sql/testdata` proves a feature by a comment above it: `# feature:
//! SELECT | DISTINCT ON` says what the table calls it, and the record how it stands: supported where it
//! succeeds, an error where it has to fail. `# ignored: INDEX | CONCURRENTLY` is a record that succeeds
//! without effect. A second place has what the comparing tests accept ([`crate::accepted`]). The check compares both
//! byte for byte; the prose around them is written by hand. Pure.

use std::fmt::Write as _;

use crate::{SourceFile, accepted};

pub(crate) const PATH: &str = "docs/compatibility.md";

const SCRIPTS: &str = "crates/sql/testdata/";
const BEGIN: &str = "<!-- written by `cargo run -p xtask -- compatibility` -->\n";
const END: &str = "<!-- end of what is written -->\n";
const ACCEPTED: &str = "<!-- what is accepted, by `cargo run -p xtask -- compatibility` -->\n";

/// How a feature stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Supported,
    Ignored,
    Error,
}

/// A feature that a record proves.
#[derive(Debug, PartialEq, Eq)]
struct Feature {
    statement: String,
    name: String,
    standing: Standing,
}

pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let stale = format!("{PATH} is out of date: run `cargo run -p xtask -- compatibility`");
    let Some(file) = files.iter().find(|file| file.path == PATH) else { return vec![stale] };
    match page(files) {
        Ok(page) if page == file.text => Vec::new(),
        Ok(_) => vec![stale],
        Err(findings) => findings,
    }
}

/// The whole page, its table new; or what is wrong with the scripts.
pub(crate) fn page(files: &[SourceFile]) -> Result<String, Vec<String>> {
    let mut features = Vec::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| f.path.starts_with(SCRIPTS) && f.path.ends_with(".slt")) {
        for found in of_script(file) {
            match found {
                Ok(feature) => features.push(feature),
                Err(finding) => findings.push(finding),
            }
        }
    }
    let text = files.iter().find(|f| f.path == PATH).map_or("", |f| f.text.as_str());
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        findings.push(format!("{PATH} has no place for the table: {}", BEGIN.trim()));
        return Err(findings);
    };
    let tables = accepted::tables(files).unwrap_or_else(|found| {
        findings.extend(found);
        String::new()
    });
    let after = match after.split_once(ACCEPTED).zip(after.rsplit_once(END)) {
        Some(((prose, _), (_, last))) => format!("{prose}{ACCEPTED}{tables}{END}{last}"),
        None => after.to_owned(),
    };
    match findings.is_empty() {
        true => Ok(format!("{before}{BEGIN}{}{END}{after}", table(&features))),
        false => Err(findings),
    }
}

/// The features of one script, in their order; a comment that no record follows is a finding.
fn of_script(file: &SourceFile) -> Vec<Result<Feature, String>> {
    let mut found = Vec::new();
    let lines: Vec<&str> = file.text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let (said, ignored) =
            match (line.strip_prefix("# feature:"), line.strip_prefix("# ignored:")) {
                (Some(said), _) => (said, false),
                (None, Some(said)) => (said, true),
                (None, None) => continue,
            };
        let place = format!("{}:{}", file.path, at + 1);
        let Some((statement, name)) = said.split_once('|') else {
            found.push(Err(format!("{place}: write `STATEMENT | feature`")));
            continue;
        };
        let record = lines[at + 1..]
            .iter()
            .find(|l| l.starts_with("statement") || l.starts_with("query") || l.is_empty());
        let standing = match record {
            Some(record) if record.starts_with("statement error") => Standing::Error,
            Some(record) if !record.is_empty() && ignored => Standing::Ignored,
            Some(record) if !record.is_empty() => Standing::Supported,
            _ => {
                found.push(Err(format!("{place}: no record follows")));
                continue;
            }
        };
        if ignored && standing == Standing::Error {
            found.push(Err(format!("{place}: what is ignored does not fail")));
            continue;
        }
        let (statement, name) = (statement.trim().to_string(), name.trim().to_string());
        found.push(Ok(Feature { statement, name, standing }));
    }
    found
}

/// One row for each statement, in the order in which the scripts name them.
fn table(features: &[Feature]) -> String {
    let mut statements: Vec<&str> = Vec::new();
    for feature in features {
        if !statements.contains(&feature.statement.as_str()) {
            statements.push(&feature.statement);
        }
    }
    let mut out =
        "| statement | supported | accepted and ignored | error |\n|---|---|---|---|\n".to_owned();
    for statement in statements {
        let cell = |standing: Standing| {
            let mut names: Vec<&str> = Vec::new();
            for f in features.iter().filter(|f| f.statement == statement) {
                if f.standing == standing && !names.contains(&f.name.as_str()) {
                    names.push(&f.name);
                }
            }
            names.join("; ")
        };
        let (supported, ignored, error) =
            (cell(Standing::Supported), cell(Standing::Ignored), cell(Standing::Error));
        writeln!(out, "| {statement} | {supported} | {ignored} | {error} |")
            .expect("writing to a string cannot fail");
    }
    out
}

#[cfg(test)]
mod tests;
