//! Do the values and the default of a column become in another type what they do in PostgreSQL?
//!
//! Scripts are compared with a private PostgreSQL 15 (a Debian package): every pair of types, with rows and without; settings of
//! the session; defaults, checks, indexes and generated columns that read the column; USING.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::Fixture;

const SCRIPT: &str = r#"
set timezone = 'Europe/Berlin'
create table z (a timestamp, b date, c timestamptz, d timestamptz(0), e timestamp(6))
insert into z values ('2024-01-01 10:00', '2024-07-01', '2024-01-01 10:00+00', '2024-01-01 23:30:00.6+00', '2024-01-01 10:00:00.123456')
alter table z alter a type timestamptz, alter b type timestamptz, alter c type timestamp, alter d type date, alter e type timestamp(3)
select a, b, c, d, e from z
alter table z alter e type timestamp(1), alter a type text, alter b type date
select a, b, c, d, e from z
set datestyle = 'SQL, DMY'
alter table z alter e type text, alter c type varchar(30), alter b type text
select a, b, c, d, e from z
alter table z alter b type date using b::date
select a, b, c, d, e from z
set datestyle = 'ISO, MDY'
create table b (a bool, b bool default true, c bool)
insert into b values (true, false, null)
alter table b alter a type text, alter b type varchar(5)
insert into b default values
select * from b
alter table b alter c type varchar(3)
alter table b alter c type int
alter table b alter c type int using c::int
select * from b
create table c (a char(5), b char(3), c float4, d float8, e int, n numeric)
insert into c values ('a', 'ab', 16777216, 1e20, 70000, 123.456)
alter table c alter a type text, alter b type varchar(10), alter c type numeric
select a || '|', b || '|', c from c
alter table c alter d type int
alter table c alter e type smallint
alter table c alter n type numeric(4,2)
alter table c alter n type numeric(5,2)
alter table c alter n type int
select * from c
alter table c alter a type char(9)
alter table c alter b type varchar(1)
alter table c alter b type varchar(1) using b::varchar(1)
alter table c alter b type char(1)
select a || '|', b || '|' from c
create table t (id int primary key, a text default 'x', b int default 5, "C d" text)
insert into t (id) values (1), (2)
alter table t alter a type int
alter table t alter "C d" type numeric(5,2)
alter table t alter a type int using 5
alter table t alter a drop default
alter table t alter a type int using length(a) + id * 10
select * from t order by id
alter table t alter a type int using (select 1)
alter table t alter a type int using sum(a)
alter table t alter a type int using generate_series(1, 2)
alter table t alter a type int using row_number() over ()
alter table t alter a type int using nope
alter table t alter a type int using a = 1
alter table t alter a type bool using a > 15
alter table t alter b type text
insert into t (id) values (3)
select id, a, b, pg_typeof(b) from t order by id
alter table t alter b type int using b::int
alter table t alter b type text, alter b type varchar(5)
alter table t alter nope type int
alter table t alter b type nope
alter table t alter b type int using b::int / 0
alter table t alter b type int using nullif(b::int, 5)
alter table t alter b set not null
create table nn (id int primary key, a int not null)
insert into nn values (1, 0), (2, 5)
alter table nn alter a type text using nullif(a, 5)::text
alter table nn alter a type bigint using nullif(a, 7)
alter table nn alter id type text using (10 - id)::text
alter table nn alter id type text using 'same'
select * from nn order by id
create table k (a int, b text, check (a > 0), constraint even check (a % 2 = 0))
create unique index on k (a)
create index on k ((a + 1))
insert into k values (2, 'x'), (4, 'y')
alter table k alter a type bigint using a * 3
select * from k order by a
alter table k alter a type int using a / 2
insert into k values (8, 'z')
alter table k alter a type int using -a
alter table k alter a type int using 4
alter table k alter b type int using a
select * from k order by a
alter table k alter a type text
create table du (a float8 unique)
insert into du values (1.1), (1.2)
alter table du alter a type int
alter table du alter a type numeric(3,1)
select * from du order by a
create table g (a int, b int, c int generated always as (b * 2) stored)
insert into g values (1, 2), (3, 4)
alter table g alter a type text using c::text || '!'
select * from g order by a
alter table g alter b type text
create table s (id serial primary key, i int generated always as identity, v int)
insert into s (v) values (1), (2)
alter table s alter id type bigint
alter table s alter i type bigint
alter table s alter i type text
insert into s (v) values (3) returning *
alter table s alter id type numeric
insert into s (v) values (4) returning *
alter table s alter id type date
create table s2 (id serial)
insert into s2 default values
alter table s2 alter id type timestamp
alter table s2 alter id type text
insert into s2 default values
select * from s2 order by id
create table d (a date default current_date, b timestamp default '2024-01-01 10:00', c varchar(10) default 'abc', e int default 1 + 2)
alter table d alter a type int
alter table d alter a type timestamp
alter table d alter b type time
alter table d alter c type varchar(2)
alter table d alter c type char(6)
alter table d alter e type text
alter table d alter e type date
alter table d alter b type timestamptz
insert into d default values
select b, c || '|', e from d
create table j (a json default '{"a": 1}', b jsonb default '[1, 2]', c text)
insert into j values ('{"x":  1}', '{"y": [1, 2]}', '{"z": 0}')
alter table j alter a type jsonb, alter b type json
alter table j alter c type jsonb
alter table j alter c type jsonb using c::jsonb
insert into j (c) values (null)
select a->'x', b->'y', c->'z', c from j
alter table j alter a type text, alter b type text
select * from j
create type mood as enum ('sad', 'ok', 'happy')
create domain pos as int check (value > 0)
create table e (a text default 'ok', b int, c text)
insert into e values ('sad', 1, '7'), ('happy', 2, '8')
alter table e alter a type mood
alter table e alter a type mood using a::mood
alter table e alter a drop default
alter table e alter a type mood using a::mood, alter a set default 'ok'
insert into e (b, c) values (3, '9')
select * from e order by b
alter table e alter b type pos
alter table e alter c type pos
alter table e alter c type pos using c::int
alter table e alter c type pos using -c
alter table e alter b type int using b - 10
alter table e alter b type pos
alter table e alter a type text
select * from e order by c
create table ar (a int[], b text[], c varchar(3)[])
insert into ar values ('{1,2}', '{3,4}', '{abc}')
alter table ar alter a type bigint[], alter b type int[] using b::int[], alter c type text[]
alter table ar alter c type varchar(2)[]
alter table ar alter a type text
select * from ar
create table p (a int, b text) partition by range (b)
create table p1 partition of p for values from ('a') to ('m')
create table p2 partition of p for values from ('m') to ('z')
insert into p values (1, 'b'), (2, 'n')
alter table p alter a type text using a::text || b
select * from p order by a
alter table p alter b type int
alter table p1 alter a type int
create table i (a int)
create table i1 (b int) inherits (i)
insert into i values (1)
insert into i1 values (2, 20)
alter table i alter a type numeric(6,1) using a * 1.55
select * from i order by a
begin
create table blk (id int primary key, a text)
insert into blk values (1, '10'), (2, '20')
alter table blk alter a type int using a::int + id
insert into blk values (3, 3)
savepoint s
alter table blk alter a type text using 'v' || a
rollback to s
alter table blk alter a type numeric(8,2)
commit
select * from blk order by id
create view v as select a from blk
alter table blk alter a type text
alter table blk alter a type date
create table vol (id int, a int)
insert into vol select n, n from generate_series(1, 100) n
alter table vol alter a type float8 using random()
select count(distinct a) from vol
alter table vol alter a type timestamptz using now()
select count(distinct a), min(a) <= now() from vol
create table lost (a int)
alter table lost alter a type text using b
alter table lost alter ctid type text
alter table lost alter a type int[] using array[a, a + 1]
insert into lost values ('{1}')
alter table lost alter a type int using a[1]
select * from lost
"#;

