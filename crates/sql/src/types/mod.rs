//! Which PostgreSQL type is a column of the engine?
//!
//! | PostgreSQL | engine |
//! |---|---|
//! | int2, int4, int8; oid and what stands for names | Int2, Int4, Int8 |
//! | float4, float8, numeric(p, s), numeric | Float4, Float8, Numeric |
//! | text, varchar, bpchar, name, json, jsonb, uuid | Text, Varchar, Char, Json, Uuid |
//! | bytea | Bytea |
//! | date, time, timestamp, timestamptz | the same |

use onlap::DataType;
use onlap_pg::value::numeric::precision_and_scale;

mod cell;
mod column_writer;
mod input;
pub mod names;

pub use cell::{Cell, Style};
pub use column_writer::ColumnWriter;
pub use input::{TOO_LONG, binary_value, plain_value, sent_text, text_value, whole};

/// OIDs of types.
pub mod oid {
    #![allow(missing_docs, reason = "PostgreSQL's names")]
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const ACLITEM: u32 = 1033;
    pub const CHAR: u32 = 18;
    pub const NAME: u32 = 19;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT2VECTOR: u32 = 22;
    pub const INT4: u32 = 23;
    pub const REGPROC: u32 = 24;
    pub const TEXT: u32 = 25;
    pub const OID: u32 = 26;
    pub const JSON: u32 = 114;
    pub const XML: u32 = 142;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const UNKNOWN: u32 = 705;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const DATE: u32 = 1082;
    pub const TIME: u32 = 1083;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const INTERVAL: u32 = 1186;
    pub const TIMETZ: u32 = 1266;
    pub const BIT: u32 = 1560;
    pub const VARBIT: u32 = 1562;
    pub const NUMERIC: u32 = 1700;
    pub const REGCLASS: u32 = 2205;
    pub const REGTYPE: u32 = 2206;
    pub const REGPROCEDURE: u32 = 2202;
    pub const REGNAMESPACE: u32 = 4089;
    pub const REGROLE: u32 = 4096;
    pub const OIDVECTOR: u32 = 30;
    pub const RECORD: u32 = 2249;
    pub const UUID: u32 = 2950;
    pub const JSONB: u32 = 3802;
    pub const CITEXT: u32 = onlap_pg::catalog::oids::CITEXT;
    pub const HSTORE: u32 = onlap_pg::catalog::oids::HSTORE;
}

/// A type as the protocol names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PgType {
    /// See [`oid`].
    pub oid: u32,
    /// Length of varchar and char plus 4, precision and scale of numeric; -1 without.
    pub modifier: i32,
}

impl PgType {
    /// A type without modifier.
    pub const fn new(oid: u32) -> PgType {
        PgType { oid, modifier: -1 }
    }

    /// The type of an engine column.
    pub fn of_engine(ty: DataType) -> PgType {
        let with = |oid, modifier| PgType { oid, modifier };
        match ty {
            DataType::Bool => PgType::new(oid::BOOL),
            DataType::Int2 => PgType::new(oid::INT2),
            DataType::Int4 => PgType::new(oid::INT4),
            DataType::Int8 => PgType::new(oid::INT8),
            DataType::Float4 => PgType::new(oid::FLOAT4),
            DataType::Float8 => PgType::new(oid::FLOAT8),
            DataType::Numeric(None) => PgType::new(oid::NUMERIC),
            DataType::Numeric(Some((p, s))) => {
                with(oid::NUMERIC, ((i32::from(p) << 16) | i32::from(s)) + 4)
            }
            DataType::Text => PgType::new(oid::TEXT),
            DataType::Varchar(n) => with(oid::VARCHAR, n as i32 + 4),
            DataType::Char(n) => with(oid::BPCHAR, n as i32 + 4),
            DataType::Bytea => PgType::new(oid::BYTEA),
            DataType::Uuid => PgType::new(oid::UUID),
            DataType::Date => PgType::new(oid::DATE),
            DataType::Time => PgType::new(oid::TIME),
            DataType::Timestamp => PgType::new(oid::TIMESTAMP),
            DataType::Timestamptz => PgType::new(oid::TIMESTAMPTZ),
            DataType::Json => PgType::new(oid::JSON),
            // What it truly is, is noted with the column.
            DataType::Folded => PgType::new(oid::TEXT),
        }
    }

    /// The engine's type for values of this one; `None` where it stores none such.
    pub fn engine(self) -> Option<DataType> {
        let length = |n: i32| u32::try_from(n - 4).ok().filter(|n| *n > 0);
        Some(match self.oid {
            oid::BOOL => DataType::Bool,
            oid::INT2 => DataType::Int2,
            oid::INT4 => DataType::Int4,
            oid::INT8
            | oid::OID
            | oid::REGCLASS
            | oid::REGTYPE
            | oid::REGPROC
            | oid::REGPROCEDURE
            | oid::REGNAMESPACE
            | oid::REGROLE => DataType::Int8,
            oid::FLOAT4 => DataType::Float4,
            oid::FLOAT8 => DataType::Float8,
            oid::NUMERIC => DataType::Numeric(self.precision_and_scale()),
            oid::VARCHAR => length(self.modifier).map_or(DataType::Text, DataType::Varchar),
            oid::BPCHAR => length(self.modifier).map_or(DataType::Text, DataType::Char),
            oid::TEXT | oid::NAME | oid::UNKNOWN | oid::CHAR => DataType::Text,
            oid::BYTEA => DataType::Bytea,
            oid::UUID => DataType::Uuid,
            oid::DATE => DataType::Date,
            oid::TIME => DataType::Time,
            oid::TIMESTAMP => DataType::Timestamp,
            oid::TIMESTAMPTZ => DataType::Timestamptz,
            oid::JSON | oid::JSONB => DataType::Json,
            _ => return None,
        })
    }

    /// Precision and scale of a numeric of which the engine has the values.
    fn precision_and_scale(self) -> Option<(u8, u8)> {
        let (precision, scale) = precision_and_scale(self.modifier)?;
        let (precision, scale) = (u8::try_from(precision).ok()?, u8::try_from(scale).ok()?);
        ((1..=38).contains(&precision) && scale <= precision).then_some((precision, scale))
    }

    /// Bytes of a value, as RowDescription has them; negative where they vary.
    pub fn size(self) -> i16 {
        crate::query::catalog().get_type(self.oid).map_or(-1, |ty| ty.length)
    }
}
