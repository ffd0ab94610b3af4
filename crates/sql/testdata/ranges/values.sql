SELECT '[1,5]'::int4range, '(1,5)'::int8range, '[1.50,2.0]'::numrange, '[2000-01-01,2000-01-03]'::daterange
SELECT '[2000-01-01 12:00,infinity]'::tsrange, '[2000-01-01 12:00+01,)'::tstzrange, 'empty'::int4range, '(,)'::int4range
SELECT '{[1,2],[3,4],[9,)}'::int4multirange, '{}'::datemultirange, '{(1,2],(2,3)}'::nummultirange
SELECT '[1,5'::int4range
SELECT '[a,5]'::int4range
SELECT '[5,1]'::int4range
SELECT '1,5'::int4range
SELECT '{[1,5}'::int4multirange
SELECT '{[1,5],[7,6]}'::int4multirange
SELECT '(2147483647,)'::int4range
SELECT int4range(1, 5), int4range(1, 5, '[]'), int4range(NULL, 5), int4range(1, NULL, '()'), numrange(1.5, 2, '(]')
SELECT int4range(1, 5, NULL)
SELECT int4range(1, 5, 'x')
SELECT int4range(5, 1)
SELECT int4range(1, 1), int4range(1, 1, '[]'), numrange('NaN', 'NaN', '[]'), daterange('-infinity', '2000-01-01', '(]')
SELECT int4multirange(), int4multirange(int4range(1, 3)), int4multirange(int4range(5, 7), int4range(1, 3), int4range(2, 6))
SELECT nummultirange(VARIADIC ARRAY[numrange(1, 2), numrange(2, 3)]), int4multirange(VARIADIC '{}')
SELECT int4multirange(int4range(1, 3), NULL)
SELECT int4multirange(NULL::int4range)
SELECT '[1,5]'::int4range::int4multirange, int4range(1, 5)::text, '[1,3)'::text::int4range
SELECT '{[1,5]}'::int4multirange::int4range
SELECT '[1,5]'::int4range::int8range
SELECT ARRAY[int4range(1, 3), NULL, 'empty'], '{"[1,2]","(,)"}'::int4range[], ARRAY[int4multirange(int4range(1, 2))]
SELECT (ARRAY[int4range(1, 3), int4range(5, 7)])[2], ARRAY[int4range(1, 2)] = ARRAY['[1,1]'::int4range]
SELECT row(int4range(1, 3), 'x'), row(numrange(1.0, 2)) = row(numrange(1, 2.0))
SELECT pg_typeof(int4range(1, 2)), pg_typeof(multirange(int4range(1, 2))), pg_typeof(lower(tsrange('2000-01-01', NULL)))
SELECT int4range(1, 3) IS NULL, NULL::int4range IS NULL, coalesce(NULL, int4range(1, 3)), nullif(int4range(1, 3), '[1,2]')
SELECT CASE WHEN true THEN int4range(1, 2) ELSE 'empty' END, greatest(int4range(1, 2), int4range(1, 3)), least('empty'::int4range, '(,)')
SET TimeZone = 'America/New_York'
SELECT '[2000-01-01 12:00+00,2000-06-01 12:00+00)'::tstzrange, tstzrange('2000-01-01', '2000-01-02')
SET DateStyle = 'SQL, DMY'
SELECT '[2000-01-01 12:00+00,2000-06-01 12:00+00)'::tstzrange, '[2000-01-31,2000-02-02)'::daterange, '[2000-01-31 01:00,)'::tsrange
RESET TimeZone
RESET DateStyle
SELECT to_json(int4range(1, 3)), to_jsonb('{[1,2]}'::int4multirange), json_build_object('r', numrange(1, 2))
SELECT array_to_json(ARRAY[int4range(1, 3)]), row_to_json(row(int4range(1, 3)))
SELECT format('%s %L', int4range(1, 3), tsrange('2000-01-01', NULL)), concat(int4range(1, 3), '|'), 'r' || int4range(1, 3)::text, quote_literal(int4range(1,2))
SELECT int4range('1', '3'), int4range(1.5, 3)
SELECT int4range(1, 3::int8)
