//! Do notifications reach clients as PostgreSQL's do?

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

mod common;

use std::net::TcpStream;
use std::time::Duration;

use common::{Answer, Wire, config, start};
use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::programs;

/// The channel and what is told, of the notifications among answers.
fn told(answers: &[Answer]) -> Vec<(String, String)> {
    let notes = answers.iter().filter(|answer| answer.kind == b'A');
    let texts = notes.map(|answer| {
        let mut texts = answer.body[4..].split(|b| *b == 0);
        let mut text = || String::from_utf8_lossy(texts.next().unwrap_or_default()).into_owned();
        (text(), text())
    });
    texts.collect()
}

/// What is told to a client that says nothing.
fn next(wire: &mut Wire<TcpStream>) -> (String, String) {
    told(&[wire.next().expect("a message")]).pop().expect("a notification")
}

/// Nothing comes for a while.
fn is_silent(wire: &mut Wire<TcpStream>) -> bool {
    wire.socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let silent = wire.buffer.is_empty() && wire.socket.peek(&mut [0]).is_err();
    wire.socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    silent
}

/// What a script of two sessions is told: with its answers, and while it says nothing.
fn story(port: u16) -> Vec<(String, Vec<(String, String)>)> {
    let session = || Wire::try_session(port).expect("the server listens");
    let (mut a, mut b) = (session(), session());
    let script = [
        "a: listen c",
        "a: notify c",
        "a: notify c, 'one'; notify c, 'two'; notify c, 'one'; notify other",
        "a: begin",
        "a: notify c, 'kept'",
        "a: savepoint s",
        "a: notify c, 'gone'",
        "a: notify c, 'kept'",
        "a: rollback to s",
        "a: select pg_notify('c', 'last')",
        "a: commit",
        "a: begin",
        "a: notify c, 'undone'",
        "a: rollback",
        "a: begin",
        "a: listen d",
        "a: notify d, 'own'",
        "a: unlisten c",
        "a: notify c, 'not heard'",
        "a: commit",
        "a: begin",
        "b: notify d, 'busy'",
        "a: select 1",
        "a: commit",
        "b: notify d, 'after an error'; select 1 / 0",
        "a: select 2",
        "a: unlisten *",
        "a: notify d, 'unheard'",
        "a: listen d",
        "a: discard all",
        "a: notify d, 'unheard'",
    ];
    let mut all = Vec::new();
    for line in script {
        let (session, sql) = line.split_once(": ").expect("a session and a statement");
        let wire = if session == "a" { &mut a } else { &mut b };
        all.push((line.to_string(), told(&wire.query(sql))));
    }
    all
}

#[test]
fn sessions_are_told_what_postgresqls_are_told() {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let (running, postgres) = (start(config()), Postgres::start());
    let (own, other) = (story(running.address().port()), story(postgres.port()));
    for (own, other) in own.iter().zip(&other) {
        assert_eq!(own, other);
    }
}

#[test]
fn who_waits_for_its_client_tells_it_at_once() {
    let running = start(config());
    let (mut idle, mut busy, mut other) = (running.session(), running.session(), running.session());
    idle.query("listen c");
    busy.query("listen c");
    busy.query("begin");
    for n in 0..3 {
        other.query(&format!("notify c, '{n}'"));
        assert_eq!(next(&mut idle), ("c".to_string(), n.to_string()));
    }
    assert!(is_silent(&mut busy), "it is in a transaction");
    let texts: Vec<String> = told(&busy.query("commit")).into_iter().map(|note| note.1).collect();
    assert_eq!(texts, ["0", "1", "2"]);
    other.query("notify d");
    assert!(is_silent(&mut idle) && is_silent(&mut busy), "they do not listen to that");
    // The session's end and a server that stops end the wait as before.
    other.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()",
    );
    idle.expect_error("FATAL", "57P01");
    running.server.stop().expect("a clean end");
}

/// Each transaction tells of the number that it has made of one counter: they come in the order of the commits.
#[test]
fn notifications_come_in_the_order_of_commits() {
    const CLIENTS: usize = 6;
    const EACH: usize = 30;
    let running = start(config());
    let mut listener = running.session();
    listener.query("create table counter (n int)");
    listener.query("insert into counter values (0)");
    listener.query("listen c");
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut wire = running.session();
            scope.spawn(move || {
                for _ in 0..EACH {
                    wire.query(
                        "begin; update counter set n = n + 1; \
                         select pg_notify('c', n::text) from counter; commit",
                    );
                }
            });
        }
        for n in 1..=CLIENTS * EACH {
            assert_eq!(next(&mut listener).1, n.to_string());
        }
    });
}

/// A client that does not read fills what the server has for notifications, not the server.
#[test]
fn a_client_that_does_not_read_is_no_burden() {
    let running = start(config());
    let (mut deaf, mut other) = (running.session(), running.session());
    deaf.query("listen c");
    deaf.query("begin");
    let mut refused = false;
    for n in 0..1000 {
        let answers =
            other.query(&format!("select count(pg_notify('c', '{n} ' || g || repeat('x', 7000))) from generate_series(1, 100) g"));
        refused |=
            answers.iter().any(|answer| answer.kind == b'E' && answer.field(b'C') == "54000");
        if refused {
            break;
        }
    }
    assert!(refused, "there is an end to it");
    drop(deaf);
    let usage = |other: &mut Wire<TcpStream>| {
        let answers = other.query("select pg_notification_queue_usage()");
        answers.iter().find(|answer| answer.kind == b'D').expect("a row").values().remove(0)
    };
    for _ in 0..200 {
        if usage(&mut other) == "0" {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("what it had not read went with it");
}
