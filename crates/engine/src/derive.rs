//! Who calculates derived and generated columns, and when?
//!
//! The engine keeps the program of a derived column and knows nothing of its words. Who does is told to the
//! database by [`crate::Database::set_formulas`]; without it tables with derived columns are read only. Values
//! are calculated once, as rows come into a transaction ([`fill`]); the log and memtables have them next to
//! the rows, so that a commit, a replay and a flush calculate nothing. Segments leave them out: an index that is
//! built later, a check, and rows that a transaction takes back from its files calculate them anew
//! ([`Needed`]).
//!
//! Why not in segments: they would be there twice, next to what they follow from, and no reader but those three
//! reads them. Why in the log: replay would need programs that a database which only just opens does not
//! have.
//!
//! Thread safety: a seam; its double in tests is a closure.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Error, ErrorKind, Result};
use onlap_format::{
    Batch, Column, ColumnSchema, DerivedSchema, Physical, Row, TableSchema, Value, Vector, convert,
    entries,
};
use parking_lot::RwLock;

use crate::table::index_positions;

/// Calculates derived and generated columns. The same program and values give the same result for ever, on any thread.
pub trait Formulas: Send + Sync {
    /// The values of a column by a program for rows of which `inputs` are the columns that it reads, in its order:
    /// of the column's physical form, one per row. Lists of keys ([`DerivedSchema::lists`]) are packed
    /// ([`crate::entries`]).
    ///
    /// # Errors
    /// What is wrong with the values of some row.
    fn calculate(
        &self,
        schema: &TableSchema,
        of: Formula<'_>,
        inputs: &[Column],
        rows: usize,
    ) -> Result<Column>;
}

/// A column that is calculated.
#[derive(Clone, Copy, Debug)]
pub struct Formula<'a> {
    /// The column.
    pub column: &'a ColumnSchema,
    /// What is calculated.
    pub program: &'a str,
}

/// Rows for which is calculated at once: what a program takes on its way is bounded by a few of them.
const STEP_ROWS: usize = 4096;

/// Bytes of strings of such rows, or one row: what is calculated may take several times as much.
const STEP_BYTES: usize = 64 << 20;
/// Most bytes of one calculated column of rows that come at once: places of bytes fit 32 bits.
const ALL_BYTES: usize = 2 << 30;

/// Who calculates for a database.
#[derive(Default)]
pub(crate) struct Calculator(RwLock<Option<Arc<dyn Formulas>>>);

impl fmt::Debug for Calculator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calculator")
    }
}

impl Calculator {
    pub(crate) fn set(&self, formulas: Arc<dyn Formulas>) {
        *self.0.write() = Some(formulas);
    }

    /// Whether there is one.
    pub(crate) fn is_set(&self) -> bool {
        self.0.read().is_some()
    }

    fn get(&self, schema: &TableSchema) -> Result<Arc<dyn Formulas>> {
        self.0.read().clone().ok_or_else(|| {
            let text = format!(
                "table {} has a check or a generated column of SQL, an index on an expression, or one of some of \
                 its rows; open the database by SQL to change rows of the table",
                schema.name
            );
            Error::new(ErrorKind::Unsupported, text)
        })
    }

