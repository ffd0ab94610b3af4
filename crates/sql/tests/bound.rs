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

/// Tables with indexes, and rows enough that an index is worth it.
const INDEXED: [&str; 9] = [
    "create table k (id int primary key, a int, b text, f float8, n numeric(8,2), c char(3), d date, j json default '{\"a\": 1}')",
    "create index k_a on k (a, id)",
    "create index k_b on k (b desc)",
    "create index k_f on k (f)",
    "create index k_n on k (n)",
    "create index k_c on k (c)",
    "insert into k select i, i % 50, 'b' || i % 7, i / 10.0, i / 4.0, 'c' || i % 10, '2024-01-01'::date + i % 90 \
     from generate_series(1, 3000) i",
    "insert into k values (3001, null, null, null, null, null, null), (3002, null, 'b9', 'NaN', 'NaN', '', 'infinity')",
    "insert into k values (3003, 7, 'b1', '-0', 0, 'c1 ', null), (3004, 7, 'b1', 'Infinity', 1.5, 'z', null)",
];

/// Statements with the name of the index that they go by.
const BY_INDEX: &[(&str, &str)] = &[
    ("k_pkey", "select id from k where id in (5, 3, 4000, 5, null, 17, -1, 99, 98, 97, 96)"),
    ("k_pkey", "select id, b from k where id in (3, 99999999999)"),
    ("k_pkey", "select id from k where id = any ('{9,8,7,NULL,3000000000}'::int8[])"),
    ("k_pkey", "select id from k where id in (select id from k order by id limit 50)"),
    ("k_pkey", "select id from k where id in (select a from k where a > 40) and b <> 'b1'"),
    ("k_pkey", "select id from k where id = (select max(a) from k)"),
    ("k_pkey", "select id from k where id = 1 or id = 2 or id = 3 or 4 = id or id = 2"),
    ("k_a", "select id, a from k where a in (3, 7, 3) and id < 200"),
    ("k_pkey", "select id, a from k where a in (7, 8) and id in (7, 57, 3003)"),
    ("k_b", "select id from k where b in ('b1', 'b9', 'nosuch') and id > 2900"),
    ("k_f", "select id from k where f in (0, 1.5, 'NaN', 'Infinity')"),
    ("k_f", "select id from k where f = any ('{-0,7.1}')"),
    ("k_f", "select id from k where f = 0"),
    ("k_f", "select id from k where f > 299.5"),
    ("k_n", "select id from k where n in (1.5, 1.50, 2.123, 'NaN', 1e30)"),
    ("k_n", "select id from k where n = 1.500"),
    ("k_n", "select id from k where n = 1.501"),
    ("k_n", "select id from k where n >= 749.123"),
    ("k_c", "select id from k where c in ('c1', 'z  ', '') and id > 2950"),
    ("k_c", "select id from k where c = 'c1' and id > 2950"),
    ("k_pkey", "select id from k order by id limit 5"),
    ("k_pkey", "select id from k order by id desc limit 5 offset 3"),
    ("k_pkey", "select id, d from k where d <> '2024-01-02' order by id limit 5"),
    ("k_pkey", "select id from k where id > 100 and f <> 11 order by id limit 7"),
    ("k_pkey", "select id from k where id < 100 order by id desc limit 7"),
    ("k_a", "select a, id from k order by a, id limit 5"),
    ("k_a", "select a, id from k order by a desc, id desc limit 5"),
    ("k_a", "select a, id from k where a = 7 order by id desc limit 3"),
    ("k_b", "select b from k order by b desc limit 3"),
    ("k_b", "select b from k order by b limit 3"),
    ("k_f", "select f from k order by f desc limit 4"),
    ("k_f", "select f from k where f < 1 order by f limit 4"),
    ("k_n", "select n from k order by n limit 4"),
    ("k_n", "select n from k order by n desc fetch first 2 rows with ties"),
    ("k_c", "select c from k order by c limit 3"),
    ("k_pkey", "select max(id) from k"),
    ("k_pkey", "select min(id) + 1, min(id) from k"),
    ("k_f", "select max(f) from k"),
    ("k_f", "select min(f) from k"),
    ("k_n", "select max(n) from k"),
    ("k_b", "select max(b) from k"),
    ("k_b", "select min(b) from k"),
];

