CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL, amount numeric(10,2), CHECK (amount > 0));

DO $$ BEGIN END $$;

DO $$
BEGIN
  RAISE NOTICE 'hello % and %', 1 + 1, NULL::text;
  RAISE NOTICE '100%%';
END $$;

DO $$
DECLARE
  a int := 3;
  b CONSTANT text := 'x';
  c numeric(10,2) = 1.005;
  d date;
  e int[] := ARRAY[1,2,3];
BEGIN
  a := a * 2;
  RAISE NOTICE '% % % % % %', a, b, c, d, e, e[2];
  c := 2.345; RAISE NOTICE '%', c;
  a := '17'; RAISE NOTICE '%', a;
  a := 2.5; RAISE NOTICE '%', a;
  d := '2024-02-29'; RAISE NOTICE '%', d + 1;
END $$ LANGUAGE plpgsql;

DO $$
DECLARE r record; n int := 0;
BEGIN
  FOR i IN 1..3 LOOP
    INSERT INTO t VALUES (i, 'n' || i, i * 1.5);
  END LOOP;
  FOR i IN REVERSE 10..1 BY 4 LOOP RAISE NOTICE 'i %', i; END LOOP;
  FOR r IN SELECT * FROM t ORDER BY id LOOP
    n := n + r.id;
    RAISE NOTICE '% % %', r.id, r.name, r;
  END LOOP;
  RAISE NOTICE 'n % found %', n, FOUND;
END $$;

SELECT * FROM t;

DO $$
DECLARE v_id int; v_name text; row t%ROWTYPE; nm t.name%TYPE; k int;
BEGIN
  SELECT id, name INTO v_id, v_name FROM t WHERE id = 2;
  RAISE NOTICE '% % %', v_id, v_name, FOUND;
  SELECT * INTO row FROM t WHERE id = 3;
  RAISE NOTICE '% %', row.name, row;
  SELECT name INTO nm FROM t WHERE id = 99;
  RAISE NOTICE '% %', nm, FOUND;
  UPDATE t SET amount = amount + 1 WHERE id <= 2;
  GET DIAGNOSTICS k = ROW_COUNT;
  RAISE NOTICE 'rows % %', k, FOUND;
  DELETE FROM t WHERE id = 3 RETURNING name INTO nm;
  RAISE NOTICE 'gone %', nm;
  INSERT INTO t VALUES (7, 'seven', 7) RETURNING * INTO row;
  RAISE NOTICE '%', row;
END $$;

DO $$
BEGIN
  INSERT INTO t VALUES (1, 'again', 1);
EXCEPTION WHEN unique_violation THEN
  RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END $$;

DO $$
DECLARE m text; d text; c text; s text; n text; tn text; ctx text;
BEGIN
  INSERT INTO t VALUES (50, 'kept?', 1);
  BEGIN
    INSERT INTO t VALUES (51, 'undone', 1);
    INSERT INTO t VALUES (1, 'again', 1);
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, s = RETURNED_SQLSTATE,
      n = CONSTRAINT_NAME, tn = TABLE_NAME, ctx = PG_EXCEPTION_CONTEXT;
    RAISE NOTICE '% | % | % | % | % | %', m, d, s, n, tn, ctx;
  END;
END $$;

SELECT id FROM t;

DO $$
BEGIN
  BEGIN
    PERFORM 1 / 0;
  EXCEPTION
    WHEN undefined_table THEN RAISE NOTICE 'no';
    WHEN division_by_zero OR unique_violation THEN RAISE NOTICE 'caught %', SQLERRM;
  END;
  BEGIN
    RAISE EXCEPTION 'mine %', 5 USING ERRCODE = 'U0001', HINT = 'h', DETAIL = 'd';
  EXCEPTION WHEN SQLSTATE 'U0001' THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM;
  END;
  BEGIN
    RAISE unique_violation USING MESSAGE = 'dup';
  EXCEPTION WHEN integrity_constraint_violation THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM;
  END;
  BEGIN
    RAISE division_by_zero;
  EXCEPTION WHEN data_exception THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM;
  END;
  BEGIN
    ASSERT 1 = 2, 'no';
  EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'not here';
  END;
