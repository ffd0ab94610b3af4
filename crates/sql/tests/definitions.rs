//! Do indexes, checks and generated columns that name types and functions of the database do what they do in PostgreSQL?
//!
//! Scripts are compared with a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap::{Database, Options, SyncMode};
use onlap_sql::Instance;
use support::Fixture;

#[path = "support/compared.rs"]
mod compared;
mod support;

/// Partial and unique indexes of queues over enums, their texts, what keeps to them, and changes of the enum below them.
const INDEXES: &str = r#"
create type st as enum ('created', 'retry', 'active', 'completed')
create table job (id int primary key, name text, k text, st st not null default 'created')
create unique index i1 on job (name, k) where st = 'created'
create index i2 on job (name) where st < 'active'
create index i3 on job (name) where st <> 'active' and k is not null
create index i4 on job (name) where st in ('created', 'retry')
create index i5 on job (name) where st = any (array['created', 'active']::st[])
create index i6 on job ((case when st > 'retry' then 1 else 0 end), id)
create index i7 on job ((coalesce(nullif(st, 'retry'), 'completed')))
create index i8 on job (id) where (case st when 'created' then true when 'retry' then k is null else false end)
create index i9 on job (id) where st = any ('{created,retry}'::st[])
create index bad1 on job ((st::text))
create index bad2 on job (id) where st::text = 'created'
create index bad3 on job (id) where st = 'none'
create index bad4 on job (id) where 'x' || st = 'x'
select indexname, indexdef from pg_indexes where tablename = 'job' order by 1
select relname, pg_get_expr(indpred, indrelid), pg_get_expr(indexprs, indrelid) from pg_index join pg_class on oid = indexrelid where indrelid = 'job'::regclass order by 1
select objid::regclass::text, refclassid::regclass::text, refobjid::regtype::text, deptype from pg_depend where classid = 'pg_class'::regclass and refclassid = 'pg_type'::regclass and objid::regclass::text like 'i_' order by 1, 3
insert into job select n, 'q' || n % 3, 'k' || n, (array['created', 'retry', 'active', 'completed']::st[])[n % 4 + 1] from generate_series(1, 40) n
insert into job values (100, 'q1', 'k4', 'created')
insert into job values (101, 'q1', 'k4', 'retry')
insert into job values (102, 'q1', 'k4', 'created')
insert into job values (103, 'q1', 'k4', 'created') on conflict do nothing
insert into job values (104, 'q1', 'k4', 'created') on conflict (name, k) where st = 'created' do nothing
insert into job values (105, 'q1', 'k4', 'created') on conflict (name, k) where st = 'retry' do nothing
insert into job values (106, 'q1', 'k4', 'created') on conflict (name, k) where st = 'created' do update set k = excluded.k || '!' returning *
select id from job where st = 'created' and name = 'q1' order by id
select id from job where st < 'active' and name = 'q2' order by id
select id from job where st <> 'active' and name = 'q2' and k is not null order by id
select count(*) from job where st in ('created', 'retry') and name = 'q0'
update job set st = 'active' where id = 4
update job set st = 'created' where id in (5, 9) returning id
update job set k = 'same', name = 'same', st = 'created' where id in (13, 17)
delete from job where st = 'completed' and id > 30
select name, count(*) from job where st < 'active' group by 1 order by 1
alter type st add value 'waiting' before 'active'
alter type st add value 'first' before 'created'
alter type st add value 'late'
insert into job values (200, 'w', 'w', 'waiting'), (201, 'w', 'f', 'first'), (202, 'w', 'l', 'late')
insert into job values (203, 'w', 'w', 'waiting'), (204, 'w', 'f', 'first')
select id, st from job where st < 'active' and name = 'w' order by id
select id, st from job where st > 'active' order by id
select id, st from job where name = 'w' and st <> 'active' and k is not null order by id
alter type st rename value 'created' to 'fresh'
alter type st rename value 'retry' to 'created'
select indexname, indexdef from pg_indexes where tablename = 'job' order by 1
select id from job where st = 'created' and name = 'q1' order by id
select id from job where st = 'fresh' and name = 'q1' order by id
insert into job values (300, 'q1', 'k4', 'fresh')
insert into job values (301, 'q1', 'k4!', 'fresh')
insert into job values (301, 'q1', 'k4!', 'created'), (302, 'q1', 'k4!', 'created')
insert into job values (303, 'q1', 'k4!', 'fresh') on conflict (name, k) where st = 'fresh' do nothing
insert into job values (304, 'q1', 'k4!', 'fresh') on conflict (name, k) where st = 'created' do nothing
alter type st rename to states
create schema other
alter type states set schema other
select indexname, indexdef from pg_indexes where tablename = 'job' order by 1
set search_path = public, other
select indexname, indexdef from pg_indexes where tablename = 'job' order by 1
alter table job rename column st to state
alter table job rename to jobs
select indexname, indexdef from pg_indexes where tablename = 'jobs' order by 1
create table like_all (like jobs including all)
select count(*), min(indexdef) from pg_indexes where tablename = 'like_all'
insert into like_all values (1, 'a', 'b', 'fresh')
insert into like_all values (2, 'a', 'b', 'fresh')
create table other_use (id int, s states)
create index on other_use (id) where s is not null
drop type states
drop type states cascade
select indexname, indexdef from pg_indexes where tablename in ('jobs', 'like_all', 'other_use') order by 1
select * from jobs where id < 4 order by id
"#;

