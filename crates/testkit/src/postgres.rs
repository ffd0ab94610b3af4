//! A private PostgreSQL 15 to compare with.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::programs;

/// What a test needs that starts one, with psql.
pub const NEEDED: [(&str, &str); 2] = [
    ("/usr/lib/postgresql/15/bin/initdb", "apt-get install postgresql"),
    ("psql", "apt-get install postgresql-client"),
];

/// PostgreSQL does not run as root; this is nobody.
const NOBODY: u32 = 65_534;

/// A server of collation C, encoding UTF8 and time zone UTC, with superuser `postgres` whom it trusts;
/// stopped when dropped.
#[derive(Debug)]
pub struct Postgres {
    dir: TempDir,
    port: u16,
}

/// A port may be taken between the look for a free one and the start.
const PORTS_TRIED: usize = 5;

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

impl Postgres {
    /// Starts one, on a free port of loopback.
    ///
    /// # Panics
    /// It is not installed, or does not start.
    pub fn start() -> Postgres {
        Postgres::start_with(&[])
    }

    /// The same with further settings, as `name=value`.
    ///
    /// # Panics
    /// As [`Postgres::start`].
    pub fn start_with(settings: &[&str]) -> Postgres {
        let dir = tempfile::tempdir().expect("a temporary directory");
        if is_root() {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).expect("root may");
        }
        let mut postgres = Postgres { dir, port: 0 };
        let data = postgres.path("data");
        let init = ["-D", &data, "--locale=C", "-E", "UTF8", "-U", "postgres", "-A", "trust"];
        postgres.run("initdb", &init);
        let more: String = settings.iter().map(|setting| format!(" -c {setting}")).collect();
        let log = postgres.path("log");
        for _ in 0..PORTS_TRIED {
            postgres.port = free_port();
            let options = format!(
                "-k {} -c listen_addresses=127.0.0.1 -c port={} -c timezone=UTC -c fsync=off \
                 -c jit=off{more}",
                postgres.folder().display(),
                postgres.port
            );
            let start = ["-D", &data, "-o", &options, "-l", &log, "-w", "start"];
            if postgres.has_run("pg_ctl", &start) {
                return postgres;
            }
            // Another process has taken the port meanwhile, or it is something else, which the next try meets too.
        }
        panic!("pg_ctl: {}", std::fs::read_to_string(&log).unwrap_or_default());
    }

    /// Its folder, in which its socket is, too.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// psql that finds it.
    ///
    /// # Panics
    /// psql is not installed.
    pub fn psql(&self) -> Command {
        let mut psql = Command::new(programs::find("psql").expect("psql is installed"));
        psql.arg("-X").arg("-h").arg(self.folder()).args(["-p", &self.port.to_string()]);
        psql.args(["-U", "postgres", "-d", "postgres"]);
        psql
    }

    fn path(&self, name: &str) -> String {
        self.folder().join(name).display().to_string()
    }

    fn run(&self, name: &str, arguments: &[&str]) {
        assert!(self.has_run(name, arguments), "{name}");
    }

    fn has_run(&self, name: &str, arguments: &[&str]) -> bool {
        let program = programs::find(name).expect("PostgreSQL 15 is installed");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder()).stdout(Stdio::null());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.status().expect("PostgreSQL is installed").success()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.path("data");
        // One that never started has nothing to stop; a second panic would end the process.
        self.has_run("pg_ctl", &["-D", &data, "-m", "immediate", "stop"]);
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0)
}
