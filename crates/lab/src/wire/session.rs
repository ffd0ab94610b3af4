//! How does a client talk to a server, whatever the protocol?
//!
//! Text statements, and prepared ones with `?` for each value; what differs between the protocols ends
//! here. A session belongs to one thread.

use onlap::{Batch, DataType, Value, convert};
use onlap_base::{Error, ErrorKind, Result};

use super::sql::insert_text;
use crate::generate::TableShape;

mod mysql;
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub(crate) use self::postgres::{
    Connection as PgConnection, connect as connect_postgres, jdbc, of_client,
};
pub(crate) use mysql::{Address, connect as connect_mysql};
#[cfg(feature = "sqlite")]
pub(crate) use sqlite::connect as connect_sqlite;

/// What a server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// PostgreSQL and what speaks like it.
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// What a sum is cast to for an integer of eight bytes.
    pub(crate) fn whole(self) -> &'static str {
        match self {
            Dialect::Postgres => "bigint",
            Dialect::Mysql => "SIGNED",
            Dialect::Sqlite => "integer",
        }
    }

    /// Type of a column that counts by itself and is the key.
    pub(crate) fn serial(self) -> &'static str {
        match self {
            Dialect::Postgres => "bigserial",
            Dialect::Mysql => "bigint NOT NULL AUTO_INCREMENT",
            Dialect::Sqlite => "integer",
        }
    }
}

/// A value for a placeholder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arg<'a> {
    /// For an integer column of any width.
    Int(i64),
    /// For a column of doubles.
    Float(f64),
    /// For a column of text.
    Text(&'a str),
    /// For a column of times: whole seconds since 1970.
    Time(i64),
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
    /// A type that no workload looks into.
    Other,
}

impl Cell {
    /// The number; 0 of anything else.
    pub(crate) fn int(&self) -> i64 {
        match self {
            Cell::Int(n) => *n,
            Cell::Text(text) => text.parse().unwrap_or(0),
            _ => 0,
        }
    }
}

/// Looks at a row of an answer.
pub(crate) type Each<'a> = &'a mut dyn FnMut(&[Cell]);

/// A connection.
pub(crate) trait Session: Send {
    /// Runs a text of one statement, whose rows nobody wants.
    fn run(&mut self, sql: &str) -> Result<()>;

    /// Begins a transaction, at the latest with its next statement: drivers that do so by themselves save a
    /// way to the server and back, as JDBC's does.
    fn begin(&mut self) -> Result<()> {
        self.run("BEGIN")
    }

    /// Runs a prepared statement; how many rows it changed or found.
    fn execute(&mut self, sql: &str, values: &[Arg<'_>]) -> Result<u64>;

    /// Runs a prepared statement and shows its rows; how many there were.
    fn query(&mut self, sql: &str, values: &[Arg<'_>], each: Each<'_>) -> Result<u64>;

    /// Inserts rows in one commit; `text` is room to use again.
    fn insert(&mut self, shape: &TableShape, rows: &Batch, text: &mut String) -> Result<()> {
        insert_text(shape, rows, text);
        self.run(text)
    }
}

/// A time as a literal without quotes: `2023-11-14 22:13:20`.
pub(crate) fn time_text(seconds: i64) -> String {
    let mut text = String::new();
    convert::format_text(DataType::Timestamp, &Value::Timestamp(seconds * 1_000_000), &mut text);
    text
}

/// The one number that a query answers with.
pub(crate) fn number(session: &mut dyn Session, sql: &str, values: &[Arg<'_>]) -> Result<i64> {
    let mut found = None;
    session.query(sql, values, &mut |row| found = row.first().map(Cell::int))?;
    found.ok_or_else(|| Error::new(ErrorKind::Io, format!("no row from: {sql}")))
}

/// Whether a transaction that failed so is worth another try.
pub(crate) fn is_retryable(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Conflict
            | ErrorKind::Deadlock
            | ErrorKind::LockNotAvailable
            | ErrorKind::DuplicateKey
    )
}

/// `$1`, `$2` … for the placeholders of a statement.
fn numbered(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 8);
    for (count, part) in sql.split('?').enumerate() {
        if count > 0 {
            out.push('$');
            out.push_str(&count.to_string());
        }
        out.push_str(part);
    }
    out
}

/// The kind of error that a state of the SQL standard stands for.
fn kind_of(state: &str) -> ErrorKind {
    match state {
        "40001" => ErrorKind::Conflict,
        "40P01" => ErrorKind::Deadlock,
        "55P03" => ErrorKind::LockNotAvailable,
        "23505" => ErrorKind::DuplicateKey,
        _ => ErrorKind::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered() {
        assert_eq!(numbered("a = ? AND b IN (?, ?)"), "a = $1 AND b IN ($2, $3)");
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
    }

    #[test]
    fn times_are_text_in_utc() {
        assert_eq!(time_text(1_700_000_000), "2023-11-14 22:13:20");
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        assert!(is_retryable(&Error::new(kind_of("40001"), "")));
        assert!(!is_retryable(&Error::new(kind_of("42601"), "")));
    }
}
