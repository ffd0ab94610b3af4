//! Which rows do targets and conditions meet?
//!
//! Scripts are compared with a private PostgreSQL 15 (a Debian package). A target or condition that some rows make fail is
//! calculated for the rows that PostgreSQL calculates it for: the answers are the same, rows and errors.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

/// What all scripts read.
const TABLES: &str = "
create table u (a int, b int, c text)
insert into u values (1, 1, '1'), (2, 2, '2'), (3, 0, 'x'), (4, 0, 'y')
create table v (a int)
insert into v values (1), (2)
create table e (a int, b int)
create table w (a int primary key, b int, t text)
insert into w values (1, 1, 'one'), (2, 0, 'two'), (5, null, null)
create view vw as select a, b, 1/b x from u
create view vn as select a, b, c::int n from u where b < 9
create view vv as select a, x + 1 y from vw
";

fn compare(script: &str) {
    compared::compare(&format!("{TABLES}{script}"));
}

#[test]
fn conditions_come_before_the_targets_of_queries_in_from() {
    compare(
        "
select * from vw where b <> 0
select * from vw where a = 1
select x from vw where a < 3 order by a
select y from vv where a < 3 order by 1
select x from v join vw using (a)
select v.a, x from v left join vw using (a)
select v.a, vw.a, x from v left join vw on vw.a = v.a and vw.b > 1
select vw.a, x from vw right join v using (a)
select x from vw where a = (select min(a) from v)
select n from (select b, c::int n from u) s where b <> 0
select n from vn where b <> 0
with s as (select b, c::int n from u) select n from s where b <> 0
with s as not materialized (select b, c::int n from u) select n from s where b <> 0 union all select n from s where b = 1
with s as materialized (select b, c::int n from u) select n from s where b <> 0 order by n
with s as (select b, c::int n from u) select s.n from s join s z using (b) where s.b = 1 order by 1
select case when b <> 0 then x end from vw
select coalesce(a, x) from vw
select sum(x) filter (where b <> 0) from vw
select 1 from vw where a > 0 or x = 1
select case when u.b > 0 then l.x end from u, lateral (select 1/u.b x) l
select u.a, l.x from u cross join lateral (select 1/u.b x, u.a + 1 y) l where y < 4
select x from (select 1/b x, a from u union all select 1, 2) s where a < 3
select x from (select 1/b x, a from u union select 1, 2) s where a < 3
select x from (select 1/b x, a from u except all select 1, 2) s where a < 3
select x from (select distinct 1/b x, a from u) s where a < 3
select x from (select distinct on (a) a, 1/b x from u) s where a < 3
select a, x from (select a, sum(1/b) x from u group by a) s where a < 3
select b, sum(1/b) from u group by b having b <> 0
select b, sum(1/b) from u group by b having b <> 0 and sum(a) > 1
select sum(1/b) from u having false
select count(*), sum(1/b) from u having 1 = 2
select a, x from (select a, 1/b x, sum(b) over (partition by a) from u) s where a < 3
select a, x from (select a, 1/b x, sum(b) over (partition by b) from u) s where a < 3 order by a
select * from (select *, unnest(array[1/b]) g from u) s where a < 3
select x from (select (select a from v) x, a from u) s where a < 0
insert into e select a, x from vw where b <> 0
select * from e
update e set b = x + 5 from vw where vw.a = e.a and vw.b <> 0
select * from e
update e set b = 1/vw.b from vw where vw.a = e.a returning e.a, e.b, vw.x
delete from e using vw where vw.a = e.a and vw.x = 1 and vw.b <> 0 returning e.*, x
select * from e
select x from (select 1/b x, b from u offset 0) s where b <> 0 order by x
select x from (select 1/b x, b from u limit 4) s where b <> 0 order by x
",
    );
}

