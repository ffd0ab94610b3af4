//! Do sessions live and end without each other?

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Answer, Running, config, kinds, start, start_on};
use onlap::Options;
use onlap_server::Config;
use onlap_testkit::vfs::{Fault, FaultFs, Operation, OsFs};

/// A statement that takes longer than any test, on the table of [`with_rows`].
const LONG: &str = "select count(*) from t a, t b, t c, t d where a.id + b.id + c.id <> d.id";
/// One that takes a moment.
const SHORT: &str = "select count(*) from t a, t b where a.id + b.id <> 1";

/// A server with a table of a thousand rows.
fn with_rows(config: Config) -> Running {
    let running = start(config);
    let mut wire = running.session();
    wire.query("create table t (id bigint primary key)");
    let rows: Vec<String> = (0..1000).map(|i| format!("({i})")).collect();
    let answer = wire.query(&format!("insert into t values {}", rows.join(",")));
    assert_eq!(kinds(&answer), "CZ");
    running
}

/// What cancels the statements of a session that begins here.
fn key(begun: &[Answer]) -> Vec<u8> {
    begun.iter().find(|a| a.kind == b'K').expect("a key").body.clone()
}

fn cancel(running: &Running, key: &[u8]) {
    let mut wire = running.connect();
    wire.raw(&[&16u32.to_be_bytes()[..], &80_877_102u32.to_be_bytes(), key].concat());
    assert!(wire.is_ended(), "there is no answer");
}

#[test]
fn a_panic_ends_its_session_alone() {
    let running = start(Config { panic_at: Some("select 666".to_string()), ..config() });
    let mut other = running.session();
    let mut wire = running.session();
    wire.send(b'Q', b"select 666\0");
    wire.expect_error("FATAL", "XX000");
    assert_eq!(kinds(&other.query("select 1")), "TDCZ");
    assert_eq!((running.server.counts().panics, running.logged("panicked")), (1, 1));
    running.server.stop().expect("a clean end");
}

#[test]
fn a_statement_is_cancelled_by_its_key_alone() {
    let running = with_rows(config());
    let mut wire = running.connect();
    wire.startup(&[("user", "postgres")]);
    let key = key(&wire.until(b'Z'));
    wire.send(b'Q', format!("{LONG}\0").as_bytes());
    std::thread::sleep(Duration::from_millis(200));
    let mut wrong = key.clone();
    wrong[7] ^= 1;
    cancel(&running, &wrong);
    wire.socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    assert!(wire.socket.read(&mut [0]).is_err(), "it goes on");
    wire.socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    cancel(&running, &key);
    let answers = wire.until(b'Z');
    let error = answers.iter().find(|a| a.kind == b'E').expect("an error");
    assert_eq!(error.field(b'C'), "57014");
    assert_eq!(kinds(&wire.query("select 1")), "TDCZ", "the session goes on");
}

#[test]
fn the_end_waits_for_statements_and_then_cancels_them() {
    let running = with_rows(Config { shutdown_timeout: Duration::from_secs(3), ..config() });
    let (mut short, mut long) = (running.session(), running.session());
    short.send(b'Q', format!("{SHORT}\0").as_bytes());
    long.send(b'Q', format!("{LONG}\0").as_bytes());
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    running.server.stop().expect("a clean end");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(kinds(&short.until(b'Z')), "TDCZ", "it ended by itself");
    assert!(long.until(b'E').last().is_some_and(|a| a.field(b'C') == "57014"));
}

/// What a monitor is answered.
fn ask(running: &Running, request: &str) -> String {
    let address = running.server.http_address().expect("an address");
    let mut socket = TcpStream::connect(address).expect("it listens");
    socket.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    let _ = socket.read_to_string(&mut answer);
    answer
}

