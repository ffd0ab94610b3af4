//! Are the rows of a large table looked up where few rows are joined with it, and are the answers the same?
//!
//! A script is compared with a private PostgreSQL 15 (a Debian package); plans tell that the table is not read as a whole.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::Fixture;

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
