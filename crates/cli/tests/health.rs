//! Does `onlap health` tell a server that is well from one that is not, and from none?

#![allow(clippy::disallowed_methods, reason = "a test of a program has the program's own seams")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output};

fn health(address: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onlap"));
    command.args(["health", address]).output().expect("the binary was built")
}

/// Asks a server that gives this answer to one request for `/healthz`.
fn answered(answer: &'static str) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens").to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
        let first = lines.next().expect("a request").expect("a line");
        assert_eq!(first, "GET /healthz HTTP/1.1");
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        stream.write_all(answer.as_bytes()).expect("it reads");
    });
    let out = health(&address);
    server.join().expect("it was asked");
    out
}

#[test]
fn exit_codes_tell_how_a_server_is() {
    let out = answered("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n");
    assert_eq!((out.status.code(), &out.stdout[..]), (Some(0), &b"ok\n"[..]));
    let out = answered("HTTP/1.1 503 Service Unavailable\r\n\r\nwrites are refused: why\n");
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stdout).contains("writes are refused"));
    assert_eq!(answered("SSH-2.0-other\r\n").status.code(), Some(2));
    let out = health("127.0.0.1:1");
    assert_eq!(out.status.code(), Some(1), "nothing listens there");
    assert!(!out.stderr.is_empty() && out.stdout.is_empty());
}
