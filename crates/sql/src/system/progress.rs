//! What do the views of progress say?
//!
//! Rows of `pg_stat_progress_copy` and `pg_stat_progress_create_index`, for as long as such a statement runs. What VACUUM, ANALYZE
//! and CLUSTER do in PostgreSQL goes on in the background here, so their views have no rows.
//!
//! Thread safety: pure functions of what a statement sees.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::cluster::database_oids;
use super::figures::int;
use super::rows::{Datum, Rows};
use crate::catalog::oids;
use crate::instance::Presence;
use crate::progress::{Kind, Work};
use crate::row;
use crate::view::View;

/// The rows of a view of this module; `None` where it is none.
///
/// # Errors
/// The database is closed.
pub fn rows(view: &View, table: &str) -> crate::error::Result<Option<Rows>> {
    Ok(Some(match table {
        "pg_stat_progress_copy" => copies(view),
        "pg_stat_progress_create_index" => builds(view)?,
        _ => return Ok(None),
    }))
}

/// Sessions with work, and whether what it is about is told.
fn under_way(view: &View) -> Vec<(Arc<Presence>, Arc<Work>, bool)> {
    let sees_all = view.judge.has_rights_of(oids::PG_READ_ALL_STATS);
    let all = view.instance.sessions().into_iter();
    all.filter_map(|session| {
        let work = session.progress.work()?;
        let sees = sees_all || view.judge.has_rights_of(session.role);
        Some((session, work, sees))
    })
    .collect()
}

/// The first columns of each view: process, database and, for those who may know it, table.
fn first(databases: &[(u32, String)], of: &(Arc<Presence>, Arc<Work>, bool)) -> Vec<Datum> {
    let (session, work, sees) = of;
    let oid = databases.iter().find(|d| d.1 == session.database).map(|d| d.0);
    row![session.key.pid, oid, &session.database, sees.then_some(work.relation)]
}

fn copies(view: &View) -> Rows {
    let mut rows = Rows::of(
        "pid datid datname relid command type bytes_processed bytes_total tuples_processed \
         tuples_excluded",
    );
    let databases = database_oids(view);
    for of in under_way(view) {
        let (_, work, sees) = &of;
        let Kind::Copy { is_in } = work.kind else { continue };
        let number =
            |number: &std::sync::atomic::AtomicU64| sees.then(|| int(number.load(Relaxed)));
        let mut row = first(&databases, &of);
        row.extend(row![
            sees.then_some(if is_in { "COPY FROM" } else { "COPY TO" }),
            sees.then_some("PIPE"),
            number(&work.bytes),
            // How much the client will send it does not say.
            sees.then_some(0),
            number(&work.rows),
            number(&work.excluded),
        ]);
        rows.push(row);
    }
    rows
}

fn builds(view: &View) -> crate::error::Result<Rows> {
    let mut rows = Rows::of(
        "pid datid datname relid index_relid command phase lockers_total lockers_done \
         current_locker_pid blocks_total blocks_done tuples_total tuples_done partitions_total \
         partitions_done",
    );
    let (databases, builds) = (database_oids(view), view.instance.db.builds());
    for of in under_way(view) {
        let (_, work, sees) = &of;
        let Kind::Build { concurrently } = work.kind else { continue };
        // A table's indexes are built together, or one after the other.
        let build = builds.iter().find(|b| oids::of_table(b.table) == work.relation);
        let progress = build.map(|build| build.progress).unwrap_or_default();
        let index = build.and_then(|build| build.indexes.first());
        let command = if concurrently { "CREATE INDEX CONCURRENTLY" } else { "CREATE INDEX" };
        let phase = match build {
            Some(_) => "building index: scanning table",
            None => "initializing",
        };
        let number = |number: u64| sees.then(|| int(number));
        // Rows are read in the order of their blocks.
        let blocks = build.map_or(0, |build| build.blocks);
        let share =
            progress.rows_done.min(progress.rows_total) as f64 / progress.rows_total.max(1) as f64;
        let mut row = first(&databases, &of);
        row.extend(row![
            sees.then(|| index.map_or(0, |index| oids::of_index(*index))),
            sees.then_some(command),
            sees.then_some(phase),
            sees.then_some(0),
            sees.then_some(0),
            sees.then_some(0),
            number(blocks),
            number((blocks as f64 * share) as u64),
            number(progress.rows_total),
            number(progress.rows_done),
            sees.then_some(0),
            sees.then_some(0),
        ]);
        rows.push(row);
    }
    Ok(rows)
}
