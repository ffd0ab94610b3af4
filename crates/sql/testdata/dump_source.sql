-- The schema and rows of dump.sql: feed this to PostgreSQL 15, and write the dump by pg_dump.
create schema sales;
create table people (
  id serial primary key,
  name varchar(40) not null unique,
  age int check (age >= 0 and age < 200),
  kind text default 'guest' not null check (kind in ('guest', 'member')),
  since timestamptz default now(),
  note text
);
comment on table people is 'Who is known';
comment on column people.name is 'What they''re called';
create index people_since on people (since desc, name);
create index people_kind on people using btree (kind) include (age);
create table sales.orders (
  id bigint generated always as identity primary key,
  person int not null references people (id) on delete cascade,
  amount numeric(10,2) default 0.00 not null,
  placed date default current_date,
  constraint positive check (amount > 0::numeric)
);
create sequence sales.ticket start 100 increment 10 maxvalue 1000 cache 1;
create view sales.totals as
  select p.name, sum(o.amount) as total
  from people p join sales.orders o on o.person = p.id group by p.name;
create table all_types (
  a smallint, b integer, c bigint, d real, e double precision, f numeric(12,2), g text,
  h varchar(5), i char(5), j bytea, k uuid, l date, m time, n timestamp, o timestamptz, p json,
  q jsonb, r boolean, s numeric
);
insert into people (name, age, since, note) values
  ('Ada', 36, '2024-01-01 00:00:00+00', E'two\nlines\tand a tab'),
  ('Grace', 85, '2024-01-02 00:00:00+00', null),
  ('Edsger', null, '2024-01-03 00:00:00+00', 'back\slash');
insert into sales.orders (person, amount, placed) values
  (1, 50.25, '2024-02-01'), (1, 50, '2024-02-02'), (2, 5.25, '2024-02-03'), (3, 5.25, null);
select nextval('sales.ticket');
insert into all_types values
  (1, 2, 3, 1.5, 2.25, 123.45, 'text', 'vc', 'ch', '\x00ff', 'b5e9c9a1-0000-4000-8000-000000000001',
   '2024-02-29', '12:34:56.789', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+00',
   '{"a": [1, null]}', '{"b": true}', true, 12345678901234567890.125),
  (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
   null, null, null);
