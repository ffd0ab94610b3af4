//! A server in this process, and a client ([`wire`]).

#![allow(dead_code, reason = "each test uses a part")]

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use onlap::{Database, Options};
use onlap_server::{Config, Level, Log, Server};
use onlap_sql::Instance;
use parking_lot::Mutex;
use tempfile::TempDir;

pub mod compared;
mod wire;

#[allow(unused_imports, reason = "each test uses a part")]
pub use wire::{Answer, Wire, framed, kinds};

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
    start_on(config, Options::default(), prepare)
}

/// The same, with options of its database.
pub fn start_on(config: Config, options: Options, prepare: impl FnOnce(&Instance)) -> Running {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = Options { memory_limit: Some(64 << 20), ..options };
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
    /// Those lines.
    pub fn lines(&self, text: &str) -> Vec<String> {
        self.lines.lock().iter().filter(|line| line.contains(text)).cloned().collect()
    }
    /// A connection without a word said.
    pub fn connect(&self) -> Wire<TcpStream> {
        Wire::connect(self.address().port())
    }
    /// A session of role postgres.
    pub fn session(&self) -> Wire<TcpStream> {
        Wire::try_session(self.address().port()).expect("the server listens")
    }
}
