-- What psql shows of the catalogs.
\pset null '(null)'
create table customer (
    id serial primary key,
    name text not null,
    code varchar(12) default 'none',
    balance numeric(12, 2) not null default 0.00,
    since timestamp with time zone default now(),
    check (length(name) > 0)
);
create unique index customer_code on customer (code);
create table invoice (
    id bigint generated always as identity primary key,
    customer_id integer not null references customer (id) on delete cascade,
    day date not null,
    note text,
    unique (customer_id, day)
);
create index invoice_day on invoice (day desc, id);
create view debtor as select id, name from customer where balance < 0;
create sequence ticket increment by 5 start with 100;
create schema archive;
create table archive.invoice (id bigint primary key, body json);
comment on table customer is 'who buys';
comment on column customer.code is 'as printed';
create role clerk;
grant select, insert on customer to clerk;

\d
\d customer
\d+ customer
\d invoice
\d+ invoice
\d customer_pkey
\d+ invoice_day
\d debtor
\d ticket
\d archive.*
\d missing
\dt
\dt archive.*
\dt *.inv*
\di
\di invoice*
\ds
\dv
\dn arch*
\df
\df nothing*
\du
\du clerk
\dp customer
\dT
\dD
\do nothing
\db nothing
\des
\dd
\l postgres
\sf nothing
\dC nothing
\dy
\dRp
\drds
\conninfo_is_not_a_command
\x on
select id, name, code, balance from customer;
\dt customer
\x off
