//! Do indexes of gin answer what scans answer, and what PostgreSQL answers?
//!
//! Arrays, documents and texts come by chance from a seed (`ONLAP_SEED`, `ONLAP_CASES`), are changed in transactions, and are
//! asked with every operator that an index has: in a private PostgreSQL 15 with its contrib modules (Debian packages), in a table
//! with indexes, and in one without.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "gin/draw.rs"]
mod draw;
mod support;

use draw::{Draw, Kind, number};
use onlap::{Database, Options, SyncMode};
use onlap_sql::Instance;
use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;
use support::Fixture;

/// Whether a statement's plan goes by an index of gin.
fn is_by_keys(talk: &mut support::Talk, sql: &str) -> bool {
    let plan = talk.rows(&format!("EXPLAIN {sql}"));
    plan.iter().flatten().flatten().any(|line| line.contains("Bitmap Heap Scan"))
}

/// Changes rows of both tables, and asks both and PostgreSQL.
fn run(kind: Kind) {
    let postgres = Postgres::start();
    let mut theirs = SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("there");
    let fixture = Fixture::new(false);
    let mut ours = fixture.session();
    let mut draw = Draw(number("ONLAP_SEED", 11));
    let ty = kind.ty();
    let mut both = |sql: &str, ours: &mut support::Talk| {
        let (mine, other) = (ours.run(sql), theirs.run(sql).expect("PostgreSQL answers"));
        assert_eq!(mine.error, other.error, "{sql}");
        let (mut rows, mut wanted) = (mine.rows, other.rows);
        rows.sort();
        wanted.sort();
        assert_eq!(rows, wanted, "{sql}");
        rows
    };
    both("CREATE EXTENSION pg_trgm", &mut ours);
    for table in ["plain", "keyed"] {
        both(&format!("CREATE TABLE {table} (id int PRIMARY KEY, n int, v {ty})"), &mut ours);
    }
    for index in kind.indexes() {
        both(&format!("CREATE INDEX ON keyed USING gin ({index})"), &mut ours);
    }
    both("CREATE INDEX ON keyed (n)", &mut ours);
    let (mut next, mut by_keys) = (0, 0);
    for round in 0..number("ONLAP_CASES", 10) {
        both("BEGIN", &mut ours);
        for change in draw.changes(kind, &mut next) {
            for table in ["plain", "keyed"] {
                both(&change.replace("TABLE", table), &mut ours);
            }
        }
        if round % 3 == 1 {
            both("SAVEPOINT s", &mut ours);
            for table in ["plain", "keyed"] {
                both(&format!("UPDATE {table} SET v = NULL WHERE n < 3"), &mut ours);
            }
            ask(kind, &mut draw, &mut ours, &mut both, &mut by_keys);
            both("ROLLBACK TO s", &mut ours);
        }
        ask(kind, &mut draw, &mut ours, &mut both, &mut by_keys);
        both(if round % 4 == 3 { "ROLLBACK" } else { "COMMIT" }, &mut ours);
        if round % 4 == 2 {
            ours.rows("CHECKPOINT");
        }
        ask(kind, &mut draw, &mut ours, &mut both, &mut by_keys);
    }
    assert!(by_keys > 20, "only {by_keys} questions went by keys");
    assert!(both("SELECT id FROM plain", &mut ours).len() > 100);
}

/// Asks some questions of both tables.
fn ask(
    kind: Kind,
    draw: &mut Draw,
    ours: &mut support::Talk,
    both: &mut dyn FnMut(&str, &mut support::Talk) -> Vec<Vec<Option<String>>>,
    by_keys: &mut u64,
) {
    for _ in 0..12 {
        let condition = draw.condition(kind);
        let plain = both(&format!("SELECT id FROM plain WHERE {condition}"), ours);
        let sql = format!("SELECT id FROM keyed WHERE {condition}");
        assert_eq!(both(&sql, ours), plain, "{condition}");
        let counted = both(&sql.replace("SELECT id", "SELECT count(*), count(*)"), ours);
        assert_eq!(counted, [[Some(plain.len().to_string()), Some(plain.len().to_string())]]);
        both(&sql.replace("SELECT id", "SELECT v, n + 1, id % 2 = 0"), ours);
        *by_keys += u64::from(is_by_keys(ours, &sql));
    }
}

#[test]
fn arrays_of_numbers() {
    run(Kind::Numbers);
}

#[test]
fn arrays_of_texts() {
    run(Kind::Names);
}

#[test]
fn documents() {
    run(Kind::Documents);
}

#[test]
fn texts() {
    run(Kind::Texts);
}

#[test]
fn words_of_documents() {
    run(Kind::Words);
}

#[test]
fn prose() {
    run(Kind::Prose);
}

