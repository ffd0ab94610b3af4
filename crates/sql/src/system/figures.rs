//! What do the views of schema onlap_stat say, and PostgreSQL's views of use?
//!
//! Rows are made from [`onlap::Stats`] when a query reads a view: its counters are the only ones there are, so that
//! what the views say adds up to it. Figures of relations are for all roles, as in PostgreSQL.

use std::collections::HashMap;
use std::sync::Arc;

use onlap::{IndexId, IndexStats, Stats, TableId, TableStats};

use super::model::{Model, Relation};
use super::rows::Rows;
use crate::catalog::storage::Storage;
use crate::catalog::{Objects, oids};
use crate::error::Result;
use crate::row;
use crate::view::View;

pub use history::bytes_ahead as bytes_of_history;

mod goals;
mod history;
pub mod relations;
pub mod statements;
mod whole;

/// Rows that a block of a segment has at least, where none was written yet.
const BLOCK_ROWS_MIN: u64 = 1;

/// An index is called unused when its table got this many rows meanwhile: fewer tell nothing.
pub const ROWS_TO_JUDGE: u64 = 10_000;

/// The rows of a view of the schema.
///
/// # Errors
/// The transaction has ended; the database is closed.
pub fn rows(view: &View, name: &str) -> Result<Option<Rows>> {
    Ok(Some(match name {
        "indexes" => indexes(&Figures::of(view)?, &view.instance.statement_medians()),
        "tables" => tables(&Figures::of(view)?),
        "runs" => runs(&Figures::of(view)?),
        "merges" => merges(&Figures::of(view)?),
        "settings" => settings(view),
        "statements" => statements::rows(view),
        "history" => history::rows(view)?,
        "replication" => goals::replication(view),
        _ => return whole::rows(view, name),
    }))
}

/// What all views look at.
pub struct Figures {
    /// What the engine counted.
    pub stats: Stats,
    model: Model,
    objects: Arc<Objects>,
}

/// An index, its table, and what is known of both.
pub struct Known<'a> {
    /// It.
    pub relation: &'a Relation,
    /// Its table.
    pub table: &'a Relation,
    /// What is known of it.
    pub index: &'a IndexStats,
    /// What is known of the table.
    pub of: &'a TableStats,
    /// Whether rows are refused because of it.
    is_rule: bool,
    /// Whether statements read by it.
    pub is_visible: bool,
}

impl Figures {
    /// As they are now.
    ///
    /// # Errors
    /// The transaction has ended; the database is closed.
    pub fn of(view: &View) -> Result<Figures> {
        let mut stats = view.instance.db.stats_without_keys()?;
        let model = Model::of(view)?;
        add_own(&mut stats, &model);
        Ok(Figures { stats, model, objects: Arc::clone(&view.objects) })
    }

    /// The tables of the session's database.
    pub fn tables(&self) -> impl Iterator<Item = (&Relation, &TableStats)> {
        self.model.relations.iter().filter_map(|relation| {
            let id = relation.table()?.id;
            Some((relation, self.stats.tables.iter().find(|t| t.id == id)?))
        })
    }

    /// The indexes of the session's database.
    pub fn indexes(&self) -> impl Iterator<Item = Known<'_>> {
        self.model.relations.iter().filter_map(|relation| {
            let (table, index) = relation.index()?;
            let of = self.stats.tables.iter().find(|t| t.id == table.id)?;
            Some(Known {
                relation,
                table: self.model.relation(oids::of_table(table.id))?,
                index: of.indexes.iter().find(|i| i.id == index.id)?,
                of,
                is_rule: index.is_rule(),
                is_visible: !Storage::hides(&self.objects, index.id),
            })
        })
    }

    /// Bytes that merges of all indexes wrote since the database was opened.
    fn merged(&self) -> u64 {
        self.stats.tables.iter().flat_map(|t| &t.indexes).map(|i| since_open(i).1).sum()
    }
}

/// Adds tables and indexes that the transaction made itself, of which nothing is counted yet.
fn add_own(stats: &mut Stats, model: &Model) {
    let places = stats.tables.iter().enumerate().map(|(at, table)| (table.id, at));
    let places: HashMap<TableId, usize> = places.collect();
    for table in model.relations.iter().filter_map(Relation::table) {
        let at = places.get(&table.id).copied().unwrap_or(stats.tables.len());
        if at == stats.tables.len() {
            let (id, name) = (table.id, table.name.clone());
            stats.tables.push(TableStats { id, name, ..TableStats::default() });
        }
        let known = &mut stats.tables[at].indexes;
        for index in &table.indexes {
            if known.iter().all(|known| known.id != index.id) {
                known.push(IndexStats::nothing(index.id, index.name.clone()));
            }
        }
    }
}

/// Bytes written since the database was opened: at flush or build, and by merges.
fn since_open(index: &IndexStats) -> (u64, u64) {
    let (now, before) = (index.written, index.written_before);
    (now.flushed.saturating_sub(before.flushed), now.merged.saturating_sub(before.merged))
}

/// A number of the engine's. They stay far below 2^63.
pub fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

/// Blocks of segments that hold this many of a table's rows.
fn blocks(of: &TableStats, rows: u64) -> i64 {
    let per_block = of.segment_rows / of.segment_blocks.max(1);
    int(rows / per_block.max(BLOCK_ROWS_MIN))
}

