-- Correlated subqueries of grouped queries
select t_id, (select count(*) from t where t.id = o.t_id) from o group by t_id
select t_id from o group by t_id having exists (select 1 from t where t.id = o.t_id)
select t_id, sum(qty), (select b from t where id = o.t_id) from o group by t_id
select t_id, count(*) from o group by t_id order by (select max(a) from t where t.id = o.t_id) nulls last, 1 -- ordered
select t_id, rank() over (order by (select max(z.qty) from o z where z.t_id = o.t_id) nulls last) from o group by t_id
select t_id, (select o.t_id + 1) from o group by t_id
select t_id, qty, (select count(*) from t where t.a > o.qty) from o group by grouping sets ((t_id), (qty), (t_id, qty))
select x.id, array(select qty from o where o.t_id = x.id order by 1) from t x join o y on y.t_id = x.id group by x.id
select id, (select count(*) from o where o.t_id = id) from (select t_id as id from o) p join t using (id) group by id
select p.id, (select count(*) from o where o.t_id = p.id) from (select t_id as id from o) p join t using (id) group by id
select distinct t_id, t_id in (select id from t where id = o.t_id) from o group by t_id
select count(distinct qty), t_id, (select max(a) from t where t.id >= o.t_id) from o group by t_id