fn texts_of(rows: &[Vec<Option<String>>]) -> Vec<String> {
    rows.iter().map(|row| row.iter().flatten().cloned().collect::<Vec<_>>().join("|")).collect()
}

#[test]
fn partial_and_joined_indexes_are_used() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "CREATE TABLE t (id int PRIMARY KEY, n int, a int[], j jsonb)",
        "INSERT INTO t SELECT g, g % 100, ARRAY[g % 50, g % 7], jsonb_build_object('k', g % 30) \
         FROM generate_series(1, 3000) g",
        "CREATE INDEX part ON t USING gin (a) WHERE n < 50",
        "CREATE INDEX whole ON t USING gin (j jsonb_path_ops)",
        "CREATE INDEX plain ON t (n)",
    ] {
        talk.rows(sql);
    }
    let mut check = |sql: &str, wanted: &str, used: &str| {
        let plan = texts_of(&talk.rows(&format!("EXPLAIN {sql}"))).join("\n");
        assert!(plan.contains(used), "{sql}: {plan}");
        assert_eq!(texts_of(&talk.rows(sql)), [wanted], "{sql}");
    };
    check("SELECT count(*) FROM t WHERE a @> '{3,4}' AND n < 40", "8", "using part");
    check("SELECT count(*) FROM t WHERE a @> '{3,4}'", "17", "Seq Scan");
    check("SELECT count(*) FROM t WHERE j @> '{\"k\": 3}'", "100", "using whole");
    check("SELECT count(*) FROM t WHERE j @> '{\"k\": 3}' OR n = 7", "130", "using whole, plain");
    check("SELECT count(*) FROM t WHERE j @> '{\"k\": 3}' OR a @> '{1}'", "566", "Seq Scan");
    check(
        "SELECT count(*) FROM t WHERE (j @> '{\"k\": 3}' OR a @> '{1}') AND n < 50",
        "282",
        "using whole, part",
    );
    check("SELECT count(*) FROM t WHERE j @> '{\"k\": 3}' AND id = 33", "1", "using t_pkey");
    check("SELECT count(*) FROM t WHERE j @> '{}'", "3000", "Seq Scan");
}

#[test]
fn parameters_and_joins_go_by_keys() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "CREATE TABLE t (id int PRIMARY KEY, a text[])",
        "INSERT INTO t SELECT g, ARRAY['k' || g % 50, 'x'] FROM generate_series(1, 2000) g",
        "CREATE INDEX ON t USING gin (a)",
        "CREATE TABLE w (k text)",
        "INSERT INTO w VALUES ('k1'), ('k2'), ('none')",
        "PREPARE p (text[]) AS SELECT count(*) FROM t WHERE a @> $1",
    ] {
        talk.rows(sql);
    }
    assert_eq!(texts_of(&talk.rows("EXECUTE p('{k3}')")), ["40"]);
    assert_eq!(texts_of(&talk.rows("EXECUTE p('{k3,x}')")), ["40"]);
    assert_eq!(texts_of(&talk.rows("EXECUTE p('{}')")), ["2000"]);
    assert_eq!(texts_of(&talk.rows("EXECUTE p(NULL)")), ["0"]);
    let sql = "SELECT w.k, (SELECT count(*) FROM t WHERE t.a @> ARRAY[w.k]) FROM w ORDER BY 1";
    assert_eq!(texts_of(&talk.rows(sql)), ["k1|40", "k2|40", "none|0"]);
    let sql = "SELECT w.k, count(*) FROM w, LATERAL (SELECT id FROM t WHERE t.a @> ARRAY[w.k]) x \
               GROUP BY 1 ORDER BY 1";
    assert_eq!(texts_of(&talk.rows(sql)), ["k1|40", "k2|40"]);
    assert_eq!(talk.run("UPDATE t SET a = a || 'new'::text WHERE a @> '{k5}'").tags, ["UPDATE 40"]);
    assert_eq!(talk.run("DELETE FROM t WHERE a @> '{new}' AND id < 1000").tags, ["DELETE 20"]);
    assert_eq!(texts_of(&talk.rows("SELECT count(*) FROM t WHERE a && '{new}'")), ["20"]);
}

#[test]
fn what_changes_while_rows_are_read_is_not_met() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "CREATE TABLE t (id int PRIMARY KEY, a int[])",
        "INSERT INTO t SELECT g, '{1}' FROM generate_series(1, 5000) g",
        "CREATE INDEX ON t USING gin (a)",
        "CREATE FUNCTION gone(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t WHERE \
         id = n + 2500; RETURN n; END $$",
        "BEGIN",
    ] {
        talk.rows(sql);
    }
    let sql = "SELECT count(gone(id)) FROM t WHERE a @> '{1}'";
    assert_eq!(texts_of(&talk.rows(sql)), ["5000"]);
    assert_eq!(texts_of(&talk.rows("SELECT count(*) FROM t WHERE a @> '{1}'")), ["2500"]);
    talk.rows("ROLLBACK");
    assert_eq!(texts_of(&talk.rows("SELECT count(*) FROM t WHERE a @> '{1}'")), ["5000"]);
}

