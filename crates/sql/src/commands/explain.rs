//! EXPLAIN.
//!
//! Says in which tier a statement runs and which index it reads; with ANALYZE also what it read, for which
//! it runs. Without ANALYZE nothing runs.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use datafusion_physical_plan::{ExecutionPlan, displayable};
use onlap::{ReadCounters, Value};
use onlap_base::clock::{Clock, SystemClock};
use onlap_pg::ast::{Explain, Setting, Statement};
use onlap_query::Estimate;
use serde_json::{Value as Json, json};

use crate::ddl::notice;
use crate::error::{Result, SqlError, state};
use crate::fast::Fast;
use crate::parse::{self, Body, Parsed};
use crate::plan::hypothetical;
use crate::query::Bound;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::session::{Parameter, Prepared, Session};
use crate::source::Source;
use crate::types::{PgType, oid};
use crate::view::View;
use crate::wire::Client;

#[derive(Default)]
struct Options {
    analyze: bool,
    json: bool,
    /// COSTS OFF.
    no_costs: bool,
}

impl Options {
    fn of(source: Source<'_>, all: &[Setting]) -> Result<Options> {
        let mut options = Options::default();
        let (mut wal, mut timing) = (false, false);
        for setting in all {
            match &*setting.name {
                "analyze" => options.analyze = is_on(setting)?,
                "costs" => options.no_costs = !is_on(setting)?,
                "wal" => wal = is_on(setting)?,
                "timing" => timing = is_on(setting)?,
                "verbose" | "settings" | "buffers" | "summary" => drop(is_on(setting)?),
                "format" => options.json = format(source, setting)? == "json",
                other => {
                    let text = format!("unrecognized EXPLAIN option \"{other}\"");
                    return Err(source.at(SqlError::new(state::SYNTAX, text), setting.place));
                }
            }
        }
        for (name, _) in [("WAL", wal), ("TIMING", timing)].iter().filter(|(_, on)| *on) {
            if !options.analyze {
                let text = format!("EXPLAIN option {name} requires ANALYZE");
                return Err(SqlError::new(state::BAD_PARAMETER, text));
            }
        }
        Ok(options)
    }
}

/// What an option that is on or off says.
fn is_on(setting: &Setting) -> Result<bool> {
    let said = setting.value.as_ref().map_or("on", |value| value.text()).to_lowercase();
    match &*said {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => {
            let text = format!("{} requires a Boolean value", setting.name);
            Err(SqlError::new(state::SYNTAX, text))
        }
    }
}

/// The format that is said: `text` or `json`.
fn format<'s>(source: Source<'_>, setting: &'s Setting) -> Result<&'s str> {
    let Some(value) = &setting.value else {
        return Err(SqlError::new(state::SYNTAX, "format requires a parameter"));
    };
    match value.text() {
        format @ ("text" | "json") => Ok(format),
        format @ ("xml" | "yaml") => Err(SqlError::unsupported(format!("EXPLAIN format {format}"))),
        other => {
            let text = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
            Err(source.at(SqlError::new(state::BAD_PARAMETER, text), setting.place))
        }
    }
}

/// The one column of an answer, whose type is that of the format.
pub fn columns(explain: &Explain) -> Arc<[AnswerColumn]> {
    let mut formats = explain.options.iter().filter(|setting| &*setting.name == "format");
    let is_json = |setting: &Setting| setting.value.as_ref().is_some_and(|of| of.text() == "json");
    let ty = match formats.next_back().is_some_and(is_json) {
        true => oid::JSON,
        false => oid::TEXT,
    };
    Arc::from([AnswerColumn::new("QUERY PLAN", PgType::new(ty))])
}

/// What is known of a statement.
struct Found {
    tier: &'static str,
    index: Option<String>,
    /// The name of the table that it changes, or else of the first that it reads.
    relation: Option<String>,
    /// How it changes rows.
    operation: Option<&'static str>,
    lines: Vec<String>,
    cost: Cost,
}

/// What a statement is thought to take. Planners of others ask for it: postgres_fdw, where it uses remote estimates.
struct Cost {
    estimate: Estimate,
    /// Bytes of a row that it gives.
    width: usize,
}

/// PostgreSQL's cpu_tuple_cost: what a row that is read costs.
const OF_A_ROW: f64 = 0.01;
/// What PostgreSQL takes a value for whose type has no length, as long as it knows no better.
const WIDTH: usize = 32;

impl Cost {
    fn of(view: &View, bound: &Bound) -> Cost {
        let catalog = view.objects.made_types().catalog();
        let width = |column: &AnswerColumn| {
            let length = catalog.get_type(column.ty.oid).map_or(-1, |ty| ty.length);
            usize::try_from(length).unwrap_or(WIDTH)
        };
        let columns = bound.returns();
        let width = columns.iter().flat_map(|columns| columns.iter()).map(width).sum();
        Cost { estimate: bound.estimate(view), width }
    }