END $$;

DO $$
BEGIN
  RAISE EXCEPTION 'mine %', 5 USING ERRCODE = 'U0001', HINT = 'h', DETAIL = 'd';
END $$;

DO $$ BEGIN RAISE SQLSTATE '22012'; END $$;

DO $$ BEGIN RAISE USING MESSAGE = 'm', ERRCODE = 'unique_violation'; END $$;

DO $$ BEGIN RAISE; END $$;

DO $$
BEGIN
  BEGIN
    PERFORM 1/0;
  EXCEPTION WHEN OTHERS THEN
    RAISE;
  END;
END $$;

DO $$ DECLARE x int; BEGIN x := 1 / 0; END $$;

DO $$ DECLARE x int := 'abc'; BEGIN END $$;

DO $$
DECLARE x int;
BEGIN
  x := (SELECT id FROM t);
END $$;

DO $$
DECLARE x int;
BEGIN
  x := count(*) FROM t;
  RAISE NOTICE '%', x;
  IF EXISTS (SELECT FROM t WHERE id = x) THEN RAISE NOTICE 'yes'; ELSE RAISE NOTICE 'no'; END IF;
END $$;

DO $$ BEGIN SELECT 1; END $$;

DO $$ BEGIN INSERT INTO t VALUES (90, 'x', 1) RETURNING id; END $$;

DO $$ DECLARE x int; BEGIN SELECT id INTO STRICT x FROM t; END $$;

DO $$ DECLARE x int; BEGIN SELECT id INTO STRICT x FROM t WHERE id = -1; END $$;

DO $$ DECLARE x int; BEGIN UPDATE t SET amount = 1 INTO x; END $$;

DO $$ DECLARE x int; BEGIN UPDATE t SET amount = 1 RETURNING id INTO x; END $$;

DO $$ DECLARE id int := 1; BEGIN UPDATE t SET amount = 3 WHERE id = id; END $$;

DO $$ DECLARE r record; BEGIN RAISE NOTICE '%', r.x; END $$;

DO $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; RAISE NOTICE '%', r.b; END $$;

DO $$ DECLARE r record; BEGIN SELECT 1 AS a, 'q' AS b INTO r; r.a := 5; RAISE NOTICE '% %', r.a, r; END $$;

DO $$
DECLARE i int := 0;
BEGIN
  <<outer>>
  LOOP
    i := i + 1;
    CONTINUE WHEN i = 2;
    FOR j IN 1..3 LOOP
      CONTINUE outer WHEN j = 2;
      EXIT outer WHEN i > 3;
      RAISE NOTICE '% %', i, j;
    END LOOP;
  END LOOP outer;
  WHILE i > 0 LOOP i := i - 3; END LOOP;
  RAISE NOTICE 'end %', i;
END $$;

DO $$
DECLARE x int := 2; w text;
BEGIN
  CASE x WHEN 1 THEN w := 'one'; WHEN 2, 3 THEN w := 'two or three'; ELSE w := 'many'; END CASE;
  RAISE NOTICE '%', w;
  CASE WHEN x > 5 THEN w := 'big'; WHEN x > 1 THEN w := 'small'; END CASE;
  RAISE NOTICE '%', w;
  CASE x WHEN 7 THEN NULL; END CASE;
END $$;

DO $$
DECLARE s text; n int; a int[] := '{4,5,6}';
BEGIN
  EXECUTE 'SELECT count(*), $1 || $2 FROM t' INTO n, s USING 'a', 'b';
  RAISE NOTICE '% %', n, s;
  EXECUTE format('UPDATE %I SET amount = amount + $1', 't') USING 1;
  GET DIAGNOSTICS n = ROW_COUNT;
  RAISE NOTICE '%', n;
  FOREACH n IN ARRAY a LOOP RAISE NOTICE 'item %', n; END LOOP;
  FOR s IN EXECUTE 'SELECT name FROM t WHERE id < $1 ORDER BY id' USING 3 LOOP RAISE NOTICE 's %', s; END LOOP;
  EXECUTE NULL;
END $$;

