//! Do views and functions of PostgreSQL count what is done to tables as PostgreSQL 15 does, and tell how far long work is?
//!
//! Counters are compared with a private PostgreSQL 15 (a Debian package) after the same statements. What depends on plans, and on
//! when dead rows go, is told by tests of Onlap alone.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use std::time::{Duration, Instant};

use onlap_sql::{Client, CopyData, Reply, Result, Session, SessionInfo};
use support::{Fixture, Talk, texts};

/// What both count, asked after each statement.
const ASKED: &str = "select relname, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_mod_since_analyze, n_ins_since_vacuum, vacuum_count, analyze_count, last_vacuum is null, last_analyze is null, last_autoanalyze is null, autoanalyze_count from pg_stat_user_tables where schemaname = 'public' order by relname";

/// Changes of all kinds. Rows that were refused are counted as in PostgreSQL where the last of a statement is.
const CHANGES: &str = "
create table t (id int primary key, v int, w text)
create index t_w on t (w)
insert into t select g, g, g::text from generate_series(1, 10) g
insert into t values (11, 1, 'a')
insert into t values (12, 1, 'a'), (13, 2, 'b')
insert into t values (1, 1, 'a')
update t set v = v + 1 where id < 4
update t set w = w || 'x' where id = 5
update t set v = 3 where id = 6
update t set v = 3 where id = 600
update t set id = id + 100 where id = 7
delete from t where id = 8
delete from t where v = 2
begin
insert into t values (20, 1, 'a')
update t set v = 0 where id = 20
update t set v = 0 where id = 1
delete from t where id = 20
rollback
begin
insert into t values (21, 1, 'a')
savepoint s
insert into t values (22, 1, 'a'), (23, 2, 'b')
update t set w = 'q' where id = 21
delete from t where id = 1
rollback to s
delete from t where id = 21
commit
insert into t values (1, 1, 'c'), (30, 1, 'c') on conflict (id) do update set v = 100
insert into t values (1, 1, 'c'), (31, 1, 'c') on conflict do nothing
insert into t values (1, 1, 'c') on conflict (id) do update set v = 7 where t.v = -1
merge into t using (values (1), (40)) s (x) on t.id = s.x when matched then update set v = 2 when not matched then insert values (x, 1, 'q')
merge into t using (values (40)) s (x) on t.id = s.x when matched then delete
with gone as (delete from t where id = 30 returning *) insert into t select id + 1000, v, w from gone
vacuum t
insert into t values (50, 5, 'e')
analyze t
update t set v = 4 where id = 50
vacuum (analyze) t
vacuum (analyze off) t
truncate t
insert into t values (1, 1, 'a')
create table parent (id int primary key)
create table child (id int primary key, p int references parent on delete cascade on update cascade)
create table loose (p int references parent on delete set null)
insert into parent values (1), (2), (3)
insert into child values (1, 1), (2, 1), (3, 2)
insert into loose values (1), (2)
delete from parent where id = 1
update parent set id = 5 where id = 2
insert into child values (9, 99)
create table part (a int, b int) partition by range (a)
create table part1 partition of part for values from (0) to (10)
create table part2 partition of part for values from (10) to (20)
insert into part values (1, 1), (2, 2), (12, 1)
update part set b = 3 where a = 2
update part set a = 13 where a = 1
delete from part where a = 12
vacuum part
create table made as select g from generate_series(1, 7) g
alter table made add column h int default 4
alter table made alter column g type bigint
create materialized view seen as select * from made
analyze part
analyze part1
vacuum (analyze) part
drop table loose";

