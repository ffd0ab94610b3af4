//! What do PostgreSQL's views of use say of tables and indexes?
//!
//! `pg_stat_user_tables` and its relatives, and the functions that say one number of one relation. What they count is the engine's
//! ([`onlap::TableActivity`], [`onlap::IndexReads`]); where nothing here corresponds, a number is 0 and a time NULL. A partitioned
//! table has no rows of its own.
//!
//! Thread safety: pure functions of what a statement sees.

use std::collections::HashMap;

use onlap::{BlocksAsked, TableActivity, TableStats};

use super::{Figures, int};
use crate::catalog::oids;
use crate::error::Result;
use crate::row;
use crate::system::model::{Model, Relation};
use crate::system::rows::{Datum, Rows};
use crate::view::View;

/// `pg_stat_user_tables`.
///
/// # Errors
/// The transaction has ended; the database is closed.
pub fn tables(view: &View) -> Result<Rows> {
    let mut rows = Rows::of(
        "relid schemaname relname seq_scan seq_tup_read idx_scan idx_tup_fetch n_tup_ins n_tup_upd \
         n_tup_del n_tup_hot_upd n_live_tup n_dead_tup n_mod_since_analyze n_ins_since_vacuum \
         last_vacuum last_autovacuum last_analyze last_autoanalyze vacuum_count autovacuum_count \
         analyze_count autoanalyze_count",
    );
    let figures = Figures::of(view)?;
    for (relation, t) in figures.tables() {
        rows.push(table(relation, t));
    }
    Ok(rows)
}

fn table(relation: &Relation, t: &TableStats) -> Vec<Datum> {
    let done = &t.activity;
    let reads = || t.indexes.iter().map(|index| index.reads);
    // An index of a partitioned table is none that is read.
    let has = !t.indexes.is_empty() && !relation.divided;
    let time = |us: u64| (us > 0).then(|| int(us));
    row![
        relation.oid,
        &relation.name.schema,
        &relation.name.name,
        int(done.scans),
        int(done.scanned_rows),
        has.then(|| int(reads().map(|reads| reads.scans).sum())),
        has.then(|| int(reads().map(|reads| reads.entries).sum())),
        int(done.inserted),
        int(done.updated),
        int(done.deleted),
        int(done.updated_in_place),
        int(t.live_rows),
        int(t.dead_rows),
        int(done.changed_since_analysis),
        int(done.inserted_since_cleaning),
        time(done.last_cleaning_us),
        time(done.last_compaction_us),
        time(done.last_analysis_us),
        Datum::Null,
        int(done.cleanings),
        int(done.compactions),
        int(done.analyses),
        0,
    ]
}

/// `pg_stat_user_indexes`.
///
/// # Errors
/// As [`tables`].
pub fn indexes(view: &View) -> Result<Rows> {
    let mut rows = Rows::of(
        "relid indexrelid schemaname relname indexrelname idx_scan idx_tup_read idx_tup_fetch",
    );
    let figures = Figures::of(view)?;
    for known in figures.indexes().filter(|known| !known.table.divided) {
        let reads = known.index.reads;
        rows.push(row![
            known.table.oid,
            known.relation.oid,
            &known.relation.name.schema,
            &known.table.name.name,
            &known.relation.name.name,
            int(reads.scans),
            int(reads.entries),
            int(reads.entries),
        ]);
    }
    Ok(rows)
}

/// `pg_statio_user_tables`: blocks that were asked for, and whether the cache had them. Long values are in the files of the rows.
/// PostgreSQL lists no partitioned tables.
///
/// # Errors
/// As [`tables`].
pub fn table_blocks(view: &View) -> Result<Rows> {
    let mut rows = Rows::of(
        "relid schemaname relname heap_blks_read heap_blks_hit idx_blks_read idx_blks_hit",
    );
    let figures = Figures::of(view)?;
    for (relation, t) in figures.tables().filter(|(relation, _)| !relation.divided) {
        let of_indexes = t.indexes.iter().map(|index| index.blocks).reduce(BlocksAsked::and);
        rows.push(row![
            relation.oid,
            &relation.name.schema,
            &relation.name.name,
            int(t.blocks.reads),
            int(t.blocks.hits),
            of_indexes.map(|blocks| int(blocks.reads)),
            of_indexes.map(|blocks| int(blocks.hits)),
        ]);
    }
    Ok(rows)
}

/// `pg_statio_user_indexes`.
///
/// # Errors
/// As [`tables`].
pub fn index_blocks(view: &View) -> Result<Rows> {
    let mut rows =
        Rows::of("relid indexrelid schemaname relname indexrelname idx_blks_read idx_blks_hit");
    let figures = Figures::of(view)?;
    for known in figures.indexes().filter(|known| !known.table.divided) {
        rows.push(row![
            known.table.oid,
            known.relation.oid,
            &known.relation.name.schema,
            &known.table.name.name,
            &known.relation.name.name,
            int(known.index.blocks.reads),
            int(known.index.blocks.hits),
        ]);
    }
    Ok(rows)
}

/// `pg_stat_xact_user_tables`: what the transaction has changed so far. Reads are counted for all transactions together.
///
/// # Errors
/// The transaction has ended.
pub fn of_transaction(view: &View) -> Result<Rows> {
    let mut rows = Rows::of("relid schemaname relname n_tup_ins n_tup_upd n_tup_del n_tup_hot_upd");
    let done: HashMap<_, _> = view.scope.tx()?.activity().collect();
    let model = Model::of(view)?;
    for relation in &model.relations {
        let Some(table) = relation.table() else { continue };
        let done = done.get(&table.id).copied().unwrap_or_default();
        rows.push(row![
            relation.oid,
            &relation.name.schema,
            &relation.name.name,
            int(done.inserted),
            int(done.updated),
            int(done.deleted),
            int(done.updated_in_place),
        ]);
    }
    Ok(rows)
}

/// What the transaction has changed of a table so far.
///
/// # Errors
/// The transaction has ended.
pub fn done_to(view: &View, oid: i64) -> Result<TableActivity> {
    let tx = view.scope.tx()?;
    let mut all = tx.activity();
    let of = |id| i64::from(oids::of_table(id)) == oid;
    Ok(all.find(|(id, _)| of(*id)).map(|(_, done)| done).unwrap_or_default())
}

/// Counts from zero, of a relation by its OID or of all in the database, what the views tell.
///
/// # Errors
/// The transaction has ended.
pub fn reset(view: &View, of: Option<i64>) -> Result<()> {
    let is = |oid: u32| of.is_none_or(|of| of == i64::from(oid));
    for (_, table) in view.tables()? {
        let schema = table.schema();
        if is(oids::of_table(schema.id)) {
            table.reset_activity();
        }
        for index in schema.indexes.iter().filter(|index| is(oids::of_index(index.id))) {
            table.reset_index_activity(index.id);
        }
    }
    Ok(())
}
