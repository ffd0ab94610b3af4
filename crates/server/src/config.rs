//! With which settings does the server run?

use std::path::PathBuf;
use std::time::Duration;

/// Settings of a server; those of the database are the database's.
#[derive(Clone, Debug)]
pub struct Config {
    /// Addresses to listen at, `host:port`; none for a server that is only handed connections.
    pub listen: Vec<String>,
    /// Address of the console, `/healthz` and `/metrics`.
    pub http: Option<String>,
    /// Certificate and key.
    pub tls: Option<TlsFiles>,
    /// Serve other machines without TLS or passwords.
    pub insecure: bool,
    /// Sessions at most.
    pub max_connections: usize,
    /// How many of them are kept for superusers.
    pub reserved_connections: usize,
    /// Time from connecting to having proved who one is.
    pub authentication_timeout: Duration,
    /// Silent connections, those that have not said what they want, at most.
    pub unauthenticated: usize,
    /// How many connections of one address may be silent, or on their way to a session.
    pub unauthenticated_each: usize,
    /// The longest wait after wrong passwords.
    pub login_delay: Duration,
    /// Statements that took this long are logged.
    pub log_min_duration: Option<Duration>,
    /// How long statements may go on once the server is asked to stop; then they are cancelled.
    pub shutdown_timeout: Duration,
    /// Bytes of a message at most.
    pub message_bytes: usize,
    /// A simple query that panics, for tests.
    #[doc(hidden)]
    pub panic_at: Option<String>,
}

/// Files in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, followed by those it was signed with.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: Vec::new(),
            http: None,
            tls: None,
            insecure: false,
            max_connections: 100,
            reserved_connections: 3,
            authentication_timeout: Duration::from_secs(10),
            unauthenticated: 512,
            unauthenticated_each: 256,
            login_delay: Duration::from_secs(2),
            log_min_duration: None,
            shutdown_timeout: Duration::from_secs(10),
            // A row of the longest values, as text with every byte escaped, and some words around it.
            message_bytes: 4 * onlap_base::limits::ROW_BYTES,
            panic_at: None,
        }
    }
}
