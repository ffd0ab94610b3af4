create table t (id serial primary key, a int not null default 5, b varchar(20), c numeric(10,2), d timestamptz, unique (b));
create index t_a on t (a desc, c);