#[test]
fn partial_indexes_over_enums() {
    compared::compare(INDEXES);
}

/// Checks of tables, columns and domains, generated columns.
const CHECKS: &str = r#"
create type st as enum ('todo', 'doing', 'done', 'failed')
create table e1 (s st, f timestamptz, check ((s in ('todo', 'doing') and f is null) or f is not null))
create table e2 (s st check (s <> 'failed'), n int)
create table e3 (id int, s st, abort boolean, constraint odd check (not (s = 'todo' and abort)), g int generated always as (case s when 'todo' then 1 when 'doing' then 2 else 0 end) stored, h st generated always as (case when abort then 'failed'::st else s end) stored)
create table bad (s st, t text generated always as (s::text) stored)
create table bad (s st check (s = 'nothing'))
create table bad (s st check (s = 1))
select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace order by 1, 2
select table_name, column_name, data_type, udt_name, is_generated, generation_expression from information_schema.columns where table_name = 'e3' order by ordinal_position
select check_clause from information_schema.check_constraints where constraint_schema = 'public' and check_clause not like '%IS NOT NULL' order by 1
insert into e1 values ('todo', null), ('done', now())
insert into e1 values ('done', null)
insert into e1 values ('todo', null), ('failed', null)
insert into e2 values ('todo', 1), ('failed', 2)
insert into e2 values ('todo', 1), (null, 2)
update e2 set s = 'failed' where n = 1
insert into e3 (id, s, abort) values (1, 'todo', false), (2, 'doing', true), (3, null, null), (4, 'done', null)
insert into e3 (id, s, abort) values (1, 'todo', true)
select * from e3 order by id
update e3 set s = 'done' where id = 1 returning *
create index on e3 (h)
create unique index on e3 (id) where h = 'failed'
select id from e3 where h = 'failed'
select id from e3 where h >= 'done' order by id
alter type st add value 'paused' before 'done'
alter type st rename value 'failed' to 'broken'
insert into e2 values ('paused', 3)
insert into e2 values ('broken', 3)
insert into e3 (id, s, abort) values (5, 'paused', null), (6, 'paused', true)
insert into e3 (id, s, abort) values (6, 'paused', true)
select id, s, g, h from e3 order by id, s
alter table e3 add column late st generated always as (greatest(s, 'doing')) stored
select id, late from e3 order by id, s
alter table e2 add constraint more check (s < 'done' or n > 10)
insert into e2 values ('done', 4)
insert into e2 values ('done', 14)
alter table e2 add constraint never check (s is null)
alter table e2 add constraint never check (s is null) not valid
insert into e2 values ('todo', 4)
alter table e2 drop constraint never
create domain ds as st check (value <> 'broken')
create table e4 (s ds, t int check (t > 0))
insert into e4 values ('todo', 1)
insert into e4 values ('broken', 1)
drop table e4
drop domain ds
create table up (id int, s st, check (s <> 'broken' or id > 10))
create table down () inherits (up)
create table down2 (id int, s st, constraint up_check check (s <> 'broken' or id > 10))
alter table down2 inherit up
insert into down values (1, 'broken')
alter table up add constraint again check (s <> 'done')
insert into down2 values (1, 'done')
select conrelid::regclass::text, conname, pg_get_constraintdef(oid), coninhcount from pg_constraint where conrelid in ('up'::regclass, 'down'::regclass, 'down2'::regclass) order by 1, 2
create table parts (id int, s st not null, g int generated always as (case s when 'todo' then 1 else 2 end) stored) partition by list (s)
create table parts1 partition of parts for values in ('todo', 'doing')
create table parts2 (id int, s st not null, g int generated always as (case s when 'todo' then 1 else 2 end) stored)
create unique index on parts1 (s, id) where s <> 'doing'
create index on parts2 (id) where s = 'todo'
alter table parts attach partition parts2 for values in ('done')
insert into parts (id, s) values (1, 'todo'), (2, 'doing'), (3, 'done')
select tableoid::regclass::text, * from parts order by id
select tablename, indexdef from pg_indexes where tablename like 'parts%' order by 1, 2
create table t1 (id int, s text check (s <> 'x'), u text)
insert into t1 values (1, 'todo', 'done')
create index t1_u on t1 (id) where u = 'done'
alter table t1 alter s type st using s::st
alter table t1 alter u type st using u::st
alter table t1 drop constraint t1_s_check, alter s type st using s::st
drop index t1_u
alter table t1 alter u type st using u::st
create index t1_u on t1 (id) where u = 'done'
alter table t1 alter u type text
alter table t1 add column v st check (v <> 'todo')
alter table t1 alter v type text
alter table t1 drop column v
drop index t1_u
alter table t1 alter u type text
select * from t1
drop type st
drop type st cascade
select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace order by 1, 2
"#;

