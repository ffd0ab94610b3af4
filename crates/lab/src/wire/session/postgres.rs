//! The PostgreSQL protocol.

use std::collections::HashMap;
use std::error::Error as StdError;

use onlap_base::{Error, ErrorKind, Result};
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut};
use postgres::{Client, NoTls};
use postgres_protocol::message::backend::{DataRowBody, Message};
use postgres_protocol::message::frontend::{self, BindError};

use super::{Arg, Cell, Each, Session, kind_of, numbered};

mod line;

use line::{Line, io, unexpected};

/// From the beginning of 1970 to that of 2000.
const SECONDS_TO_2000: i64 = 946_684_800;

/// Name of the prepared statement that begins a transaction.
const BEGIN: &str = "begin";

/// Connects the client library; `url` in either form that libpq takes.
pub(crate) fn connect(url: &str) -> Result<Client> {
    Client::connect(url, NoTls).map_err(|e| of_client(&e))
}

/// The same server for JDBC.
pub(crate) fn jdbc(url: &str) -> Result<String> {
    let config: postgres::Config = url.parse().map_err(|e| of_client(&e))?;
    let user = config.get_user().unwrap_or("postgres");
    let host = match config.get_hosts().first() {
        Some(postgres::config::Host::Tcp(name)) => name,
        _ => "localhost",
    };
    let port = config.get_ports().first().copied().unwrap_or(line::PORT);
    let database = config.get_dbname().unwrap_or(user);
    let mut text =
        format!("jdbc:postgresql://{host}:{port}/{database}?sslmode=disable&user={user}");
    if let Some(password) = config.get_password() {
        text.push_str("&password=");
        text.push_str(&String::from_utf8_lossy(password));
    }
    Ok(text)
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
    line: Line,
    prepared: HashMap<String, usize>,
    statements: Vec<Statement>,
    /// A transaction begins with the next statement.
    begins: bool,
}

/// What a server said of a prepared statement.
struct Statement {
    name: String,
    parameters: Vec<Type>,
    columns: Vec<Type>,
}

fn type_of(oid: u32) -> Type {
    Type::from_oid(oid).unwrap_or(Type::UNKNOWN)
}

impl Connection {
    /// Connects; `url` in either form that libpq takes.
    pub(crate) fn open(url: &str) -> Result<Connection> {
        let mut line = Line::open(url)?;
        frontend::parse(BEGIN, "BEGIN", [], &mut line.out).map_err(io)?;
        frontend::sync(&mut line.out);
        line.ask(1, &mut |_| Ok(()))?;
        Ok(Connection { line, prepared: HashMap::new(), statements: Vec::new(), begins: false })
    }

    fn statement(&mut self, sql: &str) -> Result<usize> {
        if let Some(&place) = self.prepared.get(sql) {
            return Ok(place);
        }
        let name = format!("s{}", self.statements.len());
        let out = &mut self.line.out;
        frontend::parse(&name, &numbered(sql), [], out).map_err(io)?;
        frontend::describe(b'S', &name, out).map_err(io)?;
        frontend::sync(out);
        let (mut parameters, mut columns) = (Vec::new(), Vec::new());
        self.line.ask(1, &mut |message| {
            match message {
                Message::ParameterDescription(body) => {
                    parameters =
                        body.parameters().map(|oid| Ok(type_of(oid))).collect().map_err(io)?;
                }
                Message::RowDescription(body) => {
                    let types = body.fields().map(|field| Ok(type_of(field.type_oid())));
                    columns = types.collect().map_err(io)?;
                }
                Message::ParseComplete | Message::NoData => {}
                _ => return Err(unexpected()),
            }
            Ok(())
        })?;
        let place = self.statements.len();
        self.statements.push(Statement { name, parameters, columns });
        self.prepared.insert(sql.to_owned(), place);
        Ok(place)
    }

    /// Runs a prepared statement; how many rows it changed or found.
    fn send(&mut self, sql: &str, values: &[Arg<'_>], mut each: Option<Each<'_>>) -> Result<u64> {
        let place = self.statement(sql)?;
        let statement = &self.statements[place];
        let out = &mut self.line.out;
        if std::mem::take(&mut self.begins) {
            bind(BEGIN, &[], &[], out)?;
            frontend::execute("", 0, out).map_err(io)?;
        }
        // What was written of a statement that is not sent must not go out with the next one.
        if let Err(e) = bind(&statement.name, &statement.parameters, values, out) {
            out.clear();
            return Err(e);
        }
        frontend::execute("", 0, out).map_err(io)?;
        frontend::sync(out);
        let (mut rows, mut cells) = (0, Vec::new());
        self.line.ask(1, &mut |message| {
            match message {
                Message::DataRow(row) => {
                    if let Some(each) = each.as_mut() {
                        read(&row, &statement.columns, &mut cells)?;
                        each(&cells);
                    }
                }
                Message::CommandComplete(body) => {
                    let tag = body.tag().map_err(io)?;
                    rows = tag.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                }
                Message::BindComplete | Message::EmptyQueryResponse => {}
                _ => return Err(unexpected()),
            }
            Ok(())
        })?;
        Ok(rows)
    }
}

/// Writes Bind of the unnamed portal, in binary both ways.
fn bind(name: &str, types: &[Type], values: &[Arg<'_>], out: &mut BytesMut) -> Result<()> {
    if types.len() != values.len() {
        let text = format!("{} values for {} parameters", values.len(), types.len());
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    let write = |(value, ty): (&Arg<'_>, &Type), out: &mut BytesMut| match value.to_sql(ty, out)? {
        IsNull::Yes => Ok(postgres_protocol::IsNull::Yes),
        IsNull::No => Ok(postgres_protocol::IsNull::No),
    };
    frontend::bind("", name, [1], values.iter().zip(types), write, [1], out).map_err(|e| match e {
        BindError::Conversion(e) => Error::new(ErrorKind::InvalidInput, e.to_string()),
        BindError::Serialization(e) => io(e),
    })
}

/// Reads the values of a row.
fn read(row: &DataRowBody, types: &[Type], cells: &mut Vec<Cell>) -> Result<()> {
    cells.clear();
    let mut ranges = row.ranges();
    for ty in types {
        let range = ranges.next().map_err(io)?.ok_or_else(unexpected)?;
        cells.push(match range {
            Some(range) => Cell::from_sql(ty, &row.buffer()[range])
                .map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?,
            None => Cell::Null,
        });
    }
    Ok(())
}

impl Session for Connection {
    fn run(&mut self, sql: &str) -> Result<()> {
        // Of a transaction in which nothing was asked the server has not heard.
        let begins = std::mem::take(&mut self.begins);
        if begins && matches!(sql, "COMMIT" | "ROLLBACK") {
            return Ok(());
        }
        let mut times = 1;
        if begins {
            frontend::query("BEGIN", &mut self.line.out).map_err(io)?;
            times += 1;
        }
        frontend::query(sql, &mut self.line.out).map_err(io)?;
        self.line.ask(times, &mut |_| Ok(()))
    }

    fn begin(&mut self) -> Result<()> {
        self.begins = true;
        Ok(())
    }

    fn execute(&mut self, sql: &str, values: &[Arg<'_>]) -> Result<u64> {
        self.send(sql, values, None)
    }

    fn query(&mut self, sql: &str, values: &[Arg<'_>], each: Each<'_>) -> Result<u64> {
        self.send(sql, values, Some(each))
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
