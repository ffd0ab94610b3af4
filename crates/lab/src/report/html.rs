//! How does a comparison look in a browser?
//!
//! One file that fetches nothing: tables are written here and can be read without scripts; charts are drawn
//! by `page/charts.js` from the data in the page, which its buttons save as JSON and CSV too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use onlap_base::Result;
use serde_json::{Value, json};

use super::columns::published;
use super::comparison::{Comparison, Entry, cases_of, metrics, ratios, steps_of};
use super::storage;
use crate::units;

#[cfg(test)]
mod tests;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/charts.js");

/// The page.
pub fn page(comparison: &Comparison) -> Result<String> {
    let entries = comparison.entries()?;
    let workload = comparison.runs.first().map_or("", |r| r.workload.as_str());
    let mut out = String::new();
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Onlap lab: {0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>Onlap lab: {0}</h1>\n",
        escape(workload)
    );
    head(comparison, &mut out);
    out.push_str("</header>\n<main>\n");
    warnings(comparison, &entries, &mut out);
    verdicts(&entries, &mut out);
    storage_speeds(&entries, &mut out);
    out.push_str(CHARTS);
    tables(workload, &entries, &mut out);
    bytes(&entries, &mut out);
    operations(&entries, &mut out);
    configurations(&entries, &mut out);
    let data = serde_json::to_string(&data(comparison, &entries)).expect("plain JSON");
    let _ = write!(
        out,
        "</main>\n<script type=\"application/json\" id=\"data\">{}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        data.replace('<', "\\u003c")
    );
    Ok(out)
}

const CHARTS: &str = r#"<section aria-labelledby="charts-title">
<h2 id="charts-title">Charts</h2>
<form id="controls" class="controls">
<label>Step <select id="step"></select></label>
<label>Case <select id="case"></select></label>
<label>Axis <select id="axis"><option value="linear">linear</option><option value="log">logarithmic</option></select></label>
<button type="button" id="save-json">Save JSON</button>
<button type="button" id="save-csv">Save CSV</button>
</form>
<noscript><p>The charts need scripts; the tables below have the same figures.</p></noscript>
<div id="legend" class="legend"></div>
<div id="charts" class="charts"></div>
</section>
"#;

fn head(comparison: &Comparison, out: &mut String) {
    let Some(run) = comparison.runs.first() else { return };
    let s = &run.settings;
    for machine in comparison.machines() {
        let _ = writeln!(out, "<p>{}</p>", escape(&machine));
    }
    let mut facts = vec![
        format!("{} rows", units::grouped(s.rows)),
        format!("{} secondary indexes", s.secondary),
        format!("{} client(s)", s.clients),
        format!("{} of memory for each engine", units::size(s.memory_bytes)),
        format!("sync {} (the same for all)", s.sync),
    ];
    facts.extend(s.cgroup_memory.map(|n| format!("in a cgroup of {}", units::size(n))));
    facts.extend(s.io_limit.as_ref().map(|limit| {
        format!("a volume of {limit} per second, reads and writes each for themselves")
    }));
    let _ = writeln!(out, "<p>{}.</p>", escape(&facts.join(", ")));
    let _ = writeln!(out, "<pre class=\"command\">{}</pre>", escape(&comparison.command));
    if !run.patterns.is_empty() {
        let codes: Vec<String> = run.patterns.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let _ = writeln!(out, "<p>Insert pattern: <code>{}</code></p>", escape(&codes.join(" ")));
    }
}

