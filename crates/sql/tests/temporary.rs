//! Are temporary relations the session's alone, and do they go with it?
//!
//! Scripts of several sessions, each line with its session, run here and in a private PostgreSQL 15 (a Debian package): what
//! comes of each must be the same. `{a}` stands for the schema of session a's temporary relations, and is written so in
//! what is compared.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use onlap::{Database, Options, SyncMode};
use onlap_sql::Instance;
use onlap_testkit::postgres::{self, Postgres};
use onlap_testkit::programs;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::{Fixture, Talk};

const SCRIPT: &str = include_str!("../testdata/temporary.sessions");
const OWN_SCHEMA: &str = "select nspname from pg_namespace where oid = pg_my_temp_schema()";

/// One of the two systems.
trait System {
    fn run(&mut self, session: &str, sql: &str) -> Outcome;
    /// Ends a session.
    fn end(&mut self, session: &str);
}

/// The role of a session: its name, except for those of the superuser.
fn role(session: &str) -> &str {
    if session.len() == 1 { "postgres" } else { session }
}

struct Onlap {
    fixture: Fixture,
    sessions: BTreeMap<String, Talk>,
}

impl System for Onlap {
    fn run(&mut self, session: &str, sql: &str) -> Outcome {
        let fixture = &self.fixture;
        let new = || fixture.session_of(role(session));
        self.sessions.entry(session.to_string()).or_insert_with(new).run(sql)
    }
    fn end(&mut self, session: &str) {
        self.sessions.remove(session);
    }
}

struct Theirs {
    postgres: Postgres,
    sessions: BTreeMap<String, SimpleClient>,
}

impl System for Theirs {
    fn run(&mut self, session: &str, sql: &str) -> Outcome {
        let port = self.postgres.port();
        let new = || SimpleClient::connect(port, role(session), "postgres").expect("it is there");
        let client = self.sessions.entry(session.to_string()).or_insert_with(new);
        client.run(sql).expect("PostgreSQL answers")
    }
    fn end(&mut self, session: &str) {
        self.sessions.remove(session);
        // It cleans up after the client is gone.
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// What comes of each line, with the schemas of sessions by their letters.
fn outcomes(system: &mut dyn System) -> Vec<String> {
    let mut schemas: BTreeMap<String, String> = BTreeMap::new();
    let mut all = Vec::new();
    for line in SCRIPT.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (session, said) = line.split_once(": ").expect("a session and a statement");
        if said == "end" {
            system.end(session);
            continue;
        }
        let mut sql = said.to_string();
        for (session, schema) in &schemas {
            sql = sql.replace(&format!("{{{session}}}"), schema);
        }
        let outcome = system.run(session, &sql);
        if let Some([Some(schema)]) = system.run(session, OWN_SCHEMA).rows.first().map(|r| &r[..]) {
            schemas.insert(session.to_string(), schema.clone());
        }
        let (error, rows) = (outcome.error, outcome.rows);
        let mut shown = format!("{line}\n  {error:?} {:?} {rows:?}", outcome.tags);
        for (session, schema) in &schemas {
            shown = shown.replace(schema.as_str(), &format!("{{{session}}}"));
        }
        all.push(shown);
    }
    all
}

#[test]
fn sessions_have_their_own_as_in_postgresql() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let mut onlap = Onlap { fixture: Fixture::new(false), sessions: BTreeMap::new() };
    let mut theirs = Theirs { postgres: Postgres::start(), sessions: BTreeMap::new() };
    let (own, other) = (outcomes(&mut onlap), outcomes(&mut theirs));
    let pairs = own.iter().zip(&other).filter(|(own, other)| own != other);
    let differ: Vec<String> =
        pairs.map(|(own, other)| format!("{own}\nPostgreSQL:\n{other}")).collect();
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
}

/// What there is that is temporary, and the engine's tables and sequences.
fn left(instance: &Instance, talk: &mut Talk) -> (Vec<Vec<Option<String>>>, usize) {
    let shown = "select relname from pg_class where relpersistence = 't' union all \
                 select nspname from pg_namespace where nspname like 'pg\\_temp%' order by 1";
    let db = instance.database();
    (talk.rows(shown), db.tables().len() + db.sequences().len())
}

#[test]
fn what_a_killed_process_left_goes_at_the_next_start() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let copy = dir.path().join("copy");
    let open = |path: &std::path::Path| {
        let options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
        Instance::open(Database::open(path, options).expect("it opens")).expect("a catalog")
    };
    let before = {
        let fixture = Fixture::of(open(&dir.path().join("db")));
        let mut lasting = fixture.session();
        lasting.rows("create table stays (id serial primary key)");
        lasting.rows("create database other");
        let before = left(&fixture.instance, &mut lasting);
        assert_eq!(before.0, Vec::<Vec<Option<String>>>::new());
        let mut first = fixture.session();
        let mut second = fixture.session_in("postgres", "other");
        for talk in [&mut first, &mut second] {
            talk.rows("create temp table p (id serial primary key, t text unique)");
            talk.rows("create temp table c (id int references p) on commit delete rows");
            talk.rows("create index c_id on c (id)");
            talk.rows("create view v as select * from p");
            talk.rows("create temp sequence s");
            talk.rows("comment on table p is 'goes'");
        }
        first.rows("create table fills (n int default nextval('s'))");
        // As it is while the sessions are there: a kill leaves no more.
        fixture.instance.database().backup(&copy).expect("a copy");
        first.rows("drop table fills");
        drop((first, second));
        assert_eq!(left(&fixture.instance, &mut lasting), before, "sessions take theirs along");
        before
    };
    let fixture = Fixture::of(open(&copy));
    let mut talk = fixture.session();
    talk.rows("drop table fills");
    assert_eq!(left(&fixture.instance, &mut talk), before);
    let comments = "select count(*) from pg_description where description = 'goes'";
    assert_eq!(talk.rows(comments), [[Some("0".to_string())]]);
    talk.rows("create temp table p (id serial primary key, t text unique)");
    assert_eq!(talk.rows("select count(*) from p"), [[Some("0".to_string())]]);
}

#[test]
fn sessions_that_only_read_by_default_drop_theirs() {
    let fixture = Fixture::new(false);
    let mut lasting = fixture.session();
    let before = left(&fixture.instance, &mut lasting);
    let mut talk = fixture.session();
    for ends in ["discard temp", "discard all"] {
        talk.rows("create temp table p (id serial primary key, t text)");
        talk.rows("create temp view v as select * from p");
        talk.rows("set default_transaction_read_only = on");
        talk.rows("insert into p values (1, 'own')");
        talk.rows(ends);
        assert_eq!(talk.run("select * from p").state(), "42P01", "{ends}");
        talk.rows("set default_transaction_read_only = off");
    }
    talk.rows("create temp table p (id serial primary key, t text)");
    talk.rows("set default_transaction_read_only = on");
    drop(talk);
    assert_eq!(left(&fixture.instance, &mut lasting), before);
}
