//! What differs between a script of several sessions, of which some wait for others, here and in a private PostgreSQL 15?
//!
//! A line is `SESSION: STATEMENT`; `SESSION~ STATEMENT` is one that is expected to wait, and goes on while those that follow run
//! until `SESSION<` asks what became of it. `SESSION: end` closes a session. Scripts are apart where a line begins with `==`:
//! each has a database of its own, and a name.

use std::collections::BTreeMap;
use std::time::Duration;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::{Outcome, SimpleClient};

use crate::actor::Actor;
use crate::support::Fixture;

/// A statement that has not ended by then waits; one that does not wait, or waits no more, is given much longer.
const WAIT: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(20);

/// The answers to a script, a line each.
fn play(
    script: &str,
    open: &dyn Fn() -> Actor<Outcome>,
    shown: &dyn Fn(&Outcome) -> String,
) -> Vec<String> {
    let mut actors: BTreeMap<String, Actor<Outcome>> = BTreeMap::new();
    let mut said = Vec::new();
    for line in script.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let at = line.find([':', '~', '<']).expect("a session and a statement");
        let (session, sql) = (&line[..at], line[at + 1..].trim());
        let actor = actors.entry(session.to_string()).or_insert_with(open);
        let answer = match line.as_bytes()[at] {
            b'<' => actor.answer(PATIENCE),
            b'~' => {
                actor.begin(sql);
                said.push(actor.answer(WAIT).map_or("waits".into(), |early| shown(&early)));
                continue;
            }
            _ if sql == "end" => {
                actors.remove(session);
                said.push(String::new());
                continue;
            }
            _ => {
                actor.begin(sql);
                actor.answer(PATIENCE)
            }
        };
        let Some(answer) = answer else {
            said.push("does not end".into());
            break;
        };
        said.push(shown(&answer));
    }
    said
}

/// Fails where an answer to a line is another one here than in PostgreSQL.
pub fn compare(scripts: &str, shown: impl Fn(&Outcome) -> String) {
    let postgres = Postgres::start();
    let run = |client: &mut SimpleClient, sql: &str| client.run(sql).expect("PostgreSQL answers");
    let connect = |database: &str| SimpleClient::connect(postgres.port(), "postgres", database);
    let mut differ = Vec::new();
    for (number, script) in scripts.split("\n==").enumerate() {
        let (name, script) = script.split_once('\n').expect("a name and lines");
        let database = format!("d{number}");
        let mut maker = connect("postgres").expect("it is there");
        assert_eq!(run(&mut maker, &format!("create database {database}")).error, None);
        let fixture = std::sync::Arc::new(Fixture::new(false));
        let ours = play(
            script,
            &|| {
                let (mut talk, fixture) = (fixture.session(), std::sync::Arc::clone(&fixture));
                Actor::new(move |sql| {
                    let _directory = &fixture;
                    talk.run(sql)
                })
            },
            &shown,
        );
        let theirs = play(
            script,
            &|| {
                let mut client = connect(&database).expect("it is there");
                Actor::new(move |sql| run(&mut client, sql))
            },
            &shown,
        );
        let lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for ((line, ours), theirs) in lines.zip(&ours).zip(&theirs) {
            if ours != theirs {
                let name = name.trim_start_matches(['=', ' ']);
                differ.push(format!("{name}: {line}\n  ours   {ours}\n  theirs {theirs}"));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
