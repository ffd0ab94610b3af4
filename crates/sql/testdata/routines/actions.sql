create table p (id int primary key, u int unique, v text)

create table c (id int primary key, pid int references p on delete cascade on update cascade, n int, g int generated always as (n * 2) stored)

create index on c (pid)

create table gc (id int primary key, cid int references c on delete set null on update cascade, w text)

create table log (n serial, what text)

create function told() returns trigger language plpgsql as $$
begin
  raise notice '% % % % old % new %', tg_name, tg_when, tg_op, tg_table_name, old, new;
  if tg_op = 'DELETE' then return old; end if;
  return new;
end $$

create function stated() returns trigger language plpgsql as $$
begin
  raise notice '% % % of %', tg_name, tg_when, tg_op, tg_table_name;
  return null;
end $$

create trigger b1 before insert or update or delete on c for each row execute function told()

create trigger a1 after insert or update or delete on c for each row execute function told()

create trigger s1 before insert or update or delete on c for each statement execute function stated()

create trigger s2 after insert or update or delete on c for each statement execute function stated()

create trigger "A0" after delete or update on p for each row execute function told()

create trigger z0 after delete or update on p for each row execute function told()

create trigger zs after delete or update on p for each statement execute function stated()

create trigger ps before delete or update on p for each statement execute function stated()

create trigger g1 after update or delete on gc for each row execute function told()

create trigger g2 before update of cid on gc for each row execute function told()

create trigger g3 before update of w on gc for each row execute function told()

create trigger g4 after update on gc for each row when (new.cid is null) execute function told()

insert into p select i, i * 10, 'p' || i from generate_series(1, 6) i

insert into c values (1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 4, 4)

insert into gc values (1, 1, 'a'), (2, 1, 'b'), (3, 3, 'c'), (4, 4, 'd')

delete from p where id in (1, 2)

select * from c order by id

select * from gc order by id

update p set id = id + 100 where id in (4, 5)

select * from c order by id

update p set v = 'changed' where id = 104

update p set id = id, v = 'again' where id = 104

update c set id = 44 where id = 4

select * from gc order by id

delete from p where id = 6

delete from p where id = 77

begin

insert into c values (5, 104, 5)

with d as (delete from p where id = 104 returning id) select * from d

select * from c order by id

rollback

begin

savepoint s

delete from p

rollback to s

select count(*) from c

commit

-- Triggers that keep rows, and those that change them.
create table q (id int primary key)

create table d (id int primary key, qid int references q on delete cascade on update cascade, note text)

create function keeps() returns trigger language plpgsql as $$
begin
  if old.note = 'keep' then return null; end if;
  if tg_op = 'UPDATE' then new.note := 'was ' || old.qid; if old.note = 'other' then new.qid := 3; end if; if old.note = 'none' then new.qid := 99; end if; return new; end if;
  return old;
end $$

create trigger k before update or delete on d for each row execute function keeps()

insert into q values (1), (2), (3), (4)

insert into d values (1, 1, 'keep'), (2, 1, 'x'), (3, 2, 'other'), (4, 2, 'y')

delete from q where id = 1

select * from d order by id

update q set id = 20 where id = 2

select * from d order by id

insert into d values (5, 4, 'none')

update q set id = 40 where id = 4

select * from d order by id

-- SET NULL and SET DEFAULT, columns of several, deferred rules.
create table r (a int, b int, primary key (a, b))

create table e (id int primary key, a int default 1, b int default 1, c int, foreign key (a, b) references r on delete set default on update set null)

create table f (id int primary key, a int, b int not null, foreign key (a, b) references r on delete set null (a) on update cascade)

create trigger e1 before update or delete on e for each row execute function told()

create trigger e2 after update of b or delete on e for each row execute function told()

create trigger f1 after update of b on f for each row execute function told()

create trigger f2 after update of a on f for each row when (old.a is distinct from new.a) execute function told()

insert into r values (1, 1), (2, 2), (3, 3)

insert into e values (1, 2, 2, 0), (2, 3, 3, 0)

insert into f values (1, 2, 2), (2, 3, 3)

delete from r where a = 2

select * from e order by id

select * from f order by id

update r set b = 33 where a = 3

select * from e order by id

select * from f order by id

delete from r where a = 1

select * from e order by id

delete from r where (a, b) = (3, 33)

update f set b = 1

-- Rows that may not be so.
create table h (id int primary key)

