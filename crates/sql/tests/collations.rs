//! Does a column keep the collation that COLLATE says, as in PostgreSQL?
//!
//! Scripts and catalogs are compared with a private PostgreSQL 15 (a Debian package), and once more after the database was
//! opened again.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::Fixture;

/// What the catalogs and the standard say of collations.
const SHOWN: &str = r#"
select attrelid::regclass, attname, collname from pg_attribute a left join pg_collation c on c.oid = attcollation where attrelid::regclass::text in ('t', 't_i', 'v', 'k', 'm', 'l', 'q', 'p', 'p1', 'made', 'below', 'pair', 'g', 'sel', 't_c', 't_e', 'kk_i') and attnum > 0 and not attisdropped order by attrelid::regclass::text, attname
select table_name, column_name, collation_catalog is null, collation_schema, collation_name, domain_name from information_schema.columns where table_schema = 'public' order by table_name, column_name
select domain_name, collation_schema, collation_name from information_schema.domains where domain_schema = 'public' order by 1
select typname, collname from pg_type t left join pg_collation c on c.oid = typcollation where typname in ('word', 'text_c', 'deep', '_text_c', 'pair', 'citext_like') order by 1
select indrelid::regclass, indcollation, pg_get_indexdef(indexrelid) from pg_index where indrelid::regclass::text in ('t', 'k', 'kk') order by indexrelid::regclass::text
select partrelid::regclass, partcollation, pg_get_partkeydef(partrelid) from pg_partitioned_table order by 1
"#;

