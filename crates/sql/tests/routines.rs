//! Do routines do what PostgreSQL's do?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package); an empty line stands between two
//! statements. Tags, rows, SQLSTATE, message, detail, hint, context and notices must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::Fixture;

const BLOCKS: &str = include_str!("../testdata/routines/blocks.sql");

#[test]
fn blocks_do_what_postgresql_does() {
    let differ = compared::differences(BLOCKS.split("\n\n"), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// SQLSTATE and message of a statement.
fn error(talk: &mut support::Talk, statement: &str) -> (String, String) {
    talk.run(statement).error.unwrap_or_default()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[test]
fn what_is_not_done_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE t (a int)");
    let refused = [
        "DO $$ BEGIN EXECUTE 'DECLARE c CURSOR FOR SELECT 1'; END $$",
        "DO $$ BEGIN COMMIT; END $$",
        "DO $$ BEGIN START TRANSACTION; END $$",
        "DO $$ BEGIN EXECUTE 'COMMIT'; END $$",
        "DO $$ BEGIN EXECUTE 'SAVEPOINT a'; END $$",
        "DO $$ BEGIN EXECUTE 'VACUUM t'; END $$",
        "DO $$ BEGIN EXECUTE 'COPY t TO STDOUT'; END $$",
        "DO $$ DECLARE a int; BEGIN SELECT a FROM t AS OF COMMIT 1 INTO a; END $$",
        "DO $$ BEGIN EXECUTE 'SELECT a FROM t AS OF COMMIT 1'; END $$",
        "DO $$ DECLARE a int[]; BEGIN a[1:2] := '{1,2}'; END $$",
        "DO $$ #print_strict_params on\nBEGIN END $$",
        "DO $$ #option dump\nBEGIN END $$",
        "REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC",
    ];
    for statement in refused {
        let (state, message) = error(&mut talk, statement);
        assert_eq!(state, "0A000", "{statement}: {message}");
    }
    assert_eq!(talk.rows("SELECT count(*) FROM t"), [[Some("0".to_string())]]);
}

#[test]
fn raised_states_mean_nothing_to_the_session() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for code in
        ["08006", "08P01", "25P02", "40001", "53200", "55P03", "57014", "57P01", "XX000", "ABCDE"]
    {
        let block = format!("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{code}'; END $$");
        assert_eq!(error(&mut talk, &block), (code.to_string(), "x".to_string()));
        assert_eq!(talk.rows("SELECT 1"), [[Some("1".to_string())]]);
    }
}

#[test]
fn hostile_blocks_end() {
    let fixture = Fixture::with(false, 64 << 20);
    let mut talk = fixture.session();
    let deep = |n: usize, open: &str, close: &str| {
        format!("DO $$ BEGIN {} NULL; {} END $$", open.repeat(n), close.repeat(n))
    };
    assert_eq!(talk.run(&deep(150, "BEGIN ", "END; ")).state(), "");
    for (open, close) in
        [("BEGIN ", "END; "), ("IF true THEN ", "END IF; "), ("LOOP ", "END LOOP; ")]
    {
        assert_eq!(talk.run(&deep(1000, open, close)).state(), "54001", "{open}");
        let deeper = talk.run(&deep(20_000, open, close));
        assert!(matches!(deeper.state(), "54001" | "53200"), "{open}");
    }
    let brackets = format!(
        "DO $$ DECLARE x int; BEGIN x := {}1{}; END $$",
        "(".repeat(9999),
        ")".repeat(9999)
    );
    assert_eq!(talk.run(&brackets).state(), "54001");
    // Loops that do not end by themselves.
    talk.rows("SET statement_timeout = 200");
    let endless = [
        "DO $$ BEGIN LOOP END LOOP; END $$",
        "DO $$ BEGIN WHILE true LOOP NULL; END LOOP; END $$",
        "DO $$ BEGIN FOR i IN 1..2000000000 LOOP END LOOP; END $$",
        "DO $$ BEGIN LOOP BEGIN PERFORM 1/0; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$",
        "DO $$ BEGIN LOOP BEGIN LOOP END LOOP; EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$",
        "DO $$ BEGIN PERFORM pg_sleep(100); END $$",
    ];
    for statement in endless {
        assert_eq!(talk.run(statement).state(), "57014", "{statement}");
    }
    talk.rows("RESET statement_timeout");
    // Blocks within blocks.
    let itself = "DO $$ BEGIN EXECUTE current_query(); END $$";
    let (state, _) = error(&mut talk, itself);
    assert!(matches!(&*state, "54001" | "0A000"), "{state}");
    let mut nested = String::from("BEGIN END");
    for _ in 0..6 {
        nested = format!("BEGIN EXECUTE {}; END", quoted(&format!("DO {}", quoted(&nested))));
    }
    assert_eq!(talk.run(&format!("DO {}", quoted(&nested))).state(), "");
    let doubling = "DO $$ DECLARE x text := 'SELECT 1'; BEGIN FOR i IN 1..24 LOOP x := x || ' ' || x; END LOOP; EXECUTE x; END $$";
    assert!(matches!(talk.run(doubling).state(), "53200" | "42601" | "54001"));
    // So does what handlers hold of their errors.
    let open = "BEGIN RAISE EXCEPTION '%', s; EXCEPTION WHEN OTHERS THEN ".repeat(60);
    let held = format!(
        "DO $$ DECLARE s text := repeat('x', 4000000); BEGIN {open} NULL; {} END $$",
        "END; ".repeat(60)
    );
    talk.rows("SET query_memory_limit = '64MB'");
    assert_eq!(talk.run(&held).state(), "53200");
    talk.rows("RESET query_memory_limit");
    // Variables ask for memory.
    let (state, _) = error(
        &mut talk,
        "DO $$ DECLARE x text := 'abcdefgh'; BEGIN LOOP x := x || x; END LOOP; END $$",
    );
    assert!(matches!(&*state, "53200" | "54000"), "{state}");
    let rows = "DO $$ DECLARE r record; BEGIN FOR r IN SELECT repeat('x', 1000) FROM generate_series(1, 1000000) LOOP END LOOP; END $$";
    assert_eq!(talk.run(rows).state(), "53200");
    assert_eq!(talk.rows("SELECT 1"), [[Some("1".to_string())]]);
    // No text makes it panic.
    let words = [
        "BEGIN",
        "END",
        "IF",
        "THEN",
        "LOOP",
        ";",
        ":=",
        "x",
        "1",
        "(",
        ")",
        "[",
        "'",
        "DECLARE",
        "RAISE",
        "%",
        "..",
        "<<",
        ">>",
        "INTO",
        "SELECT",
        "EXCEPTION",
        "WHEN",
        "OTHERS",
        "$1",
        "\"",
        "FOR",
        "IN",
        "é",
    ];
    let mut seed = 88_172_645_463_325_252_u64;
    for _ in 0..3000 {
        let mut text = String::from("DECLARE x int; BEGIN ");
        for _ in 0..12 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            text.push_str(words[(seed % words.len() as u64) as usize]);
            text.push(' ');
        }
        talk.run("SET statement_timeout = 500");
        talk.run(&format!("DO $body${text}$body$"));
    }
}

