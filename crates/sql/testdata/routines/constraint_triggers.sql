create table t (id int primary key, v text)

create table other (id int primary key)

create function judge() returns trigger language plpgsql as $$
begin
  raise notice '% % % % old % new % now %', tg_name, tg_when, tg_level, tg_op, old, new, (select count(*) from t);
  if tg_op <> 'DELETE' and new.v = 'bad' then
    raise exception 'bad row %', new.id using errcode = 'check_violation', hint = 'Mend it.';
  end if;
  return null;
end $$

create constraint trigger c_imm after insert or update on t for each row execute function judge()

insert into t values (1, 'a'), (2, 'b')

insert into t values (3, 'bad')

drop trigger c_imm on t

create constraint trigger c_def after insert or update or delete on t deferrable initially deferred for each row execute function judge()

insert into t values (4, 'auto')

insert into t values (5, 'bad')

select * from t order by id

begin

insert into t values (6, 'in block')

update t set v = 'again' where id = 6

delete from t where id = 4

select 'before commit'

commit

begin

insert into t values (7, 'bad')

update t set v = 'mended' where id = 7

commit

select * from t order by id

begin

insert into t values (8, 'x')

savepoint s

insert into t values (9, 'bad')

rollback to s

insert into t values (10, 'y')

release s

commit

begin

insert into t values (11, 'x')

set constraints c_def immediate

insert into t values (12, 'at once')

set constraints all deferred

insert into t values (13, 'later')

set constraints all immediate

insert into t values (14, 'once more')

set constraints c_def deferred

insert into t values (15, 'last')

commit

begin

insert into t values (16, 'x')

savepoint s

set constraints all immediate

rollback to s

commit

begin

insert into t values (17, 'bad')

set constraints all immediate

rollback

begin

set constraints nope deferred

rollback

create constraint trigger c_not after insert on t not deferrable for each row execute function judge()

begin

set constraints c_not deferred

rollback

set constraints c_def deferred

drop trigger c_not on t

create constraint trigger c_when after update on t from other deferrable for each row when (old.v is distinct from new.v) execute function judge()

begin

set constraints c_when deferred

update t set v = v where id = 1

update t set v = 'changed' where id = 1

commit

update t set v = 'immediate' where id = 1

select tgname, tgtype, tgconstrrelid::regclass, tgconstraint <> 0, tgdeferrable, tginitdeferred, tgisinternal, pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) from pg_trigger where tgrelid = 't'::regclass order by 1

select c.conname, c.contype, c.condeferrable, c.condeferred, c.convalidated, c.conrelid::regclass, c.conindid, c.conkey, c.conislocal, c.coninhcount, c.connoinherit, pg_get_constraintdef(c.oid), t.tgname from pg_constraint c join pg_trigger t on t.tgconstraint = c.oid where c.conrelid = 't'::regclass order by 1

select constraint_name, constraint_type from information_schema.table_constraints where table_name = 't' and constraint_type not in ('CHECK') order by 1

alter trigger c_when on t rename to c_renamed

begin

set constraints c_when immediate

rollback

drop trigger c_renamed on t

create constraint trigger bad before insert on t for each row execute function judge()

create constraint trigger bad after insert on t for each statement execute function judge()

create constraint trigger bad after insert on t initially deferred not deferrable for each row execute function judge()

create constraint trigger bad after insert on t deferrable not deferrable for each row execute function judge()

create constraint trigger bad after insert on t not valid for each row execute function judge()

create or replace constraint trigger bad after insert on t for each row execute function judge()

create or replace trigger c_def after insert on t for each row execute function judge()

create constraint trigger bad after truncate on t for each row execute function judge()

create constraint trigger bad after insert on t from nope for each row execute function judge()

create constraint trigger init_def after insert on other initially deferred for each row execute function judge()

select tgdeferrable, tginitdeferred from pg_trigger where tgname = 'init_def'

drop trigger init_def on other

begin

insert into t values (20, 'pending')

alter table t add column w int

rollback

begin

insert into t values (20, 'pending')

drop trigger c_def on t

rollback

begin

insert into t values (20, 'pending')

truncate t

rollback

begin

insert into t values (20, 'pending')

drop table t

rollback

create function chained() returns trigger language plpgsql as $$
begin
  raise notice 'chained %', new.id;
  if new.id < 3 then
    insert into chain values (new.id + 1);
  end if;
  return null;
end $$

create table chain (id int)

create constraint trigger ch after insert on chain deferrable initially deferred for each row execute function chained()

insert into chain values (1)

begin

insert into chain values (1)

insert into chain values (2)

commit

select count(*) from chain

create function late_error() returns trigger language plpgsql as $$ begin perform 1 / (new.id - 5); return null; end $$

create table le (id int)

create constraint trigger le after insert on le deferrable initially deferred for each row execute function late_error()

begin

insert into le values (5)

commit

select count(*) from le

begin

insert into le values (5)

do $$ begin begin insert into le values (5); raise exception 'x'; exception when others then null; end; end $$

delete from le

commit

do $$ begin begin insert into le values (5); set constraints all immediate; exception when division_by_zero then raise notice 'caught'; end; end $$

do $$ begin insert into le values (5); end $$

create table p (id int, k int) partition by list (k)

create table p1 partition of p for values in (1)

create table p2 partition of p for values in (2)

create function told() returns trigger language plpgsql as $$
begin
  raise notice '% % old % new %', tg_table_name, tg_op, old, new;
  return null;
end $$

create constraint trigger pc after insert or update or delete on p deferrable initially deferred for each row execute function told()

begin

insert into p values (1, 1), (2, 2)

update p set k = 3 - k where id = 1

delete from p where id = 2

commit

begin

rollback

create table par (id int primary key)

create table chi (id int references par deferrable initially deferred)

create constraint trigger chi_t after insert on chi deferrable initially deferred for each row execute function told()

begin

insert into chi values (1)

insert into par values (1)

commit

create function sees() returns trigger language plpgsql as $$
begin
  raise notice 'sum %', (select sum(id) from late);
  return null;
end $$

create table late (id int)

create constraint trigger lt after insert on late deferrable initially deferred for each row execute function sees()

begin

insert into late values (1)

insert into late values (10)

update late set id = 100 where id = 1

commit
