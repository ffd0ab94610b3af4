//! Do indexes that keep the first part of their keys answer as others do, and what may they be?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::{Fixture, Talk, texts};

const ROWS: i64 = 20_000;

fn one(talk: &mut Talk, sql: &str) -> String {
    talk.rows(sql)[0][0].clone().unwrap_or_default()
}

fn state(talk: &mut Talk, sql: &str) -> String {
    talk.run(sql).error.unwrap_or_else(|| panic!("{sql} was not refused")).0
}

/// Random identifiers, and a number of rows of each.
fn filled(talk: &mut Talk) {
    talk.rows("create table t (id int primary key, k uuid, n int)");
    talk.rows("create index short on t (k, n) with (keys = short)");
    talk.rows("create index fits on t (k) with (keys = auto, fillfactor = 70)");
    let insert = format!(
        "insert into t select i, md5((i / 3)::text)::uuid, i % 7 from generate_series(1, {ROWS}) i"
    );
    talk.rows(&insert);
}

#[test]
fn answers_are_those_of_a_scan() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    filled(&mut talk);
    fixture.instance.database().flush().unwrap();
    for id in (7..ROWS).step_by(400) {
        talk.rows(&format!("delete from t where id = {id}"));
        talk.rows(&format!("update t set n = 100 where id = {}", id + 1));
        talk.rows(&format!("update t set k = md5('x{id}')::uuid where id = {}", id + 2));
    }
    fixture.instance.database().settle().unwrap();
    let forms = "select distinct form from onlap_stat.runs where index_name = 'short'";
    assert_eq!(texts(&talk.rows(forms)), ["short"]);
    let bytes =
        "select sum(bytes) / max(entries) < 8 from onlap_stat.runs where index_name = 'short'";
    assert_eq!(one(&mut talk, bytes), "t");
    for fast in ["on", "off"] {
        talk.rows(&format!("set fast_path = {fast}"));
        for condition in [
            "k = md5('17')::uuid",
            "k = md5('17')::uuid and n > 2",
            "k = md5('x7')::uuid",
            "k > 'f0000000-0000-0000-0000-000000000000'",
            "k between '10000000-0000-0000-0000-000000000000' and '10ffffff-ffff-ffff-ffff-ffffffffffff'",
            "k in (md5('1')::uuid, md5('2')::uuid, md5('x407')::uuid)",
        ] {
            for what in [
                "count(*), sum(id), sum(n), min(k::text)",
                "string_agg(id || ' ' || k || ' ' || n, ',' order by k, n, id)",
            ] {
                let query = format!("select {what} from t where {condition}");
                let found = texts(&talk.rows(&query));
                let scan = format!(
                    "select {what} from (select id, n, k from t offset 0) s where {condition}"
                );
                assert_eq!(found, texts(&talk.rows(&scan)), "{fast}: {query}");
            }
        }
        let first = "select id, k, n from t order by k, n, id limit 20";
        let scan =
            "select id, k, n from (select id, n, k from t offset 0) s order by k, n, id limit 20";
        assert_eq!(texts(&talk.rows(first)), texts(&talk.rows(scan)), "{fast}");
    }
}

#[test]
fn explain_tells_for_how_many_entries_rows_were_read() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    filled(&mut talk);
    talk.rows("drop index fits");
    let mut told = |query: &str| -> (Option<u64>, String) {
        let lines = texts(&talk.rows(&format!("explain (analyze) {query}")));
        let told = lines.iter().find_map(|line| line.strip_prefix("Entries Completed: "));
        (told.map(|n| n.parse().unwrap()), lines.join("\n"))
    };
    let equal = "select k, n from t where k = md5('17')::uuid";
    fixture.instance.database().flush().unwrap();
    let (completed, lines) = told(equal);
    assert_eq!(completed, Some(3), "{lines}");
    let (completed, lines) = told("select n from t where id = 7");
    assert_eq!(completed, None, "{lines}");
}

#[test]
fn what_they_may_not_be_is_refused_and_dumps_do_not_tell() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    filled(&mut talk);
    let options = "select reloptions from pg_class where relname in ('short', 'fits') order by 1";
    assert_eq!(texts(&talk.rows(options)), ["{keys=auto,fillfactor=70}", "{keys=short}"]);
    let told = "select pg_get_indexdef('short'::regclass), pg_get_indexdef('fits'::regclass)";
    assert_eq!(
        texts(&talk.rows(told)),
        ["CREATE INDEX short ON public.t USING btree (k, n)|\
          CREATE INDEX fits ON public.t USING btree (k) WITH (fillfactor='70')"]
    );
    for (sql, expected) in [
        ("create index on t (k) with (keys = long)", "22023"),
        ("create index on t (k) with (keys)", "22023"),
        ("create unique index on t (id) with (keys = short)", "0A000"),
        ("create index on t (k) include (n) with (keys = short)", "0A000"),
        ("create index on t (k) with (keys = short) where n > 3", "0A000"),
        ("create table u (id uuid primary key with (keys = short))", "0A000"),
        ("alter index short set (keys = full)", "0A000"),
        ("alter index short reset (keys)", "0A000"),
    ] {
        assert_eq!(state(&mut talk, sql), expected, "{sql}");
    }
    talk.rows("alter table t alter column n type bigint");
    assert_eq!(texts(&talk.rows(options)), ["{keys=auto,fillfactor=70}", "{keys=short}"]);
}
