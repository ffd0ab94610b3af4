create table t (id serial primary key, a int not null default 5, b varchar(20), c numeric(10,2), d timestamptz, unique (b));
create index t_a on t (a desc, c);
create table child (id int primary key, t_id int references t(id) on delete cascade, constraint pos check (id > 0));
create view v as select id, a from t where a > 1;
create sequence s;
insert into t (b, c) values ('one', 1.25), (null, 2.5);
