//! How much of its rate does each engine keep as storage slows?
//!
//! One table over all I/O limits of a comparison: the rates of the engines next to each other, and how many
//! times as fast as each other one the first is. Where the gap grows as storage slows, the last columns
//! grow from the last line of a step to its first.

use super::comparison::{Entry, cases_of, metrics, steps_of};
use crate::units;

/// The figures of the table.
const RATES: [&str; 2] = ["queries/s", "transactions/s"];

/// Header and lines; `None` where the runs had one I/O limit, or none of the rates.
pub fn lines(entries: &[Entry<'_>]) -> Option<Vec<Vec<String>>> {
    let limit = |e: &Entry<'_>| e.settings().map(|s| s.io_limit.clone());
    let first = entries.first().map(limit)?;
    if entries.iter().all(|e| limit(e) == first) {
        return None;
    }
    let mut engines: Vec<&str> = Vec::new();
    for entry in entries {
        if !engines.contains(&entry.engine) {
            engines.push(entry.engine);
        }
    }
    let peers = &engines[1..];
    let mut header = vec!["step".to_owned(), "storage".to_owned(), "figure".to_owned()];
    header.extend(engines.iter().map(|e| (*e).to_owned()));
    header.extend(peers.iter().map(|peer| format!("{} / {peer}", engines[0])));
    let mut out = vec![header];
    for step in steps_of(entries) {
        for metric in metrics().iter().filter(|m| RATES.contains(&m.name)) {
            for case in cases_of(entries) {
                let of = |engine: &&str| {
                    let entry = entries.iter().find(|e| e.case == case && e.engine == *engine)?;
                    Some(entry.spread(step, metric.of)?.median).filter(|v| *v > 0.0)
                };
                let rates: Vec<Option<f64>> = engines.iter().map(of).collect();
                if rates.iter().all(Option::is_none) {
                    continue;
                }
                let dash = || "-".to_owned();
                let mut line = vec![step.to_owned(), case.to_owned(), metric.name.to_owned()];
                line.extend(rates.iter().map(|v| v.map_or_else(dash, units::short)));
                line.extend(rates[1..].iter().map(|theirs| {
                    let ratio = rates[0].zip(*theirs).map(|(mine, theirs)| mine / theirs);
                    ratio.map_or_else(dash, units::short)
                }));
                out.push(line);
            }
        }
    }
    (out.len() > 1).then_some(out)
}