    /// One derived column of rows; `columns` gives those that it depends on.
    fn column<'a>(
        &self,
        schema: &TableSchema,
        of: &DerivedSchema,
        columns: &dyn Fn(ColumnId) -> &'a Column,
        rows: usize,
    ) -> Result<Column> {
        let wanted = of.only_if.map(|id| members(columns(id)));
        let formula = Formula { column: &of.column, program: &of.program };
        let made = self.values(schema, (formula, &of.reads), wanted, columns, rows)?;
        if of.lists {
            check_lists(schema, of, &made)?;
        }
        Ok(made)
    }

    /// What a condition is of some rows of a batch: true, false or NULL. The batch has the columns of the schema.
    pub(crate) fn condition(
        &self,
        schema: &TableSchema,
        of: (Formula<'_>, &[ColumnId]),
        batch: &Batch,
        rows: Range<usize>,
    ) -> Result<Column> {
        let place = |id| schema.position(id).expect("a condition reads columns of its table");
        // A row that just comes in stands behind those that the batch counts.
        let is_whole = |column: &Column| rows == (0..column.len());
        let some = |id: &ColumnId| {
            let from = &batch.columns[place(*id)];
            let part = (!is_whole(from)).then(|| {
                let mut part = Column::new(from.data.physical());
                part.extend_range(from, rows.clone());
                part
            });
            part.map(|part| (*id, part))
        };
        let some: Vec<(ColumnId, Column)> = of.1.iter().filter_map(some).collect();
        let column = |id: ColumnId| -> &Column {
            let found = some.iter().find(|(of, _)| *of == id);
            found.map_or_else(|| &batch.columns[place(id)], |(_, column)| column)
        };
        self.values(schema, of, None, &column, rows.len())
    }

    /// The values of a column; with `wanted` those of these rows alone, and NULL in the others.
    fn values<'a>(
        &self,
        schema: &TableSchema,
        (of, reads): (Formula<'_>, &[ColumnId]),
        wanted: Option<Vec<u32>>,
        columns: &dyn Fn(ColumnId) -> &'a Column,
        rows: usize,
    ) -> Result<Column> {
        let formulas = self.get(schema)?;
        let form = of.column.ty.physical();
        let step = |input: &dyn Fn(&Column) -> Column, rows| {
            let inputs: Vec<Column> = reads.iter().map(|id| input(columns(*id))).collect();
            let made = formulas.calculate(schema, of, &inputs, rows)?;
            if made.len() != rows || made.data.physical() != form {
                let text =
                    format!("{} was calculated in another form than its own", of.column.name);
                return Err(Error::new(ErrorKind::WrongType, text));
            }
            Ok(made)
        };
        let inputs: Vec<&Column> = reads.iter().map(|id| columns(*id)).collect();
        let calculate = |places: Option<&[u32]>, rows: usize| {
            let row = |i: usize| places.map_or(i, |places| places[i] as usize);
            let mut to = step_end(&inputs, &row, 0, rows);
            if places.is_none() && to == rows {
                return step(&Column::clone, rows);
            }
            let mut all = Column::new(form);
            let mut from = 0;
            while from < rows {
                let input = |column: &Column| {
                    let mut some = Column::new(column.data.physical());
                    match places {
                        Some(places) => some.extend_selected(column, &places[from..to]),
                        None => some.extend_range(column, from..to),
                    }
                    some
                };
                let made = step(&input, to - from)?;
                if string_bytes(&all, 0..all.len()) + string_bytes(&made, 0..made.len()) > ALL_BYTES
                {
                    let text = format!(
                        "{} takes more than {ALL_BYTES} bytes in rows that come at once; give fewer",
                        of.column.name
                    );
                    return Err(Error::new(ErrorKind::LimitExceeded, text));
                }
                all.extend_range(&made, 0..to - from);
                from = to;
                to = step_end(&inputs, &row, from, rows);
            }
            Ok(all)
        };
        match wanted {
            Some(places) if places.len() < rows => {
                let made = match places.is_empty() {
                    true => Column::new(form),
                    false => calculate(Some(&places), places.len())?,
                };
                Ok(scattered(&made, &places, rows))
            }
            _ => calculate(None, rows),
        }
    }
}

/// Refuses what is no list of keys where an index wants one.
fn check_lists(schema: &TableSchema, of: &DerivedSchema, made: &Column) -> Result<()> {
    entries::check_lists(made).map_err(|e| {
        let kind = match e.kind() {
            ErrorKind::Corruption => ErrorKind::WrongType,
            kind => kind,
        };
        let text = format!("table {}, {}: {}", schema.name, of.column.name, e.message());
        Error::new(kind, text)
    })
}

/// Bytes of the strings of rows.
fn string_bytes(column: &Column, rows: Range<usize>) -> usize {
    match &column.data {
        Vector::Bytes(v) => (v.offsets[rows.end] - v.offsets[rows.start]) as usize,
        _ => 0,
    }
}

/// The end of a step from a row on; `row` gives a row's place in the columns.
fn step_end(columns: &[&Column], row: &dyn Fn(usize) -> usize, from: usize, rows: usize) -> usize {
    let end = rows.min(from + STEP_ROWS);
    let mut bytes = 0;
    let fits = |i: &usize| {
        let at = row(*i);
        bytes += columns.iter().map(|c| string_bytes(c, at..at + 1)).sum::<usize>();
        *i == from || bytes <= STEP_BYTES
    };
    (from..end).take_while(fits).last().map_or(from, |last| last + 1)
}

