create table x (id int primary key, x xml default '<none/>', a xml[], v xml not null default '')
insert into x values (1, '<a/>', '{<a/>,"<b c=\"1\"/>",NULL}', '<?xml version="1.0"?><d/>'), (2, null, null, 'text'), (3, '<?xml version="1.1"?>' || '<e/>', array['<f/>'::xml, '<?xml version="1.0"?><g/>'], '<h>é</h>')
insert into x values (3, ('<?xml version="1.1"?>' || '<e/>')::xml, array['<f/>'::xml, '<?xml version="1.0"?><g/>'], '<h>é</h>')
insert into x (id) values (4)
insert into x (id, x) values (5, '<a>')
insert into x (id, v) values (5, null)
insert into x (id, a) values (5, '{<a>}')
select * from x order by id
select id, x::text, a::text, v::text, (a[2])::text from x order by id
select id, x is document, v is document, x is null from x order by id
update x set x = xmlelement(name row, xmlattributes(id), x, v) where id < 4
select x from x order by id
select xmlagg(x order by id desc) from x
select xmlforest(id, x, a) from x order by id
delete from x where x::text like '%none%' returning *
select distinct x from x
select x from x order by x
select x from x group by x
select count(distinct x) from x
select x from x union select v from x
select x from x union all select v from x order by 1
select * from x a join x b on a.x = b.x
select * from x a join x b using (x)
create index on x (x)
create index xi on x ((x::text))
select id from x where x::text = '<a/>'
alter table x add primary key (x)
alter table x add unique (v)
alter table x add constraint e exclude (x with =)
alter table x add check (x is document)
alter table x add constraint c check (v is not document or id > 0)
alter table x add column t text default '<t/>'
alter table x alter t type xml
alter table x alter t type xml using t::xml
drop index xi
alter table x alter x type text
alter table x alter x type varchar(5) using left(x::text, 5)
alter table x alter x drop default
alter table x alter x type xml using v
alter table x add exclude (x with =)
select * from x order by id
select attname, atttypid::regtype, pg_get_expr(adbin, adrelid) from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum where attrelid = 'x'::regclass and attnum > 0 and not attisdropped order by attname
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'x'::regclass order by 1
create domain doc as xml check (value is document)
select '<a/>'::doc, 'x'::doc
select '<a/>'::doc
select xmlserialize(content '<a/>'::doc as text), xmlelement(name a, '<b/>'::doc)
create table d (d doc, r doc[])
insert into d values ('<a/>', '{<a/>}')
insert into d values ('x', null)
insert into d values (null, '{x}')
select * from d
create type both as (a int, x xml)
create table c (c both, r both[])
insert into c values (row(1, '<?xml version="1.0"?><a/>'), array[row(2, '<b/>')::both])
insert into c values (row(1, '<a>'), null)
select * from c
select (c).x::text, (r[1]).x from c
select c from c group by c
create function f(x xml) returns xml language sql as $$ select xmlelement(name f, x) $$
select f('<a/>'), f(null)
do $$ declare x xml := '<a/>'; t text; begin t := x; raise notice '% %', x, t; x := 'b'; x := '<c>'; end $$
create function g(t text) returns xml language plpgsql as $$ begin return t; end $$
select g('<a/>')
select g('<a>')
set xmloption = document
insert into x (id, v) values (9, 'content')
insert into x (id, v) values (9, '<a/>')
select g('text')
do $$ declare x xml := 'text'; begin end $$
select 'text'::xml
prepare p (xml) as select $1
execute p('text')
execute p('<a/>')
set xmloption to default
execute p('text')
set xml option document
set session xml option content
set local xml option document
show xmloption
reset xmloption
show xmloption
set xml option nothing
set xmloption = nothing
create view xv as select id, xmlelement(name a, xmlattributes(id), xmlforest(x, v as w)) as e, x is document as d from x
select * from xv order by id
create materialized view xm as select xmlconcat(x, v) as c from x
select c::text from xm order by 1
create table gen (t text, x xml generated always as (xmlelement(name t, t)) stored)
create table gen2 (t text, x xml generated always as (t::xml) stored)
insert into gen values ('a<b')
select * from gen
create table h (x xml) partition by hash (x)
create table h (x xml) partition by list (x)
create table h (x xml) partition by range (x)
copy (select 1 as x, 2 as y) to stdout
select typname, typlen, typcategory, typarray::regtype, typcollation from pg_type where oid in (142, 143) order by 1
select castsource::regtype, casttarget::regtype, castcontext, castmethod from pg_cast where 'xml'::regtype in (castsource, casttarget) order by 1, 2
select '<a/>'::xml::text::xml, cast('<a/>' as xml), xml '<a/>', pg_typeof(xml '<a/>')
select x from (values (xml '<a/>'), ('<b/>')) v (x)
select xml '<a/>' union all select '<b/>'
select row(xml '<a/>') = row(xml '<a/>')
select array[xml '<a/>'] = array[xml '<a/>']
select array[xml '<a/>'] @> array[xml '<a/>']
select array_position(array[xml '<a/>'], '<a/>')
select array_append(array[xml '<a/>'], '<b/>'), array_length('{<a/>,<b/>}'::xml[], 1), unnest('{<a/>,<b/>}'::xml[])
select xml '<a/>' || xml '<b/>'
select xml '<a/>' || 'x'
select 'x' || xml '<a/>'
select string_agg(x, ',') from (values (xml '<a/>')) v (x)
select json_agg(x), jsonb_build_object('a', x), to_json(x), array_to_json(array[x]), row_to_json(v) from (values (xml '<a b="1"/>')) v (x) group by x::text
select json_agg(x), jsonb_agg(x) from (values (xml '<a b="1"/>')) v (x)
select jsonb_populate_record(null::both, '{"a": 1, "x": "<a/>"}')
select jsonb_populate_record(null::both, '{"a": 1, "x": "<a>"}')
select xmlagg(xmlelement(name i, i)) from generate_series(1, 3) i
select i % 2 as k, xmlagg(xmlelement(name i, i) order by i) from generate_series(1, 5) i group by 1 order by 1
select i, xmlagg(xmlelement(name i, i)) over (order by i) from generate_series(1, 3) i order by 1
select xmlagg(x) filter (where x is document) from (values (xml '<a/>'), ('t')) v (x)
select xmlagg(distinct x) from (values (xml '<a/>'), ('t')) v (x)
select xmlelement(name x, xmlelement(name y, xmlcomment('c')), xmlpi(name p, 'q'))
select xmlelement(name x, (select xmlagg(xmlelement(name y, g)) from generate_series(1, 2) g))
select xmlelement(name x, generate_series(1, 2))
select xmlconcat(xmlelement(name x, generate_series(1, 2)))
select xmlelement(name x, 1/0)
select xmlforest(1/0 as x)
select case when false then xmlparse(document 'x') end
select xmlparse(document 'x') where false
select xmlelement(x)
select xmlelement(name)
select xmlelement(name a,)
select xmlelement(name a, xmlattributes())
select xmlattributes(1 as a)
select xmlforest()
select xmlparse('<a/>')
select xmlroot('<a/>')
select xmlroot('<a/>', version)
select xmlroot('<a/>', version '1', standalone maybe)
select xmlpi(foo)
select xmlserialize('<a/>' as text)
select xmlserialize(content '<a/>')
select xmlconcat()
select xmlconcat(distinct '<a/>')
select 1 is document, 'x' is not document
select xmlroot('<a/>', version 1), xmlpi(name a, 1), xmlparse(content 1)
select xmlroot(1, version '1')
select xmlpi(name a, array[1])
select xmlparse(content array[1])
select xmlelement(name select, xmlattributes(1 as "from")), xmlpi(name "order")
select * from xmlconcat('<a/>'::xml) c
select * from xmlelement(name a) as c, xmlparse(content 'b')
select xmlconcat
select xmlexists
create table xmlforest (xmlelement int)
select xmlelement from xmlforest
