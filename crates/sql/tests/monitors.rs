//! Can monitors of PostgreSQL ask Onlap what they ask PostgreSQL 15?
//!
//! Columns and functions that Grafana's dashboards, pgAdmin, pgwatch and pg_activity read, next to a private PostgreSQL 15 (a Debian package).
//! Figures differ, so statements ask whether they are there and what holds for both.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use std::time::{Duration, Instant};

use support::{Fixture, Talk, texts};

/// What is asked, with the same answers by both.
const ASKED: &str = "
select count(*), min(archived_count), min(failed_count), bool_and(stats_reset <= clock_timestamp()) from pg_stat_archiver
select count(*), bool_and(checkpoints_timed >= 0 and checkpoints_req >= 0 and buffers_clean >= 0 and buffers_alloc >= 0) from pg_stat_bgwriter
select count(*), bool_and(wal_records >= 0 and wal_fpi >= 0 and wal_bytes >= 0) from pg_stat_wal
select datname, confl_lock + confl_snapshot + confl_bufferpin + confl_deadlock + confl_tablespace from pg_stat_database_conflicts where datname = 'postgres'
select datname, numbackends >= 1, xact_commit > 0, xact_rollback >= 0, blks_read + blks_hit >= 0, tup_returned + tup_fetched >= 0, tup_inserted + tup_updated + tup_deleted >= 0, conflicts, deadlocks, temp_files + temp_bytes >= 0, sessions >= 1, sessions_killed from pg_stat_database where datname = 'postgres'
select age(datfrozenxid) between 0 and 1000000000, mxid_age(datminmxid) between 0 and 1000000000 from pg_database where datname = 'postgres'
create table watched (a int primary key)
select age(relfrozenxid) between 0 and 1000000000, mxid_age(relminmxid) between 0 and 1000000000 from pg_class where relname = 'watched'
select age(relfrozenxid), age(null::xid), pg_typeof(age('5'::xid)) from pg_class where relname = 'watched_pkey'
select pg_control_version, catalog_version_no, system_identifier > 0 from pg_control_system()
select pg_last_xact_replay_timestamp()
select pg_walfile_name(l::pg_lsn) from unnest(array['0/1', '0/16B3740', '0/1000000', '0/1000001', '1/0', 'FF/FFFFFFFF', 'FFFFFFFF/FFFFFFFF', '0/0', null]) l
select pg_walfile_name(pg_current_wal_lsn()) ~ '^0000000100000000000000[0-9A-F]{2}$'
select count(*) > 0, min(size) > 0, bool_and(name ~ '^[0-9A-F]+') from pg_ls_waldir()
select count(*) from pg_ls_archive_statusdir()
select count(*) from pg_ls_tmpdir()
select count(*) from pg_ls_tmpdir(1663)
select current_setting('max_worker_processes')::int >= 0, current_setting('autovacuum_max_workers')::int >= 0, current_setting('max_wal_senders')::int >= 0, current_setting('max_replication_slots')::int >= 0, current_setting('max_logical_replication_workers')::int >= 0, current_setting('shared_buffers') <> ''
show autovacuum
show archive_mode
select pg_postmaster_start_time() < clock_timestamp(), pg_postmaster_start_time() = pg_postmaster_start_time()
select state, query like 'select state%', backend_type, wait_event_type, leader_pid, query_start <= clock_timestamp(), xact_start <= query_start + interval '1 ms', state_change >= query_start, backend_start <= query_start from pg_stat_activity where pid = pg_backend_pid()
begin
select xact_start < clock_timestamp(), now() - xact_start < interval '1 s' from pg_stat_activity where pid = pg_backend_pid()
select xact_start < query_start from pg_stat_activity where pid = pg_backend_pid()
commit
drop table watched";

/// Who may ask. Functions are refused when they are called, after the names of their columns were told.
const RIGHTS: &str = "
create role unseen
set role unseen
select * from pg_ls_waldir()
select * from pg_ls_tmpdir()
select * from pg_ls_archive_statusdir()
select count(*), bool_and(age(datfrozenxid) >= 0) from pg_database where datname = 'postgres'
select count(*) from pg_stat_bgwriter
show data_directory
select current_setting('data_directory')
select count(*) from pg_settings where name = 'data_directory'
select * from pg_ls_tmpdir(99999)
reset role
select * from pg_ls_tmpdir(99999)
select count(*) from pg_ls_tmpdir(1663)
select unit from pg_settings where name = 'shared_buffers'
grant pg_monitor to unseen
set role unseen
select count(*) from pg_ls_archive_statusdir()
select count(*) > 0 from pg_ls_waldir()
select current_setting('data_directory') is not null, count(*) from pg_settings where name = 'data_directory'
begin
select pg_sleep(0.3)
commit and chain
select now() - xact_start < '200 ms' from pg_stat_activity where pid = pg_backend_pid()
rollback
reset role
drop role unseen";