#[test]
fn merged_queries_give_the_rows_that_they_gave() {
    compare(
        "
select x, count(*) from (select 1 x, a from u) s group by x
select x, y, count(*) from (select a x, a y from u) s group by x, y
select x, y, count(*) from (select a x, a y from u) s group by grouping sets ((x), (y), ())
select x + 1, count(*) from (select a + b x from u) s group by x
select x + 1 from (select a + b x from u) s group by x having x > 1
select distinct x from (select 1 x from u) s
select distinct x, z from (select a + b x, c z from u) s
select x from (select 'k'::text x, a from u) s order by x, a desc
select x from (select a % 2 x, a from u) s order by x desc, a limit 3
select distinct on (x) x, a from (select a % 2 x, a from u) s order by x, a desc
select x, sum(a) over (partition by x order by a) from (select a % 2 x, a from u) s
select x, rank() over (order by x) from (select 7 x, a from u) s
select s from (select a, b from u) s
select s.* from (select a, b from u) s where s is not null
select (s).b from (select a, b from u) s where (s).a = 1
select row_to_json(vw) from vw where a = 1
select v.a, s.k from v left join (select a, 5 k from u where b > 1) s using (a)
select v.a, s.k from v left join (select a, coalesce(b, 0) k from u where b > 1) s using (a)
select v.a, s.k from v left join (select a, b + 1 k from u where b > 1) s on s.a = v.a order by 1
select v.a, s.k from v left join (select a, b is null k from u where b > 1) s on s.a = v.a order by 1
select s.a, s.k, v.a from (select a, b + 1 k from u where b > 1) s right join v on s.a = v.a
select s.a, s.k, v.a from (select a, b + 1 k from u where b > 1) s left join v on s.a = v.a + 1
select s.a, s.k, v.a from (select a, b + 1 k from u where b > 1) s full join v on s.a = v.a
select s.a, s.k, v.a from (select a, b + 1 k from u) s full join v on s.a = v.a
select a, k from (select a, b + 1 k from u) s full join v using (a)
select a, count(*) from (select a + 1 a from u) s full join v using (a) group by a
select v.a, s.k from v left join (select u.a, w.b k from u join w using (a) where w.b = 1) s using (a)
select v.a, s.k from v left join (select u.a, w.b k from u, w where w.a = u.a) s using (a) left join w on w.a = s.a
select v.a, s.k, s.n from v left join (select u.a, w.b k, w.t n from u left join w using (a)) s using (a) where s.n is null
select s.a, (select count(*) from w where w.a = s.y) from (select a, a + 1 y from u) s
select s.a from (select a, a + 1 y from u) s where exists (select 1 from w where w.a = s.y)
select s.a from (select a, a + 1 y from u) s where s.y in (select w.a from w where w.b is distinct from s.a)
select s.a from (select a, (select max(w.a) from w where w.a <= u.a) m from u) s where m = 2
select (select sum(s.y) from (select u.a + w.a y from w) s) from u
select (select sum(s.y + u.a) from (select w.a y from w where w.a > u.b) s where s.y < 5) from u
select l.q from u, lateral (select w.b q from w where w.a = u.a) l
select u.a, l.q from u left join lateral (select w.a + u.b q from w where w.a = u.a) l on true
select u.a, l.q from u left join lateral (select 3 q from w where w.a = u.a) l on true
select u.a, l.q, m.r from u, lateral (select u.a + 1 q) l, lateral (select l.q * 2 r) m where m.r > 5
select u.a, m.r from u, lateral (select u.a + 1 q) l left join lateral (select w.b r from w where w.a = l.q) m on true
select s.a, t.a from (select a from u where b > 0) s, (select a from u where b = 0) t
select s.a, t.a from (select a from u where b > 0) s join (select a, b from u where b = 0) t on s.a < t.a where t.b = 0
select 1 from (values (1/0)) s
select 1 from (values ((select a from v))) s
select column1 + 1 from (values (1)) s
select x, y from (values (1, 'a')) s(x, y), v
select v.a, s.x from v left join (values (1, 'a')) s(x, y) on s.x = v.a
with s as (select a, a + 1 y from u) select y from s where a in (select a from v)
with r as (select a from u), s as (select a + 1 y from r) select y from s where exists (select 1 from v where v.a = y)
with recursive r(n) as (select 1 union all select x from (select n + 1 x from r) s where x < 5) select * from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < (select y from (select 4 y) s)), t as (select n * 2 m from r) select m from t where m > 2
select count(*) from (select random() r from u) s where r = r
select s.p from (select current_user::text = 'x' p, a from u) s where a = 1
select k, sum(n) from (select a % 2 k, count(*) n from u group by a) s where k = 1 group by k
select * from (select a % 2 k, count(*) n from u group by 1) s where k = 1 and n > 1
select * from (select a, b from u intersect select a, b from w) s where a > 0
select * from (select a, b from u except select a, b from w) s where a > 1
select * from (select a from u union all select a::bigint from w) s where a > 2
select * from (select a, b from u union all (select a, b from w union select 9, 9)) s where a > 2
select * from (select a, b from u union all (select a, b from w order by a limit 1)) s where a > 1
select * from (select a, row_number() over (order by a) n from u) s where a > 2
select * from (select a, b, row_number() over (partition by b order by a) n from u) s where b = 0 and n > 1
select * from (select distinct on (b) a, b from u order by b, a) s where a > 3
select * from (select a, generate_series(1, a) g from u) s where g = 2 and a < 4
select * from (select sum(a) n from u) s where n > 1
select * from (select sum(a) n from u where false) s where n is null
select n from (select a, count(*) n from u group by a having count(*) > 0) s left join v using (a) where a > 1
select v.a, s.n from v left join (select a, count(*) n from u group by a) s on s.a = v.a and s.a < 2
select s.n from (select a, count(*) n from u group by a) s right join v on s.a = v.a and s.a < 2 and v.a < 5
merge into e using (select a, b from u where b > 0) s on e.a = s.a when not matched then insert values (s.a, s.b)
select * from e
",
    );
}

