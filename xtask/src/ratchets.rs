//! Does the code get better only?
//!
//! `xtask/ratchets.tsv` has a line for each crate and measure: `kind`, crate and number between tabs. Kinds: `asserts`
//! per thousand lines of production code may only rise; `long` and `wide` functions ([`crate::functions`]) and `words`
//! to avoid ([`crate::words`]), and the lists of [`crate::accepted`] may only fall, and are none where no line says otherwise. `cargo run -p xtask -- ratchets`
//! notes what became better; what became worse it leaves. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::functions::Counts;
use crate::{SourceFile, accepted, functions, words};

pub(crate) const PATH: &str = "xtask/ratchets.tsv";

/// Crates whose wrong values do harm.
const ASSERTING: [&str; 5] = ["base", "format", "storage", "memtable", "engine"];

/// Kind and crate.
type Key = (String, String);

pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    match (read(files), measure(files)) {
        (Ok(noted), Ok(measured)) => measured
            .iter()
            .filter_map(|((kind, name), now)| {
                let noted = noted.get(&(kind.clone(), name.clone())).copied().unwrap_or(0.0);
                worse(kind, now.number, noted).then(|| {
                    let number = now.number;
                    let head = format!("{name}: {number} {kind}, {noted} are noted in {PATH}");
                    std::iter::once(head).chain(now.places.iter().map(|p| format!("  {p}")))
                })
            })
            .flatten()
            .collect(),
        (Err(finding), _) => vec![finding],
        (_, Err(findings)) => findings,
    }
}

/// The file with what became better.
pub(crate) fn page(files: &[SourceFile]) -> Result<String, Vec<String>> {
    let noted = read(files).map_err(|e| vec![e])?;
    let mut page = String::new();
    for ((kind, name), now) in measure(files)? {
        let before = noted.get(&(kind.clone(), name.clone())).copied();
        let number = match before {
            Some(before) if worse(&kind, now.number, before) => before,
            _ => now.number,
        };
        if number > 0.0 {
            writeln!(page, "{kind}\t{name}\t{number}").expect("writing to a string cannot fail");
        }
    }
    Ok(page)
}

fn worse(kind: &str, now: f64, noted: f64) -> bool {
    if kind == "asserts" { now < noted } else { now > noted }
}

fn read(files: &[SourceFile]) -> Result<BTreeMap<Key, f64>, String> {
    let text = files.iter().find(|file| file.path == PATH).map_or("", |file| file.text.as_str());
    let line = |(at, line): (usize, &str)| {
        let mut parts = line.split('\t');
        let mut next = || parts.next().map(str::to_owned);
        let found = next().zip(next()).zip(next().and_then(|number| number.parse().ok()));
        found.ok_or_else(|| format!("{PATH}:{}: kind, crate and number, between tabs", at + 1))
    };
    text.lines().enumerate().map(line).collect()
}

/// A number, and where what it counts stands.
struct Measured {
    number: f64,
    places: Vec<String>,
}

fn measure(files: &[SourceFile]) -> Result<BTreeMap<Key, Measured>, Vec<String>> {
    let mut all = BTreeMap::new();
    let mut put = |kind: &str, name: &str, number: f64, places: Vec<String>| {
        all.insert((kind.to_owned(), name.to_owned()), Measured { number, places });
    };
    for (name, counts) in functions::count(files)? {
        if ASSERTING.contains(&name.as_str()) {
            put("asserts", &name, per_thousand(&counts), Vec::new());
        }
        put("long", &name, counts.long.len() as f64, counts.long);
        put("wide", &name, counts.wide.len() as f64, counts.wide);
    }
    for (kind, name, number) in accepted::counts(files)? {
        put(kind, name, f64::from(number), Vec::new());
    }
    for (name, places) in words::find(files) {
        put("words", &name, places.len() as f64, places);
    }
    Ok(all)
}

/// Assertions per thousand lines, to a tenth, rounded down.
fn per_thousand(counts: &Counts) -> f64 {
    (counts.asserts * 10_000 / counts.lines.max(1)) as f64 / 10.0
}

#[cfg(test)]
mod tests;
