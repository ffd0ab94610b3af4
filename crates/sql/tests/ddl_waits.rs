//! Which statements on the catalog wait for which?
//!
//! Schedules of several sessions in two databases, of which the first has changed the catalog and not committed.
//! What each step says (done, refused, or waiting) is compared with a PostgreSQL 15 that does the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/actor.rs"]
mod actor;
mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use onlap_sql::{Session, SessionInfo};
use onlap_testkit::postgres::{self, Postgres};
use onlap_testkit::programs;
use support::{Fixture, Memory, Talk};

/// A statement that has not ended by then waits. Those that must not wait are given much longer.
const WAIT: Duration = Duration::from_millis(700);
const PATIENCE: Duration = Duration::from_secs(60);

/// The databases of the sessions of a schedule, by their numbers.
const SESSIONS: [&str; 3] = ["a", "b", "a"];

/// One schedule: which session says what, and whether it is to wait there.
type Schedule<'a> = &'a [(usize, &'a str, bool)];

const NO: bool = false;
const WAITS: bool = true;

const SCHEDULES: &[(&str, Schedule<'_>)] = &[
    (
        "two databases have nothing in common",
        &[
            (0, "begin", NO),
            (0, "create table t (id serial primary key, n int unique)", NO),
            (0, "create index t_n on t (n)", NO),
            (0, "create view v as select n from t", NO),
            (0, "create schema s", NO),
            (0, "alter table old add column more int default 3", NO),
            (0, "drop table gone", NO),
            (1, "create table t (id serial primary key, n int unique)", NO),
            (1, "begin", NO),
            (1, "create schema s", NO),
            (1, "create view v as select id from t", NO),
            (1, "alter table old rename to older", NO),
            (1, "create sequence numbers", NO),
            (1, "drop table gone", NO),
            (1, "commit", NO),
            (0, "commit", NO),
            (0, "select more from old", NO),
            (1, "select id from older", NO),
        ],
    ),
    (
        "nor have tables of one database",
        &[
            (0, "begin", NO),
            (0, "create table t (id serial primary key, n int unique)", NO),
            (0, "alter table old add column more int", NO),
            (0, "create sequence numbers", NO),
            (2, "begin", NO),
            (2, "create table u (id serial primary key, n int unique)", NO),
            (2, "create index gone_id on gone (id)", NO),
            (2, "drop table parted", NO),
            (2, "commit", NO),
            (2, "create index parent_n on parent (n)", NO),
            (0, "commit", NO),
        ],
    ),
    (
        "a name is waited for and taken",
        &[
            (0, "begin", NO),
            (0, "create table t (id int primary key)", NO),
            (2, "create table t (id int primary key)", WAITS),
            (0, "commit", NO),
        ],
    ),
    (
        "a name is waited for and free",
        &[
            (0, "begin", NO),
            (0, "create table t (id int primary key)", NO),
            (2, "create table t (id int primary key)", WAITS),
            (0, "rollback", NO),
            (0, "select id from t", NO),
        ],
    ),
    (
        "tables, views, indexes and sequences share their names",
        &[
            (0, "begin", NO),
            (0, "create view t as select 1 as one", NO),
            (2, "create table t (id int primary key)", WAITS),
            (0, "commit", NO),
            (0, "begin", NO),
            (0, "create sequence x", NO),
            (2, "create index x on old (id)", WAITS),
            (0, "commit", NO),
            (0, "begin", NO),
            (0, "create index y on old (id)", NO),
            (2, "create view y as select 1 as one", WAITS),
            (0, "commit", NO),
        ],
    ),
    (
        "what is dropped is waited for",
        &[
            (0, "begin", NO),
            (0, "drop table gone", NO),
            (2, "drop table gone", WAITS),
            (0, "commit", NO),
            (0, "begin", NO),
            (0, "drop table parted", NO),
            (2, "drop table parted", WAITS),
            (0, "rollback", NO),
            (0, "select id from parted", NO),
        ],
    ),
    (
        "a new name is taken from the statement on",
        &[
            (0, "begin", NO),
            (0, "alter table old rename to new", NO),
            (2, "create table old (id int)", NO),
            (2, "create table new (id int)", WAITS),
            (0, "commit", NO),
            (2, "create table old (id int)", NO),
        ],
    ),
];

const BEGIN: [&str; 4] = [
    "create table old (id int primary key, n int)",
    "create table gone (id int primary key)",
    "create table parted (id int primary key)",
    "create table parent (id int primary key, n int)",
];

/// A session that answers with SQLSTATEs, empty where all is well.
type Actor = actor::Actor<String>;

fn run(actor: &Actor, sql: &str) -> String {
    actor.begin(sql);
    actor.answer(PATIENCE).unwrap_or_else(|| panic!("{sql} does not end"))
}

/// What each step says; what waited says it when the next step of another session has ended.
fn play(schedule: Schedule<'_>, actors: &[Actor]) -> Vec<String> {
    let mut said = Vec::new();
    let mut waiting: Option<(usize, usize)> = None;
    for (step, &(who, sql, waits)) in schedule.iter().enumerate() {
        if waits {
            actors[who].begin(sql);
            said.push(match actors[who].answer(WAIT) {
                None => {
                    waiting = Some((step, who));
                    "waits".to_string()
                }
                Some(answer) => answer,
            });
            continue;
        }
        said.push(run(&actors[who], sql));
        if let Some((step, who)) = waiting.take() {
            let answer = actors[who].answer(PATIENCE).expect("what waited goes on");
            said[step] = format!("waits, then {answer}");
        }
    }
    said
}

fn onlap() -> Vec<Actor> {
    let fixture = Arc::new(Fixture::new(false));
    let mut talk = fixture.session();
    let open = |database: &str| {
        let info = SessionInfo {
            user: "postgres".into(),
            database: database.into(),
            ..SessionInfo::default()
        };
        let session = Session::new(&fixture.instance, info).expect("the role may connect");
        Talk { session, client: Memory::default() }
    };
    for database in ["a", "b"] {
        talk.rows(&format!("create database {database}"));
        let mut talk = open(database);
        BEGIN.iter().for_each(|sql| drop(talk.rows(sql)));
    }
    let actor = |database: &&str| {
        let (mut talk, fixture) = (open(database), Arc::clone(&fixture));
        Actor::new(move |sql| {
            let _directory = &fixture;
            talk.run(sql).error.map_or_else(String::new, |(state, _)| state)
        })
    };
    SESSIONS.iter().map(actor).collect()
}

/// A psql that is ended with its actor.
struct Psql(Child);

impl Drop for Psql {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn psql(postgres: &Postgres, database: &str) -> Actor {
    let mut child = postgres
        .psql()
        .args(["-q", "-A", "-d", database])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("psql is installed");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    const END: &str = "<<end of a statement>>";
    let psql = Psql(child);
    Actor::new(move |sql| {
        let _lives = &psql;
        write!(input, "{sql};\n\\echo :SQLSTATE {END}\n").expect("psql lives");
        loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).expect("psql answers") > 0, "psql is gone");
            if let Some(state) = line.trim_end().strip_suffix(END) {
                let state = state.trim();
                return if state == "00000" { String::new() } else { state.to_string() };
            }
        }
    })
}

fn postgresql(postgres: &Postgres) -> Vec<Actor> {
    let maker = psql(postgres, "postgres");
    for database in ["a", "b"] {
        run(&maker, &format!("drop database if exists {database}"));
        assert_eq!(run(&maker, &format!("create database {database}")), "");
        let maker = psql(postgres, database);
        BEGIN.iter().for_each(|sql| assert_eq!(run(&maker, sql), "", "{sql}"));
    }
    SESSIONS.iter().map(|database| psql(postgres, database)).collect()
}

/// As the session is told that waited: PostgreSQL says of a name that was taken meanwhile that a unique index
/// of its catalog has it.
fn as_told(said: &str) -> String {
    said.replace("waits, then 23505", "waits, then 42P07")
}

fn compare(postgres: Option<&Postgres>) {
    for (name, schedule) in SCHEDULES {
        let ours = play(schedule, &onlap());
        for ((_, sql, waits), said) in schedule.iter().zip(&ours) {
            assert_eq!(said.starts_with("waits"), *waits, "{name}: {sql}: {said}");
        }
        let Some(postgres) = postgres else { continue };
        let theirs = play(schedule, &postgresql(postgres));
        for ((ours, theirs), (_, sql, _)) in ours.iter().zip(&theirs).zip(*schedule) {
            assert_eq!(*ours, as_told(theirs), "{name}: {sql}");
        }
    }
}

#[test]
fn changes_of_the_catalog_wait_as_in_postgresql() {
    match programs::are_there(&postgres::NEEDED) {
        true => compare(Some(&Postgres::start())),
        false => compare(None),
    }
}
