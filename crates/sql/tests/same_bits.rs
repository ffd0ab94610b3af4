//! Do types of the same bits keep what their own operators mean?
//!
//! A script is compared with a private PostgreSQL 15 (a Debian package): a key is looked up by operators of its own type alone,
//! oids become integers where PostgreSQL sees the same bits, the numbers of LIMIT may be those of a query, and what was
//! prepared runs when its table was emptied.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

const KEYS: &str = r#"
create extension citext
create table t (a varchar(3) primary key, n int)
insert into t values ('a', 1), ('a ', 2), ('A', 3), ('b', 4)
select * from t where a = 'a'::bpchar
select * from t where a = 'a'::char(3)
select * from t where a::bpchar = 'a'
select * from t where a::bpchar in ('a', 'b')
select * from t where a::bpchar in (select 'a'::bpchar)
select * from t where a::bpchar = any ('{a,b}'::bpchar[])
select * from t where a::bpchar > 'a' order by n
select * from t where a::citext = 'a'
select * from t where a::citext between 'a' and 'a'
select * from t where a::citext in (select 'A')
select * from t where a::citext = any ('{A,B}')
select * from t where a::text = 'a'
select * from t where a = 'a'::text
select n, (select count(*) from t u where u.a::bpchar = t.a) from t order by n
select n, (select count(*) from t u where u.a::citext = t.a::citext) from t order by n
create view v as select a::citext as c, a::bpchar as b, n from t
select n from v where c = 'A'
select n from v where b = 'a'
select t.n, u.n from t join t u on t.a::citext = u.a::citext order by 1, 2
update t set n = n + 10 where a = 'a'::bpchar
delete from t where a::citext = 'B'
select * from t order by n
prepare p (bpchar) as select * from t where a = $1
execute p ('a')
create table x (a text primary key)
insert into x values ('a'), ('A')
select * from x where a::citext = 'a'
create table c (a citext primary key)
insert into c values ('a'), ('B')
select * from c where a = 'A'
select * from c where a::text = 'A'
select * from c where a::text = 'a'
create table l (k text, n int) partition by list (k)
create table l1 partition of l for values in ('a')
create table l2 partition of l for values in ('A')
insert into l values ('a', 1), ('A', 2)
select * from l where k::citext = 'a' order by n
update l set n = n + 1 where k::citext = 'a'
delete from l where k::citext = 'A'
select * from l
create table w (a char(3), n int)
create table y (a varchar(5), n int)
create index on y (a)
insert into w select 'k' || n % 50, n from generate_series(1, 100) n
insert into y select 'k' || n, n from generate_series(1, 2000) n
analyze
select count(*) from w join y on w.a = y.a
select count(*) from w left join y on w.a = y.a where y.n is null
select count(*) from w where exists (select from y where y.a = w.a)
select count(*) from w where a in (select a from y)
select count(*) from w where a = any (select a from y)
select count(*) from w, lateral (select * from y where y.a = w.a limit 1) one
select count(*) from w join y using (a)
select w.n, (select y.n from y where y.a = w.a) from w where w.n < 4 order by 1
update y set n = -1 from w where w.a = y.a and w.n = 7
select * from y where n = -1
create domain over_text as text
create table d (a over_text primary key)
insert into d values ('a'), ('A')
select * from d where a = 'a'
select * from d where a::citext = 'a' order by a
select * from d where a::text::bpchar = 'a'
"#;

const BITS: &str = r#"
create domain whole as int check (value < 100)
create table o (a oid, s int2)
insert into o values (1, 2), (3, -4)
select * from o where a::whole = 1
select a::whole, s from o order by a
select 4294967295::oid::whole
select 400::oid::whole
select a from o union all select s from o
select s from o union select a from o
select s from o intersect select a from o
select s from o except select a from o
select 1::int2 union all select 2::oid
select 1::int2 union all select 2::oid union all select 3::int4
select 1::int8 union all select 2::oid
select pg_typeof(x) from (select 1::int2 union all select 2::oid) t (x)
select 'a'::text || '10.0.0.1'::inet, '10.0.0.0/8'::inet || 'b'::text, 'a'::varchar || '::1'::inet
select 'a'::text || '10.0.0.0/8'::cidr, concat('a', '10.0.0.1'::inet), '10.0.0.1'::inet::text
"#;

const LIMITS: &str = r#"
create table a (id int primary key, n int)
insert into a select i, i % 3 from generate_series(1, 20) i
create table b (id int)
insert into b select i from generate_series(1, 24) i
select id from a order by id limit (select 3)
select id from a order by id limit (select count(*) / 8 from b)
select id from a order by id offset (select count(*) - 6 from b)
select id from a order by id limit (select 2) offset (select 5)
select n from a order by n fetch first (select 2) rows with ties
select n from a order by n offset (select 6) fetch first (select id from b where id = 1) rows with ties
select id from a order by id limit (select null::int)
create table z as select id from a order by id limit (select -1)
create table z as select id from a order by id offset (select -1)
create table z as select id from a order by id limit (select id from b)
select distinct n from a order by n limit (select 2)
select id from a union all select id from b order by 1 limit (select 3)
create table z as select (select id from a order by id desc limit (select b.id)) from b where id < 3
select (select id from a order by id desc limit (select b.id - 0)) from b where id < 2
select b.id, array(select a.id from a order by a.id limit b.id) from b where id < 3 order by 1
create sequence s
select id from a order by id limit nextval('s')
select last_value, is_called from s
insert into b select id from a order by id limit (select count(*) from a where n = 0)
delete from b where id in (select id from b order by id limit (select 2))
select id from a order by id limit (select 2) for update
prepare q (int) as select id from a order by id limit (select $1)
execute q (2)
execute q (3)
with c as (select 2 as n) select id from a order by id limit (select n from c)
"#;

#[test]
fn keys_are_looked_up_by_operators_of_their_own_type() {
    compared::compare(KEYS);
}

#[test]
fn an_oid_is_an_integer_of_the_same_bits() {
    compared::compare(BITS);
}

#[test]
fn a_limit_may_be_the_value_of_a_query() {
    compared::compare(LIMITS);
}

#[test]
fn what_was_prepared_runs_after_truncate() {
    let mut script = String::from("create table k (a int primary key, v int)\n");
    for (at, sql) in [
        "update k set v = v + 10 where a = $1 returning v",
        "insert into k values ($1, 0) on conflict (a) do update set v = k.v + 1 returning v",
        "update k set v = v + 10 where a = $1",
        "select v from k where a = $1 and v + 0 > -1",
        "delete from k where a = $1 returning *",
        "select count(*) from k where a >= $1",
    ]
    .into_iter()
    .enumerate()
    {
        let execute = format!("execute s{at} (1)\n");
        script += "insert into k values (1, 1)\n";
        script += &format!("prepare s{at} (int) as {sql}\n{execute}{execute}");
        for _ in 0..2 {
            script += &format!("insert into k values (2, 2)\ntruncate k\n{execute}{execute}");
        }
        script += "truncate k\n";
    }
    compared::compare(&script);
}