#[test]
fn columns_get_the_values_that_they_get_in_postgresql() {
    compared::compare(SCRIPT);
}

/// Values of types, each of which goes to all the others.
const VALUES: [(&str, &str); 30] = [
    ("bool", "true"),
    ("int2", "7"),
    ("int4", "100000"),
    ("int8", "5000000000"),
    ("float4", "16777216"),
    ("float8", "1.5"),
    ("numeric", "12345.678"),
    ("numeric(7,2)", "123.45"),
    ("text", "12"),
    ("varchar", "abc"),
    ("varchar(3)", "t  "),
    ("char(4)", "ab"),
    ("bpchar", "b "),
    ("name", "n"),
    ("\"char\"", "c"),
    ("bytea", "\\x01ff"),
    ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("date", "2024-02-29"),
    ("time", "10:11:12.5"),
    ("timetz", "10:11:12.5+01"),
    ("timestamp", "2024-02-29 10:11:12.5"),
    ("timestamp(0)", "2024-02-29 10:11:12.5"),
    ("timestamptz", "2024-02-29 10:11:12.5"),
    ("interval", "1 day 02:03:04"),
    ("json", "{\"a\":  1}"),
    ("jsonb", "{\"a\": 1}"),
    ("oid", "26"),
    ("money", "12.34"),
    ("int4[]", "{1,2}"),
    ("text[]", "{a,b}"),
];

