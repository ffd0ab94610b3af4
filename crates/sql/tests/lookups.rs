//! Are the rows of a large table looked up where few rows are joined with it, and are the answers the same?
//!
//! A script is compared with a private PostgreSQL 15 (a Debian package); plans tell that the table is not read as a whole.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::{Fixture, Talk};

const TABLES: &str = r#"
create table big (id int primary key, k int, t text)
insert into big select i, i % 700, 'row ' || i % 9 from generate_series(1, 6000) i
insert into big values (6001, null, null)
create index on big (k)
create table small (id int primary key, b int, c int)
insert into small select i, i * 5, i % 3 from generate_series(1, 12) i
insert into small values (20, null, 1), (21, 99999, 1), (22, 5, 2)
create table tags (id int, name text)
insert into tags values (5, 'five'), (10, 'ten'), (10, 'dix'), (null, 'none')
create view few as select * from small where c = 1
analyze
"#;

const QUERIES: &str = r#"
select s.id, b.t from small s left join big b on b.id = s.b order by 1
select s.id, b.id from small s left join big b on b.k = s.b order by 1, 2
select s.id, b.id from small s left join big b on b.k = s.b and b.id < 2000 and s.c = 1 order by 1, 2
select s.id, b.id from small s left join big b on b.id = s.b and b.t <> 'row 5' order by 1
select s.id, b.id from small s left join big b on b.id = s.b where b.id is null order by 1
select s.id, b.id from small s left join big b on b.id = s.b where b.t = 'row 5' order by 1
select s.id, b.id from small s left join big b on b.id = s.b and s.c = 2 where s.id < 10 order by 1
select s.id, b.id, count(*) over () from small s left join big b on b.id = s.b and b.k + s.c > 20 order by 1
select b.id, s.id from big b right join small s on b.id = s.b order by 2
select b.id, s.id from big b right join small s on b.k = s.b and b.id > 1000 and s.c <> 0 order by 2, 1
select b.*, s.* from big b right join small s on b.id = s.b where s.id = 3
select s.id, b.id, g.name from small s left join big b on b.id = s.b left join tags g on g.id = b.id order by 1, 3
select s.id, g.name, b.id from small s left join tags g on g.id = s.b left join big b on b.id = g.id order by 1, 2, 3
select s.id, b.id, c.id from small s left join big b on b.id = s.b left join big c on c.k = b.k and c.id <> b.id order by 1, 2, 3
select s.id, x.id from small s left join (big b join tags g on g.id = b.id) x (id) on x.id = s.b order by 1
select id, s.b, b.t from small s left join big b using (id) order by id
select * from (values (1, 'x'), (6001, 'y'), (null, 'z'), (7000, 'w')) v (id, n) left join big b on b.id = v.id order by n
select v.n, b.k from (values (700, 'x'), (1, 'y')) v (k, n) left join big b on b.k = v.k where b.id is null or b.id < 100 order by 1, 2
select f.id, b.t from few f left join big b on b.id = f.b order by 1
select q.id, b.t from (select id, b from small where id = 4) q left join big b on b.id = q.b
select q.id, b.t from (select id, b from small order by id desc limit 4) q left join big b on b.id = q.b order by 1
select q.n, b.t from (select count(*) as n from small) q left join big b on b.id = q.n
select s.id from small s where exists (select from big b left join tags g on g.id = b.id where b.id = s.b and g.name is null) order by 1
select s.id, (select count(b.id) from tags g left join big b on b.id = g.id and b.k > s.c) from small s where s.id < 4 order by 1
update small set c = 100 + b.k from tags g left join big b on b.id = g.id where g.id = small.b
select * from small order by id
delete from small using tags g left join big b on b.id = g.id where b.id = small.b and small.id > 12
select * from small order by id
merge into big using (select * from small where id = 3) s on big.id = s.b when matched then update set t = 'merged' when not matched then insert values (s.b, 0, 'new')
merge into big using (values (7000, 'seven'), (15, 'fifteen')) v (id, t) on big.id = v.id when matched then update set t = v.t when not matched then insert values (v.id, 1, v.t)
select * from big where id in (15, 7000) order by id
select s.id, b.id from small s left join big b on b.id = s.b and b.id = (select max(id) from tags) order by 1
select s.id, b.id from small s full join big b on b.id = s.b and b.id < 20 where s.id is not null order by 1
select s.id, (b).t from small s left join big b on b.id = s.b order by 1
select s.id, b is null, b.* is null from small s left join big b on b.id = s.b order by 1
select s.id, b.id from small s left join big b on b.id = s.b for update of s
"#;

