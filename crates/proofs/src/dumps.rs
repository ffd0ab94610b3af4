//! Does a database come to PostgreSQL 15 and back by pg_dump as it was?
//!
//! A schema as applications have them is made at Onlap with some rows. What pg_dump 15 writes of it is restored at a private
//! PostgreSQL 15, whose dump must be the same text; that is restored at Onlap again, whose dump must be the same, too. The
//! schema has what both print alike: commands of rules are printed at Onlap as they were written.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::programs;

use crate::served::Served;

/// Roles that grants name; they are of no database.
const ROLES: &str = "CREATE ROLE joe; CREATE ROLE team;";

/// What stands before the tables.
const BEFORE: &str = "
CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION \"uuid-ossp\"; CREATE EXTENSION pgcrypto; CREATE EXTENSION pg_trgm;
CREATE EXTENSION btree_gist;
CREATE SCHEMA app; CREATE SCHEMA audit;
CREATE TYPE app.mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE app.addr AS (street text, zip varchar(10));
CREATE DOMAIN app.pos AS int CHECK (value > 0);
CREATE DOMAIN app.mail AS citext NOT NULL DEFAULT 'a@b' CONSTRAINT at CHECK (value LIKE '%@%');
CREATE SEQUENCE app.num START 7 INCREMENT 3 MAXVALUE 1000 CYCLE;
CREATE FUNCTION app.next(a int, b int DEFAULT 2) RETURNS int LANGUAGE sql IMMUTABLE AS $$select a + b$$;
CREATE FUNCTION app.touch() RETURNS trigger LANGUAGE plpgsql AS $$begin new.changed := now(); return new; end$$;
CREATE FUNCTION app.many(n int) RETURNS SETOF int LANGUAGE sql STABLE STRICT AS $$select generate_series(1, n)$$;
CREATE PROCEDURE app.clean(INOUT n int) LANGUAGE plpgsql AS $$begin n := n + 1; end$$;
CREATE FUNCTION app.longer(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$select case when length(b) > length(a) then b else a end$$;
CREATE AGGREGATE app.longest(word text) (SFUNC = app.longer, STYPE = text, COMBINEFUNC = app.longer, PARALLEL = safe);
CREATE AGGREGATE app.rows(*) (SFUNC = int8inc, STYPE = bigint, INITCOND = '0');
CREATE AGGREGATE app.moods(VARIADIC app.mood[]) (SFUNC = array_cat, STYPE = app.mood[], FINALFUNC = array_to_json, INITCOND = '{}');
COMMENT ON AGGREGATE app.longest(text) IS 'the longest';
CREATE TABLE public.nothing ();
INSERT INTO public.nothing SELECT FROM generate_series(1, 3);
";

/// Columns of each table; `{n}` is its number.
const COLUMNS: &str = "
  name varchar({n}9) NOT NULL DEFAULT 'n{n}', code char(4), price numeric(12,2) CHECK (price >= 0),
  at timestamptz(3) NOT NULL DEFAULT now(), day date, span interval day to second, tags text[] DEFAULT '{}',
  doc jsonb, raw bytea, u uuid UNIQUE DEFAULT public.uuid_generate_v4(), ip inet, m app.mood DEFAULT 'ok', a app.addr,
  p app.pos, e app.mail, c public.citext, h public.hstore, f real, d double precision, b bit(5), vb bit varying(9),
  t time(2), tz timetz, r int4range, flag boolean NOT NULL DEFAULT false, s smallint,
  n int DEFAULT nextval('app.num'), changed timestamptz, j json, mac macaddr, cash money, pt point, gone text,
  total numeric GENERATED ALWAYS AS (price * 2) STORED, CONSTRAINT u{n} UNIQUE (name, code)";

/// Rows of a table.
const ROWS: &str = "INSERT INTO app.t{n} (name, code, price, day, span, tags, doc, raw, u, ip, m, a, p, e, c, h, f, d, b, vb, t, tz,
  r, flag, s, j, mac, cash, pt) SELECT 'x' || g, 'c' || g, g * 1.5, '2024-02-03', '1 day 02:03:04', ARRAY['a', 'b' || g],
  jsonb_build_object('k', g), '\\x00ff', public.uuid_generate_v5(public.uuid_nil(), g::text), '10.0.0.0/8', 'sad',
  row('s', g::text::varchar(10))::app.addr, g, 'Me@x', 'Ci', 'a=>1', 1.5, 2.25, b'10101', b'1', '12:13:14.5', '12:13+02',
  '[1,5)', true, 3, '{\"a\": 1}', '08:00:2b:01:02:03', '12.50', '(1,2)' FROM generate_series(1, 20) g;";