#[test]
fn every_pair_of_types_is_converted_or_refused_as_in_postgresql() {
    let mut script =
        String::from("set timezone = 'America/New_York'\nset datestyle = 'German, DMY'\n");
    for (from, value) in VALUES {
        for (to, _) in VALUES {
            script += &format!(
                "create table x (a {from})\ninsert into x values ('{value}')\nalter table x alter a type {to}\n\
                 select a::text, pg_typeof(a) from x\ndrop table x\n"
            );
        }
    }
    let differ = compared::differences(script.lines(), "", compared::answer);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn values_are_written_anew_where_they_come_of_the_column_alone() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a int, b timestamp)");
    talk.rows("insert into t select n, n, timestamp '2024-01-01' from generate_series(1, 600) n");
    talk.rows("delete from t where id % 5 = 0");
    talk.rows("update t set a = -a where id % 3 = 0");
    let places = "select ctid, id from t order by id";
    let before = talk.rows(places);
    talk.rows("alter table t alter a type text, alter b type timestamptz");
    assert!(talk.rows(places) == before, "rows stay where they are");
    let found = "select sum(a::int), count(*), pg_typeof(min(a)), pg_typeof(min(b)) from t";
    assert_eq!(talk.lines(&[found]), ["48000|480|text|timestamp with time zone"]);
    // A transaction replaces rows.
    talk.rows("begin");
    talk.rows("alter table t alter a type varchar(9)");
    talk.rows("commit");
    assert!(talk.rows(places) != before, "rows are others");
}

#[test]
fn columns_of_tables_with_blind_writes_get_another_type() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a int, b timestamp) with (blind_writes = on)");
    for id in 1..=3 {
        talk.rows(&format!("upsert into t values ({id}, {id}0, '2024-01-01 10:00')"));
    }
    talk.rows("set timezone = 'UTC'");
    talk.rows("alter table t alter a type text, alter b type timestamptz");
    talk.rows("upsert into t values (2, 'two', '2024-01-01 12:00+02')");
    let rows = "select id, a, b, pg_typeof(a) from t order by id";
    let expected = [
        "1|10|2024-01-01 10:00:00+00|text",
        "2|two|2024-01-01 10:00:00+00|text",
        "3|30|2024-01-01 10:00:00+00|text",
    ];
    assert_eq!(talk.lines(&[rows]), expected);
    // What is calculated of rows, and what is part of a transaction, stays refused.
    let of_rows = "alter table t alter a type int using id";
    assert_eq!(talk.run(of_rows).error.expect("it is refused").0, "0A000");
    talk.rows("begin");
    assert_eq!(talk.run("alter table t alter b type date").error.expect("it is").0, "0A000");
    talk.rows("rollback");
    assert_eq!(talk.lines(&[rows]), expected);
}

