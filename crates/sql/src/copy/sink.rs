//! Where do the values of a COPY go?
//!
//! Into the columns of a batch, as the engine has them; integers and text without a detour. Full batches
//! go to the transaction. Of one that it refuses the rows are judged once more, one after the other, so that the error is that of the
//! first one that is wrong, and tells its line.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::RecordBatch;
use onlap::{Batch, DataType, Row, Table, Value, Vector, convert};

use super::filter::Filter;
use super::lines::{Lines, shown};
use crate::catalog::Name;
use crate::catalog::oids::of_table;
use crate::change::fires::{Event, Fires};
use crate::change::queue::Queue;
use crate::change::{Router, called, hold};
use crate::columnar::input;
use crate::columns::{ColumnType, Types};
use crate::ddl::defaults;
use crate::encoding::{Encoding, Form};
use crate::error::{Result, SqlError, state};
use crate::plan::TableHandle;
use crate::progress::{Kind, Work};
use crate::query::Reader;
use crate::types::{PgType, binary_value, plain_value, sent_text, whole};
use crate::view::View;

/// Rows after which a batch goes to the transaction.
const ROWS: usize = 8192;
/// Bytes after which it does: long values make long rows.
const BYTES: usize = 4 << 20;
/// Rows of which PostgreSQL judges each by itself before it looks at the keys of any.
const KEYS_TOGETHER: usize = 1000;

/// A column that is given.
struct Target {
    name: String,
    ty: ColumnType,
}

/// Collects rows.
pub struct Sink<'a> {
    view: &'a View,
    name: &'a Name,
    table: &'a Table,
    targets: Vec<Target>,
    /// Columns that are left out and whose defaults are computed.
    computed: Vec<(String, ColumnType, String)>,
    /// Where rows go, unless any can be the table's own.
    routes: Option<Router>,
    /// What reads values as the session does.
    reader: Reader,
    /// Whether moments without a zone are of UTC.
    utc: bool,
    /// How texts within binary values are written.
    encoding: Encoding,
    /// WHERE.
    filter: Option<Filter>,
    /// The lines of the batch's rows.
    lines: Lines,
    /// Whether lines are texts, which errors show.
    has_text: bool,
    /// Whether all columns are given, in their order.
    whole: bool,
    batch: Batch,
    bytes: usize,
    /// Values of the row under way.
    at: usize,
    rows: u64,
    /// The line that errors name.
    pub line: u64,
    /// The value that errors name: column and text.
    failed: Option<(usize, Option<String>)>,
    /// The row of a batch that errors name: its line, where one is known, and the text of that, where it is shown.
    failed_row: Option<(Option<u64>, Option<String>)>,
    /// Triggers, if there are any.
    fires: Option<Fires<'a>>,
    /// Whose functions may be called.
    called: called::Once,
    /// What other sessions see of it.
    pub work: Arc<Work>,
}