/// What stands behind the tables.
const AFTER: &str = "
CREATE TABLE app.part (id int, k text, v int) PARTITION BY RANGE (id);
CREATE TABLE app.part1 PARTITION OF app.part FOR VALUES FROM (0) TO (100);
CREATE TABLE app.part2 PARTITION OF app.part FOR VALUES FROM (100) TO (200);
CREATE TABLE app.lst (k text, v int) PARTITION BY LIST (k);
CREATE TABLE app.lst1 PARTITION OF app.lst FOR VALUES IN ('a', 'b');
CREATE TABLE app.lstd PARTITION OF app.lst DEFAULT;
CREATE TABLE app.hsh (k int) PARTITION BY HASH (k);
CREATE TABLE app.hsh0 PARTITION OF app.hsh FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE app.hsh1 PARTITION OF app.hsh FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE audit.log (id serial PRIMARY KEY, what text, room int, during tsrange, net inet,
  UNIQUE NULLS NOT DISTINCT (what), EXCLUDE USING gist (during WITH &&, room WITH =) WHERE (room > 0) DEFERRABLE,
  EXCLUDE USING gist (net inet_ops WITH &&), EXCLUDE USING gist (int4range(id, id + 1) WITH &&));
INSERT INTO audit.log (what, room, during, net) VALUES ('x', 1, '[2024-01-01,2024-01-02)', '10.0.0.0/8'),
  ('y', 1, '[2024-01-02,2024-01-03)', '11.0.0.0/8');
CREATE INDEX log_during ON audit.log USING gist (during, room);
INSERT INTO app.part SELECT g, 'k' || g, g FROM generate_series(0, 199) g;
INSERT INTO app.lst VALUES ('a', 1), ('z', 2);
INSERT INTO app.hsh SELECT generate_series(1, 10);
CREATE TABLE app.base (x int); CREATE TABLE app.kid (y int) INHERITS (app.base);
CREATE RULE r AS ON INSERT TO app.base DO ALSO INSERT INTO audit.log (what)
  VALUES ('r'::text);
ALTER DEFAULT PRIVILEGES IN SCHEMA app GRANT SELECT ON TABLES TO joe;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
CREATE VIEW app.words AS SELECT m, app.longest(name) AS longest, app.rows(*) AS rows FROM app.t0 GROUP BY m;
GRANT EXECUTE ON FUNCTION app.longest(text) TO joe;
GRANT USAGE ON SCHEMA app TO joe; GRANT EXECUTE ON FUNCTION app.next(int, int) TO joe;
ALTER TABLE app.t0 RENAME COLUMN raw TO bytes;
ALTER TABLE app.t1 DROP COLUMN gone;
ALTER TABLE app.t1 ADD CONSTRAINT small CHECK (s < 100) NOT VALID;
ALTER TABLE app.t0 OWNER TO joe;
";

/// A schema with a number of tables, at least two, and twelve others.
pub fn schema(tables: usize) -> String {
    let mut out = BEFORE.to_string();
    let numbered = |text: &str, n: usize| text.replace("{n}", &n.to_string());
    for n in 0..tables.max(2) {
        let always = if n % 2 == 1 { "ALWAYS" } else { "BY DEFAULT" };
        let _ = write!(
            out,
            "CREATE TABLE app.t{n} (id bigint GENERATED {always} AS IDENTITY PRIMARY KEY,"
        );
        out += &numbered(COLUMNS, n);
        if let Some(above) = n.checked_sub(1) {
            let act = ["CASCADE", "SET NULL", "RESTRICT", "NO ACTION"][n % 4];
            let late = if n % 3 == 0 { " DEFERRABLE INITIALLY DEFERRED" } else { "" };
            let _ = write!(
                out,
                ", parent bigint REFERENCES app.t{above} (id) ON DELETE {act} ON UPDATE CASCADE{late}"
            );
        }
        out += &numbered(
            ");
             CREATE INDEX ON app.t{n} (day DESC, price) WHERE flag;
             CREATE INDEX t{n}_low ON app.t{n} (lower(name), (doc->>'k'));
             CREATE INDEX ON app.t{n} USING gin (tags) WITH (fastupdate = off);
             CREATE INDEX ON app.t{n} USING gin (doc jsonb_path_ops) WHERE flag;
             CREATE INDEX ON app.t{n} USING gin (lower(name) public.gin_trgm_ops);
             COMMENT ON TABLE app.t{n} IS 'table {n}'; COMMENT ON COLUMN app.t{n}.name IS 'it''s a name';
             GRANT SELECT, INSERT ON app.t{n} TO joe; GRANT UPDATE (name) ON app.t{n} TO team WITH GRANT OPTION;\n",
            n,
        );
        if n % 6 == 0 {
            out += &numbered(
                "CREATE VIEW app.v{n} AS SELECT t.id, t.name, count(*) OVER (PARTITION BY t.m) c,
                 CASE WHEN t.flag THEN 'a' ELSE 'b' END k FROM app.t{n} t
                 WHERE t.price > 3 AND t.day BETWEEN '2024-01-01' AND current_date;
                 CREATE MATERIALIZED VIEW app.mv{n} AS SELECT m, sum(price) s FROM app.t{n} GROUP BY m;\n",
                n,
            );
        }
        if n % 3 == 1 {
            out += &numbered(
                "ALTER TABLE app.t{n} ENABLE ROW LEVEL SECURITY; ALTER TABLE app.t{n} FORCE ROW LEVEL SECURITY;
                 CREATE POLICY own ON app.t{n} USING (flag OR EXISTS (SELECT 1 FROM app.t0 z WHERE z.id = t{n}.id));
                 CREATE POLICY joe ON app.t{n} AS RESTRICTIVE FOR INSERT TO joe, team WITH CHECK (price > 3);
                 COMMENT ON POLICY own ON app.t{n} IS 'policy {n}';\n",
                n,
            );
        }
        out += &numbered(ROWS, n);
        out.push('\n');
    }
    out += "CREATE TRIGGER touch BEFORE UPDATE ON app.t0 FOR EACH ROW WHEN (old.name IS DISTINCT FROM new.name)
            EXECUTE FUNCTION app.touch();";
    out + AFTER
}

