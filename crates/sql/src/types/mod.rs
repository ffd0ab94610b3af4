//! Which PostgreSQL type is a column, and which Arrow type stands for it in plans?
//!
//! The engine's types, PostgreSQL's OIDs and Arrow's types meet here. Where an Arrow type stands for
//! several PostgreSQL types (text for varchar, char, json, uuid), the field's metadata names the one
//! meant; the planner hands it on with plain columns.
//!
//! | PostgreSQL | engine | Arrow |
//! |---|---|---|
//! | int2, int4, int8, oid | Int2, Int4, Int8 | Int16, Int32, Int64 |
//! | float4, float8 | Float4, Float8 | Float32, Float64 |
//! | numeric(p, s); numeric | Numeric | Decimal128(p, s); Decimal128(38, 10) |
//! | quotients and averages; those with their own digits | | Decimal256; LargeUtf8 |
//! | text, varchar, bpchar, name, json, jsonb, uuid | Text, Varchar, Char, Json, Uuid | Utf8 |
//! | bytea | Bytea | Binary |
//! | date, time, timestamp, timestamptz | the same | Date32, Time64(us), Timestamp(us), Timestamp(us, "+00") |
//! | interval | none | Interval(month, day, ns) |

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as Arrow, Field, IntervalUnit, TimeUnit};
use onlap::{ColumnSchema, DataType};

mod array_input;
mod arrays;
mod cell;
mod input;
pub mod names;

pub use array_input::array_items;
pub use arrays::column_to_arrow;
pub use cell::{Cell, Style};
pub use input::{binary_value, text_value};

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
}

/// A type as the protocol names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PgType {
    /// See [`oid`].
    pub oid: u32,
    /// Length of varchar and char plus 4, precision and scale of numeric; -1 without.
    pub modifier: i32,
}

/// Key of the metadata that names the type of a field: `OID:MODIFIER`.
const META: &str = "pg";

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
            oid::NUMERIC if self.modifier >= 4 => {
                let packed = self.modifier - 4;
                DataType::Numeric(Some(((packed >> 16) as u8, (packed & 0xffff) as u8)))
            }
            oid::NUMERIC => DataType::Numeric(None),
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

    /// The Arrow type that stands for it in plans.
    pub fn arrow(self) -> Option<Arrow> {
        if self.oid == oid::INTERVAL {
            return Some(Arrow::Interval(IntervalUnit::MonthDayNano));
        }
        let item = match self.oid {
            oid::INT2VECTOR => Some(oid::INT2),
            oid::OIDVECTOR => Some(oid::OID),
            other => names::element_of(other),
        };
        if let Some(item) = item {
            let item = match item {
                oid::ACLITEM => Arrow::Utf8,
                item => PgType::new(item).arrow()?,
            };
            return Some(Arrow::List(Arc::new(Field::new("item", item, true))));
        }
        self.engine().map(arrow_of_engine)
    }

    /// The type of a plan's field.
    pub fn of_field(field: &Field) -> PgType {
        let named = field.metadata().get(META).and_then(|text| {
            let (oid, modifier) = text.split_once(':')?;
            Some(PgType { oid: oid.parse().ok()?, modifier: modifier.parse().ok()? })
        });
        named.unwrap_or_else(|| PgType::of_arrow(field.data_type()))
    }

    /// The type that an Arrow type stands for when nothing more is known.
    pub fn of_arrow(ty: &Arrow) -> PgType {
        PgType::new(match ty {
            Arrow::Boolean => oid::BOOL,
            Arrow::Int8 | Arrow::UInt8 | Arrow::Int16 => oid::INT2,
            Arrow::Int32 | Arrow::UInt16 => oid::INT4,
            Arrow::Int64 | Arrow::UInt32 | Arrow::UInt64 => oid::INT8,
            Arrow::Float16 | Arrow::Float32 => oid::FLOAT4,
            Arrow::Float64 => oid::FLOAT8,
            Arrow::Decimal128(..) | Arrow::Decimal256(..) | Arrow::LargeUtf8 => oid::NUMERIC,
            Arrow::Date32 | Arrow::Date64 => oid::DATE,
            Arrow::Time32(_) | Arrow::Time64(_) => oid::TIME,
            Arrow::Timestamp(_, None) => oid::TIMESTAMP,
            Arrow::Timestamp(_, Some(_)) => oid::TIMESTAMPTZ,
            Arrow::Interval(_) | Arrow::Duration(_) => oid::INTERVAL,
            Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_) => {
                oid::BYTEA
            }
            Arrow::List(item) | Arrow::LargeList(item) | Arrow::FixedSizeList(item, _) => {
                return PgType::new(names::array_of(PgType::of_field(item).oid));
            }
            Arrow::Dictionary(_, value) => return PgType::of_arrow(value),
            Arrow::Struct(_) => oid::RECORD,
            _ => oid::TEXT,
        })
    }

    /// Bytes of a value, as RowDescription has them; negative where they vary.
    pub fn size(self) -> i16 {
        match self.oid {
            oid::BOOL | oid::CHAR => 1,
            oid::INT2 => 2,
            oid::INT4
            | oid::FLOAT4
            | oid::DATE
            | oid::OID
            | oid::REGCLASS
            | oid::REGTYPE
            | oid::REGPROC
            | oid::REGPROCEDURE
            | oid::REGNAMESPACE
            | oid::REGROLE => 4,
            oid::INT8 | oid::FLOAT8 | oid::TIME | oid::TIMESTAMP | oid::TIMESTAMPTZ => 8,
            oid::UUID | oid::INTERVAL => 16,
            oid::NAME => 64,
            oid::UNKNOWN => -2,
            _ => -1,
        }
    }

    /// A plan's field of this type.
    pub fn field(self, name: &str, nullable: bool) -> Field {
        let arrow = self.arrow().unwrap_or(Arrow::Utf8);
        let field = Field::new(name, arrow, nullable);
        match PgType::of_arrow(field.data_type()) == self {
            true => field,
            false => field.with_metadata(HashMap::from([(
                META.to_string(),
                format!("{}:{}", self.oid, self.modifier),
            )])),
        }
    }
}

/// The Arrow type of an engine type.
pub fn arrow_of_engine(ty: DataType) -> Arrow {
    match ty {
        DataType::Bool => Arrow::Boolean,
        DataType::Int2 => Arrow::Int16,
        DataType::Int4 => Arrow::Int32,
        DataType::Int8 => Arrow::Int64,
        DataType::Float4 => Arrow::Float32,
        DataType::Float8 => Arrow::Float64,
        DataType::Numeric(Some((p, s))) => Arrow::Decimal128(p, s as i8),
        DataType::Numeric(None) => Arrow::Decimal128(38, FREE_SCALE as i8),
        DataType::Text
        | DataType::Varchar(_)
        | DataType::Char(_)
        | DataType::Json
        | DataType::Uuid => Arrow::Utf8,
        DataType::Bytea => Arrow::Binary,
        DataType::Date => Arrow::Date32,
        DataType::Time => Arrow::Time64(TimeUnit::Microsecond),
        DataType::Timestamp => Arrow::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamptz => Arrow::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
    }
}

/// Digits after the point of a numeric without declared scale inside plans.
pub const FREE_SCALE: u8 = 10;

/// A plan's field for an engine column.
pub fn field_of_column(column: &ColumnSchema) -> Field {
    PgType::of_engine(column.ty).field(&column.name, column.nullable)
}