/// Others, in which an index has not the order that is asked for, or not that alone.
const BESIDE_INDEX: &[&str] = &[
    "select x.id, k.id from (values (1), (2)) x (id) join k on k.id = any (array[x.id, x.id + 10])",
    "select a, id from k order by a desc, id limit 5",
    "select a from k order by a nulls first limit 3",
    "select a from k order by a desc nulls last limit 3",
    "select b from k order by b desc nulls last limit 3",
    "select id from k order by -id limit 3",
    "select id from k where id in (3, 1, 2) order by id desc limit 2",
    "select id, a from k where a in (3, 1, 2) order by a, id limit 9",
    "select id from k where a = 7 order by f, id limit 4",
    "select id from k where id in (select a from k i where i.id = k.id)",
    "select id from k where id in (select a from k i where i.b = k.b) and id < 20 order by id limit 3",
    "select id from k where id not in (select id from k where id > 3 and id is not null) order by id limit 5",
    "select id from k where id in (select null::int)",
    "select id from k where id in (select id from k where false)",
    "select id from k where id = (select null::int)",
    "select id from k where id = (select id from k where id < 3)",
    "select id from k where id = null or id = 3",
    "select id from k where j::text = '{\"a\": 1}' order by id limit 1",
    "select j -> 'a' from k where id in (1, 2)",
    "select id from k where d = 'infinity'",
    "select id from k where d in ('infinity', '2024-01-05') and id < 100",
    "select id from k order by id limit 0",
    "select id from k order by id limit null offset 3002",
    "select id from k order by id limit -1",
    "select max(a), min(id) from k",
    "select max(id) from k where b = 'b1'",
    "select min(id) from k where id > 5000",
    "select max(f) from (select f from k where f < 100) s",
    "select min(id) filter (where id > 5) from k",
    "select distinct b from k order by b limit 2",
    "select b, count(*) from k group by b order by b limit 2",
    "select id, row_number() over (order by id desc) from k order by id limit 2",
    "select k.id from k join k l using (id) order by id limit 3",
    "with w as materialized (select id from k where id in (1, 2, 3)) select * from w order by id desc limit 1",
    "select id from k where id in (1, 2, 3) union all select id from k where id in (4, 5) order by 1",
    "select (select max(id) from k where k.a = v.x) from (values (1), (2)) v (x)",
    "select l.id from (values (7), (8)) v (x), lateral (select id from k where a = v.x order by id limit 2) l",
];

/// Rows in the order of the statement.
fn in_order(error: Option<(String, String)>, rows: Vec<Vec<Option<String>>>) -> String {
    match error {
        Some((state, _)) => format!("! {state}"),
        None => format!("{rows:?}"),
    }
}

