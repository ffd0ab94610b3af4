//! What does a statement give, and how does it reach the client?
//!
//! An [`Answer`] holds rows that come as they are asked for, or only a tag. A portal hands out some, and
//! goes on later.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_select::take::take_record_batch;
use datafusion_common::DataFusionError;
use onlap::{Row, RowBatch};

use crate::encoding::Form;
use crate::error::Result;
use crate::query::Encoder;
use crate::scope::Scope;
use crate::types::{Cell, ColumnWriter, PgType, Style};
use crate::view::View;
use crate::wire::{Client, Field, format_of, send_if_large};

/// Rows that come as they are asked for.
pub trait Source: Send {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// Those of the statement.
    fn next(&mut self) -> Result<Option<Chunk>>;
}

/// Some rows.
pub enum Chunk {
    /// Of the engine: a batch, and which of its columns are asked for.
    Engine(RowBatch, Arc<[usize]>),
    /// Whole rows, with the engine's types.
    Rows(Vec<Row>),
    /// Of a bound query, with what writes its values.
    Bound(RecordBatch, Arc<Encoder>),
}

impl Chunk {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Chunk::Bound(batch, _) => batch.num_rows(),
            Chunk::Engine(batch, _) => batch.len(),
            Chunk::Rows(rows) => rows.len(),
        }
    }

    /// Bytes that the rows of a plan take; those of others are counted by who has them.
    pub fn bytes(&self) -> usize {
        match self {
            Chunk::Bound(batch, _) => batch.get_array_memory_size(),
            Chunk::Engine(..) | Chunk::Rows(_) => 0,
        }
    }

    /// One value.
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match self {
            Chunk::Engine(batch, columns) => {
                let at = columns[column];
                Cell::of_column(batch.types()[at], &batch.columns.columns[at], row)
            }
            Chunk::Rows(rows) => Cell::of_value(&rows[row][column]),
            Chunk::Bound(..) => unreachable!("bound queries write their values themselves"),
        }
    }
}

/// Chunks that are there already.
pub struct Ready(pub std::vec::IntoIter<Chunk>);

impl Ready {
    /// These chunks.
    pub fn new(chunks: Vec<Chunk>) -> Ready {
        Ready(chunks.into_iter())
    }
}

impl Source for Ready {
    fn next(&mut self) -> Result<Option<Chunk>> {
        Ok(self.0.next())
    }
}

/// What a statement gives.
pub enum Answer {
    /// Nothing but a tag.
    Done(String),
    /// Rows.
    Rows(RowsAnswer),
}

/// Rows with their description.
pub struct RowsAnswer {
    /// The columns.
    pub columns: Arc<[AnswerColumn]>,
    /// Where rows come from, behind those that were asked for first.
    source: Box<dyn Source>,
    /// First word of the tag: `SELECT`, `INSERT 0`, `UPDATE`, `FETCH`.
    pub tag: &'static str,
    /// Whether a simple query's client gets them in binary form: they are of a cursor that says so.
    pub binary: bool,
    /// What the source has given first, where it was asked before anything was sent.
    first: Option<Result<Option<Chunk>>>,
    /// What routines have told meanwhile.
    told: Option<Vec<u8>>,
    /// Rows taken out of the source and not sent yet, and how many were.
    left: Option<(Chunk, usize)>,
    /// Rows sent so far, and those of the last time.
    sent: u64,
    sent_last: u64,
    /// Where routines that it calls tell what the client is to hear with its rows.
    scope: Option<Arc<Scope>>,
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: PgType,
    /// The type that clients are told: the same, below domains.
    pub sent: PgType,
    /// Bytes of a value of that; negative where they vary.
    pub size: i16,
    /// OID of the table it is a column of, or 0, and its number there.
    pub origin: (u32, i16),
    /// What the binary form of its values has of texts.
    pub form: Form,
}

impl AnswerColumn {
    /// A column that is none of a table.
    pub fn new(name: impl Into<String>, ty: PgType) -> AnswerColumn {
        let form = Form::of(ty.oid);
        AnswerColumn { name: name.into(), ty, sent: ty, size: ty.size(), origin: (0, 0), form }
    }
    /// For RowDescription.
    pub fn field(&self) -> Field<'_> {
        Field {
            name: &self.name,
            oid: self.sent.oid,
            size: self.size,
            modifier: self.sent.modifier,
            origin: self.origin,
        }
    }
}

impl RowsAnswer {
    /// Rows of these columns.
    pub fn new(
        columns: Arc<[AnswerColumn]>,
        source: Box<dyn Source>,
        tag: &'static str,
    ) -> RowsAnswer {
        RowsAnswer {
            columns,
            source,
            tag,
            binary: false,
            first: None,
            told: None,
            left: None,
            sent: 0,
            sent_last: 0,
            scope: None,
        }
    }

