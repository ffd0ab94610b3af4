//! How is a server driven that speaks the PostgreSQL protocol?
//!
//! One client code for Onlap's server and PostgreSQL: a multi-row INSERT of literals per commit, prepared
//! statements for everything else.

use std::sync::Mutex;

use onlap::{Batch, DataType, Row, Value, convert};
use onlap_base::{Error, ErrorKind, Result};
use postgres::Statement;
use postgres::types::ToSql;

use crate::engine::{Client, Engine, EngineOptions, Written};
use crate::generate::{IndexShape, TableShape};
use crate::wire::{self, Kind, Server, of_client};

/// Starts a private server.
pub(super) fn open(kind: Kind, options: &EngineOptions) -> Result<Box<dyn Engine>> {
    let server = Server::start(kind, &options.dir, options.memory, None, options.sync)?;
    Ok(Box::new(Wire { server, shape: Mutex::new(None) }))
}

struct Wire {
    server: Server,
    shape: Mutex<Option<&'static TableShape>>,
}

impl Wire {
    fn shape(&self) -> Result<&'static TableShape> {
        let none = || Error::new(ErrorKind::UnknownTable, "no table was created");
        self.shape.lock().expect("no holder panics").ok_or_else(none)
    }

    fn run(&self, sql: &str) -> Result<()> {
        self.server.connect()?.batch_execute(sql).map_err(|e| of_client(&e))
    }
}

impl Engine for Wire {
    fn create_table(&self, shape: &'static TableShape, indexes: usize) -> Result<()> {
        wire::create_table(shape, indexes).iter().try_for_each(|sql| self.run(sql))?;
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
        let client = self.server.connect()?;
        let text = String::new();
        Ok(Box::new(WireClient { client, shape, text, get: None, prepared: Vec::new() }))
    }
    fn flush(&self) -> Result<()> {
        self.run("CHECKPOINT")
    }
    fn settle(&self) -> Result<()> {
        self.run("CHECKPOINT")
    }
    fn written(&self) -> Result<Written> {
        Ok(Written::default())
    }
    fn merge_debt_bytes(&self) -> Result<u64> {
        Ok(0)
    }
    fn count(&self) -> Result<u64> {
        let sql = format!("SELECT count(*) FROM {}", self.shape()?.name);
        let row = self.server.connect()?.query_one(&sql, &[]).map_err(|e| of_client(&e))?;
        Ok(row.get::<_, i64>(0) as u64)
    }
    fn close(self: Box<Self>) -> Result<()> {
        self.server.stop()
    }
}

struct WireClient {
    client: postgres::Client,
    shape: &'static TableShape,
    text: String,
    get: Option<Statement>,
    /// Statements that were prepared, by their text.
    prepared: Vec<(String, Statement)>,
}

impl WireClient {
    fn prepare(&mut self, sql: String) -> Result<Statement> {
        if let Some((_, statement)) = self.prepared.iter().find(|(text, _)| *text == sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&sql).map_err(|e| of_client(&e))?;
        self.prepared.push((sql, statement.clone()));
        Ok(statement)
    }

    fn execute(&mut self, sql: String, values: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let statement = self.prepare(sql)?;
        self.client.execute(&statement, values).map_err(|e| of_client(&e))
    }

    fn count_of(&mut self, sql: String, values: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let statement = self.prepare(sql)?;
        let rows = self.client.query(&statement, values).map_err(|e| of_client(&e))?;
        Ok(rows.len() as u64)
    }

    fn key(&self) -> &'static str {
        self.shape.columns[0].0
    }
}

impl Client for WireClient {
    fn insert_batch(&mut self, rows: Batch) -> Result<()> {
        let mut text = std::mem::take(&mut self.text);
        wire::insert_text(self.shape, &rows, &mut text);
        let done = self.client.batch_execute(&text).map_err(|e| of_client(&e));
        self.text = text;
        done
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
        if self.get.is_none() {
            let sql = format!("SELECT * FROM {} WHERE {} = $1", self.shape.name, self.key());
            self.get = Some(self.prepare(sql)?);
        }
        let statement = self.get.as_ref().expect("was just prepared");
        let row = self.client.query_opt(statement, &[&key]).map_err(|e| of_client(&e))?;
        Ok(row.is_some())
    }
    fn increment(&mut self, key: i64, column: usize) -> Result<bool> {
        Ok(self.add(&[key], column)? > 0)
    }
    fn delete(&mut self, keys: &[i64]) -> Result<u64> {
        let sql = format!("DELETE FROM {} WHERE {} = $1", self.shape.name, self.key());
        keys.iter().try_fold(0, |n, key| Ok(n + self.execute(sql.clone(), &[key])?))
    }
    fn add(&mut self, keys: &[i64], column: usize) -> Result<u64> {
        let name = self.shape.columns[column].0;
        let (table, key) = (self.shape.name, self.key());
        let sql = format!("UPDATE {table} SET {name} = {name} + 1 WHERE {key} = $1");
        keys.iter().try_fold(0, |n, key| Ok(n + self.execute(sql.clone(), &[key])?))
    }
    fn range(&mut self, index: usize, from: &[Value], limit: usize) -> Result<usize> {
        let columns: Vec<&str> =
            self.shape.indexes[index].columns.iter().map(|c| self.shape.columns[*c].0).collect();
        let first = self.shape.indexes[index].columns[0];
        let mut literal = String::new();
        convert::format_text(self.shape.columns[first].1, &from[0], &mut literal);
        let cast = match self.shape.columns[first].1 {
            DataType::Int4 => "int4",
            DataType::Int8 => "int8",
            _ => "text",
        };
        let sql = format!(
            "SELECT {0} FROM {1} WHERE {2} >= '{literal}'::{cast} ORDER BY {0} LIMIT {limit}",
            columns.join(", "),
            self.shape.name,
            columns[0],
        );
        let rows = self.client.simple_query(&sql).map_err(|e| of_client(&e))?;
        let is_row =
            |m: &&postgres::SimpleQueryMessage| matches!(m, postgres::SimpleQueryMessage::Row(_));
        Ok(rows.iter().filter(is_row).count())
    }
    fn count_index(&mut self, index: usize) -> Result<u64> {
        let column = self.shape.columns[self.shape.indexes[index].columns[0]].0;
        let sql = format!("SELECT count({column}) FROM {}", self.shape.name);
        let statement = self.prepare(sql)?;
        let row = self.client.query_one(&statement, &[]).map_err(|e| of_client(&e))?;
        Ok(row.get::<_, i64>(0) as u64)
    }
    fn scan(&mut self, columns: &[usize]) -> Result<u64> {
        let names: Vec<&str> = columns.iter().map(|c| self.shape.columns[*c].0).collect();
        self.count_of(format!("SELECT {} FROM {}", names.join(", "), self.shape.name), &[])
    }
}