/// Counters that are asked for by functions, rights, and counting anew.
const FUNCTIONS: &str = "
create table t (id int primary key, v int)
insert into t select g, g from generate_series(1, 20) g
update t set v = 0 where id < 6
delete from t where id = 1
select pg_stat_force_next_flush()
select pg_stat_clear_snapshot()
select pg_stat_get_tuples_inserted('t'::regclass), pg_stat_get_tuples_updated('t'::regclass), pg_stat_get_tuples_deleted('t'::regclass), pg_stat_get_tuples_hot_updated('t'::regclass), pg_stat_get_live_tuples('t'::regclass), pg_stat_get_mod_since_analyze('t'::regclass), pg_stat_get_ins_since_vacuum('t'::regclass)
select pg_stat_get_tuples_inserted(4294967295), pg_stat_get_numscans(0), pg_stat_get_last_vacuum_time(99), pg_stat_get_vacuum_count(99), pg_stat_get_tuples_inserted(null)
select pg_typeof(pg_stat_get_tuples_inserted(0)), pg_typeof(pg_stat_get_last_analyze_time(0)), pg_typeof(pg_stat_get_db_numbackends(0))
select n_tup_ins, pg_stat_get_tuples_inserted(relid) = n_tup_ins, pg_stat_get_dead_tuples(relid) = n_dead_tup, pg_stat_get_numscans(relid) = seq_scan, pg_stat_get_tuples_returned(relid) = seq_tup_read from pg_stat_user_tables where relname = 't'
select pg_stat_get_numscans(indexrelid) = idx_scan, pg_stat_get_tuples_returned(indexrelid) = idx_tup_read from pg_stat_user_indexes where indexrelname = 't_pkey'
select pg_stat_get_db_numbackends(oid) >= 1, pg_stat_get_db_tuples_inserted(oid) >= 20, pg_stat_get_db_xact_commit(oid) > 0, pg_stat_get_db_blocks_fetched(oid) >= pg_stat_get_db_blocks_hit(oid), pg_stat_get_db_deadlocks(oid) from pg_database where datname = current_database()
select pg_stat_get_db_tuples_inserted(99), pg_stat_get_db_stat_reset_time(99)
vacuum t
analyze t
select pg_stat_force_next_flush()
select pg_stat_get_last_vacuum_time('t'::regclass) <= now(), pg_stat_get_last_analyze_time('t'::regclass) <= now(), pg_stat_get_vacuum_count('t'::regclass), pg_stat_get_analyze_count('t'::regclass), pg_stat_get_autoanalyze_count('t'::regclass)
begin
insert into t values (100, 1), (101, 1)
update t set v = 2 where id = 10
delete from t where id = 11
select n_tup_ins, n_tup_upd, n_tup_del from pg_stat_xact_user_tables where relname = 't'
select n_tup_ins from pg_stat_xact_all_tables where relname = 't'
select pg_stat_get_xact_tuples_inserted('t'::regclass), pg_stat_get_xact_tuples_deleted('t'::regclass), pg_stat_get_xact_tuples_updated(0)
select n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables where relname = 't'
rollback
select pg_stat_force_next_flush()
select n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables where relname = 't'
create role counter
set role counter
select pg_stat_reset()
select pg_stat_reset_single_table_counters('t'::regclass)
select pg_stat_force_next_flush()
select n_tup_ins from pg_stat_user_tables where relname = 't'
reset role
select pg_stat_reset_single_table_counters('t'::regclass)
select n_tup_ins, n_tup_upd, n_tup_del, seq_scan, seq_tup_read, vacuum_count, last_vacuum, analyze_count, last_analyze, n_mod_since_analyze, n_ins_since_vacuum from pg_stat_user_tables where relname = 't'
insert into t values (200, 1)
select pg_stat_force_next_flush()
select n_tup_ins, n_ins_since_vacuum from pg_stat_user_tables where relname = 't'
select pg_stat_reset()
select n_tup_ins, seq_scan from pg_stat_user_tables where relname = 't'
select idx_scan, idx_tup_read from pg_stat_user_indexes where indexrelname = 't_pkey'
select tup_inserted, stats_reset > pg_postmaster_start_time() from pg_stat_database where datname = current_database()
create table bare (a int)
select idx_scan, idx_tup_fetch, seq_scan from pg_stat_user_tables where relname = 'bare'
select count(*) from pg_stat_progress_copy
select count(*) from pg_stat_progress_create_index
select count(*) from pg_stat_progress_vacuum
drop table t
drop table bare
drop role counter";

#[test]
fn changes_are_counted_as_in_postgresql() {
    let mut script = String::new();
    for change in CHANGES.lines().filter(|line| !line.is_empty()) {
        script += change;
        let closes = !["begin", "savepoint s", "rollback to s"].contains(&change);
        script += "\n";
        if closes {
            script += "select pg_stat_force_next_flush()\n";
            script += ASKED;
            script += "\n";
        }
    }
    compared::compare(&script);
}

#[test]
fn functions_say_single_counters_as_in_postgresql() {
    // PostgreSQL refuses before it tells the names of columns.
    for before in ["", "set fast_path = off"] {
        let differ = compared::differences(FUNCTIONS.lines(), before, compared::all_but_columns);
        assert!(differ.is_empty(), "{before}\n{}", differ.join("\n"));
    }
}

