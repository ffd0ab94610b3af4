create table t (id int primary key, v text, g int generated always as (id * 10) stored)

create table log (n serial, line text)

create function told() returns trigger language plpgsql as $$
declare
  olds text := '-';
  news text := '-';
begin
  if tg_op <> 'INSERT' then
    select string_agg(o::text, ' ' order by id) into olds from o;
  end if;
  if tg_op <> 'DELETE' then
    select string_agg(n::text, ' ' order by id) into news from n;
  end if;
  raise notice '% % % old % new %', tg_name, tg_level, tg_op, olds, news;
  return null;
end $$

create trigger ti after insert on t referencing new table as n for each statement execute function told()

create trigger tu after update on t referencing old table as o new table as n for each statement execute function told()

create trigger td after delete on t referencing old table as o execute function told()

insert into t values (1, 'a'), (2, 'b'), (3, null)

insert into t select 1 where false

update t set v = v || '!' where id <= 2

update t set id = id + 10

update t set v = 'x' where id = 99

delete from t where id > 11

delete from t where false

insert into t values (11, 'again'), (12, 'new') on conflict (id) do update set v = excluded.v

insert into t values (11, 'never'), (13, 'c') on conflict do nothing

merge into t using (values (11, 'm'), (12, 'd'), (20, 'i')) as s (id, v) on t.id = s.id when matched and s.v = 'd' then delete when matched then update set v = s.v when not matched then insert (id, v) values (s.id, s.v)

with a as (insert into t values (31, 'w') returning id), b as (insert into t values (32, 'x') returning id) select * from a union all select * from b order by 1

with a as (update t set v = 'one' where id = 31), b as (update t set v = 'two' where id = 32) delete from t where id = 20

select * from t order by id

create trigger tr after update on t referencing old table as o new table as n for each row execute function told()

update t set v = v || '?' where id in (31, 32)

drop trigger tr on t

create or replace function counted() returns trigger language plpgsql as $$
declare r record; c int;
begin
  for r in select n.id, n.v, o.v as was from n join o using (id) order by 1 loop
    insert into log (line) values (r.id || ':' || coalesce(r.was, '') || '>' || coalesce(r.v, ''));
  end loop;
  execute 'select count(*) from n' into c;
  insert into log (line) select 'all ' || count(*) || ' ' || c from (select * from o except all select * from n) d;
  insert into log (line) select 'distinct ' || id from n where id in (select id from o) and exists (select 1 from o where o.id = n.id) order by id limit 1;
  with x as (select id from n), o as (select 7 as id) insert into log (line) select 'hidden ' || x.id || ' ' || o.id from x, o order by x.id;
  perform 1 from public.t where id in (select id from n);
  if not found then raise exception 'none'; end if;
  return null;
end $$

create trigger tc after update on t referencing old table as o new table as n for each statement when (pg_trigger_depth() < 2) execute function counted()

update t set v = coalesce(v, '') || '+'

select line from log order by n

drop trigger tc on t

create function wrong() returns trigger language plpgsql as $$
begin
  case tg_argv[0]
  when 'insert' then insert into n values (1);
  when 'update' then update n set v = 'x';
  when 'delete' then delete from n;
  when 'merge' then merge into n using t on true when matched then delete;
  when 'ctid' then perform ctid from n;
  when 'lock' then perform * from n for update;
  when 'lockof' then perform * from n for update of n;
  when 'schema' then perform * from public.n;
  when 'old' then perform * from o;
  when 'view' then create view nv as select * from n;
  when 'inner' then perform reads_n();
  when 'group' then perform id, v from n group by id;
  when 'table' then create table made as select id, v from n; raise notice '%', (select count(*) from made); drop table made;
  when 'drop' then drop table n;
  when 'sample' then perform * from n tablesample system (10);
  end case;
  return null;
end $$

create function reads_n() returns bigint language plpgsql as $$ begin return (select count(*) from n); exception when undefined_table then raise notice 'none'; return 0; end $$

create trigger tw after update on t referencing new table as n for each statement execute function wrong('insert')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('update')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('delete')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('merge')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('ctid')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('lock')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('lockof')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('schema')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('old')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('view')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('inner')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('group')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('table')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('drop')

update t set v = 'x'

create or replace trigger tw after update on t referencing new table as n for each statement execute function wrong('sample')

update t set v = 'x'

drop trigger tw on t

create table n (id int, v text)

insert into n values (1000, 'real')

update t set v = 'y' where id = 31

create trigger tw before update on t referencing new table as n for each statement execute function wrong('x')

create trigger tw after insert or update on t referencing new table as n for each statement execute function wrong('x')

create trigger tw after truncate on t referencing old table as n for each statement execute function wrong('x')

