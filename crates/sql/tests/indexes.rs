//! Do partial indexes and indexes on expressions do what PostgreSQL's do, and are they used?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package): tags, rows, columns' names,
//! SQLSTATE, message and detail must be the same. Then what only Onlap says: which index a query goes by, and that what is
//! stored is there after a restart.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap::{Database, Options, SyncMode};
use onlap_base::tasks::{Body, Event, TaskHandle, Tasks, ThreadTasks};
use onlap_sql::Instance;
use support::{Fixture, Talk};

const SCRIPT: &str = include_str!("../testdata/indexes_beside.sql");

#[test]
fn indexes_do_what_postgresql_does() {
    compared::compare(SCRIPT);
}

/// Threads of which those that build indexes panic while the flag is set.
#[derive(Debug)]
struct Breaking(ThreadTasks, AtomicBool);

impl Tasks for Breaking {
    fn spawn(&self, name: &str, body: Body) -> TaskHandle {
        match name.starts_with("onlap-index-") && self.1.load(Ordering::SeqCst) {
            true => self.0.spawn(name, Box::new(|| panic!("words of the inside"))),
            false => self.0.spawn(name, body),
        }
    }
    fn event(&self) -> Arc<Event> {
        self.0.event()
    }
    fn yield_now(&self) {
        self.0.yield_now();
    }
    fn sleep(&self, time: Duration) {
        self.0.sleep(time);
    }
}

#[test]
fn a_panic_of_a_build_is_a_defect_with_an_id() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let tasks = Arc::new(Breaking(ThreadTasks::new(), AtomicBool::new(true)));
    let mut options = Options::default().sync(SyncMode::Os);
    options.tasks = Arc::clone(&tasks) as Arc<dyn Tasks>;
    let db = Database::open(dir.path(), options).expect("an empty database opens");
    let fixture = Fixture::of(Instance::open(db).expect("an empty catalog"));
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE t AS SELECT g AS a FROM generate_series(1, 1000) g");
    fixture.instance.database().flush().expect("rows become a segment");
    let (state, text) = talk.run("CREATE INDEX i ON t (a)").error.expect("the build panics");
    assert_eq!(state, "XX000");
    assert!(text.starts_with("internal error ") && !text.contains("inside"), "{text}");
    tasks.1.store(false, Ordering::SeqCst);
    talk.rows("CREATE INDEX i ON t (a)");
    assert!(plan(&mut talk, "SELECT a FROM t WHERE a = 7").contains("i"));
    assert_eq!(talk.rows("SELECT a FROM t WHERE a = 7"), [[Some("7".to_string())]]);
}

