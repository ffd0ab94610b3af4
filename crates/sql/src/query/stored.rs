//! How does the engine store a value, and what is it to PostgreSQL?
//!
//! Both count days and microseconds, from 1970 and from 2000; what is infinite is the least and the greatest number to both.

use arrow_array::ArrayRef;
use onlap::{DataType, Value};
use onlap_kernels::{Datum, repr};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::numeric::Numeric;

use crate::columns::{self, ColumnType};
use crate::error::{Result, SqlError};
use crate::types::{PgType, names, text_value};

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i64 = 10_957;
/// The same in microseconds.
const EPOCH_US: i64 = EPOCH_DAYS * 86_400_000_000;

/// A date of the engine, in days from 2000.
pub fn date_of(stored: i64) -> i32 {
    match i32::try_from(stored) {
        Ok(days @ (i32::MIN | i32::MAX)) => days,
        _ => i32::try_from(stored - EPOCH_DAYS).unwrap_or(i32::MIN),
    }
}

/// A timestamp of the engine, in microseconds from 2000.
pub fn moment_of(stored: i64) -> i64 {
    match stored {
        i64::MIN | i64::MAX => stored,
        us => us.saturating_sub(EPOCH_US),
    }
}

fn stored_date(days: i32) -> Option<i32> {
    match days {
        i32::MIN | i32::MAX => Some(days),
        days => days.checked_add(EPOCH_DAYS as i32),
    }
}

fn stored_moment(us: i64) -> Option<i64> {
    match us {
        i64::MIN | i64::MAX => Some(us),
        us => us.checked_add(EPOCH_US),
    }
}

/// A value of a column's type as the engine stores it.
///
/// # Errors
/// `22008`, `22003`: the engine's type ends before PostgreSQL's does.
pub fn stored(value: &Datum<'_>, ty: DataType) -> Result<Value> {
    let none = || SqlError::defect(format!("no value of type {}", names::of_engine(ty)));
    let late = |what: &str| SqlError::new("22008", format!("{what} out of range"));
    Ok(match (ty, value) {
        (_, Datum::Null) => Value::Null,
        (DataType::Bool, Datum::Bool(v)) => Value::Bool(*v),
        (DataType::Int2, Datum::Int2(v)) => Value::Int(i64::from(*v)),
        (DataType::Int4, Datum::Int4(v)) => Value::Int(i64::from(*v)),
        (DataType::Int8, Datum::Int8(v)) => Value::Int(*v),
        (DataType::Int8, Datum::Oid(v)) => Value::Int(i64::from(*v)),
        (DataType::Float4, Datum::Float4(v)) => Value::Float(f64::from(*v)),
        (DataType::Float8, Datum::Float8(v)) => Value::Float(*v),
        (DataType::Numeric(_), Datum::Bytes(bytes)) => {
            let value = Numeric::load(bytes);
            match value.to_small() {
                Some(small) => Value::Numeric(onlap::Numeric {
                    mantissa: small.mantissa(),
                    scale: small.scale(),
                }),
                None => text_value(PgType::of_engine(ty), &value.to_string())?,
            }
        }
        (DataType::Char(_), Datum::Text(text)) => Value::Text(text.trim_end_matches(' ').into()),
        (
            DataType::Text | DataType::Varchar(_) | DataType::Json | DataType::Folded,
            Datum::Text(text),
        ) => Value::Text(text.as_ref().into()),
        (DataType::Bytea, Datum::Bytes(bytes)) => Value::Bytes(bytes.as_ref().into()),
        (DataType::Uuid, Datum::Bytes(bytes)) => {
            Value::Uuid(bytes.as_ref().try_into().map_err(|_| none())?)
        }
        (DataType::Date, Datum::Int4(days)) => {
            Value::Date(stored_date(*days).ok_or_else(|| late("date"))?)
        }
        (DataType::Time, Datum::Int8(us)) => Value::Time(*us),
        (DataType::Timestamp | DataType::Timestamptz, Datum::Int8(us)) => {
            Value::Timestamp(stored_moment(*us).ok_or_else(|| late("timestamp"))?)
        }
        _ => return Err(none()),
    })
}

/// A value in a column of steps as a column of a type keeps it.
///
/// # Errors
/// As [`stored`].
pub fn value_of(catalog: &Catalog, array: &ArrayRef, row: usize, ty: ColumnType) -> Result<Value> {
    let repr = repr(catalog, ty.pg.oid).expect("a column's type has values");
    columns::encode(catalog, ty, &Datum::at(array, repr, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_infinite_stays_so() {
        for days in [i32::MIN, i32::MAX, 0, -EPOCH_DAYS as i32] {
            let Ok(Value::Date(stored)) = stored(&Datum::Int4(days), DataType::Date) else {
                panic!("{days}")
            };
            assert_eq!(date_of(i64::from(stored)), days);
        }
        for us in [i64::MIN, i64::MAX, 0, -EPOCH_US] {
            let Ok(Value::Timestamp(stored)) = stored(&Datum::Int8(us), DataType::Timestamp) else {
                panic!("{us}")
            };
            assert_eq!(moment_of(stored), us);
        }
        assert!(stored(&Datum::Int8(i64::MAX - 1), DataType::Timestamp).is_err());
    }
}