impl<'a> Sink<'a> {
    /// Takes rows of these columns.
    ///
    /// # Errors
    /// The catalog cannot be read.
    pub fn new(
        view: &'a View,
        name: &'a Name,
        table: &'a Table,
        columns: Vec<usize>,
        due: &'a Queue,
    ) -> Result<Sink<'a>> {
        let schema = table.schema();
        let types = Types::of(&view.objects, &schema);
        types.must_be_known(&schema)?;
        let target = |&at: &usize| Target { name: schema.columns[at].name.clone(), ty: types[at] };
        let left_out = schema.columns.iter().enumerate().filter(|(i, _)| !columns.contains(i));
        let computed = left_out.filter_map(|(at, column)| {
            // As in PostgreSQL, NULL is not judged where no value is given.
            let expression = defaults::computed(view, schema.id, column)?;
            let expression = Some(expression).filter(|sql| sql != defaults::NULL)?;
            Some((column.name.clone(), types[at], expression))
        });
        let targets: Vec<Target> = columns.iter().map(target).collect();
        let mut routes = Router::of(view, &TableHandle::new(view, table.clone()))?;
        match &mut routes {
            Some(routes) => routes.hold()?,
            None => hold(view, &TableHandle::new(view, table.clone()))?,
        }
        Ok(Sink {
            view,
            name,
            table,
            computed: computed.collect(),
            routes,
            reader: Reader::new(view),
            utc: !view.scope.is_away(),
            encoding: Encoding::default(),
            filter: None,
            lines: Lines::default(),
            has_text: true,
            whole: columns.iter().copied().eq(0..schema.columns.len()),
            batch: Batch::new(targets.iter().map(|t| t.ty.engine.physical())),
            targets,
            bytes: 0,
            at: 0,
            rows: 0,
            line: 0,
            failed: None,
            failed_row: None,
            fires: Fires::of(view, &TableHandle::new(view, table.clone()), due)?,
            called: called::Once::default(),
            work: Work::new(Kind::Copy { is_in: true }, of_table(schema.id)),
        })
    }

    /// Texts within binary values are in this encoding; rows are taken that a condition holds for; there are lines, or rows in binary
    /// form.
    pub fn with(mut self, encoding: Encoding, filter: Option<Filter>, has_text: bool) -> Self {
        (self.encoding, self.filter, self.has_text) = (encoding, filter, has_text);
        self
    }

    /// Fires the triggers that come before all rows.
    ///
    /// # Errors
    /// Those of their functions.
    pub fn begin(&self) -> Result<()> {
        match &self.fires {
            Some(fires) => fires.before_statement(Event::Insert, &[]),
            None => Ok(()),
        }
    }

    /// Tells other sessions how many rows there are so far. Those that a condition has not been asked about are none yet.
    pub fn tell(&self) {
        let waiting = if self.filter.is_some() { 0 } else { self.batch.rows as u64 };
        self.work.at_row(self.rows + waiting);
    }

    /// Number of columns that are given.
    pub fn width(&self) -> usize {
        self.targets.len()
    }

    /// Name of a column.
    pub fn column(&self, at: usize) -> &str {
        &self.targets[at].name
    }

    /// NULL for the next column.
    ///
    /// # Errors
    /// The column's type is a domain, which refuses it.
    pub fn null(&mut self) -> Result<()> {
        let ty = self.targets[self.at].ty;
        if ty.is_domain() {
            let kept = self.reader.keep_null(ty);
            if kept.is_err() {
                self.failed = Some((self.at, Some("null input".into())));
            }
            kept?;
        }
        self.batch.columns[self.at].push_null();
        self.at += 1;
        Ok(())
    }

    /// A value for the next column, as text.
    ///
    /// # Errors
    /// It is none of the column's type.
    pub fn text(&mut self, bytes: &[u8]) -> Result<()> {
        let pushed = self.push_text(bytes);
        if pushed.is_err() {
            self.failed = Some((self.at, Some(shown(bytes))));
        }
        self.bytes += bytes.len() + 8;
        self.at += 1;
        pushed
    }

    fn push_text(&mut self, bytes: &[u8]) -> Result<()> {
        let Target { ty: kept, name } = &self.targets[self.at];
        let column = &mut self.batch.columns[self.at];
        if !kept.is_native() {
            let value = self.reader.column_value(*kept, sent_text(bytes)?)?;
            return Ok(convert::push_value(kept.engine, &value, column, name)?);
        }
        let ty = &kept.engine;
        // No text has more characters than bytes.
        let most = if let DataType::Varchar(n) = ty { BYTES.min(*n as usize) } else { BYTES };
        match (&mut column.data, ty) {
            (Vector::Int(v), DataType::Int2 | DataType::Int4 | DataType::Int8) => {
                let (min, max) = convert::int_range(*ty);
                if let Some(n) = whole(bytes).filter(|n| (min..=max).contains(n)) {
                    v.push(n);
                    column.pushed();
                    return Ok(());
                }
            }
            (Vector::Bytes(v), DataType::Text | DataType::Varchar(_)) if bytes.len() <= most => {
                v.push(sent_text(bytes)?.as_bytes());
                column.pushed();
                return Ok(());
            }
            _ => {}
        }
        let text = sent_text(bytes)?;
        let value = match plain_value(*ty, text, self.utc) {
            Some(value) => value,
            None => self.reader.column_value(*kept, text)?,
        };
        Ok(convert::push_value(*ty, &value, column, name)?)
    }

    /// A value for the next column, in binary form.
    ///
    /// # Errors
    /// It is none of the column's type.
    pub fn binary(&mut self, bytes: &[u8]) -> Result<()> {
        let Target { ty: kept, name } = &self.targets[self.at];
        self.bytes += bytes.len() + 8;
        self.at += 1;
        let ty = &kept.engine;
        let turned;
        let mut bytes = bytes;
        if !self.encoding.is_plain() {
            let form = Form::of(kept.pg.oid);
            turned = form.turned(bytes, |text| self.encoding.decoded(text)).inspect_err(|_| {
                self.failed = Some((self.at - 1, None));
            })?;
            bytes = &turned;
        }
        // jsonb has a version in front, which no json text begins with.
        if let (true, DataType::Json, [1, rest @ ..]) = (kept.is_own(), ty, bytes) {
            bytes = rest;
        }
        let column = &mut self.batch.columns[self.at - 1];
        let read = match kept.is_native() {
            true => binary_value(PgType::of_engine(*ty), bytes),
            false => self.reader.sent_value(*kept, bytes),
        };
        let pushed = read.and_then(|value| Ok(convert::push_value(*ty, &value, column, name)?));
        if pushed.is_err() {
            self.failed = Some((self.at - 1, None));
        }
        pushed
    }

    /// Rows as columns, in the order of those that are given.
    ///
    /// # Errors
    /// There are more or fewer columns; a value is none of its column's type; those of the transaction.
    pub fn columns(&mut self, rows: &RecordBatch) -> Result<()> {
        if rows.num_columns() != self.targets.len() {
            let (given, wanted) = (rows.num_columns(), self.targets.len());
            let text = format!("{given} columns are given for {wanted}");
            return Err(SqlError::new(state::BAD_COPY, text));
        }
        self.flush()?;
        for (at, (target, array)) in self.targets.iter().zip(rows.columns()).enumerate() {
            let made = input::column(&self.reader, target.ty, &target.name, array);
            self.batch.columns[at] = made.inspect_err(|_| self.failed = Some((at, None)))?;
        }
        self.batch.rows = rows.num_rows();
        self.flush()
    }

    /// A line begins, of which this is the text.
    pub fn begin_line(&mut self, lines: u64, text: &[u8]) {
        self.line += lines;
        self.lines.begin(text);
    }

    /// The line under way is no row.
    pub fn leave_line(&mut self) {
        self.lines.leave();
    }

    /// The line behind all that has come is what fails.
    pub fn next_line(&mut self) {
        self.lines.leave();
        self.line += 1;
    }

    /// Ends a row that has too few values.
    pub fn missing(&mut self) -> SqlError {
        let column = self.targets.get(self.at).map_or("", |t| t.name.as_str());
        SqlError::new(state::BAD_COPY, format!("missing data for column \"{column}\""))
    }

    /// Whether the row has all its values.
    pub fn is_complete(&self) -> bool {
        self.at == self.targets.len()
    }

    /// Ends a row.
    ///
    /// # Errors
    /// Those of the transaction.
    pub fn end_row(&mut self) -> Result<()> {
        self.at = 0;
        self.batch.rows += 1;
        self.lines.end_row(self.line);
        let most = match &self.filter {
            Some(filter) if filter.is_volatile() => 1,
            _ => ROWS,
        };
        if self.batch.rows >= most || self.bytes >= BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let mut fresh = Batch::new(self.targets.iter().map(|t| t.ty.engine.physical()));
        // The next rows are as many and as long, mostly.
        for (column, full) in fresh.columns.iter_mut().zip(&self.batch.columns) {
            column.reserve(full.len(), full.string_bytes());
        }
        let batch = std::mem::replace(&mut self.batch, fresh);
        self.bytes = 0;
        if batch.rows == 0 {
            return Ok(());
        }
        self.put(batch)?;
        self.lines.clear();
        Ok(())
    }

    fn put(&mut self, batch: Batch) -> Result<()> {
        if self.filter.is_some() {
            return self.put_filtered(batch);
        }
        if self.fires.is_some() || self.routes.is_some() {
            let rows = self.completed(batch).map_err(|e| self.at_row(0, true, e))?;
            return self.put_rows(rows.into_iter().enumerate().collect());
        }
        self.must_call(0)?;
        self.rows += batch.rows as u64;
        let again = batch.clone();
        self.insert(batch).or_else(|e| self.judge_again(again, e))
    }

    /// Fails unless the role may call what is calculated of rows, of which this is the first.
    fn must_call(&mut self, row: usize) -> Result<()> {
        let schema = self.table.schema();
        let of_rows = self.called.of_rows(self.view, &schema);
        of_rows.map_err(|e| self.at_row(row, true, e))?;
        self.called.of_indexes(self.view, &schema).inspect_err(|_| {
            self.failed_row = Some((self.lines.number(row), None));
        })
    }

    /// Hands a batch over as it is.
    fn insert(&self, mut batch: Batch) -> Result<()> {
        if self.whole {
            return Ok(self.view.scope.tx()?.insert_batch(self.table, batch)?);
        }
        let mut names: Vec<&str> = self.targets.iter().map(|t| t.name.as_str()).collect();
        if !self.computed.is_empty() {
            let expressions: Vec<_> =
                self.computed.iter().map(|(_, ty, e)| (*ty, e.as_str())).collect();
            batch.columns.extend(defaults::columns(self.view, &expressions, batch.rows)?);
            names.extend(self.computed.iter().map(|c| c.0.as_str()));
        }
        Ok(self.view.scope.tx()?.insert_batch_columns(self.table, &names, batch)?)
    }

    /// Finds the first row that is wrong in a batch that was refused, of which nothing was kept.
    fn judge_again(&mut self, batch: Batch, refused: SqlError) -> Result<()> {
        if !is_of_row(&refused) {
            self.failed_row = Some((None, None));
            return Err(refused);
        }
        let rows = self.completed(batch).map_err(|e| self.at_row(0, true, e))?;
        for (at, some) in rows.chunks(KEYS_TOGETHER).enumerate() {
            let at = at * KEYS_TOGETHER;
            self.view.scope.go_on()?;
            for (row, values) in some.iter().enumerate() {
                let judged = self.view.scope.tx()?.judge_new(self.table, values);
                judged.map_err(|e| self.at_row(at + row, true, e.into()))?;
            }
            for (row, values) in some.iter().enumerate() {
                let inserted = self.view.scope.tx()?.insert(self.table, values).map(drop);
                inserted.map_err(|e| self.at_row(at + row, false, e.into()))?;
            }
        }
        // What was in the way is gone.
        self.failed_row = Some((None, None));
        Err(refused)
    }

    /// Names the line of a row in the error. PostgreSQL writes rows together, and does not have their lines any more when it finds that
    /// a key is there; where it writes `alone`, it has.
    fn at_row(&mut self, row: usize, alone: bool, error: SqlError) -> SqlError {
        let shows = alone || !matches!(error.state(), "23505" | "23P01");
        let text = self.lines.text(row).filter(|_| shows && self.has_text);
        self.failed_row = Some((self.lines.number(row), text));
        error
    }

    /// Hands over the rows that the condition holds for.
    fn put_filtered(&mut self, batch: Batch) -> Result<()> {
        let rows = self.completed(batch).map_err(|e| self.at_row(0, true, e))?;
        self.view.scope.go_on()?;
        let Some(filter) = &self.filter else { return Ok(()) };
        let (taken, failed) = filter.takes(&rows);
        let count = taken.len();
        let excluded = taken.iter().filter(|taken| !**taken).count();
        self.work.excluded.fetch_add(excluded as u64, Relaxed);
        let kept = rows.into_iter().enumerate().zip(taken);
        self.put_rows(kept.filter_map(|(row, taken)| taken.then_some(row)).collect())?;
        failed.map_or(Ok(()), |e| Err(self.at_row(count, true, e)))
    }

    /// Hands rows over, each with its place in the batch.
    fn put_rows(&mut self, rows: Vec<(usize, Row)>) -> Result<()> {
        if self.fires.is_some() {
            return rows.into_iter().try_for_each(|(at, row)| {
                self.put_fired(row).map_err(|e| self.at_row(at, true, e))
            });
        }
        self.rows += rows.len() as u64;
        if self.routes.is_some() {
            return self.route(rows);
        }
        let alone = self.filter.as_ref().is_some_and(Filter::is_volatile);
        rows.iter().try_for_each(|(at, row)| {
            self.must_call(*at)?;
            let inserted = self.view.scope.tx()?.insert(self.table, row).map(drop);
            inserted.map_err(|e| self.at_row(*at, alone, e.into()))
        })
    }

    /// Hands rows over to the tables that they go to.
    fn route(&mut self, rows: Vec<(usize, Row)>) -> Result<()> {
        let Some(routes) = &mut self.routes else { return Ok(()) };
        let (places, rows): (Vec<usize>, Vec<Row>) = rows.into_iter().unzip();
        let before = self.view.scope.tx()?.savepoint();
        let Err(refused) = routes.put(&rows) else { return Ok(()) };
        if is_of_row(&refused) {
            self.view.scope.tx()?.rollback_to(&before)?;
            for (at, row) in places.iter().zip(&rows) {
                self.view.scope.go_on()?;
                let Err(e) = routes.put(std::slice::from_ref(row)) else { continue };
                return Err(self.at_row(*at, false, e));
            }
        }
        self.failed_row = Some((None, None));
        Err(refused)
    }

    /// Hands a row over to the table that it goes to, with the triggers of that.
    fn put_fired(&mut self, row: Row) -> Result<()> {
        let Some(fires) = &self.fires else { return Ok(()) };
        self.view.scope.go_on()?;
        let (leaf, handle, row) = match &mut self.routes {
            Some(routes) => {
                let leaf = routes.leaf_of(&row)?;
                let (handle, row) = (leaf.table.clone(), leaf.fit(&row));
                (Some(leaf), handle, row)
            }
            None => (None, TableHandle::new(self.view, self.table.clone()), row),
        };
        let row = match (leaf, &mut self.routes) {
            (Some(leaf), Some(routes)) => {
                let mut now =
                    |row: &Row| Ok(routes.leaf_of(&leaf.unfit(row.clone()))?.table.schema.id);
                fires.before_insert(&handle, row, Some(&mut now))?
            }
            _ => fires.before_insert(&handle, row, None)?,
        };
        let Some(row) = row else { return Ok(()) };
        self.called.of_rows(self.view, &handle.schema)?;
        self.called.of_indexes(self.view, &handle.schema)?;
        self.view.scope.tx()?.insert(&handle.table, &row)?;
        self.rows += 1;
        fires.after_row(&handle, (Event::Insert, false), (None, Some(row)), &[])
    }

    /// Whole rows, with defaults for what is not given.
    fn completed(&self, batch: Batch) -> Result<Vec<Row>> {
        let schema = self.table.schema();
        let mut given: Vec<Vec<Option<Value>>> = vec![vec![None; schema.columns.len()]; batch.rows];
        let is_given = |at: usize| self.targets.iter().any(|t| t.name == schema.columns[at].name);
        for (at, column) in schema.columns.iter().enumerate().filter(|(at, _)| !is_given(*at)) {
            // As in PostgreSQL, NULL is not judged where no value is given.
            let computed = defaults::computed(self.view, schema.id, column);
            if computed.as_deref() == Some(defaults::NULL) {
                given.iter_mut().for_each(|row| row[at] = Some(Value::Null));
            }
        }
        for (target, column) in self.targets.iter().zip(&batch.columns) {
            let at = schema.position_by_name(&target.name);
            let at = at.ok_or_else(SqlError::concurrent_update)?;
            for (row, values) in given.iter_mut().enumerate() {
                values[at] = Some(convert::read_value(schema.columns[at].ty, column, row));
            }
        }
        defaults::complete(self.view, self.table, given)
    }

    /// Hands the rest over; the number of rows.
    ///
    /// # Errors
    /// Those of the transaction.
    pub fn finish(mut self) -> Result<u64> {
        self.flush().map_err(|e| self.located(e))?;
        if let Some(fires) = &self.fires {
            fires.after_statement(Event::Insert, &[])?;
        }
        Ok(self.rows)
    }

    /// An error with its place in the data.
    pub fn located(&self, error: SqlError) -> SqlError {
        // PostgreSQL reads a header in binary form, and judges foreign keys, where no line is under way.
        let is_header = !self.has_text && self.line == 0;
        if is_header || error.state() == "23503" && !error.has_context() {
            return error;
        }
        let mut place = format!("COPY {}", self.name.name);
        let (line, text) = match &self.failed_row {
            Some((line, text)) => (line.unwrap_or(0), text.clone()),
            None => (self.line, self.lines.open().filter(|_| self.has_text)),
        };
        if line > 0 {
            place += &format!(", line {line}");
        }
        match (&self.failed, text) {
            (Some((at, Some(value))), _) => {
                place += &format!(", column {}: {value}", self.targets[*at].name);
            }
            (Some((at, None)), _) => place += &format!(", column {}", self.targets[*at].name),
            (None, Some(text)) if line > 0 => place += &format!(": {text}"),
            (None, _) => {}
        }
        if error.has_context() { error.around(&place) } else { error.context(place) }
    }
}

/// Whether an error is that of one row of those that came together, which would come again.
fn is_of_row(error: &SqlError) -> bool {
    error.state() != "23503" && matches!(error.state().get(..2), Some("22" | "23" | "42" | "P0"))
}
