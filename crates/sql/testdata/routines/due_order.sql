create table p (id int primary key)

create table c (id int primary key, pid int references p deferrable initially deferred, u int unique deferrable initially deferred)

create function told() returns trigger language plpgsql as $$ begin raise notice '% % % %', tg_name, tg_op, old, new; return null; end $$

create constraint trigger ct after insert or update or delete on c deferrable initially deferred for each row execute function told()

create constraint trigger pt after insert or delete on p deferrable initially deferred for each row execute function told()

begin

insert into c values (1, 1, 1)

commit

begin

insert into c values (1, 1, 1)

insert into p values (1)

commit

begin

delete from p where id = 1

commit

begin

delete from p where id = 1

insert into p values (1)

commit

begin

delete from p where id = 1

delete from c where pid = 1

commit

begin

insert into p values (2)

insert into c values (2, 2, 2)

insert into c values (3, 2, 3)

delete from c where id = 3

rollback

begin

insert into c values (2, null, 2)

savepoint s

insert into c values (3, 3, 3)

rollback to s

insert into c values (4, null, 4)

commit

-- What a call brings is judged after it.
create function gives() returns trigger language plpgsql as $$ begin
  raise notice 'gives %', new.pid + 1;
  insert into p values (new.pid + 1) on conflict do nothing;
  return null;
end $$

create constraint trigger da after insert on c deferrable initially deferred for each row execute function gives()

begin

insert into p values (10)

insert into c values (10, 10, 10)

insert into c values (11, 11, 11)

commit

select * from c order by id

begin

insert into c values (21, 21, 21)

insert into c values (20, 20, 20)

commit

create function breaks() returns trigger language plpgsql as $$ begin
  raise notice 'breaks %', new.id;
  insert into c values (new.id + 100, 999, new.id + 100);
  return null;
end $$

create constraint trigger "Z1" after insert on c deferrable initially deferred for each row when (new.id = 30) execute function breaks()

begin

insert into c values (30, 10, 30)

commit

drop trigger da on c

drop trigger "Z1" on c

create constraint trigger "A1" after insert on c deferrable initially deferred for each row execute function gives()

begin

insert into c values (40, 400, 40)

commit

create function own() returns trigger language plpgsql as $$ begin
  raise notice 'own %', new.pid;
  insert into p values (new.pid) on conflict do nothing;
  return null;
end $$

create constraint trigger "A2" after insert on c deferrable initially deferred for each row execute function own()

begin

insert into c values (50, 500, 50)

commit

select * from c order by id

begin

insert into c values (60, 600, 60)

set constraints all immediate

commit

select * from p order by id