#[test]
fn checks_and_generated_columns_over_enums() {
    compared::compare(CHECKS);
}

/// Literals of domains.
const DOMAINS: &str = r#"
create domain dm as text
create domain dm2 as dm
create domain small as int check (value < 100)
create table e7 (id int, s text, k text, n int)
create index j1 on e7 (k) where s = 'todo'::dm
create index j2 on e7 (k) where s = any (array['todo'::dm, 'doing'::dm])
create index j3 on e7 (k) where s in ('todo', 'doing')
create index j4 on e7 (k) where k = 'x'::dm2
create index j5 on e7 (k) where n = '7'::small
create table e8 (s text check (s <> 'bad'::dm), t text check (t::dm <> 'x'), g text generated always as (s || 'x'::dm) stored)
select indexname, indexdef from pg_indexes where tablename = 'e7' and indexname <> 'j2' order by 1
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'e8'::regclass order by 1
insert into e7 values (1, 'todo', 'a', 7), (2, 'doing', 'b', 8), (3, 'x', 'x', 7)
insert into e8 (s, t) values ('ok', 'y')
insert into e8 (s, t) values ('bad', 'y')
insert into e8 (s, t) values ('ok', 'x')
select * from e8
select id from e7 where s = 'todo'::dm and k = 'a'
select id from e7 where s = 'todo' and k = 'a'
select id from e7 where s = any (array['todo'::dm, 'doing'::dm]) and k > '' order by id
select objid::regclass::text, refobjid::regtype::text, deptype from pg_depend where classid = 'pg_class'::regclass and refclassid = 'pg_type'::regclass and objid::regclass::text like 'j_' order by 1, 2
alter domain dm rename to word
select indexname, indexdef from pg_indexes where tablename = 'e7' and indexname <> 'j2' order by 1
drop domain dm2
drop domain dm2 cascade
select indexname from pg_indexes where tablename = 'e7' order by 1
drop domain small
"#;

#[test]
fn domains_in_predicates() {
    compared::compare(DOMAINS);
}

