//! Who is talking?
//!
//! The PostgreSQL protocol in front of [`onlap_sql`]: connections, authentication, TLS, limits, an
//! orderly end, and numbers for monitoring. [`Server::start`] serves an [`onlap_sql::Instance`].
//!
//! One thread per connection that has said what it wants, and blocking calls: a statement may wait for a lock for
//! long, and must not stop anybody else; a prepared query is one read and one write. Silent connections have no thread. Must not know what a statement means.
//! Nothing panics on bytes from outside (I8); memory grows with what has arrived, up to limits (I7).

mod auth;
mod bell;
mod config;
mod connection;
mod connections;
mod console;
mod door;
mod frontend;
mod http;
mod input;
mod log;
mod logins;
mod metrics;
mod origin;
mod server;
mod startup;
mod stream;
mod tls;
mod turns;
mod watch;

pub use config::{Config, TlsFiles};
pub use connections::Counts;
pub use log::{Level, Log};
pub use server::Server;