#[test]
fn what_monitors_ask_is_answered_as_in_postgresql() {
    compared::compare(ASKED);
    let differ = compared::differences(RIGHTS.lines(), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

fn number(talk: &mut Talk, sql: &str) -> i64 {
    let rows = talk.rows(sql);
    rows[0][0].as_deref().unwrap_or_else(|| panic!("NULL: {sql}")).parse().unwrap()
}

#[test]
fn a_database_counts_what_is_done_in_it() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (a int primary key, b int)");
    let figure = |what: &str| {
        format!("select {what} from pg_stat_database where datname = current_database()")
    };
    let asked = "xact_commit xact_rollback tup_inserted tup_updated tup_deleted sessions";
    let asked: Vec<String> = asked.split(' ').map(figure).collect();
    let before: Vec<i64> = asked.iter().map(|sql| number(&mut talk, sql)).collect();
    talk.rows("insert into t select i, 0 from generate_series(1, 100) i");
    talk.rows("insert into t values (101, 1), (102, 2)");
    talk.rows("update t set b = 5 where a <= 10");
    talk.rows("delete from t where a <= 3");
    assert!(talk.run("insert into t values (50, 0)").error.is_some());
    talk.rows("begin");
    talk.rows("insert into t values (103, 0)");
    talk.rows("rollback");
    let mut other = fixture.session();
    other.rows("select 1");
    let after: Vec<i64> = asked.iter().map(|sql| number(&mut talk, sql)).collect();
    let grown: Vec<i64> = after.iter().zip(&before).map(|(now, then)| now - then).collect();
    // Those that ask are committed transactions themselves: of the first look all but its own, which is the sixth.
    assert_eq!(grown, [6 + 4 + 1, 2, 103, 10, 3, 1]);
    let read = number(&mut talk, &figure("tup_fetched"));
    assert_eq!(number(&mut talk, "select count(*) from t where b = 5 and b + 0 = 5"), 7);
    assert!(number(&mut talk, &figure("tup_fetched")) >= read + 99);
    talk.rows("create database other");
    let elsewhere = "select tup_inserted from pg_stat_database where datname = 'other'";
    assert_eq!(number(&mut talk, elsewhere), 0);
}

/// Waits until an answer is this.
fn until(talk: &mut Talk, sql: &str, wanted: &[&str]) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let rows = talk.rows(sql);
        if texts(&rows) == wanted {
            return;
        }
        assert!(Instant::now() < end, "{sql}: {rows:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn who_waits_for_a_row_is_told_and_for_whom() {
    let fixture = Fixture::new(false);
    let (mut first, mut looks) = (fixture.session(), fixture.session());
    first.rows("create table t (a int primary key, b int)");
    first.rows("insert into t values (1, 0)");
    first.rows("begin");
    first.rows("update t set b = 1 where a = 1");
    let pid = number(&mut first, "select pg_backend_pid()");
    let mut second = fixture.session();
    std::thread::scope(|scope| {
        scope.spawn(move || second.rows("update t set b = 2 where a = 1"));
        let waits = "select state, wait_event_type, wait_event from pg_stat_activity where query like 'update t set b = 2%' and query not like '%activity%'";
        until(&mut looks, waits, &["active|Lock|transactionid"]);
        let blocked = "select unnest(pg_blocking_pids(pid)) from pg_stat_activity where wait_event_type = 'Lock'";
        until(&mut looks, blocked, &[&pid.to_string()]);
        let locks = "select w.locktype, w.mode, h.mode, h.pid from pg_locks w join pg_locks h on h.transactionid = w.transactionid and h.granted where not w.granted";
        until(&mut looks, locks, &[&format!("transactionid|ShareLock|ExclusiveLock|{pid}")]);
        first.rows("commit");
    });
    until(&mut looks, "select count(*) from pg_locks where not granted", &["0"]);
    let idle = format!("select state, wait_event from pg_stat_activity where pid = {pid}");
    until(&mut looks, &idle, &["idle|ClientRead"]);
}

#[test]
fn each_of_several_waits_for_one_lock() {
    let fixture = Fixture::new(false);
    let (mut first, mut looks) = (fixture.session(), fixture.session());
    first.rows("create table t (a int primary key, b int)");
    first.rows("insert into t values (1, 0)");
    first.rows("begin");
    first.rows("update t set b = 1 where a = 1");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut other = fixture.session();
            scope.spawn(move || other.rows("update t set b = b + 1 where a = 1"));
        }
        let waits = "select count(*) from pg_stat_activity where wait_event = 'transactionid'";
        until(&mut looks, waits, &["4"]);
        let locks = "select count(*), count(distinct pid) from pg_locks where not granted";
        until(&mut looks, locks, &["4|4"]);
        first.rows("commit");
    });
    until(&mut looks, "select b from t", &["5"]);
}
