create table t (id int primary key, a int, b text, f float8, n numeric(12,2), m numeric, c char(5), v varchar(8), d date, ts timestamp, tz timestamptz, u uuid, ok boolean, big bigint, small smallint, raw bytea, iv interval);
insert into t values
 (1, 1, 'a', 1.5, 1.10, 1.0, 'ab', 'x', '2024-02-29', '2024-02-29 12:00', '2024-02-29 12:00+00', '00000000-0000-0000-0000-000000000001', true, 10, 1, '\x01', '1 day'),
 (2, 1, 'b', 'NaN', 2.20, 1.00, 'ab ', 'y', '1999-12-31', '1999-12-31 23:59:59.5', '1999-12-31 23:59:59+02', '00000000-0000-0000-0000-000000000002', false, 20, 2, '\x02', '24 hours'),
 (3, 2, 'a', -0.0, 3.30, 'NaN', 'cd', null, null, null, null, null, null, null, null, null, null),
 (4, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
 (5, 3, 'c', 0.0, -1.50, 12345678901234567890.5, '', 'long txt', 'infinity', '-infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', true, -7, -7, '', '1 mon'),
 (6, 3, 'äö', 'Infinity', 1.10, 1, 'AB', 'X', '2024-03-01', '2024-03-01', '2024-03-01', '00000000-0000-0000-0000-000000000001', false, 10, 1, '\x0102', '30 days');
create table o (oid_ int, t_id int, qty int, price numeric(10,2), note text);
insert into o values (1, 1, 5, 10.00, 'a'), (2, 1, 3, 2.50, null), (3, 2, 0, 7.25, 'b'), (4, null, 1, 1.00, 'c'), (5, 9, 2, 3.00, 'a');
create table e (id int, x text);
create table coll (id int primary key, d text, c text collate "C", p text collate "POSIX", n name);
insert into coll values (1, 'a', 'b', 'a', 'n'), (2, 'B', 'B', 'b', 'b'), (3, 'c', null, 'x', null);
