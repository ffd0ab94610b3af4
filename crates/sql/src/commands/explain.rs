//! EXPLAIN.
//!
//! Says in which tier a statement runs and which index it reads; with ANALYZE also what it read, for which
//! it runs. Without ANALYZE nothing runs.

use std::any::Any;
use std::sync::Arc;

use datafusion_physical_plan::{ExecutionPlan, displayable};
use onlap::{ReadCounters, Value};
use onlap_pg::ast::{Explain, Setting};
use serde_json::{Value as Json, json};

use crate::error::{Result, SqlError, state};
use crate::fast::Fast;
use crate::parse::{self, Body, Parsed};
use crate::query::Bound;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::session::{Prepared, Session};
use crate::source::Source;
use crate::types::{PgType, oid};
use crate::view::View;
use crate::wire::Client;

#[derive(Default)]
struct Options {
    analyze: bool,
    json: bool,
}

impl Options {
    fn of(all: &[Setting]) -> Result<Options> {
        let mut options = Options::default();
        for setting in all {
            let value = setting.value.as_ref().map_or("on", |value| value.text());
            let on = !matches!(value, "off" | "false" | "0");
            match (&*setting.name, value) {
                ("analyze", _) => options.analyze = on,
                ("format", "text") => options.json = false,
                ("format", "json") => options.json = true,
                ("format", other) => {
                    return Err(SqlError::unsupported(format!("EXPLAIN format {other}")));
                }
                (
                    "verbose" | "costs" | "settings" | "buffers" | "wal" | "timing" | "summary",
                    _,
                ) => {}
                (other, _) => {
                    let text = format!("unrecognized EXPLAIN option \"{other}\"");
                    return Err(SqlError::new(state::SYNTAX, text));
                }
            }
        }
        Ok(options)
    }
}

/// The one column of an answer.
pub fn columns() -> Arc<[AnswerColumn]> {
    Arc::from([AnswerColumn::new("QUERY PLAN", PgType::new(oid::TEXT))])
}

/// What is known of a statement.
struct Found {
    tier: &'static str,
    index: Option<String>,
    lines: Vec<String>,
}

/// EXPLAIN.
///
/// # Errors
/// Those of the statement.
pub fn run(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    explain: &Explain,
    client: &mut dyn Client,
) -> Result<Answer> {
    let options = Options::of(&explain.options)?;
    let text = explain.span.of(source.written);
    let explained = explained(session, view, text, options.analyze, client);
    let (found, counters) = explained.map_err(|e| source.within(explain.span, e))?;
    let lines = match options.json {
        true => vec![as_json(&found, counters)],
        false => as_text(found, counters),
    };
    let rows = lines.into_iter().map(|line| vec![Value::Text(line)]).collect();
    let source = Box::new(Ready::new(vec![Chunk::Rows(rows)]));
    Ok(Answer::Rows(RowsAnswer::new(columns(), source, "EXPLAIN")))
}

/// What is known of a text's statement, and what it read if it ran.
fn explained(
    session: &mut Session,
    view: &View,
    text: &str,
    runs: bool,
    client: &mut dyn Client,
) -> Result<(Found, Option<(ReadCounters, u64)>)> {
    let mut all = parse::statements(text)?;
    let (Some(parsed), true) = (all.pop(), all.is_empty()) else {
        return Err(SqlError::new(state::SYNTAX, "EXPLAIN needs one statement"));
    };
    let found = look(session, view, &parsed)?;
    let counters = if runs { Some(analyze(session, view, parsed, client)?) } else { None };
    Ok((found, counters))
}

fn look(session: &Session, view: &View, parsed: &Parsed) -> Result<Found> {
    if matches!(parsed.body, Body::Defined | Body::Other) {
        return Err(SqlError::unsupported(format!("EXPLAIN of {}", parsed.words())));
    }
    if session.uses_fast_path()
        && let Some(fast) = Fast::of(view, parsed)
        && !fast.is_better_planned(&[]).unwrap_or(false)
    {
        view.must(fast.needs())?;
        let index = fast.index(&[]);
        let lines = vec![match &index {
            Some(index) => format!("Native, by index {index}"),
            None => "Native".to_string(),
        }];
        return Ok(Found { tier: "native", index, lines });
    }
    let bound = Bound::of(view, parsed, &[])?;
    let plan = bound.plan(view, &parsed.bindable())?;
    let text = displayable(plan.as_ref()).indent(false).to_string();
    let lines = text.lines().map(str::to_string).collect();
    Ok(Found { tier: "planner", index: index_of(&plan), lines })
}

/// The first index that a plan reads.
fn index_of(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if let Some(step) = (plan.as_ref() as &dyn Any).downcast_ref::<onlap_query::Step>()
        && let Some(used) = step.detail().strip_prefix(" using ")
        && let Some((index, _)) = used.split_once(" on ")
    {
        return Some(index.to_string());
    }
    plan.children().into_iter().find_map(index_of)
}

/// Runs a statement, and lets go of its rows.
fn analyze(
    session: &mut Session,
    view: &View,
    parsed: Parsed,
    client: &mut dyn Client,
) -> Result<(ReadCounters, u64)> {
    let answer = session.run(&Arc::new(Prepared::simple(parsed)), &[], client)?;
    let rows = match answer {
        Answer::Done(tag) => {
            tag.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default()
        }
        Answer::Rows(mut rows) => {
            let mut n = 0;
            while let Some(chunk) = rows.source.next()? {
                n += chunk.len() as u64;
            }
            n
        }
    };
    Ok((view.scope.counters(), rows))
}

fn pairs(found: &Found, counters: Option<(ReadCounters, u64)>) -> Vec<(&'static str, Json)> {
    let mut pairs = vec![("Tier", json!(found.tier))];
    if let Some(index) = &found.index {
        pairs.push(("Index Name", json!(index)));
    }
    if let Some((read, rows)) = counters {
        pairs.extend([
            ("Actual Rows", json!(rows)),
            ("Index Entries Read", json!(read.index_entries_read)),
            ("Base Rows Read", json!(read.rows_read)),
            ("Blocks Read", json!(read.blocks_read)),
            ("Filter Probes", json!(read.filter_probes)),
            ("Rechecks", json!(read.rechecks)),
        ]);
    }
    pairs
}

fn as_json(found: &Found, counters: Option<(ReadCounters, u64)>) -> String {
    let mut plan = serde_json::Map::new();
    plan.insert("Node Type".into(), json!(found.lines.first().map_or("", |l| l.trim())));
    for (key, value) in pairs(found, counters) {
        plan.insert(key.into(), value);
    }
    plan.insert("Output".into(), json!(found.lines));
    let whole = json!([{ "Plan": plan }]);
    serde_json::to_string_pretty(&whole).unwrap_or_default()
}

fn as_text(found: Found, counters: Option<(ReadCounters, u64)>) -> Vec<String> {
    let notes = pairs(&found, counters);
    let mut lines = found.lines;
    for (key, value) in notes {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        lines.push(format!("{key}: {value}"));
    }
    lines
}
