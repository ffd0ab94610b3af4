//! Is a columnar batch what its table's schema says?

use onlap_base::limits::FAILING_ROW_BYTES;
use onlap_base::limits::{ROW_BYTES, VALUE_BYTES};
use onlap_base::{Error, ErrorKind, Result, Subject};

use super::{check_text, format_text, int_range, out_of_range, read_value, too_long};
use crate::batch::{Batch, BytesVec, Column, NullMask, Vector};
use crate::schema::{ColumnSchema, TableSchema};
use crate::types::DataType;
use crate::value::{Numeric, Value};

/// Checks everything that [`push_value`](super::push_value) checks value by value, and NOT NULL, at
/// a few nanoseconds per value. Columns stand in the order of the schema. A serial column may be
/// NULL: the engine fills it in.
pub fn check_batch(schema: &TableSchema, batch: &Batch) -> Result<()> {
    if batch.columns.len() != schema.columns.len() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!(
                "a batch of {} columns for table \"{}\" of {}",
                batch.columns.len(),
                schema.name,
                schema.columns.len()
            ),
        ));
    }
    let mut refused = None;
    for (column, described) in batch.columns.iter().zip(&schema.columns) {
        check_column(described, column, batch.rows)?;
        let has_null = column.nulls.as_ref().is_some_and(|nulls| nulls.count() > 0);
        if refused.is_none() && has_null && !described.nullable && !described.is_serial() {
            refused = Some((described, column));
        }
    }
    // The row is told when all of its columns are known to be what they should be.
    if let Some((described, column)) = refused {
        let row = (0..batch.rows).find(|row| column.is_null(*row)).expect("it has a NULL");
        let text = format!("column \"{}\" refuses NULL", described.name);
        return Err(Error::new(ErrorKind::NotNull, text).about(Subject {
            table: schema.name.clone(),
            column: Some(described.name.clone()),
            row: row_texts(schema, |at| read_value(schema.columns[at].ty, &batch.columns[at], row)),
            ..Subject::default()
        }));
    }
    check_row_bytes(batch)
}

/// Bytes that are left of a value that is cut: more than are ever shown, so that it shows that there were more.
const CUT_BYTES: usize = 128;

/// The columns of a row with their values as texts, `None` for NULL. All of them take [`FAILING_ROW_BYTES`] at most, and what cut
/// values have left: a value that there is no room for is cut.
///
/// [`FAILING_ROW_BYTES`]: onlap_base::limits::FAILING_ROW_BYTES
pub fn row_texts(
    schema: &TableSchema,
    value: impl Fn(usize) -> Value,
) -> Vec<(String, Option<String>)> {
    let mut room = FAILING_ROW_BYTES;
    let mut shown = |(at, column): (usize, &ColumnSchema)| {
        let text = match value(at) {
            Value::Null => None,
            value => {
                let value = cut(value, room);
                let mut text = String::new();
                format_text(column.ty, &value, &mut text);
                room = room.saturating_sub(text.len());
                Some(text)
            }
        };
        (column.name.clone(), text)
    };
    schema.columns.iter().enumerate().map(&mut shown).collect()
}

/// The beginning of a value whose text would take more than this.
fn cut(value: Value, room: usize) -> Value {
    match value {
        Value::Text(mut text) if text.len() > room.max(CUT_BYTES) => {
            text.truncate(text.floor_char_boundary(CUT_BYTES));
            Value::Text(text)
        }
        // Each byte is two digits.
        Value::Bytes(mut bytes) if bytes.len() * 2 > room.max(CUT_BYTES) => {
            bytes.truncate(CUT_BYTES / 2);
            Value::Bytes(bytes)
        }
        value => value,
    }
}

fn check_column(described: &ColumnSchema, column: &Column, rows: usize) -> Result<()> {
    let name = &described.name;
    let invalid = |what: String| {
        Err(Error::new(ErrorKind::InvalidInput, format!("column \"{name}\": {what}")))
    };
    if column.data.physical() != described.ty.physical() {
        let message = format!(
            "column \"{name}\" is {}, which takes {:?}, the batch has {:?}",
            described.ty,
            described.ty.physical(),
            column.data.physical()
        );
        return Err(Error::new(ErrorKind::WrongType, message));
    }
    if let Vector::Bytes(v) = &column.data
        && let Err(what) = check_offsets(v)
    {
        return invalid(what.to_owned());
    }
    if column.len() != rows {
        return invalid(format!("{} values in a batch of {rows} rows", column.len()));
    }
    if let Vector::Numeric(m, s) = &column.data
        && m.len() != s.len()
    {
        return invalid(format!("{} mantissas and {} scales", m.len(), s.len()));
    }
    if let Some(nulls) = &column.nulls {
        if nulls.len != rows || nulls.words.len() != rows.div_ceil(64) {
            return invalid(format!("a null mask of {} rows in a batch of {rows}", nulls.len));
        }
        check_nulls(column, nulls)?;
    }
    check_values(described.ty, column, name)
}

