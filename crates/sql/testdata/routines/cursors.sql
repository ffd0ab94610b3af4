create table t (id int primary key, v text)

insert into t select i, 'v' || i from generate_series(1, 6) i

do $$
declare
  c cursor for select id, v from t order by id;
  d cursor (low int, high int default 0) for select id from t where id > low order by id;
begin
  null;
end $$

do $$
declare
  c cursor for select id, v from t order by id;
  d no scroll cursor (low int, high int) for select id from t where id > low and id <= high order by id;
  e scroll cursor is select * from t order by id desc;
  r record; a int; b text; n int;
begin
  raise notice 'c %', c;
  open c;
  fetch c into a, b;
  raise notice '% % %', a, b, found;
  fetch next from c into r;
  raise notice '% %', r, r.v;
  fetch relative 2 from c into r;
  raise notice '%', r;
  fetch last from c into r;
  raise notice '%', r;
  fetch c into r;
  get diagnostics n = row_count;
  raise notice '% % %', r, found, n;
  fetch prior from c into a, b;
  raise notice '% %', a, b;
  fetch absolute a - 4 in c into a, b;
  raise notice '% %', a, b;
  fetch backward from c into a, b;
  raise notice '% %', a, b;
  fetch first from c into a;
  raise notice '%', a;
  move 3 from c;
  get diagnostics n = row_count;
  raise notice 'moved % %', n, found;
  move forward all from c;
  get diagnostics n = row_count;
  raise notice 'moved % %', n, found;
  move c;
  raise notice 'moved %', found;
  move backward 2 in c;
  fetch forward from c into a, b;
  raise notice '% %', a, b;
  move absolute 0 from c;
  fetch c into a;
  raise notice '%', a;
  close c;
  open d (2, 4);
  fetch d into a; raise notice '%', a;
  close d;
  open d (high := 6, low := 4);
  fetch d into a; raise notice '%', a;
  fetch d into a; raise notice '%', a;
  fetch d into a; raise notice '%', a;
  close d;
  open e;
  fetch e into r; raise notice '%', r;
  insert into t values (7, 'late');
  fetch first from e into r; raise notice '%', r;
  close e;
  for x in c loop
    exit when x.id > 5;
    update t set v = v || '!' where id = x.id + 1;
    raise notice 'x %', x;
  end loop;
  raise notice 'found % c %', found, c;
  for x in d (low := 5, high := 7) loop raise notice 'd %', x.id; end loop;
  for x in d (100, 200) loop raise notice 'd %', x.id; end loop;
  raise notice 'found %', found;
  <<outer>>
  for x in c loop
    for y in d (x.id, x.id + 1) loop
      continue outer when x.id = 2;
      exit outer when x.id = 4;
      raise notice '% %', x.id, y.id;
    end loop;
  end loop;
end $$

do $$ declare c cursor for select 1; begin open c; open c; end $$

do $$ declare c cursor for select 1; begin open c; end $$

do $$ declare c cursor for select 1; x int; begin fetch c into x; end $$

do $$ declare c refcursor; x int; begin fetch c into x; end $$

do $$ declare c refcursor; begin close c; end $$

do $$ declare c refcursor := 'nope'; begin close c; end $$

do $$ declare c refcursor := 'nope'; begin move c; end $$

do $$ declare c cursor for select nope; begin open c; end $$

do $$ declare c no scroll cursor for select id from t order by id; x int; begin open c; fetch c into x; fetch c into x; fetch prior from c into x; end $$

do $$ declare c cursor for select id from t order by id; x int; begin open c; fetch absolute null from c into x; end $$

do $$ declare c cursor for select id from t order by id; x int; begin open c; fetch relative 'a' from c into x; end $$

do $$ declare c cursor for insert into t values (100); begin open c; end $$

do $$ declare c refcursor; begin open c for update t set v = v; end $$

do $$ declare c refcursor; begin open c for execute 'delete from t'; end $$

do $$ declare c refcursor; begin open c for execute null; end $$

do $$ declare c refcursor; begin open c for execute 'select 1; select 2'; end $$

do $$ declare c refcursor; x int; begin open c for execute 'select $1 + $2' using 1, 2; fetch c into x; raise notice '%', x; close c; open c scroll for values (1), (2); fetch last from c into x; raise notice '%', x; fetch prior from c into x; raise notice '%', x; end $$

