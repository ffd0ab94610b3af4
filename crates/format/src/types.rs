//! Which types does a column have, and how does each lie in memory?
//!
//! A type's *physical* form is what vectors, encodings and index keys work on; each maps a type's
//! order onto the order of the form, so that no layer below `value` compares by type:
//!
//! | type | form | mapping |
//! |---|---|---|
//! | bool, int2, int4, int8 | `Int` | the number |
//! | float4, float8 | `Int` | IEEE bits of the float8, flipped so that integers sort as floats do; every NaN is one value above infinity; -0 is kept next to 0 and made equal in keys |
//! | date, time, timestamp, timestamptz | `Int` | days or microseconds since 1970-01-01 (UTC) or midnight |
//! | uuid | `Wide` | big-endian 128 bits with the top bit flipped |
//! | numeric(p, s) | `Wide` | value x 10^s; NaN is `i128::MAX` |
//! | numeric | `Numeric` | mantissa and scale; NaN is scale 255, an infinity scale 254 with mantissa 1 or -1 |
//! | text, varchar, char, bytea, json | `Bytes` | the bytes (char without its padding) |
//! | folded | `Bytes` | the bytes; capital letters of ASCII are kept and made small in keys |

use std::fmt;

/// A column's SQL type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// true or false; false sorts first
    Bool,
    /// 16-bit integer
    Int2,
    /// 32-bit integer
    Int4,
    /// 64-bit integer
    Int8,
    /// 32-bit float; NaN above all
    Float4,
    /// 64-bit float; NaN above all
    Float8,
    /// Up to 38 digits. Without a declared precision every value keeps its own scale; with one,
    /// values are rounded to `scale` digits (half away from zero).
    Numeric(Option<(u8, u8)>),
    /// UTF-8 text, C collation
    Text,
    /// Text of at most n characters
    Varchar(u32),
    /// Text padded with blanks to n characters; trailing blanks do not count in comparisons
    Char(u32),
    /// Bytes
    Bytea,
    /// 128-bit identifier
    Uuid,
    /// Days since 1970-01-01
    Date,
    /// Microseconds since midnight
    Time,
    /// Microseconds since 1970-01-01 without time zone
    Timestamp,
    /// Microseconds since 1970-01-01 UTC
    Timestamptz,
    /// Validated JSON text; has no order and cannot be an index key
    Json,
    /// UTF-8 text in whose comparisons capital letters of ASCII are small ones
    Folded,
}

/// How values lie in vectors, blocks and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Physical {
    /// `i64`
    Int,
    /// `i128`
    Wide,
    /// mantissa `i128` and scale `u8`
    Numeric,
    /// byte string
    Bytes,
}

impl DataType {
    /// The form values of this type take in vectors and blocks.
    pub fn physical(self) -> Physical {
        match self {
            DataType::Bool
            | DataType::Int2
            | DataType::Int4
            | DataType::Int8
            | DataType::Float4
            | DataType::Float8
            | DataType::Date
            | DataType::Time
            | DataType::Timestamp
            | DataType::Timestamptz => Physical::Int,
            DataType::Uuid | DataType::Numeric(Some(_)) => Physical::Wide,
            DataType::Numeric(None) => Physical::Numeric,
            DataType::Text
            | DataType::Varchar(_)
            | DataType::Char(_)
            | DataType::Bytea
            | DataType::Json
            | DataType::Folded => Physical::Bytes,
        }
    }

    /// Whether two equal keys of this type may come from values that read differently (1.0 and 1.00,
    /// 0 and -0, a and A), so that an index entry cannot stand in for the row's value.
    pub fn key_is_lossy(self) -> bool {
        let numbers = matches!(self, DataType::Float4 | DataType::Float8 | DataType::Numeric(None));
        numbers || self == DataType::Folded
    }

    /// Whether the type has an order and may be an index key.
    pub fn is_ordered(self) -> bool {
        self != DataType::Json
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataType::Bool => "bool",
            DataType::Int2 => "int2",
            DataType::Int4 => "int4",
            DataType::Int8 => "int8",
            DataType::Float4 => "float4",
            DataType::Float8 => "float8",
            DataType::Numeric(None) => "numeric",
            DataType::Numeric(Some((p, s))) => return write!(f, "numeric({p},{s})"),
            DataType::Text => "text",
            DataType::Varchar(n) => return write!(f, "varchar({n})"),
            DataType::Char(n) => return write!(f, "char({n})"),
            DataType::Bytea => "bytea",
            DataType::Uuid => "uuid",
            DataType::Date => "date",
            DataType::Time => "time",
            DataType::Timestamp => "timestamp",
            DataType::Timestamptz => "timestamptz",
            DataType::Json => "json",
            DataType::Folded => "citext",
        })
    }
}
