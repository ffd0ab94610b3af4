//! What do monitors of PostgreSQL ask, of sessions, databases and the server?
//!
//! Grafana's dashboards, pgAdmin, pgwatch and pg_activity read these views and count on a row where PostgreSQL always has one. Columns that
//! Onlap counts nothing for are NULL, or 0 where the thing itself is not there: checkpoints, archived logs, conflicts with standbys.
//!
//! Thread safety: pure functions of what a statement sees.

use std::sync::atomic::Ordering::Relaxed;

use onlap::Stats;
use onlap_base::clock::{Clock, SystemClock};
use ring::digest;

use super::cluster::database_oids;
use super::figures::int;
use super::locks;
use super::rows::{Datum, Rows};
use crate::calls::Fingerprint;
use crate::catalog::oids;
use crate::error::{Result, SqlError, state};
use crate::row;
use crate::view::View;

/// The first number of an ordinary transaction.
const FIRST_XID: u32 = 3;
/// Versions of PostgreSQL 15's control file and catalogs.
const CONTROL_VERSION: i32 = 1300;
const CATALOG_VERSION: i32 = 202_209_061;

/// The rows of a view of this module.
///
/// # Errors
/// The database is closed.
pub fn rows(view: &View, table: &str) -> Result<Option<Rows>> {
    Ok(Some(match table {
        "pg_stat_activity" => activity(view),
        "pg_stat_database" => databases(view, &view.instance.db.stats_without_keys()?),
        "pg_stat_database_conflicts" => conflicts(view),
        "pg_stat_archiver" => archiver(view),
        "pg_stat_bgwriter" => writer(view),
        "pg_stat_wal" => log(view, &view.instance.db.stats_without_keys()?),
        _ => return super::progress::rows(view, table),
    }))
}

fn activity(view: &View) -> Rows {
    let mut rows = Rows::of(
        "datid datname pid usesysid usename application_name client_addr client_port \
         backend_start xact_start query_start state_change wait_event_type wait_event state query_id \
         query backend_type",
    );
    let (databases, rights) = (database_oids(view), view.judge.rights());
    let sees_all = view.judge.has_rights_of(oids::PG_READ_ALL_STATS);
    let waiting = locks::waiting(view);
    for session in view.instance.sessions() {
        // What others do is theirs.
        let sees = sees_all || view.judge.has_rights_of(session.role);
        let address = session.peer.parse::<std::net::SocketAddr>().ok().filter(|_| sees);
        let text = session.statement.lock().to_string();
        let state = *session.state.lock();
        let since =
            |us: &std::sync::atomic::AtomicI64| Some(us.load(Relaxed)).filter(|us| sees && *us > 0);
        let waits = waiting.iter().find(|(pid, _)| *pid == i64::from(session.key.pid));
        let wait = match (waits, state) {
            _ if !sees => None,
            (Some((_, what)), _) => Some(("Lock", *what)),
            (None, "active") => None,
            (None, _) => Some(("Client", "ClientRead")),
        };
        let number = (sees && !text.is_empty()).then(|| Fingerprint::of(&text).hash.cast_signed());
        rows.push(row![
            databases.iter().find(|d| d.1 == session.database).map(|d| d.0),
            &session.database,
            session.key.pid,
            session.role,
            rights.name_of(session.role),
            session.application.lock().clone(),
            address.map(|a| a.ip().to_string()),
            address.map(|a| i32::from(a.port())),
            sees.then_some(session.began_us),
            since(&session.since.transaction_us),
            since(&session.since.statement_us),
            since(&session.since.state_us),
            wait.map(|wait| wait.0),
            wait.map(|wait| wait.1),
            sees.then_some(state),
            number,
            if sees { text } else { "<insufficient privilege>".to_string() },
            sees.then_some("client backend"),
        ]);
    }
    rows
}

