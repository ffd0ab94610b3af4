//! Does a plain dump of PostgreSQL load?
//!
//! `testdata/dump.sql` is what pg_dump 15 wrote of the schema in `testdata/dump_source.sql`; it is fed to a
//! session as psql would, statement by statement, the rows of COPY after it.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::{Fixture, Talk};

fn testdata(name: &str) -> String {
    let path = format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a file of the tests")
}

/// Runs a script as psql does.
fn load(talk: &mut Talk, script: &str) {
    let mut lines = script.lines();
    let mut statement = String::new();
    while let Some(line) = lines.next() {
        if statement.is_empty() && (line.is_empty() || line.starts_with("--")) {
            continue;
        }
        statement += line;
        statement.push('\n');
        if !line.ends_with(';') {
            continue;
        }
        if statement.starts_with("COPY ") {
            let rows: Vec<&str> = lines.by_ref().take_while(|line| *line != "\\.").collect();
            let rows: Vec<u8> = rows.iter().flat_map(|r| [r.as_bytes(), b"\n"].concat()).collect();
            talk.client.input = vec![rows];
        }
        let outcome = talk.run(&statement);
        assert_eq!(outcome.error, None, "{statement}");
        statement.clear();
    }
    assert_eq!(statement, "");
}

#[test]
fn a_dump_of_an_ordinary_schema_loads() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    load(&mut talk, &testdata("dump.sql"));
    check(&fixture);
}

/// As `psql -1` sends it.
#[test]
fn a_dump_loads_in_one_transaction() {
    let fixture = Fixture::new(false);
    let count = |talk: &mut Talk| {
        let sql = "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace \
                   where n.nspname in ('public', 'sales')";
        talk.rows(sql)[0][0].clone()
    };
    let mut talk = fixture.session();
    let before = count(&mut fixture.session());
    talk.rows("begin");
    load(&mut talk, &testdata("dump.sql"));
    assert_eq!(talk.rows("select count(*) from public.people")[0][0].as_deref(), Some("3"));
    // Others see nothing of it, and nothing stays.
    assert_eq!(count(&mut fixture.session()), before);
    talk.rows("rollback");
    assert_eq!(count(&mut fixture.session()), before);
    assert!(fixture.session().run("select nextval('people_id_seq')").error.is_some());
    talk.rows("begin");
    load(&mut talk, &testdata("dump.sql"));
    talk.rows("commit");
    check(&fixture);
}

/// What the dump holds.
fn check(fixture: &Fixture) {
    let mut talk = fixture.session();
    let mut one = |sql: &str| {
        let rows = talk.rows(sql);
        rows[0].iter().map(|v| v.clone().unwrap_or("NULL".into())).collect::<Vec<_>>().join("|")
    };
    assert_eq!(one("select count(*), min(name), max(name) from people"), "3|Ada|Grace");
    assert_eq!(one("select count(*), sum(amount) from sales.orders"), "4|110.75");
    assert_eq!(one("select name, total from sales.totals order by name limit 1"), "Ada|100.25");
    let types = "select a, b, c, d, e, f, g, h, i, j, k, l, m, n from all_types order by a limit 1";
    assert_eq!(
        one(types),
        "1|2|3|1.5|2.25|123.45|text|vc|ch   |\\x00ff|b5e9c9a1-0000-4000-8000-000000000001|\
         2024-02-29|12:34:56.789|2024-02-29 12:34:56.789"
    );
    assert_eq!(one("select nextval('people_id_seq')"), "4");
    assert_eq!(one("select nextval('sales.ticket')"), "110");
    let refused = |talk: &mut Talk, sql: &str| talk.run(sql).error.expect(sql).0;
    let mut talk = fixture.session();
    talk.rows("insert into people (name) values ('Next')");
    assert_eq!(refused(&mut talk, "insert into people (name) values ('Ada')"), "23505");
    assert_eq!(refused(&mut talk, "insert into people (name, age) values ('Old', -1)"), "23514");
    assert_eq!(
        refused(&mut talk, "insert into sales.orders (person, amount) values (77, 1)"),
        "23503"
    );
    assert_eq!(
        refused(&mut talk, "insert into sales.orders (id, person, amount) values (77, 1, 1)"),
        "428C9"
    );
    talk.rows("insert into sales.orders (person, amount) values (1, 1)");
    assert_eq!(talk.rows("delete from people where id = 3").len(), 0);
    let left = talk.rows("select count(*) from sales.orders");
    assert_eq!(left, [[Some("4".to_string())]]);
}