    /// The same, with what routines tell that its steps call.
    #[must_use]
    pub fn telling(self, view: &View) -> RowsAnswer {
        let scope = (!view.objects.functions().is_empty()).then(|| Arc::clone(&view.scope));
        RowsAnswer { scope, ..self }
    }

    /// The same rows as those of a cursor, whose client is told by others what routines tell.
    pub fn of_cursor(self) -> RowsAnswer {
        RowsAnswer { tag: "FETCH", scope: None, ..self }
    }

    /// Asks for the first rows and keeps what comes, an error too, for those who send it; the error, where `begins_anew` says
    /// that the statement does.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn begin(&mut self, begins_anew: impl FnOnce() -> bool) -> Result<()> {
        debug_assert!(self.first.is_none() && self.left.is_none() && self.sent == 0);
        match self.source.next() {
            Err(e) if begins_anew() => Err(e),
            first => {
                self.first = Some(first);
                // What routines have told comes behind the description of the rows.
                self.told = self.scope.as_ref().map(|scope| scope.lent().take_told());
                Ok(())
            }
        }
    }

    /// The next rows, without what routines tell: those that [`RowsAnswer::begin`] has asked for come first.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn next_of_source(&mut self) -> Result<Option<Chunk>> {
        if let (Some(told), Some(scope)) = (self.told.take(), &self.scope) {
            scope.lent().tell_first(told);
        }
        self.first.take().unwrap_or_else(|| self.source.next())
    }

    /// Rows were taken out by FETCH or MOVE.
    pub fn went(&mut self, rows: usize) {
        self.sent += rows as u64;
    }

    /// The next rows, all that come at once, for a program that takes columns.
    ///
    /// # Errors
    /// Those of the statement; the client is gone.
    pub fn next_chunk(&mut self, client: &mut dyn Client) -> Result<Option<Chunk>> {
        let next = match self.left.take() {
            Some((chunk, from)) => Some(chunk.slice_from(from)),
            None => self.next_of_source()?,
        };
        if let Some(scope) = &self.scope {
            scope.lent().hand_on(client)?;
        }
        let rows = next.as_ref().map_or(0, Chunk::len) as u64;
        self.sent += rows;
        // The tag is of all of them.
        self.sent_last = self.sent;
        Ok(next)
    }

    /// How many rows were sent or taken out.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends at most `limit` rows (0: all); true when there were no more: not yet where it sent as many as it may.
    ///
    /// # Errors
    /// Those of the statement; the client is gone.
    pub fn send(
        &mut self,
        limit: usize,
        formats: &[i16],
        style: Style,
        client: &mut dyn Client,
    ) -> Result<bool> {
        let mut room = if limit == 0 { usize::MAX } else { limit };
        self.sent_last = 0;
        loop {
            let (chunk, from) = match self.left.take() {
                Some(left) => left,
                None => match self.next_of_source()? {
                    Some(chunk) => (chunk, 0),
                    None => return Ok(true),
                },
            };
            if let Some(scope) = &self.scope {
                scope.lent().hand_on(client)?;
            }
            let to = chunk.len().min(from.saturating_add(room));
            match &chunk {
                Chunk::Engine(batch, places) => {
                    self.send_columns((batch, places), from..to, formats, style, client)?;
                }
                _ => {
                    for row in from..to {
                        self.send_row(&chunk, row, formats, style, client)?;
                    }
                }
            }
            self.sent += (to - from) as u64;
            self.sent_last += (to - from) as u64;
            room -= to - from;
            if to < chunk.len() {
                self.left = Some((chunk, to));
            }
            if room == 0 {
                return Ok(false);
            }
        }
    }

    fn send_row(
        &self,
        chunk: &Chunk,
        row: usize,
        formats: &[i16],
        style: Style,
        client: &mut dyn Client,
    ) -> Result<()> {
        if let Chunk::Bound(batch, encoder) = chunk {
            // A value may be refused; a message that was begun could not be taken back.
            let values = (0..self.columns.len()).map(|i| match format_of(formats, i) {
                1 => encoder.binary(batch, row, i),
                _ => Ok(encoder.text(batch, row, i)?.map(String::into_bytes)),
            });
            let values: Vec<Option<Vec<u8>>> = values.collect::<Result<_>>()?;
            let mut writer = client.reply().data_row(self.columns.len());
            for value in &values {
                match value {
                    Some(value) => writer.value(|out| out.extend_from_slice(value)),
                    None => writer.null(),
                }
            }
            writer.finish(|i| self.form(formats, i))?;
            return send_if_large(client);
        }
        let mut writer = client.reply().data_row(self.columns.len());
        for (i, column) in self.columns.iter().enumerate() {
            match chunk.cell(row, i) {
                Cell::Null => writer.null(),
                cell if format_of(formats, i) == 1 => {
                    writer.value(|out| cell.write_binary(column.ty, out));
                }
                cell => writer.value(|out| cell.write_text(column.ty, &style, out)),
            }
        }
        writer.finish(|i| self.form(formats, i))?;
        send_if_large(client)
    }

    /// Sends rows of the engine: how a column is written is looked up once for all of them.
    fn send_columns(
        &self,
        (batch, places): (&RowBatch, &[usize]),
        rows: Range<usize>,
        formats: &[i16],
        style: Style,
        client: &mut dyn Client,
    ) -> Result<()> {
        let writers = self.columns.iter().zip(places).enumerate().map(|(i, (column, &at))| {
            let values = &batch.columns.columns[at];
            ColumnWriter::new(column.ty, batch.types()[at], values, format_of(formats, i) == 1)
        });
        let writers: Vec<ColumnWriter<'_>> = writers.collect();
        for row in rows {
            let mut writer = client.reply().data_row(self.columns.len());
            for column in &writers {
                column.write(row, &style, &mut writer);
            }
            writer.finish(|i| self.form(formats, i))?;
            send_if_large(client)?;
        }
        Ok(())
    }

    /// What a column's values have of texts as they travel.
    fn form(&self, formats: &[i16], column: usize) -> Form {
        if format_of(formats, column) == 0 { Form::Text } else { self.columns[column].form }
    }

    /// Takes at most `limit` rows as values of the engine.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn take(&mut self, limit: usize) -> Result<Vec<Chunk>> {
        let mut chunks = Vec::new();
        let mut room = limit;
        while room > 0 {
            let (chunk, from) = match self.left.take() {
                Some(left) => left,
                None => match self.next_of_source()? {
                    Some(chunk) => (chunk, 0),
                    None => break,
                },
            };
            let to = chunk.len().min(from.saturating_add(room));
            room -= to - from;
            chunks.push(chunk.slice(from, to));
            if to < chunk.len() {
                self.left = Some((chunk, to));
            }
        }
        Ok(chunks)
    }

    /// The tag, when all rows were sent.
    pub fn tag(&self) -> String {
        if matches!(self.tag, "SHOW" | "EXPLAIN" | "CALL") {
            return self.tag.to_string();
        }
        // What is read bit by bit says each time how much that was.
        let mut digits = itoa::Buffer::new();
        [self.tag, " ", digits.format(self.sent_last)].concat()
    }
}