fn one(talk: &mut Talk, sql: &str) -> String {
    texts(&talk.rows(sql)).join(" ")
}

const OF_T: &str = "from pg_stat_user_tables where relname = 't'";

#[test]
fn reads_and_upkeep_are_counted() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, v int, w int)");
    talk.rows("insert into t select g, g, g % 10 from generate_series(1, 1000) g");
    talk.rows("create index t_w on t (w)");
    talk.rows("select pg_stat_reset()");
    let reads = format!("select seq_scan, seq_tup_read, idx_scan {OF_T}");
    assert_eq!(one(&mut talk, &reads), "0|0|0");
    talk.rows("select sum(v) from t");
    assert_eq!(one(&mut talk, &reads), "1|1000|0");
    talk.rows("select count(*) from t");
    assert_eq!(one(&mut talk, &reads), "2|2000|0");
    for sql in ["select v from t where id = 7", "select count(v) from t where w = 3"] {
        talk.rows(sql);
    }
    assert_eq!(one(&mut talk, &reads), "2|2000|2");
    // Of a whole table that is changed or emptied.
    talk.rows("update t set v = v + 1");
    talk.rows("delete from t");
    let scans = one(&mut talk, &format!("select seq_scan {OF_T}"));
    assert_eq!(scans, "4");
    let hot = format!("select n_tup_upd, n_tup_hot_upd, n_live_tup, n_dead_tup > 0 {OF_T}");
    assert_eq!(one(&mut talk, &hot), "1000|1000|0|t");
    talk.rows("insert into t values (1, 1, 1)");
    talk.rows("update t set w = 2 where id = 1");
    let hot = format!("select n_tup_upd, n_tup_hot_upd, n_live_tup {OF_T}");
    assert_eq!(one(&mut talk, &hot), "1001|1000|1");
    // Rows of a table without an index, of one that lies in files, and of temporary ones.
    talk.rows("create temporary table own (a int)");
    talk.rows("insert into own values (1), (2)");
    talk.rows("checkpoint");
    let own =
        "select n_tup_ins, n_live_tup, idx_scan from pg_stat_user_tables where relname = 'own'";
    assert_eq!(texts(&talk.rows(own)), ["2|2|NULL"]);
    let mine = "select live_rows, inserted, updated, updated_in_place, deleted, scans from onlap_stat.tables where table_name = 't'";
    assert_eq!(one(&mut talk, mine), "1|1|1001|1000|1000|4");
    // VACUUM without a table is one of all that are the role's.
    talk.rows("vacuum");
    talk.rows("analyze");
    let upkeep = "select relname, vacuum_count, analyze_count, last_vacuum <= now() from pg_stat_user_tables order by 1";
    assert_eq!(texts(&talk.rows(upkeep)), ["own|1|1|t", "t|1|1|t"]);
    let mut other = fixture.session();
    other.rows("create role nothing login");
    other.rows("set role nothing");
    other.rows("vacuum");
    assert_eq!(texts(&talk.rows(upkeep)), ["own|1|1|t", "t|1|1|t"]);
}

#[test]
fn counters_go_with_their_tables() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for _ in 0..2 {
        talk.rows("create table t (id int primary key)");
        talk.rows("insert into t values (1)");
        assert_eq!(one(&mut talk, &format!("select n_tup_ins {OF_T}")), "1");
        talk.rows("drop table t");
    }
    talk.rows("begin");
    talk.rows("create table t (id int primary key)");
    talk.rows("insert into t values (1), (2)");
    talk.rows("commit");
    assert_eq!(one(&mut talk, &format!("select n_tup_ins {OF_T}")), "2");
}

