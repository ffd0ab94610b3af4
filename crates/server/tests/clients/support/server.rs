//! A server that can be killed: this test binary, run again.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onlap::{Database, Options, SyncMode};
use onlap_server::{Config, Level, Log, Server};
use onlap_sql::Instance;

use super::Address;

/// Where the child finds its directory.
const DIR: &str = "ONLAP_CLIENTS_DIR";
/// And when it is to acknowledge commits.
const SYNC: &str = "ONLAP_CLIENTS_SYNC";
/// How long a start may take on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server in a process of its own, which ends with its owner.
pub struct Onlap {
    child: Child,
    pub address: Address,
}

impl Onlap {
    /// Starts a server on a free port; the directory may have a database already.
    pub fn start(dir: &Path) -> Onlap {
        Onlap::start_with(dir, "os")
    }

    /// The same with a sync mode.
    pub fn start_with(dir: &Path, sync: &str) -> Onlap {
        let port_file = dir.join("port");
        let _ = std::fs::remove_file(&port_file);
        let mut child = Command::new(std::env::current_exe().expect("this is a program"))
            .args(["--exact", "server_process", "--nocapture"])
            .env(DIR, dir)
            .env(SYNC, sync)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the server starts");
        let begun = Instant::now();
        let port = loop {
            if let Some(port) =
                std::fs::read_to_string(&port_file).ok().and_then(|p| p.parse().ok())
            {
                break port;
            }
            let ended = child.try_wait().expect("the child is ours");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            assert!(begun.elapsed() < PATIENCE, "the server does not start");
            std::thread::sleep(Duration::from_millis(5));
        };
        Onlap { child, address: Address { port } }
    }

    /// Ends it as a crash does (SIGKILL).
    pub fn kill(mut self) {
        self.child.kill().expect("the child is ours");
        self.child.wait().expect("the child is ours");
    }
}

impl Drop for Onlap {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until standard input ends, where the environment says so.
pub fn serve_if_asked() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let sync: SyncMode = std::env::var(SYNC).map_or(SyncMode::Os, |s| s.parse().expect("a mode"));
    let options = Options::default().sync(sync).memory_limit(256 << 20);
    let db = Database::open(dir.join("db"), options).expect("the database opens");
    let instance = Instance::open(db).expect("an instance");
    let config = Config { listen: vec!["127.0.0.1:0".to_string()], ..Config::default() };
    let server = Server::start(Arc::clone(&instance), config, Log::stderr(Level::Warn));
    let server = server.expect("the server starts");
    let port = server.addresses()[0].port().to_string();
    // Whoever reads the file sees all of it.
    std::fs::write(dir.join("port.new"), port).expect("a file");
    std::fs::rename(dir.join("port.new"), dir.join("port")).expect("a file");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