fn plan(talk: &mut Talk, query: &str) -> String {
    let rows = talk.rows(&format!("EXPLAIN {query}"));
    let lines = rows.into_iter().map(|row| row.into_iter().flatten().collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}

fn filled(talk: &mut Talk) {
    for statement in [
        "CREATE TABLE t (id int PRIMARY KEY, email text, status text, n int, live bool)",
        "INSERT INTO t SELECT g, 'U' || g, CASE WHEN g % 100 = 0 THEN 'open' ELSE 'done' END, \
         g % 50, g % 10 = 0 FROM generate_series(1, 5000) g",
        "CREATE INDEX by_lower ON t (lower(email))",
        "CREATE INDEX open_n ON t (n) WHERE status = 'open'",
        "CREATE INDEX high ON t (id) WHERE n > 40",
        "CREATE INDEX alive ON t (email) WHERE live",
        "CREATE INDEX named ON t (n, id) WHERE email IS NOT NULL AND n IN (1, 2, 3)",
    ] {
        let error = talk.run(statement).error;
        assert!(error.is_none(), "{statement}: {error:?}");
    }
}

#[test]
fn queries_go_by_indexes_that_their_conditions_imply() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    filled(&mut talk);
    for (query, index) in [
        ("SELECT id FROM t WHERE lower(email) = 'u7'", Some("by_lower")),
        ("SELECT id FROM t WHERE lower(email) IN ('u7', 'u8')", Some("by_lower")),
        ("SELECT id FROM t ORDER BY lower(email) LIMIT 3", Some("by_lower")),
        ("SELECT id FROM t WHERE upper(email) = 'U7'", None),
        ("SELECT id FROM t WHERE status = 'open'", Some("open_n")),
        ("SELECT id FROM t WHERE status = 'open' AND n = 0", Some("open_n")),
        ("SELECT id FROM t WHERE status = 'done' AND n = 0", None),
        ("SELECT id FROM t WHERE n = 0", None),
        ("SELECT id FROM t WHERE status IN ('open', 'done') AND n = 0", None),
        ("SELECT id FROM t WHERE status = 'open' OR n = 0", None),
        ("SELECT id FROM t WHERE n > 45", Some("high")),
        ("SELECT id FROM t WHERE n >= 41", Some("high")),
        ("SELECT id FROM t WHERE n >= 40", None),
        ("SELECT id FROM t WHERE n = 41", Some("high")),
        ("SELECT id FROM t WHERE n IN (41, 49)", Some("high")),
        ("SELECT id FROM t WHERE n IN (41, 40)", None),
        ("SELECT id FROM t WHERE 40 < n", Some("high")),
        ("SELECT id FROM t WHERE n > 40 OR n = 44", Some("high")),
        ("SELECT id FROM t WHERE live AND email = 'U10'", Some("alive")),
        ("SELECT id FROM t WHERE live = true AND email = 'U10'", Some("alive")),
        ("SELECT id FROM t WHERE live IS TRUE AND email = 'U10'", Some("alive")),
        ("SELECT id FROM t WHERE live IS NOT FALSE AND email = 'U10'", None),
        ("SELECT id FROM t WHERE NOT live AND email = 'U10'", None),
        ("SELECT id FROM t WHERE email > 'U1' AND n = 2", Some("named")),
        ("SELECT id FROM t WHERE email IS NOT NULL AND n IN (1, 3)", Some("named")),
        ("SELECT id FROM t WHERE n = 2", None),
        ("UPDATE t SET email = 'x' WHERE status = 'open' AND n = 0", Some("open_n")),
        ("DELETE FROM t WHERE lower(email) = 'u7'", Some("by_lower")),
    ] {
        let found = plan(&mut talk, query);
        match index {
            Some(index) => assert!(found.contains(index), "{query}\n{found}"),
            None => assert!(
                !["by_lower", "open_n", "high", "alive", "named"].iter().any(|i| found.contains(i)),
                "{query}\n{found}"
            ),
        }
        // By an index or without one, the answer is the same.
        if query.starts_with("SELECT") {
            let mut by_index = talk.rows(query);
            let hidden = query.replace(" FROM t", " FROM (SELECT * FROM t OFFSET 0) t");
            let mut by_scan = talk.rows(&hidden);
            if !query.contains("LIMIT") {
                by_index.sort();
                by_scan.sort();
            }
            assert_eq!(by_index, by_scan, "{query}");
        }
    }
}

#[test]
fn changes_of_columns_in_predicates_read_their_rows_and_explain_says_so() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let plain = "UPDATE t SET status = 'open' WHERE id = 3";
    talk.rows("CREATE TABLE t (id int PRIMARY KEY, email text, status text, n int, free int)");
    talk.rows("INSERT INTO t VALUES (3, 'A', 'done', 1, 1)");
    let read = |talk: &mut Talk, update: &str| {
        let plan = plan(talk, &format!("(ANALYZE) {update}"));
        let line = plan.lines().find(|line| line.contains("rows read")).map(str::to_string);
        line.unwrap_or(plan)
    };
    let before = read(&mut talk, plain);
    talk.rows("CREATE INDEX ON t (n) WHERE status = 'open'");
    let after = read(&mut talk, plain);
    assert_ne!(before, after);
    assert_eq!(read(&mut talk, "UPDATE t SET free = 2 WHERE id = 3"), before);
}

/// All indexes that conditions and orders of these queries go by show what a scan of all rows shows.
fn agree(talk: &mut Talk) {
    for (by_index, by_scan) in [
        (
            "SELECT id FROM w ORDER BY lower(name), id LIMIT 100000",
            "SELECT id FROM w ORDER BY lower(name), id",
        ),
        (
            "SELECT id FROM w WHERE state = 'open' ORDER BY id",
            "SELECT id FROM w WHERE state || '' = 'open' ORDER BY id",
        ),
        (
            "SELECT id FROM w WHERE lower(name) > 'b' ORDER BY id",
            "SELECT id FROM w WHERE lower(name) || '' > 'b' ORDER BY id",
        ),
        (
            "SELECT id FROM w WHERE n * 2 = 6 AND state = 'open' ORDER BY id",
            "SELECT id FROM w WHERE n * 2 + 0 = 6 AND state || '' = 'open' ORDER BY id",
        ),
        (
            "SELECT id FROM w WHERE up IS NOT NULL ORDER BY id",
            "SELECT id FROM w WHERE (up + 0) IS NOT NULL ORDER BY id",
        ),
    ] {
        assert_eq!(talk.rows(by_index), talk.rows(by_scan), "{by_index}");
    }
}