fn databases(view: &View, stats: &Stats) -> Rows {
    let mut rows = Rows::of(
        "datid datname numbackends xact_commit xact_rollback blks_read blks_hit tup_returned \
         tup_fetched tup_inserted tup_updated tup_deleted conflicts temp_files temp_bytes deadlocks \
         sessions sessions_abandoned sessions_fatal sessions_killed stats_reset",
    );
    let sessions = view.instance.sessions();
    // The cache does not know for which database it is asked.
    let missed = stats.cache_misses as f64 / stats.reads.blocks_read.max(1) as f64;
    for (oid, name) in database_oids(view) {
        let here = sessions.iter().filter(|s| s.database == name).count();
        let counts = view.instance.counts.known(&name).unwrap_or_default();
        let number = |counter: &std::sync::atomic::AtomicU64| int(counter.load(Relaxed));
        let blocks = counts.blocks.load(Relaxed);
        let read = ((blocks as f64 * missed) as u64).min(blocks);
        rows.push(row![
            oid,
            name,
            here,
            number(&counts.commits),
            number(&counts.rollbacks),
            int(read),
            int(blocks - read),
            number(&counts.returned),
            number(&counts.fetched),
            number(&counts.inserted),
            number(&counts.updated),
            number(&counts.deleted),
            0,
            number(&counts.temp_files),
            number(&counts.temp_bytes),
            number(&counts.deadlocks),
            number(&counts.sessions),
            0,
            0,
            0,
            counts.reset_us.load(Relaxed).max(view.instance.began_us),
        ]);
    }
    rows
}

/// The number of the transaction up to which nothing has to be frozen: none ever has, so that it is the newest. Numbers of transactions are
/// the microsecond when they began, of which an xid has the lowest 32 bits.
pub fn frozen() -> u32 {
    (SystemClock.unix_us() as u32).max(FIRST_XID)
}

/// How many transactions ago one began: as many as PostgreSQL can tell for what is no number of one.
pub fn age(xid: u32) -> i32 {
    match xid < FIRST_XID {
        true => i32::MAX,
        false => frozen().wrapping_sub(xid).cast_signed(),
    }
}

/// `pg_control_system`: versions of PostgreSQL's, and a number that tells this database from others.
pub fn system(view: &View) -> Rows {
    let mut rows = Rows::of("pg_control_version catalog_version_no system_identifier");
    let key = view.instance.mock_key();
    let digest = digest::digest(&digest::SHA256, &[&key[..], b"system identifier"].concat());
    let first = digest.as_ref().first_chunk().expect("a digest has 32 bytes");
    rows.push(row![CONTROL_VERSION, CATALOG_VERSION, i64::from_be_bytes(*first) & i64::MAX]);
    rows
}

/// `pg_ls_waldir`: files of the log. When they were changed is not known.
///
/// # Errors
/// `42501`; the directory cannot be read.
pub fn log_files(view: &View) -> Result<Rows> {
    must_monitor(view, "pg_ls_waldir")?;
    let mut rows = Rows::of("name size");
    for (name, bytes) in view.instance.db.log_files()? {
        rows.push(row![name, int(bytes)]);
    }
    Ok(rows)
}

/// Directories that there are none of: `pg_ls_archive_statusdir`, `pg_ls_tmpdir`. Temporary files have no names.
///
/// # Errors
/// `42501`.
pub fn no_files(view: &View, function: &str) -> Result<Rows> {
    must_monitor(view, function)?;
    Ok(Rows::of("name size"))
}

fn must_monitor(view: &View, function: &str) -> Result<()> {
    if view.judge.is_superuser() || view.judge.has_rights_of(oids::PG_MONITOR) {
        return Ok(());
    }
    let text = format!("permission denied for function {function}");
    Err(SqlError::new(state::NO_PRIVILEGE, text))
}

fn conflicts(view: &View) -> Rows {
    let mut rows = Rows::of(
        "datid datname confl_tablespace confl_lock confl_snapshot confl_bufferpin confl_deadlock",
    );
    for (oid, name) in database_oids(view) {
        rows.push(row![oid, name, 0, 0, 0, 0, 0]);
    }
    rows
}

fn archiver(view: &View) -> Rows {
    let mut rows = Rows::of("archived_count failed_count stats_reset");
    rows.push(row![0, 0, view.instance.began_us]);
    rows
}

/// Nothing is written because of a checkpoint.
fn writer(view: &View) -> Rows {
    let mut rows = Rows::of(
        "checkpoints_timed checkpoints_req checkpoint_write_time checkpoint_sync_time \
         buffers_checkpoint buffers_clean maxwritten_clean buffers_backend buffers_backend_fsync \
         buffers_alloc stats_reset",
    );
    rows.push(row![0, 0, 0.0, 0.0, 0, 0, 0, 0, 0, 0, view.instance.began_us]);
    rows
}

/// Records are commits.
fn log(view: &View, stats: &Stats) -> Rows {
    let mut rows = Rows::of("wal_records wal_fpi wal_bytes stats_reset");
    let bytes = stats.written.log.saturating_sub(stats.written_before.log);
    let commits = int(stats.commits.commits());
    rows.push(row![commits, 0, Datum::Text(bytes.to_string()), view.instance.began_us]);
    rows
}
