//! How do rows come and go in bulk?
//!
//! COPY FROM STDIN takes a stream apart ([`text`], [`csv`], [`binary`]) and writes it straight into
//! batches of the engine ([`sink`]), some thousand rows at a time (a client in this process may bring columns): memory stays bounded whatever the
//! stream's length, for the engine's transaction spills. COPY TO STDOUT ([`out`]) writes the rows of a
//! table or query. Options: [`options`]. Formats: PostgreSQL 15 documentation, COPY.

mod binary;
mod csv;
mod ends;
mod filter;
mod lines;
mod options;
mod out;
mod sink;
mod text;

use std::sync::Arc;

use onlap_pg::ast::{CopyOf, CopyRows, CopyWith, ExprId};

use crate::catalog::Name;
use crate::change::deferred::Mark;
use crate::change::queue::Queue;
use crate::columnar::input;
use crate::ddl;
use crate::encoding::Encoding;
use crate::error::{Result, SqlError, state};
use crate::query::secured::{self, Secured};
use crate::rights::Action;
use crate::rights::ask::{numbers, of_table, sequences};
use crate::session::Session;
use crate::session::answer::Answer;
use crate::session::lent::Using;
use crate::source::{Source, strings};
use crate::view::View;
use crate::wire::{Client, CopyData};

use filter::Filter;
use options::{Format, Options};
use sink::Sink;