DO $$ BEGIN EXECUTE 'SELECT 1 +'; END $$;

DO $$ BEGIN EXECUTE 'SELECT 1/0'; END $$;

DO $$ BEGIN EXECUTE 'INSERT INTO nowhere VALUES (1)'; END $$;

DO $$
BEGIN
  CREATE TABLE made (a int);
  INSERT INTO made VALUES (1);
  ALTER TABLE made ADD COLUMN b text DEFAULT 'x';
  INSERT INTO made VALUES (2);
  EXECUTE 'CREATE INDEX made_a ON made (a)';
END $$;

SELECT * FROM made;

DO $$
BEGIN
  BEGIN
    CREATE TABLE gone (a int);
    INSERT INTO made VALUES (3);
    RAISE EXCEPTION 'back';
  EXCEPTION WHEN raise_exception THEN RAISE NOTICE 'undone';
  END;
  BEGIN
    CREATE TABLE made (a int);
  EXCEPTION WHEN duplicate_table THEN RAISE NOTICE '%', SQLERRM;
  END;
  BEGIN
    CREATE TYPE mood AS ENUM ('sad', 'ok');
  EXCEPTION WHEN duplicate_object THEN NULL;
  END;
  BEGIN
    CREATE TYPE mood AS ENUM ('sad', 'ok');
  EXCEPTION WHEN duplicate_object THEN RAISE NOTICE 'there';
  END;
END $$;

SELECT * FROM made;

SELECT * FROM gone;

SELECT 'ok'::mood;

DO $$ BEGIN x := 1; END $$;

DO $$ BEGIN IF true RAISE NOTICE 'x'; END IF; END $$;

DO $$ BEGIN RAISE NOTICE '% %', 1; END $$;

DO $$ BEGIN RAISE NOTICE '%', 1, 2; END $$;

DO $$ BEGIN RAISE nonsense; END $$;

DO $$ BEGIN EXIT; END $$;

DO $$ BEGIN CONTINUE nowhere; END $$;

DO $$ DECLARE a int; a text; BEGIN END $$;

DO $$ DECLARE a CONSTANT int := 1; BEGIN a := 2; END $$;

DO $$ DECLARE a int NOT NULL; BEGIN END $$;

DO $$ DECLARE a int NOT NULL := 1; BEGIN a := NULL; END $$;

DO $$ DECLARE a nonsense; BEGIN END $$;

DO $$ DECLARE a nowhere%ROWTYPE; BEGIN END $$;

DO $$ DECLARE a t.nothing%TYPE; BEGIN END $$;

DO $$ BEGIN RETURN 1; END $$;

DO $$ BEGIN RETURN; RAISE NOTICE 'never'; END $$;

DO $$ BEGIN FOR i IN 1..NULL LOOP NULL; END LOOP; END $$;

DO $$ BEGIN FOR i IN 1..2 BY 0 LOOP NULL; END LOOP; END $$;

DO $$ BEGIN ASSERT false; END $$;

DO $$ BEGIN ASSERT 1 > 2, 'one is ' || 1; END $$;

DO LANGUAGE sql 'SELECT 1';

DO LANGUAGE nothing 'SELECT 1';

DO LANGUAGE plpgsql;

DO 'begin end' 'begin end';

DO $$ <<b>> DECLARE x int := 1; BEGIN DECLARE x int := 2; BEGIN RAISE NOTICE '% %', x, b.x; END; END b $$;

DO $$ BEGIN NULL; END wrong $$;

DO $$ <<b>> BEGIN NULL; END c $$;

DO $$
DECLARE r t%ROWTYPE; q record;
BEGIN
  r := ROW(1, 'a', 2.5);
  RAISE NOTICE '% %', r.name, r.amount;
  q := r;
  RAISE NOTICE '% %', q.id, q;
  INSERT INTO t SELECT r.id + 200, r.name, r.amount;
  INSERT INTO t VALUES (r.*) ON CONFLICT DO NOTHING;
  r := NULL;
  RAISE NOTICE '% %', r, r IS NULL;
END $$;

BEGIN;

DO $$ BEGIN INSERT INTO made VALUES (70); END $$;

