//! Which statements ran, as onlap_stat and as pg_stat_statements say it?
//!
//! Both are made from [`crate::calls::Calls`]. What PostgreSQL counts and Onlap does not is 0, where tools add it up. Statements
//! of other roles are shown without a text and a number to those who may not see them.

use std::collections::HashMap;

use onlap::IndexId;

use super::int;
use crate::calls::Called;
use crate::catalog::names::Name;
use crate::catalog::oids;
use crate::rights::ask::database_oid;
use crate::row;
use crate::system::rows::{Datum, Rows};
use crate::view::View;

/// What is shown in the place of a text that is not for the role.
const HIDDEN: &str = "<insufficient privilege>";
/// Bytes of a block as PostgreSQL counts temporary files in.
const BLOCK_BYTES: u64 = 8192;

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

/// Which statements the role sees.
struct Sight<'a> {
    view: &'a View,
    sees_all: bool,
}

impl Sight<'_> {
    fn of(view: &View) -> Sight<'_> {
        Sight { view, sees_all: view.judge.has_rights_of(oids::PG_READ_ALL_STATS) }
    }

    fn sees(&self, called: &Called) -> bool {
        self.sees_all || self.view.judge.has_rights_of(called.role)
    }
}

/// Whether a view's role sees the text of a statement.
pub fn sees(view: &View, called: &Called) -> bool {
    Sight::of(view).sees(called)
}

/// The names of all indexes, without their schemas; those of other databases too, which statements of them read.
fn names(view: &View) -> HashMap<IndexId, String> {
    let Ok(stats) = view.instance.db.stats_without_keys() else { return HashMap::new() };
    let of_table = |table: onlap::TableStats| {
        table.indexes.into_iter().map(move |index| {
            // The engine makes the name of a primary key from the table's whole name.
            let is_primary = index.name.starts_with(&table.name);
            let name = if is_primary { Name::of_engine(&index.name).1.name } else { index.name };
            (index.id, name)
        })
    };
    stats.tables.into_iter().flat_map(of_table).collect()
}

/// `onlap_stat.statements`.
pub fn rows(view: &View) -> Rows {
    let mut rows = Rows::of(
        "database_name role_name query_id query calls native_calls rows total_ms mean_ms min_ms \
         max_ms p50_ms p99_ms stddev_ms indexes entries_read rows_read blocks_read temp_bytes",
    );
    let (sight, names) = (Sight::of(view), names(view));
    for called in view.instance.calls.all() {
        let sees = sight.sees(&called);
        // One that was dropped since has no name.
        let indexes = called.indexes.iter().filter(|_| sees);
        let indexes = indexes.filter_map(|id| names.get(id).cloned());
        rows.push(row![
            &*called.database,
            view.judge.rights().name_of(called.role),
            sees.then_some(called.fingerprint.hash.cast_signed()),
            if sees { &*called.fingerprint.text } else { HIDDEN },
            int(called.calls),
            int(called.native),
            int(called.rows),
            ms(called.total_ns as f64),
            ms(called.mean_ns()),
            ms(called.min_ns as f64),
            ms(called.max_ns as f64),
            ms(called.quantile_ns(0.5) as f64),
            ms(called.quantile_ns(0.99) as f64),
            ms(called.deviation_ns()),
            Datum::Texts(indexes.collect()),
            int(called.read.index_entries_read),
            int(called.read.rows_read),
            int(called.read.blocks_read),
            int(called.temp_bytes),
        ]);
    }
    rows
}

/// The views of the extension.
pub fn as_pg(view: &View, name: &str) -> Option<Rows> {
    match name {
        "pg_stat_statements" => Some(listed(view, true)),
        "pg_stat_statements_info" => Some(info(view)),
        _ => None,
    }
}

/// `pg_stat_statements_info`.
pub fn info(view: &View) -> Rows {
    let mut rows = Rows::of("dealloc stats_reset");
    let (gone, since_us) = view.instance.calls.gone_since();
    rows.push(row![int(gone), since_us]);
    rows
}

/// `pg_stat_statements`, with texts or without them.
pub fn listed(view: &View, texts: bool) -> Rows {
    let counted = "userid dbid toplevel queryid query calls total_exec_time min_exec_time \
                   max_exec_time mean_exec_time stddev_exec_time rows shared_blks_read \
                   temp_blks_read temp_blks_written";
    let zero_ints = "plans shared_blks_hit shared_blks_dirtied shared_blks_written local_blks_hit \
                     local_blks_read local_blks_dirtied local_blks_written wal_records wal_fpi \
                     wal_bytes jit_functions jit_inlining_count jit_optimization_count \
                     jit_emission_count";
    let zero_times = "total_plan_time min_plan_time max_plan_time mean_plan_time stddev_plan_time \
                      blk_read_time blk_write_time temp_blk_read_time temp_blk_write_time \
                      jit_generation_time jit_inlining_time jit_optimization_time \
                      jit_emission_time";
    let all = [counted, zero_ints, zero_times].map(str::split_whitespace);
    let mut rows = Rows::named(all.into_iter().flatten().collect());
    let (ints, times) = (zero_ints.split_whitespace(), zero_times.split_whitespace());
    let zeros = ints.map(|_| Datum::Int(0)).chain(times.map(|_| Datum::Float(0.0)));
    let zeros: Vec<Datum> = zeros.collect();
    let sight = Sight::of(view);
    for called in view.instance.calls.all() {
        let sees = sight.sees(&called);
        let text = if sees { &*called.fingerprint.text } else { HIDDEN };
        let mut row = row![
            called.role,
            database_oid(&view.objects, &called.database),
            true,
            sees.then_some(called.fingerprint.hash.cast_signed()),
            texts.then_some(text),
            int(called.calls),
            ms(called.total_ns as f64),
            ms(called.min_ns as f64),
            ms(called.max_ns as f64),
            ms(called.mean_ns()),
            ms(called.deviation_ns()),
            int(called.rows),
            int(called.read.blocks_read),
            // What was written there was read again.
            int(called.temp_bytes.div_ceil(BLOCK_BYTES)),
            int(called.temp_bytes.div_ceil(BLOCK_BYTES)),
        ];
        row.extend(zeros.iter().cloned());
        rows.push(row);
    }
    rows
}

/// `pg_stat_statements_reset`: 0 stands for all.
pub fn reset(view: &View, role: i64, database: i64, query: i64) {
    let calls = &view.instance.calls;
    if (role, database, query) == (0, 0, 0) {
        return calls.begin_anew();
    }
    let is = |wanted: i64, own: i64| wanted == 0 || wanted == own;
    calls.forget(|called| {
        is(role, called.role.into())
            && is(database, database_oid(&view.objects, &called.database).into())
            && is(query, called.fingerprint.hash.cast_signed())
    });
}
