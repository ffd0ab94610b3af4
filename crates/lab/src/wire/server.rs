//! How is a private server started and stopped?
//!
//! Each kind makes a command of its own ([`onlap`], [`postgres`], [`mariadb`]); here it is started, in a
//! cgroup where there is one, asked until it answers, and stopped, at the latest when it is dropped. A
//! server does not outlive the process that started it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ::onlap::SyncMode;
use onlap_base::{Error, ErrorKind, Result};

use super::session::{Address, Dialect, PgConnection, Session, connect_mysql, connect_postgres};
use crate::confine::{self, Limit};
use crate::measure::process::{Resident, Usage};

mod mariadb;
mod onlap;
mod postgres;
mod sqlite;
mod system;

use system::{as_user, end_with_parent, free_port, give_to};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Onlap,
    Postgres,
    /// InnoDB as MariaDB comes.
    Innodb,
    /// With the change buffer on.
    InnodbChangeBuffer,
    /// With compressed tables.
    InnodbCompressed,
    /// RocksDB in MariaDB, LZ4.
    Myrocks,
    /// The same with zstd at the bottom.
    MyrocksZstd,
    /// No server, but spoken to in the same way.
    Sqlite,
    /// One that somebody else started, which speaks PostgreSQL's protocol.
    OtherPostgres,
    /// The same of MySQL's.
    OtherMysql,
}

impl Kind {
    /// Its name among engines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Onlap => "onlap-wire",
            Kind::Postgres => "postgres",
            Kind::Innodb => "innodb",
            Kind::InnodbChangeBuffer => "innodb-change-buffer",
            Kind::InnodbCompressed => "innodb-compressed",
            Kind::Myrocks => "myrocks",
            Kind::MyrocksZstd => "myrocks-zstd",
            Kind::Sqlite => "sqlite",
            Kind::OtherPostgres | Kind::OtherMysql => "url",
        }
    }

    /// The kind of this name.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        let all = [
            Kind::Onlap,
            Kind::Postgres,
            Kind::Innodb,
            Kind::InnodbChangeBuffer,
            Kind::InnodbCompressed,
            Kind::Myrocks,
            Kind::MyrocksZstd,
            Kind::Sqlite,
        ];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// What it understands.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Kind::Onlap | Kind::Postgres | Kind::OtherPostgres => Dialect::Postgres,
            Kind::Sqlite => Dialect::Sqlite,
            _ => Dialect::Mysql,
        }
    }

    /// Fails with what to install where its programs are missing.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Kind::Onlap => onlap::program().map(drop),
            Kind::Sqlite | Kind::OtherPostgres | Kind::OtherMysql => Ok(()),
            Kind::Postgres => postgres::bin().map(drop),
            kind => mariadb::check(kind),
        }
    }
}

/// How a server is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerOptions<'a> {
    /// Its data, made where there are none.
    pub dir: &'a Path,
    /// Its own budget.
    pub memory: u64,
    /// All that it may take with the page cache, in a cgroup of its own.
    pub confined: Option<u64>,
    /// A cgroup that somebody else made for it.
    pub group: Option<&'a Path>,
    /// When a commit is acknowledged.
    pub sync: SyncMode,
    /// Clients that will work at once.
    pub clients: usize,
}

/// A running server, which is stopped when this is dropped.
pub(crate) struct Server {
    kind: Kind,
    child: Option<Child>,
    address: ServerAddress,
    /// Where Onlap shows its counters.
    http: u16,
    config: Vec<String>,
    log: Option<PathBuf>,
    // Removed after the server has ended.
    _limit: Option<Limit>,
}

/// Where a server listens.
enum ServerAddress {
    Postgres {
        url: String,
        port: u16,
    },
    Mysql(Address),
    /// Whose connections are made here, with these settings each.
    #[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "it is not built in"))]
    Sqlite {
        file: PathBuf,
        settings: Vec<String>,
    },
}

/// A command and what to say of it.
struct Prepared {
    command: Command,
    address: ServerAddress,
    http: u16,
    config: Vec<String>,
}

/// How long a server may take to answer at first.
const START_MAX: Duration = Duration::from_secs(120);
/// How long a server may take to stop.
const STOP_MAX: Duration = Duration::from_secs(180);
/// Lines of a server's log that a report shows.
const LOG_LINES: usize = 20;

impl Server {
    /// Starts a server on the data in a directory.
    pub(crate) fn start(kind: Kind, options: &ServerOptions<'_>) -> Result<Server> {
        kind.check()?;
        if kind == Kind::Sqlite {
            return sqlite::open(options);
        }
        let limit = options.confined.map(Limit::new).transpose()?;
        let prepared = match kind {
            Kind::Onlap => onlap::prepare(options)?,
            Kind::Postgres => postgres::prepare(options)?,
            kind => mariadb::prepare(kind, options)?,
        };
        let mut command = prepared.command;
        if let Some(limit) = &limit {
            limit.hold(&mut command)?;
        }
        if let Some(group) = options.group {
            confine::join(group, &mut command)?;
        }
        end_with_parent(&mut command);
        std::fs::create_dir_all(options.dir).map_err(io)?;
        let log = options.dir.join("server.log");
        let said = std::fs::File::create(&log).map_err(io)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let child = command.spawn().map_err(io)?;
        let mut server = Server {
            kind,
            child: Some(child),
            address: prepared.address,
            http: prepared.http,
            config: prepared.config,
            log: Some(log),
            _limit: limit,
        };
        server.wait_until_it_answers()?;
        Ok(server)
    }

