//! SQLite, in this process: what it runs is not sent anywhere.

use std::path::Path;
use std::time::Duration;

use onlap::{Batch, DataType, Value as Datum, convert};
use onlap_base::{Error, ErrorKind, Result};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection as Client, Params, Statement, ToSql, ffi, params_from_iter};

use super::{Arg, Cell, Each, Session};
use crate::generate::TableShape;

/// More texts than a workload has.
const STATEMENTS_MAX: usize = 1000;

/// How long a writer waits for another one.
const BUSY: Duration = Duration::from_secs(60);

/// Connects to a file and applies settings, each the text behind `PRAGMA`.
pub(crate) fn connect(file: &Path, settings: &[String]) -> Result<Connection> {
    let client = Client::open(file).map_err(of_client)?;
    client.busy_timeout(BUSY).map_err(of_client)?;
    client.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    for setting in settings {
        client.execute_batch(&format!("PRAGMA {setting}")).map_err(of_client)?;
    }
    Ok(Connection { client })
}

fn of_client(e: rusqlite::Error) -> Error {
    let kind = match &e {
        rusqlite::Error::SqliteFailure(failure, _) => match failure.extended_code {
            // A read that became a write after somebody else's commit.
            ffi::SQLITE_BUSY_SNAPSHOT => ErrorKind::Conflict,
            ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            | ffi::SQLITE_CONSTRAINT_UNIQUE
            | ffi::SQLITE_CONSTRAINT_ROWID => ErrorKind::DuplicateKey,
            code if code & 0xFF == ffi::SQLITE_BUSY => ErrorKind::LockNotAvailable,
            _ => ErrorKind::Io,
        },
        _ => ErrorKind::Io,
    };
    Error::new(kind, e.to_string())
}

/// A connection; it keeps what it prepared by its text.
pub(crate) struct Connection {
    client: Client,
}

/// SQLite locks all of the database for a writer: it has no locks of rows to ask for, and a transaction
/// that will write had better say so when it begins.
fn own_words(sql: &str) -> &str {
    if sql == "BEGIN" { "BEGIN IMMEDIATE" } else { sql.trim_end_matches(" FOR UPDATE") }
}

impl Session for Connection {
    fn run(&mut self, sql: &str) -> Result<()> {
        self.client.execute_batch(own_words(sql)).map_err(of_client)
    }

    fn execute(&mut self, sql: &str, values: &[Arg<'_>]) -> Result<u64> {
        let mut statement = self.client.prepare_cached(own_words(sql)).map_err(of_client)?;
        let changed = statement.execute(params_from_iter(values)).map_err(of_client)?;
        Ok(changed as u64)
    }

    fn query(&mut self, sql: &str, values: &[Arg<'_>], each: Each<'_>) -> Result<u64> {
        let mut statement = self.client.prepare_cached(own_words(sql)).map_err(of_client)?;
        visit(&mut statement, params_from_iter(values), each).map_err(of_client)
    }

    /// A statement that is prepared once, in a transaction.
    fn insert(&mut self, shape: &TableShape, rows: &Batch, text: &mut String) -> Result<()> {
        text.clear();
        let first = usize::from(!shape.gives_keys);
        let names: Vec<&str> = shape.columns[first..].iter().map(|(name, _)| *name).collect();
        let places = vec!["?"; names.len()].join(",");
        let (table, names) = (shape.name, names.join(","));
        text.push_str(&format!("INSERT INTO {table} ({names}) VALUES ({places})"));
        let transaction = self.client.transaction().map_err(of_client)?;
        {
            let mut statement = transaction.prepare_cached(text).map_err(of_client)?;
            for row in 0..rows.rows {
                for (place, (_, ty)) in shape.columns[first..].iter().enumerate() {
                    let value = convert::read_value(*ty, &rows.columns[first + place], row);
                    let value = bound(*ty, value);
                    statement.raw_bind_parameter(place + 1, value).map_err(of_client)?;
                }
                statement.raw_execute().map_err(of_client)?;
            }
        }
        transaction.commit().map_err(of_client)
    }
}

fn visit(
    statement: &mut Statement<'_>,
    values: impl Params,
    each: Each<'_>,
) -> rusqlite::Result<u64> {
    let columns = statement.column_count();
    let mut rows = statement.query(values)?;
    let (mut found, mut cells) = (0, Vec::with_capacity(columns));
    while let Some(row) = rows.next()? {
        cells.clear();
        for column in 0..columns {
            cells.push(match row.get_ref(column)? {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(n) => Cell::Int(n),
                ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
                _ => Cell::Other,
            });
        }
        each(&cells);
        found += 1;
    }
    Ok(found)
}

fn bound(ty: DataType, value: Datum) -> Value {
    match value {
        Datum::Null => Value::Null,
        Datum::Int(n) => Value::Integer(n),
        Datum::Timestamp(us) => Value::Integer(us / 1_000_000),
        Datum::Float(n) => Value::Real(n),
        Datum::Text(text) => Value::Text(text),
        other => {
            let mut text = String::new();
            convert::format_text(ty, &other, &mut text);
            Value::Text(text)
        }
    }
}

impl ToSql for Arg<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Arg::Int(n) | Arg::Time(n) => ToSqlOutput::Owned(Value::Integer(*n)),
            Arg::Float(n) => ToSqlOutput::Owned(Value::Real(*n)),
            Arg::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_said_in_its_words() {
        let mut session = connect(Path::new(":memory:"), &["cache_size=-1000".into()]).unwrap();
        session.run("CREATE TABLE t (k integer PRIMARY KEY, v text)").unwrap();
        session.run("BEGIN").unwrap();
        let values = [Arg::Int(1), Arg::Text("a")];
        assert_eq!(session.execute("INSERT INTO t VALUES (?, ?)", &values).unwrap(), 1);
        session.run("COMMIT").unwrap();
        let twice = session.execute("INSERT INTO t VALUES (?, ?)", &values).unwrap_err();
        assert_eq!(twice.kind(), ErrorKind::DuplicateKey);
        let mut seen = Vec::new();
        let sql = "SELECT v FROM t WHERE k = ? FOR UPDATE";
        let found = session.query(sql, &[Arg::Int(1)], &mut |row| seen.push(row[0].clone()));
        assert_eq!((found.unwrap(), seen), (1, vec![Cell::Text("a".into())]));
    }
}
