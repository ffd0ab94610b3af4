//! Who accepts connections, and how do they all end?
//!
//! One task accepts at all addresses ([`crate::door`]) and starts a task per connection that has said what it
//! wants. The end ([`Server::stop`]): accepting ends; sessions that wait for their client end at once; running statements have some time
//! and then are cancelled; who does not react to that loses the connection; the database is closed.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use onlap_base::clock::{Clock as _, SystemClock};
use onlap_base::tasks::{TaskHandle, Tasks, ThreadTasks};
use onlap_sql::{Instance, Result, SqlError};
use parking_lot::Mutex;

use crate::config::Config;
use crate::connection::{self, Peer};
use crate::connections::{Connections, Counts, Place};
use crate::console::Console;
use crate::door::{Door, Visitor};
use crate::http;
use crate::input::{Buffers, Input};
use crate::log::Log;
use crate::logins::Logins;
use crate::origin::Limits;
use crate::startup::STARTUP_BYTES;
use crate::stream::Raw;
use crate::tls::Tls;
use crate::watch;

/// Threads beyond those of sessions: their connections authenticate, cancel, or are told that there is no
/// room. As many more may be about to end.
const EXTRA_CONNECTIONS: usize = 32;
/// Connections that the operating system holds for the door: a burst that does not fit tries again after a second.
const BACKLOG: i32 = 4096;
/// How long a cancelled statement may take to notice.
const CANCEL_TIME: Duration = Duration::from_secs(5);
/// How long a client may take to read what we sent, while it is turned away.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) instance: Arc<Instance>,
    pub(crate) config: Config,
    pub(crate) log: Log,
    pub(crate) tls: Option<Tls>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) logins: Logins,
    pub(crate) requests: http::Requests,
    pub(crate) console: Console,
    /// What clients have sent and was not looked at yet.
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) tasks: Arc<dyn Tasks>,
    pub(crate) started_us: i64,
}

impl Shared {
    /// A place for a session of a role.
    pub(crate) fn place(&self, role: &str) -> Result<Place> {
        let (all, kept) = (self.config.max_connections, self.config.reserved_connections);
        let privileged = self.instance.is_superuser(role);
        let places = if privileged { all } else { all.saturating_sub(kept) };
        self.connections.take_place(places).ok_or_else(|| {
            let text = match self.connections.counts().sessions as usize >= all {
                true => "sorry, too many clients already",
                false => {
                    "remaining connection slots are reserved for non-replication superuser connections"
                }
            };
            SqlError::new("53300", text)
        })
    }
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    http: Option<SocketAddr>,
    tasks: Mutex<Vec<TaskHandle>>,
    /// Dropped to end the tasks' waits.
    bells: Mutex<Vec<UnixStream>>,
}

impl Server {
    /// Serves an open database.
    ///
    /// # Errors
    /// An address cannot be listened at, or needs TLS and a password; certificate or key are of no use.
    pub fn start(instance: Arc<Instance>, config: Config, log: Log) -> Result<Server> {
        let tasks: Arc<dyn Tasks> = Arc::new(ThreadTasks::new());
        let tls = config.tls.as_ref().map(|f| Tls::load(&f.certificate, &f.key)).transpose()?;
        let listeners = listen(&config.listen)?;
        let addresses = addresses(&listeners)?;
        check_exposure(&addresses, &instance, &config)?;
        let pages = listen(config.http.as_slice())?;
        let http = self::addresses(&pages)?.first().copied();
        let shared = Arc::new(Shared {
            logins: Logins::new(config.login_delay.min(config.authentication_timeout / 2)),
            requests: http::Requests::default(),
            console: Console::at(&self::addresses(&pages)?, config.authentication_timeout),
            buffers: Buffers::new(buffer_bytes(&instance)),
            instance,
            config,
            log,
            tls,
            connections: Arc::new(Connections::new(tasks.event())),
            tasks,
            started_us: SystemClock.unix_us(),
        });
        let server =
            Server { shared, addresses, http, tasks: Mutex::default(), bells: Mutex::default() };
        server.run("accept", listeners, Kind::Sessions)?;
        server.run("http", pages, Kind::Pages)?;
        let shared = Arc::clone(&server.shared);
        let watching = server.shared.tasks.spawn("watch", Box::new(move || watch::run(&shared)));
        server.tasks.lock().push(watching);
        Ok(server)
    }
    /// Where it listens; a port of 0 in the configuration has become one.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
    /// Where the console, `/healthz` and `/metrics` are.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }
    /// Serves one more connection, of this process.
    pub fn attach(&self, socket: UnixStream) {
        let until_ns = SystemClock.monotonic_ns()
            + self.shared.config.authentication_timeout.as_nanos() as u64;
        start(&self.shared, Raw::Unix(socket), Peer::Inside, Input::default(), until_ns);
    }
    /// Connections in numbers.
    pub fn counts(&self) -> Counts {
        self.shared.connections.counts()
    }
    /// Ends all sessions and closes the database.
    ///
    /// # Errors
    /// The database could not write what is in memory; what was acknowledged is in its log all the same.
    pub fn stop(&self) -> Result<()> {
        self.leave();
        let Shared { log, instance, .. } = &*self.shared;
        let closed = instance.close();
        match &closed {
            Ok(()) => log.info("stopped, the database is closed"),
            Err(e) => log.error(format_args!("stopped, but the database was not closed: {e}")),
        }
        closed
    }

