create table a (id int primary key, v text)

create table b (id int references a, w numeric(6,2))

insert into a values (1, 'one'), (2, 'two'), (3, 'three')

insert into b values (1, 1.5), (2, 2.5)

create view ab as select a.id, a.v, b.w from a left join b using (id)

create function ab_changes() returns trigger language plpgsql as $$
begin
  raise notice '% % % % % old % new %', tg_name, tg_when, tg_level, tg_op, tg_table_name, old, new;
  if tg_op = 'INSERT' then
    if new.id < 0 then return null; end if;
    insert into a values (new.id, new.v);
    insert into b values (new.id, new.w);
    new.v := upper(new.v);
    return new;
  elsif tg_op = 'UPDATE' then
    if new.v = 'skip' then return null; end if;
    update a set v = new.v where id = old.id;
    update b set w = new.w where id = old.id;
    return new;
  else
    if old.id = 3 then return null; end if;
    delete from b where id = old.id;
    delete from a where id = old.id;
    return old;
  end if;
end $$

insert into ab values (9, 'x', 1)

create trigger ab_i instead of insert on ab for each row execute function ab_changes()

insert into ab values (4, 'four', 4.444), (-1, 'no', 0)

insert into ab (v, id) values ('five', 5) returning *, w is null as n, ab

insert into ab (id, v) values (6, default), (7, 'seven') returning id, v

insert into ab default values

insert into ab select id + 100, v from ab where id < 3 returning id + 1 as next, length(v)

insert into ab values (1, 'dup', 1)

update ab set v = 'u' where id = 1

delete from ab where id = 1

create trigger ab_ud instead of update or delete on ab for each row execute function ab_changes()

update ab set v = v || '!', w = default where id in (1, 2) returning *

update ab set v = 'skip' where id = 1 returning id

update ab set w = s.x from (values (1, 10.25), (2, 20)) as s (id, x) where s.id = ab.id returning ab.id, ab.w, s.x

update ab set (v, w) = (select 'sub', count(*) from b) where id = 4 returning *

update ab set v = 'all' where w is null and id > 100

delete from ab where id > 100 returning id, v

delete from ab using b where b.id = ab.id and b.w = 20 returning ab.id, b.w

delete from ab where id = 3

with x as (insert into ab values (20, 'with', 2) returning id), y as (update ab set v = 'y' where id = 1 returning id) select x.id, y.id from x, y

select * from ab order by id

insert into ab values (21, 'c', 1) on conflict do nothing

insert into ab values (21, 'c', 1) on conflict (id) do nothing

insert into ab values (21, 'c', 1) on conflict (id) do update set v = excluded.v

merge into ab using a on a.id = ab.id when matched then delete

create function stmt() returns trigger language plpgsql as $$
begin
  raise notice '% % % %', tg_name, tg_when, tg_level, tg_op;
  return null;
end $$

create trigger ab_bs before insert or update or delete on ab for each statement execute function stmt()

create trigger ab_as after insert or update of w or delete on ab for each statement execute function stmt()

insert into ab values (22, 'st', 2)

update ab set w = 3 where id = 22

update ab set v = 'nothing' where id = 22

delete from ab where id = 22

create trigger w1 after insert on ab for each statement when (true) execute function stmt()

create trigger w2 after insert on ab for each statement when (new.id > 1) execute function stmt()

insert into ab values (23, 'st', 2)

create trigger bad before insert on ab for each row execute function stmt()

create trigger bad instead of insert on ab for each statement execute function stmt()

create trigger bad instead of insert on ab for each row when (new.id > 1) execute function stmt()

create trigger bad instead of update of v on ab for each row execute function stmt()

create trigger bad instead of insert on a for each row execute function stmt()

create trigger bad after truncate on ab for each statement execute function stmt()

create trigger bad instead of truncate on ab for each row execute function stmt()

select tgname, tgtype, pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) from pg_trigger where tgrelid = 'ab'::regclass order by 1

select trigger_name, event_manipulation, action_timing, action_orientation, action_order from information_schema.triggers where event_object_table = 'ab' order by 1, 2

select table_name, is_updatable, is_insertable_into, is_trigger_updatable, is_trigger_deletable, is_trigger_insertable_into from information_schema.views where table_name = 'ab'

