//! The MySQL protocol.

use std::collections::HashMap;

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Statement, Value};
use onlap_base::{Error, ErrorKind, Result};

use super::{Arg, Cell, Each, Session, kind_of};

/// Where a server listens.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    /// A private one, by its port on loopback, with a user that needs no password.
    Private(u16),
    /// `mysql://user:password@host:port/database`.
    Url(String),
}

/// More texts than a workload has.
const STATEMENTS_MAX: usize = 10_000;

/// Connects.
pub(crate) fn connect(address: &Address) -> Result<Connection> {
    let builder = match address {
        Address::Private(port) => {
            let builder = OptsBuilder::new().user(Some("root")).db_name(Some("test"));
            builder.ip_or_hostname(Some("127.0.0.1")).tcp_port(*port).prefer_socket(false)
        }
        Address::Url(url) => {
            let opts = Opts::from_url(url)
                .map_err(|e| Error::new(ErrorKind::InvalidInput, format!("{url}: {e}")))?;
            OptsBuilder::from_opts(opts)
        }
    };
    // An update tells how many rows it found, as in PostgreSQL.
    let found = CapabilityFlags::CLIENT_FOUND_ROWS;
    // Statements are kept by us; the library would close those that it forgets.
    let builder = builder.additional_capabilities(found).tcp_nodelay(true);
    let builder = builder.stmt_cache_size(STATEMENTS_MAX);
    let client = Conn::new(builder).map_err(of_client)?;
    Ok(Connection { client, prepared: HashMap::new() })
}

/// An error of the client library.
fn of_client(e: mysql::Error) -> Error {
    // Lock wait timeout and deadlock; both have rolled the transaction back or may be tried again.
    const RETRY: [u16; 2] = [1205, 1213];
    match &e {
        mysql::Error::MySqlError(e) => {
            let kind = match (e.code, e.state.as_str()) {
                (code, _) if RETRY.contains(&code) => ErrorKind::Deadlock,
                (1062, _) => ErrorKind::DuplicateKey,
                (_, state) => kind_of(state),
            };
            Error::new(kind, format!("{} ({}, {})", e.message, e.code, e.state))
        }
        _ => Error::new(ErrorKind::Io, e.to_string()),
    }
}

/// A connection and what was prepared on it, by its text.
pub(crate) struct Connection {
    client: Conn,
    prepared: HashMap<String, Statement>,
}

impl Connection {
    fn statement(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prep(sql).map_err(of_client)?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Session for Connection {
    fn run(&mut self, sql: &str) -> Result<()> {
        self.client.query_drop(sql).map_err(of_client)
    }

    fn execute(&mut self, sql: &str, values: &[Arg<'_>]) -> Result<u64> {
        let statement = self.statement(sql)?;
        let values: Vec<Value> = values.iter().map(value).collect();
        let result = self.client.exec_iter(&statement, values).map_err(of_client)?;
        // Known as long as nothing was read.
        let changed = result.affected_rows();
        let mut rows = 0;
        for row in result {
            row.map_err(of_client)?;
            rows += 1;
        }
        Ok(changed.max(rows))
    }

    fn query(&mut self, sql: &str, values: &[Arg<'_>], each: Each<'_>) -> Result<u64> {
        let statement = self.statement(sql)?;
        let values: Vec<Value> = values.iter().map(value).collect();
        let result = self.client.exec_iter(&statement, values).map_err(of_client)?;
        let (mut found, mut cells) = (0, Vec::new());
        for row in result {
            cells.clear();
            cells.extend(row.map_err(of_client)?.unwrap().into_iter().map(cell));
            each(&cells);
            found += 1;
        }
        Ok(found)
    }
}

fn value(arg: &Arg<'_>) -> Value {
    match arg {
        Arg::Int(n) => Value::Int(*n),
        Arg::Float(n) => Value::Double(*n),
        Arg::Text(text) => Value::Bytes(text.as_bytes().to_vec()),
        Arg::Time(seconds) => Value::Bytes(super::time_text(*seconds).into_bytes()),
    }
}

fn cell(value: Value) -> Cell {
    match value {
        Value::NULL => Cell::Null,
        Value::Int(n) => Cell::Int(n),
        Value::UInt(n) => Cell::Int(n as i64),
        Value::Bytes(bytes) => Cell::Text(String::from_utf8_lossy(&bytes).into_owned()),
        _ => Cell::Other,
    }
}
