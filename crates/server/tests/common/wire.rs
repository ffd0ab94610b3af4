//! A client that says exactly what a test wants. It needs nothing of the project, so that tests of a server in
//! another process may have it as well.

#![allow(dead_code, reason = "each test uses a part")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A server that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client.
pub struct Wire<S> {
    pub socket: S,
    pub buffer: Vec<u8>,
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub kind: u8,
    pub body: Vec<u8>,
}

impl Answer {
    /// Values of a row as text, NULL as nothing.
    pub fn values(&self) -> Vec<String> {
        let (mut rest, mut values) = (&self.body[2..], Vec::new());
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = i32::from_be_bytes(*length).max(0) as usize;
            let (value, next) = after.split_at(length);
            values.push(String::from_utf8_lossy(value).into_owned());
            rest = next;
        }
        values
    }
    /// A field of an error: `S` severity, `C` SQLSTATE, `M` message.
    pub fn field(&self, kind: u8) -> String {
        let fields = self.body.split(|b| *b == 0);
        let found = fields.filter(|f| !f.is_empty()).find(|f| f[0] == kind);
        found.map(|f| String::from_utf8_lossy(&f[1..]).into_owned()).unwrap_or_default()
    }
}

impl Wire<TcpStream> {
    /// A connection without a word said.
    pub fn connect(port: u16) -> Wire<TcpStream> {
        Wire::try_connect(port).expect("the server listens")
    }
    fn try_connect(port: u16) -> Option<Wire<TcpStream>> {
        let socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Some(Wire { socket, buffer: Vec::new() })
    }
    /// A session of role postgres; `None` when the server has gone.
    pub fn try_session(port: u16) -> Option<Wire<TcpStream>> {
        let mut wire = Wire::try_connect(port)?;
        wire.try_first(3 << 16, &[("user", "postgres")])?;
        wire.try_until(b'Z')?;
        Some(wire)
    }
}

impl<S: Read + Write> Wire<S> {
    pub fn raw(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("the server takes it");
    }
    pub fn send(&mut self, kind: u8, body: &[u8]) {
        self.raw(&framed(kind, body));
    }
    /// A first message: protocol 3.0 and pairs.
    pub fn startup(&mut self, pairs: &[(&str, &str)]) {
        self.first(3 << 16, pairs);
    }
    pub fn first(&mut self, version: u32, pairs: &[(&str, &str)]) {
        self.try_first(version, pairs).expect("the server takes it");
    }
    fn try_first(&mut self, version: u32, pairs: &[(&str, &str)]) -> Option<()> {
        let mut body = version.to_be_bytes().to_vec();
        for text in pairs.iter().flat_map(|(k, v)| [k, v]) {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        let length = (body.len() as u32 + 4).to_be_bytes();
        self.socket.write_all(&[&length, &body[..]].concat()).ok()
    }
    pub fn query(&mut self, sql: &str) -> Vec<Answer> {
        self.send(b'Q', &[sql.as_bytes(), b"\0"].concat());
        self.until(b'Z')
    }
    /// What a statement comes to; `None` when the server has gone.
    pub fn try_query(&mut self, sql: &str) -> Option<Vec<Answer>> {
        self.socket.write_all(&framed(b'Q', &[sql.as_bytes(), b"\0"].concat())).ok()?;
        self.try_until(b'Z')
    }
    /// The next message; `None` at the end, which a message that was cut is too.
    pub fn next(&mut self) -> Option<Answer> {
        let head = self.exactly(5)?;
        let length = u32::from_be_bytes(head[1..].try_into().expect("four")) as usize;
        let body = self.exactly(length - 4)?;
        Some(Answer { kind: head[0], body })
    }
    /// Messages up to one of a type.
    pub fn until(&mut self, kind: u8) -> Vec<Answer> {
        self.try_until(kind).expect("the server goes on")
    }
    /// The same; `None` when the server has gone.
    pub fn try_until(&mut self, kind: u8) -> Option<Vec<Answer>> {
        let mut all = Vec::new();
        loop {
            all.push(self.next()?);
            if all.last().is_some_and(|a| a.kind == kind) {
                return Some(all);
            }
        }
    }
    /// Whether the server has ended the connection.
    pub fn is_ended(&mut self) -> bool {
        self.next().is_none()
    }
    /// The next message, which is an error of a severity and SQLSTATE, and the end of the connection
    /// where that is FATAL.
    pub fn expect_error(&mut self, severity: &str, state: &str) {
        let answer = self.next().expect("an error");
        assert_eq!(answer.kind, b'E', "{answer:?}");
        assert_eq!((answer.field(b'S').as_str(), answer.field(b'C').as_str()), (severity, state));
        assert!(severity != "FATAL" || self.is_ended());
    }
    fn exactly(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let mut piece = [0; 4096];
        while self.buffer.len() < bytes {
            match self.socket.read(&mut piece) {
                Ok(0) => return None,
                Ok(n) => self.buffer.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return None,
                Err(e) => panic!("the server does not answer: {e}"),
            }
        }
        Some(self.buffer.drain(..bytes).collect())
    }
}

/// A message's bytes.
pub fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// The types of messages.
pub fn kinds(answers: &[Answer]) -> String {
    answers.iter().map(|a| char::from(a.kind)).collect()
}
