//! Does the index of decisions have every page, by its title?
//!
//! `docs/decisions/README.md` groups the pages by hand; a line is `* [0007](0007-name.md): Title`, and a decision that
//! is not in force any more has `(replaced)` or `(replaced in part)` behind it. Each page opens with its number and
//! title and says its status. Pure.

use crate::SourceFile;

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";

pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let Some(index) = files.iter().find(|file| file.path == INDEX) else {
        return vec![format!("{INDEX} is missing")];
    };
    let pages = files.iter().filter(|file| {
        file.path != INDEX && file.path.starts_with(FOLDER) && file.path.ends_with(".md")
    });
    let mut wanted = Vec::new();
    let mut found = Vec::new();
    for page in pages {
        match line(page) {
            Ok(line) => wanted.push(line),
            Err(problem) => found.push(format!("{}: {problem}", page.path)),
        }
    }
    let listed: Vec<&str> = index.text.lines().filter(|line| line.starts_with("* [")).collect();
    for line in &wanted {
        match listed.iter().filter(|listed| *listed == line).count() {
            1 => {}
            0 => found.push(format!("{INDEX}: there is no line `{line}`")),
            n => found.push(format!("{INDEX}: {n} lines `{line}`")),
        }
    }
    let stale = listed.iter().filter(|listed| !wanted.iter().any(|line| line == *listed));
    found.extend(stale.map(|line| format!("{INDEX}: no page is `{line}`")));
    found
}

/// What the index says of a page.
fn line(page: &SourceFile) -> Result<String, &'static str> {
    let name = page.path.strip_prefix(FOLDER).expect("a page lies in the folder");
    let number = name.get(..4).filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let number = number.ok_or("its name does not begin with a number of four digits")?;
    let first = page.text.lines().next().unwrap_or_default();
    let title = first.strip_prefix(&format!("# {number}: "));
    let title = title.ok_or("it does not open with `# `, its number and its title")?;
    let status = page.text.lines().find_map(|line| line.strip_prefix("Status: "));
    let status = status.ok_or("it has no line that begins with `Status: `")?;
    let note = match (status.starts_with("accepted"), status.starts_with("replaced by ")) {
        (true, _) => "",
        (_, true) if status.contains("accepted") => " (replaced in part)",
        (_, true) => " (replaced)",
        _ if status.starts_with("rejected") => " (rejected)",
        _ => return Err("its status is none of accepted, replaced by NNNN, rejected"),
    };
    Ok(format!("* [{number}]({name}): {title}{note}"))
}

#[cfg(test)]
mod tests;