select pg_relation_is_updatable('ab'::regclass, false), pg_relation_is_updatable('ab'::regclass, true), pg_column_is_updatable('ab'::regclass, 1::int2, false), pg_column_is_updatable('ab'::regclass, 1::int2, true)

select relhastriggers, relkind from pg_class where relname = 'ab'

alter trigger ab_i on ab rename to ab_insert

alter view ab rename to abc

insert into abc values (24, 'renamed', 2) returning id

alter view abc rename column w to width

insert into abc (width, id, v) values (1.25, 25, 'col') returning width

drop function ab_changes()

drop trigger ab_insert on abc

insert into abc values (26, 'none', 2)

drop view abc

select count(*) from pg_trigger where tgname like 'ab%'

create view sv as select id, v from a where id < 1000

create trigger sv_i instead of insert on sv for each row execute function ab_changes()

create function sv_f() returns trigger language plpgsql as $$
begin
  raise notice '% % old % new %', tg_name, tg_op, old, new;
  if tg_op = 'DELETE' then return old; end if;
  return new;
end $$

drop trigger sv_i on sv

create trigger sv_i instead of insert on sv for each row execute function sv_f()

insert into sv values (300, 'goes nowhere') returning *

update sv set v = 'auto' where id = 1 returning *

select count(*) from a where id = 300

create rule sv_rule as on insert to sv do also update a set v = 'also' where id = 1

insert into sv values (301, 'and rule')

drop rule sv_rule on sv

create rule sv_rule as on insert to sv do instead update a set v = 'instead' where id = 1

insert into sv values (302, 'rule first')

drop rule sv_rule on sv

create rule sv_rule as on insert to sv where new.id > 400 do instead update a set v = 'partly' where id = 1

insert into sv values (402, 'rule'), (303, 'trigger')

drop rule sv_rule on sv

create view over_sv as select id, v from sv where id < 500

insert into over_sv values (304, 'through') returning *

update over_sv set v = 'through' where id = 1 returning *

delete from over_sv where id = 1

create trigger sv_z instead of insert or update on sv for each row execute function sv_f()

create function sv_null() returns trigger language plpgsql as $$ begin new.v := new.v || '+'; return new; end $$

create trigger sv_m instead of insert on sv for each row execute function sv_null()

insert into over_sv values (305, 'several') returning *

update over_sv set v = 'upd' where id <= 4 returning v

create view checked as select id, v from a where id < 10 with check option

create trigger ch instead of insert on checked for each row execute function sv_f()

insert into checked values (1000, 'unchecked')

create function wrong_row() returns trigger language plpgsql as $$ begin return row(1, 2, 3); end $$

create trigger zz instead of insert on checked for each row execute function wrong_row()

insert into checked values (1, 'x')

create role iu

grant select on a to iu

grant insert on sv to iu

set role iu

insert into sv values (500, 'allowed')

insert into sv values (500, 'allowed') returning id

update sv set v = 'x'

create trigger mine instead of delete on sv for each row execute function sv_f()

reset role

create view agg as select count(*) as n, max(id) as m from a

create trigger agg_u instead of update or delete on agg for each row execute function sv_f()

update agg set n = 5 returning *

delete from agg where m > 0 returning m

insert into agg values (1, 1)

create table typed (i int2, n numeric(5,1), c char(3), t timestamptz, j jsonb, arr int[])

create view vt as select * from typed union all select * from typed

create trigger vt_i instead of insert or update or delete on vt for each row execute function sv_f()

insert into vt values (1, 12.345, 'ab', '2020-01-01 00:00+00', '{"a": 1}', '{1,2}') returning *

insert into vt values (70000, 1, 'a', null, null, null)

insert into typed values (7, 7.7, 'xy', null, '[]', '{}')

update vt set n = n * 2, arr[2] = 5 returning *

delete from vt returning i, c

create function counting() returns trigger language plpgsql as $$
declare n int;
begin
  delete from b where id = old.id;
  delete from a where id = old.id;
  get diagnostics n = row_count;
  if n = 0 then return null; end if;
  return old;
end $$

create view twice as select a.id from a cross join (values (1), (2)) x

create trigger td instead of delete on twice for each row execute function counting()

delete from twice where id = 4

do $$ declare n int; begin update agg set n = 1; get diagnostics n = row_count; raise notice 'n % found %', n, found; end $$

begin read only

insert into sv values (1, 'x')

rollback
