//! How does a comparison look in a README?
//!
//! One row per step and figure that matters, the first engine next to the others, losses in bold.

use std::fmt::Write as _;

use onlap_base::Result;

use super::comparison::{Comparison, Entry, Metric, cases_of, metrics, steps_of};
use super::storage;
use crate::units;

/// Figures that the README shows; the rest is in the page.
const SHOWN: [&str; 6] =
    ["inserts/s", "queries/s", "transactions/s", "rows scanned/s", "writes/op", "reads/op"];

/// A table with the engines as columns.
pub fn table(comparison: &Comparison) -> Result<String> {
    let entries = comparison.entries()?;
    let mut out = String::new();
    if let Some(run) = comparison.runs.first() {
        let s = &run.settings;
        let limit =
            s.io_limit.as_deref().map_or(String::new(), |l| format!(", {l} in each direction"));
        let cgroup = s
            .cgroup_memory
            .map_or(String::new(), |n| format!(" in a cgroup of {}", units::size(n)));
        let _ = writeln!(
            out,
            "{}: {} rows, {} client(s), memory {}{cgroup}, sync {}{limit}. {}.\n\n```\n{}\n```\n",
            run.workload,
            units::grouped(s.rows),
            s.clients,
            units::size(s.memory_bytes),
            s.sync,
            comparison.machines().join(". "),
            comparison.command,
        );
    }
    for case in cases_of(&entries) {
        let of_case: Vec<&Entry<'_>> = entries.iter().filter(|e| e.case == case).collect();
        if !case.is_empty() {
            let _ = writeln!(out, "**{case}**\n");
        }
        out.push_str(&case_table(&of_case));
        for entry in &of_case {
            for failed in &entry.failed {
                let why = failed.failure.as_deref().unwrap_or("unknown");
                let _ = writeln!(
                    out,
                    "\n{} ended early: {}",
                    entry.engine,
                    why.lines().next().unwrap_or("")
                );
            }
        }
        out.push('\n');
    }
    if let Some(lines) = storage::lines(&entries) {
        out.push_str("**As storage slows**\n\n");
        for (i, line) in lines.iter().enumerate() {
            let _ = writeln!(out, "| {} |", line.join(" | "));
            if i == 0 {
                let _ = writeln!(out, "|---|---|---|{}", "---:|".repeat(line.len() - 3));
            }
        }
        out.push('\n');
    }
    Ok(out)
}

fn case_table(entries: &[&Entry<'_>]) -> String {
    let mut out = String::from("| step | figure |");
    entries.iter().for_each(|e| {
        let _ = write!(out, " {} |", e.engine);
    });
    let _ = writeln!(out, "\n|---|---|{}", "---:|".repeat(entries.len()));
    for step in steps_of(entries.iter().copied()) {
        for metric in metrics().iter().filter(|m| SHOWN.contains(&m.name)) {
            let values: Vec<Option<f64>> =
                entries.iter().map(|e| e.spread(step, metric.of).map(|s| s.median)).collect();
            if values.iter().any(|v| v.is_some_and(|v| v > 0.0)) {
                out.push_str(&line(step, metric, &values, entries));
            }
        }
    }
    let taxes: Vec<Option<f64>> = entries.iter().map(|e| e.index_tax()).collect();
    if taxes.iter().any(Option::is_some) {
        let cells: Vec<String> = taxes.iter().map(|t| t.map_or("-".into(), units::short)).collect();
        let _ = writeln!(out, "| l.i1 / l.i0 | index tax | {} |", cells.join(" | "));
    }
    out
}

fn line(step: &str, metric: &Metric, values: &[Option<f64>], entries: &[&Entry<'_>]) -> String {
    let better = |a: f64, b: f64| match metric.better {
        crate::figures::Better::Higher => a > b,
        crate::figures::Better::Lower => a < b,
    };
    let first = values.first().copied().flatten();
    // Not where both print the same.
    let loses = |mine: f64, v: f64| better(v, mine) && units::short(v) != units::short(mine);
    let lost = first.is_some_and(|mine| values[1..].iter().flatten().any(|v| loses(mine, *v)));
    let cells: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(i, value)| {
            let void = entries[i].step(step).is_some_and(|s| s.void == Some(true));
            let text = value.map_or_else(|| "-".to_owned(), units::short);
            match (void, lost && i == 0) {
                (true, _) => format!("{text} (void)"),
                (_, true) => format!("**{text}**"),
                _ => text,
            }
        })
        .collect();
    format!("| {step} | {} | {} |\n", metric.name, cells.join(" | "))
}
