"""What Grafana and Metabase ask a PostgreSQL: as the source of their panels, and as the database that they live in."""

import os

import psycopg

from checks import check

connection = psycopg.connect("", autocommit=True)


def run(sql, *parameters):
    cursor = connection.execute(sql, parameters or None)
    return [cursor.statusmessage, cursor.fetchall() if cursor.description else None]


def asked(program, statements):
    for name, sql in statements.items():
        # A check that is to fail says so first.
        check(name if name.startswith("error") else f"{program} {name}", lambda: run(sql))


run("""CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE SCHEMA "Other one"; CREATE DOMAIN positive AS int CHECK (VALUE > 0);
    CREATE TABLE customer (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, feeling mood, born date, about jsonb, tags text[], "Odd name" positive);
    COMMENT ON TABLE customer IS 'who buys'; COMMENT ON COLUMN customer.name IS 'what others say';
    CREATE TABLE sale (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL, local timestamp, customer_id int REFERENCES customer ON DELETE CASCADE, price numeric(10, 2) DEFAULT 0 CHECK (price >= 0), pieces int, host text, free boolean DEFAULT false);
    CREATE INDEX sale_at ON sale (at DESC); CREATE INDEX sale_host ON sale (lower(host)) WHERE NOT free; CREATE UNIQUE INDEX sale_once ON sale (customer_id, at) INCLUDE (price);
    CREATE TABLE "Other one"."A table" (a int, b int, "C" text, PRIMARY KEY (b, a)); CREATE VIEW dear AS SELECT * FROM sale WHERE price > 10;
    CREATE MATERIALIZED VIEW daily AS SELECT date_trunc('day', at, 'UTC') AS day, sum(price) AS total FROM sale GROUP BY 1 WITH NO DATA""")
run("""INSERT INTO customer (name, feeling, born, about, tags) SELECT 'c' || n, CASE n % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'happy' END::mood, date '1970-01-01' + n * 1000, jsonb_build_object('size', n, 'deep', jsonb_build_object('x', n % 2 = 0)), ARRAY['t' || n % 2] FROM generate_series(1, 12) n""")
run(f"""INSERT INTO sale (at, local, customer_id, price, pieces, host, free) SELECT timestamptz '2024-03-09 00:00+00' + n * interval '7 minutes', timestamp '2024-03-09 00:00' + n * interval '7 minutes', n % 12 + 1, n % 50 + n % 100 / 100.0, n % 7, 'h' || n % 4, n % 5 = 0
    FROM generate_series(1, {20000 if os.environ["LONG"] else 1000}) n""")
run("REFRESH MATERIALIZED VIEW daily; ANALYZE")

# -- Grafana as a reader