/// Offsets begin with 0, ascend and end with the data.
fn check_offsets(v: &BytesVec) -> Result<(), &'static str> {
    if v.offsets.first() != Some(&0) || v.offsets.last().map(|o| *o as usize) != Some(v.data.len())
    {
        return Err("string offsets do not span the data");
    }
    if !v.offsets.is_sorted() {
        return Err("string offsets do not ascend");
    }
    Ok(())
}

/// NULL slots hold zero or nothing, bits past the end are 0.
fn check_nulls(column: &Column, nulls: &NullMask) -> Result<()> {
    let count = nulls.count();
    let bits = nulls.len % 64;
    let past = nulls.words.last().is_some_and(|w| bits != 0 && w >> bits != 0);
    let empty = |i: usize| match &column.data {
        Vector::Int(v) => v[i] == 0,
        Vector::Wide(v) => v[i] == 0,
        Vector::Numeric(m, s) => m[i] == 0 && s[i] == 0,
        Vector::Bytes(v) => v.get(i).is_empty(),
    };
    if past || count > 0 && (0..nulls.len).any(|i| nulls.get(i) && !empty(i)) {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "NULL slots of a batch hold zero or the empty string",
        ));
    }
    Ok(())
}

fn check_values(ty: DataType, column: &Column, name: &str) -> Result<()> {
    match (ty, &column.data) {
        (DataType::Float4 | DataType::Float8, Vector::Int(v)) => check_floats(ty, v, name),
        (_, Vector::Int(v)) => {
            let (min, max) = int_range(ty);
            if (min, max) == (i64::MIN, i64::MAX) {
                return Ok(());
            }
            match v.iter().find(|v| **v < min || **v > max) {
                Some(v) => Err(out_of_range(ty, &Value::Int(*v), name)),
                None => Ok(()),
            }
        }
        (DataType::Numeric(Some((precision, scale))), Vector::Wide(v)) => {
            let wrong = v
                .iter()
                .map(|v| Numeric { mantissa: *v, scale })
                .find(|n| n.mantissa != i128::MAX && n.digits() > u32::from(precision));
            wrong.map_or(Ok(()), |n| Err(out_of_range(ty, &Value::Numeric(n), name)))
        }
        (_, Vector::Wide(_)) => Ok(()),
        (_, Vector::Numeric(m, s)) => {
            let mut all = m.iter().zip(s).map(|(m, s)| Numeric { mantissa: *m, scale: *s });
            match all.find(|n| !n.is_valid() || *n != n.canonical_nan()) {
                Some(n) => Err(out_of_range(ty, &Value::Numeric(n), name)),
                None => Ok(()),
            }
        }
        (_, Vector::Bytes(v)) => check_strings(ty, v, column, name),
    }
}

/// Floats are the canonical NaN or not NaN at all, and float4 columns hold what a float4 holds.
fn check_floats(ty: DataType, v: &[i64], name: &str) -> Result<()> {
    let fits = |v: i64| {
        let f = super::f64_of(v);
        let kept = if ty == DataType::Float4 { f64::from(f as f32) } else { f };
        super::order_f64(kept) == v
    };
    match v.iter().find(|v| !fits(**v)) {
        Some(v) => Err(out_of_range(ty, &Value::Float(super::f64_of(*v)), name)),
        None => Ok(()),
    }
}

fn check_strings(ty: DataType, v: &BytesVec, column: &Column, name: &str) -> Result<()> {
    let longest = v.offsets.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0) as usize;
    if longest > VALUE_BYTES {
        return Err(too_long(name, format!("{longest} bytes, at most {VALUE_BYTES}")));
    }
    if ty == DataType::Bytea {
        return Ok(());
    }
    let limit = match ty {
        DataType::Varchar(n) | DataType::Char(n) => n as usize,
        _ => usize::MAX,
    };
    let plain = v.data.is_ascii() && !v.data.contains(&0);
    if plain && longest <= limit && !matches!(ty, DataType::Char(_) | DataType::Json) {
        return Ok(());
    }
    for (i, s) in v.iter().enumerate() {
        // Nothing is no JSON, and stands for NULL.
        if column.is_null(i) {
            continue;
        }
        let text = std::str::from_utf8(s)
            .map_err(|e| Error::new(ErrorKind::InvalidText, format!("column \"{name}\": {e}")))?;
        if check_text(ty, text, name)?.len() != text.len() {
            return Err(too_long(name, format!("trailing blanks of {ty} are not stored")));
        }
    }
    Ok(())
}

/// Strings are what makes a row long; a batch with few bytes of them has no long row.
fn check_row_bytes(batch: &Batch) -> Result<()> {
    let fixed = batch.columns.len() * 17;
    let strings = || {
        batch.columns.iter().filter_map(|c| match &c.data {
            Vector::Bytes(v) => Some(v),
            _ => None,
        })
    };
    if strings().map(|v| v.data.len()).sum::<usize>() + fixed <= ROW_BYTES {
        return Ok(());
    }
    for i in 0..batch.rows {
        let bytes = fixed + strings().map(|v| v.get(i).len()).sum::<usize>();
        if bytes > ROW_BYTES {
            return Err(Error::new(
                ErrorKind::TooLong,
                format!("a row of {bytes} bytes, at most {ROW_BYTES}"),
            ));
        }
    }
    Ok(())
}
