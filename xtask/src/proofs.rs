//! Is the table of figures in `docs/proofs.md` what the rigs' log adds up to?
//!
//! `benchmarks/proofs.jsonl` has a line for each run (`crates/testkit/src/record.rs` says which fields); the table
//! has a row for each thing that is counted, summed over runs that found nothing, next to what the tests of every
//! change try and what is aimed at. The check compares the table byte for byte. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::SourceFile;

pub(crate) const PATH: &str = "docs/proofs.md";
/// The log.
pub(crate) const LOG: &str = "benchmarks/proofs.jsonl";

const BEGIN: &str = "<!-- written by `cargo run -p xtask -- proofs` -->\n";
const END: &str = "<!-- end of what is written -->\n";

/// Rig, what it counts, how the table calls it, what tests try, what is aimed at.
const ROWS: [(&str, &str, &str, &str, &str); 27] = [
    ("crash", "recoveries", "simulated recoveries", "20,000", "500,000"),
    ("crash", "crashes during recovery", "of them from a crash during recovery", "1,000", "20,000"),
    ("faults", "faults", "operations that failed", "every one of the standard history", ""),
    ("kill", "kills", "kills of a process with 8 clients", "30", "1,000"),
    ("server kill", "kills", "kills of a server with 8 clients", "20", ""),
    ("damage", "corruptions", "corruptions", "2,000", "100,000"),
    ("damage", "detected", "of them detected", "", ""),
    ("damage", "harmless", "of them harmless", "", ""),
    (
        "damage",
        "taken for a torn end of the log",
        "of them taken for a torn end of the log",
        "",
        "",
    ),
    ("full", "fill cycles", "times that a small disk was full", "100", ""),
    ("slow", "seconds on a slow disk", "seconds of 100 writes and syncs each", "240", ""),
    ("decoders", "executions", "executions of decoders", "1,000,000", "100,000,000"),
    ("messages", "malformed messages", "malformed messages to a server", "100,000", "10,000,000"),
    (
        "roles",
        "statements of roles",
        "random statements of roles next to PostgreSQL",
        "2,000",
        "1,000,000",
    ),
    (
        "sql",
        "statements",
        "random statements of all kinds next to PostgreSQL",
        "1,500",
        "20,000,000",
    ),
    ("sql", "checks without PostgreSQL", "queries held against themselves", "150", ""),
    (
        "statements",
        "hostile statements",
        "hostile statements that a server answered within its memory",
        "60",
        "10,000,000",
    ),
    ("cgroup", "runs in a cgroup", "runs of 64 clients in a cgroup of 512 MiB", "1", "20"),
    ("memory", "seconds in a cgroup", "seconds of 64 clients in a memory cgroup", "8", ""),
    (
        "isolation",
        "transactions at READ COMMITTED",
        "transactions at READ COMMITTED",
        "50,000",
        "2,000,000",
    ),
    (
        "isolation",
        "transactions at REPEATABLE READ",
        "transactions at REPEATABLE READ",
        "50,000",
        "2,000,000",
    ),
    (
        "isolation",
        "transactions at SERIALIZABLE",
        "transactions at SERIALIZABLE",
        "50,000",
        "2,000,000",
    ),
    (
        "upserts",
        "transactions with upserts at READ COMMITTED",
        "transactions with upserts of a server with 8 clients at READ COMMITTED",
        "400",
        "2,000,000",
    ),
    (
        "upserts",
        "transactions with upserts at REPEATABLE READ",
        "transactions with upserts of a server with 8 clients at REPEATABLE READ",
        "400",
        "2,000,000",
    ),
    (
        "upserts",
        "transactions with upserts at SERIALIZABLE",
        "transactions with upserts of a server with 8 clients at SERIALIZABLE",
        "400",
        "2,000,000",
    ),
    (
        "upserts",
        "counter upserts",
        "upserts of counters by single statements",
        "1,200",
        "1,000,000",
    ),
    ("upserts", "kills", "kills of the server among them", "4", ""),
];

pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let stale = format!("{PATH} is out of date: run `cargo run -p xtask -- proofs`");
    let Some(file) = files.iter().find(|file| file.path == PATH) else { return vec![stale] };
    match page(files) {
        Ok(page) if page == file.text => Vec::new(),
        Ok(_) => vec![stale],
        Err(finding) => vec![finding],
    }
}

/// The whole page, its table new.
pub(crate) fn page(files: &[SourceFile]) -> Result<String, String> {
    let text_of = |path| files.iter().find(|f| f.path == path).map_or("", |f| f.text.as_str());
    let text = text_of(PATH);
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) =
        parts.ok_or_else(|| format!("{PATH} has no place for the table: {}", BEGIN.trim()))?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", table(text_of(LOG))?))
}

/// What runs of one rig came to.
#[derive(Default)]
struct Sum {
    counts: BTreeMap<String, u64>,
    runs: u64,
    last: String,
}

fn table(log: &str) -> Result<String, String> {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for (at, line) in log.lines().enumerate() {
        let run: Value =
            serde_json::from_str(line).map_err(|e| format!("{LOG}:{}: {e}", at + 1))?;
        let text = |field: &str| run[field].as_str().unwrap_or_default().to_owned();
        if text("result") != "ok" {
            continue;
        }
        let sum = sums.entry(text("rig")).or_default();
        sum.runs += 1;
        sum.last = format!("{}, {}", &text("time").get(..10).unwrap_or("?"), text("commit"));
        for (what, n) in run["counts"].as_object().into_iter().flatten() {
            *sum.counts.entry(what.clone()).or_default() += n.as_u64().unwrap_or(0);
        }
    }
    let mut out =
        "| tried, nothing found | by every run of the tests | so far | aim | runs; the last |\n|---|---|---|---|---|\n"
            .to_owned();
    for (rig, what, name, tests, aim) in ROWS {
        let none = Sum::default();
        let sum = sums.get(rig).unwrap_or(&none);
        let n = grouped(sum.counts.get(what).copied().unwrap_or(0));
        let (runs, last) = (sum.runs, &sum.last);
        writeln!(out, "| {name} | {tests} | {n} | {aim} | {runs}; {last} |")
            .expect("writing to a string cannot fail");
    }
    Ok(out)
}

/// `1,234,567`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
