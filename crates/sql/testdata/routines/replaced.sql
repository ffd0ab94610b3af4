create table t (i int)

create function f() returns trigger language plpgsql as $$ begin raise notice '% %', tg_name, new.i; return new; end $$

create function g() returns trigger language plpgsql as $$ begin raise notice 'g % %', tg_name, new.i; return new; end $$

create trigger a before insert on t for each row execute function f()

create trigger b before insert on t for each row execute function f()

alter table t disable trigger a

alter table t enable always trigger b

insert into t values (1)

select tgname, tgenabled from pg_trigger where tgrelid = 't'::regclass order by 1

create or replace trigger a before insert on t for each row execute function g()

create or replace trigger b after insert or update on t for each row execute function g()

select tgname, tgenabled from pg_trigger where tgrelid = 't'::regclass order by 1

insert into t values (2)

alter table t enable replica trigger a

alter trigger a on t rename to c

select tgname, tgenabled from pg_trigger where tgrelid = 't'::regclass order by 1

insert into t values (3)

create or replace trigger c before insert on t for each row when (new.i > 3) execute function f()

insert into t values (3)

insert into t values (4)
