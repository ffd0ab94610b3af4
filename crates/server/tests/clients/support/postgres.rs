//! A private PostgreSQL 15 to compare with.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

use super::{Address, installed};

/// PostgreSQL does not run as root; this is nobody.
const NOBODY: u32 = 65_534;

/// A server, stopped when the last test that uses it ends.
pub struct Postgres {
    dir: PathBuf,
    bin: PathBuf,
    _temporary: tempfile::TempDir,
    pub address: Address,
}

impl Postgres {
    /// The one that runs, or a new one.
    pub fn shared() -> Arc<Postgres> {
        static RUNNING: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(|broken| broken.into_inner());
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Postgres::start());
            *running = Arc::downgrade(&started);
            started
        })
    }

    fn start() -> Postgres {
        let initdb = Path::new("/usr/lib/postgresql/15/bin/initdb");
        assert!(initdb.exists(), "PostgreSQL 15 is missing: apt-get install postgresql");
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let dir = temporary.path().to_path_buf();
        if is_root() {
            std::os::unix::fs::chown(&dir, Some(NOBODY), Some(NOBODY)).expect("root may");
        }
        let bin = initdb.parent().expect("a folder").to_path_buf();
        let port = free_port();
        let postgres = Postgres { dir, bin, _temporary: temporary, address: Address { port } };
        let data = postgres.path("data");
        postgres.program("initdb", &["-D", &data, "--locale=C", "-E", "UTF8", "-U", "postgres"]);
        let options = format!(
            "-k {} -c listen_addresses=127.0.0.1 -c port={port} -c timezone=UTC -c fsync=off",
            postgres.dir.display()
        );
        let log = postgres.path("log");
        postgres.program("pg_ctl", &["-D", &data, "-o", &options, "-l", &log, "-w", "start"]);
        installed("psql", "postgresql-client");
        postgres
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    fn program(&self, name: &str, arguments: &[&str]) {
        let mut command = Command::new(self.bin.join(name));
        command.args(arguments).current_dir(&self.dir).stdout(Stdio::null());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        assert!(command.status().expect("PostgreSQL is installed").success(), "{name}");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.path("data");
        self.program("pg_ctl", &["-D", &data, "-m", "immediate", "stop"]);
    }
}

/// A port that nobody listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0)
}
