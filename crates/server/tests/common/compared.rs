//! Conversations that are held with PostgreSQL too, and messages for them.

use std::net::TcpStream;

use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::programs;

use super::{Answer, Wire, config, framed, start};

/// Answers as text: kinds, values, tags and SQLSTATEs.
pub fn shown(answers: &[Answer]) -> String {
    let one = |answer: &Answer| match answer.kind {
        b'D' => format!("D {:?}", answer.values()),
        b'C' => format!("C {}", String::from_utf8_lossy(&answer.body)),
        b'E' => format!("E {}", answer.field(b'C')),
        kind => char::from(kind).to_string(),
    };
    answers.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The same, with messages, details, hints and places of errors and notices.
pub fn told(answers: &[Answer]) -> String {
    let one = |answer: &Answer| match answer.kind {
        b'E' | b'N' => {
            let fields = [b'C', b'M', b'D', b'H', b'P'].map(|kind| answer.field(kind));
            format!("{} {}", char::from(answer.kind), fields.join(" ").trim_end())
        }
        _ => shown(std::slice::from_ref(answer)),
    };
    answers.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What messages are answered with, up to Sync.
pub fn ask(wire: &mut Wire<TcpStream>, messages: &[Vec<u8>]) -> String {
    wire.raw(&[&messages.concat()[..], &framed(b'S', b"")].concat());
    told(&wire.until(b'Z'))
}

/// What simple queries are answered with, each with its text.
pub fn each(wire: &mut Wire<TcpStream>, said: &mut Vec<String>, queries: &[&str]) {
    for sql in queries {
        said.push(format!("{sql}: {}", told(&wire.query(sql))));
    }
}

/// Whether PostgreSQL says the same in a conversation.
pub fn is_as_postgresql(talk: fn(&mut Wire<TcpStream>, &mut Vec<String>)) {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let (ours, theirs) = (start(config()), Postgres::start());
    let [ours, theirs] = [ours.address().port(), theirs.port()].map(|port| {
        let (mut wire, mut said) = (Wire::try_session(port).expect("the server listens"), vec![]);
        talk(&mut wire, &mut said);
        said
    });
    let both = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs);
    let differ: Vec<_> = both.map(|(o, t)| format!("ours   {o}\ntheirs {t}\n")).collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert_eq!(ours.len(), theirs.len());
}

pub fn execute(portal: &str, rows: u32) -> Vec<u8> {
    framed(b'E', &[portal.as_bytes(), b"\0", &rows.to_be_bytes()].concat())
}

pub fn bind(portal: &str, statement: &str) -> Vec<u8> {
    let names = [portal.as_bytes(), b"\0", statement.as_bytes(), b"\0"].concat();
    framed(b'B', &[&names[..], b"\0\0\0\0\0\0"].concat())
}

/// Describe of a portal (`P`) or a statement (`S`).
pub fn describe(what: &str, name: &str) -> Vec<u8> {
    framed(b'D', &[what.as_bytes(), name.as_bytes(), b"\0"].concat())
}

/// Prepares a statement of a name.
pub fn parse(name: &str, sql: &str) -> Vec<u8> {
    framed(b'P', &[name.as_bytes(), b"\0", sql.as_bytes(), b"\0\0\0"].concat())
}