#[test]
fn rights_are_those_of_the_role() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in [
        "CREATE ROLE worker LOGIN",
        "CREATE TABLE open_t (a int)",
        "CREATE TABLE closed (a int)",
        "GRANT SELECT, INSERT ON open_t TO worker",
    ] {
        talk.rows(statement);
    }
    let mut worker = fixture.session_of("worker");
    worker.rows("DO $$ DECLARE n int; BEGIN INSERT INTO open_t VALUES (1); SELECT count(*) INTO n FROM open_t; END $$");
    for inner in [
        "PERFORM a FROM closed",
        "INSERT INTO closed VALUES (1)",
        "UPDATE open_t SET a = 2",
        "DELETE FROM open_t",
        "TRUNCATE open_t",
        "DROP TABLE open_t",
        "CREATE TABLE public.mine (a int)",
        "EXECUTE 'SELECT a FROM closed'",
        "GRANT SELECT ON closed TO worker",
    ] {
        let state = error(&mut worker, &format!("DO $$ BEGIN {inner}; END $$")).0;
        assert_eq!(state, "42501", "{inner}");
    }
    let trapped = "DO $$ BEGIN BEGIN PERFORM a FROM closed; EXCEPTION WHEN insufficient_privilege THEN INSERT INTO open_t VALUES (5); END; END $$";
    worker.rows(trapped);
    assert_eq!(talk.rows("SELECT sum(a) FROM open_t"), [[Some("6".to_string())]]);
    worker.rows("SET default_transaction_read_only = on");
    let state = error(&mut worker, "DO $$ BEGIN INSERT INTO open_t VALUES (9); END $$").0;
    assert_eq!(state, "25006");
}

#[test]
fn blocks_are_part_of_the_transaction() {
    let fixture = Fixture::new(false);
    let (mut talk, mut other) = (fixture.session(), fixture.session());
    talk.rows("CREATE TABLE t (a int)");
    talk.rows("BEGIN");
    talk.rows("DO $$ BEGIN INSERT INTO t VALUES (1); END $$");
    talk.rows("SAVEPOINT s");
    talk.rows("DO $$ BEGIN INSERT INTO t VALUES (2); CREATE TABLE u (a int); END $$");
    assert_eq!(other.rows("SELECT count(*) FROM t"), [[Some("0".to_string())]]);
    talk.rows("ROLLBACK TO s");
    assert_eq!(error(&mut talk, "SELECT * FROM u").0, "42P01");
    talk.rows("ROLLBACK TO s");
    talk.rows("COMMIT");
    assert_eq!(other.rows("SELECT a FROM t"), [[Some("1".to_string())]]);
    // Alone it is a transaction of its own: all of it, or nothing.
    let failed =
        "DO $$ BEGIN INSERT INTO t VALUES (3); CREATE INDEX i ON t (a); PERFORM 1/0; END $$";
    assert_eq!(error(&mut talk, failed).0, "22012");
    assert_eq!(other.rows("SELECT a FROM t"), [[Some("1".to_string())]]);
    // At REPEATABLE READ all of its statements see what there was.
    talk.rows("BEGIN ISOLATION LEVEL REPEATABLE READ");
    talk.rows("SELECT a FROM t");
    other.rows("INSERT INTO t VALUES (7)");
    let seen = talk.run(
        "DO $$ DECLARE n int; BEGIN SELECT count(*) INTO n FROM t; RAISE NOTICE '%', n; END $$",
    );
    assert_eq!(seen.notices, [("00000".to_string(), "1".to_string())]);
    talk.rows("COMMIT");
}