BETWEEN = "BETWEEN '2024-03-10T00:00:00Z' AND '2024-03-11T12:00:00.000Z'"
FOLDERS = "SELECT CASE WHEN trim(s[i]) = '\"$user\"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i, string_to_array(current_setting('search_path'), ',') s"
asked("grafana", {
    "health": "SELECT 1",
    "version": "SELECT current_setting('server_version_num')::int / 100",
    "timescale": "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'",
    "tables": f"SELECT quote_ident(table_name) AS \"table\" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog', '_timescaledb_cache', '_timescaledb_catalog', 'timescaledb_information') AND quote_ident(table_schema) IN ({FOLDERS}) ORDER BY 1",
    "all tables": "SELECT CASE WHEN quote_ident(table_schema) IN (" + FOLDERS + ") THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS \"table\" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog') ORDER BY CASE WHEN quote_ident(table_schema) IN (" + FOLDERS + ") THEN 0 ELSE 1 END, 1",
    "time columns": f"SELECT quote_ident(c.column_name) AS \"column\" FROM information_schema.tables t JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name WHERE quote_ident(t.table_schema) IN ({FOLDERS}) AND quote_ident(t.table_name) = 'sale' AND c.data_type IN ('bigint', 'integer', 'double precision', 'real', 'timestamp without time zone', 'timestamp with time zone') ORDER BY c.ordinal_position",
    "columns": "SELECT quote_ident(column_name) AS \"column\", data_type AS \"type\" FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('public.sale'), 1) = 2 THEN quote_ident(table_schema) = (parse_ident('public.sale'))[1] AND quote_ident(table_name) = (parse_ident('public.sale'))[2] ELSE quote_ident(table_name) = 'sale' END ORDER BY ordinal_position",
    "find a metric": "SELECT quote_ident(table_name) AS table_name, (SELECT quote_ident(column_name) AS c FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name AND udt_name IN ('timestamptz', 'timestamp') ORDER BY ordinal_position LIMIT 1) AS time_column, (SELECT quote_ident(column_name) AS c FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name AND udt_name = 'float8' ORDER BY ordinal_position LIMIT 1) AS value_column FROM information_schema.tables t WHERE table_schema !~* '^_|^pg_|information_schema' AND EXISTS (SELECT 1 FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name AND udt_name IN ('timestamptz', 'timestamp')) ORDER BY 1 LIMIT 3",
    "series": f"SELECT floor(extract(epoch FROM at) / 3600) * 3600 AS \"time\", avg(price) AS \"price\" FROM sale WHERE at {BETWEEN} GROUP BY 1 ORDER BY 1",
    "series by host": f"SELECT floor(extract(epoch FROM at) / 21600) * 21600 AS \"time\", host AS metric, sum(pieces) AS \"pieces\", count(*) FROM sale WHERE at {BETWEEN} AND host IN ('h1', 'h2') GROUP BY 1, 2 ORDER BY 1, 2",
    "series of numbers": "SELECT floor((extract(epoch FROM at)::bigint) / 86400) * 86400 AS \"time\", percentile_cont(0.95) WITHIN GROUP (ORDER BY price) AS p95 FROM sale WHERE extract(epoch FROM at)::bigint >= 1709942400 AND extract(epoch FROM at)::bigint <= 1710300000 GROUP BY 1 ORDER BY 1",
    "rates": f"SELECT \"time\", metric, (CASE WHEN value >= lag(value) OVER w THEN value - lag(value) OVER w WHEN lag(value) OVER w IS NULL THEN NULL ELSE value END) / extract(epoch FROM (\"time\" - lag(\"time\") OVER w)) AS rate FROM (SELECT date_trunc('hour', at) AS \"time\", host AS metric, max(pieces) AS value FROM sale WHERE at {BETWEEN} GROUP BY 1, 2) s WINDOW w AS (PARTITION BY metric ORDER BY \"time\") ORDER BY 2, 1 LIMIT 20",
    "a variable": "SELECT DISTINCT host AS __text, 'id-' || host AS __value FROM sale ORDER BY 1",
    "annotations": f"SELECT extract(epoch FROM at) AS time, extract(epoch FROM at + interval '1 hour') AS timeend, host AS text, concat_ws(',', 'sale', host) AS tags FROM sale WHERE at {BETWEEN} AND free ORDER BY at LIMIT 10",
    "table": "SELECT id, at AS \"time\", price, host FROM sale WHERE host ~ '^(h0|h3)$' ORDER BY at DESC LIMIT 5",
    "log": "SELECT to_timestamp(floor(extract(epoch FROM at) / 60) * 60) AS \"time\", format('%s bought %s', customer_id, pieces) AS line FROM sale ORDER BY at LIMIT 3",
    "activity": "SELECT count(*) > 0, max(state) IS NOT NULL FROM pg_stat_activity WHERE datname = current_database()",
    "size": "SELECT pg_database_size(current_database()) > 0, pg_total_relation_size('sale') > 0, pg_size_pretty(1234567::bigint)",
})

# -- Grafana's own database: migrations under an advisory lock, what its mapper reads, upserts, sessions

