//! Which indexes are worth nothing, and which would be?
//!
//! Rows of `onlap.advise()`, each with the statement that follows it. Indexes that keep a rule, or that a foreign key looks rows up
//! by, are never advised against. What is said of an index to come is a prediction: [`missing`], [`covering`].
//!
//! Advice is by what was counted since the database was opened, and changes nothing. Plans and predictions end after
//! setting `onlap.advice_time`: on large tables each prediction reads many rows. What was left out then is told, in a row of kind `unfinished`.

use std::collections::HashSet;
use std::time::Duration;

use onlap::{IndexId, IndexSchema, TableSchema};
use onlap_base::clock::{Clock, SystemClock};

use super::figures::{Figures, Known, ROWS_TO_JUDGE, int};
use super::rows::{Datum, Rows};
use crate::catalog::names::quote;
use crate::error::Result;
use crate::row;
use crate::view::View;

mod covering;
mod missing;

/// A session that waits for another's advice is asked this often whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The setting that says how long statements are planned and indexes predicted, in milliseconds. The console waits ten seconds, and one
/// session may wait for another.
const TIME: &str = "onlap.advice_time";
/// Indexes that are missing have this part of it, what includes more the rest.
const OF_MISSING: f64 = 0.6;
/// With less than this left a prediction looks at fewer rows.
const HURRY: Duration = Duration::from_secs(1);
/// How many fewer.
const FEWER: usize = 8;

/// How much longer advice is looked for, and what had no time.
pub(in crate::system) struct Patience {
    begun_ns: u64,
    end_ns: u64,
    statements: usize,
    indexes: usize,
}

impl Patience {
    fn of(time: Duration) -> Patience {
        let begun_ns = SystemClock.monotonic_ns();
        let end_ns = begun_ns + time.as_nanos() as u64;
        Patience { begun_ns, end_ns, statements: 0, indexes: 0 }
    }

    fn left(&self, part: f64) -> Duration {
        let whole = (self.end_ns - self.begun_ns) as f64;
        let end_ns = self.begun_ns + (whole * part) as u64;
        Duration::from_nanos(end_ns.saturating_sub(SystemClock.monotonic_ns()))
    }

    /// Whether there is time for a statement, within a part of all; notes the statement where there is none.
    pub(super) fn has_for_statement(&mut self, part: f64) -> bool {
        let has = !self.left(part).is_zero();
        self.statements += usize::from(!has);
        has
    }

    /// How many rows a prediction may look at; `None`, which is noted, where there is no time for it.
    pub(super) fn rows(&mut self, part: f64) -> Option<usize> {
        match self.left(part) {
            Duration::ZERO => {
                self.indexes += 1;
                None
            }
            left if left < HURRY => Some(onlap::PREDICTION_ROWS / FEWER),
            _ => Some(onlap::PREDICTION_ROWS),
        }
    }

    /// What had no time, as a row.
    fn row(&self) -> Option<Vec<Datum>> {
        let (statements, indexes) = (self.statements, self.indexes);
        if statements + indexes == 0 {
            return None;
        }
        let null = || Datum::Null;
        let reason = format!(
            "the time for advice was over: {statements} statements were not planned again and {indexes} \
             indexes not predicted, those that would save least; SET onlap.advice_time gives it more"
        );
        Some(row!["unfinished", null(), null(), null(), null(), null(), null(), null(), reason])
    }
}

const COLUMNS: &str = "kind table_name index_name sql bytes_on_disk cpu_ns_per_insert saved_bytes \
                       saved_ms reason";

/// The advice.
///
/// # Errors
/// The transaction has ended; the database is closed.
pub fn rows(view: &View) -> Result<Rows> {
    let figures = Figures::of(view)?;
    let mut rows = Rows::of(COLUMNS);
    // That of a partition goes with the one of the table above.
    let families = view.objects.families();
    let is_own = |known: &Known<'_>| families.index_above(known.index.id).is_none();
    let all: Vec<Known<'_>> = figures.indexes().filter(is_own).collect();
    let (mut gone, mut kept) = (HashSet::new(), HashSet::new());
    for known in &all {
        let others = all.iter().filter(|other| other.of.id == known.of.id);
        let others = others.filter(|other| !gone.contains(&other.index.id));
        if let Some((other, kind)) = stands_in(known, others) {
            gone.insert(known.index.id);
            kept.insert(other.index.id);
            let reason = match kind {
                "duplicate" => format!("{} has the same key", quote(&other.relation.name.name)),
                _ => format!("{} begins with its key", quote(&other.relation.name.name)),
            };
            rows.push(drop_row(known, kind, reason));
        }
    }
    for known in all.iter().filter(|known| is_unused(known)) {
        // What stands in for another will be read in its place.
        if !gone.contains(&known.index.id) && !kept.contains(&known.index.id) {
            let reason = format!(
                "no statement read by it while the table got {} rows",
                known.index.spent.rows
            );
            rows.push(drop_row(known, "unused", reason));
        }
    }
    // Predictions take memory and time: those of one session at a time.
    let _turn = loop {
        view.scope.go_on()?;
        if let Some(turn) = view.instance.advising.try_lock_for(LOOK_EVERY) {
            break turn;
        }
    };
    let called = view.instance.calls.all();
    let mut patience = Patience::of(time(view));
    missing::add(view, &figures, &called, &mut patience, &mut rows)?;
    covering::add(view, &figures, &called, &mut patience, &mut rows)?;
    patience.row().into_iter().for_each(|row| rows.push(row));
    Ok(rows)
}