#[test]
fn after_a_failed_sync_reads_go_on_and_monitors_are_told() {
    let disk = FaultFs::new(Arc::new(OsFs::new()));
    let options = Options { fs: Arc::new(disk.clone()), ..Options::default() };
    let config = Config { http: Some("127.0.0.1:0".to_string()), ..config() };
    let running = start_on(config, options, |_| ());
    let mut open = running.session();
    for sql in [
        "create table t (id bigint primary key, n int)",
        "create sequence s",
        "insert into t values (1, 10), (2, 20)",
    ] {
        assert_eq!(kinds(&open.query(sql)), "CZ", "{sql}");
    }
    assert_eq!(kinds(&open.query("begin")), "CZ");
    assert_eq!(kinds(&open.query("select n from t where id = 1")), "TDCZ");
    disk.fail(Fault::on(Operation::Sync).named(".log").for_ever());
    let mut writer = running.session();
    let refused = |wire: &mut common::Wire<TcpStream>, sql: &str| {
        let answers = wire.query(sql);
        let error = answers.iter().find(|a| a.kind == b'E').unwrap_or_else(|| panic!("{sql}"));
        let text = error.field(b'M');
        assert_eq!(error.field(b'C'), "25006", "{sql}: {text}");
        assert!(text.contains("takes no more writes") && text.contains("injected"), "{text}");
    };
    refused(&mut writer, "insert into t values (3, 30)");

    // What had begun goes on, and so does what begins.
    assert_eq!(kinds(&open.query("select n from t where id = 2")), "TDCZ");
    assert_eq!(kinds(&open.query("commit")), "CZ");
    let mut reader = running.session();
    for (sql, expected) in [
        ("select id from t order by id", "TDDCZ"),
        ("select count(*) from t a join t b on a.id <> b.id", "TDCZ"),
        ("select relname from pg_class where relname = 't'", "TDCZ"),
        ("select table_name from information_schema.tables where table_name = 't'", "TDCZ"),
        ("show server_version", "TDCZ"),
        ("explain select id from t", "T"),
        ("begin isolation level serializable", "CZ"),
        ("declare c cursor for select id from t order by id", "CZ"),
        ("fetch 1 from c", "TDCZ"),
        ("savepoint a", "CZ"),
        ("fetch 5 from c", "TDCZ"),
        ("rollback to a", "CZ"),
        ("commit", "CZ"),
        ("begin read only", "CZ"),
        ("select sum(n) from t", "TDCZ"),
        ("commit", "CZ"),
        ("copy t to stdout", "Hd"),
    ] {
        let found = kinds(&reader.query(sql));
        assert!(found.starts_with(expected) && !found.contains('E'), "{sql}: {found}");
    }
    for sql in [
        "insert into t values (4, 40)",
        "update t set n = 0 where id = 1",
        "delete from t where id = 1",
        "create table u (id int)",
        "drop table t",
        "select nextval('s')",
    ] {
        refused(&mut reader, sql);
        assert_eq!(kinds(&reader.query("select id from t order by id")), "TDDCZ", "{sql}");
    }

    let health = ask(&running, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(health.starts_with("HTTP/1.1 503"), "{health}");
    assert!(health.contains("writes are refused") && health.contains("injected"), "{health}");
    let metrics = ask(&running, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(metrics.contains("\nonlap_writes_refused 1\n"), "{metrics}");
    disk.heal();
    let health = ask(&running, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(health.starts_with("HTTP/1.1 503"), "until it is opened again: {health}");
}

#[test]
fn monitors_get_health_and_numbers() {
    let running = start(Config { http: Some("127.0.0.1:0".to_string()), ..config() });
    let _session = running.session();
    let ask = |request: &str| ask(&running, request);
    assert!(ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
    let metrics = ask("GET /metrics HTTP/1.1\r\n\r\n");
    assert!(metrics.contains("\nonlap_sessions 1\n"), "{metrics}");
    assert!(metrics.contains("\nonlap_writes_refused 0\n"), "{metrics}");
    assert!(ask("GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(9000));
    assert!(ask(&long).starts_with("HTTP/1.1 431"), "refused");
    running.server.stop().expect("a clean end");
}