asked("grafana store", {
    "lock": "SELECT pg_try_advisory_lock(4242)",
    "is there a table": "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename = 'migration_log'",
    "migration log": "CREATE TABLE IF NOT EXISTS \"migration_log\" (\"id\" SERIAL PRIMARY KEY NOT NULL, \"migration_id\" VARCHAR(255) NOT NULL, \"sql\" TEXT NOT NULL, \"success\" BOOL NOT NULL, \"error\" TEXT NOT NULL, \"timestamp\" TIMESTAMP NOT NULL)",
    "user": "CREATE TABLE IF NOT EXISTS \"user\" (\"id\" SERIAL PRIMARY KEY NOT NULL, \"version\" INTEGER NOT NULL, \"login\" VARCHAR(190) NOT NULL, \"email\" VARCHAR(190) NOT NULL, \"is_admin\" BOOL NOT NULL, \"created\" TIMESTAMP NOT NULL)",
    "unique index": "CREATE UNIQUE INDEX \"UQE_user_login\" ON \"user\" (\"login\")",
    "rename": "ALTER TABLE \"user\" RENAME TO \"user_v1\"",
    "rename an index": "DROP INDEX \"UQE_user_login\" CASCADE",
    "newer user": "CREATE TABLE IF NOT EXISTS \"user\" (\"id\" SERIAL PRIMARY KEY NOT NULL, \"login\" VARCHAR(190) COLLATE \"C\" NOT NULL, \"help_flags1\" BIGINT NOT NULL DEFAULT 0, \"uid\" VARCHAR(40) NULL)",
    "copy": "INSERT INTO \"user\" (\"login\", \"id\") SELECT \"login\", \"id\" FROM \"user_v1\"",
    "type": "ALTER TABLE \"user\" ALTER \"login\" TYPE VARCHAR(255), ALTER \"uid\" TYPE VARCHAR(40)",
    "add": "ALTER TABLE \"user\" ADD COLUMN \"org_id\" BIGINT NULL",
    "not null": "ALTER TABLE \"user\" ALTER COLUMN \"org_id\" SET DEFAULT 1, ALTER COLUMN \"help_flags1\" DROP NOT NULL",
    "columns": "SELECT column_name, column_default, is_nullable, data_type, character_maximum_length, description, CASE WHEN p.contype = 'p' THEN true ELSE false END AS primarykey, CASE WHEN p.contype = 'u' THEN true ELSE false END AS uniquekey FROM pg_attribute f JOIN pg_class c ON c.oid = f.attrelid JOIN pg_type t ON t.oid = f.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = f.attnum LEFT JOIN pg_description de ON f.attrelid = de.objoid AND f.attnum = de.objsubid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_constraint p ON p.conrelid = c.oid AND f.attnum = ANY (p.conkey) LEFT JOIN pg_class g ON p.confrelid = g.oid LEFT JOIN information_schema.columns s ON s.column_name = f.attname AND c.relname = s.table_name WHERE n.nspname = s.table_schema AND c.relkind = 'r' AND c.relname = 'user' AND s.table_schema = 'public' AND f.attnum > 0 ORDER BY f.attnum",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'user' AND schemaname = 'public'",
    "upsert": "INSERT INTO \"user\" (\"id\", \"login\") VALUES (7, 'admin') ON CONFLICT (\"id\") DO UPDATE SET \"login\" = excluded.\"login\"",
    "sequence": "SELECT setval(pg_get_serial_sequence('\"user\"', 'id'), coalesce(max(\"id\") + 1, 1), false) FROM \"user\"",
    "next": "INSERT INTO \"user\" (\"login\") VALUES ('viewer') RETURNING \"id\"",
    "server lock": "CREATE TABLE server_lock (id serial PRIMARY KEY, operation_uid varchar(100) NOT NULL UNIQUE, version bigint NOT NULL, last_execution bigint NOT NULL)",
    "a server lock": "INSERT INTO server_lock (operation_uid, last_execution, version) VALUES ('clean', 1700000000, 0) ON CONFLICT (operation_uid) DO NOTHING",
    "its version": "UPDATE server_lock SET version = version + 1, last_execution = 1700000600 WHERE operation_uid = 'clean' AND version = 0",
    "its row": "SELECT * FROM server_lock WHERE operation_uid = 'clean' FOR UPDATE NOWAIT",
    "unlock": "SELECT pg_advisory_unlock(4242)",
    "sort": "SELECT \"id\", \"login\" FROM \"user\" WHERE \"login\" ILIKE '%E%' OR lower(\"login\") LIKE 'a%' ORDER BY lower(\"login\") ASC, \"id\" DESC LIMIT 10 OFFSET 0",
})

# -- Metabase as a reader: what is there