/// The rows in which a boolean column is true.
pub(crate) fn members(column: &Column) -> Vec<u32> {
    let Vector::Int(values) = &column.data else { return Vec::new() };
    let is_true = |(i, v): (usize, &i64)| (*v != 0 && !column.is_null(i)).then_some(i as u32);
    values.iter().enumerate().filter_map(is_true).collect()
}

/// Whether an index has an entry of a row of a batch with all columns of its table.
pub(crate) fn has_entry(filter: Option<&Column>, row: usize) -> bool {
    filter.is_none_or(|column| {
        matches!(&column.data, Vector::Int(values) if values[row] != 0) && !column.is_null(row)
    })
}

/// A column of `rows` rows: NULL but for values that belong to rising places.
fn scattered(values: &Column, places: &[u32], rows: usize) -> Column {
    let form = values.data.physical();
    let mut out = Column::new(form);
    assert_eq!(values.len(), places.len(), "a value for each place");
    assert!(places.is_sorted_by(|a, b| a < b), "places rise");
    let (mut null, mut at) = (Column::new(form), 0);
    null.push_null();
    for (i, place) in places.iter().enumerate() {
        let place = *place as usize;
        out.extend_selected(&null, &vec![0; place - at]);
        out.extend_range(values, i..i + 1);
        at = place + 1;
    }
    out.extend_selected(&null, &vec![0; rows - at]);
    assert_eq!(out.len(), rows, "each row has a value or none");
    out
}

/// Calculates the derived columns of whole rows, in the place of what the batch has behind the table's own.
pub(crate) fn fill(calculator: &Calculator, schema: &TableSchema, batch: &mut Batch) -> Result<()> {
    let own = schema.columns.len();
    assert!(batch.columns.len() >= own, "whole rows are given");
    batch.columns.truncate(own);
    let rows = batch.rows;
    for derived in &schema.derived {
        let column = |id: ColumnId| -> &Column {
            &batch.columns
                [schema.position(id).expect("a derived column reads columns of its table")]
        };
        let made = match rows {
            0 => Column::new(derived.column.ty.physical()),
            _ => calculator.column(schema, derived, &column, rows)?,
        };
        assert_eq!(made.len(), rows, "a value for each row");
        batch.columns.push(made);
    }
    assert_eq!(batch.columns.len(), schema.width(), "derived columns stand behind the others");
    Ok(())
}

/// Calculates the generated columns of whole rows, in the place of what they have there. They are among the columns that
/// derived columns may read, so this comes first.
pub(crate) fn generate(
    calculator: &Calculator,
    schema: &TableSchema,
    batch: &mut Batch,
) -> Result<()> {
    for of in &schema.generated {
        let position = |id| schema.position(id).expect("it reads columns of its table");
        let at = position(of.column);
        let column = &schema.columns[at];
        let made = match batch.rows {
            0 => Column::new(column.ty.physical()),
            rows => {
                let formula = (Formula { column, program: &of.program }, &of.reads[..]);
                let columns = |id: ColumnId| -> &Column { &batch.columns[position(id)] };
                calculator.values(schema, formula, None, &columns, rows)?
            }
        };
        batch.columns[at] = made;
    }
    Ok(())
}

/// The same of one row. One of another width stays as it is: where it comes in, that is said.
pub(crate) fn generate_row(
    calculator: &Calculator,
    schema: &TableSchema,
    row: &mut [Value],
) -> Result<()> {
    generate_rows(calculator, schema, &mut [row])
}

/// The same of rows.
pub(crate) fn generate_rows<R: AsRef<[Value]> + AsMut<[Value]>>(
    calculator: &Calculator,
    schema: &TableSchema,
    rows: &mut [R],
) -> Result<()> {
    let fits = |row: &R| row.as_ref().len() == schema.columns.len();
    if schema.generated.is_empty() || !rows.iter().all(fits) {
        return Ok(());
    }
    let reads = |id: ColumnId| schema.generated.iter().any(|of| of.reads.contains(&id));
    let mut batch = Batch::new(schema.columns.iter().map(|c| c.ty.physical()));
    for (at, (described, column)) in schema.columns.iter().zip(&mut batch.columns).enumerate() {
        let is_read = reads(described.id);
        for row in &*rows {
            match &row.as_ref()[at] {
                Value::Null => column.push_null(),
                value if is_read => {
                    convert::push_value(described.ty, value, column, &described.name)?;
                }
                _ => column.push_null(),
            }
        }
    }
    batch.rows = rows.len();
    generate(calculator, schema, &mut batch)?;
    for of in &schema.generated {
        let at = schema.position(of.column).expect("it is a column of its table");
        let (ty, column) = (schema.columns[at].ty, &batch.columns[at]);
        for (n, row) in rows.iter_mut().enumerate() {
            row.as_mut()[at] = convert::read_value(ty, column, n);
        }
    }
    Ok(())
}