/// Functions of the database.
const FUNCTIONS: &str = r#"
create type st as enum ('available', 'cancelled', 'completed', 'discarded', 'pending')
create function in_mask(mask bit(8), state st) returns boolean language sql immutable as $$ select case state when 'available' then get_bit(mask, 7) when 'cancelled' then get_bit(mask, 6) when 'completed' then get_bit(mask, 5) else 0 end = 1 $$
create function plus(int, int default 1) returns int language sql immutable as 'select $1 + $2'
create function strictly(a text) returns text language sql immutable strict as $$ select coalesce(a, 'none') || '!' $$
create function loose(a text) returns text language sql as $$ select lower(a) $$
create function twice(a int) returns bigint language sql immutable as $$ select plus(a, a) $$
create function moving(a int) returns int language sql as $$ select a + (random() * 0)::int $$
create function steady(a int) returns int language sql stable as $$ select a $$
create table jobs (id int primary key, k text, mask bit(8), state st not null default 'available')
create unique index f1 on jobs (k) where k is not null and mask is not null and in_mask(mask, state)
create index f2 on jobs (twice(id))
create index f3 on jobs (strictly(k), id)
create index f4 on jobs (loose(k))
create index f5 on jobs (steady(id))
create index bad on jobs (moving(id))
create index bad on jobs (id) where moving(id) = 1
select indexname, indexdef from pg_indexes where tablename = 'jobs' order by 1
select objid::regclass::text, refclassid::regclass::text, refobjid::regproc::text, deptype from pg_depend where classid = 'pg_class'::regclass and refclassid = 'pg_proc'::regclass and objid::regclass::text like 'f_' order by 1, 3
insert into jobs select n, 'k' || n, B'00000111', (array['available', 'cancelled', 'completed', 'discarded', 'pending']::st[])[n % 5 + 1] from generate_series(1, 30) n
insert into jobs values (100, 'k5', B'00000001', 'available')
insert into jobs values (101, 'k3', B'00000001', 'available'), (102, 'k5', B'00000001', 'completed')
insert into jobs values (103, 'k5', B'00000001', 'available') on conflict (k) where k is not null and mask is not null and in_mask(mask, state) do update set mask = jobs.mask returning id
update jobs set state = 'discarded' where id = 5
insert into jobs values (104, 'k5', B'00000001', 'available')
update jobs set state = 'available' where id = 5
insert into jobs values (105, null, null, 'pending')
select id from jobs where twice(id) = 40
select id from jobs where strictly(k) = 'k7!'
select id from jobs where loose(k) = 'k9'
select id from jobs where k = 'k11' and k is not null and mask is not null and in_mask(mask, state)
create table c (a int check (twice(a) < 100), b text, g bigint generated always as (twice(a)) stored, constraint long check (strictly(b) <> 'x!'))
insert into c (a, b) values (10, 'y'), (null, null)
insert into c (a, b) values (60, 'y')
insert into c (a, b) values (6, 'x')
select * from c order by a
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'c'::regclass order by 1
select column_name, generation_expression from information_schema.columns where table_name = 'c' order by 1
create or replace function strictly(a text) returns text language sql immutable strict as $$ select coalesce(a, 'none') || '!' $$
create function gives_row() returns c language sql as 'select * from c'
select refobjid::regtype::text, deptype from pg_depend where classid = 'pg_proc'::regclass and objid in ('gives_row'::regproc, 'in_mask'::regproc) and refclassid = 'pg_type'::regclass order by 1
select refobjid::regclass::text, deptype from pg_depend where classid = 'pg_type'::regclass and objid = 'c'::regtype and refclassid = 'pg_class'::regclass
select refobjid::regtype::text, deptype from pg_depend where classid = 'pg_type'::regclass and objid in ('c[]'::regtype, 'st[]'::regtype) order by 1
drop function gives_row
alter function in_mask rename to masked
alter type st rename to states
select indexname, indexdef from pg_indexes where tablename = 'jobs' order by 1
drop function masked
drop function twice
drop function masked cascade
drop function strictly cascade
select indexname from pg_indexes where tablename = 'jobs' order by 1
select conname from pg_constraint where conrelid = 'c'::regclass order by 1
alter table c add check (twice(a) > -100) not valid
insert into c (a) values (-60)
create table p (id int, s states) partition by list (s)
create table p1 partition of p for values in ('available')
create index on p1 (plus(id, 1)) where s = 'available'
select tablename, indexdef from pg_indexes where tablename like 'p%' and schemaname = 'public' order by 1
"#;

#[test]
fn functions_in_indexes_and_checks() {
    compared::compare(FUNCTIONS);
}

fn open(dir: &std::path::Path) -> Fixture {
    let options = Options::default().sync(SyncMode::Os).memory_limit(256 << 20);
    let db = Database::open(dir, options).expect("it opens");
    Fixture::of(Instance::open(db).expect("the catalog is as it was"))
}

