//! What is an open database to Python?
//!
//! Sessions that are not used lie in a pool: a statement outside of a transaction takes one and gives it back.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use onlap::{Database, Options, SyncMode};
use onlap_server::{Config, Level, Log, Server};
use onlap_sql::{Instance, SqlError};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::errors;
use crate::parameters::Parameters;
use crate::rows::{self, Rows};
use crate::session::Session;
use crate::statistics;
use crate::worker::Worker;

/// Sessions that are kept: more are seldom used at once, and each is a thread.
const KEPT: usize = 8;

/// What the parts of an open database share.
pub struct Shared {
    /// None once the database was closed.
    instance: Mutex<Option<Arc<Instance>>>,
    /// Sessions without a user.
    idle: Mutex<Vec<Arc<Worker>>>,
    /// All that were begun and may be there.
    all: Mutex<Vec<Weak<Worker>>>,
    server: Mutex<Option<Server>>,
}

/// A session with one user until it is dropped; no transaction is under way in it then.
pub struct Lease {
    shared: Arc<Shared>,
    worker: Arc<Worker>,
}

impl Lease {
    /// The session's thread.
    pub fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Before whatever the next one asks of it.
        self.worker.post(crate::session::leave);
        let is_open = self.shared.instance.lock().is_some();
        let mut idle = self.shared.idle.lock();
        match is_open && idle.len() < KEPT {
            true => idle.push(Arc::clone(&self.worker)),
            false => self.worker.end(),
        }
    }
}

impl Shared {
    fn instance(&self) -> Result<Arc<Instance>, SqlError> {
        let instance = self.instance.lock().clone();
        instance.ok_or_else(|| SqlError::new("08003", "the database was closed"))
    }

    /// A session without a transaction.
    pub fn lease(self: &Arc<Self>, py: Python<'_>) -> PyResult<Lease> {
        let found = py.detach(|| {
            let instance = self.instance()?;
            if let Some(worker) = self.idle.lock().pop() {
                return Ok(worker);
            }
            let worker = Arc::new(Worker::start(&instance)?);
            let mut all = self.all.lock();
            all.retain(|known| known.strong_count() > 0);
            all.push(Arc::downgrade(&worker));
            Ok(worker)
        });
        let worker = found.map_err(|e: SqlError| errors::raised(py, &e))?;
        Ok(Lease { shared: Arc::clone(self), worker })
    }

    /// Ends all sessions, and what is under way in them, and closes the database.
    fn close(&self) -> Result<(), SqlError> {
        let Some(instance) = self.instance.lock().take() else { return Ok(()) };
        let (idle, server) = (std::mem::take(&mut *self.idle.lock()), self.server.lock().take());
        drop(idle);
        let all = std::mem::take(&mut *self.all.lock());
        all.iter().filter_map(Weak::upgrade).for_each(|worker| worker.finish());
        server.map_or_else(|| instance.close(), |server| server.stop())
    }
}

/// An open database.
#[pyclass(frozen, module = "onlap._onlap")]
pub struct Core(Arc<Shared>);

#[pymethods]
impl Core {
    /// Opens the database in a directory.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        path: std::path::PathBuf,
        memory: Option<u64>,
        sync: &str,
        create: bool,
    ) -> PyResult<Core> {
        let sync: SyncMode = sync.parse().map_err(|e| errors::of_engine(py, e))?;
        let options = Options { memory_limit: memory, sync, ..Options::default() }.create(create);
        let opened = py.detach(|| {
            let db = Database::open(&path, options).map_err(SqlError::from)?;
            Instance::open(db)
        });
        let instance = opened.map_err(|e| errors::raised(py, &e))?;
        Ok(Core(Arc::new(Shared {
            instance: Mutex::new(Some(instance)),
            idle: Mutex::default(),
            all: Mutex::default(),
            server: Mutex::default(),
        })))
    }

    /// Runs a statement in a transaction of its own.
    fn run(&self, py: Python<'_>, sql: String, parameters: Parameters) -> PyResult<Rows> {
        rows::alone(py, self.0.lease(py)?, sql, parameters)
    }

    /// A session for a transaction.
    fn session(&self, py: Python<'_>) -> PyResult<Session> {
        Ok(Session::new(self.0.lease(py)?))
    }

    /// Numbers about tables and indexes.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = py.detach(|| {
            let instance = self.0.instance()?;
            let stats = instance.database().stats().map_err(SqlError::from)?;
            Ok((stats, instance.statement_medians()))
        });
        let (stats, medians) = stats.map_err(|e: SqlError| errors::raised(py, &e))?;
        statistics::of(py, &stats, &medians)
    }

    /// Listens for PostgreSQL's clients at an address; where it does.
    fn serve(&self, py: Python<'_>, host: &str, port: u16) -> PyResult<(String, u16)> {
        let listen = vec![match host.contains(':') && !host.starts_with('[') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        }];
        // The lock is never waited for with the interpreter in hand: who has it may be waiting for that.
        let served = py.detach(|| {
            let mut server = self.0.server.lock();
            if server.is_some() {
                return Err(SqlError::new("55006", "the database is served already"));
            }
            let config = Config { listen, ..Config::default() };
            let instance = self.0.instance()?;
            let started = Server::start(instance, config, Log::stderr(Level::Warn))?;
            let first: Option<SocketAddr> = started.addresses().first().copied();
            let first = first.ok_or_else(|| SqlError::new("08001", "no address to listen at"))?;
            *server = Some(started);
            Ok((first.ip().to_string(), first.port()))
        });
        served.map_err(|e| errors::raised(py, &e))
    }

    /// Ends what [`Core::serve`] began, and the sessions of its clients.
    fn stop_serving(&self, py: Python<'_>) {
        py.detach(|| {
            let server = self.0.server.lock().take();
            if let Some(server) = server {
                server.leave();
            }
        });
    }

    /// Ends all sessions and closes the database.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.close()).map_err(|e| errors::raised(py, &e))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // What is committed is in the log; who wants to know of failures calls close.
        let _ = self.close();
    }
}
