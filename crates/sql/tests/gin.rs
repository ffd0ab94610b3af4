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
