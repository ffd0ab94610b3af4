//! What becomes of a value that is stored in a column of another type?
//!
//! PostgreSQL's assignment casts: numbers into any number type, rounded half away from zero and refused
//! out of range; anything into text; text of unknown type by its input form.

use onlap::{DataType, Numeric, Value, convert};

use crate::error::{Result, SqlError, state};
use crate::types::{Cell, PgType, Style, names, text_value};

/// The value as a column of this type stores it.
///
/// # Errors
/// The types do not go together, or the value does not fit.
pub fn assign(cell: Cell<'_>, to: DataType) -> Result<Value> {
    let same = |cell: &Cell<'_>| Ok(cell.to_value());
    match (&cell, to) {
        (Cell::Null, _) => Ok(Value::Null),
        (Cell::Bool(_), DataType::Bool) => same(&cell),
        (Cell::Int(v), DataType::Int2 | DataType::Int4 | DataType::Int8) => in_range(*v, to),
        (Cell::Int(v), DataType::Float4 | DataType::Float8) => Ok(Value::Float(*v as f64)),
        (Cell::Int(v), DataType::Numeric(declared)) => {
            numeric(Numeric { mantissa: i128::from(*v), scale: 0 }, declared)
        }
        (Cell::Float(f), DataType::Float8) => Ok(Value::Float(*f)),
        (Cell::Float(f), DataType::Float4) => Ok(Value::Float(f64::from(*f as f32))),
        (Cell::Float(f), DataType::Int2 | DataType::Int4 | DataType::Int8) => {
            let rounded = f.round_ties_even();
            if !rounded.is_finite() || rounded < i64::MIN as f64 || rounded >= i64::MAX as f64 {
                return Err(out_of_range(to));
            }
            in_range(rounded as i64, to)
        }
        (Cell::Float(f), DataType::Numeric(_)) => text_value(PgType::of_engine(to), &f.to_string()),
        (Cell::Numeric(n), DataType::Numeric(declared)) => numeric(*n, declared),
        (Cell::Numeric(n), DataType::Int2 | DataType::Int4 | DataType::Int8) => {
            let whole = (!n.is_nan()).then(|| n.rescale(0)).flatten();
            let whole = whole.and_then(|n| i64::try_from(n.mantissa).ok());
            in_range(whole.ok_or_else(|| out_of_range(to))?, to)
        }
        (Cell::Numeric(_), DataType::Float4 | DataType::Float8) => by_text(&cell, to),
        (Cell::Text(s), to) => text_value(PgType::of_engine(to), s).and_then(|v| shorten(v, to)),
        (_, DataType::Text | DataType::Varchar(_) | DataType::Char(_)) => {
            by_text(&cell, to).and_then(|v| shorten(v, to))
        }
        (Cell::Bytes(_), DataType::Bytea)
        | (Cell::Uuid(_), DataType::Uuid)
        | (Cell::Date(_), DataType::Date)
        | (Cell::Time(_), DataType::Time)
        | (Cell::Timestamp(_), DataType::Timestamp | DataType::Timestamptz) => same(&cell),
        (Cell::Date(d), DataType::Timestamp | DataType::Timestamptz) => {
            Ok(Value::Timestamp(match *d {
                i32::MIN => i64::MIN,
                i32::MAX => i64::MAX,
                d => i64::from(d) * 86_400_000_000,
            }))
        }
        (Cell::Timestamp(t), DataType::Date) => Ok(Value::Date(match *t {
            i64::MIN => i32::MIN,
            i64::MAX => i32::MAX,
            t => t.div_euclid(86_400_000_000) as i32,
        })),
        (Cell::Timestamp(t), DataType::Time) => Ok(Value::Time(t.rem_euclid(86_400_000_000))),
        _ => Err(mismatch(to)),
    }
}

/// char(n) and varchar(n) drop blanks above their length, and nothing else.
fn shorten(value: Value, to: DataType) -> Result<Value> {
    let (DataType::Varchar(n) | DataType::Char(n), Value::Text(s)) = (to, &value) else {
        return Ok(value);
    };
    match s.char_indices().nth(n as usize) {
        Some((at, _)) if s[at..].chars().all(|c| c == ' ') => Ok(Value::Text(s[..at].into())),
        Some(_) => {
            Err(SqlError::new("22001", format!("value too long for type {}", names::of_engine(to))))
        }
        None => Ok(value),
    }
}

fn by_text(cell: &Cell<'_>, to: DataType) -> Result<Value> {
    let mut out = Vec::new();
    let from = match cell {
        Cell::Timestamp(_) => DataType::Timestamp,
        _ => DataType::Text,
    };
    cell.write_text(PgType::of_engine(from), &Style::default(), &mut out);
    text_value(PgType::of_engine(to), &String::from_utf8_lossy(&out))
}

fn in_range(v: i64, to: DataType) -> Result<Value> {
    let (min, max) = convert::int_range(to);
    if (min..=max).contains(&v) { Ok(Value::Int(v)) } else { Err(out_of_range(to)) }
}

fn numeric(n: Numeric, declared: Option<(u8, u8)>) -> Result<Value> {
    let Some((precision, scale)) = declared else { return Ok(Value::Numeric(n)) };
    if n.is_nan() {
        return Ok(Value::Numeric(n));
    }
    if n.is_infinite() {
        return Err(SqlError::new("22003", "numeric field overflow").detail(format!(
            "A field with precision {precision}, scale {scale} cannot hold an infinite value."
        )));
    }
    let fitted = n.rescale(scale).filter(|n| n.digits() <= u32::from(precision));
    fitted.map(Value::Numeric).ok_or_else(|| {
        SqlError::new("22003", "numeric field overflow").detail(format!(
            "A field with precision {precision}, scale {scale} must round to an absolute value less \
             than 10^{}.",
            precision - scale
        ))
    })
}

fn out_of_range(to: DataType) -> SqlError {
    SqlError::new("22003", format!("{} out of range", names::of_engine(to)))
}

fn mismatch(to: DataType) -> SqlError {
    SqlError::new(
        state::MISMATCH,
        format!("the value cannot be stored in a column of type {}", names::of_engine(to)),
    )
}