/// What is kept means the same to a database that opens, with labels that came and were renamed since, and `check` finds nothing.
#[test]
fn definitions_are_the_same_after_a_reopen() {
    const SHOWN: &str = "select pg_get_indexdef(indexrelid) from pg_index where indrelid = 't'::regclass \
        union all select pg_get_constraintdef(oid) from pg_constraint where conrelid = 't'::regclass order by 1";
    const ROWS: &str = "select id, st, g from t order by id";
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (shown, rows) = {
        let fixture = open(dir.path());
        let mut talk = fixture.session();
        for sql in [
            "create type st as enum ('new', 'old')",
            "create function mark(s st) returns int language sql immutable as $$ select case s when 'new' then 1 else 2 end $$",
            "create table t (id int primary key, st st, n int, g int generated always as (mark(st)) stored, check (st <> 'old' or n > 0))",
            "create unique index u on t (n) where st = 'new'",
            "create index e on t (mark(st), id)",
            "insert into t select n, case when n % 2 = 0 then 'new'::st else 'old' end, n from generate_series(1, 100) n",
            "alter type st add value 'middle' before 'old'",
            "alter type st rename value 'old' to 'aged'",
            "insert into t values (200, 'middle', 2), (201, 'new', 3)",
        ] {
            let outcome = talk.run(sql);
            assert!(outcome.error.is_none(), "{sql}: {:?}", outcome.error);
        }
        (talk.rows(SHOWN), talk.rows(ROWS))
    };
    let fixture = open(dir.path());
    let mut talk = fixture.session();
    assert_eq!(talk.rows(SHOWN), shown);
    assert_eq!(talk.rows(ROWS), rows);
    let state = |talk: &mut support::Talk, sql: &str| talk.run(sql).error.map(|e| e.0);
    assert_eq!(state(&mut talk, "insert into t values (300, 'new', 4)").as_deref(), Some("23505"));
    assert_eq!(state(&mut talk, "insert into t values (300, 'aged', 0)").as_deref(), Some("23514"));
    assert_eq!(state(&mut talk, "insert into t values (300, 'middle', 4)"), None);
    assert_eq!(talk.rows("select count(*) from t where mark(st) = 1"), [[Some("51".into())]]);
    drop((talk, fixture));
    let options = Options::default().memory_limit(256 << 20);
    let check = onlap::CheckOptions { options };
    let report = onlap::check_with(dir.path(), &check, &onlap_sql::attach).expect("it is there");
    assert_eq!((report.findings, report.unchecked), (Vec::new(), 0));
}

/// What an index answers is what a scan does, whatever became of the enum, and indexes are used where labels are said.
#[test]
fn indexes_answer_as_scans_do() {
    let fixture = Fixture::new(true);
    let mut talk = fixture.session();
    let run = |talk: &mut support::Talk, sql: &str| {
        let outcome = talk.run(sql);
        assert!(outcome.error.is_none(), "{sql}: {:?}", outcome.error);
    };
    run(&mut talk, "create type st as enum ('a', 'b', 'c', 'd')");
    run(
        &mut talk,
        "create function low(s st) returns boolean language sql immutable as $$ select s < 'c' $$",
    );
    run(&mut talk, "create table plain (id int, st st, k int)");
    run(&mut talk, "create table keyed (id int, st st, k int)");
    let indexes = [
        "(k) where st = 'b'",
        "(k) where st < 'c'",
        "(k) where st <> 'a'",
        "(k) where st in ('a', 'd')",
        "(k) where low(st)",
        "((case when st >= 'b' then k else -k end))",
        "(low(st), k)",
    ];
    for index in indexes {
        run(&mut talk, &format!("create index on keyed {index}"));
    }
    let fill = |talk: &mut support::Talk, from: usize, labels: &[&str]| {
        for table in ["plain", "keyed"] {
            let labels: Vec<String> = labels.iter().map(|label| format!("'{label}'")).collect();
            let labels = labels.join(", ");
            let sql = format!(
                "insert into {table} select n, (array[{labels}]::st[])[n % {} + 1], n % 11 from generate_series({from}, {from} + 3000) n",
                labels.split(',').count()
            );
            run(talk, &sql);
        }
    };
    let same = |talk: &mut support::Talk, labels: &[&str]| {
        let mut conditions = vec!["low(st)".to_string(), "not low(st)".into()];
        for label in labels {
            for op in ["=", "<", ">=", "<>"] {
                conditions.push(format!("st {op} '{label}'"));
            }
            conditions.push(format!("st in ('{label}', '{}')", labels[0]));
            conditions.push(format!("(case when st >= '{label}' then k else -k end) = 3"));
        }
        for condition in conditions {
            let of = |table: &str| {
                format!("select count(*), sum(id) from {table} where {condition} and k = 3")
            };
            assert_eq!(talk.rows(&of("keyed")), talk.rows(&of("plain")), "{condition}");
        }
    };
    let labels = ["a", "b", "c", "d"];
    fill(&mut talk, 0, &labels);
    same(&mut talk, &labels);
    let explained = talk.rows("explain select id from keyed where st = 'b' and k = 3");
    assert!(format!("{explained:?}").contains("keyed_k_idx"), "{explained:?}");
    run(&mut talk, "alter type st add value 'bb' before 'c'");
    run(&mut talk, "alter type st add value 'z' before 'a'");
    let labels = ["z", "a", "b", "bb", "c", "d"];
    fill(&mut talk, 5000, &labels);
    same(&mut talk, &labels);
    // The two change their names.
    run(&mut talk, "alter type st rename value 'a' to 'x'");
    run(&mut talk, "alter type st rename value 'b' to 'a'");
    run(&mut talk, "alter type st rename value 'x' to 'b'");
    same(&mut talk, &labels);
    run(&mut talk, "prepare p(st) as select count(*) from keyed where st = $1 and k = 3");
    run(&mut talk, "prepare q(st) as select count(*) from plain where st = $1 and k = 3");
    for label in labels {
        let one = talk.rows(&format!("execute p('{label}')"));
        assert_eq!(one, talk.rows(&format!("execute q('{label}')")), "{label}");
    }
    run(&mut talk, "update keyed set st = 'a' where id % 7 = 0");
    run(&mut talk, "update plain set st = 'a' where id % 7 = 0");
    same(&mut talk, &labels);
}