create table i (id int primary key, hid int not null references h on delete set null, hid2 int check (hid2 < 100) references h on update cascade)

create function nothing() returns trigger language plpgsql as $$ begin if tg_op = 'DELETE' then return old; end if; return new; end $$

create trigger i1 before update on i for each row execute function nothing()

insert into h values (1), (2)

insert into i values (1, 1, 2)

delete from h where id = 1

update h set id = 200 where id = 2

create function fails() returns trigger language plpgsql as $$ begin raise exception 'no % of %', tg_op, old.id; end $$

create trigger i2 before update on i for each row execute function fails()

delete from h where id = 1

drop trigger i2 on i

create trigger i3 after update on i for each row execute function fails()

update h set id = 3 where id = 2

select * from h order by id

-- What a trigger does to the row that is about to go.
create table j (id int primary key)

create table k (id int primary key, jid int references j on delete cascade, n int)

create function touches() returns trigger language plpgsql as $$ begin update k set n = n + 1 where id = old.id; return old; end $$

create trigger k1 before delete on k for each row execute function touches()

insert into j values (1)

insert into k values (1, 1, 0)

delete from j where id = 1

drop trigger k1 on k

create function restores() returns trigger language plpgsql as $$ begin insert into k values (old.id + 10, 2, 0); return null; end $$

insert into j values (2)

create trigger k2 after delete on k for each row execute function restores()

delete from j where id = 1

select * from k order by id

create function orphans() returns trigger language plpgsql as $$ begin insert into k values (old.id + 100, old.jid, 0); return null; end $$

create trigger k3 after delete on k for each row execute function orphans()

delete from j where id = 2

select * from k order by id

-- Tables of changed rows.
create table l (id int primary key)

create table m (id int primary key, lid int references l on delete cascade on update cascade)

create function listed() returns trigger language plpgsql as $$
declare n text;
begin
  if tg_op = 'DELETE' then select string_agg(id::text, ',' order by id) into n from old_rows;
  else select string_agg(o.id || ':' || o.lid || '>' || w.lid, ',' order by o.id) into n from old_rows o join new_rows w using (id);
  end if;
  raise notice '% % rows %', tg_name, tg_op, n;
  return null;
end $$

create trigger m1 after delete on m referencing old table as old_rows for each statement execute function listed()

create trigger m2 after update on m referencing old table as old_rows new table as new_rows for each statement execute function listed()

create trigger m3 before delete or update on m for each statement execute function stated()

create trigger m4 after delete on m referencing old table as old_rows for each row execute function listed()

create trigger l1 after delete on l for each statement execute function stated()

insert into l values (1), (2), (3)

insert into m values (1, 1), (2, 1), (3, 2), (4, 3)

update l set id = id + 10 where id in (1, 2)

delete from l where id in (11, 12)

select * from m

-- Trees.
create table t (id int primary key, up int references t on delete cascade on update cascade)

create trigger t1 before delete or update on t for each row execute function told()

create trigger t2 after delete or update on t for each row execute function told()

create trigger t3 before delete or update on t for each statement execute function stated()

create trigger t4 after delete or update on t for each statement execute function stated()

insert into t values (1, null), (2, 1), (3, 1), (4, 2), (5, 4)

update t set id = 20 where id = 2

delete from t where id = 1

select * from t

-- Actions that go on to a table with triggers over one without.
create table u (id int primary key)

create table v (id int primary key, uid int references u on delete cascade)

create table w (id int primary key, vid int references v on delete cascade)

create trigger w1 after delete on w for each row execute function told()

insert into u values (1), (2)

insert into v values (1, 1), (2, 1)

insert into w values (1, 1), (2, 2)

delete from u where id = 1

select * from w

-- Triggers that are put off.
create table x (id int primary key)

create table y (id int primary key, xid int references x on delete cascade)

create constraint trigger y1 after delete on y deferrable initially deferred for each row execute function told()

insert into x values (1), (2)

insert into y values (1, 1), (2, 2)

begin

delete from x where id = 1

savepoint s

delete from x where id = 2

rollback to s

select 'before the end'

commit

select * from y

-- ON CONFLICT and MERGE change parents, too.
insert into l values (7), (8)

insert into m values (70, 7), (80, 8)

insert into l values (7) on conflict (id) do update set id = 77

merge into l using (values (8)) as s (id) on l.id = s.id when matched then delete

select * from m order by id

drop table m

delete from l
