//! Which server do rigs of statements attack, and who stands next to it?
//!
//! [`Served`] runs the real `onlap serve` as a child process with a directory of its own, so that a death, a peak of
//! memory or a kill is the server's and not the rig's. [`Postgres`] is a private PostgreSQL 15: the same statements, as
//! control and as judge. The rig knows both by their wire alone. Both end when they are dropped.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::programs;
use postgres::{Client, Config, NoTls};
use tempfile::TempDir;

/// Names the `onlap` binary to attack, in place of the one next to this program.
pub const PROGRAM: &str = "ONLAP_PROGRAM";

/// How long a server may take to open its directory and to say where it listens.
const START: Duration = Duration::from_secs(60);

/// Where the `onlap` binary is: what [`PROGRAM`] names, or the one that cargo built next to this program.
///
/// # Errors
/// There is none; says how to build it.
pub fn program() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os(PROGRAM) {
        return Ok(PathBuf::from(path));
    }
    let this = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
    // Tests lie one folder deeper than commands.
    let folders = this.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("onlap")).find(|path| path.is_file());
    found.ok_or_else(|| {
        format!("there is no onlap binary beside {}: cargo build -p onlap-cli", this.display())
    })
}

/// Whether a test of a rig can run here: the binary, and PostgreSQL 15 if the rig needs it. Says what is missing.
///
/// # Panics
/// Something is missing and everything is to be there (`ONLAP_PROGRAMS=all`).
pub fn can_run(with_postgres: bool) -> bool {
    let onlap = program().unwrap_or_else(|_| PathBuf::from("/onlap"));
    let onlap = onlap.display().to_string();
    let mut needed = vec![(onlap.as_str(), "cargo build -p onlap-cli")];
    if with_postgres {
        needed.extend(NEEDED);
    }
    programs::are_there(&needed)
}

/// A server of Onlap in a process of its own.
#[derive(Debug)]
pub struct Served {
    dir: TempDir,
    flags: Vec<String>,
    /// What runs `onlap`; empty for nothing. It is given the binary and its arguments.
    wrapper: Vec<String>,
    child: Child,
    port: u16,
}

impl Served {
    /// Starts `onlap serve` with these flags next to `--listen` and `--dir`, on a free port of loopback.
    ///
    /// # Errors
    /// There is no binary, or it did not start.
    pub fn start(flags: &[&str]) -> Result<Served, String> {
        Served::start_under(&[], flags)
    }

    /// As [`Served::start`], run by another program, which is given the binary and its arguments.
    ///
    /// # Errors
    /// As [`Served::start`].
    pub fn start_under(wrapper: &[&str], flags: &[&str]) -> Result<Served, String> {
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let (wrapper, flags) = (owned(wrapper), owned(flags));
        let (child, port) = spawn(&wrapper, &flags, dir.path())?;
        Ok(Served { dir, flags, wrapper, child, port })
    }

    /// As [`Served::start`], on a copy of a database's directory.
    ///
    /// # Errors
    /// The directory cannot be copied; as [`Served::start`].
    pub fn start_on_copy(of: &Path, flags: &[&str]) -> Result<Served, String> {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        copy(of, &dir.path().join("db")).map_err(|e| format!("{}: {e}", of.display()))?;
        let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
        let (child, port) = spawn(&[], &flags, dir.path())?;
        Ok(Served { dir, flags, wrapper: Vec::new(), child, port })
    }

    /// Kills it as `kill -9` does and starts it again on its directory; the port changes.
    ///
    /// # Errors
    /// It did not start again.
    pub fn kill_and_restart(&mut self) -> Result<(), String> {
        self.kill();
        (self.child, self.port) = spawn(&self.wrapper, &self.flags, self.dir.path())?;
        Ok(())
    }

    /// Kills it as `kill -9` does, and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its database's directory.
    pub fn folder(&self) -> PathBuf {
        self.dir.path().join("db")
    }

    /// Whether the process is still there.
    ///
    /// # Errors
    /// It has ended, and how.
    pub fn lives(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("the server ended: {status}")),
            Err(e) => Err(format!("the server: {e}")),
        }
    }

    /// Most bytes that its process had resident so far (`VmHWM` of Linux).
    ///
    /// # Errors
    /// The process has gone.
    pub fn peak_bytes(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| format!("{path} has no VmHWM"))
    }

    /// A session of role `postgres`.
    ///
    /// # Errors
    /// The server does not take it.
    pub fn client(&self) -> Result<Client, String> {
        connect(self.port, "postgres")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A session of a role, in database `postgres` of the server at a port of 127.0.0.1.
///
/// # Errors
/// The server does not take it.
pub fn connect(port: u16, role: &str) -> Result<Client, String> {
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user(role).dbname("postgres").connect_timeout(START);
    config.connect(NoTls).map_err(|e| format!("role {role}, port {port}: {e:?}"))
}

/// The SQLSTATE of a failed statement; `None` when the connection was lost.
pub fn state(error: &postgres::Error) -> Option<&str> {
    error.code().map(|code| code.code())
}

pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to)?,
            false => drop(std::fs::copy(entry.path(), to)?),
        }
    }
    Ok(())
}

fn spawn(wrapper: &[String], flags: &[String], dir: &Path) -> Result<(Child, u16), String> {
    let program = program()?;
    let mut command = match wrapper {
        [] => Command::new(&program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&program);
            command
        }
    };
    command.args(["serve", "--listen", "127.0.0.1:0", "--dir"]).arg(dir.join("db")).args(flags);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    let mut lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        line.trim().strip_prefix("address")?.rsplit(':').next()?.parse::<u16>().ok()
    });
    // A full pipe would stop the server.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    match port {
        Some(port) => Ok((child, port)),
        None => {
            let _ = child.kill();
            let status = child.wait().map_err(|e| e.to_string())?;
            Err(format!("the server ended before it listened: {status}"))
        }
    }
}