/// What cannot be kept is said to be so, and a function does not change below what is made with it.
#[test]
fn what_is_not_kept_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "create type st as enum ('a', 'b')",
        "create type pair as (x int, y int)",
        "create domain positive as int check (value > 0)",
        "create function f(a int) returns int language sql immutable as 'select a + 1'",
        "create function g(a int) returns int language plpgsql immutable as 'begin return a; end'",
        "create function h(a int) returns bigint language sql immutable as 'select count(*) + a from pg_class'",
        "create function s(a st) returns text language sql immutable as 'select a::text'",
        "create function m(a int) returns int language sql immutable as 'select max(a)'",
        "create function d(a int default 3) returns int language sql immutable as 'select a'",
        "create table t (id int, st st, p pair)",
        "create index on t (f(id))",
        "create table c (id int check (f(id) > 0))",
        "create function low(a int) returns boolean language sql immutable as $$ select a < ('{-3}'::positive[])[1] $$",
    ] {
        let outcome = talk.run(sql);
        assert!(outcome.error.is_none(), "{sql}: {:?}", outcome.error);
    }
    for sql in [
        "create index on t (g(id))",
        "create index on t (h(id))",
        "create index on t (s(st))",
        "create index on t (d())",
        "create index on t (id) where p = row(1, 2)::pair",
        "create index on t (id) where id::positive = 3",
        "create index on t (m(id))",
        "create index on t using gin ((array[st, 'b']))",
        "create or replace function f(a int) returns int language sql immutable as 'select a + 2'",
        "alter function f(int) strict",
    ] {
        let error = talk.run(sql).error;
        assert_eq!(error.as_ref().map(|e| e.0.as_str()), Some("0A000"), "{sql}: {error:?}");
    }
    // A constant within a body breaks its conditions.
    let error = talk.run("create index on t (id) where low(id)").error;
    assert_eq!(error.map(|e| e.0).as_deref(), Some("23514"));
    let again =
        "create or replace function f(a int) returns int language sql immutable as 'select a + 1'";
    assert!(talk.run(again).error.is_none());
    talk.rows("drop table t, c");
    let other =
        "create or replace function f(a int) returns int language sql immutable as 'select a + 2'";
    assert!(talk.run(other).error.is_none());
}