const OTHERS: &str = r#"
create table p1 (a int)
create table p2 () inherits (p1)
create table p3 () inherits (p2)
insert into p2 values (0)
insert into p3 values (5)
alter table p1 add constraint x check (a > 0) not valid
alter table only p1 validate constraint x
alter table p1 validate constraint x
update p2 set a = 1
alter table p1 validate constraint x
select conrelid::regclass, convalidated from pg_constraint where conname = 'x' order by 1
create table q (a int, b text) partition by list (b)
create table q1 partition of q for values in ('a')
create table q2 partition of q for values in ('b')
insert into q values (1, 'a'), (-1, 'b')
alter table q add constraint y check (a > 0) not valid
alter table q validate constraint y
delete from q where a < 0
alter table q validate constraint y
select conrelid::regclass, convalidated from pg_constraint where conname = 'y' order by 1
create table t (a int, d int generated always as identity, e serial, f int not null default 3)
insert into t (a) values (1), (2)
alter table t alter d add generated always as identity
alter table t alter e add generated always as identity
alter table t alter f add generated by default as identity
alter table t alter a add generated always as identity
insert into t (a) values (3) returning d
alter table t alter a drop identity
alter table t alter a drop identity if exists
alter table t alter d drop identity
alter table t alter d drop identity
insert into t (a, d) values (4, 9) returning *
create sequence s
select nextval('s'), nextval('t_e_seq') > 0
select currval('s')
discard sequences
select currval('s')
select lastval()
select nextval('t')
select currval('t')
select setval('t', 5)
select pg_get_serial_sequence('t', 'nope')
select pg_get_serial_sequence('t', 'e')
select pg_get_serial_sequence('t', 'a')
create table w (a int primary key, b varchar(20) unique)
create table f (a int2 references w on update cascade, b varchar(3) references w (b) on update cascade)
insert into w values (1, 'x')
insert into f values (1, 'x')
update w set a = 50000
update w set b = 'xxxx'
update w set a = 5, b = 'xyz'
select * from f
"#;

#[test]
fn small_commands_say_what_they_say_in_postgresql() {
    compared::compare(OTHERS);
}

/// Defaults are shown, and read anew, as they were written, whatever the column's type makes of them.
const WRITTEN: &str = r#"
create table d (a numeric(12,2) default '0', b float8 default 1.5, c numeric(12,2) default 0, e float8 default 0, f real default 0.1, h smallint default -1, g bigint default -5, i numeric(5,1) default 7.25, k char(4) default 'ab', l varchar(9) default 'x', m float8 default -1.5, n text default 5::text, o numeric default '0010', p numeric default 2.50, q int default 3, r bigint default 4, s bool default true, t text default 'x'::varchar, u int default 2.6, v date default '2024-01-01', w timestamp(0) default '2024-01-01 10:00:00.6', x numeric(4,2) default 1e1, y int default '7', z smallint default 9)
insert into d default values
select * from d
select column_name, column_default from information_schema.columns where table_name = 'd' order by column_name
alter table d alter i type numeric(6,2), alter u type numeric(5,1), alter b type real, alter h type numeric(4,2), alter k type char(6), alter w type timestamp(3), alter a type int
insert into d default values
select * from d order by i
select column_name, column_default from information_schema.columns where table_name = 'd' order by column_name
create table l (like d including defaults)
create table c () inherits (d)
insert into l default values
insert into c default values
select column_name, column_default, table_name from information_schema.columns where table_name in ('l', 'c') and column_name in ('a', 'i', 'u', 'b') order by 1, 3
select i, u, a, b from l union all select i, u, a, b from c
alter table d alter i set default 5, alter u drop default, alter b set default 2, alter c set default 0.50
alter table d add column aa numeric(5,1) default 1.25, add column ab float8 default 3
select column_name, column_default from information_schema.columns where table_name = 'd' and column_name in ('i', 'u', 'b', 'c', 'aa', 'ab') order by 1
alter table d alter aa type numeric(5,2), alter ab type numeric(5,3)
insert into d (a) values (2)
select i, u, b, c, aa, ab from d order by i, a
create table ma (x numeric(5,1) default 7.25)
create table mb (x numeric(5,1) default 7.29)
create table mc () inherits (ma, mb)
alter table d alter i set default 1e3
alter table d alter i type int
alter table d alter i type text
select pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum where adrelid = 'd'::regclass and attname = 'i'
alter table d alter c type boolean
alter table d alter c drop default
select column_name, column_default from information_schema.columns where table_name = 'd' and column_name in ('i', 'c') order by 1
"#;

#[test]
fn defaults_are_shown_and_read_anew_as_they_were_written() {
    compared::compare(WRITTEN);
}
