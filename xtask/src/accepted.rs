//! Which differences from PostgreSQL do the comparing tests accept, and why?
//!
//! Two lists, with tabs between the parts of a line: that of the rig `sql` ([`RIG`]: what differs, a word, the reason) and that of the
//! binder's comparison ([`BINDER`]: the class, how often it may come up, the reason). `docs/compatibility.md` shows both;
//! [`crate::ratchets`] lets neither grow. Pure.

use std::fmt::Write as _;

use crate::SourceFile;

/// What the rig accepts.
pub(crate) const RIG: &str = "crates/proofs/src/sql/accepted.tsv";
/// What the binder's comparison accepts.
pub(crate) const BINDER: &str = "crates/pg/tests/bind/known.tsv";

/// The shortest reason that says something.
const REASON: usize = 20;

/// The lines of a list, each of three parts with a reason; or what is wrong with them.
pub(crate) fn read<'a>(
    files: &'a [SourceFile],
    path: &str,
) -> Result<Vec<[&'a str; 3]>, Vec<String>> {
    let text = files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let (mut lines, mut findings) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split('\t').collect::<Vec<_>>()[..] {
            [what, which, why] if why.len() >= REASON => lines.push([what, which, why]),
            _ => {
                findings.push(format!("{path}:{}: three parts between tabs, with a reason", at + 1))
            }
        }
    }
    if findings.is_empty() { Ok(lines) } else { Err(findings) }
}

/// How much is accepted: by list its number of lines, of the binder's also how often its classes may come up.
pub(crate) fn counts(
    files: &[SourceFile],
) -> Result<Vec<(&'static str, &'static str, u32)>, Vec<String>> {
    let (rig, binder) = (read(files, RIG)?, read(files, BINDER)?);
    let mut often = 0;
    for [class, number, _] in &binder {
        often += number.parse::<u32>().map_err(|_| vec![format!("{BINDER}: {class}: a number")])?;
    }
    Ok(vec![
        ("accepted", "proofs", rig.len() as u32),
        ("accepted", "pg", binder.len() as u32),
        ("known", "pg", often),
    ])
}

/// Both lists as tables.
pub(crate) fn tables(files: &[SourceFile]) -> Result<String, Vec<String>> {
    let (rig, binder) = (read(files, RIG)?, read(files, BINDER)?);
    let mut out = format!("The rig accepts {} differences:\n\n", rig.len());
    out += "| what differs | where | why |\n|---|---|---|\n";
    let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
    for [what, word, why] in rig {
        writeln!(out, "| {what} | {} | {why} |", code(word)).expect("a string grows");
    }
    writeln!(out, "\nThe comparison of bound trees accepts {} classes:\n", binder.len())
        .expect("a string grows");
    out += "| class | at most | why |\n|---|---|---|\n";
    for [class, number, why] in binder {
        writeln!(out, "| {class} | {number} | {why} |").expect("a string grows");
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