/// Asks until an answer holds.
fn until(talk: &mut Talk, sql: &str, holds: impl Fn(&[String]) -> bool) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let rows = texts(&talk.rows(sql));
        if holds(&rows) {
            return rows;
        }
        assert!(Instant::now() < end, "{sql}: {rows:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn how_far_a_build_is_others_see() {
    let fixture = Fixture::new(false);
    let (mut talk, mut looks, mut asks) = (fixture.session(), fixture.session(), fixture.session());
    talk.rows("create table big (id int primary key, v text)");
    talk.rows("insert into big select g, md5(g::text) from generate_series(1, 300000) g");
    talk.rows("create role stranger");
    asks.rows("set role stranger");
    let watched = "select p.command, p.phase, p.relid = 'big'::regclass, p.index_relid > 0, p.tuples_total, p.tuples_done between 0 and p.tuples_total, p.blocks_done between 0 and p.blocks_total, p.datname, p.lockers_total, a.query from pg_stat_progress_create_index p join pg_stat_activity a using (pid) where p.tuples_total > 0";
    let foreign = "select pid > 0, datname, relid, phase, command, tuples_done from pg_stat_progress_create_index";
    let build = "create index concurrently big_v on big (v)";
    std::thread::scope(|scope| {
        let builder = scope.spawn(move || talk.rows(build));
        let seen = until(&mut looks, watched, |rows| !rows.is_empty());
        assert_eq!(
            seen,
            [format!(
                "CREATE INDEX CONCURRENTLY|building index: scanning table|t|t|300000|t|t|postgres|0|{build}"
            )]
        );
        let rows = texts(&asks.rows(foreign));
        assert!(builder.is_finished() || rows == ["t|postgres|NULL|NULL|NULL|NULL"], "{rows:?}");
        builder.join().unwrap();
    });
    assert_eq!(texts(&looks.rows("select count(*) from pg_stat_progress_create_index")), ["0"]);
}

/// A client that asks in another session how far its COPY is, each time it sends or gets something.
struct Asking {
    reply: Reply,
    pieces: Vec<&'static str>,
    looks: Talk,
    seen: Vec<String>,
}

impl Asking {
    fn look(&mut self) {
        let sql = "select command, type, relid::regclass, bytes_processed, bytes_total, tuples_processed, tuples_excluded from pg_stat_progress_copy";
        self.seen.extend(texts(&self.looks.rows(sql)));
    }
}

impl Client for Asking {
    fn reply(&mut self) -> &mut Reply {
        &mut self.reply
    }
    fn send(&mut self) -> Result<()> {
        self.reply.bytes().clear();
        self.look();
        Ok(())
    }
    fn copy_data(&mut self) -> Result<CopyData> {
        self.look();
        match self.pieces.is_empty() {
            true => Ok(CopyData::Done),
            false => Ok(CopyData::Piece(self.pieces.remove(0).as_bytes().to_vec())),
        }
    }
}

/// What is seen of a COPY.
fn copied(fixture: &Fixture, sql: &str, pieces: Vec<&'static str>) -> Vec<String> {
    let info = SessionInfo {
        user: "postgres".into(),
        database: "postgres".into(),
        ..SessionInfo::default()
    };
    let mut session = Session::new(&fixture.instance, info).unwrap();
    let looks = fixture.session();
    let mut client = Asking { reply: Reply::default(), pieces, looks, seen: Vec::new() };
    session.query(sql, &mut client).unwrap();
    let after = client.looks.rows("select count(*) from pg_stat_progress_copy");
    assert_eq!(texts(&after), ["0"], "{sql}");
    client.seen.dedup();
    client.seen
}

#[test]
fn how_far_a_copy_is_others_see() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (a int, b text)");
    let pieces = || vec!["1\tone\n2\tt", "wo\n", "3\tthree\n4\tfour\n"];
    assert_eq!(
        copied(&fixture, "copy t from stdin", pieces()),
        [
            "COPY FROM|PIPE|t|0|0|0|0",
            "COPY FROM|PIPE|t|9|0|1|0",
            "COPY FROM|PIPE|t|12|0|2|0",
            "COPY FROM|PIPE|t|27|0|4|0",
        ]
    );
    let seen = copied(&fixture, "copy t from stdin where random() >= 0 and a > 3", pieces());
    assert_eq!(
        seen,
        [
            "COPY FROM|PIPE|t|0|0|0|0",
            "COPY FROM|PIPE|t|9|0|0|1",
            "COPY FROM|PIPE|t|12|0|0|2",
            "COPY FROM|PIPE|t|27|0|1|3",
        ]
    );
    talk.rows("insert into t select g, repeat('x', 90) from generate_series(1, 20000) g");
    for sql in ["copy t to stdout", "copy (select * from t) to stdout"] {
        let seen = copied(&fixture, sql, Vec::new());
        let of = if sql.contains("select") { "-" } else { "t" };
        assert!(seen.len() > 2, "{seen:?}");
        let (mut bytes, mut rows) = (0, 0);
        for line in &seen {
            let fields: Vec<&str> = line.split('|').collect();
            assert_eq!([fields[0], fields[1], fields[2]], ["COPY TO", "PIPE", of]);
            let now: [u64; 2] = [fields[3], fields[5]].map(|field| field.parse().unwrap());
            assert!(now[0] >= bytes && now[1] >= rows, "{seen:?}");
            [bytes, rows] = now;
        }
        assert!((1..=20_005).contains(&rows) && bytes > 90 * rows, "{seen:?}");
    }
    // A COPY that fails is none.
    assert!(!copied(&fixture, "copy t from stdin", vec!["x\n"]).is_empty());
    // Others do not see what it is about.
    talk.rows("create role stranger login");
    let looks = fixture.session_of("stranger");
    let info = SessionInfo {
        user: "postgres".into(),
        database: "postgres".into(),
        ..SessionInfo::default()
    };
    let mut session = Session::new(&fixture.instance, info).unwrap();
    let mut client = Asking { reply: Reply::default(), pieces: pieces(), looks, seen: Vec::new() };
    session.query("copy t from stdin", &mut client).unwrap();
    client.seen.dedup();
    assert_eq!(client.seen, ["NULL|NULL|NULL|NULL|NULL|NULL|NULL"]);
}