#[test]
fn what_a_value_is_looked_up_in_comes_first() {
    compare(
        "
select (select a from v) in (select a from e)
select (select a from v) = any (select a from e)
select (select a from v) not in (select a from e)
select 1/b in (select a from e) from u
select 1/b in (select a from v) from u order by 1
select a from u where 1/b not in (select a from e)
select (1/b, 1) in (select a, b from e) from u
select 1/b in (select e.a from e where e.b = u.a) from u
select a, 2/a in (select v.a from v where v.a = u.b) from u
select a, 2/(a - 3) in (select v.a from v where v.a = u.b) from u
select a, (2/(a - 3), a) in (select v.a, v.a from v where v.a = u.b) from u
select a, a + null in (select v.a from v where v.a = u.b) from u
select 1/b in (select 1 where u.b > 0) from u
",
    );
}

#[test]
fn conditions_are_asked_by_what_they_cost() {
    compare(
        "
select a from u where 1/b = 1 and b <> 0
select a from u where b <> 0 and 1/b = 1
update u set a = a where 1/b = 1 and b <> 0
delete from u where 1/b = 7 and b <> 0
select b from u group by b having 1/sum(b) = 1 and sum(b) <> 0
select v.a, u.a from v left join u on 1/u.b = 1 and u.b <> 0
select v.a, u.a from v left join u on v.a/u.b = 1 and u.b <> 0 and v.a = u.a
select a from u where c::int = 1 and b = 1
select a from u where c::int = 1 and c ~ '^[0-9]+$'
select a from u where (select v.a from v where u.b = 0) = 1 and b = 1
select a from u where exists (select 1 from v where 1/u.b = v.a) and b = 1
select a from u where 1/b in (select a from v) and b <> 0
create function dear(int) returns boolean language plpgsql as 'begin return 1/$1 > 0; end'
select a from u where dear(b) and 1 + b > 1
",
    );
}

#[test]
fn what_is_not_known_to_be_met_ends_the_questions_about_a_row() {
    compare(
        "
create table z (a int, b int)
insert into z values (null, 0), (1, 1), (0, 0), (2, 3)
select * from z where a > 0 and 1/b > -1
select * from z where a > 0 and b >= 0 and (1/b > 5 or b = 1)
select b, max(a) from z group by b having max(a) > 0 and 1/min(b) > 0
select * from z x join z y on x.a > y.a and 1/(x.b + y.b) > 0
select * from z x left join z y on x.a > y.a and 1/(x.b + y.b) > 0
select * from z x where x.a in (select y.a from z y where y.a > 0 and y.a > x.a - 1 and 1/y.b > -1)
select a > 0 and 1/b > -1 from z
select * from z where (a > 0 and 1/b > -1) is true
select case when a > 0 and 1/b > -1 then 1 end from z
create index on z (a)
select * from z where a > 0 and 1/b > -1
update z set b = b + 1 where a > 0 and 1/b > -1
create table zk (id int primary key, a int, b int)
insert into zk values (1, null, 0), (2, 1, 1)
merge into zk using (values (1), (2)) s(id) on zk.id = s.id when matched and a > 0 and 1/b > 0 then delete
insert into zk values (1, 1, 1) on conflict (id) do update set a = 1 where zk.a > 0 and 1/zk.b > 1
select * from zk
delete from z where a > 1 and 1/b > -1
select * from z
",
    );
}

