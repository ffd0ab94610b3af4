//! Which indexes would answer statements alone, had they some columns more?
//!
//! A statement that reads by an index and then fetches the rows, for few columns that the index does not have, is planned again from
//! its text without literals ([`super::missing`]). Supposed is an index with the same key that includes these columns: it is advised
//! where the planner then reads by it. All statements that read by one index are advised together, as long as what they want fits
//! [`FURTHER`] columns.
//!
//! What statements would save is the share of their time that the rows took, counted by what was read, at most. Size and cost are
//! predicted as those of missing indexes. The index that was there stays: advice against it follows once the other does its work.

use onlap::{ColumnId, IndexSchema, IndexSpec, KeysKept, TableId, TableSchema};

use super::Patience;
use super::missing::{self, ADVISED, STATEMENTS, SUPPOSED};
use crate::calls::Called;
use crate::catalog::names::{TEMPORARY, quote};
use crate::ddl;
use crate::error::Result;
use crate::query::Scanned;
use crate::row;
use crate::system::figures::{Figures, int};
use crate::system::rows::{Datum, Rows};
use crate::view::View;

/// A statement is of interest when a call fetches this number of rows: each may lie in a block of its own.
const ROWS_OF_CALL: u64 = 100;
/// Part of the time at whose end no more statements are planned.
const PLANNED: f64 = 0.8;
/// Columns that an index is to include, at most: with more it would be the table again.
const FURTHER: usize = 4;

/// An index that is to include more.
struct Wanted {
    table: TableId,
    /// The one that is there.
    index: String,
    /// Columns that it lacks.
    further: Vec<ColumnId>,
    saved_ns: f64,
    calls: u64,
    rows_read: u64,
    /// The text of the statement that would save most.
    text: std::sync::Arc<str>,
}

/// Adds a row for each index that is to include more.
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
    let fetches = |called: &&Called| {
        let read = called.read;
        read.index_entries_read > 0
            && read.rows_read / called.calls.max(1) >= ROWS_OF_CALL
            && missing::may_be_planned(view, called)
    };
    for called in called.iter().filter(fetches).take(STATEMENTS) {
        if !patience.has_for_statement(PLANNED) {
            continue;
        }
        for (table, index, further) in lacking(view, called)? {
            note(&mut wanted, called, table, index, further);
        }
    }
    wanted.sort_by(|a, b| b.saved_ns.total_cmp(&a.saved_ns));
    for one in wanted.iter().take(ADVISED) {
        view.scope.go_on()?;
        let Some(most) = patience.rows(1.0) else { continue };
        advise(view, figures, one, most, rows)?;
    }
    Ok(())
}

/// The indexes that a statement reads by, and what they lack of what it wants.
fn lacking(view: &View, called: &Called) -> Result<Vec<(TableId, String, Vec<ColumnId>)>> {
    let mut found: Vec<(TableId, String, Vec<ColumnId>)> = Vec::new();
    let Some((parsed, scans)) = missing::scans(view, called)? else { return Ok(found) };
    let tables = view.tables()?;
    for scan in scans {
        view.scope.go_on()?;
        let table = tables.iter().find(|(_, table)| table.schema().id == scan.table);
        let Some((name, table)) = table else { continue };
        let is_divided = view.objects.families().divided(scan.table).is_some();
        if is_divided || scan.more || name.schema.starts_with(TEMPORARY) {
            continue;
        }
        let schema = table.schema();
        let index = scan.index.as_ref().and_then(|name| schema.index_by_name(name));
        let Some(index) = index.filter(|index| called.indexes.contains(&index.id)) else {
            continue;
        };
        let Some(further) = further(&schema, index, &scan) else { continue };
        let spec = spec(&schema, index, &further, SUPPOSED);
        if !missing::would_read_by(view, &parsed, scan.table, spec) {
            continue;
        }
        let further: Vec<ColumnId> = further.iter().map(|at| schema.columns[*at].id).collect();
        // A scan may be planned more than once, and a table read several times: the statement counts once.
        match found.iter_mut().find(|known| (known.0, &known.1) == (scan.table, &index.name)) {
            Some((_, _, known)) => {
                let new = further.into_iter().filter(|at| !known.contains(at)).collect::<Vec<_>>();
                if known.len() + new.len() <= FURTHER {
                    known.extend(new);
                }
            }
            None => found.push((scan.table, index.name.clone(), further)),
        }
    }
    Ok(found)
}

/// The columns that an index would have to include; `None` where it has all, or could not have them.
fn further(schema: &TableSchema, index: &IndexSchema, scan: &Scanned) -> Option<Vec<usize>> {
    let plain = index.key.iter().all(|part| schema.derived(part.column).is_none());
    if !plain || index.filter.is_some() || index.multi_entry || index.keys != KeysKept::Full {
        return None;
    }
    let mut further = Vec::new();
    for at in &scan.columns {
        let column = schema.columns.get(*at)?;
        if index.key.iter().any(|part| part.column == column.id) {
            if column.ty.key_is_lossy() {
                // An entry does not say how the value was written.
                return None;
            }
        } else if !index.include.contains(&column.id) && !further.contains(at) {
            further.push(*at);
        }
    }
    (1..=FURTHER).contains(&further.len()).then_some(further)
}