create trigger tw after update of v on t referencing new table as n for each statement execute function wrong('x')

create trigger tw after delete on t referencing new table as n for each statement execute function wrong('x')

create trigger tw after insert on t referencing old table as n for each statement execute function wrong('x')

create trigger tw after update on t referencing new table as n new table as m for each statement execute function wrong('x')

create trigger tw after update on t referencing old table n old table m for each statement execute function wrong('x')

create trigger tw after update on t referencing old table n new table n for each statement execute function wrong('x')

create trigger tw after update on t referencing new row as n for each row execute function wrong('x')

create trigger tw after update on t referencing for each row execute function wrong('x')

create trigger tw after update on t referencing new n for each row execute function wrong('x')

create view seen as select * from t

create trigger tw after update on seen referencing new table as n for each statement execute function wrong('x')

create trigger "Two" after update on t referencing new table "N w" old table as "Old" for each statement execute function wrong('x')

select tgname, tgoldtable, tgnewtable, tgtype, pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) from pg_trigger where tgrelid = 't'::regclass order by 1

select trigger_name, event_manipulation, action_reference_old_table, action_reference_new_table, action_reference_old_row from information_schema.triggers where event_object_table = 't' order by 1

drop trigger "Two" on t

create table p (id int, k int, v text) partition by list (k)

create table p1 partition of p for values in (1)

create table p2 (v text, k int, id int)

alter table p attach partition p2 for values in (2)

create function told2() returns trigger language plpgsql as $$
declare
  olds text := '-';
  news text := '-';
begin
  if tg_op <> 'INSERT' then
    select string_agg(o::text, ' ' order by id) into olds from o;
  end if;
  if tg_op <> 'DELETE' then
    select string_agg(n::text, ' ' order by id) into news from n;
  end if;
  raise notice '% % % old % new %', tg_table_name, tg_level, tg_op, olds, news;
  return null;
end $$

create trigger pi after insert on p referencing new table as n execute function told2()

create trigger pu after update on p referencing new table as n old table as o execute function told2()

create trigger pd after delete on p referencing old table as o execute function told2()

create trigger p2i after insert on p2 referencing new table as n execute function told2()

create trigger p2u after update on p2 referencing new table as n old table as o execute function told2()

insert into p values (1, 1, 'a'), (2, 2, 'b')

insert into p2 (id, k, v) values (3, 2, 'c')

update p set v = v || '!'

update p2 set v = v || '?'

update p set k = 3 - k

delete from p where id < 3

delete from p2

create trigger bad after insert on p referencing new table as n for each row execute function told2()

create trigger bad after insert on p1 referencing new table as n for each row execute function told2()

create table p3 (id int, k int, v text)

create trigger bad after insert on p3 referencing new table as n for each row execute function told2()

alter table p attach partition p3 for values in (3)

create table above (id int, k int, v text)

create table below () inherits (above)

create trigger bad after insert on below referencing new table as n for each row execute function told2()

alter table p3 inherit above

create trigger ai after insert on above referencing new table as n execute function told2()

create trigger au after update on above referencing new table as n old table as o execute function told2()

create trigger bu after update on below referencing new table as n old table as o execute function told2()

insert into above values (1, 1, 'up')

insert into below values (2, 1, 'low')

update above set v = v || '!'

update below set v = v || '?'

create table many (id int, v text)

create function sums() returns trigger language plpgsql as $$
declare c bigint; s bigint; b bigint;
begin
  select count(*), sum(id), sum(length(v)) into c, s, b from n;
  raise notice '% % %', c, s, b;
  return null;
end $$

create trigger m after insert on many referencing new table as n execute function sums()

insert into many select i, repeat('x', i % 50) from generate_series(1, 5000) i

create function nested() returns trigger language plpgsql as $$
begin
  raise notice '% sees %', tg_name, (select count(*) from n);
  if (select min(id) from n) < 3 then
    insert into deep select id + 1 from n;
  end if;
  raise notice '% still sees %', tg_name, (select string_agg(id::text, ',') from n);
  return null;
end $$

create table deep (id int)

create trigger deep after insert on deep referencing new table as n execute function nested()

insert into deep values (1)

create table other (id int, extra date)

create trigger o1 after insert on other referencing new table as n execute function nested()

insert into other values (7, '2020-01-02')

insert into deep values (5)

alter table other add column late int default 4

insert into other values (8, '2020-01-03')

begin

alter table other drop column extra

insert into other values (9, 3)

rollback

insert into other values (10, null)

create table errs (id int primary key)

create trigger e after insert on errs referencing new table as n execute function nested()

insert into errs values (5), (6), (5)

insert into errs values (5)

alter table errs disable trigger e

insert into errs values (6)