    /// Ends all sessions and listens no more; the database stays open for the program that has it.
    pub fn leave(&self) {
        let Shared { connections, config, log, instance, .. } = &*self.shared;
        log.info("stopping: no more connections, running statements end");
        connections.stop();
        self.bells.lock().clear();
        if !self.wait_for_end(config.shutdown_timeout) {
            let sessions = connections.sessions();
            log.info(format_args!("cancelling the statements of {} sessions", sessions.len()));
            sessions.into_iter().for_each(|key| instance.cancel(key));
            if !self.wait_for_end(CANCEL_TIME) {
                log.warn(format_args!("breaking {} connections", connections.len()));
                connections.break_all();
                self.wait_for_end(CANCEL_TIME);
            }
        }
        for task in self.tasks.lock().drain(..) {
            if let Err(panic) = task.join() {
                log.error(format_args!("a task of the server panicked: {panic}"));
            }
        }
    }

    fn wait_for_end(&self, time: Duration) -> bool {
        let connections = &self.shared.connections;
        let end = SystemClock.monotonic_ns() + time.as_nanos() as u64;
        loop {
            let seen = connections.changed().epoch();
            if connections.len() == 0 {
                return true;
            }
            let left = end.saturating_sub(SystemClock.monotonic_ns());
            if left == 0 {
                return false;
            }
            connections.changed().wait(seen, Some(Duration::from_nanos(left)));
        }
    }

    /// Starts a task that accepts until the server stops.
    fn run(&self, name: &str, listeners: Vec<TcpListener>, kind: Kind) -> Result<()> {
        if listeners.is_empty() {
            return Ok(());
        }
        let (bell, listening) =
            UnixStream::pair().map_err(|e| failed("cannot make a socket", &e))?;
        let door = Door::new(Arc::clone(&self.shared), kind, listeners, listening);
        let body = Box::new(move || door.run());
        self.tasks.lock().push(self.shared.tasks.spawn(name, body));
        self.bells.lock().push(bell);
        Ok(())
    }
}

/// What a door leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Sessions of the database.
    Sessions,
    /// Pages for monitors and browsers.
    Pages,
}

impl Kind {
    /// Whether a client has said what it wants.
    pub(crate) fn is_whole(self, input: &Input) -> bool {
        match self {
            Kind::Sessions => input.has_first(STARTUP_BYTES),
            Kind::Pages => http::is_whole(input),
        }
    }
    /// How long a client may take for that.
    pub(crate) fn patience(self, shared: &Shared) -> Duration {
        match self {
            Kind::Sessions => shared.config.authentication_timeout,
            Kind::Pages => http::PATIENCE,
        }
    }
    /// Whether there may be one thread more.
    pub(crate) fn has_room(self, shared: &Shared, visitor: &Visitor) -> bool {
        let most = shared.config.max_connections + 2 * EXTRA_CONNECTIONS;
        match self {
            Kind::Sessions => shared.connections.len() < most,
            Kind::Pages => shared.requests.have_room(visitor),
        }
    }
    /// Gives a client a thread.
    pub(crate) fn serve(self, shared: &Arc<Shared>, visitor: Visitor) {
        match self {
            Kind::Pages => http::serve(shared, visitor),
            Kind::Sessions => {
                let peer = Peer::Ip(visitor.peer.ip(), visitor.peer.port());
                match visitor.socket.set_nonblocking(false) {
                    Ok(()) => {
                        let socket = Raw::Tcp(visitor.socket);
                        start(shared, socket, peer, visitor.input, visitor.until_ns);
                    }
                    Err(e) => shared.log.info(format_args!("connection from {peer} dropped: {e}")),
                }
            }
        }
    }
    /// Tells a client without a thread why it has to go; one that does not read it goes all the same.
    pub(crate) fn say(self, socket: &mut TcpStream, why: &SqlError) {
        if self == Kind::Sessions {
            let mut reply = onlap_sql::Reply::new();
            reply.error("FATAL", why);
            let _ = io::Write::write(socket, reply.bytes());
        }
    }
}