fn warnings(comparison: &Comparison, entries: &[Entry<'_>], out: &mut String) {
    if comparison.interrupted {
        out.push_str("<p class=\"bad\">Interrupted: runs are missing.</p>\n");
    }
    for text in comparison.disagreements() {
        let _ = writeln!(out, "<p class=\"bad\">Answers differ: {}</p>", escape(&text));
    }
    for entry in entries {
        for failed in &entry.failed {
            let why = failed.failure.as_deref().unwrap_or("unknown");
            let _ = writeln!(
                out,
                "<details class=\"bad\"><summary>{}: ended early: {}</summary><pre>{}</pre></details>",
                escape(entry.engine),
                escape(why),
                escape(&failed.log_tail)
            );
        }
    }
}

/// Wins and losses with the same weight.
fn verdicts(entries: &[Entry<'_>], out: &mut String) {
    let ratios = ratios(entries);
    if ratios.is_empty() {
        return;
    }
    out.push_str("<section aria-labelledby=\"ratios-title\"><h2 id=\"ratios-title\">Beside the others</h2>\n");
    out.push_str("<div class=\"ratios\">\n");
    for ratio in &ratios {
        let count =
            |class: &str| ratio.lines.iter().filter(|l| l.verdict().class() == class).count();
        let _ = writeln!(
            out,
            "<details open><summary>{} / {}{}: better in {}, worse in {}, even in {}</summary>",
            escape(&ratio.engine),
            escape(&ratio.peer),
            escape(&ratio.of_case()),
            count("better"),
            count("worse"),
            count("even"),
        );
        out.push_str(
            "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>step</th><th>figure</th><th>ratio</th>\
             <th>least to greatest</th><th></th></tr></thead><tbody>\n",
        );
        for line in &ratio.lines {
            let (class, word) = (line.verdict().class(), line.verdict().words());
            let _ = writeln!(
                out,
                "<tr class=\"{class}\"><th scope=\"row\">{}</th><td>{}</td><td>{:.3}</td>\
                 <td>{:.3} to {:.3}</td><td class=\"word\">{word}</td></tr>",
                escape(&line.step),
                escape(line.metric),
                line.ratio.median,
                line.ratio.least,
                line.ratio.most
            );
        }
        out.push_str("</tbody></table></div></details>\n");
    }
    out.push_str("</div>\n</section>\n");
}

/// One table over all I/O limits.
fn storage_speeds(entries: &[Entry<'_>], out: &mut String) {
    let Some(lines) = storage::lines(entries) else { return };
    out.push_str(
        "<section aria-labelledby=\"storage-title\"><h2 id=\"storage-title\">As storage slows</h2>\n\
         <div class=\"wide\" tabindex=\"0\"><table><thead><tr>",
    );
    lines[0].iter().for_each(|cell| {
        let _ = write!(out, "<th>{}</th>", escape(cell));
    });
    out.push_str("</tr></thead><tbody>\n");
    for line in &lines[1..] {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(&line[0]));
        line[1..].iter().for_each(|cell| {
            let _ = write!(out, "<td>{}</td>", escape(cell));
        });
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n</section>\n");
}

/// The published columns, engines of a step below each other.
fn tables(workload: &str, entries: &[Entry<'_>], out: &mut String) {
    out.push_str(
        "<section aria-labelledby=\"tables-title\"><h2 id=\"tables-title\">All figures</h2>\n",
    );
    for case in cases_of(entries) {
        if !case.is_empty() {
            let _ = writeln!(out, "<h3>{}</h3>", escape(case));
        }
        let of_case = || entries.iter().filter(|e| e.case == case);
        for name in steps_of(of_case()) {
            let found: Vec<_> = of_case()
                .filter_map(|e| Some((e.engine, published(workload, e.step(name)?))))
                .collect();
            let Some((_, first)) = found.first() else { continue };
            let _ = write!(
                out,
                "<div class=\"wide\" tabindex=\"0\"><table><caption>{}</caption><thead><tr><th>engine</th>",
                escape(name)
            );
            first.iter().for_each(|(column, _)| {
                let _ = write!(out, "<th>{}</th>", escape(column));
            });
            out.push_str("</tr></thead><tbody>\n");
            for (engine, columns) in &found {
                let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(engine));
                columns.iter().for_each(|(_, cell)| {
                    let _ = write!(out, "<td>{}</td>", escape(cell));
                });
                out.push_str("</tr>\n");
            }
            out.push_str("</tbody></table></div>\n");
        }
        index_tax(of_case(), out);
    }
    out.push_str("</section>\n");
}

fn index_tax<'e>(entries: impl Iterator<Item = &'e Entry<'e>>, out: &mut String) {
    for entry in entries {
        if let Some(tax) = entry.index_tax() {
            let _ = writeln!(
                out,
                "<p>{}: index tax (rate with indexes / without) {tax:.3}</p>",
                escape(entry.engine)
            );
        }
    }
}

/// Bytes by purpose: written per row, and what rows and indexes take after `settle`.
fn bytes(entries: &[Entry<'_>], out: &mut String) {
    let mut written = Vec::new();
    let mut sizes = Vec::new();
    for entry in entries {
        let name = [entry.engine, &entry.case].join(" ");
        for step in &entry.steps {
            let label = format!("{} {}", name.trim(), step.step);
            let mut cells = BTreeMap::new();
            let named =
                [("log", step.wal_bytes_per_insert), ("rows", step.segment_bytes_per_insert)];
            cells.extend(named.iter().filter_map(|(n, v)| Some(((*n).to_owned(), (*v)?))));
            cells.extend(step.index_bytes_per_insert.iter().map(|(n, v)| (n.clone(), *v)));
            if !cells.is_empty() {
                cells.extend(step.written_bytes_per_insert.map(|v| ("all".to_owned(), v)));
                written.push((label.clone(), cells));
            }
            if !step.size_bytes.is_empty() {
                let mebi = |bytes: &u64| *bytes as f64 / f64::from(1 << 20);
                let cells = step.size_bytes.iter().map(|(n, bytes)| (n.clone(), mebi(bytes)));
                sizes.push((label, cells.collect()));
            }
        }
    }
    sparse_table("Bytes written per row, where the engine tells", &written, out);
    sparse_table("MiB of rows and indexes after settle, as the engine tells", &sizes, out);
}

/// Lines that do not have the same columns.
fn sparse_table(caption: &str, lines: &[(String, BTreeMap<String, f64>)], out: &mut String) {
    let mut columns: Vec<&String> = lines.iter().flat_map(|(_, cells)| cells.keys()).collect();
    // What all engines have comes first.
    let rank = |name: &str| ["all", "log", "rows"].iter().position(|n| *n == name).unwrap_or(3);
    columns.sort_by_key(|name| (rank(name), *name));
    columns.dedup();
    if lines.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<div class=\"wide\" tabindex=\"0\"><table><caption>{caption}</caption><thead><tr><th>engine, step</th>"
    );
    columns.iter().for_each(|name| {
        let _ = write!(out, "<th>{}</th>", escape(name));
    });
    out.push_str("</tr></thead><tbody>\n");
    for (label, cells) in lines {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(label));
        for name in &columns {
            let cell = cells.get(*name).map_or_else(|| "-".to_owned(), |v| format!("{v:.1}"));
            let _ = write!(out, "<td>{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Latencies of each operation.
fn operations(entries: &[Entry<'_>], out: &mut String) {
    for entry in entries {
        let title = format!("{} {}", entry.engine, entry.case);
        for step in entry.steps.iter().filter(|s| !s.operations.is_empty()) {
            let _ = writeln!(
                out,
                "<div class=\"wide\" tabindex=\"0\"><table><caption>{}: {}</caption><thead><tr><th>operation</th>\
                 <th>count</th><th>p50 us</th><th>p95 us</th><th>p99 us</th><th>max us</th></tr>\
                 </thead><tbody>",
                escape(title.trim()),
                escape(&step.step)
            );
            for (name, l) in &step.operations {
                let _ = writeln!(
                    out,
                    "<tr><th scope=\"row\">{}</th><td>{}</td><td>{:.0}</td><td>{:.0}</td>\
                     <td>{:.0}</td><td>{:.0}</td></tr>",
                    escape(name),
                    units::grouped(l.count),
                    l.p50_us,
                    l.p95_us,
                    l.p99_us,
                    l.max_us
                );
            }
            out.push_str("</tbody></table></div>\n");
        }
    }
}

fn configurations(entries: &[Entry<'_>], out: &mut String) {
    out.push_str(
        "<section aria-labelledby=\"config-title\"><h2 id=\"config-title\">Configurations</h2>\n",
    );
    let mut seen: Vec<&str> = Vec::new();
    for entry in entries {
        let Some(run) = entry.runs.first().or(entry.failed.first()) else { continue };
        if seen.contains(&entry.engine) {
            continue;
        }
        seen.push(entry.engine);
        let config = if run.config.is_empty() { "embedded".into() } else { run.config.join("\n") };
        let _ = writeln!(
            out,
            "<details><summary>{}</summary><pre>{}</pre></details>",
            escape(entry.engine),
            escape(&config)
        );
        let last = entry.steps.iter().rev().find(|s| !s.disk_bytes_by_kind.is_empty());
        if let Some(step) = last {
            let kinds: Vec<String> = step
                .disk_bytes_by_kind
                .iter()
                .map(|(kind, bytes)| format!("{kind} {}", units::size(*bytes)))
                .collect();
            let _ = writeln!(
                out,
                "<p>Files after {}: {}</p>",
                escape(&step.step),
                escape(&kinds.join(", "))
            );
        }
    }
    out.push_str("</section>\n");
}

/// What the charts are drawn from: medians for bars, the first whole run for courses over time.
fn data(comparison: &Comparison, entries: &[Entry<'_>]) -> Value {
    let series = |entry: &Entry<'_>| -> Vec<Value> {
        let run = entry.runs.first().or(entry.failed.first());
        let steps = run.map_or(&[][..], |r| &r.steps[..]);
        let of = |step: &super::StepReport| {
            let figures: serde_json::Map<String, Value> = metrics()
                .iter()
                .filter_map(|m| {
                    let spread = entry.spread(&step.step, m.of)?;
                    Some((m.name.to_owned(), json!(spread)))
                })
                .collect();
            json!({
                "step": step.step,
                "rate": if step.interval_ips.is_empty() { &step.interval_qps } else { &step.interval_ips },
                "longest": step.interval_max_us,
                "figures": figures,
            })
        };
        steps.iter().map(of).collect()
    };
    let entries_data: Vec<Value> = entries
        .iter()
        .map(|e| json!({ "case": e.case, "engine": e.engine, "steps": series(e) }))
        .collect();
    json!({
        "metrics": metrics().iter().map(|m| json!({
            "name": m.name, "meaning": m.meaning, "better": m.better,
        })).collect::<Vec<_>>(),
        "entries": entries_data,
        "ratios": ratios(entries),
        "report": comparison,
    })
}

/// Text between tags and in attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