HIDDEN = "!~ '^information_schema|catalog_history|pg_'"
SEQUENCED = "((column_default IS NOT NULL AND column_default LIKE '%nextval(%') OR is_identity <> 'NO')"
asked("metabase", {
    "schemas": "SELECT nspname AS table_schem, NULL AS table_catalog FROM pg_catalog.pg_namespace WHERE nspname <> 'pg_toast' AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1]) AND (nspname !~ '^pg_toast_temp_' OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_')) ORDER BY table_schem",
    "tables": f"SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' END AS type, d.description, stat.n_live_tup >= 0 AS estimated FROM pg_catalog.pg_class c INNER JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid LEFT JOIN pg_catalog.pg_description d ON c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass LEFT JOIN pg_stat_user_tables stat ON n.nspname = stat.schemaname AND c.relname = stat.relname WHERE c.relkind IN ('r', 'p', 'v', 'f', 'm') AND n.nspname {HIDDEN} ORDER BY type, schema, name",
    "rights": """WITH table_privileges AS (SELECT NULL AS role, t.schemaname AS schema, t.objectname AS "table", pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') AS update,
        pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'select') AS select, pg_catalog.has_table_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'delete') AS delete
        FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname AS objectname FROM pg_views UNION SELECT schemaname, matviewname AS objectname FROM pg_matviews) t
        WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema' AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')) SELECT t.* FROM table_privileges t WHERE t.select OR t.update OR t.delete ORDER BY 2, 3""",
    "fields": f"""SELECT c.column_name AS name, CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN format('%s', c.udt_name) ELSE format('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type", c.ordinal_position - 1 AS "database-position", c.table_schema AS "table-schema", c.table_name AS "table-name", pk.column_name IS NOT NULL AS "pk?",
        col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS text), CAST(c.table_name AS text)) AS regclass) AS oid), c.ordinal_position) AS "field-comment", ((column_default IS NULL OR lower(column_default) = 'null') AND is_nullable = 'NO' AND NOT {SEQUENCED}) AS "database-required", {SEQUENCED} AS "database-is-auto-increment"
        FROM information_schema.columns AS c LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc INNER JOIN information_schema.key_column_usage AS kc ON tc.constraint_name = kc.constraint_name AND tc.table_schema = kc.table_schema AND tc.table_name = kc.table_name WHERE tc.constraint_type = 'PRIMARY KEY') AS pk ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name
        WHERE c.table_schema {HIDDEN} AND c.table_name IN ('customer', 'sale', 'dear', 'A table')
        UNION ALL SELECT pa.attname AS name, CASE WHEN ptn.nspname IN ('public', 'pg_catalog') THEN format('%s', pt.typname) ELSE format('"%s"."%s"', ptn.nspname, pt.typname) END AS "database-type", pa.attnum - 1 AS "database-position", pn.nspname AS "table-schema", pc.relname AS "table-name", false AS "pk?", NULL AS "field-comment", false AS "database-required", false AS "database-is-auto-increment"
        FROM pg_catalog.pg_class AS pc INNER JOIN pg_catalog.pg_namespace AS pn ON pn.oid = pc.relnamespace INNER JOIN pg_catalog.pg_attribute AS pa ON pa.attrelid = pc.oid INNER JOIN pg_catalog.pg_type AS pt ON pt.oid = pa.atttypid INNER JOIN pg_catalog.pg_namespace AS ptn ON ptn.oid = pt.typnamespace WHERE pc.relkind = 'm' AND pa.attnum >= 1 ORDER BY "table-schema", "table-name", "database-position" """,
    "foreign keys": f"""SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS "fk-column-name", pk_ns.nspname AS "pk-table-schema", pk_table.relname AS "pk-table-name", pk_column.attname AS "pk-column-name" FROM pg_constraint AS c INNER JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid INNER JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid
        INNER JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid INNER JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid INNER JOIN pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid INNER JOIN pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid WHERE fk_ns.nspname {HIDDEN} AND c.contype = 'f'::"char" AND fk_column.attnum = ANY (c.conkey) AND pk_column.attnum = ANY (c.confkey) ORDER BY 1, 2""",
    "indexes": f"""SELECT tmp."table-schema", tmp."table-name", trim(BOTH '"' FROM pg_catalog.pg_get_indexdef(tmp.ci_oid, tmp.pos, false)) AS "field-name" FROM (SELECT n.nspname AS "table-schema", ct.relname AS "table-name", ci.oid AS ci_oid, (information_schema._pg_expandarray(i.indkey)).n AS pos FROM pg_catalog.pg_class AS ct INNER JOIN pg_catalog.pg_namespace AS n ON ct.relnamespace = n.oid INNER JOIN pg_catalog.pg_index AS i ON ct.oid = i.indrelid INNER JOIN pg_catalog.pg_class AS ci ON ci.oid = i.indexrelid
        WHERE pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NULL AND n.nspname {HIDDEN}) AS tmp WHERE tmp.pos = 1 ORDER BY 1, 2, 3""",
    "enums": "SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e) ORDER BY 1, 2",
    "kinds of types": "SELECT t.typname, t.typtype, format_type(t.typbasetype, t.typtypmod) FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'public' AND t.typtype IN ('d', 'e') ORDER BY 1",
    "time zone": "SHOW TIMEZONE",
    "version": "SELECT current_setting('server_version_num')::int >= 150000, current_database(), current_schemas(false)",
    "zone of a session": "SET SESSION TIMEZONE TO 'America/Chicago'",
    "fingerprint": """SELECT count(DISTINCT "public"."sale"."host") AS "count", count("public"."sale"."host"), min(length("public"."sale"."host")), avg(length(cast("public"."sale"."host" AS text))) FROM "public"."sale" """,
    "sample": """SELECT "public"."customer"."id" AS "id", substring("public"."customer"."name", 1, 1234) AS "s0", ("public"."customer"."about" #>> array['deep', 'x']::text[])::boolean AS "about → deep → x", ("public"."customer"."about" #>> array['size']::text[])::decimal AS "size" FROM "public"."customer" ORDER BY "public"."customer"."id" ASC LIMIT 10""",
    "values of a field": """SELECT "public"."sale"."host" AS "host" FROM "public"."sale" GROUP BY "public"."sale"."host" ORDER BY "public"."sale"."host" ASC LIMIT 1001""",
    "json keys": "SELECT about FROM customer WHERE about IS NOT NULL ORDER BY id LIMIT 4",
})