/// Few rows that keys lead to are read without steps, many with them.
#[test]
fn few_rows_and_many_are_read_alike() {
    let postgres = Postgres::start();
    let mut theirs = SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("there");
    let fixture = Fixture::new(false);
    let mut ours = fixture.session();
    for sql in [
        "CREATE TABLE t (id int PRIMARY KEY, n int, a int[], j jsonb)",
        "INSERT INTO t SELECT g, 5000 / g, ARRAY[g % 2, g % 3000], jsonb_build_object('k', g % 700) \
         FROM generate_series(1, 5000) g",
        "CREATE INDEX ON t USING gin (a)",
        "CREATE INDEX ON t USING gin (j)",
        "CREATE ROLE reader",
        "GRANT SELECT (id, a) ON t TO reader",
        "CREATE TABLE own (id int PRIMARY KEY, a int[], who text)",
        "INSERT INTO own SELECT g, ARRAY[g % 5], CASE WHEN g % 2 = 0 THEN 'reader' ELSE 'no' END \
         FROM generate_series(1, 50) g",
        "CREATE INDEX ON own USING gin (a)",
        "ALTER TABLE own ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON own USING (who = current_user)",
        "GRANT SELECT ON own TO reader",
        "CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2'",
    ] {
        assert_eq!(ours.run(sql).error, theirs.run(sql).expect("it answers").error, "{sql}");
    }
    let asked = [
        "SELECT count(*) FROM t WHERE a @> '{1}'",
        "SELECT id FROM t WHERE a @> '{1}' AND id < 100",
        "SELECT id, a[1], j -> 'k' FROM t WHERE a && '{17, 2999}'",
        "SELECT count(*) FROM t WHERE a && '{17, 2999}' AND j @> '{\"k\": 17}'",
        "SELECT *, tableoid::regclass FROM t WHERE a @> '{17}'",
        "SELECT t FROM t WHERE a @> '{17}'",
        "SELECT count(*) FROM t WHERE a @> '{17}' HAVING count(*) > 5",
        "SELECT max(id), count(*) FROM t WHERE a @> '{17}'",
        "SELECT DISTINCT n FROM t WHERE a @> '{17}'",
        "SELECT id FROM t WHERE a @> '{17}' ORDER BY id DESC LIMIT 1",
        "SELECT generate_series(1, 2), id FROM t WHERE a @> '{17}'",
        "SELECT id, twice(id) FROM t WHERE a @> '{17}'",
        "SELECT id / (n - 294) FROM t WHERE a @> '{17}'",
        "SELECT id FROM t WHERE a @> '{17}' AND id / (n - 294) > 0",
        "SELECT count(*) FROM t WHERE a @> '{17}' AND false",
        "SELECT count(*) FROM t WHERE a @> NULL",
        "SELECT id FROM t WHERE a @> '{17}' AND id IN (SELECT 17)",
        "SELECT 1 FROM t WHERE a @> '{17}'",
        "SET ROLE reader",
        "SELECT id FROM t WHERE a @> '{17}'",
        "SELECT id FROM t WHERE j @> '{\"k\": 17}'",
        "SELECT count(*) FROM own WHERE a @> '{2}'",
        "SELECT id FROM own WHERE a @> '{2}'",
        "RESET ROLE",
        "SELECT count(*) FROM own WHERE a @> '{2}'",
        "BEGIN",
        "DELETE FROM t WHERE id = 17",
        "INSERT INTO t VALUES (9000, 1, '{17}', '{\"k\": 17}')",
        "SELECT id FROM t WHERE a @> '{17}'",
        "SELECT count(*) FROM t WHERE j @> '{\"k\": 17}' AND a @> '{17}'",
        "SELECT id FROM t WHERE a @> '{17}' FOR UPDATE",
        "ROLLBACK",
    ];
    for sql in asked {
        let (mine, other) = (ours.run(sql), theirs.run(sql).expect("PostgreSQL answers"));
        assert_eq!(mine.error, other.error, "{sql}");
        let (mut rows, mut wanted) = (mine.rows, other.rows);
        rows.sort();
        wanted.sort();
        assert_eq!(rows, wanted, "{sql}");
    }
}