#[test]
fn conditions_without_columns_are_asked_once() {
    compare(
        "
select a from u where 1/b = 1 and false
select a from u where 1/b = 1 and null
select a from u where false and 1/b = 1
select 1 where (select a from v) is null and 1 = 2
delete from u where (select a from v) = 1 and false
select a from u where 1/b = 1 and exists (select 1 from e)
select a from u where exists (select 1 from e) and 1/b = 1
select a from u where not exists (select 1 from e) and b > 0
select sum(1/b) from u having false
select sum(1/b) from u where false
select 1 from generate_series(1, (select a from v)) g where false
select x from (select 1/b x from u) s where false
select * from vw where 1 = 0
select u.a, l.x from u left join lateral (select 1/u.b x) l on true where exists (select 1 from e)
select (select count(*) from u where w.b = 1), w.a from w
select w.a, exists (select 1 from u where w.b = 1 and 1/u.b < 5 and u.b > 0) from w
select w.a from w where (select count(*) from u where w.b is null) > 0
select a from u where current_setting('no.such', true) is null and a = 1
",
    );
}

#[test]
fn rows_that_limit_leaves_out_are_not_projected() {
    compare(
        "
select 1/b from u limit 2
select 1/b, a from u offset 1 limit 1
select (select 1/b from u limit 1)
select exists (select 1/b from u limit 1)
select exists (select 1/b from u union all select 1)
select exists (values ((select a from v)))
select exists (select 1/b from u)
select sum(b) over (order by a), 1/b from u limit 1
select a from (select distinct on (a) a, 1/b from u) s
select x from (select 1/b x from u limit 2) s
",
    );
}

#[test]
fn conditions_stay_behind_barriers() {
    compare(
        "
create view safe with (security_barrier) as select a, b, 1/b x from u where b > 0
select a from safe where 1/(a - 3) < 5
select x from safe where a = 1
create function leaks(int) returns boolean language plpgsql stable cost 0.0001 as 'begin if $1 = 0 then raise ''saw %'', $1; end if; return true; end'
select a from safe where leaks(b)
create view unsafe as select a, b from u where b > 0
select a from unsafe where leaks(b) order by a
select a from (select a, b from u where b > 0 limit 9) s where leaks(b)
create table kept (a int, b int)
insert into kept values (1, 1), (2, 0)
alter table kept enable row level security
create policy p on kept using (b > 0)
create role r_reached
grant select on kept to r_reached
create view through as select a, b from kept
alter view through owner to r_reached
grant select on through to r_reached
set role r_reached
select a from kept where leaks(b)
select a from (select a, b + 0 b from kept) s where leaks(b)
select a from through where leaks(b)
select b, count(*) from kept group by b having leaks(b)
select * from (select b, count(*) from kept group by b) s where leaks(b)
reset role
drop view through
drop table kept
drop role r_reached
",
    );
}

#[test]
fn columns_of_joins_within_queries_are_named_anew() {
    compare(
        "
select y, (select j.x from (w join lateral (select q.y) l(x) on x = w.a) as j) from (select a, a + 1 y from u) q
with x(c, d) as ((select x4.a as c1, 4 as c2 from w as x4) except (values ('-Infinity'::float8, 2))) select '0'::interval
with x(c, d) as ((select a, 4 from v) except (values ('-Infinity'::float8, 2))) select '0'::interval
select c from (select a c from v union all select 2.5 from v) s where c > 1
select s.c, u.a from ((select a from v) intersect (select 1::numeric)) s(c), (select a + 0 a from u) u where u.a = s.c
select y, (select x from w join lateral (select q.y) l(x) on x = w.a) from (select a, a + 1 y from u) q
select y, (select a from w join lateral (select q.y) l(a) using (a)) from (select a, a + 1 y from u) q
select y, (select a from w full join lateral (select 1) l(a) using (a) where a = q.y) from (select a, a + 1 y from u) q
select y, (select a from lateral (select q.y) l(a) left join w using (a)) from (select a, a + 1 y from u) q
select y, (select j.b from (w right join lateral (select q.y) l(x) on true) as j where j.a = x) from (select a, a + 1 y from u) q
select y from (select a, a + 1 y from u) q where y in (select j.x from (v cross join lateral (select q.y, v.a) l(x, z)) as j)
select y from (select a, a + 1 y from u) q where exists (select 1 from (v join lateral (select q.y) l(x) on x = v.a) as j where j.x > 1)
select v.a, s.x from v left join lateral (select j.x from (w join lateral (select v.a) l(x) on x = w.a) as j) s on true
select v.a, s.x from v left join lateral (select j.x from (w join lateral (select v.a + 1) l(x) on true) as j where j.a = 1) s on true
with q as (select a, a + 1 y from u) select y, (select j.x from (w join lateral (select q.y) l(x) on x = w.a) as j) from q
select s.a, (select j.x from ((select q.a from v where v.a = s.a) z(k) join lateral (select s.b) l(x) on true) as j) from (select u.a, u.b from u) s, lateral (select s.a) q
",
    );
}