# -- Metabase's questions

WEEK = """CAST(date_trunc('week', "public"."sale"."at" + INTERVAL '1 day') AS timestamptz) + INTERVAL '-1 day'"""
asked("metabase question", {
    "days": """SELECT CAST("public"."sale"."at" AS date) AS "at", sum("public"."sale"."price") AS "sum", count(*) AS "count" FROM "public"."sale" GROUP BY CAST("public"."sale"."at" AS date) ORDER BY CAST("public"."sale"."at" AS date) ASC""",
    "weeks": f"""SELECT {WEEK} AS "at", avg("public"."sale"."price") AS "avg" FROM "public"."sale" GROUP BY {WEEK} ORDER BY 1 ASC""",
    "parts of moments": """SELECT extract(hour FROM "at") AS h, extract(isodow FROM "at") AS d, CAST(ceil(extract(doy FROM date_trunc('week', "at")) / 7.0) AS integer) AS w, extract(quarter FROM "at") AS q, count(*) FROM sale GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2 LIMIT 5""",
    "zones": """SELECT date_trunc('day', "at" AT TIME ZONE 'Asia/Tokyo') AS day, date_trunc('month', "local") AS month, count(*) FROM sale GROUP BY 1, 2 ORDER BY 1, 2""",
    "range": """SELECT count(*) FROM "public"."sale" WHERE ("public"."sale"."at" >= timestamp with time zone '2024-03-10 00:00:00.000-06:00') AND ("public"."sale"."at" < date_trunc('day', timestamp with time zone '2024-03-11 00:00:00.000-05:00' + INTERVAL '1 day'))""",
    "since": """SELECT count(*) FROM sale WHERE "at" >= date_trunc('month', now() + INTERVAL '-30 month') AND "at" < date_trunc('month', now() + INTERVAL '1 month')""",
    "join": """SELECT "source"."Customer__name" AS "name", sum("source"."price") AS "sum" FROM (SELECT "public"."sale"."price" AS "price", "Customer"."name" AS "Customer__name", "Customer"."feeling" AS "Customer__feeling" FROM "public"."sale" LEFT JOIN "public"."customer" AS "Customer" ON "public"."sale"."customer_id" = "Customer"."id") AS "source" WHERE "source"."Customer__feeling" = CAST('happy' AS "mood") GROUP BY "source"."Customer__name" HAVING sum("source"."price") > 100 ORDER BY "sum" DESC, "name" ASC LIMIT 2000""",
    "cumulative": """SELECT CAST("at" AS date) AS "at", sum(sum("price")) OVER (ORDER BY CAST("at" AS date) ASC ROWS UNBOUNDED PRECEDING) AS "sum", sum(count(*)) OVER (ORDER BY CAST("at" AS date) ASC ROWS UNBOUNDED PRECEDING) FROM sale GROUP BY CAST("at" AS date) ORDER BY 1""",
    "offset": """SELECT date_trunc('day', "at") AS d, lag(sum(price), 1) OVER (ORDER BY date_trunc('day', "at") ASC) AS before, sum(price) AS now FROM sale GROUP BY date_trunc('day', "at") ORDER BY 1""",
    "share": """SELECT CAST(sum(CASE WHEN "free" = TRUE THEN 1 ELSE 0.0 END) AS float) / CAST(CASE WHEN count(*) = 0 THEN NULL ELSE count(*) END AS float) AS share, sum(CASE WHEN price > 20 THEN 1 ELSE 0.0 END), count(CASE WHEN host = 'h1' THEN 1 END) FROM sale""",
    "bins": """SELECT (floor((("price" - 0) / 10.0)) * 10.0) + 0 AS price, count(*) FROM sale GROUP BY 1 ORDER BY 1""",
    "percentiles": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price), percentile_cont(0.9) WITHIN GROUP (ORDER BY price), stddev_pop(pieces), var_pop(pieces) FROM sale",
    "texts": """SELECT count(*) FROM customer WHERE lower("name") LIKE '%c1%' AND ("name" <> 'c1' OR "name" IS NULL) AND NOT (lower("name") LIKE '%9') AND regexp_replace("name", '[^0-9]', '') <> ''""",
    "expressions": """SELECT id, coalesce("name", 'none') || ' (' || CAST(id AS text) || ')', CAST(("born" + INTERVAL '1 year') AS date), CAST(extract(epoch FROM ("born"::timestamp - timestamp '1970-01-01')) AS bigint) / 86400, split_part("name", 'c', 2), CAST(trim("name") AS text), power(id, 2), round(CAST(id / 3.0 AS numeric), 2), mod(id, 3) FROM customer ORDER BY id LIMIT 4""",
    "difference": """SELECT (extract(year FROM age(timestamp '2024-03-01', "born"::timestamp)) * 12 + extract(month FROM age(timestamp '2024-03-01', "born"::timestamp))) AS months, date_part('day', timestamp '2024-03-01' - "born"::timestamp) AS days FROM customer ORDER BY id LIMIT 3""",
    "pivot": """SELECT host, CAST("at" AS date), count(*), GROUPING(host, CAST("at" AS date)) FROM sale GROUP BY GROUPING SETS ((host, CAST("at" AS date)), (host), ()) ORDER BY 1 NULLS LAST, 2 NULLS LAST""",
    "native": "/* question 7 */ SELECT * FROM daily WHERE day > '2024-03-10' ORDER BY day -- the last line",
    "limit": """SELECT "source"."id" FROM (SELECT * FROM dear) AS "source" ORDER BY "source"."id" LIMIT 3 OFFSET 2""",
})
run("RESET timezone")