/// INSERT of many literals reads values of these types without a planner; what is wrong with one, the planner says.
#[test]
fn many_literals_are_read_as_postgresql_reads_them() {
    let postgres = Postgres::start();
    let mut theirs = SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("there");
    let fixture = Fixture::new(false);
    let mut ours = fixture.session();
    let long = "x".repeat(300);
    let statements = [
        "CREATE DOMAIN small AS jsonb CHECK (VALUE -> 'n' < '10')".to_owned(),
        "CREATE TABLE t (id int PRIMARY KEY, j jsonb, a text[], n int[], i interval, p inet, v varchar(3)[], d small)"
            .to_owned(),
        format!("INSERT INTO t (id, j, a) VALUES (1, '{{\"b\": 1.50, \"a\": [\"{long}\", null]}}', '{{a,\"b c\",NULL}}'), (2, NULL, '{{{{x}},{{y}}}}'), (3, '\"\"', '[2:3]={{p,q}}')"),
        format!("INSERT INTO t (id, j) VALUES (4, '{{\"a\": 1'), (5, '\"{long}\"')"),
        format!("INSERT INTO t (id, j) VALUES (4, 12), (5, '\"{long}\"')"),
        format!("INSERT INTO t (id, a) VALUES (4, '{{a'), (5, '{{{long}}}')"),
        format!("INSERT INTO t (id, n, i, p) VALUES (6, '{{1, 2,NULL}}', '1 mon -2 days 3:04', '10.0.0.1/8'), (7, '{{}}', NULL, '::1') /* {long} */"),
        format!("INSERT INTO t (id, n, i, p) VALUES (8, '{{1, 2,NULL}}', '1 mon -2 days 3:04', '10.0.0.1/8'), (9, '{{}}', NULL, '::1')   {}", " ".repeat(200)),
        format!("INSERT INTO t (id, v, j) VALUES (10, '{{abc,de}}', '\"{long}\"')"),
        format!("INSERT INTO t (id, v, j) VALUES (11, '{{abcd}}', '\"{long}\"')"),
        format!("INSERT INTO t (id, d, j) VALUES (12, '{{\"n\": 3}}', '\"{long}\"')"),
        format!("INSERT INTO t (id, d, j) VALUES (13, '{{\"n\": 30}}', '\"{long}\"')"),
        "SET intervalstyle = sql_standard".to_owned(),
        format!("INSERT INTO t (id, i, j) VALUES (14, '-1 2:03:04', '\"{long}\"')"),
        "RESET intervalstyle".to_owned(),
        "SELECT * FROM t ORDER BY id".to_owned(),
    ];
    for sql in &statements {
        let (mine, other) = (ours.run(sql), theirs.run(sql).expect("PostgreSQL answers"));
        assert_eq!(mine.error, other.error, "{sql}");
        assert_eq!(mine.rows, other.rows, "{sql}");
    }
}

#[test]
fn indexes_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || {
        let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os));
        Fixture::of(Instance::open(db.expect("it opens")).expect("its catalog opens"))
    };
    let asked = [
        "SELECT count(*) FROM t WHERE a @> '{3}'",
        "SELECT count(*) FROM t WHERE c LIKE '%t 17%'",
        "SELECT count(*) FROM t WHERE j @? '$.k ? (@ == 4)'",
        "SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1",
    ];
    let ask = |fixture: &Fixture| {
        let mut talk = fixture.session();
        asked.iter().flat_map(|sql| texts_of(&talk.rows(sql))).collect::<Vec<String>>()
    };
    let then = {
        let fixture = open();
        let mut talk = fixture.session();
        for sql in [
            "CREATE EXTENSION pg_trgm",
            "CREATE TABLE t (id int PRIMARY KEY, a int[], c text, j jsonb)",
            "CREATE INDEX ON t USING gin (a)",
            "CREATE INDEX ON t USING gin (c gin_trgm_ops)",
            "INSERT INTO t SELECT g, ARRAY[g % 10], 'text ' || g, jsonb_build_object('k', g % 9) \
             FROM generate_series(1, 1000) g",
            "CREATE INDEX ON t USING gin (j jsonb_path_ops)",
            "CHECKPOINT",
            "INSERT INTO t SELECT g, ARRAY[g % 10], 'text ' || g, jsonb_build_object('k', g % 9) \
             FROM generate_series(1001, 1500) g",
            "DELETE FROM t WHERE id % 7 = 0",
        ] {
            talk.rows(sql);
        }
        ask(&fixture)
    };
    assert_eq!(then[0], "129");
    let fixture = open();
    assert_eq!(ask(&fixture), then);
    let mut talk = fixture.session();
    talk.rows("INSERT INTO t VALUES (5000, '{3,3}', 'text 17', '{\"k\": [4]}')");
    assert_eq!(texts_of(&talk.rows(asked[0])), ["130"]);
}
