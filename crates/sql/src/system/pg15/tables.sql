-- Columns of PostgreSQL's own tables and views: psql -X -At -f tables.sql > tables.txt, on PostgreSQL 15.
WITH columns AS (
  SELECT c.oid, c.relkind, n.nspname || '.' || c.relname AS name, a.attnum, a.attname,
         CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod)
              ELSE format_type(t.oid, a.atttypmod) END AS type
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type t ON t.oid = a.atttypid
  WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v') AND c.oid < 16384
)
SELECT oid::text || ' ' || relkind::text || ' ' || name || ': ' ||
       string_agg(attname || ' ' || replace(type, ' ', '_'), ', ' ORDER BY attnum)
FROM columns GROUP BY oid, relkind, name ORDER BY name COLLATE "C";
