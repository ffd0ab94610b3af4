//! How is a server driven?
//!
//! One client code for all servers of a protocol: a multi-row INSERT of literals per commit, prepared
//! statements for everything else. What only one server can do (wait for its background work, count
//! through a given index) is asked for in its own words.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onlap::{Batch, Row, Value, convert};
use onlap_base::{Error, ErrorKind, Result};

use crate::engine::{Client, Engine, EngineOptions, Written};
use crate::generate::{IndexShape, TableShape};
use crate::measure::process::{Resident, Usage};
use crate::wire::{self, Arg, Dialect, Kind, Server, ServerOptions, Session, number};

/// How long background work may take.
const SETTLE_MAX: Duration = Duration::from_secs(600);

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

    fn run(&self, sql: &str) -> Result<()> {
        self.server.session()?.run(sql)
    }
}

/// Waits until a server has no background work, as far as it tells.
pub(crate) fn settle(server: &Server, tables: &[&str]) -> Result<()> {
    let mut session = server.session()?;
    let began = Instant::now();
    match server.kind() {
        Kind::Onlap => {
            session.run("CHECKPOINT")?;
            let mut last = (Instant::now(), 0);
            while last.0.elapsed() < Duration::from_secs(1) && began.elapsed() < SETTLE_MAX {
                let written = server.counter("onlap_written_bytes_total{purpose=\"all\"}")?;
                if written != last.1 {
                    last = (Instant::now(), written);
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        Kind::Postgres | Kind::OtherPostgres => {
            for table in tables {
                session.run(&format!("VACUUM ANALYZE {table}"))?;
            }
            session.run("CHECKPOINT")?;
        }
        Kind::Innodb | Kind::InnodbChangeBuffer | Kind::InnodbCompressed => {
            session.run("SET GLOBAL innodb_max_dirty_pages_pct = 0")?;
            session.run("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0")?;
            let dirty = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE \
                         VARIABLE_NAME = 'INNODB_BUFFER_POOL_PAGES_DIRTY'";
            wait_for(began, || Ok(number(&mut *session, dirty, &[])? < 10))?;
            session.run("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 60")?;
            session.run("SET GLOBAL innodb_max_dirty_pages_pct = 80")?;
            analyze(&mut *session, tables)?;
        }
        Kind::Myrocks | Kind::MyrocksZstd => {
            session.run("SET GLOBAL rocksdb_force_flush_memtable_now = 1")?;
            let pending = "SELECT CAST(COALESCE(SUM(VALUE), 0) AS SIGNED) FROM \
                           information_schema.ROCKSDB_CFSTATS WHERE STAT_TYPE IN \
                           ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING', \
                           'NUM_IMMUTABLE_MEM_TABLE')";
            let mut quiet = 0;
            wait_for(began, || {
                quiet = if number(&mut *session, pending, &[])? == 0 { quiet + 1 } else { 0 };
                Ok(quiet >= 5)
            })?;
            analyze(&mut *session, tables)?;
        }
        Kind::OtherMysql => analyze(&mut *session, tables)?,
    }
    Ok(())
}

fn analyze(session: &mut dyn Session, tables: &[&str]) -> Result<()> {
    tables.iter().try_for_each(|table| session.run(&format!("ANALYZE TABLE {table}")))
}

fn wait_for(began: Instant, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    while began.elapsed() < SETTLE_MAX && !done()? {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Bytes that a server wrote, by purpose, where it tells.
pub(crate) fn written(server: &Server) -> Result<Written> {
    if server.kind() != Kind::Onlap {
        return Ok(Written::default());
    }
    let page = server.metrics()?;
    let of = |purpose: &str| {
        let name = format!("onlap_written_bytes_total{{purpose=\"{purpose}\"}}");
        let value = page.lines().find_map(|line| line.strip_prefix(&name)?.trim().parse().ok());
        value.unwrap_or(0u64)
    };
    let rows = of("segments") + of("compaction");
    let others = of("log") + rows + of("marks") + of("manifest");
    Ok(Written {
        log: of("log"),
        rows: Some(rows),
        indexes: [("all indexes".to_owned(), of("all").saturating_sub(others))].into(),
        total: Some(of("all")),
    })
}

impl Engine for Wire {
    fn create_table(&self, shape: &'static TableShape, indexes: usize) -> Result<()> {
        let statements = wire::create_table(shape, indexes, self.server.kind());
        statements.iter().try_for_each(|sql| self.run(sql))?;
        self.created.store(true, Ordering::Relaxed);
        self.use_table(shape, indexes)
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
        let whole = match self.server.dialect() {
            Dialect::Postgres => "bigint",
            Dialect::Mysql => "SIGNED",
        };
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
    fn close(self: Box<Self>) -> Result<()> {
        let others = matches!(self.server.kind(), Kind::OtherPostgres | Kind::OtherMysql);
        if others && self.created.load(Ordering::Relaxed) {
            self.run(&format!("DROP TABLE {}", self.shape()?.name))?;
        }
        self.server.stop()
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
        wire::insert_text(self.shape, &rows, &mut self.text);
        self.session.run(&self.text)
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
    fn range(&mut self, index: usize, from: &[Value], limit: usize) -> Result<usize> {
        let columns: Vec<&str> =
            self.shape.indexes[index].columns.iter().map(|c| self.shape.columns[*c].0).collect();
        let sql = format!(
            "SELECT {0} FROM {1} WHERE {2} >= ? ORDER BY {0} LIMIT {limit}",
            columns.join(", "),
            self.shape.name,
            columns[0],
        );
        let from = match &from[0] {
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
        if self.kind.dialect() == Dialect::Mysql {
            let sql = format!("SELECT count(*) FROM {table} FORCE INDEX ({})", index.name);
            return Ok(number(&mut *self.session, &sql, &[])? as u64);
        }
        // Only this index has its entries in this order.
        let columns: Vec<&str> = index.columns.iter().map(|c| self.shape.columns[*c].0).collect();
        let columns = columns.join(", ");
        let sql = format!(
            "SELECT count(*) FROM (SELECT {columns} FROM {table} ORDER BY {columns} OFFSET 0) x"
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