#[test]
fn counters_survive_a_clean_stop() {
    let dir = tempfile::tempdir().unwrap();
    let counts = "select n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, seq_scan, seq_tup_read, idx_scan, vacuum_count, last_vacuum is not null, n_mod_since_analyze from pg_stat_user_tables where relname = 't'";
    let expected = ["10|2|1|9|1|9|3|1|t|13"];
    {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        talk.rows("create table t (id int primary key, v int)");
        talk.rows("insert into t select g, g from generate_series(1, 10) g");
        talk.rows("update t set v = 0 where id = 1");
        talk.rows("update t set v = 0 where id = 2");
        talk.rows("delete from t where id = 3");
        talk.rows("vacuum t");
        talk.rows("select sum(v) from t");
        assert_eq!(texts(&talk.rows(counts)), expected);
        drop(talk);
        fixture.instance.close().unwrap();
    }
    let fixture = Fixture::at(dir.path());
    let mut talk = fixture.session();
    assert_eq!(texts(&talk.rows(counts)), expected);
    talk.rows("insert into t values (100, 1)");
    assert_eq!(one(&mut talk, &format!("select n_tup_ins {OF_T}")), "11");
}

#[test]
fn blocks_are_counted_by_relation() {
    let dir = tempfile::tempdir().unwrap();
    {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        // In no order, so that the index has blocks of its own.
        talk.rows("create table t (id text primary key, v text)");
        talk.rows("create table bare (v text)");
        talk.rows("create sequence s");
        talk.rows("insert into t select md5(g::text), g from generate_series(1, 50000) g");
        talk.rows("insert into bare select v from t");
        talk.rows("checkpoint");
        fixture.instance.close().unwrap();
    }
    let fixture = Fixture::at(dir.path());
    let mut talk = fixture.session();
    talk.rows("select pg_stat_reset()");
    let tables = "select relname, heap_blks_read > 0, heap_blks_hit > 0, idx_blks_read > 0, idx_blks_hit > 0 from pg_statio_user_tables order by 1";
    assert_eq!(texts(&talk.rows(tables)), ["bare|f|f|NULL|NULL", "t|f|f|f|f"]);
    let one = "select v from t where id = md5('40000')";
    assert_eq!(texts(&talk.rows(one)), ["40000"]);
    assert_eq!(texts(&talk.rows(tables)), ["bare|f|f|NULL|NULL", "t|t|f|t|f"]);
    for _ in 0..2 {
        talk.rows(one);
        talk.rows("select max(v) from bare");
    }
    assert_eq!(texts(&talk.rows(tables)), ["bare|t|t|NULL|NULL", "t|t|t|t|t"]);
    let indexes = "select i.indexrelname, i.idx_blks_read = t.idx_blks_read, i.idx_blks_hit = t.idx_blks_hit, pg_stat_get_blocks_fetched(i.indexrelid) = i.idx_blks_read + i.idx_blks_hit, pg_stat_get_blocks_hit(t.relid) = t.heap_blks_hit, pg_stat_get_blocks_fetched(99) from pg_statio_user_indexes i join pg_statio_user_tables t using (relid)";
    assert_eq!(texts(&talk.rows(indexes)), ["t_pkey|t|t|t|t|0"]);
    let sequences = "select relname, blks_read, blks_hit from pg_statio_user_sequences";
    assert_eq!(texts(&talk.rows(sequences)), ["s|0|0"]);
}