impl Chunk {
    /// The rows as values of the engine.
    pub fn into_rows(self) -> Vec<Row> {
        match self {
            Chunk::Rows(rows) => rows,
            Chunk::Engine(batch, columns) => {
                let row = |i: usize| columns.iter().map(|&c| batch.value(i, c)).collect();
                (0..batch.len()).map(row).collect()
            }
            Chunk::Bound(..) => unreachable!("bound queries write their values themselves"),
        }
    }
    /// The rows from the last to the first.
    ///
    /// # Errors
    /// They cannot be put in another order.
    pub fn reversed(self) -> Result<Chunk> {
        Ok(match self {
            Chunk::Bound(batch, encoder) => {
                let order = UInt64Array::from_iter_values((0..batch.num_rows() as u64).rev());
                let batch = take_record_batch(&batch, &order).map_err(DataFusionError::from)?;
                Chunk::Bound(batch, encoder)
            }
            other => {
                let mut rows = other.into_rows();
                rows.reverse();
                Chunk::Rows(rows)
            }
        })
    }
    /// Rows from one on.
    fn slice_from(self, from: usize) -> Chunk {
        let to = self.len();
        if from == 0 { self } else { self.slice(from, to) }
    }
    /// Rows `from..to`.
    pub fn slice(&self, from: usize, to: usize) -> Chunk {
        match self {
            Chunk::Bound(batch, encoder) => {
                Chunk::Bound(batch.slice(from, to - from), Arc::clone(encoder))
            }
            Chunk::Rows(rows) => Chunk::Rows(rows[from..to].to_vec()),
            Chunk::Engine(batch, columns) => {
                let row = |i: usize| columns.iter().map(|&c| batch.value(i, c)).collect();
                Chunk::Rows((from..to).map(row).collect())
            }
        }
    }
}
