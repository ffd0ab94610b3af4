//! How is a private server started and stopped?

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use onlap::SyncMode;
use onlap_base::{Error, ErrorKind, Result};
use postgres::{Client, NoTls};

use super::limit::Limit;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Onlap,
    Postgres,
}

/// A running server, which is stopped when this is dropped.
pub(crate) struct Server {
    kind: Kind,
    child: Option<Child>,
    port: u16,
    /// Where Onlap shows its counters.
    http: u16,
    // Removed after the server has ended.
    _limit: Option<Limit>,
}

/// How long a server may take to answer at first.
const START_MAX: Duration = Duration::from_secs(60);
/// How long a server may take to stop.
const STOP_MAX: Duration = Duration::from_secs(120);

impl Server {
    /// Starts a server on the data in a directory, which is made where there is none.
    /// `memory` is its own budget, `confined` all that it may take with the page cache.
    pub(crate) fn start(
        kind: Kind,
        dir: &Path,
        memory: u64,
        confined: Option<u64>,
        sync: SyncMode,
    ) -> Result<Server> {
        let (port, http) = (free_port()?, free_port()?);
        let limit = confined.map(Limit::new).transpose()?;
        let mut command = match kind {
            Kind::Onlap => onlap_command(dir, memory, sync, (port, http))?,
            Kind::Postgres => postgres_command(dir, memory, sync, port)?,
        };
        if let Some(limit) = &limit {
            limit.hold(&mut command);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(io)?;
        let mut server = Server { kind, child: Some(child), port, http, _limit: limit };
        let began = Instant::now();
        while server.connect().is_err() {
            let ended = server.child.as_mut().and_then(|c| c.try_wait().ok().flatten());
            if let Some(status) = ended {
                server.child = None;
                return Err(failed(format!("{} ended at once: {status}", kind.name())));
            }
            if began.elapsed() > START_MAX {
                return Err(failed(format!("{} does not answer on port {port}", kind.name())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// A connection.
    pub(crate) fn connect(&self) -> Result<Client> {
        Client::connect(&self.url(), NoTls).map_err(|e| of_client(&e))
    }

    /// For clients of their own.
    pub(crate) fn url(&self) -> String {
        format!("host=127.0.0.1 port={} user=postgres dbname=postgres", self.port)
    }

    /// Its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Seconds of CPU that its process has taken: its own, and the kernel's for it. A process per
    /// connection, as PostgreSQL has, is not in it.
    pub(crate) fn cpu(&self) -> Result<(f64, f64)> {
        let id = self.child.as_ref().map_or(0, Child::id);
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).map_err(io)?;
        // The name before it may hold blanks; then come state and ten more numbers.
        let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = |n: usize| rest.split_whitespace().nth(n)?.parse::<f64>().ok();
        let (user, system) = (ticks(11), ticks(12));
        // SAFETY: plain system call.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        match (user, system) {
            (Some(user), Some(system)) => Ok((user / per_second, system / per_second)),
            _ => Err(failed(format!("/proc/{id}/stat is of another form"))),
        }
    }

    /// One of Onlap's counters, by its name in `/metrics`.
    pub(crate) fn counter(&self, name: &str) -> Result<u64> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.http)).map_err(io)?;
        socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").map_err(io)?;
        let mut page = String::new();
        socket.read_to_string(&mut page).map_err(io)?;
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.ok_or_else(|| failed(format!("/metrics has no {name}")))
    }

    /// Stops it as its manual says.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let signal = match self.kind {
            Kind::Onlap => libc::SIGTERM,
            Kind::Postgres => libc::SIGINT,
        };
        // SAFETY: plain system call on a child that was not waited for yet.
        unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        let began = Instant::now();
        while began.elapsed() < STOP_MAX {
            if child.try_wait().map_err(io)?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().map_err(io)?;
        child.wait().map_err(io)?;
        Err(failed(format!("{} had to be killed", self.kind.name())))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Kind {
    /// Its name among engines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Onlap => "onlap-wire",
            Kind::Postgres => "postgres",
        }
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(io)?;
    Ok(listener.local_addr().map_err(io)?.port())
}

fn onlap_command(
    dir: &Path,
    memory: u64,
    sync: SyncMode,
    (port, http): (u16, u16),
) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().map_err(io)?);
    command
        .arg("serve")
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .args(["--http", &format!("127.0.0.1:{http}")])
        .args(["--memory-limit", &memory.to_string()])
        .args(["--sync", &sync.to_string()])
        .arg("--data-dir")
        .arg(dir);
    Ok(command)
}

