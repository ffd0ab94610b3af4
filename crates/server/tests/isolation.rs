//! Do sessions live and end without each other?

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use common::{config, kinds, start};
use onlap_server::Config;

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
fn monitors_get_health_and_numbers() {
    let running = start(Config { http: Some("127.0.0.1:0".to_string()), ..config() });
    let _session = running.session();
    let ask = |request: &str| {
        let address = running.server.http_address().expect("an address");
        let mut socket = TcpStream::connect(address).expect("it listens");
        socket.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        let _ = socket.read_to_string(&mut answer);
        answer
    };
    assert!(ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
    let metrics = ask("GET /metrics HTTP/1.1\r\n\r\n");
    assert!(metrics.contains("\nonlap_sessions 1\n"), "{metrics}");
    assert!(ask("GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(9000));
    assert_eq!(ask(&long), "", "refused");
    running.server.stop().expect("a clean end");
}
