//! Do queries that PostgreSQL's rules bind give what PostgreSQL gives?
//!
//! With `SET binder = postgres` each statement runs here and in a private PostgreSQL 15 (a Debian package); rows as texts, or
//! SQLSTATE, must be the same. The order of rows is not compared.

mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;
use support::{Fixture, Talk};

const SETUP: [&str; 5] = [
    "create table a (id int primary key, t text, f float8, n numeric(10,2), c char(4), ts timestamp, u uuid)",
    "insert into a values (1, 'a', 0.3, 1.50, 'ab', '2024-01-01 12:00', '00000000-0000-0000-0000-000000000007'), \
     (2, 'b', 'NaN', 2.00, 'cd', '1600-02-29 00:00', null), (3, null, '-0', null, null, null, null)",
    "create table b (id int, t text, a_id int)",
    "insert into b values (1, 'a', 1), (2, 'a', null), (3, 'x', 2), (4, 'a', 9)",
    "set timezone = 'UTC'",
];

/// What was found wrong without an error, and what was refused or ended the statement.
const STATEMENTS: &[&str] = &[
    "select b.id from a right join b on a.id = b.a_id where a.id is null and b.t = 'a'",
    "select a.id, b.id from a full join b on a.id = b.a_id where b.t = 'a'",
    "select * from a right join b using (id, t)",
    "select id, t from a natural full join b",
    "select true is distinct from true and false, -2 ^ 2, 'abc' similar to 'b'",
    "select 1.5::float8::int, 2.5::int, round(2.5::float8), 'abc'::varchar(2)",
    "select cast('1234567.89' as float), 1e15::float8, n::text from a where id = 1",
    "select id from a where f > 0.0",
    "select id from a where f = 0.3",
    "select coalesce(f, 0.0), count(*) from a group by f",
    "select id from a where u = '00000000000000000000000000000007'::uuid",
    "select extract(second from '2024-01-01 00:00:01.5'::timestamp), '2024-01-01 12:00'::timestamp",
    "select '2024-07-01 12:00+00'::timestamptz at time zone 'Europe/Berlin', ts from a",
    "select '{\"a\": 1}'::jsonb || '{\"b\": 2}', '\\x01'::bytea || '\\x02', encode('\\xff'::bytea, 'hex')",
    "select t from b except all select t from a",
    "select t from b intersect all select t from a",
    "select 33 = any ('{1,NULL,3}'::int[]), (1, null) = (1, 2), row(10, 'x') is null",
    "select sum(x) from (values (1), (2)) v (x)",
    "select concat(true), upper('ß'), lpad('abc', -5), '5' * 2",
    "select count(distinct id), sum(id) from b",
    "select id, exists (select 1 from b where b.a_id = a.id), array(select b.id from b where b.a_id = a.id) from a",
    "select id, (select count(*) from b where b.id < a.id) from a",
    "select case when id in (select a_id from b) then 'in' else 'out' end from a",
    "select a.id, l.id from a left join lateral (select id from b where b.a_id = a.id order by id limit 1) l on true",
    "select id, t, count(*) from a group by id",
    "select first_value(id) over (), sum(id) over (order by id rows between 1 preceding and current row) from b",
    "select id from b order by id fetch first 2 rows only",
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select sum(n) from r",
    "select t, grouping(t), count(*) from b group by rollup (t)",
    "select id from a where f <> 0 and 10 / f > 1 and f <> 'NaN'",
    "select id from a where id <> 1 and 1 / (id - 1) > 0",
    "select c, c || '|', length(c), c = 'ab' from a",
    "select generate_series(1, 3), 'x' limit 2",
    "select 1 / 0",
    "select 'abc'::int",
    "select nosuch from a",
    "select t from b group by id",
    "select 1 < 2 < 3",
    "select max(f), min(f) from a",
];

fn theirs(client: &mut SimpleClient, statement: &str) -> String {
    let outcome = client.run(statement).expect("PostgreSQL answers");
    shown(outcome.error.map(|error| error.0), outcome.rows)
}

fn ours(talk: &mut Talk, statement: &str) -> String {
    let outcome = talk.run(statement);
    shown(outcome.error.map(|error| error.0), outcome.rows)
}

fn shown(state: Option<String>, mut rows: Vec<Vec<Option<String>>>) -> String {
    if let Some(state) = state {
        return format!("! {state}");
    }
    rows.sort();
    format!("{rows:?}")
}

#[test]
fn bound_queries_give_what_postgresql_gives() {
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in SETUP {
        assert_eq!(client.run(statement).expect("it answers").error, None, "{statement}");
        assert_eq!(talk.run(statement).error, None, "{statement}");
    }
    talk.rows("set binder = postgres");
    let mut differ = Vec::new();
    for statement in STATEMENTS {
        let (mine, other) = (ours(&mut talk, statement), theirs(&mut client, statement));
        if mine != other {
            differ.push(format!("{statement}\n  ours   {mine}\n  theirs {other}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn rights_hold_for_bound_queries() {
    let fixture = Fixture::new(false);
    let mut owner = fixture.session();
    owner.rows("create table kept (id int, secret text)");
    owner.rows("insert into kept values (1, 'x')");
    owner.rows("create role reader login");
    let mut reader = fixture.session_of("reader");
    reader.rows("set binder = postgres");
    for statement in [
        "select secret from kept",
        "select count(*) from kept",
        "select (select max(secret) from kept)",
        "select 1 where exists (select 1 from kept k where k.id = 1)",
        "with w as (select * from kept) select id from w",
    ] {
        let error = reader.run(statement).error.map(|error| error.0);
        assert_eq!(error.as_deref(), Some("42501"), "{statement}");
    }
    owner.rows("grant select (id) on kept to reader");
    assert_eq!(reader.rows("select id + 1 from kept where id > 0 order by -id").len(), 1);
    let error = reader.run("select id from kept where secret = 'x' or id + 1 = 2").error;
    assert_eq!(error.map(|error| error.0).as_deref(), Some("42501"));
}