fn postgres_command(dir: &Path, memory: u64, sync: SyncMode, port: u16) -> Result<Command> {
    let bin = postgres_bin()?;
    let (durable, commit) = match sync {
        SyncMode::Fsync => ("on", "on"),
        SyncMode::Interval(_) => ("on", "off"),
        SyncMode::Os => ("off", "on"),
    };
    if !dir.join("PG_VERSION").exists() {
        std::fs::create_dir_all(dir).map_err(io)?;
        let mut init = Command::new(bin.join("initdb"));
        init.args(["--locale=C", "--encoding=UTF8", "-U", "postgres", "--auth=trust", "-D"])
            .arg(dir);
        give_to_postgres(dir)?;
        let output = as_postgres(&mut init).output().map_err(io)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(failed(format!("initdb failed: {text}")));
        }
    }
    let mut server = Command::new(bin.join("postgres"));
    server.arg("-D").arg(dir).args(["-p", &port.to_string()]);
    let settings = [
        "listen_addresses=127.0.0.1".to_string(),
        format!("unix_socket_directories={}", dir.display()),
        format!("shared_buffers={}kB", memory / 1024),
        format!("fsync={durable}"),
        format!("synchronous_commit={commit}"),
        // As published tests tune it: checkpoints by time, spread out.
        "max_wal_size=8GB".into(),
        "checkpoint_timeout=15min".into(),
        "checkpoint_completion_target=0.9".into(),
        "max_connections=200".into(),
        "timezone=UTC".into(),
    ];
    for setting in settings {
        server.args(["-c", &setting]);
    }
    as_postgres(&mut server);
    Ok(server)
}

/// Debian's place for PostgreSQL 15's programs.
fn postgres_bin() -> Result<PathBuf> {
    let dir = PathBuf::from("/usr/lib/postgresql/15/bin");
    match dir.join("initdb").exists() {
        true => Ok(dir),
        false => Err(Error::new(
            ErrorKind::Unsupported,
            "PostgreSQL 15 is missing: apt-get install postgresql-15",
        )),
    }
}

/// PostgreSQL refuses to run as root, so that root runs it as the user of Debian's package.
fn as_postgres(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    // SAFETY: plain system call.
    if unsafe { libc::geteuid() } == 0
        && let Some((uid, gid)) = postgres_ids()
    {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/")
}

fn give_to_postgres(dir: &Path) -> Result<()> {
    // SAFETY: plain system call.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    let (uid, gid) = postgres_ids()
        .ok_or_else(|| failed("there is no user postgres to run PostgreSQL as".to_string()))?;
    // Others have to come through the directories above.
    for above in dir.ancestors().skip(1).take_while(|d| d.parent().is_some()) {
        use std::os::unix::fs::PermissionsExt;
        if let Ok(meta) = std::fs::metadata(above) {
            let mode = meta.permissions().mode() | 0o011;
            let _ = std::fs::set_permissions(above, std::fs::Permissions::from_mode(mode));
        }
    }
    std::os::unix::fs::chown(dir, Some(uid), Some(gid)).map_err(io)
}

/// User and group of postgres in /etc/passwd.
fn postgres_ids() -> Option<(u32, u32)> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = passwd.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn io(e: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, e.to_string())
}

fn failed(text: String) -> Error {
    Error::new(ErrorKind::Io, text)
}

/// An error of the client library.
pub(crate) fn of_client(e: &postgres::Error) -> Error {
    let text = match e.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => e.to_string(),
    };
    Error::new(ErrorKind::Io, text)
}
