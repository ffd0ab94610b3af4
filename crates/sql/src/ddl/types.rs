//! Which type does a column declaration name?

use datafusion::sql::sqlparser::ast::{
    CharacterLength, DataType as SqlType, ExactNumberInfo, TimezoneInfo,
};
use onlap::DataType;

use crate::error::{Result, SqlError, state};
use crate::types::{PgType, names};

/// A column's type, and whether it is a serial one.
///
/// # Errors
/// A type that Onlap does not store.
pub fn column_type(ty: &SqlType) -> Result<(DataType, bool)> {
    let plain = |ty| Ok((ty, false));
    match ty {
        SqlType::Boolean | SqlType::Bool => plain(DataType::Bool),
        SqlType::SmallInt(_) | SqlType::Int2(_) => plain(DataType::Int2),
        SqlType::Int(_) | SqlType::Integer(_) | SqlType::Int4(_) | SqlType::MediumInt(_) => {
            plain(DataType::Int4)
        }
        SqlType::BigInt(_) | SqlType::Int8(_) => plain(DataType::Int8),
        SqlType::Real | SqlType::Float4 => plain(DataType::Float4),
        SqlType::Double(_) | SqlType::DoublePrecision | SqlType::Float8 | SqlType::Float64 => {
            plain(DataType::Float8)
        }
        SqlType::Float(ExactNumberInfo::Precision(p)) if *p <= 24 => plain(DataType::Float4),
        SqlType::Float(_) => plain(DataType::Float8),
        SqlType::Numeric(info) | SqlType::Decimal(info) | SqlType::Dec(info) => numeric(info),
        SqlType::Text | SqlType::String(_) => plain(DataType::Text),
        SqlType::Varchar(length)
        | SqlType::CharVarying(length)
        | SqlType::CharacterVarying(length)
        | SqlType::Nvarchar(length) => Ok((varying(length), false)),
        SqlType::Char(length) | SqlType::Character(length) => {
            Ok((DataType::Char(characters(length).unwrap_or(1)), false))
        }
        SqlType::Bytea | SqlType::Blob(_) => plain(DataType::Bytea),
        SqlType::Uuid => plain(DataType::Uuid),
        SqlType::Date => plain(DataType::Date),
        SqlType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            plain(DataType::Time)
        }
        SqlType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
        | SqlType::TimestampNtz(_)
        | SqlType::Datetime(_) => plain(DataType::Timestamp),
        SqlType::Timestamp(_, _) => plain(DataType::Timestamptz),
        SqlType::JSON | SqlType::JSONB => plain(DataType::Json),
        SqlType::Custom(name, arguments) => custom(&name.to_string(), arguments),
        other => Err(unsupported(&other.to_string())),
    }
}

fn custom(name: &str, arguments: &[String]) -> Result<(DataType, bool)> {
    let lower = name.to_ascii_lowercase();
    let lower = lower.strip_prefix("pg_catalog.").unwrap_or(&lower).trim_matches('"');
    match lower {
        "serial" | "serial4" => return Ok((DataType::Int4, true)),
        "bigserial" | "serial8" => return Ok((DataType::Int8, true)),
        "smallserial" | "serial2" => return Ok((DataType::Int2, true)),
        "bpchar" | "varchar" if !arguments.is_empty() => {
            let n = arguments[0].parse().map_err(|_| unsupported(name))?;
            let ty = if lower == "bpchar" { DataType::Char(n) } else { DataType::Varchar(n) };
            return Ok((ty, false));
        }
        "money" | "xml" | "inet" | "cidr" | "macaddr" | "point" | "tsvector" | "interval" => {
            return Err(unsupported(name));
        }
        _ => {}
    }
    let known = names::by_name(lower).and_then(|oid| PgType::new(oid).engine());
    known
        .map(|ty| (ty, false))
        .ok_or_else(|| SqlError::new(state::NO_OBJECT, format!("type \"{name}\" does not exist")))
}

fn numeric(info: &ExactNumberInfo) -> Result<(DataType, bool)> {
    let (p, s) = match info {
        ExactNumberInfo::None => return Ok((DataType::Numeric(None), false)),
        ExactNumberInfo::Precision(p) => (*p, 0),
        ExactNumberInfo::PrecisionAndScale(p, s) => (*p, *s),
    };
    match (u8::try_from(p), u8::try_from(s)) {
        (Ok(p @ 1..=38), Ok(s)) if s <= p => Ok((DataType::Numeric(Some((p, s))), false)),
        _ => Err(SqlError::new(
            state::BAD_PARAMETER,
            format!("NUMERIC({p},{s}) must have a precision between 1 and 38 and a scale in it"),
        )),
    }
}

fn characters(length: &Option<CharacterLength>) -> Option<u32> {
    match length {
        Some(CharacterLength::IntegerLength { length, .. }) => u32::try_from(*length).ok(),
        _ => None,
    }
}

fn varying(length: &Option<CharacterLength>) -> DataType {
    characters(length).map_or(DataType::Text, DataType::Varchar)
}

fn unsupported(name: &str) -> SqlError {
    SqlError::unsupported(format!("type {name}"))
        .hint("Store it as text, numeric, timestamptz or json.")
}