const SCRIPT: &str = r#"
create domain text_c as text collate "C"
create domain word as varchar(5) collate "POSIX" not null check (value < 'z')
create domain deep as text_c
create domain back as text_c collate "default"
create domain none as int collate "C"
create domain twice as text collate "C" collate "C"
create type pair as (a text collate "C", b text, c varchar(3) collate "POSIX", n int)
create type wrong as (a int collate "C")
alter type pair add attribute d text collate "POSIX"
alter type pair alter attribute b type text collate "C"
alter type pair rename attribute b to bb
create table t (a text collate "C", b text, c varchar(3) collate "POSIX", d name, n int, w word, x text_c, y deep, z text_c collate "POSIX", p pair, l text[] collate "C")
create table wrong (a int collate "C")
create table wrong (a text collate "C" collate "C")
create index t_i on t (a, b, c)
create index t_c on t (a collate "POSIX", b collate "C" desc, c collate "POSIX", n)
create index t_e on t ((a || 'x'), lower(b collate "C"), (c || 'y') collate "C" desc nulls last, (b || 'x') collate "default")
create index t_f on t (lower(a) collate "C", (b || 'x') collate "C") where a < 'z' collate "C"
create unique index t_u on t (b collate "C", n)
create index t_bad on t ((a || c))
create index t_g on t ((a || c) collate "C")
create index t_bad on t (n collate "C")
create index t_bad on t ((n + 1) collate "C")
select pg_get_indexdef('t_c'::regclass, 1, true), pg_get_indexdef('t_c'::regclass, 2, false), pg_get_indexdef('t_e'::regclass, 3, false), pg_get_indexdef('t_e'::regclass, 0, true)
create table kk (a text collate "C", b text, c text)
create index kk_i on kk (a, b collate "POSIX", c collate "C" desc)
create index on kk (c collate "C", lower(c))
insert into kk values ('a', 'b', 'c'), ('b', 'c', 'd')
alter table kk alter a type varchar(9) collate "POSIX"
alter table kk alter b type varchar(9)
select a from kk where b = 'c' order by b collate "C"
select a from kk where c collate "POSIX" > 'c' order by c collate "C" desc
create table k (like t)
create table m () inherits (t)
create table l (a text) inherits (t)
create table l (a text collate "C", e text) inherits (t)
create table i2 (a text)
create table wrong () inherits (t, i2)
alter table i2 inherit t
create table q (a text collate "C", n int) partition by range (a)
create table p (a text collate "C", n int)
alter table q attach partition p for values from ('a') to ('b')
create table p1 (a text, n int)
alter table q attach partition p1 for values from ('b') to ('c')
create table p2 partition of q for values from ('b') to ('c')
insert into t values ('a', 'b', 'c', 'd', 1, 'e', 'f', 'g', 'h', row('a', 'b', 'c', 1, 'd'), '{x,y}'), ('aa', 'bb', 'cc', 'dd', 2, 'e', 'f', 'g', 'h', null, null)
create view v as select a, b, c || b as cb, a collate "POSIX" as ap, (p).a as pa, (p).bb, x, z, n from t
create or replace view v as select a, b, c || b as cb, a as ap, (p).a as pa, (p).bb, x, z, n from t
create or replace view v as select a, b, c || b as cb, a collate "POSIX" as ap, (p).a as pa, (p).bb, x, z, n::bigint as n from t
create or replace view v as select a, b, c || b as cb, a collate "POSIX" as ap, (p).a as pa, (p).bb, x, z, n, b as more from t
create table made as select a, b, c || b as cb, ap, x, z from v
select a, b, c into sel from t
create materialized view below as select a, ap from v
create table wrong as select a || c as e from t
create view wrong as select a || c as e from t
create table g (a text collate "C", b text collate "POSIX", e text generated always as (a || 'x') stored, f text collate "POSIX" generated always as (b || 'y') stored)
insert into g (a, b) values ('1', '2')
select a < c from t
select a || c from t order by 1
select a || b < c collate "C" from t
select max(a || c) from t where n = 1
select max(a || c) from t
select min(a || c) from t group by n
select min(a || c) over () from t
select min(a || c) over (partition by n) from t
select max(a || c) filter (where n = 1) from t
select max(distinct a || c) from t
select max(array[a || c]) from t where n = 1
select max(array[a || c]) from t
select min(array[null, a || c]) from t
select max(array[a || c]), min(array[a || c]) from t where a = 'a'
select max(case a when 'a' then array[a || c] else array[null, c] end), min(case a when 'a' then array[a || c] else array[null, c] end) from t
select max(case a when 'a' then array[a || c] else '{}' end), min(case a when 'a' then array[a || c] else '{}' end) from t
select max(case a when 'a' then array[null, a || c] else array[null]::text[] end) from t
select max(case a when 'a' then array[null, a || c] else array[null, null, c] end) from t
select max(array[a, b || c]) over () from t
select max(array[a || c]) over (order by a rows current row) from t order by 1
select max(array[[a || c]]) from t
select greatest(array[a], array[c]) from t
select greatest(array[a], array[null, c]), least(array[a], array[null, c]), least(array[a], null) from t order by 1
select greatest(array[a], '{}', array[c]) from t
select greatest(array[a], array[b]) from t order by 1
select greatest(a, c) from t
select greatest(a, null, c) from t where n > 5
select least(a, null::text collate "POSIX") from t order by 1
select greatest(a, b), least(b, c) from t order by 1
select greatest(a collate "C", c) from t order by 1
select collation for (a), collation for (b), collation for (c), collation for (d), collation for (w), collation for (x), collation for (y), collation for (z), collation for ((p).a), collation for ((p).bb), collation for (l) from t limit 1
select collation for (ap), collation for (cb), collation for (more) from v limit 1
select collation for (a), collation for (b), collation for (cb), collation for (ap) from made limit 1
select collation for ((r).f1), collation for ((r).f2) from (select row(a, c) as r from t) s limit 1
with recursive r as (select a, n from t union all select a, n + 1 from r where n < 3) select * from r order by 1, 2
with recursive r as (select b, n from t union all select a, n + 1 from t where n < 3) select * from r order by 1, 2
with recursive r as (select b, n from t union all select b collate "C", n + 1 from r where n < 3) select * from r
with recursive r as (select a, n from t union all select a || b, n + 1 from r join t using (n, a) where n < 3) select * from r
select a from t union select c from t order by 1
select a from t union all select c from t
alter table t add u text collate "C"
alter table t add wrong text collate "C" collate "C"
alter table t add wrong int collate "C"
create table h () inherits (t)
alter table h add aa text collate "C"
alter table t add aa text
alter table k alter a type varchar(9)
alter table k alter b type text collate "C"
alter table k alter c type varchar(5) collate "C"
alter table k alter z type text_c
alter table k alter n type int collate "C"
alter table k rename a to aa
alter table k alter aa type varchar(9) collate "POSIX"
alter table k drop column b
alter table k add b text collate "C"
begin
alter table k alter b type text
select attname, attcollation from pg_attribute where attrelid = 'k'::regclass and attname = 'b'
rollback
select attname, attcollation from pg_attribute where attrelid = 'k'::regclass and attname = 'b'
drop view v cascade
"#;

#[test]
fn columns_keep_their_collations_as_in_postgresql() {
    compared::compare(&format!("{SCRIPT}{SHOWN}"));
}

#[test]
fn collations_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let shown = || {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        SHOWN
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| talk.rows(line))
            .collect::<Vec<_>>()
    };
    {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        for statement in SCRIPT.lines().filter(|line| !line.is_empty()) {
            // Some are refused.
            let _ = talk.run(statement);
        }
    }
    let before = shown();
    assert!(before.iter().flatten().flatten().any(|value| value.as_deref() == Some("POSIX")));
    assert_eq!(before, shown());
}
