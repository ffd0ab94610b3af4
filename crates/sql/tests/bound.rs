//! Do queries that PostgreSQL's rules bind give what PostgreSQL gives?
//!
//! Each statement runs here and in a private PostgreSQL 15 (a Debian package); rows as texts, or
//! SQLSTATE, must be the same. The order of rows is not compared.

mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;
use support::{Fixture, Talk};

const SETUP: &[&str] = &[
    "create table a (id int primary key, t text, f float8, n numeric(10,2), c char(4), ts timestamp, u uuid)",
    "insert into a values (1, 'a', 0.3, 1.50, 'ab', '2024-01-01 12:00', '00000000-0000-0000-0000-000000000007'), \
     (2, 'b', 'NaN', 2.00, 'cd', '1600-02-29 00:00', null), (3, null, '-0', null, null, null, null)",
    "create table b (id int, t text, a_id int)",
    "insert into b values (1, 'a', 1), (2, 'a', null), (3, 'x', 2), (4, 'a', 9)",
    "set timezone = 'UTC'",
    "create view va as select id, t, n from a where f is not null",
    "create view vb as select va.id, count(*) as c, max(b.t) as t from va left join b on b.a_id = va.id group by va.id",
    "create view vu as select id, t from a union all select id, t from b",
    "create view vl as select id, t from b order by id desc limit 2",
    "create view vc as select relname, relkind from pg_class where relnamespace = 'public'::regnamespace",
    "create view vn (x, y) as select n + 1, 'x' from a",
    "create table moved (id int primary key, old text, gone int)",
    "insert into moved values (1, 'one', 1), (2, 'two', 2)",
    "create view vm as select * from moved",
    "create view vp as select id, old from moved",
    "alter table moved rename column old to new",
    "alter table moved add column more int",
    "alter table moved rename to elsewhere",
    "create table moved (id text)",
];

/// Views, and the rows of relations as values.
const VIEWS: &[&str] = &[
    "select * from va",
    "select t from va where id = 1",
    "select count(*) from va where n > 1",
    "select * from vb",
    "select c from vb where id = 2",
    "select count(*) from vb",
    "select va.id, vb.c from va join vb using (id) where va.id = 1",
    "select id from vu where t = 'a'",
    "select id from vl where id = 1",
    "select id from vl where id = 4",
    "select * from vc where relname in ('a', 'b', 'va')",
    "select x, y from vn order by x",
    "select * from vm",
    "select old from vp where id = 2",
    "select v.old, e.new from vm v join elsewhere e on e.id = v.id where v.old = 'one'",
    "select (select max(id) from va), exists (select 1 from vb where vb.id = a.id) from a",
    "select l.* from a left join lateral (select c from vb where vb.id = a.id) l on true",
    "with w as (select * from va) select w.id from w where w.id < 2",
    "select nosuch from va",
    "select * from va where id = 'x'",
    "select v from va v where id = 1",
    "select (v).n, (v).t from va v where id = 1",
    "select row_to_json(v) from va v where id = 1",
    "select to_jsonb(b) from b where id = 1",
    "select b from b where id = 2",
    "select pg_typeof(b), pg_typeof(v) from b, va v limit 1",
    "select array_agg(b order by b.id) from b",
    "select count(distinct b), count(b) from b",
    "select b is null, b is not null from b where id = 2",
    "select v is null from b left join va v on v.id = b.a_id and v.id > 1",
    "select null::b is null, row(1, 'x', 2)::b",
    "select (row(1, 'x', 2)::b).t",
    "select x.* from (select b from b where id = 1) s (r), lateral (select (r).t) x",
    "select 'b'::regtype, 'b[]'::regtype",
    "select null::nosuch",
];