/// A row's values, then those of its derived columns.
pub(crate) fn whole_row(
    calculator: &Calculator,
    schema: &TableSchema,
    row: &[Value],
) -> Result<Row> {
    let mut batch = Batch::new(schema.columns.iter().map(|c| c.ty.physical()));
    for ((described, column), value) in schema.columns.iter().zip(&mut batch.columns).zip(row) {
        match value {
            Value::Null => column.push_null(),
            value => convert::push_value(described.ty, value, column, &described.name)?,
        }
    }
    assert!(batch.columns.iter().all(|c| c.len() == 1), "a row has a value for each column");
    batch.rows = 1;
    fill(calculator, schema, &mut batch)?;
    let derived = schema.derived.iter().zip(&batch.columns[schema.columns.len()..]);
    let derived = derived.map(|(d, column)| convert::read_value(d.column.ty, column, 0));
    Ok(row.iter().cloned().chain(derived).collect())
}

/// Which columns of rows in files some indexes need, and what is calculated from them.
pub(crate) struct Needed {
    /// The table's own columns, to be read.
    pub columns: Vec<(ColumnId, Physical)>,
    /// Derived ones, which come behind, by place in the schema.
    derived: Vec<usize>,
}

impl Needed {
    /// For columns at these positions of a table.
    pub(crate) fn new(schema: &TableSchema, positions: impl IntoIterator<Item = usize>) -> Needed {
        let own = schema.columns.len();
        let mut needed = Needed { columns: Vec::new(), derived: Vec::new() };
        let mut wanted: Vec<usize> = Vec::new();
        let mut open: Vec<usize> = positions.into_iter().collect();
        open.reverse();
        while let Some(at) = open.pop() {
            if wanted.contains(&at) {
                continue;
            }
            wanted.push(at);
            if let Some(derived) = at.checked_sub(own).map(|at| &schema.derived[at]) {
                let reads = derived.reads.iter().copied().chain(derived.only_if);
                open.extend(reads.filter_map(|id| schema.position(id)));
            }
        }
        for at in wanted {
            match at.checked_sub(own) {
                Some(at) => needed.derived.push(at),
                None => {
                    let column = &schema.columns[at];
                    needed.columns.push((column.id, column.ty.physical()));
                }
            }
        }
        // A column comes behind the one that has to be true for it, and nothing comes of lists.
        needed.derived.sort_unstable_by_key(|&at| (schema.derived[at].lists, at));
        needed
    }

    /// For the keys of an index, and which rows it has.
    pub(crate) fn of_index(schema: &TableSchema, index: &onlap_format::IndexSchema) -> Needed {
        let (keys, _) = index_positions(schema, index);
        Needed::new(schema, keys.into_iter().chain(schema.filter_position(index)))
    }

    /// Where a column stands in a batch that is complete.
    pub(crate) fn place(&self, schema: &TableSchema, position: usize) -> usize {
        let found = match position.checked_sub(schema.columns.len()) {
            Some(at) => {
                let at = self.derived.iter().position(|d| *d == at);
                at.map(|at| self.columns.len() + at)
            }
            None => {
                let id = schema.columns[position].id;
                self.columns.iter().position(|c| c.0 == id)
            }
        };
        found.expect("the column was asked for")
    }

    /// Bytes that calculated columns take per row, beside strings.
    pub(crate) fn derived_count(&self) -> usize {
        self.derived.len()
    }