/// Rows that EXISTS asks for one by one at first, and enough of them that their keys are found together.
const MANY: &str = r#"
create table y (id int primary key, h int, n numeric, f float8, c char(4), t text, u uuid, d date)
insert into y select i, i % 97, case when i % 3 = 0 then (i % 50) * 1.0 else (i % 50) * 1.00 end, case when i % 11 = 0 then '-0'::float8 when i % 13 = 0 then 'nan' else i % 40 end, 'c' || i % 30, 't' || i % 30, md5((i % 60)::text)::uuid, date '2024-01-01' + i % 45 from generate_series(1, 250) i
insert into y (id) values (1001), (1002)
create table x (id int primary key, h int, v int, n numeric, f float8, c varchar(6), t text, u uuid, d date)
insert into x select i, i % 70, i % 10, i % 37, case when i % 7 = 0 then 0 when i % 17 = 0 then 'nan'::float8 else i % 60 end, 'c' || i % 21 || repeat(' ', i % 2), 't' || i % 19, md5((i % 41)::text)::uuid, date '2024-01-10' + i % 20 from generate_series(1, 1500) i
insert into x (id, v) values (9001, 3), (9002, 4)
create table z (id int primary key, x int, k text)
insert into z select i, i * 7 % 1500, 'k' || i % 5 from generate_series(1, 500) i
create index on x (d)
analyze
select count(*), sum(id) from y where exists (select 1 from x where x.h = y.h and x.v < 3)
select count(*), sum(id) from y where not exists (select 1 from x where x.h = y.h and x.v < 3)
select count(*), sum(id) from y where exists (select from x where y.n = x.n and v > 7)
select count(*), sum(id) from y where not exists (select from x where x.f = y.f)
select count(*), sum(id) from y where exists (select from x where x.c::char(4) = y.c and x.v = 4)
select count(*), sum(id) from y where exists (select from x where x.c = y.c)
select count(*), sum(id) from y where exists (select from x where x.t = y.t and x.h > 5)
select count(*), sum(id) from y where not exists (select from x where x.u = y.u and x.id % 3 = 1)
select count(*), sum(id) from y where exists (select from x where x.d = y.d)
select count(*), sum(id) from y where not exists (select from x where x.d = y.d and x.h = y.h)
select count(*), sum(id) from y where exists (select from x where x.h = y.h and x.t = y.t and x.v between 2 and 6)
select count(*), sum(id) from y where exists (select from x where x.h = y.h and x.v < y.id % 10)
select count(*), sum(id) from y where exists (select from x where x.h = y.h or x.v = 11)
select count(*), sum(id) from y where exists (select from x where x.h = y.h + 1)
select count(*), sum(id) from y where exists (select from x where x.h + 1 = y.h and x.v = 3)
select count(*), sum(id) from y where id > 230 or exists (select from x where x.h = y.h and x.v = 2)
select id, exists (select from x where x.h = y.h and v = 5) as a, case when not exists (select from x where x.t = y.t and v = 1) then h end from y order by id
select h, bool_or(exists (select from x where x.h = y.h and v = 5)), count(*) filter (where exists (select from x where x.t = y.t and v = 1)) from y group by h order by h
select count(*) from y where exists (select from x join z on z.x = x.id where x.h = y.h and z.k = 'k2')
select count(*) from y where exists (select from x left join z on z.x = x.id where x.h = y.h and z.id is null and x.v = 9)
select count(*) from y where not exists (select from x left join z on z.x = x.id where z.id = y.h and x.v = 9)
select count(*) from y where exists (select from x where x.h = y.h and exists (select from z where z.x = x.id and z.k = 'k1'))
select count(*) from y where exists (select from x where x.h = y.h and not exists (select from z where z.x = x.id and z.id = y.id))
select count(*) from y where exists (select distinct t from x where x.h = y.h and v = 8 order by 1)
select count(*) from y where exists (select max(t) from x where x.h = y.h and v = 8)
select count(*) from y where exists (select t from x where x.h = y.h and v = 8 group by t having count(*) > 1)
select count(*) from y where exists (select from x where x.h = y.h and v = 8 limit 0)
select count(*) from y where exists (select from x where x.h = y.h and v = 8 offset 3)
select count(*) from y where exists (select from x where x.h = y.h intersect select from x where v = 8 and x.t = y.t)
select count(*) from y where exists (select from (select h, count(*) as n from x group by h) q where q.h = y.h and q.n > 42)
select count(*) from y where exists (with w as (select * from x where v = 8) select from w where w.h = y.h)
select count(*) from y, lateral (select exists (select from x where x.h = y.h and x.v = 1) as e) l where l.e
select count(*) from y left join z on z.id = y.id and exists (select from x where x.h = y.h and x.v = 1)
with recursive r (n, s) as (select 0, false union all select n + 1, exists (select from x where x.h = r.n and x.v = 7) from r where n < 90) select count(*) from r where s
select count(*) from x where exists (select from x o where o.h = x.v and o.v = x.h)
select count(*) from y where exists (select from x where row(x.h, x.t) = row(y.h, y.t))
prepare p as select count(*) from y where exists (select from x where x.h = y.h and x.v = 2)
execute p
delete from x where v = 2 and h < 30
execute p
begin
insert into x (id, h, v) select 20000 + i, i, 2 from generate_series(0, 20) i
execute p
rollback
execute p
create sequence sq
select count(*) from (select id from x where h = 33 and nextval('sq') > 0 limit 1) q
select nextval('sq')
select exists (select from x where nextval('sq') > 0)
select nextval('sq')
select nextval('sq') > 0 from x union all select true limit 3
select nextval('sq')
(select nextval('sq') > 0 from x) union all (select nextval('sq') < 0 from y) offset 2 limit 2
select nextval('sq')
select exists (select nextval('sq') from x union select 0)
select nextval('sq') > 900
select setval('sq', 100)
select n > 0 from (select nextval('sq') as n, h from x offset 0) q limit 2
select nextval('sq')
with r as (select nextval('sq') as n from x) select n > 0 from r limit 3
select nextval('sq')
select count(*) from (select nextval('sq') from x limit 7) q
select nextval('sq')
select n > 0 from (select nextval('sq') as n from x limit 20) q limit 2
select nextval('sq')
select n > 0 from (select nextval('sq') as n from x offset 0) q where n > 0 limit 4
select nextval('sq')
select n > 0 from (select nextval('sq') as n, id from x offset 0) q order by id limit 4
select nextval('sq')
select count(n) from (select nextval('sq') as n, id from x order by id) q, (select 1 offset 0) o limit 4
select nextval('sq')
select n > 0 from (select nextval('sq') as n from x order by id desc) q limit 4
select nextval('sq')
select pg_try_advisory_lock(id) from x where h = 36 union all select false limit 2
select count(*) from pg_locks where locktype = 'advisory'
select pg_advisory_unlock_all()
with r as materialized (select id from x where h = 35 order by id limit 10) select id from r where pg_try_advisory_lock(id) limit 1
select count(*) from pg_locks where locktype = 'advisory'
select pg_advisory_unlock_all()
select count(*) from x where h < 40 and pg_try_advisory_xact_lock(id) and v = 3
select count(*) > 900 from x where random() < 0.9
create function above(i int) returns bool language plpgsql volatile as $$ begin return i > 5; end $$
select id from x where above(id) order by id limit 2
select id from x where above(id) order by id desc limit 2
select id from x where id > 2 and above(id) order by id limit 2
select count(*) from (select id from x where random() < 0.5 order by id limit 5) q
select exists (select 1 from x where above(id) order by id limit 1)
select id from x where above(id) and nextval('sq') > 0 order by id limit 1
select min(id), max(id) from x where above(id)
delete from y where id in (select id from y where above(id) order by id limit 2)
update y set t = 'seen' where exists (select from x where x.h = y.h and x.v = 6)
select count(*) from y where t = 'seen'
delete from y where not exists (select from x where x.h = y.h and x.v = 6)
select count(*) from y
"#;

