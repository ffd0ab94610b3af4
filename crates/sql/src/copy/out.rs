//! How do rows leave in bulk?

use std::borrow::Cow;
use std::sync::Arc;

use onlap::{Rows, Scan};

use super::binary::SIGNATURE;
use super::options::{Format, Header, Options};
use super::positions;
use crate::catalog::names::quote;
use crate::columns::Types;
use crate::encoding::Encoding;
use crate::error::{Result, SqlError};
use crate::progress::{Kind, Shown, Work};
use crate::query::secured::{self, Secured};
use crate::rights::ask::{numbers, of_table};
use crate::rights::{Action, Class};
use crate::scope::Scope;
use crate::session::Session;
use crate::session::answer::{Answer, AnswerColumn, Chunk, RowsAnswer, Source};
use crate::types::{Cell, Style};
use crate::view::{Relation, View, no_table};
use crate::wire::{Client, send_if_large};

/// COPY of the rows that a query gives, or that a change of rows returns.
///
/// # Errors
/// Those of the statement; the client is gone.
pub fn statement(
    session: &mut Session,
    view: &View,
    text: &str,
    options: &Options,
    client: &mut dyn Client,
) -> Result<Answer> {
    let rows = session.copied(view, text)?;
    Out::new(options, session.style(), &rows.columns).shown(session, 0).run(rows, client)
}

/// COPY of a query's rows.
fn query(
    session: &Session,
    view: &View,
    (query, table): (&str, u32),
    options: &Options,
    client: &mut dyn Client,
) -> Result<Answer> {
    let (mut rows, _) = session.bound_text(view, query, &[])?;
    let (scope, lent) = (&view.scope, view.scope.lent());
    rows.begin(|| !lent.has_run() && scope.tx().is_ok_and(|tx| tx.is_outdated()))?;
    lent.send();
    Out::new(options, session.style(), &rows.columns).shown(session, table).run(rows, client)
}

/// The rows of a table, straight from the engine.
struct TableRows {
    rows: Rows,
    scope: Arc<Scope>,
    columns: Arc<[usize]>,
}

impl Source for TableRows {
    fn next(&mut self) -> Result<Option<Chunk>> {
        self.scope.go_on()?;
        let batch = self.rows.next().transpose()?;
        Ok(batch.map(|batch| Chunk::Engine(batch, Arc::clone(&self.columns))))
    }
}

/// COPY of a table's rows.
///
/// # Errors
/// An unknown table or column; the client is gone.
pub fn table(
    session: &Session,
    view: &View,
    table: &[String],
    columns: &[String],
    options: &Options,
    client: &mut dyn Client,
) -> Result<Answer> {
    let (name, table) = match view.find(table)? {
        Some(Relation::Table(name, table)) => (name, table),
        Some(Relation::View(name)) => {
            view.must_one(Action::Read, Class::View, view.view_key(&name), &name.name)?;
            let text = format!("cannot copy from view \"{}\"", name.name);
            return Err(SqlError::new("42809", text).hint("Try the COPY (SELECT ...) TO variant."));
        }
        None => return Err(no_table(table)),
    };
    let schema = table.schema();
    if view.objects.families().divided(schema.id).is_some() {
        let read = numbers(&schema, positions(&name, &schema, columns)?);
        view.must(&[of_table(Action::Read, &schema, read)])?;
        let text = format!("cannot copy from partitioned table \"{}\"", name.name);
        return Err(SqlError::new("42809", text).hint("Try the COPY (SELECT ...) TO variant."));
    }
    if crate::ddl::materialized::is(view, &table) {
        let text = format!("cannot copy from materialized view \"{}\"", name.name);
        return Err(SqlError::new("42809", text).hint("Try the COPY (SELECT ...) TO variant."));
    }
    let positions = positions(&name, &schema, columns)?;
    let read = numbers(&schema, positions.iter().copied());
    view.must(&[of_table(Action::Read, &schema, read)])?;
    options.check_columns(&name, &schema, &positions)?;
    let types = Types::of(&view.objects, &schema);
    types.must_be_known(&schema)?;
    let described: Arc<[AnswerColumn]> = positions
        .iter()
        .map(|&at| AnswerColumn::new(&schema.columns[at].name, types[at].pg))
        .collect();
    let names: Vec<&str> = positions.iter().map(|&at| schema.columns[at].name.as_str()).collect();
    let is_plain = positions.iter().all(|at| types[*at].shows_natively());
    let relation = crate::catalog::oids::of_table(schema.id);
    let of = (relation, name.name.as_str());
    let secured = secured::state_of(view, &view.judge, of)? == Secured::Yes;
    if !session.writes_plainly() || !is_plain || secured {
        let quoted: Vec<String> = names.iter().map(|name| quote(name)).collect();
        let (items, of) = (quoted.join(", "), (quote(&name.schema), quote(&name.name)));
        return query(
            session,
            view,
            // Rows of tables below it are not its own.
            (&format!("SELECT {items} FROM ONLY {}.{}", of.0, of.1), relation),
            options,
            client,
        );
    }
    view.scope.await_tables(std::slice::from_ref(&table), onlap::LockMode::AccessShare)?;
    let rows = view.scope.tx()?.scan(&table, Scan::all().columns(names))?;
    let source =
        TableRows { rows, scope: Arc::clone(&view.scope), columns: (0..positions.len()).collect() };
    let rows = RowsAnswer::new(described, Box::new(source), "COPY");
    Out::new(options, session.style(), &rows.columns).shown(session, relation).run(rows, client)
}