    /// A server that somebody else runs.
    pub(crate) fn at(url: &str) -> Result<Server> {
        let (kind, address) = match url.split_once("://").map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => {
                let address = ServerAddress::Postgres { url: url.to_owned(), port: 0 };
                (Kind::OtherPostgres, address)
            }
            Some("mysql" | "mariadb") => {
                let url = url.replacen("mariadb://", "mysql://", 1);
                (Kind::OtherMysql, ServerAddress::Mysql(Address::Url(url)))
            }
            _ => {
                let text = format!(
                    "--url {url}: it begins with postgres:// or mysql://, and goes on with \
                     user:password@host:port/database"
                );
                return Err(Error::new(ErrorKind::InvalidInput, text));
            }
        };
        let config = vec!["started by somebody else; memory and durability are its own".into()];
        let server =
            Server { kind, child: None, address, http: 0, config, log: None, _limit: None };
        server.session()?;
        Ok(server)
    }

    fn wait_until_it_answers(&mut self) -> Result<()> {
        let began = Instant::now();
        let name = self.kind.name();
        loop {
            let Err(error) = self.session() else { return Ok(()) };
            let ended = self.child.as_mut().and_then(|c| c.try_wait().ok().flatten());
            if let Some(status) = ended {
                self.child = None;
                let text = format!("{name} ended at once: {status}\n{}", self.log_tail());
                return Err(failed(text));
            }
            if began.elapsed() > START_MAX {
                let text = format!("{name} does not answer: {error}\n{}", self.log_tail());
                return Err(failed(text));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it understands.
    pub(crate) fn dialect(&self) -> Dialect {
        self.kind.dialect()
    }

    /// Which it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether somebody else started it.
    pub(crate) fn is_others(&self) -> bool {
        matches!(self.kind, Kind::OtherPostgres | Kind::OtherMysql)
    }

    /// The settings that it was started with.
    pub(crate) fn config(&self) -> &[String] {
        &self.config
    }

    /// A connection.
    pub(crate) fn session(&self) -> Result<Box<dyn Session>> {
        Ok(match &self.address {
            ServerAddress::Postgres { url, .. } => Box::new(PgConnection::open(url)?),
            ServerAddress::Mysql(address) => Box::new(connect_mysql(address)?),
            #[cfg(feature = "sqlite")]
            ServerAddress::Sqlite { file, settings } => {
                Box::new(super::session::connect_sqlite(file, settings)?)
            }
            #[cfg(not(feature = "sqlite"))]
            ServerAddress::Sqlite { .. } => {
                return Err(Error::new(ErrorKind::Unsupported, "SQLite is not built in"));
            }
        })
    }

    /// A connection of the PostgreSQL client library.
    pub(crate) fn connect(&self) -> Result<::postgres::Client> {
        connect_postgres(&self.url())
    }

    /// For PostgreSQL clients of their own.
    pub(crate) fn url(&self) -> String {
        match &self.address {
            ServerAddress::Postgres { url, .. } => url.clone(),
            _ => String::new(),
        }
    }

    /// For Java's client of PostgreSQL.
    ///
    /// # Errors
    /// It does not speak PostgreSQL's protocol.
    pub(crate) fn jdbc(&self) -> Result<String> {
        match &self.address {
            ServerAddress::Postgres { url, .. } => super::session::jdbc(url),
            _ => {
                let text = format!("{} does not speak PostgreSQL's protocol", self.kind.name());
                Err(Error::new(ErrorKind::Unsupported, text))
            }
        }
    }

    /// Its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        match &self.address {
            ServerAddress::Postgres { port, .. } => *port,
            _ => 0,
        }
    }

    fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// What it and its processes have used; `None` of somebody else's.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.id().map(Usage::of_tree)
    }

    /// Memory of it and its processes.
    pub(crate) fn resident(&self) -> Option<Resident> {
        self.id().map(Resident::of_tree)
    }

    /// Seconds of CPU that its process has taken: its own, and the kernel's for it. A process per
    /// connection, as PostgreSQL has, is not in it.
    pub(crate) fn cpu(&self) -> Result<(f64, f64)> {
        let id = self.id().unwrap_or(0);
        crate::measure::process::cpu_of(id)
            .ok_or_else(|| failed(format!("/proc/{id}/stat is of another form")))
    }

    /// One of Onlap's counters, by its name in `/metrics`.
    pub(crate) fn counter(&self, name: &str) -> Result<u64> {
        let page = self.metrics()?;
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.ok_or_else(|| failed(format!("/metrics has no {name}")))
    }

    /// All of Onlap's counters.
    pub(crate) fn metrics(&self) -> Result<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.http)).map_err(io)?;
        socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").map_err(io)?;
        let mut page = String::new();
        socket.read_to_string(&mut page).map_err(io)?;
        Ok(page)
    }

    /// The last lines that it wrote to its log.
    pub(crate) fn log_tail(&self) -> String {
        let Some(log) = &self.log else { return String::new() };
        let bytes = std::fs::read(log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// Stops it as its manual says.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.end()
    }

    /// The same for those that cannot give it away.
    pub(crate) fn end(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let signal = match self.kind {
            Kind::Postgres => libc::SIGINT,
            _ => libc::SIGTERM,
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

fn io(e: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, e.to_string())
}

fn failed(text: String) -> Error {
    Error::new(ErrorKind::Io, text)
}