DO $$ BEGIN INSERT INTO made VALUES (71); RAISE EXCEPTION 'x'; END $$;

SELECT 1;

ROLLBACK;

SELECT a FROM made;

SET client_min_messages = warning;

DO $$ BEGIN RAISE NOTICE 'not seen'; RAISE WARNING 'seen'; RAISE INFO 'always'; RAISE DEBUG 'no'; RAISE LOG 'no'; END $$;

RESET client_min_messages;

DO $$ DECLARE x text; BEGIN SET LOCAL application_name = 'q'; SELECT current_setting('application_name') INTO x; RAISE NOTICE '%', x; END $$;

DO $$ DECLARE x text; BEGIN PERFORM set_config('application_name', 'zz', false); RAISE NOTICE '%', current_setting('application_name'); END $$;

SHOW application_name;

DO $$ DECLARE x int; BEGIN x := $1; END $$;

DO $$ DECLARE x int; BEGIN SELECT 1 INTO x WHERE $1; END $$;

DO $$
DECLARE a int[] := '{1,2,3}'; b int[]; r record; n text[];
BEGIN
  a[2] := 20; a[5] := 50; b[1] := 7; n[2] = 'x';
  RAISE NOTICE '% % %', a, b, n;
  SELECT '{1,2}'::int[] AS v INTO r;
  r.v[1] := 9;
  RAISE NOTICE '%', r;
  a[1] := 'q';
END $$;

DO $$ DECLARE a int[] := '{1,2,3}'; BEGIN a[NULL] := 1; END $$;

DO $$ DECLARE a int[] := '{{1,2},{3,4}}'; BEGIN a[1] := 1; END $$;

DO $$ DECLARE a int; BEGIN a[1] := 1; END $$;

DO $$
DECLARE x int[]; v int; m int[] := '{{1,2},{3,4},{5,6}}';
BEGIN
  FOREACH x SLICE 1 IN ARRAY m LOOP RAISE NOTICE 'row %', x; END LOOP;
  FOREACH x SLICE 2 IN ARRAY m LOOP RAISE NOTICE 'all %', x; END LOOP;
  FOREACH v IN ARRAY m LOOP RAISE NOTICE 'item %', v; END LOOP;
  FOREACH v IN ARRAY '{}'::int[] LOOP RAISE NOTICE 'never'; END LOOP;
  RAISE NOTICE '%', FOUND;
END $$;

DO $$ DECLARE x int[]; BEGIN FOREACH x IN ARRAY '{1}'::int[] LOOP NULL; END LOOP; END $$;

DO $$ DECLARE x int; BEGIN FOREACH x SLICE 1 IN ARRAY '{1}'::int[] LOOP NULL; END LOOP; END $$;

DO $$ DECLARE x int; BEGIN FOREACH x IN ARRAY 5 LOOP NULL; END LOOP; END $$;

DO $$ DECLARE x int; BEGIN FOREACH x IN ARRAY NULL::int[] LOOP NULL; END LOOP; END $$;

DO $$ DECLARE x int[]; BEGIN FOREACH x SLICE 3 IN ARRAY '{1}'::int[] LOOP NULL; END LOOP; END $$;

CREATE DOMAIN positive AS int CHECK (VALUE > 0);

DO $$ DECLARE x positive := 3; BEGIN RAISE NOTICE '%', x; x := -1; END $$;

CREATE DOMAIN must AS int NOT NULL;

DO $$ DECLARE x must; BEGIN NULL; END $$;

DO $$
DECLARE i int := 0;
BEGIN
  FOR r IN SELECT 1 LOOP NULL; END LOOP;
END $$;

DO $$ DECLARE a int; b text; BEGIN FOR a, b IN SELECT id, name FROM t ORDER BY id LIMIT 2 LOOP RAISE NOTICE '% %', a, b; END LOOP; END $$;

DO $$ DECLARE a int; r record; BEGIN SELECT 1, 2 INTO a, r; END $$;

DO $$ BEGIN FOR i IN 1..3 LOOP IF i = 2 THEN RAISE EXCEPTION 'at %', i; END IF; END LOOP; END $$;

