//! How is a server driven?
//!
//! One client code for all servers of a protocol: a multi-row INSERT of literals per commit, prepared
//! statements for everything else. What only one server can do (wait for its background work, count
//! through a given index) is asked for in its own words.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap::{Batch, Row, Value, convert};
use onlap_base::{Error, ErrorKind, Result};

use crate::engine::{Client, Engine, EngineOptions, Start, Written};
use crate::generate::{IndexShape, TableShape};
use crate::measure::process::{Resident, Usage};
use crate::wire::{self, Arg, Dialect, Kind, Server, ServerOptions, Session, number};

mod upkeep;

pub(crate) use upkeep::{settle, sizes, written};

/// Starts a private server, or connects to somebody else's.
pub(super) fn open(name: &str, options: &EngineOptions) -> Result<Box<dyn Engine>> {
    let server = start(name, options)?;
    Ok(Box::new(Wire { server, shape: Mutex::new(None), created: AtomicBool::new(false) }))
}

/// Starts one, or connects, for workloads that are more than a table.
pub(crate) fn start(name: &str, options: &EngineOptions) -> Result<Server> {
    let Some(kind) = Kind::named(name) else {
        let none = || Error::new(ErrorKind::InvalidInput, "engine url needs --url");
        return Server::at(options.url.as_deref().ok_or_else(none)?);
    };
    let options = ServerOptions {
        dir: &options.dir,
        memory: options.memory,
        confined: None,
        group: options.group.as_deref(),
        sync: options.sync,
        clients: options.clients,
    };
    Server::start(kind, &options)
}

struct Wire {
    server: Server,
    shape: Mutex<Option<&'static TableShape>>,
    /// Whether the table is ours to drop on somebody else's server.
    created: AtomicBool,
}

impl Wire {
    fn shape(&self) -> Result<&'static TableShape> {
        let none = || Error::new(ErrorKind::UnknownTable, "no table was created");
        self.shape.lock().expect("no holder panics").ok_or_else(none)
    }

    /// Leaves somebody else's server as it was.
    fn drop_table(&self) -> Result<()> {
        if self.server.is_others() && self.created.swap(false, Ordering::Relaxed) {
            self.run(&format!("DROP TABLE {}", self.shape()?.name))?;
        }
        Ok(())
    }

    fn run(&self, sql: &str) -> Result<()> {
        self.server.session()?.run(sql)
    }
}

impl Engine for Wire {
    fn create_table(&self, shape: &'static TableShape, indexes: usize) -> Result<()> {
        let statements = wire::create_table(shape, indexes, self.server.kind());
        self.use_table(shape, indexes)?;
        for sql in &statements {
            self.run(sql)?;
            // The first makes the table.
            self.created.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
    fn use_table(&self, shape: &'static TableShape, _: usize) -> Result<()> {
        *self.shape.lock().expect("no holder panics") = Some(shape);
        Ok(())
    }
    fn create_index(&self, index: &'static IndexShape) -> Result<()> {
        self.run(&wire::create_index(self.shape()?, index))
    }
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        let shape = self.shape()?;
        let session = self.server.session()?;
        Ok(Box::new(WireClient { session, shape, kind: self.server.kind(), text: String::new() }))
    }
    fn flush(&self) -> Result<()> {
        // What a server puts off is charged to `settle`, the same for all of them.
        Ok(())
    }
    fn settle(&self) -> Result<()> {
        settle(&self.server, &[self.shape()?.name])
    }
    fn written(&self) -> Result<Written> {
        written(&self.server)
    }
    fn sizes(&self) -> Result<BTreeMap<String, u64>> {
        sizes(&self.server, &[self.shape()?.name])
    }
    fn merge_debt_bytes(&self) -> Result<u64> {
        match self.server.kind() {
            Kind::Onlap => self.server.counter("onlap_merge_debt_bytes"),
            _ => Ok(0),
        }
    }
    fn count(&self) -> Result<u64> {
        let sql = format!("SELECT count(*) FROM {}", self.shape()?.name);
        Ok(number(&mut *self.server.session()?, &sql, &[])? as u64)
    }
    fn sum(&self, column: usize) -> Result<Option<i64>> {
        let shape = self.shape()?;
        let whole = self.server.dialect().whole();
        let name = shape.columns[column].0;
        let sql = format!("SELECT CAST(sum({name}) AS {whole}) FROM {}", shape.name);
        number(&mut *self.server.session()?, &sql, &[]).map(Some)
    }
    fn usage(&self) -> Option<Usage> {
        self.server.usage()
    }
    fn resident(&self) -> Option<Resident> {
        self.server.resident()
    }
    fn config(&self) -> Vec<String> {
        self.server.config().to_vec()
    }
    fn log_tail(&self) -> String {
        self.server.log_tail()
    }
    fn close(mut self: Box<Self>) -> Result<()> {
        self.drop_table()?;
        self.server.end()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.drop_table();
    }
}

struct WireClient {
    session: Box<dyn Session>,
    shape: &'static TableShape,
    kind: Kind,
    text: String,
}

impl WireClient {
    fn key(&self) -> &'static str {
        self.shape.columns[0].0
    }