/// Literals of domains' arrays, and domains that are changed after something was made with them.
const CONDITIONS: &str = r#"
create domain pos as int check (value > 0)
create domain list as pos[]
create table pb (n int, check (n > ('{-1}'::pos[])[1]))
create table pb (n int, check (n > ('{-1}'::list)[1]))
create table pb (n int, g int generated always as (coalesce(('{-5}'::pos[])[1], n)) stored)
create table pb (n int, check (n > ('{2,3}'::pos[])[1]))
create index on pb (n) where n = any ('{1,-1}'::pos[])
insert into pb values (2)
insert into pb values (3)
create domain plain as int
create table pa (n int)
create index on pa ((n::plain))
create index on pa (n) where n > '7'::plain
alter domain plain rename to simple
select indexdef from pg_indexes where tablename = 'pa' order by 1
drop domain simple
drop domain simple cascade
select indexdef from pg_indexes where tablename = 'pa' order by 1
create domain word as text
create table pc (t word, s text, check (s <> 'x'::word))
create index on pc (lower(t))
insert into pc values ('abcd', 'y')
alter domain word add constraint short check (length(value) < 3)
alter domain word add constraint short check (length(value) < 10)
insert into pc values ('abcdefghijkl', 'y')
insert into pc values ('abc', 'x')
alter domain word add constraint later check (length(value) < 4) not valid
alter domain word validate constraint later
delete from pc
alter domain word validate constraint later
alter domain word set not null
insert into pc values (null, 'y')
insert into pc values ('abc', 'y')
select * from pc where lower(t) = 'abc'
"#;

#[test]
fn domains_keep_their_conditions() {
    compared::compare(CONDITIONS);
}

/// A domain gets no condition as long as something makes values of it for which nothing would ask.
#[test]
fn conditions_wait_for_what_is_made_with_a_domain() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let state = |talk: &mut support::Talk, sql: &str| talk.run(sql).error.map(|e| e.0);
    for sql in [
        "create domain plain as int",
        "create domain over as plain",
        "create function fdom(a int) returns plain language sql immutable as 'select a'",
        "create function takes(a plain) returns int language sql immutable as 'select a + 1'",
        "create function outer1(a int) returns int language sql immutable as 'select takes(a)'",
    ] {
        assert_eq!(state(&mut talk, sql), None, "{sql}");
    }
    for made in [
        "create table t (n int, g int generated always as (n::plain) stored)",
        "create table t (n int, check (fdom(n) is not null))",
        "create table t (n int, check (n::over > 0))",
        "create table t (n int, check ((array[n]::plain[])[1] < 100))",
        "create table t (n int); create index on t ((n::plain))",
        "create table t (n int); create index on t (n) where outer1(n) = 3",
    ] {
        assert_eq!(state(&mut talk, made), None, "{made}");
        for change in [
            "alter domain plain add constraint pl check (value > 10)",
            "alter domain plain add constraint pl check (value > 10) not valid",
            "alter domain plain set not null",
        ] {
            assert_eq!(state(&mut talk, change).as_deref(), Some("0A000"), "{made}: {change}");
        }
        assert_eq!(state(&mut talk, "insert into t values (4)"), None, "{made}");
        assert_eq!(state(&mut talk, "drop table t"), None);
        for change in [
            "alter domain plain add constraint pl check (value > 10)",
            "alter domain plain drop constraint pl",
            "alter domain plain set not null",
            "alter domain plain drop not null",
        ] {
            assert_eq!(state(&mut talk, change), None, "{made}: {change}");
        }
    }
}

/// A role makes nothing with functions of schemas in which it may not look.
const SCHEMAS: &str = r#"
create role plainly
create schema priv
create function priv.hasexec(a int) returns int language sql immutable as 'select a + 1'
create function wrap(a int) returns int language sql immutable as 'select priv.hasexec(a)'
set role plainly
create temp table x1 (n int, g int generated always as (priv.hasexec(n)) stored)
create temp table x1 (n int check (priv.hasexec(n) > 0))
create temp table x2 (n int)
insert into x2 values (1)
alter table x2 add check (priv.hasexec(n) > 0)
create index on x2 (priv.hasexec(n))
create index on x2 (n) where priv.hasexec(n) = 1
create index on x2 (wrap(n))
reset role
grant usage on schema priv to plainly
set role plainly
create index on x2 (priv.hasexec(n))
create index on x2 (wrap(n))
create temp table x1 (n int check (priv.hasexec(n) > 0))
insert into x1 values (-1)
select n from x2 where wrap(n) = 2
"#;

#[test]
fn functions_of_schemas_out_of_reach() {
    compared::compare(SCHEMAS);
}