/// What to think of an index, in a word or two; NULL where nothing can be said yet.
fn advice(known: &Known<'_>) -> Option<&'static str> {
    match known.index.used.scans {
        0 if known.is_rule => Some("keeps a rule"),
        0 if !known.is_visible => Some("invisible"),
        0 if known.index.spent.rows >= ROWS_TO_JUDGE => Some("never used"),
        0 => None,
        _ => Some("used"),
    }
}

fn indexes(figures: &Figures, medians: &HashMap<IndexId, u64>) -> Rows {
    let mut rows = Rows::of(
        "schema_name table_name index_name table_oid index_oid rows cpu_ns cpu_sort_ns \
         cpu_flush_ns cpu_merge_ns cpu_build_ns cpu_ns_per_row bytes_written bytes_flushed \
         bytes_merged bytes_per_row bytes_on_disk entries runs levels merge_share scans \
         entries_read rows_not_read blocks_not_read last_use advice visible cached_bytes p50_ms",
    );
    let merged_by_all = figures.merged();
    for known in figures.indexes() {
        let (index, spent, used) = (known.index, known.index.spent, known.index.used);
        let (flushed, merged) = since_open(index);
        let levels = index.runs.iter().map(|run| u64::from(run.level) + 1).max().unwrap_or(0);
        rows.push(row![
            &known.relation.name.schema,
            &known.table.name.name,
            &known.relation.name.name,
            known.table.oid,
            known.relation.oid,
            int(spent.rows),
            int(spent.cpu_ns()),
            int(spent.sorted_ns),
            int(spent.flushed_ns),
            int(spent.merged_ns),
            int(spent.built_ns),
            share(spent.cpu_ns(), spent.rows),
            int(flushed + merged),
            int(flushed),
            int(merged),
            share(flushed + merged, spent.rows),
            int(index.bytes),
            int(index.entries),
            index.runs.len(),
            int(levels),
            share(merged, merged_by_all),
            int(used.scans),
            int(used.entries_read),
            int(used.rows_not_read),
            blocks(known.of, used.rows_not_read),
            (used.last_us > 0).then_some(used.last_us),
            advice(&known),
            known.is_visible,
            int(index.cached_bytes),
            medians.get(&index.id).map(|ns| *ns as f64 / 1e6),
        ]);
    }
    rows
}

fn tables(figures: &Figures) -> Rows {
    let mut rows = Rows::of(
        "schema_name table_name table_oid row_ids rows_in_memory memtable_bytes segments \
         segment_rows segment_bytes mark_runs marks mark_bytes indexes index_bytes dead_rows \
         dead_rows_limit dead_entries dead_entries_limit changes changes_limit pending_rows \
         pending_rows_limit history_bytes cached_bytes live_rows inserted updated \
         updated_in_place deleted scans scanned_rows",
    );
    for (relation, t) in figures.tables() {
        rows.push(row![
            &relation.name.schema,
            &relation.name.name,
            relation.oid,
            int(t.row_ids),
            int(t.unflushed_rows),
            int(t.memtable_bytes),
            t.segments,
            int(t.segment_rows),
            int(t.segment_bytes),
            t.mark_runs,
            int(t.marks),
            int(t.mark_bytes),
            t.indexes.len(),
            int(t.indexes.iter().map(|index| index.bytes).sum()),
            int(t.debts.dead_rows),
            int(t.debts.dead_rows_limit),
            int(t.debts.dead_entries),
            int(t.debts.dead_entries_limit),
            int(t.debts.pending_changes),
            int(t.debts.pending_changes_limit),
            int(t.pending_rows),
            int(t.pending_rows_limit),
            int(t.history_debt_bytes),
            int(t.segment_cached_bytes + t.mark_cached_bytes),
            int(t.live_rows),
            int(t.activity.inserted),
            int(t.activity.updated),
            int(t.activity.updated_in_place),
            int(t.activity.deleted),
            int(t.activity.scans),
            int(t.activity.scanned_rows),
        ]);
    }
    rows
}

fn runs(figures: &Figures) -> Rows {
    let mut rows = Rows::of(
        "schema_name table_name index_name level first_row end_row files entries bytes form \
         merging",
    );
    for known in figures.indexes() {
        for run in &known.index.runs {
            rows.push(row![
                &known.relation.name.schema,
                &known.table.name.name,
                &known.relation.name.name,
                run.level,
                int(run.rows.start),
                int(run.rows.end),
                run.files,
                int(run.entries),
                int(run.bytes),
                run.form,
                run.is_merging,
            ]);
        }
    }
    rows
}

fn merges(figures: &Figures) -> Rows {
    let mut rows = Rows::of("schema_name table_name index_name runs bytes_merged cpu_ns share");
    let all = figures.merged();
    for known in figures.indexes() {
        let merged = since_open(known.index).1;
        rows.push(row![
            &known.relation.name.schema,
            &known.table.name.name,
            &known.relation.name.name,
            known.index.runs.len(),
            int(merged),
            int(known.index.spent.merged_ns),
            share(merged, all),
        ]);
    }
    rows
}

fn settings(view: &View) -> Rows {
    let mut rows = Rows::of("name setting unit source context description");
    for row in super::cluster::settings_seen(view) {
        rows.push(row![row.name, row.setting, row.unit, row.source, row.context, row.short_desc]);
    }
    rows
}
