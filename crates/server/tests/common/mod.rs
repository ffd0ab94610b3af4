//! A server in this process, and a client that says exactly what a test wants.

#![allow(dead_code, reason = "each test uses a part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use onlap::{Database, Options};
use onlap_server::{Config, Level, Log, Server};
use onlap_sql::Instance;
use parking_lot::Mutex;
use tempfile::TempDir;

/// A running server with a directory of its own.
pub struct Running {
    pub server: Server,
    pub instance: Arc<Instance>,
    pub dir: TempDir,
    lines: Arc<Mutex<Vec<String>>>,
}

/// A configuration for tests: a free port.
pub fn config() -> Config {
    Config { listen: vec!["127.0.0.1:0".to_string()], ..Config::default() }
}

/// Starts a server.
pub fn start(config: Config) -> Running {
    start_with(config, |_| ())
}

/// Starts a server whose instance was prepared.
pub fn start_with(config: Config, prepare: impl FnOnce(&Instance)) -> Running {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = Options { memory_limit: Some(64 << 20), ..Options::default() };
    let db = Database::open(dir.path(), options).expect("a new database");
    let instance = Instance::open(db).expect("an instance");
    prepare(&instance);
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let log = Log::to(Level::Debug, Arc::new(move |line| kept.lock().push(line.to_string())));
    let server = Server::start(Arc::clone(&instance), config, log).expect("the server starts");
    Running { server, instance, dir, lines }
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.addresses()[0]
    }
    /// Lines of the log with a text.
    pub fn logged(&self, text: &str) -> usize {
        self.lines.lock().iter().filter(|line| line.contains(text)).count()
    }
    /// A connection without a word said.
    pub fn connect(&self) -> Wire<TcpStream> {
        let socket = TcpStream::connect(self.address()).expect("the server listens");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        Wire { socket, buffer: Vec::new() }
    }
    /// A session of role postgres.
    pub fn session(&self) -> Wire<TcpStream> {
        let mut wire = self.connect();
        wire.startup(&[("user", "postgres")]);
        wire.until(b'Z');
        wire
    }
}

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
    /// A field of an error: `S` severity, `C` SQLSTATE, `M` message.
    pub fn field(&self, kind: u8) -> String {
        let fields = self.body.split(|b| *b == 0);
        let found = fields.filter(|f| !f.is_empty()).find(|f| f[0] == kind);
        found.map(|f| String::from_utf8_lossy(&f[1..]).into_owned()).unwrap_or_default()
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
        let mut body = version.to_be_bytes().to_vec();
        for text in pairs.iter().flat_map(|(k, v)| [k, v]) {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        self.raw(&(body.len() as u32 + 4).to_be_bytes());
        self.raw(&body);
    }
    pub fn query(&mut self, sql: &str) -> Vec<Answer> {
        self.send(b'Q', &[sql.as_bytes(), b"\0"].concat());
        self.until(b'Z')
    }
    /// The next message; `None` at the end.
    pub fn next(&mut self) -> Option<Answer> {
        let head = self.exactly(5)?;
        let length = u32::from_be_bytes(head[1..].try_into().expect("four")) as usize;
        let body = self.exactly(length - 4).expect("a whole message");
        Some(Answer { kind: head[0], body })
    }
    /// Messages up to one of a type.
    pub fn until(&mut self, kind: u8) -> Vec<Answer> {
        let mut all = Vec::new();
        loop {
            let answer = self.next().unwrap_or_else(|| panic!("the end after {all:?}"));
            all.push(answer);
            if all.last().is_some_and(|a| a.kind == kind) {
                return all;
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
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return None,
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