    /// Puts what is calculated behind the columns that were read, but for lists of keys ([`Needed::lists`]). Where the
    /// values of a row are wrong for a program, that is an error if `lives` says that a reader may still want the row;
    /// else it has NULL.
    pub(crate) fn complete(
        &self,
        calculator: &Calculator,
        schema: &TableSchema,
        batch: &mut Batch,
        lives: &dyn Fn(usize) -> Result<bool>,
    ) -> Result<()> {
        let rows = batch.rows;
        assert!(batch.columns.len() >= self.columns.len(), "what is needed was read");
        batch.columns.truncate(self.columns.len());
        for derived in self.derived.iter().map(|&at| &schema.derived[at]).filter(|d| !d.lists) {
            let column = |id: ColumnId| self.column(schema, batch, id);
            let made = match rows {
                0 => Ok(Column::new(derived.column.ty.physical())),
                _ => calculator.column(schema, derived, &column, rows),
            };
            let made = match made {
                Err(e) if is_of_values(&e) => {
                    one_by_one(calculator, schema, derived, &column, rows, lives)?
                }
                made => made?,
            };
            assert_eq!(made.len(), rows, "a value for each row");
            batch.columns.push(made);
        }
        Ok(())
    }
}

impl Needed {
    /// A column that is read or calculated.
    fn column<'a>(&self, schema: &TableSchema, batch: &'a Batch, id: ColumnId) -> &'a Column {
        let position = schema.position(id).expect("it reads columns of its table");
        &batch.columns[self.place(schema, position)]
    }

    /// Bytes of the strings of a row of which lists are made.
    pub(crate) fn list_bytes(
        &self,
        schema: &TableSchema,
        of: &DerivedSchema,
        batch: &Batch,
        row: usize,
    ) -> usize {
        let bytes = |id: &ColumnId| string_bytes(self.column(schema, batch, *id), row..row + 1);
        of.reads.iter().map(bytes).sum()
    }

    /// The lists of keys of some rows of a batch that is complete. They may take several times the room of what they
    /// are made of, so that they are calculated for a few rows at a time.
    pub(crate) fn lists(
        &self,
        calculator: &Calculator,
        schema: &TableSchema,
        of: &DerivedSchema,
        (batch, rows): (&Batch, Range<usize>),
        lives: &dyn Fn(usize) -> Result<bool>,
    ) -> Result<Column> {
        let some = |id: ColumnId| {
            let from = self.column(schema, batch, id);
            let mut some = Column::new(from.data.physical());
            some.extend_range(from, rows.clone());
            (id, some)
        };
        let some: Vec<(ColumnId, Column)> =
            of.reads.iter().copied().chain(of.only_if).map(some).collect();
        let column = |id: ColumnId| -> &Column {
            &some.iter().find(|c| c.0 == id).expect("each is there").1
        };
        let lives = |row: usize| lives(rows.start + row);
        match calculator.column(schema, of, &column, rows.len()) {
            Err(e) if is_of_values(&e) => {
                one_by_one(calculator, schema, of, &column, rows.len(), &lives)
            }
            made => made,
        }
    }
}

/// Whether a program may have failed because of the values of a row.
fn is_of_values(e: &Error) -> bool {
    !matches!(e.kind(), ErrorKind::Cancelled | ErrorKind::Closed | ErrorKind::Unsupported)
}

/// A derived column of rows some of which have values that its program does not take.
fn one_by_one<'a>(
    calculator: &Calculator,
    schema: &TableSchema,
    of: &DerivedSchema,
    columns: &dyn Fn(ColumnId) -> &'a Column,
    rows: usize,
    lives: &dyn Fn(usize) -> Result<bool>,
) -> Result<Column> {
    let mut out = Column::new(of.column.ty.physical());
    let depends = of.reads.iter().copied().chain(of.only_if);
    let depends: Vec<(ColumnId, &Column)> = depends.map(|id| (id, columns(id))).collect();
    for row in 0..rows {
        let one = depends.iter().map(|(id, from)| {
            let mut one = Column::new(from.data.physical());
            one.extend_range(from, row..row + 1);
            (*id, one)
        });
        let one: Vec<(ColumnId, Column)> = one.collect();
        let column =
            |id: ColumnId| -> &Column { &one.iter().find(|c| c.0 == id).expect("each is there").1 };
        match calculator.column(schema, of, &column, 1) {
            Ok(made) => out.extend_range(&made, 0..1),
            Err(e) if !is_of_values(&e) || lives(row)? => return Err(e),
            Err(_) => out.push_null(),
        }
    }
    Ok(out)
}
