//! Do real clients work?
//!
//! Each test runs a program that people use, psql, pgbench, sysbench, psycopg 2 and 3, pgjdbc,
//! node-postgres, tokio-postgres, against a server that is a process of its own. Where a script runs
//! against a private PostgreSQL 15 too, the lines that it prints must be the same. Where
//! one is missing its test says so and does nothing, but in `.ci/run`, which installs them.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod drivers;
mod pgbench;
mod pgbouncer;
mod psql;
mod support;
mod sysbench;

/// Not a test of its own: the server, where the environment names its directory.
#[test]
fn server_process() {
    support::server::serve_if_asked();
}
