//! Which functions say what was counted, and begin to count anew?
//!
//! `pg_stat_get_…` of a relation or a database, which monitors call for one number at a time: each looks into the rows of the view
//! that has it, which are made at the first call of a statement.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::Function;
use super::catalogs::Seen;
use crate::error::{Result, SqlError, state};
use crate::system::figures::relations;
use crate::system::monitored;
use crate::system::rows::{Datum, Rows};
use crate::view::View;

/// Functions of a relation behind `pg_stat_get_`, with the columns of views of tables and of indexes that say it.
const OF_RELATIONS: &[(&str, &str, &str)] = &[
    ("numscans", "seq_scan", "idx_scan"),
    ("tuples_returned", "seq_tup_read", "idx_tup_read"),
    // Of a table PostgreSQL counts those that bitmaps lead to: here they are the index's.
    ("tuples_fetched", "", "idx_tup_fetch"),
    ("tuples_inserted", "n_tup_ins", ""),
    ("tuples_updated", "n_tup_upd", ""),
    ("tuples_deleted", "n_tup_del", ""),
    ("tuples_hot_updated", "n_tup_hot_upd", ""),
    ("live_tuples", "n_live_tup", ""),
    ("dead_tuples", "n_dead_tup", ""),
    ("mod_since_analyze", "n_mod_since_analyze", ""),
    ("ins_since_vacuum", "n_ins_since_vacuum", ""),
    ("vacuum_count", "vacuum_count", ""),
    ("autovacuum_count", "autovacuum_count", ""),
    ("analyze_count", "analyze_count", ""),
    ("autoanalyze_count", "autoanalyze_count", ""),
    ("last_vacuum_time", "last_vacuum", ""),
    ("last_autovacuum_time", "last_autovacuum", ""),
    ("last_analyze_time", "last_analyze", ""),
    ("last_autoanalyze_time", "last_autoanalyze", ""),
];

/// The same of databases, behind `pg_stat_get_db_`.
const OF_DATABASES: &[(&str, &str)] = &[
    ("numbackends", "numbackends"),
    ("xact_commit", "xact_commit"),
    ("xact_rollback", "xact_rollback"),
    ("blocks_hit", "blks_hit"),
    ("tuples_returned", "tup_returned"),
    ("tuples_fetched", "tup_fetched"),
    ("tuples_inserted", "tup_inserted"),
    ("tuples_updated", "tup_updated"),
    ("tuples_deleted", "tup_deleted"),
    ("temp_files", "temp_files"),
    ("temp_bytes", "temp_bytes"),
    ("deadlocks", "deadlocks"),
    ("conflict_all", "conflicts"),
    ("sessions", "sessions"),
    ("sessions_abandoned", "sessions_abandoned"),
    ("sessions_fatal", "sessions_fatal"),
    ("sessions_killed", "sessions_killed"),
    ("stat_reset_time", "stats_reset"),
];

/// A function by name; `None` where there is none.
pub fn find(seen: &Arc<Seen>, name: &str) -> Option<Function> {
    let view = seen.view.clone();
    Some(match name {
        // Counters are shared, and read as they are.
        "pg_stat_force_next_flush" | "pg_stat_clear_snapshot" => Function::value(""),
        "pg_stat_reset" => Function::new(move |_| {
            must_reset(&view, "pg_stat_reset")?;
            relations::reset(&view, None)?;
            if let Some(counts) = view.instance.counts.known(&view.database) {
                counts.reset();
            }
            Ok("".into())
        }),
        "pg_stat_reset_single_table_counters" => Function::new(move |a| {
            must_reset(&view, "pg_stat_reset_single_table_counters")?;
            relations::reset(&view, a.first().and_then(Datum::int))?;
            Ok("".into())
        }),
        "pg_stat_get_blocks_fetched" => blocks(seen, true),
        "pg_stat_get_blocks_hit" => blocks(seen, false),
        _ => {
            let asked = name.strip_prefix("pg_stat_get_")?;
            let of_database = asked.strip_prefix("db_").and_then(|asked| database(seen, asked));
            of_database
                .or_else(|| asked.strip_prefix("xact_").and_then(|asked| done(&view, asked)))
                .or_else(|| relation(seen, asked))?
        }
    })
}

/// Refuses those who are no superuser.
fn must_reset(view: &View, function: &str) -> Result<()> {
    if view.judge.is_superuser() {
        return Ok(());
    }
    let text = format!("permission denied for function {function}");
    Err(SqlError::new(state::NO_PRIVILEGE, text))
}

/// Rows of a view by the OIDs in one of its columns.
pub struct ByOid {
    rows: Rows,
    places: HashMap<i64, usize>,
}