const WAYS: &str = "\
CREATE TABLE up (id int PRIMARY KEY)
INSERT INTO up SELECT generate_series(1, 20)
CREATE TABLE w (id int PRIMARY KEY, name text, state text, n int, up int REFERENCES up ON DELETE SET NULL ON UPDATE CASCADE)
INSERT INTO w VALUES (1, 'Early', 'open', 3, 1)
CREATE INDEX by_name ON w (lower(name))
CREATE INDEX open_id ON w (id) WHERE state = 'open'
CREATE INDEX open_double ON w ((n * 2)) WHERE state = 'open'
CREATE INDEX with_up ON w (up) WHERE up IS NOT NULL
CREATE UNIQUE INDEX one_open ON w (lower(name)) WHERE state = 'open' AND n > 100
INSERT INTO w VALUES (2, 'Bee', 'open', 3, 2)
INSERT INTO w VALUES (3, 'Cee', 'done', 3, 3), (4, 'Dee', 'open', 4, 4), (5, NULL, NULL, NULL, NULL), (6, 'F', 'open', 3, 6), (7, 'G', 'x', 3, 7)
INSERT INTO w (id) VALUES (8)
INSERT INTO w SELECT g, 'S' || g, CASE WHEN g % 2 = 0 THEN 'open' END, g % 7, g % 20 + 1 FROM generate_series(10, 400) g
PREPARE ins AS INSERT INTO w VALUES ($1, $2, $3, $4, $5)
EXECUTE ins(500, 'Prep', 'open', 3, 5)
EXECUTE ins(501, 'Prep', 'done', 3, 5)
UPDATE w SET state = 'open' WHERE id = 3
UPDATE w SET state = 'done' WHERE id IN (2, 4)
UPDATE w SET n = n + 1 WHERE id < 5
UPDATE w SET name = upper(name) WHERE state = 'open' AND n * 2 = 6
UPDATE w SET state = 'open', name = s.name || 'x' FROM (SELECT id + 1 AS id, name FROM w WHERE id BETWEEN 20 AND 30) s WHERE w.id = s.id
INSERT INTO w VALUES (3, 'Again', 'open', 3, 9), (600, 'New', 'open', 3, 9) ON CONFLICT (id) DO UPDATE SET name = excluded.name, state = 'done'
MERGE INTO w USING (VALUES (10, 'M'), (700, 'N')) s (id, name) ON w.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name, state = 'open' WHEN NOT MATCHED THEN INSERT (id, name, state, n) VALUES (s.id, s.name, 'open', 3)
WITH gone AS (DELETE FROM w WHERE id = 12 RETURNING *) INSERT INTO w SELECT id + 1000, name, state, n, up FROM gone
DELETE FROM up WHERE id = 3
UPDATE up SET id = 77 WHERE id = 4
DELETE FROM w WHERE state = 'open' AND n * 2 = 8
ALTER TABLE w ADD COLUMN more int DEFAULT 5
INSERT INTO w (id, name, state, n, more) VALUES (800, 'More', 'open', 3, 1)
UPDATE w SET more = 2 WHERE id = 800
ALTER TABLE w DROP COLUMN more
INSERT INTO w (id, name, state, n) VALUES (801, 'Less', 'open', 3)
ALTER TABLE w RENAME COLUMN state TO st
ALTER TABLE w RENAME COLUMN st TO state
BEGIN
INSERT INTO w (id, name, state, n) VALUES (900, 'Undone', 'open', 3)
SAVEPOINT s
UPDATE w SET state = 'open' WHERE id > 300
ROLLBACK TO s
COMMIT
BEGIN
DELETE FROM w WHERE id < 100
UPDATE w SET name = 'gone'
ROLLBACK";

#[test]
fn every_way_of_writing_rows_keeps_indexes_right_and_they_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = || {
        let mut options = onlap::Options::default().sync(onlap::SyncMode::Os);
        options.tuning.memtable_bytes = Some(16 << 10);
        options
    };
    let open = || {
        let db = onlap::Database::open(dir.path(), options()).expect("it opens");
        Fixture::of(onlap_sql::Instance::open(db).expect("its catalog is read"))
    };
    for fast in ["on", "off"] {
        let fixture = open();
        let mut talk = fixture.session();
        talk.rows(&format!("SET fast_path = {fast}"));
        for (at, statement) in WAYS.lines().enumerate() {
            talk.rows(statement);
            if at > 8 && !statement.starts_with("ALTER TABLE w RENAME COLUMN state") {
                agree(&mut talk);
            }
        }
        talk.client.input =
            vec![b"1500\tCopied\topen\t3\t5\n1501\tCopied\tdone\t3\t\\N\n".to_vec()];
        talk.rows("COPY w FROM STDIN");
        agree(&mut talk);
        let twice =
            talk.run("INSERT INTO w VALUES (2000, 'A', 'open', 101), (2001, 'a', 'open', 102)");
        let detail = "Key (lower(name))=(a) already exists.";
        assert_eq!((twice.error.map(|e| e.0), &*twice.detail), (Some("23505".into()), detail));
        let before = talk
            .rows("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'w' ORDER BY 1");
        drop(talk);
        drop(fixture);
        let fixture = open();
        let mut talk = fixture.session();
        let after = talk
            .rows("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'w' ORDER BY 1");
        assert_eq!(before, after);
        agree(&mut talk);
        talk.rows("UPDATE w SET state = 'open' WHERE n = 1");
        agree(&mut talk);
        drop(talk);
        drop(fixture);
        let check = onlap::CheckOptions { options: options() };
        let report =
            onlap::check_with(dir.path(), &check, &onlap_sql::attach).expect("it is there");
        assert_eq!((report.findings, report.unchecked), (Vec::new(), 0));
        let fixture = open();
        fixture.session().rows("DROP TABLE w, up");
    }
}

