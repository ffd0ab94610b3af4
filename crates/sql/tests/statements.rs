//! Is what ran told as pg_stat_statements of PostgreSQL 15 tells it?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;
#[path = "support/compared.rs"]
mod theirs;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;
use support::{Fixture, Talk, texts};
use theirs::compare;

const DEFINITIONS: &str = include_str!("../testdata/extensions/pg_stat_statements.sql");

#[test]
fn the_extension_is_defined_as_in_postgresql() {
    compare(DEFINITIONS);
}

/// What runs here and there.
const WORK: &[&str] = &[
    "create table acc (id int primary key, v int)",
    "insert into acc select i, i from generate_series(1, 100) i",
    "select v from acc where id = 3",
    "select v from acc where id = 5",
    "select v from acc where id = 'x'",
    "select v, 'a' from acc where v between 10 and 20 order by v",
    "update acc set v = v + 1 where id < 11",
    "update acc set v = v + 2 where id < 21",
    "delete from acc where id = 99",
    "select count(*) from acc",
    "begin",
    "select count(*) from acc",
    "commit",
];

/// What is said of it, and of statements like it.
const ASKED: &[&str] = &[
    "select query, calls, rows, plans, toplevel, userid::regrole from pg_stat_statements where query ilike '%acc%' and query not ilike '%pg_stat%' and query not ilike 'create%' order by query collate \"C\"",
    "select count(*) > 0 from pg_stat_statements where calls > 0 and (min_exec_time > mean_exec_time or mean_exec_time > max_exec_time or abs(total_exec_time / calls - mean_exec_time) > 0.001 or stddev_exec_time < 0 or calls = 1 and stddev_exec_time <> 0)",
    "select count(*), count(query), count(queryid) from pg_stat_statements(false) where queryid in (select queryid from pg_stat_statements where query like 'delete from acc%')",
    "select dealloc, stats_reset <= clock_timestamp(), stats_reset > now() - interval '1 hour' from pg_stat_statements_info",
    "select (pg_stat_statements_info()).dealloc",
    "select dealloc from pg_stat_statements_info()",
    "select pg_stat_statements_reset(0, 0, queryid) from pg_stat_statements where query like 'delete from acc%'",
    "select count(*) from pg_stat_statements where query like 'delete from acc%'",
    "select count(*) from pg_stat_statements(null)",
    "select pg_typeof(wal_bytes), pg_typeof(queryid), pg_typeof(userid), wal_records + wal_fpi + wal_bytes >= 0, jit_functions, blk_read_time, local_blks_read from pg_stat_statements where query like 'select v from acc where id =%'",
    "select d.datname, s.calls from pg_stat_statements s join pg_database d on d.oid = s.dbid where query like 'select v from acc where id =%'",
    "create role other login",
    "grant select on acc to other",
    "set role other",
    "select pg_stat_statements_reset()",
    "select count(*) from pg_stat_statements where query = '<insufficient privilege>' and queryid is not null",
    "select count(*) > 5 from pg_stat_statements where query = '<insufficient privilege>'",
    "reset role",
    "grant pg_read_all_stats to other",
    "set role other",
    "select count(*) from pg_stat_statements where query = '<insufficient privilege>'",
    "reset role",
    "set pg_stat_statements.track = 'none'",
    "select v from acc where id = 5",
    "set pg_stat_statements.track = 'top'",
    "select calls from pg_stat_statements where query like 'select v from acc where id =%'",
    "set pg_stat_statements.track = 'some'",
    "create view seen as select query, calls from pg_stat_statements where query like 'update acc%'",
    "select * from seen",
    "drop extension pg_stat_statements",
    "drop extension pg_stat_statements cascade",
    "select * from seen",
];

#[test]
fn statements_are_told_as_in_postgresql() {
    let postgres = Postgres::start_with(&["shared_preload_libraries=pg_stat_statements"]);
    let client = SimpleClient::connect(postgres.port(), "postgres", "postgres");
    let mut client = client.expect("it is there");
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for sql in ["create extension pg_stat_statements", "select pg_stat_statements_reset()"] {
        assert_eq!(client.run(sql).expect("it answers").error, None);
        talk.rows(sql);
    }
    let mut differ = Vec::new();
    for sql in WORK.iter().chain(ASKED) {
        let (ours, theirs) = (talk.run(sql), client.run(sql).expect("it answers"));
        let shown = |of| theirs::answer(of);
        if shown(&ours) != shown(&theirs) {
            differ.push(format!("{sql}\n  ours   {}\n  theirs {}", shown(&ours), shown(&theirs)));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

fn number(talk: &mut Talk, sql: &str) -> i64 {
    let rows = talk.rows(sql);
    rows[0][0].as_deref().unwrap_or_else(|| panic!("NULL: {sql}")).parse().unwrap()
}

/// Rows in files, so that blocks are read.
fn filled() -> (Fixture, Talk) {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id bigint primary key, a bigint, b bigint)");
    talk.rows("create index t_a on t (a)");
    let insert =
        "insert into t select i, i * 7919 % 20000, i % 100 from generate_series(1, 20000) i";
    talk.rows(insert);
    fixture.instance.database().flush().unwrap();
    (fixture, talk)
}

#[test]
fn statements_say_what_they_read() {
    let (_fixture, mut talk) = filled();
    talk.rows("select b from t where a = 7");
    talk.rows("select b from t where a = 8");
    talk.rows("select count(*) from t where b = 8");
    talk.rows("begin");
    talk.rows("select b from t where id between 10 and 19");
    talk.rows("commit");
    let of = |like: &str| {
        format!(
            "select calls, indexes, rows_read, blocks_read > 0, entries_read, temp_bytes \
             from onlap_stat.statements where query like '{like}'"
        )
    };
    let by_a = talk.rows(&of("select b from t where a = %"));
    assert_eq!(texts(&by_a), ["2|{t_a}|2|t|2|0"]);
    let whole = talk.rows(&of("select count(*) from t where b%"));
    assert_eq!(texts(&whole), ["1|{}|20000|t|0|0"]);
    let by_id = talk.rows(&of("select b from t where id between%"));
    assert_eq!(texts(&by_id), ["1|{t_pkey}|10|t|10|0"]);
    // A COMMIT read nothing, whatever was read before it.
    assert_eq!(texts(&talk.rows(&of("commit"))), ["1|{}|0|f|0|0"]);
    let both = "select count(*) from onlap_stat.statements o join pg_stat_statements p \
                on p.queryid = o.query_id and p.calls = o.calls and p.rows = o.rows \
                and p.shared_blks_read = o.blocks_read and p.total_exec_time = o.total_ms";
    talk.rows("create extension pg_stat_statements");
    assert!(number(&mut talk, both) > 5);
}

#[test]
fn what_is_sorted_beyond_memory_is_told() {
    let (_fixture, mut talk) = filled();
    talk.rows("create table wide as select i, repeat(md5(i::text), 20) as w from generate_series(1, 60000) i");
    talk.rows("set query_memory_limit = '16MB'");
    talk.rows("select count(*) from (select w from wide order by w, i desc offset 1) s");
    let bytes = "select temp_bytes from onlap_stat.statements where query like 'select count(*) from (select w%'";
    assert!(number(&mut talk, bytes) > 1 << 20);
    talk.rows("create extension pg_stat_statements");
    let blocks = "select temp_blks_written from pg_stat_statements where query like 'select count(*) from (select w%'";
    assert!(number(&mut talk, blocks) > 128);
}