    fn text(&self) -> String {
        let Cost { estimate: Estimate { rows, read }, width } = self;
        // Rounding up would hide that a LIMIT is cheaper.
        let cost = read.floor() * OF_A_ROW;
        format!("(cost=0.00..{cost:.2} rows={rows:.0} width={width})")
    }
}

/// What a statement read when it ran.
struct Ran {
    counters: ReadCounters,
    rows: u64,
    ms: f64,
}

/// How a statement changes rows, and the name of the table whose rows they are.
fn changed(parsed: &Parsed) -> Option<(&'static str, String)> {
    let (operation, path) = match parsed.statement() {
        Statement::Insert(insert) => ("Insert", &insert.into.name),
        Statement::Update(update) => ("Update", &update.table.name),
        Statement::Delete(delete) => ("Delete", &delete.table.name),
        Statement::Merge(merge) => ("Merge", &merge.into.name),
        _ => return None,
    };
    Some((operation, path.last().map(ToString::to_string).unwrap_or_default()))
}

/// The table of the first step that reads one.
fn read_first(lines: &[String]) -> Option<String> {
    let after = |line: &String| {
        let step = line.trim();
        let (before, of) = step.split_once(" on ")?;
        let reads = before.ends_with("Scan") || before.contains(" using ");
        let name = of.split_whitespace().next()?;
        reads.then(|| name.rsplit('.').next().unwrap_or(name).to_string())
    };
    lines.iter().find_map(after)
}

/// EXPLAIN.
///
/// # Errors
/// Those of the statement.
pub fn run(
    session: &mut Session,
    asked: (&View, &[Parameter]),
    source: Source<'_>,
    explain: &Explain,
    client: &mut dyn Client,
) -> Result<Answer> {
    let options = Options::of(source, &explain.options)?;
    let text = explain.span.of(source.written);
    let explained = explained(session, asked, text, options.analyze, client);
    let (found, ran) = explained.map_err(|e| source.within(explain.span, e))?;
    let lines = match options.json {
        true => vec![as_json(&found, ran.as_ref())],
        false => as_text(found, ran.as_ref(), !options.no_costs),
    };
    let rows = lines.into_iter().map(|line| vec![Value::Text(line)]).collect();
    let source = Box::new(Ready::new(vec![Chunk::Rows(rows)]));
    Ok(Answer::Rows(RowsAnswer::new(columns(explain), source, "EXPLAIN")))
}

/// What is known of a text's statement, and what it read if it ran.
fn explained(
    session: &mut Session,
    (view, values): (&View, &[Parameter]),
    text: &str,
    runs: bool,
    client: &mut dyn Client,
) -> Result<(Found, Option<Ran>)> {
    let mut all = parse::statements(text)?;
    let (Some(parsed), true) = (all.pop(), all.is_empty()) else {
        return Err(SqlError::new(state::SYNTAX, "EXPLAIN needs one statement"));
    };
    let (parsed, values) = match parsed.execute() {
        Some(execute) => {
            let text = parsed.bindable();
            let (prepared, values) = session.executed(view, parsed.source(&text), execute)?;
            let Some(parsed) = prepared.parsed.clone() else {
                return Err(SqlError::unsupported("EXPLAIN of an empty statement"));
            };
            (parsed, Cow::Owned(values))
        }
        None => (parsed, Cow::Borrowed(values)),
    };
    let found = match runs {
        // What runs has no indexes but those that are there.
        true => look(session, view, &parsed, &values)?,
        false => {
            let mut told = |text: String| notice(client, "00000", text);
            look(session, &hypothetical::supposing(view, &mut told)?, &parsed, &values)?
        }
    };
    let ran = if runs { Some(analyze(session, (view, &values), parsed, client)?) } else { None };
    Ok((found, ran))
}

fn look(session: &Session, view: &View, parsed: &Parsed, values: &[Parameter]) -> Result<Found> {
    if matches!(parsed.body, Body::Defined | Body::Other) {
        return Err(SqlError::unsupported(format!("EXPLAIN of {}", parsed.words())));
    }
    let types: Vec<_> = values.iter().map(|value| Some(value.ty)).collect();
    let bound = Bound::parsed(view, parsed, &types)?;
    if session.uses_fast_path()
        && matches!(parsed.body, Body::Query | Body::Change)
        && let Some(fast) = Fast::of(view, &bound)
        && !fast.is_better_planned(values).unwrap_or(false)
    {
        view.must(bound.needs())?;
        let index = fast.index(values);
        let lines = vec![match &index {
            Some(index) => format!("Native, by index {index}"),
            None => "Native".to_string(),
        }];
        let own = crate::catalog::Name::of_engine(&fast.table()).1.name;
        let (operation, relation) = changed(parsed).unzip();
        let relation = relation.or(Some(own));
        let cost = Cost::of(view, &bound);
        return Ok(Found { tier: "native", index, relation, operation, lines, cost });
    }
    bound.must_be_served(view, &parsed.bindable())?;
    let plan = bound.plan(view, &parsed.bindable())?;
    let text = displayable(plan.as_ref()).indent(false).to_string();
    let lines: Vec<String> = text.lines().map(str::to_string).collect();
    let (operation, relation) = changed(parsed).unzip();
    let relation = relation.or_else(|| read_first(&lines));
    let cost = Cost::of(view, &bound);
    Ok(Found { tier: "planner", index: index_of(&plan), relation, operation, lines, cost })
}