/// Writes rows in a format.
struct Out<'a> {
    options: &'a Options,
    style: Style,
    /// Columns that are quoted whatever they hold.
    quoted: Vec<bool>,
    /// The client's.
    encoding: Encoding,
    line: Vec<u8>,
    value: Vec<u8>,
    /// What other sessions see of it.
    work: Arc<Work>,
    shown: Option<Shown>,
}

impl<'a> Out<'a> {
    fn new(options: &'a Options, style: Style, columns: &[AnswerColumn]) -> Out<'a> {
        let quoted = columns.iter().map(|c| options.force_quote.has(&c.name)).collect();
        let encoding = Encoding::default();
        let work = Work::new(Kind::Copy { is_in: false }, 0);
        let (line, value) = (Vec::new(), Vec::new());
        Out { options, style, quoted, encoding, line, value, work, shown: None }
    }

    /// Lets other sessions see how far it is with a table; 0 stands for a query.
    fn shown(mut self, session: &Session, table: u32) -> Out<'a> {
        self.work = Work::new(Kind::Copy { is_in: false }, table);
        self.shown = Some(session.progress().show(&self.work));
        self
    }

    fn run(&mut self, mut rows: RowsAnswer, client: &mut dyn Client) -> Result<Answer> {
        let columns = Arc::clone(&rows.columns);
        let binary = self.options.format == Format::Binary;
        let encoding = self.options.encoding_of(client.reply().encoding());
        self.encoding = encoding;
        client.reply().copy_response(b'H', binary, columns.len());
        // Clients count on a message per row, the first of which begins with the header.
        let mut header = Vec::new();
        if binary {
            header.extend_from_slice(SIGNATURE);
            header.extend_from_slice(&[0; 8]);
        } else if self.options.header != Header::Off {
            self.line.clear();
            for (i, column) in columns.iter().enumerate() {
                self.value.clear();
                self.value.extend_from_slice(column.name.as_bytes());
                self.push_text(i, false);
            }
            self.line.push(b'\n');
            client.reply().copy_data(&encoding.encoded(&self.line)?);
        }
        let mut n = 0;
        while let Some(chunk) = rows.next_of_source()? {
            let mut bytes = 0;
            for row in 0..chunk.len() {
                self.line.clear();
                self.line.append(&mut header);
                self.row(&chunk, row, &columns)?;
                bytes += self.line.len();
                match binary {
                    true => client.reply().copy_data(&self.line),
                    false => client.reply().copy_data(&encoding.encoded(&self.line)?),
                }
                send_if_large(client)?;
            }
            n += chunk.len();
            self.work.add_bytes(bytes);
            self.work.at_row(n as u64);
        }
        if binary {
            header.extend_from_slice(&(-1i16).to_be_bytes());
            client.reply().copy_data(&header);
        }
        client.reply().copy_done();
        Ok(Answer::Done(format!("COPY {n}")))
    }