/// What functions call or name is carried, so it stays as long as they are.
/// What a transaction has dropped is in the way of nothing.
#[test]
fn what_is_made_anew_with_another_body() {
    compared::compare(
        "
create function f(a int) returns int language sql immutable as 'select a + 1'
create domain plain as int
create table t (n int, g int generated always as (n::plain) stored)
create index i on t (f(n))
insert into t values (1), (2)
begin
drop index i
create or replace function f(a int) returns int language sql immutable as 'select a + 100'
create index i on t (f(n))
alter table t drop column g
alter domain plain add constraint d check (value > 0)
commit
select n from t where f(n) = 101
alter function f(int) cost 5
select n from t where f(n) = 102
select pg_get_indexdef('i'::regclass)
begin
drop index i
drop function f(int)
rollback
select n from t where f(n) = 102
",
    );
}

/// Who makes something with a function, and who changes or drops it, wait for each other.
#[test]
fn what_is_made_and_what_changes_it_wait() {
    let fixture = Fixture::new(false);
    let mut one = fixture.session();
    for sql in [
        "create function f(a int) returns int language sql immutable as 'select a + 1'",
        "create table t (n int)",
        "insert into t values (1)",
    ] {
        one.rows(sql);
    }
    for (change, wanted) in [
        ("alter function f(int) cost 5", None),
        ("drop function f(int)", Some("2BP01")),
        (
            "create or replace function f(a int) returns int language sql immutable as 'select a'",
            Some("0A000"),
        ),
    ] {
        one.rows("begin; create index i on t (f(n))");
        let mut other = fixture.session();
        let waits = std::thread::spawn(move || other.run(change).error.map(|error| error.0));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!waits.is_finished(), "{change}");
        one.rows("commit");
        assert_eq!(waits.join().expect("it ends").as_deref(), wanted, "{change}");
        assert_eq!(one.rows("select n from t where f(n) = 2").len(), 1, "{change}");
        one.rows("drop index i");
    }
}

#[test]
fn what_functions_name_stays() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let state = |talk: &mut support::Talk, sql: &str| talk.run(sql).error.map(|e| e.0);
    for sql in [
        "create schema other",
        "create schema moving",
        "create function moving.inner3(a int) returns int language sql immutable as 'select a + 1'",
        "create function outer3(a int) returns int language sql immutable as 'select moving.inner3(a)'",
        "create table n3 (n int)",
        "create index on n3 (outer3(n))",
        "create type hue as enum ('r', 'g')",
        "create function inner1(a int) returns int language sql immutable as 'select a + 1'",
        "create function outer1(a int) returns int language sql immutable as 'select inner1(a) * 2'",
        "create function red(a int) returns boolean language sql immutable as $$ select (case when a > 5 then 'r'::hue else 'g' end) = 'r'::hue $$",
        "create table n1 (n int)",
        "create index by_outer on n1 (outer1(n))",
        "create index by_red on n1 (n) where red(n)",
        "insert into n1 select generate_series(1, 10)",
    ] {
        assert_eq!(state(&mut talk, sql), None, "{sql}");
    }
    for (sql, code) in [
        ("drop function inner1", "2BP01"),
        ("drop type hue", "2BP01"),
        ("alter function inner1 rename to inner2", "0A000"),
        ("alter function inner1 set schema other", "0A000"),
        ("alter schema moving rename to moved", "0A000"),
    ] {
        assert_eq!(state(&mut talk, sql).as_deref(), Some(code), "{sql}");
    }
    let shown = "select indexdef from pg_indexes where tablename = 'n1' order by 1";
    let of = |text: &str| vec![Some(text.to_string())];
    let outer = of("CREATE INDEX by_outer ON public.n1 USING btree (outer1(n))");
    let red = of("CREATE INDEX by_red ON public.n1 USING btree (n) WHERE red(n)");
    assert_eq!(talk.rows(shown), [outer, red.clone()]);
    assert_eq!(talk.rows("select n from n1 where outer1(n) = 8"), [of("3")]);
    assert_eq!(talk.rows("select n from n1 where outer1(n) + 0 = 8"), [of("3")]);
    assert_eq!(state(&mut talk, "drop function inner1 cascade"), None);
    assert_eq!(talk.rows(shown), [red]);
    assert_eq!(state(&mut talk, "drop type hue cascade"), None);
    assert!(talk.rows(shown).is_empty());
}
