//! Which indexes would statements have read by?
//!
//! Statements that read many more rows than they gave are planned again, as texts without their literals, and each scan says which
//! conditions it has. An index of the columns that are to equal values, and of one that is to lie between some, is supposed to be
//! there: it is advised where the planner then reads by it. What the statements would save is at most the share of their time that the
//! rows took that they read in vain.
//!
//! Size and cost come from `onlap::Database::predict_index`, which writes a run of the table's newest rows to nowhere; what merges add
//! is what they added to the other indexes of the table.
//!
//! Texts that are too long to be kept whole, and those whose literals stand where a parameter may not (`interval '1 day'`), are left
//! out. Nothing runs.

use std::sync::Arc;

use datafusion_physical_plan::ExecutionPlan;
use onlap::{IndexSchema, IndexSpec, TableId, TableSchema};

use super::{OF_MISSING, Patience};
use crate::calls::Called;
use crate::catalog::Name;
use crate::catalog::names::{TEMPORARY, quote};
use crate::catalog::storage::Storage;
use crate::ddl;
use crate::deep;
use crate::error::Result;
use crate::parse::{self, Body, Parsed};
use crate::plan::hypothetical::Supposed;
use crate::query::{Bound, Scanned, Scans};
use crate::row;
use crate::system::figures::{Figures, int, statements};
use crate::system::rows::Rows;
use crate::view::View;

/// Statements that are looked at: those that took most time.
pub(super) const STATEMENTS: usize = 64;
/// Indexes that are advised: predicting one takes up to a second.
pub(super) const ADVISED: usize = 8;
/// A statement is of interest when a call reads this number of rows.
const ROWS_OF_CALL: u64 = 1000;
/// And this many for each that it gives.
const ROWS_PER_ROW: u64 = 10;
/// What merges are thought to cost where nothing was measured: as much as writing once.
const MERGES: f64 = 2.0;
/// The name of what is supposed.
pub(super) const SUPPOSED: &str = "<1>advised";

/// An index that statements would have read by.
struct Wanted {
    table: TableId,
    key: Vec<String>,
    /// What they would save, in nanoseconds.
    saved_ns: f64,
    calls: u64,
    rows_read: u64,
    rows: u64,
    /// The text of the one that would save most.
    text: Arc<str>,
}

/// Adds a row for each index that is missing.
///
/// # Errors
/// The transaction has ended; the database is closed; the statement is to end.
pub fn add(
    view: &View,
    figures: &Figures,
    called: &[Called],
    patience: &mut Patience,
    rows: &mut Rows,
) -> Result<()> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let read_much = |called: &&Called| {
        let read = called.read.rows_read;
        read / called.calls.max(1) >= ROWS_OF_CALL
            && read / ROWS_PER_ROW >= called.rows
            && may_be_planned(view, called)
    };
    for called in called.iter().filter(read_much).take(STATEMENTS) {
        // Half of the time is for predictions.
        if !patience.has_for_statement(OF_MISSING / 2.0) {
            continue;
        }
        for (table, key) in keys_for(view, called)? {
            note(&mut wanted, called, table, key);
        }
    }
    wanted.sort_by(|a, b| b.saved_ns.total_cmp(&a.saved_ns));
    let is_begin = |a: &Wanted, b: &Wanted| {
        a.table == b.table && a.key.len() < b.key.len() && b.key.starts_with(&a.key)
    };
    let whole = |at: &usize| !wanted.iter().any(|other| is_begin(&wanted[*at], other));
    for at in (0..wanted.len()).filter(whole).take(ADVISED) {
        view.scope.go_on()?;
        let Some(most) = patience.rows(OF_MISSING) else { continue };
        advise(view, figures, &wanted[at], most, rows)?;
    }
    Ok(())
}

/// Whether a statement can be planned again from what is known of it, by this session and for its eyes.
pub(super) fn may_be_planned(view: &View, called: &Called) -> bool {
    *called.database == view.database
        && called.fingerprint.whole
        && means_the_same(view, called)
        && statements::sees(view, called)
}

