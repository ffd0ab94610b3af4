//! Does CHECK mean what it means in PostgreSQL, whatever its condition is made of?
//!
//! Scripts and catalogs are compared with a private PostgreSQL 15 (a Debian package), and once more after the database was
//! opened again.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::Fixture;

const SHOWN: &str = r#"
select conrelid::regclass::text, conname, (select array_agg(attname order by n) from unnest(conkey) with ordinality as u (k, n) join pg_attribute on attrelid = conrelid and attnum = k) as columns, convalidated, connoinherit, conislocal, coninhcount, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true), pg_get_expr(conbin, conrelid) from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace and contypid = 0 order by 1, 2
select constraint_name, check_clause from information_schema.check_constraints where constraint_schema = 'public' and constraint_name not like '%not_null' order by 1
select table_name, column_name, constraint_name from information_schema.constraint_column_usage where table_schema = 'public' order by 1, 2, 3
"#;

const SCRIPT: &str = r#"
create type mood as enum ('sad', 'ok')
create domain small as int check (value < 100)
create table t (id int primary key, mail text check (mail ~ '^[a-z]+@[a-z.]+$'), slug varchar(20) check (slug ~* '^[a-z-]+$' and slug !~ '--'), code char(5) check (lower(code) = 'ab' or code = 'ABC  '), d date check (d > '2024-01-01 12:00' and d + 1 > '2024-01-02' and d - date '2024-01-01' >= 0), at timestamp check (extract(year from at) between 2000 and 2100), n numeric(8,2) check (round(n) = n and mod(n, 2) = 0), f float8 check (f > 1e-300 or f = 0), i int check (case when i > 10 then i % 2 = 0 else i >= 0 end), j jsonb check (jsonb_typeof(j) = 'object' and j ? 'k'), a int[] check (cardinality(a) < 4 and 7 <> all (a)), m mood check (m is not null), s small check (s % 2 = 1), u uuid check (u > '10000000-0000-0000-0000-000000000000'), b bool check (b is true), g int generated always as (i * 2) stored check (g < 1000))
insert into t (id, m) values (1, 'ok')
insert into t (id, m) values (2, null)
insert into t (id, m, mail) values (3, 'ok', 'a@b.c'), (4, 'ok', 'A@b.c')
insert into t (id, m, slug) values (5, 'ok', 'a-b'), (6, 'sad', 'a--b')
insert into t (id, m, code) values (7, 'ok', 'AB')
insert into t (id, m, code) values (8, 'ok', 'ab'), (9, 'ok', 'ABC'), (10, 'ok', 'abc')
insert into t (id, m, d) values (11, 'ok', '2024-01-01')
insert into t (id, m, d) values (11, 'ok', '2024-01-02')
insert into t (id, m, at) values (12, 'ok', '1999-12-31')
insert into t (id, m, n) values (13, 'ok', 4), (14, 'ok', 4.5)
insert into t (id, m, n) values (15, 'ok', 3)
insert into t (id, m, f) values (16, 'ok', 0), (17, 'ok', -1)
insert into t (id, m, i) values (18, 'ok', 12), (19, 'ok', 13)
insert into t (id, m, i) values (20, 'ok', 600)
insert into t (id, m, j) values (21, 'ok', '{"k": 1}'), (22, 'ok', '[1]')
insert into t (id, m, a) values (23, 'ok', '{1,2}'), (24, 'ok', '{1,7}')
insert into t (id, m, a) values (25, 'ok', '{1,2,3,4}')
insert into t (id, m, s) values (26, 'ok', 2)
insert into t (id, m, u) values (27, 'ok', '00000000000000000000000000000007')
insert into t (id, m, b) values (28, 'ok', null)
insert into t (id, m, b) values (29, 'ok', false)
update t set i = 14 where id = 18
update t set i = 15 where id = 18
insert into t (id, m, i) values (18, 'ok', 1) on conflict (id) do update set i = t.i + 1
insert into t (id, m, i) values (18, 'ok', 1) on conflict (id) do update set i = t.i + 2 returning i
select id, mail, slug, code, d, n, f, i, j, a, m, s, u, b, g from t order by id
create table o (a int, b int, constraint first check (a > 0), constraint second check (b > 0), constraint third check (10 / a > 0))
insert into o values (1, -1), (-1, 1)
insert into o values (1, 1), (0, 1)
insert into o values (1, 1), (-1, -1)
insert into o values (2147483647, 1)
create table e (i int check (i + 1 > 0), t text)
insert into e values (2147483646, 'a'), (2147483647, 'b')
insert into e values (1, 'x')
alter table e add check (t ~ '^[a-z]$')
alter table e add constraint long check (length(t) > 1)
alter table e add constraint long check (length(t) > 1) not valid
insert into e values (2, 'y')
update e set t = 'z'
alter table e validate constraint long
alter table e drop constraint long
alter table e add constraint long check (length(t) > 1 or i > 0) not valid
alter table e validate constraint long
alter table e rename column t to word
alter table e rename to ee
insert into ee values (0, 'b')
insert into ee values (0, 'bb')
alter table ee alter column word type varchar(10)
alter table ee alter column i type bigint
create table p (a int check (a % 3 = 0), b text check (upper(b) = b), constraint own check (a < 100) no inherit)
create table c (x int, check (x is not null)) inherits (p)
insert into c values (1, 'A', 1)
insert into c values (3, 'a', 1)
insert into c values (300, 'A', 1)
insert into p values (300, 'A')
create table c2 (b text check (upper(b) = b), a int)
alter table c2 inherit p
alter table c2 add constraint p_a_check check (a % 3 = 0)
alter table c2 add constraint p_b_check check (upper(b) = b)
alter table c2 inherit p
insert into c2 values ('x', 3)
create table q (a int, b text) partition by list (a)
alter table q add constraint fits check (b in ('x', 'y') and a <> 5)
create table q1 partition of q for values in (1, 5)
insert into q values (1, 'z')
insert into q values (5, 'x')
insert into q values (1, 'x')
create table w (i int, t text, n numeric, ts timestamptz, r text)
alter table w add check (i)
alter table w add check (t > 1)
alter table w add check (length(i) > 0)
alter table w add check (i like 'a')
alter table w add check (sum(i) > 0)
alter table w add check (count(*) > 0)
alter table w add check (row_number() over () > 0)
alter table w add check (i in (select 1))
alter table w add check (exists (select 1))
alter table w add check (generate_series(1, i) > 0)
alter table w add check (nope(i))
alter table w add check (nope > 1)
alter table w add check (w.i > 1)
alter table w add check (other.i > 1)
alter table w add check (xmin is null)
alter table w add check (i = $1)
alter table w add check (i > 'x')
alter table w add constraint many check (num_nonnulls(i, n) = 2 or greatest(i, 3) > 2 or nullif(t, '') is null or (i, 1) > (2, 3) or i between symmetric 5 and 1 or t ilike 'a_%' escape '_' or position('a' in t) > 0 or substring(t from 2 for 1) = 'b' or t like any (array['a%', 'b%']) or coalesce(n, 0) = 1.50 or ltrim(t) || rtrim(t) = trim(both 'x' from t) or t::varchar(2) = 'ab' or n::int = 3 or t is distinct from 'q' or not (i > 1) or t collate "C" > 'b')
insert into w (i, t, n) values (1, 'q', 2)
insert into w (i, t) values (5, 'q'), (2, 'ab')
create table z (a int, b int generated always as (a + 1) stored, c int default 5, check (b > c))
insert into z (a) values (5), (4), (3)
insert into z (a, c) values (4, 4)
select * from z
create table k (a int, b int, check (a > 0), check (a > 0), check (a < 10 and a <> 5))
insert into k values (5)
alter table k drop column a cascade
create table par (a int, v varchar(10), constraint c check (a > 0), constraint i check (v in ('x', 'y')))
alter table par rename a to b
create table kid (b int, v varchar(10), constraint c check (b > 0), constraint i check (v  in ('x','y')))
alter table kid inherit par
create table odd ("select" int, "Two words" text, check ("select" > 0 and "Two words" <> 'it''s'))
insert into odd values (1, 'it''s')
insert into odd values (0, 'x')
set timezone = 'Asia/Tokyo'
set datestyle = 'SQL, DMY'
create table moments (at timestamptz check (at >= '01/02/2024'), d date, v varchar(5), g date generated always as (d + 1) stored, check (length(v) > 1 and d >= '02/01/2024'))
create unique index on moments (v) where at > '03/02/2024'
insert into moments (at) values ('2024-01-31 23:59:00+09')
insert into moments (at) values ('2024-01-31 15:00:00+00')
insert into moments (d, v) values ('2024-01-01', 'ab')
insert into moments (d, v) values ('2024-01-02', 'ab')
alter table moments alter v type text
insert into moments (d, v) values ('2024-01-01', 'ab')
insert into moments (d, v) values ('2024-01-02', 'abc')
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'moments'::regclass order by 1
reset timezone
reset datestyle
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'moments'::regclass
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'moments'::regclass order by 1
create table l (like t including constraints)
insert into l (id, m, mail) values (1, 'ok', 'A')
"#;

#[test]
fn conditions_mean_what_they_mean_in_postgresql() {
    compared::compare(&format!("{SCRIPT}{SHOWN}"));
}

#[test]
fn checks_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let lines = |script: &'static str| script.lines().filter(|line| !line.is_empty());
    let shown = || {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        lines(SHOWN).map(|line| talk.rows(line)).collect::<Vec<_>>()
    };
    {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        for statement in lines(SCRIPT) {
            talk.run(statement);
        }
    }
    let before = shown();
    assert!(before.iter().all(|rows| rows.len() > 10), "{before:?}");
    assert_eq!(before, shown());
    let fixture = Fixture::at(dir.path());
    let mut talk = fixture.session();
    let refused = talk.run("insert into t (id, m, mail) values (99, 'ok', 'A')").error;
    assert_eq!(refused.expect("it breaks a check").0, "23514");
}
