//! The PostgreSQL 15 that all tests of this target share.

use std::sync::{Arc, Mutex, Weak};

use onlap_testkit::postgres::Postgres;

use super::Address;

/// A server, stopped when the last test that uses it ends.
pub struct Shared {
    _server: Postgres,
    pub address: Address,
}

/// The one that runs, or a new one.
pub fn shared() -> Arc<Shared> {
    static RUNNING: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().unwrap_or_else(|broken| broken.into_inner());
    running.upgrade().unwrap_or_else(|| {
        let server = Postgres::start();
        let address = Address { port: server.port() };
        let started = Arc::new(Shared { _server: server, address });
        *running = Arc::downgrade(&started);
        started
    })
}