impl ByOid {
    fn of(rows: Rows, key: &'static str) -> ByOid {
        let oids = rows.column(key).map(Datum::int).enumerate();
        let places = oids.filter_map(|(at, oid)| Some((oid?, at))).collect();
        ByOid { rows, places }
    }

    /// A value; `None` where there is no such row or column.
    fn value(&self, oid: i64, column: &str) -> Option<Datum> {
        let at = *self.places.get(&oid).filter(|_| !column.is_empty())?;
        self.rows.value(at, column).cloned()
    }
}

/// What was asked for once in a statement.
#[derive(Default)]
pub struct Counted {
    tables: OnceLock<ByOid>,
    indexes: OnceLock<ByOid>,
    databases: OnceLock<ByOid>,
    table_blocks: OnceLock<ByOid>,
    index_blocks: OnceLock<ByOid>,
}

fn made<'a>(
    held: &'a OnceLock<ByOid>,
    key: &'static str,
    make: impl FnOnce() -> Result<Rows>,
) -> Result<&'a ByOid> {
    if held.get().is_none() {
        let _ = held.set(ByOid::of(make()?, key));
    }
    Ok(held.get().expect("was just set"))
}

fn oid_of(arguments: &[Datum]) -> i64 {
    arguments.first().and_then(Datum::int).unwrap_or(0)
}

fn relation(seen: &Arc<Seen>, asked: &str) -> Option<Function> {
    let (_, of_table, of_index) = *OF_RELATIONS.iter().find(|known| known.0 == asked)?;
    // What is unknown was never done.
    let absent = if asked.ends_with("_time") { Datum::Null } else { Datum::Int(0) };
    let seen = Arc::clone(seen);
    Some(Function::new(move |a| {
        let (oid, view) = (oid_of(a), &seen.view);
        let tables = made(&seen.counted.tables, "relid", || relations::tables(view))?;
        if let Some(value) = tables.value(oid, of_table) {
            return Ok(value);
        }
        let indexes = made(&seen.counted.indexes, "indexrelid", || relations::indexes(view))?;
        Ok(indexes.value(oid, of_index).unwrap_or_else(|| absent.clone()))
    }))
}

/// Blocks of a relation that the cache had, or all that were asked for.
fn blocks(seen: &Arc<Seen>, fetched: bool) -> Function {
    let seen = Arc::clone(seen);
    Function::new(move |a| {
        let (oid, view) = (oid_of(a), &seen.view);
        let tables = made(&seen.counted.table_blocks, "relid", || relations::table_blocks(view))?;
        let index_blocks = || relations::index_blocks(view);
        let indexes = made(&seen.counted.index_blocks, "indexrelid", index_blocks)?;
        let number = |of_table: &str, of_index: &str| {
            let found = tables.value(oid, of_table).or_else(|| indexes.value(oid, of_index));
            found.and_then(|found| found.int()).unwrap_or(0)
        };
        let hit = number("heap_blks_hit", "idx_blks_hit");
        let read = number("heap_blks_read", "idx_blks_read");
        Ok((hit + if fetched { read } else { 0 }).into())
    })
}

fn database(seen: &Arc<Seen>, asked: &str) -> Option<Function> {
    let fetched = asked == "blocks_fetched";
    let column = match fetched {
        true => "blks_hit",
        false => OF_DATABASES.iter().find(|known| known.0 == asked)?.1,
    };
    let absent = if asked.ends_with("_time") { Datum::Null } else { Datum::Int(0) };
    let seen = Arc::clone(seen);
    Some(Function::new(move |a| {
        let view = &seen.view;
        let make = || Ok(monitored::rows(view, "pg_stat_database")?.unwrap_or_default());
        let all = made(&seen.counted.databases, "datid", make)?;
        let value = all.value(oid_of(a), column).unwrap_or_else(|| absent.clone());
        if fetched {
            let read = all.value(oid_of(a), "blks_read").and_then(|read| read.int()).unwrap_or(0);
            return Ok((value.int().unwrap_or(0) + read).into());
        }
        Ok(value)
    }))
}

/// What the transaction has changed so far.
fn done(view: &View, asked: &str) -> Option<Function> {
    let pick: fn(&onlap::TableActivity) -> u64 = match asked {
        "tuples_inserted" => |done| done.inserted,
        "tuples_updated" => |done| done.updated,
        "tuples_deleted" => |done| done.deleted,
        "tuples_hot_updated" => |done| done.updated_in_place,
        _ => return None,
    };
    let view = view.clone();
    Some(Function::new(move |a| {
        let done = relations::done_to(&view, oid_of(a))?;
        Ok(i64::try_from(pick(&done)).unwrap_or(i64::MAX).into())
    }))
}