fn time(view: &View) -> Duration {
    let rows = (view.setting_rows)();
    let ms = rows.iter().find(|row| row.name == TIME).and_then(|row| row.setting.parse().ok());
    Duration::from_millis(ms.unwrap_or(0))
}

fn schema<'a>(known: &Known<'a>) -> Option<(&'a TableSchema, &'a IndexSchema)> {
    known.relation.index().map(|(table, index)| (&**table, index))
}

/// Whether rows are refused because of an index, or foreign keys look rows up by it.
fn serves_rules(table: &TableSchema, index: &IndexSchema) -> bool {
    let leads = |columns: &[onlap::ColumnId]| {
        let key = index.key.iter().map(|part| part.column).take(columns.len());
        let key: HashSet<_> = key.collect();
        key.len() == columns.len() && columns.iter().all(|column| key.contains(column))
    };
    index.is_rule() || index.primary || table.foreign_keys.iter().any(|of| leads(&of.columns))
}

/// Whether an index may be advised against at all.
fn may_go(known: &Known<'_>) -> bool {
    schema(known).is_some_and(|(table, index)| !serves_rules(table, index) && index.ready)
        && known.is_visible
}

fn is_unused(known: &Known<'_>) -> bool {
    may_go(known) && known.index.used.scans == 0 && known.index.spent.rows >= ROWS_TO_JUDGE
}

/// The index that answers whatever another does, and in what way.
fn stands_in<'a, 'k>(
    known: &Known<'_>,
    others: impl Iterator<Item = &'a Known<'k>>,
) -> Option<(&'a Known<'k>, &'static str)>
where
    'k: 'a,
{
    let (_, own) = schema(known).filter(|_| may_go(known))?;
    let mut begins = None;
    for other in others.filter(|other| other.index.id != known.index.id && other.is_visible) {
        let Some((_, of)) = schema(other) else { continue };
        let has =
            |column| of.include.contains(column) || of.key.iter().any(|k| k.column == *column);
        let is_prefix = of.key.starts_with(&own.key)
            && of.filter == own.filter
            && !of.multi_entry
            && !own.multi_entry
            && of.ready
            && own.include.iter().all(has);
        match is_prefix {
            true if of.key.len() > own.key.len() => begins = begins.or(Some((other, "redundant"))),
            // Of two that are alike the first stays, or the one that keeps a rule.
            true if !may_go(other) || is_before(of.id, of, own) => {
                return Some((other, "duplicate"));
            }
            _ => {}
        }
    }
    begins
}

/// Whether the first of two indexes with one key is the one to keep: it has more columns, or came first.
fn is_before(id: IndexId, of: &IndexSchema, own: &IndexSchema) -> bool {
    (std::cmp::Reverse(of.include.len()), id) < (std::cmp::Reverse(own.include.len()), own.id)
}

fn table_name(known: &Known<'_>) -> String {
    format!("{}.{}", quote(&known.relation.name.schema), quote(&known.table.name.name))
}

fn drop_row(known: &Known<'_>, kind: &'static str, reason: String) -> Vec<Datum> {
    let spent = known.index.spent;
    let name = &known.relation.name;
    row![
        kind,
        table_name(known),
        name.name.as_str(),
        format!("DROP INDEX {}.{}", quote(&name.schema), quote(&name.name)),
        int(known.index.bytes),
        (spent.rows > 0).then(|| spent.cpu_ns() as f64 / spent.rows as f64),
        int(known.index.bytes),
        spent.cpu_ns() as f64 / 1e6,
        reason,
    ]
}