#[test]
fn exists_has_the_answers_of_postgresql() {
    compared::compare(MANY);
}

#[test]
fn exists_reads_a_table_a_few_times_however_many_rows_ask() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let made = |line: &&str| line.starts_with("create") || line.starts_with("insert");
    for statement in MANY.lines().filter(made) {
        talk.rows(statement);
    }
    let query =
        "select count(*) from y where not exists (select from x where x.h = y.h and x.v < 3)";
    let plan = talk.lines(&[&format!("explain analyze {query}")]);
    let read = plan.iter().find_map(|line| line.trim().strip_prefix("Base Rows Read: "));
    let read: u64 = read.expect("the plan counts them").parse().expect("a number");
    assert!((1500..15_000).contains(&read), "{read} rows of 1,752 were read");
    // A row that no outer one asks for has an error.
    let errors = "select count(*) from y where id < 50 and exists (select from x where x.h = y.h and 1 / (x.h - 60) <> 5)";
    assert_eq!(talk.lines(&[errors]).join(""), "49");
}

#[test]
fn answers_are_those_of_postgresql() {
    compared::compare(&format!("{TABLES}{QUERIES}"));
}

#[test]
fn large_tables_are_not_read_as_a_whole() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in TABLES.lines().filter(|line| !line.is_empty()) {
        talk.rows(statement);
    }
    for query in [
        "select * from small s left join big b on b.id = s.b",
        "select * from small s left join big b on b.k = s.b and b.id < 2000 where s.id = 3",
        "select * from big b right join small s on b.id = s.b",
        "select * from few f left join big b on b.id = f.b",
        "select * from (select * from small where id = 4) q join big b on b.id = q.b",
        "select * from (values (1), (2)) v (id) left join big b on b.id = v.id",
        "merge into big using (select * from small where id = 3) s on big.id = s.b when matched then update set t = 'x' \
         when not matched then insert values (s.b, 0, 'new')",
    ] {
        let plan = talk.lines(&[&format!("explain {query}")]).join("\n");
        assert!(
            !plan.contains("Seq Scan on big") && plan.contains("Nested Loop"),
            "{query}\n{plan}"
        );
    }
    // All rows of the large table are wanted.
    let plan =
        talk.lines(&["explain select * from big b left join small s on b.id = s.b"]).join("\n");
    assert!(plan.contains("HashJoin"), "{plan}");
}

