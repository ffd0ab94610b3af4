//! Is the site of documents whole?
//!
//! mdbook makes it from `docs` by `docs/SUMMARY.md` (`book.toml`). Every page must stand there, and a link from a page
//! must lead to another page: what lies outside of `docs` is not on the site. That files exist is asked by
//! [`crate::paths`]. Pure.

use crate::SourceFile;
use crate::paths::{joined, links, prose};

const FOLDER: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else {
        return vec![format!("{SUMMARY} is missing")];
    };
    let mut found = Vec::new();
    let listed: Vec<&str> = prose(&summary.text).flat_map(|(_, line)| links(line)).collect();
    let pages = files.iter().filter(|f| f.path.starts_with(FOLDER) && f.path.ends_with(".md"));
    for page in pages.filter(|page| page.path != SUMMARY) {
        let inside = &page.path[FOLDER.len()..];
        if !listed.contains(&inside) {
            found.push(format!("{SUMMARY}: `{inside}` is missing"));
        }
        let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in prose(&page.text) {
            for target in links(line) {
                if !joined(folder, target).is_some_and(|path| path.starts_with(FOLDER)) {
                    found.push(format!("{}:{number}: `{target}` is not on the site", page.path));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