    /// Appends a row to the line.
    fn row(&mut self, chunk: &Chunk, row: usize, columns: &[AnswerColumn]) -> Result<()> {
        let binary = self.options.format == Format::Binary;
        if binary {
            self.line.extend_from_slice(&(columns.len() as i16).to_be_bytes());
        }
        for (i, column) in columns.iter().enumerate() {
            self.value.clear();
            let is_there = self.write_value(chunk, row, (i, column))?;
            match (binary, is_there) {
                (true, false) => self.line.extend_from_slice(&(-1i32).to_be_bytes()),
                (true, true) => {
                    let value = match self.encoding.is_plain() {
                        true => Cow::Borrowed(&self.value[..]),
                        false => {
                            column.form.turned(&self.value, |text| self.encoding.encoded(text))?
                        }
                    };
                    self.line.extend_from_slice(&(value.len() as i32).to_be_bytes());
                    self.line.extend_from_slice(&value);
                }
                (false, true) => self.push_text(i, self.quoted[i]),
                (false, false) => self.push_null(i),
            }
        }
        if !binary {
            self.line.push(b'\n');
        }
        Ok(())
    }

    /// Writes a value in the format; whether it is not NULL.
    fn write_value(
        &mut self,
        chunk: &Chunk,
        row: usize,
        (at, column): (usize, &AnswerColumn),
    ) -> Result<bool> {
        let binary = self.options.format == Format::Binary;
        if let Chunk::Bound(batch, encoder) = chunk {
            let bytes = match binary {
                true => encoder.binary(batch, row, at)?,
                false => encoder.text(batch, row, at)?.map(String::into_bytes),
            };
            let is_there = bytes.is_some();
            self.value = bytes.unwrap_or_default();
            return Ok(is_there);
        }
        let cell = chunk.cell(row, at);
        match binary {
            _ if matches!(cell, Cell::Null) => return Ok(false),
            true => cell.write_binary(column.ty, &mut self.value),
            false => cell.write_text(column.ty, &self.style, &mut self.value),
        }
        Ok(true)
    }

    fn separate(&mut self, column: usize) {
        if column > 0 {
            self.line.push(self.options.delimiter);
        }
    }

    fn push_null(&mut self, column: usize) {
        self.separate(column);
        self.line.extend_from_slice(self.options.null.as_bytes());
    }

    /// The value that was written last.
    fn push_text(&mut self, column: usize, force: bool) {
        self.separate(column);
        match self.options.format {
            Format::Csv => self.push_csv(column, force),
            _ => self.push_escaped(),
        }
    }

    fn push_escaped(&mut self) {
        for &byte in &self.value {
            let escape = match byte {
                8 => b'b',
                12 => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                11 => b'v',
                b'\\' => b'\\',
                b if b == self.options.delimiter => b,
                b => {
                    self.line.push(b);
                    continue;
                }
            };
            self.line.extend_from_slice(&[b'\\', escape]);
        }
    }

    fn push_csv(&mut self, column: usize, force: bool) {
        let (quote, escape) = (self.options.quote, self.options.escape);
        let special = |b: &u8| [quote, self.options.delimiter, b'\n', b'\r'].contains(b);
        // A lone `\.` would end the data.
        let lone = self.quoted.len() == 1 && column == 0 && self.value == b"\\.";
        let same_as_null = self.value == self.options.null.as_bytes();
        if !(force || same_as_null || lone || self.value.iter().any(special)) {
            self.line.extend_from_slice(&self.value);
            return;
        }
        self.line.push(quote);
        for &byte in &self.value {
            if byte == quote || byte == escape {
                self.line.push(escape);
            }
            self.line.push(byte);
        }
        self.line.push(quote);
    }
}
