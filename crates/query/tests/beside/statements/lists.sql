-- Lists of constants: short and long ones, with NULL on either side, over types whose equality is not that of bytes.
select id from t where a in (1, 3)
select id from t where a in (1, 3, 5, 7, 9, 11, 13, 15, 17, 19)
select id from t where a not in (1, 2, 5, 7, 9, 11, 13, 15, 17, 19)
select id, a in (1, 3, 5, 7, 9, 11, 13, 15, 17, null) from t
select id, a not in (1, 3, 5, 7, 9, 11, 13, 15, 17, null) from t
select id, a = any ('{1,3,5,7,9,11,13,15,17}'), a <> all ('{1,3,5,7,9,11,13,15,17,NULL}'::int[]) from t
select id, a = all ('{1,3,5,7,9,11,13,15,17}'), a <> any ('{1,3,5,7,9,11,13,15,17}'::int[]) from t
select id, a < any ('{1,3,5,7,9,11,13,15,17}'), a >= all ('{1,1,1,1,1,1,1,1,1}'::int[]) from t
select id, a = any (null::int[]), a <> all ('{}'::int[]), a = any ('{}'::int[]) from t
select id, a = any ('{{1,2},{3,4}}'::int[]), a = any ('{{1,2,3,4,5},{6,7,8,9,10}}'::int[]) from t
select id from t where f in (0, 1.5, 2, 3, 4, 5, 6, 7, 'NaN', 'Infinity')
select id from t where f = any ('{-0,1,2,3,4,5,6,7,8,NaN}'::float8[])
select id from t where f in (0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
select id from t where m in (1, 2, 3, 4, 5, 6, 7, 8, 9, 'NaN')
select id from t where m not in (1.000, 2, 3, 4, 5, 6, 7, 8, 9, 12345678901234567890.50)
select id from t where n in (1.1, 2.2, 3.30, 4, 5, 6, 7, 8, 9, -1.5)
select id from t where c in ('ab', 'cd   ', 'ef', 'gh', 'ij', 'kl', 'mn', 'op', 'qr', '')
select id from t where c = any ('{ab,cd,e,f,g,h,i,j,k,l}'::bpchar[])
select id from t where c::text in ('ab', 'cd', 'ef', 'gh', 'ij', 'kl', 'mn', 'op', 'qr', 'st')
select id from t where b in ('a', 'b', 'äö', 'd', 'e', 'f', 'g', 'h', 'i', 'j')
select id from t where v in ('x', 'X', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'long txt')
select id from t where v = any (array['x', 'X', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'long txt'])
select id from t where d in ('infinity', '2024-02-29', '2024-03-01', '2000-01-01', '2000-01-02', '2000-01-03', '2000-01-04', '2000-01-05', '2000-01-06')
select id from t where tz in ('2024-02-29 12:00+00', 'infinity', '2001-01-01', '2001-01-02', '2001-01-03', '2001-01-04', '2001-01-05', '2001-01-06', '2001-01-07')
select id from t where u in ('00000000000000000000000000000001', '{ffffffff-ffff-ffff-ffff-ffffffffffff}', '00000000-0000-0000-0000-000000000003', '00000000-0000-0000-0000-000000000004', '00000000-0000-0000-0000-000000000005', '00000000-0000-0000-0000-000000000006', '00000000-0000-0000-0000-000000000007', '00000000-0000-0000-0000-000000000008', '00000000-0000-0000-0000-000000000009')
select id from t where iv in ('1 day', '1 mon', '1 hour', '2 hours', '3 hours', '4 hours', '5 hours', '6 hours', '7 hours')
select id from t where raw in ('\x01', '\x02', '\x03', '\x04', '\x05', '\x06', '\x07', '\x08', '')
select id from t where ok in (true, true, true, true, true, true, true, true, null)
select id from t where big in (10, 20, 3, 4, 5, 6, 7, 8, 9, 3000000000)
select id from t where small in (1, -7, 3, 4, 5, 6, 7, 8, 9, 70000)
select id from t where small = any ('{1,2,3,4,5,6,7,8,9,10}'::int8[])
select id from t where a in (1::bigint, 2, 3, 4, 5, 6, 7, 8, 9, 10)
select id from t where a in (1.0, 2.5, 3, 4, 5, 6, 7, 8, 9, 10)
select id from t where id in (1, 2, 3, a, 5, 6, 7, 8, 9, 10)
select id from t where id in (1 + 1, 2 * 2, abs(-6), 7, 8, 9, 10, 11, 12)
select id from t where array[a, id] in (array[1, 1], array[2, 3], array[3, 3], array[3, 4], array[3, 5], array[3, 6], array[3, 7], array[3, 8], array[3, 9])
select id from t where (a, id) in ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (1, 8), (1, 9))
select id from t where row(a, id) = any (array[row(1, 1), row(1, 2), row(2, 3), row(1, 4), row(1, 5), row(1, 6), row(1, 7), row(1, 8), row(1, 9)])
select id from t where id in (1, 2, 3, 4, 5, 6, 7, 8, 1 / 0)
select id from t where id in (1, 2, 3, 4, 5, 6, 7, 8, 'x')
select id from t where 1 in (1, 2, 3, 4, 5, 6, 7, 8, id)
select null in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 5 in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 5 not in (1, 2, 3, 4, 5, 6, 7, 8, 9, null)
select id from t where a = 1 or a = 2 or a = 5 or a = 6 or a = 7 or a = 8 or a = 9 or a = 10 or a = 11 or a = 12
select id, a = 1 or a = 4 or a = 5 or a = 6 or a = 7 or a = 8 or a = 9 or a = 10 or a = null or a = 12 from t
select id, a <> 1 and a <> 4 and a <> 5 and a <> 6 and a <> 7 and a <> 8 and a <> 9 and a <> 10 and a <> null and a <> 12 from t
select id from t where a <> 1 and 2 <> a and a <> 5 and a <> 6 and a <> 7 and a <> 8 and a <> 9 and a <> 10 and a <> 11 and a <> 12
select id from t where big = 1 or big = 4 or big = 5 or big = 6 or big = 7 or big = 8 or big = 9 or big = 10 or big = 20 or id = 3 or b = 'a'
select id from t where c = 'ab' or c = 'x' or c = 'cd ' or c = 'y' or c = 'z' or c = 'w' or c = 'v' or c = 'u' or c = 's' or c = 'r'
select id from t where v = 'x' or v = 'a' or v = 'X' or v = 'y' or v = 'z' or v = 'w' or v = 'v' or v = 'u' or v = 's' or v = 'r'
select id from t where f = 0 or f = 'NaN' or f = 2 or f = 3 or f = 4 or f = 5 or f = 6 or f = 7 or f = 8 or f = 9
select id from t where a = 1 or a = 3 or a = 4 or a = 5 or a = 6 or a = 7 or a = 8 or a = 9 or a = 10 or 1 / (a - 2) > 0
select a = 1 or a = 2 or a = 3 or a = 4 or a = 5 or a = 6 or a = 7 or a = 8 or a = 9, count(*) from t group by a = 1 or a = 2 or a = 3 or a = 4 or a = 5 or a = 6 or a = 7 or a = 8 or a = 9
select a = 1 or a = 2 or a = 3 or a = 4 or a = 5 or a = 6 or a = 7 or a = 8 or a = 9, count(*) from t group by a
select a from t group by a having a in (1, 2, 4, 5, 6, 7, 8, 9, 10) or max(id) = 4
select x, y from (values (1, 'a'), (2, 'b'), (null, 'c'), (1 + 3, upper('d'))) v (x, y)
select x, y from (values (1, 1.5), (2, null), ((select max(id) from t), 3), (7, 1e3)) v (x, y) order by 1 -- ordered
select t.id, v.x from t, lateral (values (1), (t.id), (t.a + 10), (4)) v (x)
select pg_typeof(x), x from (values ('a'), ('b'), (null)) v (x)
select * from (values (1, 2), (3, 4)) v where column1 in (1, 2, 3, 4, 5, 6, 7, 8, 9)
values (1, 'x'), (2, 'y'), (3, null) order by 1 desc -- ordered
select array[1, 2, null], array[a, 1], array['x', 'y']::text[], array[]::int[], array[[1, 2], [3, 4]] from t
select array[1.5, 2], array[null::int], array[now() is null], array['1'::int, 2] from t where id = 1
select id, (select count(*) from t i where i.id = any (array[o.a, o.id, 1, 2, 3, 4, 5, 6, 7])) from t o
select id from t where id = any (array(select a from t))
select id, a = any (case when id < 3 then '{1,2,3,4,5,6,7,8,9}'::int[] else '{2,3,4,5,6,7,8,9,10}' end) from t