/// Whether names that a statement does not qualify mean to this session what they meant where it ran.
fn means_the_same(view: &View, called: &Called) -> bool {
    let role = view.judge.role;
    let has_schema = |role| view.has_schema(&view.judge.rights().name_of(role));
    // `$user` is another schema to another role.
    called.path == Some(view.path_hash)
        && (called.role == role || !has_schema(role) && !has_schema(called.role))
}

fn note(wanted: &mut Vec<Wanted>, called: &Called, table: TableId, key: Vec<String>) {
    let in_vain = 1.0 - (called.rows as f64 / called.read.rows_read.max(1) as f64).min(1.0);
    let saved_ns = called.total_ns as f64 * in_vain;
    match wanted.iter_mut().find(|of| of.table == table && of.key == key) {
        Some(of) => {
            of.saved_ns += saved_ns;
            of.calls += called.calls;
            of.rows_read += called.read.rows_read;
            of.rows += called.rows;
        }
        None => wanted.push(Wanted {
            table,
            key,
            saved_ns,
            calls: called.calls,
            rows_read: called.read.rows_read,
            rows: called.rows,
            text: Arc::clone(&called.fingerprint.text),
        }),
    }
}

/// The statement as it can be planned: lists of values have one.
fn parsed(text: &str) -> Option<Parsed> {
    let numbers = text.split('$').skip(1).map(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse::<u32>().unwrap_or(0)
    });
    let mut number = numbers.max().unwrap_or(0);
    let mut parts = text.split("(...)");
    let mut plannable = parts.next()?.to_string();
    for part in parts {
        number += 1;
        plannable += &format!("(${number}){part}");
    }
    let mut all = parse::statements(&plannable).ok()?;
    let one = all.pop().filter(|_| all.is_empty())?;
    matches!(one.body, Body::Query | Body::Change).then_some(one)
}

/// A statement with the scans of its plan; `None` where it is of a table that is gone, or the text says too little.
pub(super) fn scans(view: &View, called: &Called) -> Result<Option<(Parsed, Vec<Scanned>)>> {
    view.scope.go_on()?;
    let Some(parsed) = parsed(&called.fingerprint.text) else { return Ok(None) };
    let scans = Arc::new(Scans::default());
    let noting = View { noted_scans: Some(Arc::clone(&scans)), ..view.clone() };
    let planned = plan(&noting, &parsed);
    Ok(planned.is_ok().then(|| (parsed, scans.take())))
}

/// Whether a statement would read by an index that is supposed to be there.
pub(super) fn would_read_by(view: &View, parsed: &Parsed, table: TableId, spec: IndexSpec) -> bool {
    let supposed = Arc::from([Supposed { table, spec }]);
    let supposing = View { supposed, ..view.clone() };
    plan(&supposing, parsed).is_ok_and(|uses| uses)
}

/// The keys of indexes that a statement would be read by, were they there.
fn keys_for(view: &View, called: &Called) -> Result<Vec<(TableId, Vec<String>)>> {
    let mut found = Vec::new();
    let Some((parsed, scans)) = scans(view, called)? else { return Ok(found) };
    let tables = view.tables()?;
    for scan in scans {
        view.scope.go_on()?;
        let Some((name, table)) = tables.iter().find(|(_, t)| t.schema().id == scan.table) else {
            continue;
        };
        let is_divided = view.objects.families().divided(scan.table).is_some();
        let schema = table.schema();
        let key = key_of(&scan, |at| schema.columns.get(at).map(|column| column.name.clone()));
        // Another session's of the same name is another table.
        let is_other = name.schema.starts_with(TEMPORARY);
        let is_there = schema.indexes.iter().any(|index| serves(view, &schema, index, &scan));
        if key.is_empty() || is_divided || is_other || is_there {
            continue;
        }
        let spec = IndexSpec::new(SUPPOSED, key.clone());
        if would_read_by(view, &parsed, scan.table, spec)
            && !found.contains(&(scan.table, key.clone()))
        {
            found.push((scan.table, key));
        }
    }
    Ok(found)
}