do $$ declare c int; begin open c for select 1; end $$

do $$ declare r record; begin close r; end $$

do $$ declare c refcursor; begin open c; end $$

do $$ declare c refcursor; begin open zzz for select 1; end $$

do $$ declare c cursor for select 1; begin open c for select 2; end $$

do $$ declare c cursor (a int) for select a; begin open c; end $$

do $$ declare c cursor for select 1; begin open c (1); end $$

do $$ declare c cursor (a int, b int) for select a; begin open c (1); end $$

do $$ declare c cursor (a int, b int) for select a; begin open c (1, 2, 3); end $$

do $$ declare c cursor (a int, b int) for select a; begin open c (a := 1, a := 2); end $$

do $$ declare c cursor (a int, b int) for select a; begin open c (a := 1, z := 2); end $$

do $$ declare c refcursor; begin for r in c loop null; end loop; end $$

do $$ declare c cursor for select 1; x int; begin open c; fetch 2 from c into x; end $$

do $$ declare c cursor for select 1; x int; begin open c; fetch all from c into x; end $$

do $$ declare c cursor for select 1; x int; begin fetch forward 2 from c into x; end $$

do $$ declare c cursor for select 1; x int; begin fetch next c into x; end $$

create function opened(c refcursor, q text) returns refcursor language plpgsql as $$
begin
  open c for execute q;
  return c;
end $$

create function both(out a refcursor, out b refcursor) language plpgsql as $$
begin
  open a for select id from t order by id limit 3;
  b := 'bee';
  open b scroll for select v from t where id = 1;
end $$

create function next_of(c refcursor) returns t language plpgsql as $$
declare r t;
begin
  fetch c into r;
  return r;
end $$

select opened('x', 'select 1')

fetch all in x

begin

select opened('mine', 'select id, v from t order by id')

fetch 2 from mine

fetch all in mine

fetch backward 3 in mine

move absolute 1 in mine

select next_of('mine')

select * from next_of('mine')

fetch next in mine

select name, is_holdable, is_binary, is_scrollable from pg_cursors order by 1

close mine

fetch next in mine

rollback

begin

declare theirs cursor for select * from t order by id

fetch 1 in theirs

select next_of('theirs')

fetch 1 in theirs

do $$ declare c refcursor := 'theirs'; r record; begin fetch c into r; raise notice '%', r; close c; end $$

fetch 1 in theirs

rollback

begin

select * from both()

fetch all in bee

fetch backward all in bee

savepoint s

select opened('inner', 'select 1 as one')

fetch next in inner

rollback to s

fetch next in inner

rollback

begin

select opened('kept', 'select id from t order by id')

do $$ begin begin perform opened('lost', 'select 1'); raise exception 'x'; exception when others then null; end; end $$

select name from pg_cursors order by 1

fetch 2 in kept

commit

fetch 1 in kept

create function names() returns setof text language plpgsql as $$
declare
  c cursor (p text) for select v from t where v like p order by id;
  r record;
begin
  for r in c ('v%') loop
    if r.v = 'v3!' then continue; end if;
    return next r.v;
  end loop;
end $$

select * from names()

create function "Quoted"() returns text language plpgsql as $$
declare
  "My Cur" cursor for select 'it''s';
  x text;
begin
  open "My Cur";
  fetch "My Cur" into x;
  return x || ' ' || "My Cur"::text;
end $$

select "Quoted"()

create function in_trigger() returns trigger language plpgsql as $$
declare
  c cursor for select * from n order by id;
begin
  for r in c loop raise notice 'trigger %', r; end loop;
  return null;
end $$

create trigger ct after insert on t referencing new table as n execute function in_trigger()

insert into t values (50, 'x'), (51, 'y')

do $$
declare c cursor for select id from t order by id for update; x int;
begin
  for r in c loop
    exit when r.id > 3;
    update t set v = 'locked' where id = r.id;
  end loop;
  raise notice '%', (select count(*) from t where v = 'locked');
end $$

create function typed() returns refcursor language plpgsql as $$
declare c refcursor;
begin
  open c for select 1::int2 as a, 2.5::numeric(5,2) as b, 'x'::char(3) as c, now() - now() as d, array[1,2] as e, null::date as f;
  return c;
end $$

begin

do $$ declare c refcursor; r record; begin c := typed(); fetch c into r; raise notice '%', r; end $$

rollback