/// What a way there and back took.
pub struct Way {
    /// Tables of the database.
    pub tables: i64,
    /// Lines of the dump.
    pub lines: usize,
    /// Seconds of pg_dump at Onlap, and at PostgreSQL.
    pub seconds: (f64, f64),
}

/// Goes there and back.
///
/// # Errors
/// A program fails, or dumps differ; says where.
pub fn there_and_back(schema: &str) -> Result<Way, String> {
    let postgres = Postgres::start();
    let served = Served::start(&["--sync", "os"])?;
    let (ours, theirs) = (served.port(), postgres.port());
    for port in [ours, theirs] {
        psql(port, "postgres", &format!("{ROLES} CREATE DATABASE one; CREATE DATABASE two;"))?;
    }
    psql(ours, "one", schema)?;
    let (first, our_seconds) = dump(ours, "one")?;
    psql(theirs, "one", &first)?;
    let (second, their_seconds) = dump(theirs, "one")?;
    same("PostgreSQL's dump", &first, &second)?;
    psql(ours, "two", &second)?;
    let (third, _) = dump(ours, "two")?;
    same("the dump of what came back", &second, &third)?;
    let tables =
        psql(ours, "two", "SELECT count(*) FROM pg_tables WHERE schemaname IN ('app', 'audit')")?;
    let tables = tables.trim().parse().map_err(|_| format!("no number of tables: {tables}"))?;
    Ok(Way { tables, lines: first.lines().count(), seconds: (our_seconds, their_seconds) })
}

/// The first line that differs.
fn same(what: &str, left: &str, right: &str) -> Result<(), String> {
    let all = left.lines().zip(right.lines());
    if let Some((n, (a, b))) = all.enumerate().find(|(_, (a, b))| a != b) {
        return Err(format!("{what} differs in line {}:\n{a}\n{b}", n + 1));
    }
    match left.lines().count() == right.lines().count() {
        true => Ok(()),
        false => Err(format!("{what} has another number of lines")),
    }
}

fn tool(name: &str, port: u16) -> Result<Command, String> {
    let path = programs::find(name).ok_or_else(|| format!("{name} is not installed"))?;
    let mut tool = Command::new(path);
    tool.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres"]);
    Ok(tool)
}

/// Carries statements out and gives what they print.
fn psql(port: u16, database: &str, script: &str) -> Result<String, String> {
    let mut psql = tool("psql", port)?;
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database]);
    psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = psql.spawn().map_err(|e| format!("psql: {e}"))?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let script = script.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = child.wait_with_output().map_err(|e| format!("psql: {e}"))?;
    // It stops reading where a statement fails.
    let _ = writer.join().expect("writing does not panic");
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{database}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// pg_dump's text without what differs each time, and its seconds.
fn dump(port: u16, database: &str) -> Result<(String, f64), String> {
    let began = Instant::now();
    let output =
        tool("pg_dump", port)?.arg(database).output().map_err(|e| format!("pg_dump: {e}"))?;
    let seconds = began.elapsed().as_secs_f64();
    if !output.status.success() {
        return Err(format!("pg_dump: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let stays = |line: &&str| {
        !["-- Dumped ", "\\restrict ", "\\unrestrict "].iter().any(|begin| line.starts_with(begin))
    };
    let lines: Vec<&str> = text.lines().filter(stays).collect();
    Ok((lines.join("\n") + "\n", seconds))
}
