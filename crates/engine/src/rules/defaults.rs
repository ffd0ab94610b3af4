//! What does an insert store in the columns that it leaves out?
//!
//! NULL in a column that the table's counter fills, which stands for the counter's next value; the
//! default where there is one; NULL otherwise.

use onlap_base::{Error, ErrorKind, Result, SequenceId};
use onlap_format::{Batch, Column, ColumnDefault, ColumnSchema, Row, TableSchema, Value, convert};

use crate::database::Shared;
use crate::sequences::unknown_sequence;

/// What an insert that leaves a column out stores there; NULL where the counter fills it.
pub(crate) fn default_value(shared: &Shared, column: &ColumnSchema) -> Result<Value> {
    match &column.default {
        None => Ok(Value::Null),
        Some(ColumnDefault::Constant(value)) => Ok(value.clone()),
        Some(ColumnDefault::NextVal(id)) => {
            take(shared, *id, 1).map(|(first, ..)| Value::Int(first))
        }
    }
}

/// A whole row out of values for some columns.
pub(crate) fn complete_row(
    shared: &Shared,
    schema: &TableSchema,
    columns: &[&str],
    values: &[Value],
) -> Result<Row> {
    let given = places(schema, columns, values.len())?;
    let value = |(column, given): (&ColumnSchema, &Option<usize>)| match given {
        Some(i) => Ok(values[*i].clone()),
        None => default_value(shared, column),
    };
    schema.columns.iter().zip(&given).map(value).collect()
}

/// A whole batch out of some columns.
pub(crate) fn complete_batch(
    shared: &Shared,
    schema: &TableSchema,
    columns: &[&str],
    batch: Batch,
) -> Result<Batch> {
    let given = places(schema, columns, batch.columns.len())?;
    let rows = batch.rows;
    let mut taken: Vec<Option<Column>> = batch.columns.into_iter().map(Some).collect();
    let mut whole = Vec::with_capacity(schema.columns.len());
    for (described, given) in schema.columns.iter().zip(&given) {
        whole.push(match given {
            Some(i) => taken[*i].take().expect("each column is named once"),
            None => default_column(shared, described, rows)?,
        });
    }
    Ok(Batch { columns: whole, rows })
}

/// What inserts of so many rows that leave a column out store there.
pub(crate) fn default_column(
    shared: &Shared,
    described: &ColumnSchema,
    rows: usize,
) -> Result<Column> {
    let mut column = Column::new(described.ty.physical());
    let mut push =
        |value: &Value| convert::push_value(described.ty, value, &mut column, &described.name);
    match &described.default {
        None => (0..rows).try_for_each(|_| push(&Value::Null))?,
        Some(ColumnDefault::Constant(value)) => (0..rows).try_for_each(|_| push(value))?,
        Some(ColumnDefault::NextVal(id)) => {
            let mut left = rows;
            while left > 0 {
                let wanted = u32::try_from(left).unwrap_or(u32::MAX);
                let (first, n, step) = take(shared, *id, wanted)?;
                let value = |i: u32| first.wrapping_add(step.wrapping_mul(i64::from(i)));
                (0..n).try_for_each(|i| push(&Value::Int(value(i))))?;
                left -= n as usize;
            }
        }
    }
    Ok(column)
}

fn take(shared: &Shared, id: SequenceId, wanted: u32) -> Result<(i64, u32, i64)> {
    let sequence = shared.sequences.by_id(id);
    let sequence = sequence.ok_or_else(|| unknown_sequence(&format!("of id {id}")))?;
    sequence.take(shared, wanted)
}

/// Per column of the table, which of the given values is its.
fn places(schema: &TableSchema, columns: &[&str], values: usize) -> Result<Vec<Option<usize>>> {
    if columns.len() != values {
        let text = format!(
            "{} columns of table {} are named; {values} values were given",
            columns.len(),
            schema.name
        );
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    let mut places = vec![None; schema.columns.len()];
    for (i, name) in columns.iter().enumerate() {
        let at = schema.position_by_name(name).ok_or_else(|| {
            let text = format!("table {} has no column {name}", schema.name);
            Error::new(ErrorKind::UnknownColumn, text)
        })?;
        if places[at].replace(i).is_some() {
            let text = format!("column {name} of table {} is named twice", schema.name);
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
    }
    Ok(places)
}