# -- Metabase's own database: Liquibase's tables, Quartz' locks

asked("metabase store", {
    "lock table": "CREATE TABLE public.databasechangeloglock (ID INTEGER NOT NULL, LOCKED BOOLEAN NOT NULL, LOCKGRANTED TIMESTAMP WITHOUT TIME ZONE, LOCKEDBY VARCHAR(255), CONSTRAINT databasechangeloglock_pkey PRIMARY KEY (ID))",
    "its row": "INSERT INTO public.databasechangeloglock (ID, LOCKED) VALUES (1, FALSE)",
    "is it free": "SELECT LOCKED FROM public.databasechangeloglock WHERE ID = 1 FOR UPDATE",
    "take it": "UPDATE public.databasechangeloglock SET LOCKED = TRUE, LOCKEDBY = 'host (127.0.0.1)', LOCKGRANTED = '2024-01-01 10:00:00.123' WHERE ID = 1 AND LOCKED = FALSE",
    "log": "CREATE TABLE public.databasechangelog (ID VARCHAR(255) NOT NULL, AUTHOR VARCHAR(255) NOT NULL, FILENAME VARCHAR(255) NOT NULL, DATEEXECUTED TIMESTAMP WITHOUT TIME ZONE NOT NULL, ORDEREXECUTED INTEGER NOT NULL, EXECTYPE VARCHAR(10) NOT NULL, MD5SUM VARCHAR(35))",
    "table": "CREATE TABLE public.core_user (id INTEGER GENERATED BY DEFAULT AS IDENTITY NOT NULL, email VARCHAR(254) NOT NULL, date_joined TIMESTAMP WITH TIME ZONE NOT NULL, settings TEXT, CONSTRAINT core_user_pkey PRIMARY KEY (id), UNIQUE (email))",
    "remark": "COMMENT ON COLUMN public.core_user.settings IS 'Serialized JSON'",
    "widen": "ALTER TABLE public.core_user ALTER COLUMN email TYPE TEXT USING (email::TEXT)",
    "reference": "ALTER TABLE public.core_user ADD manager_id INTEGER, ADD CONSTRAINT fk_manager FOREIGN KEY (manager_id) REFERENCES public.core_user (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED",
    "index": "CREATE INDEX idx_user_lower ON public.core_user (lower(email))",
    "primary key": "SELECT con.conname FROM pg_catalog.pg_constraint con JOIN pg_catalog.pg_class rel ON rel.oid = con.conrelid JOIN pg_catalog.pg_namespace nsp ON nsp.oid = rel.relnamespace WHERE con.contype = 'p' AND rel.relname = 'core_user' AND nsp.nspname = 'public'",
    "unique": "SELECT tc.constraint_name, string_agg(ccu.column_name, ',' ORDER BY ccu.column_name) FROM information_schema.table_constraints tc JOIN information_schema.constraint_column_usage ccu USING (constraint_schema, constraint_name) WHERE tc.table_name = 'core_user' AND tc.constraint_type IN ('UNIQUE', 'PRIMARY KEY', 'FOREIGN KEY') GROUP BY 1 ORDER BY 1",
    "locks": "CREATE TABLE qrtz_locks (sched_name VARCHAR(120) NOT NULL, lock_name VARCHAR(40) NOT NULL, CONSTRAINT pk_qrtz_locks PRIMARY KEY (sched_name, lock_name))",
    "take a lock": "INSERT INTO qrtz_locks (sched_name, lock_name) VALUES ('MetabaseScheduler', 'TRIGGER_ACCESS')",
    "lock": "SELECT * FROM qrtz_locks WHERE sched_name = 'MetabaseScheduler' AND lock_name = 'TRIGGER_ACCESS' FOR UPDATE",
    "triggers": "CREATE TABLE qrtz_triggers (sched_name VARCHAR(120), trigger_name VARCHAR(200), next_fire_time BIGINT, priority INTEGER, trigger_state VARCHAR(16), misfire_instr SMALLINT, job_data BYTEA, PRIMARY KEY (sched_name, trigger_name))",
    "a trigger": "INSERT INTO qrtz_triggers VALUES ('MetabaseScheduler', 'sync', 1700000000000, 5, 'WAITING', 2, '\\xaced0005'::bytea)",
    "next trigger": "SELECT trigger_name, next_fire_time, priority, job_data FROM qrtz_triggers WHERE sched_name = 'MetabaseScheduler' AND trigger_state = 'WAITING' AND next_fire_time <= 1800000000000 AND (misfire_instr = -1 OR (misfire_instr <> -1 AND next_fire_time >= 0)) ORDER BY next_fire_time ASC, priority DESC",
    "release": "UPDATE public.databasechangeloglock SET LOCKED = FALSE, LOCKEDBY = NULL, LOCKGRANTED = NULL WHERE ID = 1",
    "error of a lock again": "INSERT INTO qrtz_locks (sched_name, lock_name) VALUES ('MetabaseScheduler', 'TRIGGER_ACCESS')",
})
