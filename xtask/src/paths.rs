//! Do the paths that our Markdown names exist?
//!
//! Checked are link targets without a scheme, and code spans that begin with a folder of the root or
//! name a Markdown, TOML or lock file. `crates/x/src/y.rs::Type::function` must also find each name
//! as a word in that file, so that a journey in ARCHITECTURE.md cannot outlive its functions. Fenced
//! blocks and spans with placeholders (capitals like NNNN, `*`, `<…>`, `{…}`) are left alone. Pure.

use crate::SourceFile;

pub(crate) fn check(files: &[SourceFile], paths: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (number, line) in prose(&file.text) {
            for target in links(line) {
                if !resolves(&file.path, target, paths) {
                    found.push(format!("{}:{number}: no file `{target}`", file.path));
                }
            }
            for span in spans(line) {
                if let Some(problem) = problem_of_span(&file.path, span, files, paths) {
                    found.push(format!("{}:{number}: {problem}", file.path));
                }
            }
        }
    }
    found
}

/// Numbered lines outside fenced blocks.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence && !fenced).then_some((i + 1, line))
    })
}

/// The targets of `[text](target)` that are files: no scheme, no bare anchor.
pub(crate) fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?.trim();
        (!target.is_empty() && !target.contains(':')).then_some(target)
    })
}

/// The texts between backticks.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn problem_of_span(
    document: &str,
    span: &str,
    files: &[SourceFile],
    paths: &[String],
) -> Option<String> {
    let (path, names) = match span.split_once("::") {
        Some((path, names)) => (path, Some(names)),
        None => (span, None),
    };
    if !names_a_path(path, paths) {
        return None;
    }
    if !resolves(document, path, paths) {
        return Some(format!("no file `{path}`"));
    }
    let text = &files.iter().find(|file| file.path == path)?.text;
    let missing = names?.split("::").map(|name| name.trim_end_matches("()"));
    let missing = missing.filter(|name| !has_word(text, name)).collect::<Vec<_>>();
    (!missing.is_empty()).then(|| format!("`{path}` has no {}", missing.join(", ")))
}

/// Whether a code span claims to be a path of this repository.
fn names_a_path(span: &str, paths: &[String]) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let placeholder = |part: &str| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
    if !span.chars().all(plain)
        || span.split(['/', '.', '-']).any(placeholder_but_known(placeholder))
    {
        return false;
    }
    match span.split_once('/') {
        Some((first, _)) => {
            paths.iter().any(|path| path.split_once('/').is_some_and(|p| p.0 == first))
        }
        None => [".md", ".toml", ".lock"]
            .iter()
            .any(|end| span.len() > end.len() && span.ends_with(end)),
    }
}

/// README, LICENSE and their like are names, not placeholders.
fn placeholder_but_known(placeholder: impl Fn(&str) -> bool) -> impl Fn(&str) -> bool {
    const KNOWN: [&str; 5] = ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "LICENSE"];
    move |part| placeholder(part) && !KNOWN.contains(&part)
}

/// Whether `target` exists, seen from the document's folder or from the root.
fn resolves(document: &str, target: &str, paths: &[String]) -> bool {
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    [joined(folder, target), joined("", target)]
        .into_iter()
        .flatten()
        .any(|path| path.is_empty() || paths.contains(&path))
}

/// `folder/target` without `.` and `..`; `None` when it leaves the repository.
pub(crate) fn joined(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside)
    })
}

#[cfg(test)]
mod tests;