DO $$ DECLARE x text := 'a'; BEGIN x := x || NULL; RAISE NOTICE '[%]', x; END $$;

DO $$ DECLARE x date := '2024-01-31'; y interval := '1 month'; BEGIN RAISE NOTICE '%', x + y; RAISE NOTICE '%', ROW(x, y); END $$;

DO $$ BEGIN TRUNCATE made; INSERT INTO made (a) SELECT g FROM generate_series(1, 3) g; END $$;

SELECT a FROM made;

DO $$
DECLARE c int;
BEGIN
  WITH gone AS (DELETE FROM made WHERE a > 1 RETURNING a) SELECT count(*) INTO c FROM gone;
  RAISE NOTICE '%', c;
  MERGE INTO made USING (VALUES (1), (9)) v (a) ON made.a = v.a WHEN NOT MATCHED THEN INSERT (a) VALUES (v.a);
  GET DIAGNOSTICS c = ROW_COUNT;
  RAISE NOTICE '%', c;
END $$;

SELECT a FROM made;

DO $outer$
BEGIN
  FOR i IN 0..1 LOOP
    BEGIN
      EXECUTE format('DO $in$ DECLARE x int := %s; BEGIN x := 10 / x; RAISE NOTICE ''%%'', x; END $in$', i);
    EXCEPTION WHEN division_by_zero THEN
      RAISE NOTICE 'caught %', SQLERRM;
    END;
  END LOOP;
  EXECUTE 'DO $in$ BEGIN RAISE EXCEPTION ''within''; END $in$';
END;
$outer$;

DO $$ BEGIN PERFORM 1 INTO x; END $$;

DO $$ DECLARE x int; y int; BEGIN SELECT 1, 2, 3 INTO x, y; SELECT 1 INTO x, y; RAISE NOTICE '% %', x, y; END $$;

DO $$ DECLARE x int := 0; BEGIN x := 10 / x; END $$;

DO $$ DECLARE x int := 0; BEGIN IF 10 / x > 1 THEN NULL; END IF; END $$;

DO $$ DECLARE x int := 0; BEGIN RETURN; EXCEPTION WHEN OTHERS THEN NULL; END $$;

DO $$ DECLARE x numeric := 1e20; BEGIN x := x * x; RAISE NOTICE '%', x; x := 'NaN'; RAISE NOTICE '% %', x, x > 1; END $$;

DO $$ DECLARE x timestamptz := '2024-01-01 00:00+00'; BEGIN SET LOCAL TimeZone = 'Asia/Tokyo'; RAISE NOTICE '%', x; END $$;

DO $$ DECLARE x int; BEGIN x := 1 INTO y; END $$;

DO $$ BEGIN IF 1 = 1 INTO made_of_if THEN NULL; END IF; END $$;

SELECT count(*) FROM pg_class WHERE relname IN ('x', 'y', 'made_of_if');

CREATE TABLE named (id int PRIMARY KEY, name text NOT NULL, amount numeric(10,2));

CREATE FUNCTION raised(int, OUT int) LANGUAGE plpgsql AS $$ BEGIN $1 := $1 + 1; $2 = $1 * 10; END $$;

SELECT raised(4);