/// The rows and cost that EXPLAIN tells.
fn told(talk: &mut Talk, sql: &str) -> (String, String) {
    let plan = talk.lines(&[&format!("explain {sql}")]).join("\n");
    let of = |name: &str| {
        let (_, rest) = plan.split_once(name).unwrap_or_else(|| panic!("{sql}\n{plan}"));
        rest.split([' ', ')']).next().unwrap_or_default().to_string()
    };
    (of("rows="), of("cost=0.00.."))
}

#[test]
fn estimates_know_limits_and_what_is_changed() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in TABLES.lines().filter(|line| !line.is_empty()) {
        talk.rows(statement);
    }
    talk.rows("create view all_of_big as select * from big");
    for (sql, rows) in [
        ("select * from big", "6001"),
        ("select * from big limit 3", "3"),
        ("select * from big limit 3::bigint", "3"),
        ("select * from big limit '3'", "3"),
        ("select * from big limit 5000000000", "6001"),
        ("select * from all_of_big limit 7", "7"),
        ("select * from (select * from big limit 7) q", "7"),
        ("select * from big where id = 3", "1"),
        ("select count(*) from big", "1"),
        ("select id from big union all select id from small limit 9", "9"),
        ("values (1), (2)", "2"),
        ("insert into big values (9001, 1, 'x') returning id", "1"),
        ("insert into big values (9001, 1, 'x'), (9002, 1, 'x') returning id", "2"),
        ("delete from big where id = 3 returning id", "1"),
        ("update big set t = 'y' returning id", "6001"),
    ] {
        assert_eq!(told(&mut talk, sql).0, rows, "{sql}");
    }
    // Without RETURNING a change gives no rows, and INSERT reads nothing of its table.
    for (sql, cost) in [
        ("insert into big values (9001, 1, 'x')", "0.01"),
        ("insert into big select id + 9000, b, null from small limit 2", "0.15"),
        ("delete from big where id = 3", "0.01"),
        ("update big set t = 'y'", "60.01"),
    ] {
        assert_eq!(told(&mut talk, sql), ("0".to_string(), cost.to_string()), "{sql}");
    }
    // LIMIT takes its share of what is read.
    for (sql, cost) in
        [("select * from big", "60.01"), ("select * from big where t > 'a' limit 30", "0.71")]
    {
        assert_eq!(told(&mut talk, sql).1, cost, "{sql}");
    }
}
