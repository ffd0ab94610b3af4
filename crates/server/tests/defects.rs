//! What do a client and the log learn of a mistake of ours?
//!
//! Faults are planted below the steps of plans, where the libraries' errors come from.

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

mod common;

use std::net::TcpStream;

use common::{Answer, Running, Wire, config, kinds, start};
use onlap_sql::{Fault, PLANTED};

/// What runs by steps.
const SELECT: &str = "select a.s, count(*) from t a join t b using (id) group by a.s";
/// Words that no client is to see.
const INTERNAL: [&str; 8] = [
    "planted",
    "Exec",
    "DataFusion",
    "Arrow",
    "arrow",
    "Compute",
    "Internal error",
    "not implemented",
];

fn with_rows() -> (Running, Wire<TcpStream>) {
    let running = start(config());
    let mut wire = running.session();
    for sql in [
        "create table t (id int primary key, s text)",
        "create table u (s text, n bigint)",
        "insert into t select n, 'secret' || n from generate_series(1, 10) n",
    ] {
        assert_eq!(kinds(&wire.query(sql)), "CZ", "{sql}");
    }
    (running, wire)
}

/// Parse, Bind, Describe, Execute and Sync of a statement.
fn extended(wire: &mut Wire<TcpStream>, sql: &str) -> Vec<Answer> {
    wire.send(b'P', &[b"\0", sql.as_bytes(), b"\0\0\0"].concat());
    wire.send(b'B', &[0; 8]);
    wire.send(b'D', b"P\0");
    wire.send(b'E', &[0; 5]);
    wire.send(b'S', b"");
    wire.until(b'Z')
}

/// The id of a sentence, which is all that it has.
fn id_of(sentence: &str) -> String {
    let rest = sentence.strip_prefix("internal error ").expect(sentence);
    let (id, rest) = rest.split_at(8);
    assert!(id.bytes().all(|b| b.is_ascii_hexdigit()), "{sentence}");
    assert_eq!(rest, "; the server's log has its details", "{sentence}");
    id.to_owned()
}

/// The id of the one error among answers, none of which says what is inside.
fn refused(answers: &[Answer], severity: &str) -> String {
    for answer in answers {
        let text = String::from_utf8_lossy(&answer.body);
        let said = INTERNAL.iter().find(|word| text.contains(**word));
        assert_eq!(said, None, "{text:?}");
    }
    let errors: Vec<&Answer> = answers.iter().filter(|answer| answer.kind == b'E').collect();
    let [error] = errors[..] else { panic!("{answers:?}") };
    assert_eq!((error.field(b'S').as_str(), error.field(b'C').as_str()), (severity, "XX000"));
    id_of(&error.field(b'M'))
}

/// The log has a defect once, with all that is known of it.
fn is_logged(running: &Running, id: &str, statement: &str) {
    let lines = running.lines(&format!("internal error {id}: "));
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.contains(" ERROR XX000 internal error "), "{line}");
    assert!(line.contains(PLANTED), "{line}");
    assert!(line.contains(&format!("; statement: {statement}")), "{line}");
    let (_, plan) = line.split_once("; plan: ").expect("a plan");
    assert!(plan.contains(" |   ") && plan.contains("Join"), "{plan}");
}

#[test]
fn clients_get_an_id_and_the_log_gets_the_rest() {
    let (running, mut wire) = with_rows();
    let insert = format!("insert into u {SELECT}");
    let copy = format!("copy ({SELECT}) to stdout");
    let explain = format!("explain analyze {SELECT}");
    for fault in [Fault::Steps, Fault::Missing, Fault::Arrow] {
        for sql in [SELECT, &insert, &copy, &explain] {
            running.instance.plant(fault, 0);
            let id = refused(&wire.query(sql), "ERROR");
            is_logged(&running, &id, sql);
            running.instance.plant(fault, 0);
            let id = refused(&extended(&mut wire, sql), "ERROR");
            is_logged(&running, &id, sql);
        }
    }
    assert_eq!(running.lines("XX000").len(), 24);
    assert_eq!(wire.query(SELECT).len(), 13, "the session goes on");
    assert_eq!(wire.query("select count(*) from u")[1].values(), ["0"]);
}

#[test]
fn handlers_of_routines_get_no_more() {
    let (running, mut wire) = with_rows();
    let body = format!(
        "$$ declare n bigint; begin \
         select count(*) into n from ({SELECT}) x; return 'nothing'; \
         exception when internal_error then return sqlstate || ' ' || sqlerrm; end $$"
    );
    wire.query(&format!("create function f() returns text language plpgsql as {body}"));
    // The query that calls it is the first plan.
    running.instance.plant(Fault::Steps, 1);
    let answers = wire.query("select f() from (select 1 offset 0) x");
    assert_eq!(kinds(&answers), "TDCZ", "{answers:?}");
    let told = answers[1].values().remove(0);
    let id = id_of(told.strip_prefix("XX000 ").expect("the state"));
    let lines = running.lines(&id);
    assert!(lines.len() == 1 && lines[0].contains(PLANTED), "{lines:?}");

    running.instance.plant(Fault::Arrow, 0);
    let answers = wire.query(
        "do $$ begin perform count(*) from t a join t b using (id); \
         exception when others then raise warning '%', sqlerrm; end $$",
    );
    assert_eq!(kinds(&answers), "NCZ", "{answers:?}");
    let id = id_of(&answers[0].field(b'M'));
    let lines = running.lines(&id);
    assert!(lines.len() == 1 && lines[0].contains(PLANTED), "{lines:?}");
}

#[test]
fn a_panic_of_a_plan_has_an_id_and_its_plan() {
    let (running, mut other) = with_rows();
    for is_simple in [true, false] {
        let mut wire = running.session();
        running.instance.plant(Fault::Panic, 0);
        match is_simple {
            true => wire.send(b'Q', &[SELECT.as_bytes(), b"\0"].concat()),
            false => {
                wire.send(b'P', &[b"\0", SELECT.as_bytes(), b"\0\0\0"].concat());
                wire.send(b'B', &[0; 8]);
                wire.send(b'E', &[0; 5]);
            }
        }
        let id = refused(&wire.until(b'E'), "FATAL");
        assert!(wire.is_ended());
        is_logged(&running, &id, SELECT);
    }
    assert_eq!(running.server.counts().panics, 2);
    assert_eq!(kinds(&other.query("select 1")), "TDCZ", "other sessions go on");
}

#[test]
fn what_postgresql_says_itself_keeps_its_words() {
    let (running, mut wire) = with_rows();
    wire.query("create extension hstore");
    let answers = wire.query("select 'a=>'::hstore");
    let error = answers.iter().find(|answer| answer.kind == b'E').expect("an error");
    assert_eq!(error.field(b'C'), "XX000");
    assert_eq!(error.field(b'M'), "Unexpected end of string");
    assert_eq!(running.lines("internal error").len(), 0);
}
