-- Ways around what is granted: names that a statement makes for itself, sides of joins that see each other, values
-- in errors. The details of errors are compared.
postgres: create role low login
postgres: create role other login
postgres: create table part (id int primary key, secret text, k int)
postgres: insert into part values (1, 'hidden', 7)
postgres: grant select (id) on part to low
postgres: create table own (id int primary key, v text)
postgres: insert into own values (1, 'mine')
postgres: alter table own owner to low
low: select secret from part
low: select secret as "onlap own secret" from part
low: select id, secret as "onlap own x" from part
low: select (select secret as "onlap own x" from part)
low: select v, (select max(secret) as "onlap own x" from part) from own
low: update own set v = (select secret as "onlap own x" from part) returning v
low: delete from own where v = (select secret as "onlap own x" from part) returning *
low: insert into own select 2, secret as "onlap own x" from part
low: select x.s from part, lateral (select part.secret as s) x
low: select x.s from part cross join lateral (select part.secret as s) x
low: select x.s from part left join lateral (select part.secret as s) x on true
low: select x.s from part, lateral (values (part.secret)) x(s)
low: select y.s from part, lateral (select x.s from own, lateral (select part.secret as s) x) y
low: select y.s from own o, lateral (select x.s from part p, lateral (select p.secret as s from own where id = o.id) x) y
low: select count(*) from own where exists (select 1 from part, lateral (select part.secret as s) x where x.s <> '')
low: select g from part, generate_series(1, length(part.secret)) g
low: select id from part order by secret
low: select id from part where secret = 'hidden'
low: select count(secret) from part
low: select id, row_number() over (order by secret) from part
low: select row_to_json(part) from part
low: select p.* from part p
low: select id from part natural join (select 'hidden' as secret) x
low: select id from part join (select 'hidden' as secret) x using (secret)
low: with w as (select * from part) select id from w
postgres: create schema mine authorization low
low: create table mine.taken as select id, secret as "onlap own x" from part
low: create table mine.taken as select id from part
low: select * from mine.taken
postgres: create table name (id int)
postgres: insert into name values (5)
postgres: grant select on name to low
low: set search_path to mine, public; create table name as select * from name; select * from mine.name
postgres: create table pair (a int, secret text, unique (a, secret))
postgres: insert into pair values (1, 'x'), (2, 'x')
postgres: grant insert, update (a) on pair to low
low: update pair set a = 3
low: insert into pair values (1, 'x')
postgres: grant select (a) on pair to low
low: insert into pair values (1, 'x')
postgres: grant select on pair to low
low: insert into pair values (1, 'x')
postgres: create table parent (code text primary key)
postgres: create table child (code text references parent)
postgres: insert into parent values ('sesame')
postgres: insert into child values ('sesame')
postgres: grant delete on parent to low
postgres: grant insert on child to low
low: delete from parent
low: insert into child values ('open')
postgres: grant select on parent to low
low: delete from parent
low: insert into child values ('open')
postgres: grant select on child to low
low: insert into child values ('open')
postgres: delete from parent