/// The system's catalogs.
const CATALOGS: &[&str] = &[
    "select attname, atttypid::regtype, attnotnull, format_type(atttypid, atttypmod) from pg_attribute \
     where attrelid = 'a'::regclass and attnum > 0",
    "select c.relname, c.relkind from pg_catalog.pg_class c join pg_namespace n on n.oid = c.relnamespace \
     where n.nspname = 'public' and c.relkind in ('r', 'v')",
    "select conname, contype, conkey from pg_constraint where conrelid = 'a'::regclass",
    "select indkey, indkey[0], (information_schema._pg_expandarray(indkey)).n from pg_index where indrelid = 'a'::regclass",
    "select k.x, k.n from pg_index, information_schema._pg_expandarray(indkey) k where indrelid = 'a'::regclass",
    "select information_schema._pg_expandarray(array[7, null, 9])",
    "select information_schema._pg_expandarray(7)",
    "select typname, typelem::regtype, typinput, typtype, typdelim from pg_type where oid in (23, 1007)",
    "select column_name, data_type, is_nullable from information_schema.columns where table_name = 'a'",
    "select table_name from information_schema.views where table_schema = 'public'",
    "select 'a'::regclass, 'a'::regclass::text, 'public'::regnamespace, 'int4'::regtype, 'now'::regproc",
    "select 'lower(text)'::regprocedure, 'postgres'::regrole, 23::regtype, 0::regclass, '-'::regclass",
    "select 'nosuch'::regclass",
    "select 'nosuch'::regtype",
    "select 'nosuch'::regproc",
    "select 'lower'::regproc",
    "select to_regclass('a'), to_regclass('nosuch')",
    "select * from nosuch",
    "select * from public.nosuch",
    "select * from nosuch.a",
    "select * from pg_catalog.nosuch",
    "select tableoid::regclass from b limit 1",
    "select distinct tableoid::regclass from pg_class",
    "select (aclexplode(acldefault('r', 10))).privilege_type",
    "select grantor, grantee, privilege_type, is_grantable from aclexplode(acldefault('d', 10))",
    "select acldefault('n', 10), 'postgres=r*w/postgres'::aclitem",
    "select has_table_privilege('a', 'select'), has_schema_privilege('public', 'usage')",
    "select relname from pg_class where oid = 'a'::regclass",
    "select relname, reltype::regtype, typname, typarray::regtype from pg_class join pg_type t on t.oid = reltype \
     where relname in ('b', 'va')",
    "select nspname from pg_namespace where nspname !~ '^pg_'",
    "select (k).x, (k).n from (select information_schema._pg_expandarray(array[7, 8]) as k) q",
    "select pg_encoding_to_char(encoding) from pg_database where datname = current_database()",
    "select pg_char_to_encoding('latin1'), pg_encoding_to_char(99)",
    "select pg_partition_ancestors('a'::regclass)",
    "select make_interval(days => 3), make_interval(secs => 1.5, years => 2), jsonb_set_lax('{}', '{a}', null, null_value_treatment => 'use_json_null')",
    "select word, catcode, barelabel, catdesc, baredesc from pg_get_keywords()",
    "select array_agg(attname order by attnum) from pg_attribute where attrelid = 'b'::regclass and attnum > 0",
    "select relname from pg_class where relname like 'v_' and pg_table_is_visible(oid)",
    "select rolname, rolsuper from pg_roles where rolname = current_user",
    "select datname from pg_database where datname = current_database()",
    "select c from pg_class c where false",
    "select oid, amname from pg_am where amname = 'btree'",
    "select castsource::regtype, casttarget::regtype, castcontext from pg_cast where castsource = 'int4'::regtype",
    "select unnest(conkey) from pg_constraint where conrelid = 'a'::regclass",
    "select generate_subscripts(indkey, 1) from pg_index where indrelid = 'a'::regclass",
    "select viewname, definition is null from pg_views where schemaname = 'public' and viewname = 'va'",
    "select count(*) from pg_class c, pg_class d where c.oid = d.oid and c.relname = 'a'",
    "select attname from pg_attribute where attrelid = (select oid from pg_class where relname = 'b') and attnum = any (array[1, 2])",
];