#[test]
fn who_may_not_read_a_table_learns_no_values_that_its_indexes_calculate() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in [
        "CREATE TABLE t (id int PRIMARY KEY, secret text)",
        "CREATE UNIQUE INDEX ON t (lower(secret))",
        "INSERT INTO t VALUES (1, 'Word')",
        "CREATE ROLE writer LOGIN",
        "GRANT INSERT ON t TO writer",
        "GRANT SELECT (id) ON t TO writer",
    ] {
        talk.rows(statement);
    }
    let mut writer = fixture.session_of("writer");
    let refused = writer.run("INSERT INTO t VALUES (2, 'WORD')");
    assert_eq!(refused.error.map(|e| e.0).as_deref(), Some("23505"));
    assert_eq!(refused.detail, "");
    let refused =
        writer.run("INSERT INTO t VALUES (2, 'x') ON CONFLICT (lower(secret)) DO NOTHING");
    assert_eq!(refused.error.map(|e| e.0).as_deref(), Some("42501"));
    let refused = writer.run("CREATE INDEX ON t (upper(secret))");
    assert_eq!(refused.error.map(|e| e.0).as_deref(), Some("42501"));
    talk.rows("GRANT SELECT ON t TO writer");
    let refused = writer.run("INSERT INTO t VALUES (2, 'WORD')");
    assert_eq!(refused.detail, "Key (lower(secret))=(word) already exists.");
}

#[test]
fn upserts_of_an_expression_meet_each_other() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE t (email text, n int, live bool)");
    talk.rows("CREATE UNIQUE INDEX ON t (lower(email)) WHERE live");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let fixture = &fixture;
            scope.spawn(move || {
                let mut talk = fixture.session();
                for round in 0..50 {
                    let email = if writer % 2 == 0 { "A@b" } else { "a@B" };
                    talk.rows(&format!(
                        "INSERT INTO t VALUES ('{email}{}', 1, true) \
                         ON CONFLICT (lower(email)) WHERE live DO UPDATE SET n = t.n + 1",
                        round % 3
                    ));
                }
            });
        }
    });
    let rows = talk.rows("SELECT count(*), sum(n) FROM t");
    assert_eq!(rows, [[Some("3".to_string()), Some("200".to_string())]]);
}

#[test]
fn hostile_expressions_end_in_errors() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE t (a int, b text)");
    talk.rows("INSERT INTO t VALUES (1, 'x')");
    let state = |talk: &mut Talk, sql: &str| talk.run(sql).error.map(|e| e.0);
    let deep = format!("CREATE INDEX ON t (({}a{}))", "(".repeat(20_000), ")".repeat(20_000));
    assert!(state(&mut talk, &deep).is_some());
    let long = format!("CREATE INDEX ON t ((a{}))", " + a".repeat(40_000));
    assert!(state(&mut talk, &long).is_some());
    let wide = format!("CREATE INDEX ON t (a) WHERE b = '{}'", "x".repeat(100_000));
    assert_eq!(state(&mut talk, &wide).as_deref(), Some("54000"));
    for sql in [
        "CREATE INDEX ON t (repeat(b, 2000000000))",
        "CREATE INDEX ON t (lpad(b, 1000000000))",
        "CREATE INDEX ON t (repeat(b, 100000))",
        "CREATE INDEX ON t ((a / 0))",
    ] {
        assert!(state(&mut talk, sql).is_some(), "{sql}");
    }
    talk.rows("CREATE INDEX ON t (repeat(b, a))");
    assert!(state(&mut talk, "INSERT INTO t VALUES (2000000000, 'x')").is_some());
    assert!(state(&mut talk, "INSERT INTO t VALUES (100000, 'x')").is_some());
    let rows = talk.rows("SELECT count(*) FROM t");
    assert_eq!(rows, [[Some("1".to_string())]]);
    let many: Vec<String> = (0..33).map(|n| format!("(a + {n})")).collect();
    assert_eq!(
        state(&mut talk, &format!("CREATE INDEX ON t ({})", many.join(", "))).as_deref(),
        Some("54011")
    );
}
