create table p (id int, k text) partition by list (k)

create table pa partition of p for values in ('a')

create table pb partition of p for values in ('b') partition by range (id)

create table pb1 partition of pb for values from (0) to (10)

create table log (m text)

create function lg() returns trigger language plpgsql as $$ begin insert into log values (tg_name || ' ' || tg_table_name); return new; end $$

create trigger audit after insert on pa for each row execute function lg()

create trigger audit after insert on p for each row execute function lg()

create trigger audit after insert on p for each statement execute function lg()

insert into p values (1, 'a')

select * from log

drop trigger audit on p

drop trigger audit on pa

create trigger audit after insert on p for each row execute function lg()

create trigger audit after insert on pb1 for each row execute function lg()

create trigger audit after insert on pb for each row execute function lg()

create trigger other after insert on pb1 for each row execute function lg()

alter trigger audit on p rename to other

create table pc (id int, k text)

create trigger audit before insert on pc for each row execute function lg()

alter table p attach partition pc for values in ('c')

drop trigger audit on pc

alter table p attach partition pc for values in ('c')

truncate log

insert into p values (1, 'a'), (2, 'b'), (3, 'c')

select * from log order by 1