    /// Takes PostgreSQL's other ways to an order away, or gives them back.
    fn force(&mut self, others: &str) -> Result<()> {
        const OTHERS: [&str; 3] = ["enable_seqscan", "enable_sort", "enable_incremental_sort"];
        if self.kind == Kind::Onlap {
            return Ok(());
        }
        OTHERS.iter().try_for_each(|name| self.session.run(&format!("SET {name} = {others}")))
    }
}

impl Client for WireClient {
    fn insert_batch(&mut self, rows: Batch) -> Result<()> {
        self.session.insert(self.shape, &rows, &mut self.text)
    }
    fn insert_rows(&mut self, rows: &[Row]) -> Result<()> {
        let types = self.shape.columns;
        let mut batch = Batch::new(types.iter().map(|(_, ty)| ty.physical()));
        for row in rows {
            for (i, (name, ty)) in types.iter().enumerate() {
                convert::push_value(*ty, &row[i], &mut batch.columns[i], name)?;
            }
        }
        batch.rows = rows.len();
        self.insert_batch(batch)
    }
    fn get(&mut self, key: i64) -> Result<bool> {
        let sql = format!("SELECT * FROM {} WHERE {} = ?", self.shape.name, self.key());
        Ok(self.session.query(&sql, &[Arg::Int(key)], &mut |_| {})? > 0)
    }
    fn increment(&mut self, key: i64, column: usize) -> Result<bool> {
        Ok(self.add(&[key], column)? > 0)
    }
    fn delete(&mut self, keys: &[i64]) -> Result<u64> {
        let sql = format!("DELETE FROM {} WHERE {} = ?", self.shape.name, self.key());
        keys.iter().try_fold(0, |n, key| Ok(n + self.session.execute(&sql, &[Arg::Int(*key)])?))
    }
    fn add(&mut self, keys: &[i64], column: usize) -> Result<u64> {
        let name = self.shape.columns[column].0;
        let (table, key) = (self.shape.name, self.key());
        let sql = format!("UPDATE {table} SET {name} = {name} + 1 WHERE {key} = ?");
        keys.iter().try_fold(0, |n, key| Ok(n + self.session.execute(&sql, &[Arg::Int(*key)])?))
    }
    fn range(&mut self, index: usize, from: &Start, limit: usize) -> Result<usize> {
        let columns: Vec<&str> =
            self.shape.indexes[index].columns.iter().map(|c| self.shape.columns[*c].0).collect();
        let (operator, value) = match from {
            Start::At(value) => (">=", value),
            Start::After(value) => (">", value),
        };
        let sql = format!(
            "SELECT {0} FROM {1} WHERE {2} {operator} ? ORDER BY {0} LIMIT {limit}",
            columns.join(", "),
            self.shape.name,
            columns[0],
        );
        let from = match value {
            Value::Int(n) => Arg::Int(*n),
            Value::Text(text) => Arg::Text(text),
            other => {
                let text = format!("no range begins at {other:?} over the wire");
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
        };
        Ok(self.session.query(&sql, &[from], &mut |_| {})? as usize)
    }
    fn count_index(&mut self, index: usize) -> Result<u64> {
        let index = &self.shape.indexes[index];
        let table = self.shape.name;
        let hint = match self.kind.dialect() {
            Dialect::Mysql => format!("FORCE INDEX ({})", index.name),
            Dialect::Sqlite => format!("INDEXED BY {}", index.name),
            Dialect::Postgres => String::new(),
        };
        if !hint.is_empty() {
            let sql = format!("SELECT count(*) FROM {table} {hint}");
            return Ok(number(&mut *self.session, &sql, &[])? as u64);
        }
        // Only this index has its entries in this order. Onlap's planner sees through OFFSET 0 and reads
        // the rows; a LIMIT keeps the order.
        let columns: Vec<&str> = index.columns.iter().map(|c| self.shape.columns[*c].0).collect();
        let columns = columns.join(", ");
        let fence = if self.kind == Kind::Onlap { "LIMIT 1000000000000" } else { "OFFSET 0" };
        let sql = format!(
            "SELECT count(*) FROM (SELECT {columns} FROM {table} ORDER BY {columns} {fence}) x"
        );
        self.force("off")?;
        let found = number(&mut *self.session, &sql, &[])?;
        self.force("on")?;
        Ok(found as u64)
    }
    fn scan(&mut self, columns: &[usize]) -> Result<u64> {
        let names: Vec<&str> = columns.iter().map(|c| self.shape.columns[*c].0).collect();
        let sql = format!("SELECT {} FROM {}", names.join(", "), self.shape.name);
        self.session.query(&sql, &[], &mut |_| {})
    }
}