/// What takes a stream apart.
trait Decoder {
    /// Takes the next piece, cut anywhere.
    fn piece(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()>;
    /// There is no more.
    fn end(&mut self, sink: &mut Sink<'_>) -> Result<()>;
}

/// COPY.
///
/// # Errors
/// What is wrong with the statement or the data; the client gave up, or is gone.
pub fn run(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    said: &CopyRows,
    client: &mut dyn Client,
) -> Result<Answer> {
    if said.with != CopyWith::Client {
        return Err(SqlError::unsupported("COPY with a file or program of the server")
            .hint("Use STDIN and STDOUT; psql's \\copy reads and writes files of the client."));
    }
    let options = Options::of(source, &said.options, said.from)?;
    match &said.of {
        CopyOf::Query(_, span) => {
            let text = span.of(source.written);
            let rows = out::statement(session, view, text, &options, client);
            rows.map_err(|e| source.within(*span, e))
        }
        CopyOf::Table(name, columns) => {
            let (table, columns) = (strings(name), strings(columns));
            match said.from {
                true => {
                    let filter = said.filter.map(|filter| (source, filter));
                    copy_in(session, view, (&table, &columns, filter), &options, client)
                }
                false => out::table(session, view, &table, &columns, &options, client),
            }
        }
    }
}

/// Positions of columns by name; all of them where none is named.
fn positions(name: &Name, schema: &onlap::TableSchema, columns: &[String]) -> Result<Vec<usize>> {
    if columns.is_empty() {
        return Ok((0..schema.columns.len()).filter(|at| !schema.is_generated(*at)).collect());
    }
    let mut positions = Vec::with_capacity(columns.len());
    for column in columns {
        let at = schema.position_by_name(column).ok_or_else(|| {
            let text = format!("column \"{column}\" of relation \"{}\" does not exist", name.name);
            SqlError::new(state::NO_COLUMN, text)
        })?;
        if schema.is_generated(at) {
            let text = format!("column \"{column}\" is a generated column");
            let detail = "Generated columns cannot be used in COPY.";
            return Err(SqlError::new("42P10", text).detail(detail));
        }
        if positions.contains(&at) {
            let text = format!("column \"{column}\" specified more than once");
            return Err(SqlError::new("42701", text));
        }
        positions.push(at);
    }
    Ok(positions)
}

/// Judges what the rows have brought, at the end of the statement.
fn judge(view: &View, put_off: &Mark) -> Result<()> {
    let mut tx = view.scope.tx()?;
    tx.judge_held()?;
    view.scope.deferred().end_statement(put_off, || tx.due_place());
    Ok(())
}

fn copy_in(
    session: &mut Session,
    view: &View,
    (table, columns, filtered): (&[String], &[String], Option<(Source<'_>, ExprId)>),
    options: &Options,
    client: &mut dyn Client,
) -> Result<Answer> {
    let (name, table) = view.table(table)?;
    let schema = table.schema();
    let filter = filtered.map(|of| Filter::of(view, of, &name, &schema)).transpose()?;
    if ddl::materialized::is(view, &table) {
        let text = format!("cannot copy to materialized view \"{}\"", name.name);
        return Err(SqlError::new("42809", text));
    }
    let columns = positions(&name, &schema, columns)?;
    let mut needs = sequences(view, &schema, &columns)?;
    needs.push(of_table(Action::Insert, &schema, numbers(&schema, columns.iter().copied())));
    if let Some(filter) = &filter {
        needs.extend(filter.needs.iter().cloned());
    }
    view.must(&needs)?;
    let of = (crate::catalog::oids::of_table(schema.id), name.name.as_str());
    if secured::state_of(view, &view.judge, of)? == Secured::Yes {
        let text = "COPY FROM not supported with row-level security";
        return Err(SqlError::new("0A000", text).hint("Use INSERT statements instead."));
    }
    if view.scope.tx()?.is_read_only() && !view.is_own_temporary(&name.schema) {
        // Before the client is asked for data.
        let text = "cannot execute COPY FROM in a read-only transaction";
        return Err(SqlError::new("25006", text));
    }
    options.check_columns(&name, &schema, &columns)?;
    let mut decoder: Box<dyn Decoder> = match options.format {
        Format::Text => Box::new(text::Text::new(options)),
        Format::Csv => Box::new(csv::Csv::new(options, &schema, &columns)),
        Format::Binary => Box::new(binary::Binary::default()),
    };
    let (binary, width) = (options.format == Format::Binary, columns.len());
    let _using = Using::of(view, || {
        let below = view.objects.families().all_below(schema.id);
        std::iter::once(schema.id).chain(below).collect()
    });
    let (due, put_off) = (Queue::default(), view.scope.deferred().mark());
    let encoding = options.encoding_of(client.reply().encoding());
    let calls = filter.as_ref().map_or_else(Vec::new, |filter| filter.calls.clone());
    let lines = if binary { Encoding::Plain } else { encoding };
    let mut sink = Sink::new(view, &name, &table, columns, &due)?.with(encoding, filter, !binary);
    let work = Arc::clone(&sink.work);
    let _shown = session.progress().show(&work);
    client.reply().copy_response(b'G', binary, width);
    view.must(&calls)?;
    session.current()?.changed = true;
    view.scope.tx()?.hold_rules(false);
    let taken = sink.begin().and_then(|()| take(view, client, (&mut *decoder, lines), &mut sink));
    let taken = taken.and_then(|()| sink.finish());
    let taken = match taken.and_then(|rows| due.run(view).map(|()| rows)) {
        Ok(rows) => judge(view, &put_off).map(|()| rows),
        Err(e) => {
            view.scope.tx()?.forget_held();
            Err(e)
        }
    };
    let rows = taken.map_err(|e| e.of_statement(&needs)).inspect_err(|_| {
        // What the client has sent is gone: the statement does not begin anew.
        if let Ok(mut tx) = view.scope.tx() {
            drop(tx.begin_statement());
        }
    })?;
    Ok(Answer::Done(format!("COPY {rows}")))
}

/// Takes all that the client sends, in an encoding. Texts of lines are turned as a whole, line by line: a character may lie in two
/// pieces, but no encoding has the byte that ends a line within another character. Of binary data each value is turned by itself.
fn take(
    view: &View,
    client: &mut dyn Client,
    (decoder, encoding): (&mut dyn Decoder, Encoding),
    sink: &mut Sink<'_>,
) -> Result<()> {
    let mut held = Vec::new();
    loop {
        let piece = match client.copy_data()? {
            CopyData::Piece(bytes) => {
                sink.work.add_bytes(bytes.len());
                bytes
            }
            CopyData::Columns(rows) => {
                for piece in input::pieces(&rows) {
                    view.scope.go_on()?;
                    sink.work.add_bytes(piece.get_array_memory_size());
                    sink.columns(&piece).map_err(|e| sink.located(e))?;
                }
                continue;
            }
            CopyData::Done => break,
            CopyData::Failed(why) => {
                sink.next_line();
                let text = format!("COPY from stdin failed: {why}");
                return Err(sink.located(SqlError::new(state::CANCELLED, text)));
            }
        };
        view.scope.go_on()?;
        if encoding.is_single() {
            let bytes = encoding.decoded(&piece).map_err(|e| sink.located(e))?;
            decoder.piece(&bytes, sink).map_err(|e| sink.located(e))?;
            sink.tell();
            continue;
        }
        held.extend_from_slice(&piece);
        if held.len() > text::LINE_MAX {
            return Err(SqlError::new("54000", "a line of the COPY data is too long"));
        }
        let Some(end) = held.iter().rposition(|byte| *byte == b'\n') else { continue };
        let rest = held.split_off(end + 1);
        let lines = std::mem::replace(&mut held, rest);
        let bytes = encoding.decoded(&lines).map_err(|e| sink.located(e))?;
        decoder.piece(&bytes, sink).map_err(|e| sink.located(e))?;
        sink.tell();
    }
    let last = encoding.decoded(&held).map_err(|e| sink.located(e))?;
    decoder.piece(&last, sink).map_err(|e| sink.located(e))?;
    decoder.end(sink).map_err(|e| sink.located(e))
}