/// Whether an index that is there answers a scan as well as the one that would be advised.
fn serves(view: &View, schema: &TableSchema, index: &IndexSchema, scan: &Scanned) -> bool {
    let key = index.key.iter().map(|part| schema.position(part.column));
    let key: Vec<Option<usize>> = key.collect();
    let (equal, rest) = key.split_at(scan.equal.len().min(key.len()));
    let between = scan.between.iter().find(|at| !scan.equal.contains(at));
    index.ready
        && index.filter.is_none()
        && !index.multi_entry
        && !Storage::hides(&view.objects, index.id)
        && scan.equal.iter().all(|at| equal.contains(&Some(*at)))
        && between.is_none_or(|at| rest.first() == Some(&Some(*at)))
}

fn key_of(scan: &Scanned, name: impl Fn(usize) -> Option<String>) -> Vec<String> {
    let between = scan.between.iter().find(|at| !scan.equal.contains(at));
    scan.equal.iter().chain(between).filter_map(|at| name(*at)).collect()
}

/// Plans a statement; whether it would read by what is supposed.
fn plan(view: &View, parsed: &Parsed) -> Result<bool> {
    deep::run(parsed.depth, || {
        let text = parsed.bindable();
        let bound = Bound::parsed(view, parsed, &[])?;
        bound.must_be_served(view, &text)?;
        let plan = bound.plan(view, &text)?;
        Ok(reads_by(&plan, SUPPOSED))
    })
}

/// Whether a step reads by an index.
fn reads_by(plan: &Arc<dyn ExecutionPlan>, index: &str) -> bool {
    let step = (plan.as_ref() as &dyn std::any::Any).downcast_ref::<onlap_query::Step>();
    step.is_some_and(|step| step.detail().contains(index))
        || plan.children().into_iter().any(|below| reads_by(below, index))
}

/// What sorting and writing costs with merges, next to without, by what was measured of the table's other indexes.
pub(super) fn merges(figures: &Figures, table: TableId) -> f64 {
    let of = figures.indexes().filter(|known| known.of.id == table);
    let (mut once, mut all) = (0, 0);
    for known in of {
        let spent = known.index.spent;
        once += spent.sorted_ns + spent.flushed_ns + spent.built_ns;
        all += spent.cpu_ns();
    }
    if once == 0 { MERGES } else { all as f64 / once as f64 }
}

fn advise(
    view: &View,
    figures: &Figures,
    wanted: &Wanted,
    most: usize,
    rows: &mut Rows,
) -> Result<()> {
    let tables = view.tables()?;
    let Some((name, table)) = tables.iter().find(|(_, t)| t.schema().id == wanted.table) else {
        return Ok(());
    };
    let index = ddl::index_name(view, name, &wanted.key);
    let spec = IndexSpec::new(index.clone(), wanted.key.clone());
    let Ok(expected) = view.instance.db.predict_index(table, &spec, most) else { return Ok(()) };
    let key: Vec<String> = wanted.key.iter().map(|column| quote(column)).collect();
    let shown = shown(name);
    rows.push(row![
        "missing",
        shown.as_str(),
        index.as_str(),
        format!("CREATE INDEX {} ON {shown} ({})", quote(&index), key.join(", ")),
        int(expected.bytes),
        expected.cpu_ns_per_row * merges(figures, wanted.table),
        crate::system::rows::Datum::Null,
        wanted.saved_ns / 1e6,
        format!(
            "{} calls read {} rows and gave {}: {}",
            wanted.calls, wanted.rows_read, wanted.rows, wanted.text
        ),
    ]);
    Ok(())
}

pub(super) fn shown(name: &Name) -> String {
    format!("{}.{}", quote(&name.schema), quote(&name.name))
}
