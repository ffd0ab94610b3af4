//! May every role do what it may in PostgreSQL, and is what it may not refused in the same words?
//!
//! Runs a script of statements by several roles, here and in a private PostgreSQL 15, and compares rows,
//! SQLSTATE and message of each. Needs the Debian package postgresql.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::io::Write;
use std::process::Stdio;

use onlap::{Database, Options, SyncMode};
use onlap_sql::Instance;
use onlap_testkit::postgres::{self, Postgres};
use onlap_testkit::programs;
use support::{Fixture, Talk};

/// Role and statement of each line of a script.
fn lines(script: &str) -> Vec<(&str, &str)> {
    let lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.map(|line| line.split_once(": ").expect("a role and a statement")).collect()
}

/// Whether the detail of an error is compared: it lists what hangs on the role, or shows values.
fn shows_detail(statement: &str) -> bool {
    ["drop role", "insert", "update", "delete"].iter().any(|verb| statement.starts_with(verb))
}

/// The lines of a list, whose order is that of OIDs.
fn sorted(list: &str) -> String {
    let mut lines: Vec<&str> = list.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// What PostgreSQL gives: rows, or SQLSTATE and message.
fn theirs(postgres: &Postgres, role: &str, statement: &str) -> String {
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-F", "|"]).stdin(Stdio::piped());
    psql.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = psql.spawn().expect("psql is installed");
    let mut input = child.stdin.take().expect("piped");
    let text = format!(
        "set client_min_messages = error;\nset session authorization {role};\n\
         \\set VERBOSITY verbose\n{statement};\n"
    );
    input.write_all(text.as_bytes()).expect("psql reads");
    drop(input);
    let output = child.wait_with_output().expect("psql ends");
    let said = String::from_utf8_lossy(&output.stderr);
    match said.lines().find_map(|line| line.split_once("ERROR:  ")) {
        Some((_, error)) if shows_detail(statement) => {
            let detail = said.split_once("DETAIL:  ").map_or("", |(_, rest)| rest);
            let end = detail.find("SCHEMA NAME:  ").or_else(|| detail.find("LOCATION:  "));
            let detail = &detail[..end.unwrap_or(detail.len())];
            format!("{error}\n{}", sorted(detail.trim_end()))
        }
        Some((_, error)) => error.to_string(),
        None => String::from_utf8_lossy(&output.stdout).trim().to_string(),
    }
}

/// What is given here.
fn ours(fixture: &Fixture, role: &str, statement: &str) -> String {
    let mut talk: Talk = fixture.session();
    talk.rows(&format!("set session authorization {role}"));
    let mut given = String::new();
    for part in statement.split("; ") {
        let outcome = talk.run(part);
        match outcome.error {
            Some((state, message)) if shows_detail(part) => {
                return format!("{state}: {message}\n{}", sorted(&outcome.detail));
            }
            Some((state, message)) => return format!("{state}: {message}"),
            None => {}
        }
        let value = |v: &Option<String>| v.clone().unwrap_or_default();
        let rows = outcome.rows.iter();
        let rows = rows.map(|row| row.iter().map(value).collect::<Vec<_>>().join("|"));
        given = rows.collect::<Vec<_>>().join("\n");
    }
    given
}

#[test]
fn what_roles_may_is_what_they_may_in_postgresql() {
    compare(include_str!("../testdata/rights/holes.sql"));
}

#[test]
fn there_is_no_way_around_rights() {
    compare(include_str!("../testdata/rights/ways_around.sql"));
}

fn compare(script: &str) {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let postgres = Postgres::start();
    let fixture = Fixture::new(false);
    let superuser = theirs(&postgres, "current_user", "select 1");
    assert!(!superuser.is_empty());
    let mut different = Vec::new();
    for (role, statement) in lines(script) {
        let (here, there) = (ours(&fixture, role, statement), theirs(&postgres, role, statement));
        // What a plan looks like is each database's own.
        let same = here == there || statement.starts_with("explain") && !there.contains(": ");
        if !same {
            different.push(format!("{role}: {statement}\n  ours {here:?}\n  theirs {there:?}"));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}

#[test]
fn a_prepared_statement_is_judged_when_it_runs() {
    let fixture = Fixture::new(false);
    let mut owner = fixture.session();
    for sql in [
        "create table t (id int primary key, v text)",
        "insert into t values (1, 'one')",
        "create role reader login",
        "create role other login",
        "grant select on t to reader",
        "grant other to reader",
    ] {
        owner.rows(sql);
    }
    let mut reader = fixture.session_of("reader");
    for fast in ["on", "off"] {
        reader.rows(&format!("set fast_path = {fast}"));
        reader.rows(&format!("prepare p_{fast} (int) as select v from t where id = $1"));
        let execute = format!("execute p_{fast}(1)");
        assert_eq!(reader.rows(&execute).len(), 1);
        reader.rows("set role other");
        assert_eq!(reader.run(&execute).error.expect("refused").0, "42501");
        reader.rows("reset role");
        assert_eq!(reader.rows(&execute).len(), 1);
        owner.rows("revoke select on t from reader");
        assert_eq!(reader.run(&execute).error.expect("refused").0, "42501");
        owner.rows("grant select on t to reader");
        assert_eq!(reader.rows(&execute).len(), 1);
        // What a transaction has changed itself counts in it.
        owner.rows("begin");
        owner.rows("revoke select on t from reader");
        owner.rows("set local role reader");
        assert_eq!(owner.run("select * from t").error.expect("refused").0, "42501");
        owner.rows("rollback");
        assert_eq!(owner.rows("select current_user")[0][0].as_deref(), Some("postgres"));
    }
    owner.rows("begin");
    owner.rows("set local role reader");
    owner.rows("commit");
    assert_eq!(owner.rows("select current_user")[0][0].as_deref(), Some("postgres"));
}

#[test]
fn sessions_of_others_are_theirs() {
    let fixture = Fixture::new(false);
    let mut owner = fixture.session();
    for sql in
        ["create role a login", "create role b login", "create role watch login in role pg_monitor"]
    {
        owner.rows(sql);
    }
    let (mut a, mut b) = (fixture.session_of("a"), fixture.session_of("b"));
    owner.rows("alter role a password 'in the clear'");
    let pid = |talk: &mut Talk| talk.rows("select pg_backend_pid()")[0][0].clone().expect("a pid");
    let (of_a, of_b, of_owner) = (pid(&mut a), pid(&mut b), pid(&mut owner));
    owner.rows("alter role a password 'in the clear'");
    let seen = |talk: &mut Talk, pid: &str| {
        let rows =
            talk.rows(&format!("select query, state from pg_stat_activity where pid = {pid}"));
        rows[0].clone()
    };
    let hidden = vec![Some("<insufficient privilege>".to_string()), None];
    assert_eq!(seen(&mut a, &of_b), hidden);
    assert_ne!(seen(&mut a, &of_a), hidden);
    assert_eq!(seen(&mut a, &of_owner), hidden);
    let mut watch = fixture.session_of("watch");
    let shown = seen(&mut watch, &of_owner)[0].clone().expect("a statement");
    assert_eq!(shown, "alter role a password '********'");
    for function in ["pg_cancel_backend", "pg_terminate_backend"] {
        for other in [&of_b, &of_owner] {
            let error = a.run(&format!("select {function}({other})")).error.expect("refused");
            assert_eq!(error.0, "42501", "{error:?}");
        }
    }
    owner.rows("grant pg_signal_backend to a");
    assert_eq!(a.rows(&format!("select pg_cancel_backend({of_b})"))[0][0].as_deref(), Some("t"));
    let error = a.run(&format!("select pg_cancel_backend({of_owner})")).error.expect("refused");
    assert_eq!(error.1, "must be a superuser to cancel superuser query");
}

#[test]
fn a_server_that_asked_for_passwords_asks_for_ever() {
    let fixture = Fixture::new(false);
    let mut owner = fixture.session();
    assert!(!fixture.instance.has_passwords());
    owner.rows("create role a login password 'x'");
    assert!(fixture.instance.has_passwords());
    owner.rows("alter role a password null");
    assert!(fixture.instance.has_passwords(), "no password is left, and none is let in without");
    owner.rows("drop role a");
    assert!(fixture.instance.has_passwords());
    assert_eq!(fixture.instance.secret("postgres"), onlap_sql::Secret::Unknown);
}

/// What the release before kept: roles by name, views by text.
#[test]
fn rights_of_older_databases_are_kept() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = || Options::default().sync(SyncMode::Os);
    let db = Database::open(dir.path(), options()).expect("an empty database opens");
    let instance = Instance::open(db.clone()).expect("an empty catalog");
    let fixture = Fixture::of(instance);
    let mut owner = fixture.session();
    for sql in [
        "create role a login",
        "create role b login",
        "create schema own",
        "create table own.t (id serial primary key, v text)",
        "create view own.w as select id, v from own.t",
        "insert into own.t (v) values ('x')",
    ] {
        owner.rows(sql);
    }
    let oid = owner.rows("select 'own.t'::regclass::oid")[0][0].clone().expect("an OID");
    drop(owner);
    drop(fixture);
    let table = db.table("onlap_objects").expect("the objects");
    let mut tx = db.begin().expect("a transaction");
    let text = |s: &str| onlap::Value::Text(s.to_string());
    let mut put = |kind: &str, name: &str, number: i64, body: &str| {
        let key = [text(kind), text(name)];
        tx.delete(&table, &key).expect("deletes");
        let [kind, name] = key;
        tx.insert(&table, &[kind, name, onlap::Value::Int(number), text(body)]).expect("inserts");
    };
    put("privileges", &oid, 900, r#"{"owner":"a","grants":{"b":["select"],"public":["insert"]}}"#);
    put("schema", "postgres/own", 901, r#"{"owner":"a"}"#);
    put(
        "view",
        "own.w",
        902,
        r#"{"sql":"SELECT id, v FROM own.t","columns":[{"name":"id","type":"integer"},{"name":"v","type":"text"}],"tables":["own.t"]}"#,
    );
    tx.commit().expect("commits");
    let fixture = Fixture::of(Instance::open(db).expect("an older catalog opens"));
    let mut owner = fixture.session();
    let value = |talk: &mut Talk, sql: &str| talk.rows(sql)[0][0].clone().unwrap_or_default();
    owner.rows("alter role a rename to renamed");
    let mut a = fixture.session_of("renamed");
    assert_eq!(value(&mut a, "select v from own.t"), "x");
    a.rows("insert into own.t (v) values ('y')");
    a.rows("create table own.more (i int)");
    let mut b = fixture.session_of("b");
    assert_eq!(b.run("select v from own.t").error.expect("no USAGE").0, "42501");
    a.rows("grant usage on schema own to b");
    assert_eq!(value(&mut b, "select v from own.t where id = 1"), "x");
    assert_eq!(b.run("update own.t set v = ''").error.expect("refused").0, "42501");
    owner.rows("alter table own.t rename to u");
    assert_eq!(value(&mut owner, "select v from own.w where id = 1"), "x");
}

#[test]
fn a_view_follows_what_it_was_made_of() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "create table t (id int primary key, v text, n int)",
        "insert into t values (1, 'one', 10)",
        "create view w as select v, id from t where id > 0",
        "create view x as with t as (select * from t) select v from t",
        "create schema other",
        "alter table t rename to u",
        "alter table u set schema other",
        "alter table other.u rename column v to word",
        "alter table other.u add column more int",
        "create table t (id int primary key, v text, n int)",
        "insert into t values (2, 'another', 20)",
    ] {
        talk.rows(sql);
    }
    let one = vec![vec![Some("one".to_string()), Some("1".to_string())]];
    assert_eq!(talk.rows("select * from w"), one);
    assert_eq!(talk.rows("select * from x"), vec![vec![Some("one".to_string())]]);
    let text = talk.rows("select pg_get_viewdef('w')")[0][0].clone().expect("a definition");
    assert!(text.contains("other.u"), "{text}");
    assert_eq!(talk.rows(text.trim().trim_end_matches(';')), one, "{text}");
    let error = |talk: &mut Talk, sql: &str| talk.run(sql).error.expect(sql).0;
    assert_eq!(error(&mut talk, "alter table other.u drop column word"), "2BP01");
    assert_eq!(error(&mut talk, "alter table other.u alter column word type varchar(9)"), "0A000");
    assert_eq!(error(&mut talk, "drop table other.u"), "2BP01");
    // What a view says by * it reads.
    assert_eq!(error(&mut talk, "alter table other.u drop column n"), "2BP01");
    talk.rows("drop view x");
    talk.rows("alter table other.u drop column n");
    assert_eq!(talk.rows("select * from w"), one);
    talk.rows("alter table other.u drop column word cascade");
    assert_eq!(error(&mut talk, "select * from w"), "42P01");
}
