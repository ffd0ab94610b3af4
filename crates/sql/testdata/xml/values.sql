select xmlelement(name a), xmlelement(name a, ''), xmlelement(name a, null), xmlelement(name a, 'x<>&"''', 1, true), xmlelement(name a, xmlattributes('x<>&"'' ' as b, null as c, 1 as d, true as e))
select xmlelement(name "a b:c<1", xmlattributes(1 as "x y")), xmlelement(name "xmlfoo"), xmlelement(name "XmL"), xmlelement(name ":a"), xmlelement(name "a_x0020_b"), xmlelement(name "1a"), xmlelement(name "é")
select xmlelement(name a, '2001-01-01'::date, '2001-01-01 10:00'::timestamp, '2001-01-01 10:00+00'::timestamptz, 'ab'::bytea, array[1,null,2], array[[1,2],[3,4]], '{a<,b}'::text[], row(1,2), '<x/>'::xml, 1.50, 'infinity'::float8, '1 day'::interval, '10:00'::time, '{"a":1}'::jsonb)
select xmlelement(name a, 'infinity'::date)
select xmlelement(name a, 'infinity'::timestamp)
select xmlelement(name a, '-infinity'::timestamptz)
select xmlelement(name a, '0044-03-15 BC'::date)
select xmlelement(name a, E'a\r\n\tb')
select xmlelement(name a, xmlattributes('<x/>'::xml as x))
select xmlelement(name a, xmlattributes(array[1,2] as x))
select xmlelement(name a, xmlattributes('a' as x, 'b' as x))
select xmlelement(name a, xmlattributes('a'))
select xmlforest('a'), 1
select xmlforest('a' as b, null as c, 1 as d), xmlforest(null as x), xmlforest(t.a, "B b" as c) from (values (1,'2')) t(a,"B b")
select xmlforest(t.a, "B b") from (values (1,'2')) t(a,"B b")
select xmlconcat('<a/>', null, '<b/>'), xmlconcat(null), xmlconcat('<?xml version="1.1"?><a/>','<?xml version="1.1" standalone="no"?><b/>'), xmlconcat('<?xml version="1.1"?><a/>','<b/>'),xmlconcat('<?xml version="1.0" standalone="yes"?><a/>','<?xml version="1.1" standalone="yes"?><b/>')
select xmlconcat(1)
select xmlconcat('bad<')
select xmlpi(name foo), xmlpi(name foo, 'bar'), xmlpi(name foo, '  bar'), xmlpi(name foo, null), xmlpi(name "f o", ''), xmlpi(name foo, E'a\nb')
select xmlpi(name xml, 'b')
select xmlpi(name "xMl")
select xmlpi(name "xml-stylesheet", 'href')
select xmlpi(name foo, 'a?>b')
select xmlroot('<a/>', version '1.0'), xmlroot('<a/>', version '1.1', standalone yes), xmlroot('<?xml version="1.1" standalone="yes"?><a/>', version no value, standalone no value), xmlroot('<?xml version="1.1" standalone="yes"?><a/>', version no value), xmlroot('<?xml version="1.1"?><a/>', version no value, standalone no), xmlroot('<a/>', version null), xmlroot(null, version '1')
select xmlcomment('a'), xmlcomment('')
select xmlcomment('a--b')
select xmlcomment('a-')
select xmlserialize(content 'x' as text), xmlserialize(document '<a/>' as varchar), xmlserialize(content '<a/>' as char(3)), xmlserialize(content null as text)
select xmlserialize(document 'x' as text)
select xmlserialize(content '<a/>' as varchar(2))
select xmlserialize(content '<a/>' as int)
select xmlserialize(content '<a/>' as xml)
select xmlserialize(content 1 as text)
select '<a/>'::xml is document, 'x'::xml is document, 'x'::xml is not document, null::xml is document
select 'x' is document
select 1 is document
select xmlparse(content null), xmlparse(content ''), xmlparse(document '<a/>' preserve whitespace), xmlparse(content ' <a/> ' strip whitespace)
select xmlparse(content 1)
select pg_typeof(xmlserialize(content 'x' as varchar(3))), pg_typeof(xmlparse(content 'x'))
create view v as select xmlconcat('<a/>', xmlcomment('b')) c, xmlelement(name "A b", xmlattributes(1 as "x y", relname), 'x', relname) e, xmlforest(relname, 1 as "O n") f, xmlparse(document '<a/>') p, xmlparse(content 'a' preserve whitespace) q, xmlpi(name foo, 'bar') i, xmlpi(name foo) i2, xmlroot('<a/>', version '1.0', standalone yes) r, xmlroot('<a/>', version no value) r2, xmlroot('<a/>', version no value, standalone no value) r3, xmlserialize(content 'x' as varchar(10)) s, xmlserialize(document '<x/>' as text) s2, '<a/>'::xml is document d, '<a/>'::xml is not document d2, 'x'::xml l  from pg_class
select pg_get_viewdef('v'::regclass, true)
select pg_get_viewdef('v'::regclass, false)
select xmlagg(x) from (values ('<a/>'::xml),(null),('<b/>')) v(x)
select xmlagg(x order by x::text desc) from (values ('<a/>'::xml),(null),('<b/>')) v(x)
select xmlagg(x) from (values (null::xml)) v(x)
select xmlagg(x) from (values ('<?xml version="1.0"?><a/>'::xml),('<?xml version="1.1"?><b/>')) v(x)
select '<a/>'::xml = '<a/>'::xml
select '<a/>'::xml < '<a/>'::xml
select distinct '<a/>'::xml
select '<a/>'::xml order by 1
select '<a/>'::xml group by 1
select 'x'::xml union select 'y'::xml
create table t (x xml, a xml[])
create index on t(x)
create index on t using hash (x)
create index on t using gin (x)
create table t2 (x xml primary key)
create table t2 (x xml unique)
select xml('<a/>'), text('<a/>'::xml), xmlvalidate('<a/>', 'x')
select xml_is_well_formed('<a>'), xml_is_well_formed('<a/>'), xml_is_well_formed_document('x'), xml_is_well_formed_content('x'), xml_is_well_formed('x')
set xml option document
show xmloption
select xml_is_well_formed('x')
select 'x'::xml
select xml('x')
select 'x'::text::xml
select '<!DOCTYPE a><a/>'::xml
insert into t values ('x')
set xml option content
select '<?xml version="1.0"?><a/>'::xml::text, '<?xml version="1.0"?><a/>'::xml, '<a/>'::xml::varchar(2), '<a/>'::xml::char(6), cast('<a/>'::xml as text) || 'x'
select '<a/>'::varchar::xml, 'abc '::char(5)::xml, 'x'::name::xml
select 1::xml
select '<a/>'::xml::int
select '<a/>'::xml::json
set xmlbinary = hex
select xmlelement(name a, '\x1234'::bytea)
select xmlelement(name a, xmlattributes('\x1234'::bytea as b))
select min(x) from (values ('<a/>'::xml)) v(x)
select array_agg('<?xml version="1.0"?><a/>'::xml), '{<a/>,"<b c=\"1\"/>"}'::xml[]
select '{<a>}'::xml[]
select row('<?xml version="1.0"?><a/>'::xml)::text
select to_json('<?xml version="1.0"?><a/>'::xml), to_jsonb('<a b="1"/>'::xml)
select concat('<?xml version="1.0"?><a/>'::xml), format('%s', '<?xml version="1.0"?><a/>'::xml), '<?xml version="1.0"?><a/>'::xml || 'x'::text
select length('<a/>'::xml)
select upper('<a/>'::xml)
select coalesce('<a/>'::xml, '<b/>'), greatest('<a/>'::xml, '<b/>')
select nullif('<a/>'::xml, '<b/>')
select case when true then '<a/>'::xml else 'x' end
select '<a/>'::xml in ('<b/>')
select '<a/>'::xml like 'x'
select '<a/>'::xml is distinct from '<b/>'::xml
select '<a/>'::xml is null
select greatest('1'::json, '2')
create table j (j json)
create table jl (j json) partition by list (j)
create index on j using hash (j)
select xmlelement(name a, xmlattributes('é' as b), 'é')
select xmlelement(name a, decode(repeat('ab', 100), 'hex')), xmlelement(name a, ''::bytea), xmlelement(name a, xmlattributes(decode(repeat('ab', 100), 'hex') as b))
select xmlforest(1 as "x_x0041_", 2 as "日本", 3 as "·", 4 as "a·", 5 as "𐀀")
set xmlbinary = hex
select xmlelement(name a, '\xabcdef'::bytea)
select xmlelement(name a, '{\\xab,NULL}'::bytea[])