/// What was found wrong without an error, and what was refused or ended the statement.
const STATEMENTS: &[&str] = &[
    "select bitne('0000'::bit(4), pg_catalog.\"bit\"(0, n)) from (values (1), (null), (4)) v(n)",
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
    let mut differ = Vec::new();
    for statement in STATEMENTS.iter().chain(VIEWS).chain(CATALOGS) {
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

#[test]
fn views_are_read_with_their_owners_rights() {
    let fixture = Fixture::new(false);
    let mut owner = fixture.session();
    for statement in [
        "create role maker login",
        "create role reader login",
        "create table kept (id int, secret text)",
        "insert into kept values (1, 'x')",
        "grant create on schema public to maker",
        "grant select (id) on kept to maker",
    ] {
        owner.rows(statement);
    }
    let mut maker = fixture.session_of("maker");
    maker.rows("create view ids as select id from kept");
    maker.rows("create view secrets as select secret from kept");
    maker.rows("create view twice as select i.id from ids i join ids j using (id)");
    maker.rows("grant select on twice, secrets to reader");
    let mut reader = fixture.session_of("reader");
    let mut refused = |statement: &str, about: &str| {
        let error = reader.run(statement).error;
        let error = error.unwrap_or_else(|| panic!("{statement} is refused"));
        assert_eq!(
            error,
            ("42501".into(), format!("permission denied for {about}")),
            "{statement}"
        );
    };
    refused("select * from ids", "view ids");
    refused("select count(*) from ids", "view ids");
    refused("select * from secrets", "table kept");
    refused("select 1 where exists (select 1 from secrets)", "table kept");
    refused("select rolpassword from pg_authid", "table pg_authid");
    assert_eq!(reader.rows("select id from twice where id = 1").len(), 1);
    owner.rows("revoke select (id) on kept from maker");
    let error = reader.run("select id from twice").error.map(|error| error.1);
    assert_eq!(error.as_deref(), Some("permission denied for table kept"));
}

#[test]
fn a_view_that_reads_itself_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create view one as select 1 as n");
    talk.rows("create view two as select n from one");
    talk.rows("create or replace view one as select n from two");
    let error = talk.run("select * from one").error.map(|error| error.0);
    assert_eq!(error.as_deref(), Some("42P17"));
}

#[test]
fn conditions_on_views_find_indexes() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in [
        "create table a (id int primary key, t text)",
        "create table b (id int primary key, t text)",
        "create view va as select t, id as key from a where t is not null",
        "create view vu as select key as k, t from va union all select id, t from b",
        "create view vg as select key, count(*) as c from va group by key",
        "create view vl as select id, t from a order by id limit 10",
    ] {
        talk.rows(statement);
    }
    let mut steps = |statement: &str| {
        let rows = talk.rows(&format!("explain {statement}"));
        let lines = rows.into_iter().filter_map(|row| row[0].clone());
        lines.collect::<Vec<_>>().join("\n")
    };
    for statement in [
        "select t from va where key = 1",
        "select * from vg where key = 1",
        "select * from (select id, t from a) s where s.id > 5",
        "select v.t from b join va v on v.key = b.id where v.key = 2",
    ] {
        let steps = steps(statement);
        assert!(steps.contains("Index Scan using a_pkey"), "{statement}\n{steps}");
    }
    let both = steps("select t from vu where k = 3");
    assert!(both.contains("a_pkey") && both.contains("b_pkey"), "{both}");
    let limited = steps("select t from vl where id = 3");
    // The condition is asked of the ten rows that the view has, whichever way they are found.
    let (filter, limit) = (limited.find("Filter"), limited.find("GlobalLimitExec"));
    assert!(filter.is_some() && filter < limit, "{limited}");
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
        assert_eq!(client.run(statement).expect("it answers").error, None, "{statement}");
        assert_eq!(talk.run(statement).error, None, "{statement}");
    }
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

#[test]
fn joins_begin_with_the_fewest_rows() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table large (id int primary key, a int)");
    talk.rows("create table small (id int primary key, large_id int, c text)");
    talk.rows("insert into large select i, i from generate_series(1, 5000) i");
    talk.rows("insert into small select i, i * 7, 'c' from generate_series(1, 500) i");
    let ask = "select l.a, s.c from large l join small s on s.large_id = l.id where s.id = 77";
    let plan = format!("{:?}", talk.rows(&format!("explain {ask}")));
    // The rows of the other table are looked up for each of those.
    assert!(plan.contains("Nested Loop") && plan.contains("using small_pkey"), "{plan}");
    assert_eq!(talk.rows(ask), [[Some("539".to_string()), Some("c".to_string())]]);
}

/// Statements that are planned, and the index that each is to read; none where all of the table is cheaper.
const PLANS: &[(&str, Option<&str>)] = &[
    ("select upper(b) from p where id = 5", Some("p_pkey")),
    ("select upper(b) from p where id in (1, 2, 3)", Some("p_pkey")),
    ("select upper(b) from p where id between 10 and 20 and a > 3", Some("p_pkey")),
    ("select upper(b) from p where a = 7 and c > 3", Some("p_a_c_idx")),
    ("select upper(b) from p where a = 7 or c > 3", None),
    ("select upper(b) from p order by id limit 3", Some("p_pkey")),
    ("select upper(b) from p order by a desc, c desc limit 3", Some("p_a_c_idx")),
    ("select id + max(id) over () from p where id = (select max(id) from p)", Some("p_pkey")),
    ("select upper(b) from p where id in (select a from p where a < 0)", Some("p_pkey")),
    ("update p set b = upper(b) where id = 5", Some("p_pkey")),
    ("delete from p where id in (select id from p order by id limit 5)", Some("p_pkey")),
    ("select p.id, q.b from p join p as q on q.id = p.c where p.id = 4", Some("p_pkey")),
    ("select upper(b) from p where b like 'x%'", None),
];

#[test]
fn plans_use_the_indexes_that_they_should() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table p (id int primary key, a int, b text, c int)");
    talk.rows("create index on p (a, c)");
    talk.rows("insert into p select g, g % 100, 'x' || g, g % 10 from generate_series(1, 20000) g");
    talk.rows("set fast_path = off");
    let mut wrong = String::new();
    for (sql, index) in PLANS {
        let lines = talk.rows(&format!("explain {sql}"));
        let plan: Vec<&str> = lines.iter().filter_map(|row| row[0].as_deref()).collect();
        let plan = plan.join("\n");
        let uses = match index {
            Some(index) => plan.contains(index),
            None => !plan.contains("p_"),
        };
        if !uses {
            wrong.push_str(&format!("{sql}: {index:?}\n{plan}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
