SELECT 1, 'x', null, true, 1.5
SELECT count(*), sum(a), min(b), max(c) FROM t
SELECT upper(b), lower(b), length(b) FROM t ORDER BY id
SELECT CASE WHEN a > 1 THEN 'many' END FROM t ORDER BY id
SELECT id::text, b::varchar, c::numeric(12,3), 'x'::text FROM t ORDER BY id
SELECT attname, atttypid::regtype, attnotnull, attnum, atttypmod, atthasdef, attidentity FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum
SELECT relname, relkind, relnatts, relhasindex, relpersistence, relchecks FROM pg_class WHERE relname IN ('t', 't_a', 't_pkey', 't_b_key', 'v', 's', 't_id_seq', 'child') ORDER BY relname
SELECT conname, contype, conrelid::regclass, confrelid::regclass, conkey, confkey, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('t'::regclass, 'child'::regclass) ORDER BY conname
SELECT indexrelid::regclass, indrelid::regclass, indisunique, indisprimary, indkey, indoption, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 't'::regclass ORDER BY indexrelid::regclass::text
SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length, numeric_precision, numeric_scale, udt_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position
SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name
SELECT constraint_name, table_name, constraint_type FROM information_schema.table_constraints WHERE table_schema = 'public' AND constraint_type <> 'CHECK' ORDER BY constraint_name
SELECT constraint_name, table_name, column_name, ordinal_position FROM information_schema.key_column_usage WHERE table_schema = 'public' ORDER BY constraint_name, ordinal_position
SELECT constraint_name, unique_constraint_name, update_rule, delete_rule FROM information_schema.referential_constraints ORDER BY constraint_name
SELECT sequence_name, data_type, start_value, minimum_value, maximum_value, increment FROM information_schema.sequences ORDER BY sequence_name
SELECT oid, typname, typlen, typtype, typcategory, typelem, typarray, typinput FROM pg_type WHERE typname IN ('int4', '_int4', 'text', 'numeric', 'timestamptz', 'jsonb', 'uuid') ORDER BY oid
SELECT schemaname, tablename, tableowner, hasindexes FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename
SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname
SELECT pg_get_serial_sequence('t', 'id'), to_regclass('nothing'), 't'::regclass, 'int8'::regtype
SELECT format_type(1043, 24), format_type(1700, 655366), format_type(23, -1), format_type(1007, -1)
SELECT quote_ident('A'), quote_literal('it''s'), pg_size_pretty(123456789::bigint), pg_encoding_to_char(6)
SELECT typname, (SELECT nspname FROM pg_namespace n WHERE n.oid = typnamespace) FROM pg_type WHERE oid = 23
SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1
SELECT rolname, rolsuper, rolcanlogin FROM pg_roles WHERE rolname = 'postgres'
SELECT length(column1) AS n FROM (VALUES (repeat('x', 20000)), ('short')) AS v
SELECT length(a) AS n, b FROM (VALUES (repeat('x', 20000), 1), (upper(repeat('y', 30000)), 2)) AS v (a, b) WHERE a LIKE 'x%' OR b = 2
SELECT x AS n FROM (VALUES (1), (2)) AS v (x) WHERE 'b' IN (repeat('x', 20000), 'b')
SELECT CASE repeat('x', 20000) WHEN repeat('x', 20000) THEN 1 ELSE 2 END AS n
SELECT length(coalesce(NULL, repeat('x', 20000), 'y')) AS n, repeat('x', 20000) LIKE 'x%' AS l, 'x' LIKE repeat('x', 20000) AS m
SELECT length(max(x)) AS n FROM (VALUES (repeat('x', 20000)), (repeat('y', 30000))) AS v (x)
SELECT length(x) AS n FROM (SELECT repeat('x', 20000) AS x UNION ALL SELECT 'y') AS u ORDER BY 1
SELECT count(*) AS n FROM (SELECT repeat('x', 20000) AS x UNION SELECT repeat('x', 20000)) AS u
SELECT length(a.x || b.x) AS n FROM (VALUES (repeat('x', 20000))) AS a (x) JOIN (VALUES (repeat('x', 20000))) AS b (x) ON a.x = b.x
SELECT substr(x, 1, 3) AS s FROM (VALUES (repeat('x', 20000)), ('y')) AS v (x) GROUP BY x ORDER BY x LIMIT 1
SELECT length(x[1]) AS n FROM (SELECT string_to_array(repeat('ab,', 20000), ',') AS x) AS v
SELECT regexp_replace('abc', repeat('b|', 9000) || 'c', 'x') AS r