/// The index that is advised.
fn spec(schema: &TableSchema, index: &IndexSchema, further: &[usize], name: &str) -> IndexSpec {
    let named = |id: ColumnId| {
        schema.columns.iter().find(|column| column.id == id).map(|column| column.name.clone())
    };
    let key: Vec<String> = index.key.iter().filter_map(|part| named(part.column)).collect();
    let falling = index.key.iter().filter(|part| part.descending);
    let falling: Vec<String> = falling.filter_map(|part| named(part.column)).collect();
    let include = index.include.iter().filter_map(|id| named(*id));
    let more = further.iter().map(|at| schema.columns[*at].name.clone());
    let spec = IndexSpec::new(name, key).include(include.chain(more));
    falling.iter().fold(spec, |spec, column| spec.descending(column))
}

fn note(
    wanted: &mut Vec<Wanted>,
    called: &Called,
    table: TableId,
    index: String,
    further: Vec<ColumnId>,
) {
    let (rows, entries) = (called.read.rows_read, called.read.index_entries_read);
    let share = rows as f64 / (rows + entries).max(1) as f64;
    let saved_ns = called.total_ns as f64 * share;
    let together = |one: &Wanted| {
        let new = further.iter().filter(|at| !one.further.contains(at)).count();
        one.table == table && one.index == index && one.further.len() + new <= FURTHER
    };
    match wanted.iter_mut().find(|one| together(one)) {
        Some(one) => {
            let new: Vec<ColumnId> =
                further.into_iter().filter(|at| !one.further.contains(at)).collect();
            one.further.extend(new);
            one.saved_ns += saved_ns;
            one.calls += called.calls;
            one.rows_read += rows;
        }
        None => wanted.push(Wanted {
            table,
            index,
            further,
            saved_ns,
            calls: called.calls,
            rows_read: rows,
            text: std::sync::Arc::clone(&called.fingerprint.text),
        }),
    }
}

fn advise(
    view: &View,
    figures: &Figures,
    wanted: &Wanted,
    most: usize,
    rows: &mut Rows,
) -> Result<()> {
    let tables = view.tables()?;
    let table = tables.iter().find(|(_, table)| table.schema().id == wanted.table);
    let Some((name, table)) = table else { return Ok(()) };
    let schema = table.schema();
    let Some(index) = schema.index_by_name(&wanted.index) else { return Ok(()) };
    let column = |id: ColumnId| {
        schema.columns.iter().find(|column| column.id == id).map(|column| &*column.name)
    };
    let key: Vec<&str> = index.key.iter().filter_map(|part| column(part.column)).collect();
    let include = index.include.iter().filter_map(|id| column(*id));
    // The table may have changed since the statements were planned.
    let place = |id: &ColumnId| schema.columns.iter().position(|column| column.id == *id);
    let Some(further) = wanted.further.iter().map(place).collect::<Option<Vec<usize>>>() else {
        return Ok(());
    };
    let more = further.iter().map(|at| &*schema.columns[*at].name);
    let include: Vec<&str> = include.chain(more.clone()).collect();
    let parts: Vec<String> = key.iter().chain(&include).map(|part| (*part).to_string()).collect();
    let own = ddl::index_name(view, name, &parts);
    let spec = spec(&schema, index, &further, &own);
    let Ok(expected) = view.instance.db.predict_index(table, &spec, most) else { return Ok(()) };
    let shown = missing::shown(name);
    let directions = index.key.iter().map(|part| if part.descending { " DESC" } else { "" });
    let key = key.iter().zip(directions).map(|(part, direction)| quote(part) + direction);
    let list = |parts: &[&str]| parts.iter().map(|part| quote(part)).collect::<Vec<_>>().join(", ");
    rows.push(row![
        "covering",
        shown.as_str(),
        own.as_str(),
        format!(
            "CREATE INDEX {} ON {shown} ({}) INCLUDE ({})",
            quote(&own),
            key.collect::<Vec<_>>().join(", "),
            list(&include)
        ),
        int(expected.bytes),
        expected.cpu_ns_per_row * missing::merges(figures, wanted.table),
        Datum::Null,
        wanted.saved_ns / 1e6,
        format!(
            "{} calls read by {} and fetched {} rows for {}: {}",
            wanted.calls,
            quote(&crate::system::model::index_name(&schema, index)),
            wanted.rows_read,
            list(&more.collect::<Vec<_>>()),
            wanted.text
        ),
    ]);
    Ok(())
}