/// The first index that a plan reads.
pub fn index_of(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
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
    (view, values): (&View, &[Parameter]),
    parsed: Parsed,
    client: &mut dyn Client,
) -> Result<Ran> {
    let begun = SystemClock.monotonic_ns();
    let mut prepared = Prepared::simple(parsed);
    prepared.parameters = values.iter().map(|value| value.ty).collect();
    let answer = session.run(&Arc::new(prepared), values, client)?;
    let rows = match answer {
        Answer::Done(tag) => {
            tag.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default()
        }
        Answer::Rows(mut rows) => {
            let mut n = 0;
            while let Some(chunk) = rows.next_of_source()? {
                n += chunk.len() as u64;
            }
            n
        }
    };
    let ms = SystemClock.monotonic_ns().saturating_sub(begun) as f64 / 1e6;
    Ok(Ran { counters: view.scope.counters(), rows, ms })
}

fn pairs(found: &Found, ran: Option<&Ran>) -> Vec<(&'static str, Json)> {
    let mut pairs = vec![("Tier", json!(found.tier))];
    if let Some(index) = &found.index {
        pairs.push(("Index Name", json!(index)));
    }
    if let Some(Ran { counters: read, rows, .. }) = ran {
        pairs.extend([
            ("Actual Rows", json!(rows)),
            ("Index Entries Read", json!(read.index_entries_read)),
            ("Base Rows Read", json!(read.rows_read)),
            ("Blocks Read", json!(read.blocks_read)),
            ("Filter Probes", json!(read.filter_probes)),
            ("Rechecks", json!(read.rechecks)),
        ]);
        // Runs of short keys alone have any.
        if read.entries_completed > 0 {
            pairs.push(("Entries Completed", json!(read.entries_completed)));
        }
    }
    pairs
}

/// Steps below one of this indentation, as a tree.
fn below(lines: &mut &[String], indent: usize) -> Vec<Json> {
    let mut all = Vec::new();
    while let [line, rest @ ..] = *lines {
        let step = line.trim_start();
        let own = line.len() - step.len();
        if own <= indent && indent > 0 || own == 0 {
            break;
        }
        *lines = rest;
        let mut node = serde_json::Map::new();
        let (what, table) = step.rsplit_once(" on ").unwrap_or((step, ""));
        let (what, index) = what.split_once(" using ").unwrap_or((what, ""));
        node.insert("Node Type".into(), json!(what));
        for (key, name) in [("Index Name", index), ("Relation Name", table)] {
            if !name.is_empty() {
                node.insert(key.into(), json!(name));
            }
        }
        let inner = below(lines, own);
        if !inner.is_empty() {
            node.insert("Plans".into(), json!(inner));
        }
        all.push(Json::Object(node));
    }
    all
}

fn as_json(found: &Found, ran: Option<&Ran>) -> String {
    let mut plan = serde_json::Map::new();
    plan.insert("Node Type".into(), json!(found.lines.first().map_or("", |l| l.trim())));
    for (key, value) in
        [("Operation", found.operation), ("Relation Name", found.relation.as_deref())]
    {
        value.into_iter().for_each(|value| drop(plan.insert(key.into(), json!(value))));
    }
    for (key, value) in pairs(found, ran) {
        plan.insert(key.into(), value);
    }
    plan.insert("Output".into(), json!(found.lines));
    let below = below(&mut found.lines.get(1..).unwrap_or_default(), 0);
    if !below.is_empty() {
        plan.insert("Plans".into(), json!(below));
    }
    let mut whole = json!([{ "Plan": plan }]);
    if let Some(ran) = ran {
        whole[0]["Plan"]["Actual Total Time"] = json!(ran.ms);
        whole[0]["Execution Time"] = json!(ran.ms);
    }
    serde_json::to_string_pretty(&whole).unwrap_or_default()
}

fn as_text(found: Found, ran: Option<&Ran>, with_cost: bool) -> Vec<String> {
    let notes = pairs(&found, ran);
    let mut lines = found.lines;
    if let Some(first) = lines.first_mut().filter(|_| with_cost) {
        *first = format!("{}  {}", first.trim_end(), found.cost.text());
    }
    for (key, value) in notes {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        lines.push(format!("{key}: {value}"));
    }
    lines
}
