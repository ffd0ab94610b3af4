//! The PostgreSQL protocol.

use std::collections::HashMap;
use std::error::Error as StdError;

use onlap_base::{Error, ErrorKind, Result};
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut};
use postgres::{Client, NoTls, Statement};

use super::{Arg, Cell, Each, Session, kind_of, numbered};

/// From the beginning of 1970 to that of 2000.
const SECONDS_TO_2000: i64 = 946_684_800;

/// Connects; `url` in either form that libpq takes.
pub(crate) fn connect(url: &str) -> Result<Client> {
    Client::connect(url, NoTls).map_err(|e| of_client(&e))
}

/// An error of the client library.
pub(crate) fn of_client(e: &postgres::Error) -> Error {
    match e.as_db_error() {
        Some(db) => {
            let state = db.code().code();
            Error::new(kind_of(state), format!("{} ({state})", db.message()))
        }
        None => {
            let cause = e.source().map_or_else(String::new, |cause| format!(": {cause}"));
            Error::new(ErrorKind::Io, format!("{e}{cause}"))
        }
    }
}

/// A connection and what was prepared on it, by its text.
pub(crate) struct Connection {
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl Connection {
    pub(crate) fn new(client: Client) -> Connection {
        Connection { client, prepared: HashMap::new() }
    }

    fn statement(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&numbered(sql)).map_err(|e| of_client(&e))?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Session for Connection {
    fn run(&mut self, sql: &str) -> Result<()> {
        self.client.batch_execute(sql).map_err(|e| of_client(&e))
    }

    fn execute(&mut self, sql: &str, values: &[Arg<'_>]) -> Result<u64> {
        let statement = self.statement(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|v| v as _).collect();
        self.client.execute(&statement, &values).map_err(|e| of_client(&e))
    }

    fn query(&mut self, sql: &str, values: &[Arg<'_>], each: Each<'_>) -> Result<u64> {
        let statement = self.statement(sql)?;
        let values = values.iter().map(|v| v as &dyn ToSql);
        let mut rows = self.client.query_raw(&statement, values).map_err(|e| of_client(&e))?;
        let (mut found, mut cells) = (0, Vec::new());
        while let Some(row) = rows.next().map_err(|e| of_client(&e))? {
            cells.clear();
            for i in 0..row.len() {
                cells.push(row.try_get::<_, Cell>(i).map_err(|e| of_client(&e))?);
            }
            each(&cells);
            found += 1;
        }
        Ok(found)
    }
}

impl ToSql for Arg<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match (self, ty) {
            (Arg::Int(n), &Type::INT2) => i16::try_from(*n)?.to_sql(ty, out),
            (Arg::Int(n), &Type::INT4) => i32::try_from(*n)?.to_sql(ty, out),
            (Arg::Int(n), &Type::INT8) => n.to_sql(ty, out),
            (Arg::Float(n), &Type::FLOAT8) => n.to_sql(ty, out),
            // Times are microseconds since the year 2000.
            (Arg::Time(seconds), &Type::TIMESTAMP) => {
                ((seconds - SECONDS_TO_2000) * 1_000_000).to_sql(&Type::INT8, out)
            }
            (Arg::Text(text), _) if <&str as ToSql>::accepts(ty) => text.to_sql(ty, out),
            _ => Err(format!("{self:?} does not fit a parameter of type {ty}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(
        ty: &Type,
        raw: &'a [u8],
    ) -> std::result::Result<Cell, Box<dyn StdError + Sync + Send>> {
        Ok(match *ty {
            Type::INT2 => Cell::Int(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Cell::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Cell::Int(i64::from_sql(ty, raw)?),
            _ if <String as FromSql<'_>>::accepts(ty) => Cell::Text(String::from_sql(ty, raw)?),
            _ => Cell::Other,
        })
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Cell, Box<dyn StdError + Sync + Send>> {
        Ok(Cell::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