#[test]
fn lists_and_orders_go_by_indexes() {
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in INDEXED {
        // No infinite dates are stored here.
        let ours = statement.replace("'', 'infinity'", "'', null");
        assert_eq!(client.run(statement).expect("it answers").error, None, "{statement}");
        assert_eq!(talk.run(&ours).error, None, "{statement}");
    }
    client.run("update k set d = null where id = 3002").expect("it answers");
    let mut differ = Vec::new();
    talk.rows("set fast_path = off");
    let all = BY_INDEX.iter().map(|(_, statement)| *statement).chain(BESIDE_INDEX.iter().copied());
    for statement in all {
        let (mine, other) = (talk.run(statement), client.run(statement).expect("it answers"));
        let ordered = statement.contains("order by") && !statement.contains("where id in (select");
        let same = match ordered {
            true => in_order(mine.error, mine.rows) == in_order(other.error, other.rows),
            false => {
                let state = |error: Option<(String, String)>| error.map(|error| error.0);
                shown(state(mine.error), mine.rows) == shown(state(other.error), other.rows)
            }
        };
        if !same {
            differ.push(statement.to_string());
        }
    }
    for (index, statement) in BY_INDEX {
        let rows = talk.rows(&format!("explain {statement}"));
        let plan = format!("{rows:?}");
        if !plan.contains(&format!("using {index} on")) {
            differ.push(format!("{statement} does not go by {index}: {plan}"));
        } else if statement.contains("order by")
            && !statement.contains("(select")
            && plan.contains("Sort")
        {
            differ.push(format!("{statement} sorts: {plan}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn long_lists_are_answered() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table l (id int primary key, t text)");
    talk.rows("insert into l select i, 't' || i from generate_series(1, 1000) i");
    let list = |n: usize, one: &dyn Fn(usize) -> String, by: &str| {
        (0..n).map(one).collect::<Vec<_>>().join(by)
    };
    let count = |talk: &mut Talk, condition: String| {
        let outcome = talk.run(&format!("select count(*) from l where {condition}"));
        assert_eq!(outcome.error, None);
        outcome.rows[0][0].clone()
    };
    let all = Some("1000".to_string());
    let none = Some("0".to_string());
    let numbers = list(100_000, &|i| i.to_string(), ",");
    assert_eq!(count(&mut talk, format!("id in ({numbers})")), all);
    assert_eq!(count(&mut talk, format!("id not in ({numbers})")), none);
    assert_eq!(count(&mut talk, format!("id = any ('{{{numbers}}}')")), all);
    assert_eq!(count(&mut talk, format!("id <> all (array[{numbers}])")), none);
    let texts = list(20_000, &|i| format!("'t{i}'"), ",");
    assert_eq!(count(&mut talk, format!("t in ({texts})")), all);
    assert_eq!(count(&mut talk, list(3000, &|i| format!("id = {i}"), " or ")), all);
    assert_eq!(count(&mut talk, list(3000, &|i| format!("id <> {i}"), " and ")), none);
    assert_eq!(count(&mut talk, list(3000, &|i| format!("t = 't{i}'"), " or ")), all);
    let rows = list(20_000, &|i| format!("({i}, 'x{i}')"), ",");
    let sum = talk.rows(&format!("select count(*), sum(a) from (values {rows}) v (a, b)"));
    assert_eq!(sum[0], [Some("20000".to_string()), Some("199990000".to_string())]);
}

#[test]
fn texts_that_come_again_mean_what_they_mean_now() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let mut other = fixture.session();
    talk.rows("create table r (id int primary key, v int); insert into r values (1, 10), (2, 20)");
    talk.rows(
        "create schema s; create table s.r (id int, v text); insert into s.r values (1, 'x')",
    );
    talk.rows("set fast_path = off");
    other.rows("set fast_path = off");
    let ask = "select v, (select count(*) from r) from r where id = 1";
    let first = vec![vec![Some("10".to_string()), Some("2".to_string())]];
    for _ in 0..4 {
        assert_eq!(talk.rows(ask), first);
        assert_eq!(other.rows(ask), first);
    }
    talk.rows("insert into r values (3, 30)");
    assert_eq!(talk.rows(ask)[0][1].as_deref(), Some("3"));
    // Other schemas are looked at.
    talk.rows("set search_path = s");
    for _ in 0..3 {
        assert_eq!(talk.rows(ask), [[Some("x".to_string()), Some("1".to_string())]]);
    }
    talk.rows("set search_path = public");
    assert_eq!(talk.rows(ask)[0][0].as_deref(), Some("10"));
    // A transaction's own changes are its own.
    talk.rows("begin; alter table r add column w int default 7; alter table r drop column v");
    assert_eq!(talk.run(ask).error.map(|error| error.0).as_deref(), Some("42703"));
    assert_eq!(other.rows("select 1").len(), 1);
    talk.rows("rollback");
    assert_eq!(talk.rows(ask)[0][0].as_deref(), Some("10"));
    talk.rows("alter table r alter column v type bigint; alter table r rename column v to u");
    for session in [&mut talk, &mut other] {
        assert_eq!(session.run(ask).error.map(|error| error.0).as_deref(), Some("42703"));
    }
    talk.rows("drop table r; create table r (id int, v text); insert into r values (1, 'new')");
    for session in [&mut talk, &mut other] {
        for _ in 0..3 {
            assert_eq!(session.rows(ask)[0][0].as_deref(), Some("new"));
        }
    }
    // Rights are asked each time.
    talk.rows("create role guest login; grant select on r to guest");
    let mut guest = fixture.session_of("guest");
    guest.rows("set fast_path = off");
    for _ in 0..3 {
        assert_eq!(guest.rows(ask).len(), 1);
    }
    talk.rows("revoke select on r from guest");
    assert_eq!(guest.run(ask).error.map(|error| error.0).as_deref(), Some("42501"));
    // So are errors that only the rows have, and settings.
    let fails = "select 1 / (id - 1) from r";
    for _ in 0..3 {
        assert_eq!(talk.run(fails).error.map(|error| error.0).as_deref(), Some("22012"));
    }
    let date = "select '2024-02-03'::date from r";
    for _ in 0..3 {
        assert_eq!(talk.rows(date)[0][0].as_deref(), Some("2024-02-03"));
    }
    talk.rows("set datestyle = 'German'");
    assert_eq!(talk.rows(date)[0][0].as_deref(), Some("03.02.2024"));
}