#[test]
fn conditions_within_set_operations_name_the_same_rows_around() {
    compare(
        "
select v.a, (select (select count(*) from (select u.a x from u union all select 7) s where s.x > v.a) from w order by w.a limit 1) from v order by 1
select v.a, (select max(n) from w, lateral (select count(*) n from (select u.a x from u union all select 7) s where s.x > v.a) l) from v order by 1
select v.a, (select count(*) from w, lateral (select u.a x from u where u.a > w.a union all select 7) s where s.x > v.a + 1) from v order by 1
select v.a, (select count(*) from (select b from u intersect all select b from u) s where s.b < v.a) from v order by 1
select p.a, q.b, (select count(*) from (select b from u intersect all select b from u) s where s.b < q.a) from v p, u q order by 1, 2, 3
select v.a, (select string_agg(x::text, ',' order by x) from (select u.a x from u union all select 7) s where x > v.a) from v order by 1
select v.a, (select (select count(*) from (select u.a x from u union select 7) s where s.x > v.a + w.a) from w where w.a = v.a) from v order by 1
create view un as select a x from u union all select 7
select v.a, (select max(w.a) from w where exists (select 1 from un where un.x > v.a + w.a)) from v order by 1
begin
delete from v where exists (select 1 from w where w.a = 5 and exists (select 1 from (select u.a x from u union all select 7) s where s.x < v.a)) returning *
rollback
begin
update v set a = a + 10 where exists (select 1 from w where w.a = 5 and exists (select 1 from un s where s.x < v.a)) returning *
rollback
",
    );
}

#[test]
fn groups_and_windows_of_merged_queries_are_named_from_within() {
    compare(
        "
select x, (select count(*) from w where w.a = x) from (select a + b x from u) s group by x order by 1
select x, sum(b) from (select a % 2 x, b from u) s group by x having exists (select 1 from v where v.a > x) order by 1
select x, x = any (select a from v where a < x + 5) from (select a % 2 x, b from u) s group by x order by 1
select x, (select max(t) from w where w.a = s.x) from (select a::bigint x from u) s group by x order by 1
select x from (select a + 1 x from u) s group by x order by (select count(*) from v where v.a < x), x
select x, lag(x) over (order by (select x)) from (select a % 2 x, b from u) s group by x order by 1
create view gx as select a + b x, a, b from u
select x, (select count(*) from w where w.a = gx.x) from gx group by x order by 1
with g as (select a + b x from u) select x, (select count(*) from w where w.a = g.x) from g group by x order by 1
select max(x), (select max(t) from w where w.a = max(x)) from (select a % 2 x from u) s
select count(*) from (select rank() over (order by a)::int x, b from u union all select a, a from v) s
select b from (select rank() over (order by a)::int x, b from u union all select a, a from v) s order by 1
select exists (select 1 from (select rank() over (order by a)::int x, b from u union all select a, a from v) s, v)
select b from (select sum(a)::int x, b from u group by b union all select a, a from v) s order by 1
select b from (select grouping(b)::int x, b from u group by b union all select a, a from v) s order by 1
select count(*) from (select count(*)::int x from u union all select a from v) s
select b from (select generate_series(1, 2)::int x, b from u union all select a, a from v) s order by 1
",
    );
}

#[test]
fn long_chains_of_joins_are_looked_at_once() {
    let items = |n: usize| format!("(select a + {n} k from v limit 1) s{n}");
    let all: Vec<String> = (0..40).map(items).collect();
    let inner: Vec<String> =
        (1..40).map(|n| format!("join {} on s{n}.k > s0.k", items(n))).collect();
    compare(&format!(
        "select count(*) from {} where s3.k > 0\nselect count(*) from {} {} where s7.k > 3\n",
        all.join(" cross join "),
        items(0),
        inner.join(" "),
    ));
}