CREATE FUNCTION opened(refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$ BEGIN OPEN $1 FOR SELECT generate_series(1, 3); RETURN $1; END $$;

CREATE FUNCTION fetched(refcursor) RETURNS int LANGUAGE plpgsql AS $$
DECLARE a int; b int;
BEGIN
  PERFORM opened($1);
  FETCH $1 INTO a;
  MOVE FORWARD 1 FROM $1;
  FETCH NEXT FROM $1 INTO b;
  CLOSE $1;
  RETURN a * 10 + b;
END $$;

SELECT fetched('of_a_name');

CREATE FUNCTION taken(int, text[], named) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  SELECT 7 INTO $1;
  $2[2] := 'set';
  $3.name := 'a field';
  GET DIAGNOSTICS $1 = ROW_COUNT;
  FOR $1 IN 5..6 LOOP RAISE NOTICE '%', $1; END LOOP;
  RETURN $1 || $2::text || $3.name;
END $$;

SELECT taken(1, '{a,b,c}', NULL);

CREATE FUNCTION unknown_target(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN $2 := 1; RETURN 1; END $$;

CREATE FUNCTION unknown_into(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN SELECT 1 INTO $3; RETURN 1; END $$;

CREATE FUNCTION unknown_cursor(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN CLOSE $2; RETURN 1; END $$;

CREATE FUNCTION no_cursor(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN CLOSE $1; RETURN 1; END $$;

INSERT INTO named VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3);

CREATE FUNCTION by_column(id int) RETURNS int LANGUAGE plpgsql AS $$ #variable_conflict use_column
BEGIN RETURN (SELECT count(*) FROM named WHERE named.id = id); END $$;

CREATE FUNCTION by_variable(id int) RETURNS int LANGUAGE plpgsql AS $$
#print_strict_params off
#variable_conflict use_variable
BEGIN RETURN (SELECT count(*) FROM named WHERE named.id = id); END $$;

CREATE FUNCTION by_neither(id int) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict error
BEGIN RETURN (SELECT count(*) FROM named WHERE named.id = id); END $$;

SELECT by_column(2), by_variable(2);

SELECT by_neither(2);

DO $$
#variable_conflict use_variable
DECLARE id int := 9; name text := 'nine';
BEGIN
  INSERT INTO named (id, name, amount) VALUES (id, name, 1);
  UPDATE named SET name = name || '!' WHERE named.id = 3;
  RAISE NOTICE '%', (SELECT string_agg(named.name, ' ' ORDER BY named.id) FROM named);
END $$;

DO $$
#variable_conflict use_column
DECLARE id int := 9; name text := 'nine'; named record;
BEGIN
  SELECT 1 AS other INTO named;
  RAISE NOTICE '%', (SELECT string_agg(name, ' ' ORDER BY id) FROM named);
  RAISE NOTICE '%', (SELECT count(*) FROM (SELECT named.* FROM named WHERE id < 3) s (a, b, c));
END $$;

DO $$ #variable_conflict use_nothing
BEGIN END $$;

DO $$ #variable_conflicts error
BEGIN END $$;

DO $$ DECLARE x jsonb := '{"a":1}'; k text := 'c';
BEGIN
  x['b'] := '2'; RAISE NOTICE '%', x;
  x[k] := to_jsonb(array[1, 2]); RAISE NOTICE '%', x;
  x[k][3] := '"d"'; RAISE NOTICE '% %', x, x[k][0];
  x['a'] = NULL; RAISE NOTICE '%', x;
  x['n']['m'] := 5; RAISE NOTICE '%', x;
  x := NULL; x[1] := 'true'; RAISE NOTICE '%', x;
  x := NULL; x['1'] := 'true'; RAISE NOTICE '%', x;
END $$;

DO $$ DECLARE r record; BEGIN SELECT '{"a":[1]}'::jsonb AS j INTO r; r.j['a'][-1] := '"last"'; RAISE NOTICE '%', r; END $$;

DO $$ DECLARE x jsonb := '{"a":1}'; BEGIN x['a']['b'] := '2'; END $$;

DO $$ DECLARE x jsonb := '[1]'; BEGIN x['a'] := '2'; END $$;

DO $$ DECLARE x jsonb := '[1]'; BEGIN x[NULL::text] := '2'; END $$;

DO $$ DECLARE x jsonb := '[1]'; BEGIN x[0] := 'no json'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;

DO $$ DECLARE x jsonb := '[1]'; BEGIN x[1.5] := '2'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;

DO $$ DECLARE r record; q record; n int;
BEGIN
  RAISE NOTICE '% %', r, r IS NULL;
  q := r; RAISE NOTICE '%', q;
  RAISE NOTICE '%', row_to_json(r);
  FOR i IN 1..2 LOOP
    RAISE NOTICE '%', r;
    SELECT i AS one, 'x' AS two INTO r;
    RAISE NOTICE '% %', r, r IS NULL;
  END LOOP;
END $$;

DO $$ DECLARE r record; BEGIN RAISE NOTICE '%', r.a; END $$;