/// What the buffers of all clients may hold: room for one of the longest rows as text, or a quarter of the budget.
fn buffer_bytes(instance: &Instance) -> usize {
    let budget: u64 = instance.database().memory().iter().map(|part| part.limit).sum();
    let quarter = usize::try_from(budget / 4).unwrap_or(usize::MAX);
    quarter.max(2 * onlap_base::limits::ROW_BYTES)
}

fn listen(at: &[String]) -> Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for address in at {
        let problem = |e: io::Error| failed(&format!("cannot listen at {address}"), &e);
        let found: Vec<SocketAddr> = address.to_socket_addrs().map_err(problem)?.collect();
        for one in found {
            let listener = TcpListener::bind(one).map_err(problem)?;
            // poll says when there is somebody; who left meanwhile must not stop us.
            listener.set_nonblocking(true).map_err(problem)?;
            rustix::net::listen(&listener, BACKLOG).map_err(|e| problem(e.into()))?;
            listeners.push(listener);
        }
    }
    Ok(listeners)
}

fn addresses(listeners: &[TcpListener]) -> Result<Vec<SocketAddr>> {
    let all: io::Result<_> = listeners.iter().map(TcpListener::local_addr).collect();
    all.map_err(|e| failed("cannot tell the address", &e))
}

/// Beyond this machine nobody listens, and nobody answers without a password.
fn check_exposure(at: &[SocketAddr], instance: &Instance, config: &Config) -> Result<()> {
    let Some(open) = at.iter().find(|a| !a.ip().is_loopback()) else { return Ok(()) };
    let lacks = match (config.tls.is_some(), instance.has_passwords()) {
        _ if config.insecure => return Ok(()),
        (true, true) => return Ok(()),
        (false, true) => "TLS",
        (true, false) => "a password",
        (false, false) => "TLS and a password",
    };
    let text = format!("listening at {open} lets other machines in, and needs {lacks}");
    let hint = "Give --tls-cert and --tls-key, and --password-file; or --insecure to do without.";
    Err(SqlError::new("F0000", text).hint(hint))
}

/// How many connections may be on their way to a session: threads that sessions leave free.
pub(crate) fn newcomers(shared: &Shared) -> Limits {
    let Config { max_connections, unauthenticated_each, .. } = shared.config;
    let free = max_connections.saturating_sub(shared.connections.session_count());
    Limits { all: free + EXTRA_CONNECTIONS, each: unauthenticated_each }
}

fn start(shared: &Arc<Shared>, socket: Raw, peer: Peer, input: Input, until_ns: u64) {
    // A thread that cannot be started takes the socket with it, so a handle stays here.
    let spare = socket.try_clone();
    let serving = Arc::clone(shared);
    let body = Box::new(move || connection::serve(&serving, socket, peer, input, until_ns));
    if let (None, Ok(spare)) = (shared.tasks.try_spawn("session", body), spare) {
        refuse(shared, spare, peer, "the server has no thread left");
    }
}

fn refuse(shared: &Shared, socket: Raw, peer: Peer, why: &str) {
    shared.connections.refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    shared.log.warn(format_args!("connection from {peer} refused: {why}"));
    let mut reply = onlap_sql::Reply::new();
    reply.error("FATAL", &SqlError::new("53300", why));
    // Politeness: the client is turned away in either case.
    let _ = socket.set_write_timeout(Some(REFUSAL_TIME));
    let _ = crate::stream::Stream::new(socket).send(reply.bytes());
}

fn failed(what: &str, e: &io::Error) -> SqlError {
    SqlError::new("58030", format!("{what}: {e}"))
}
