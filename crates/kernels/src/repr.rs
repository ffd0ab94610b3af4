//! How do values of a type lie in a column?
//!
//! Arrow carries bits; this says which. Text of all kinds is UTF-8 with 32-bit offsets; what has no fixed width otherwise
//! (numeric, jsonb, arrays, records, bit strings) is bytes, in the form that the module of the type documents.
//! Dates are days and timestamps microseconds from 2000-01-01, as PostgreSQL has them.

use arrow_schema::DataType;
use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Kind, oids};

/// How values of a type lie in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repr {
    /// boolean
    Bool,
    /// int2
    Int2,
    /// int4; date: days from 2000-01-01.
    Int4,
    /// int8, money; time, timestamp, timestamptz: microseconds.
    Int8,
    /// oid, reg* and what else is an unsigned number of 32 bits.
    Oid,
    /// "char"
    Char,
    /// float4
    Float4,
    /// float8
    Float8,
    /// Text, names, padded char(n), json, literals without a type.
    Text,
    /// Bytes in the form of the type.
    Bytes,
    /// So many bytes: uuid 16, interval 16, timetz 12.
    Fixed(i32),
}

/// The representation of a type; `None` for types without values here (pseudo-types, types not served yet).
pub fn repr(catalog: &Catalog, oid: Oid) -> Option<Repr> {
    let base = catalog.base_type(oid);
    if let Some(repr) = of_base(base) {
        return Some(repr);
    }
    let ty = catalog.get_type(base)?;
    match ty.kind {
        Kind::Composite => Some(Repr::Bytes),
        // The place of the label.
        Kind::Enum => Some(Repr::Float8),
        Kind::Range | Kind::Multirange => {
            repr(catalog, crate::range::element(catalog, base)?).map(|_| Repr::Bytes)
        }
        Kind::Base if catalog.element(base).is_some() => Some(Repr::Bytes),
        _ => None,
    }
}

fn of_base(oid: Oid) -> Option<Repr> {
    Some(match oid {
        16 => Repr::Bool,
        21 => Repr::Int2,
        23 | 1082 => Repr::Int4,
        // int8, money, time, timestamp, timestamptz, xid8
        20 | 790 | 1083 | 1114 | 1184 | 5069 => Repr::Int8,
        // oid, xid, cid, regproc, regprocedure, regoper, regoperator, regclass, regtype, regrole, regnamespace,
        // regconfig, regdictionary, regcollation
        26 | 28 | 29 | 24 | 2202..=2206 | 4096 | 4089 | 3734 | 3769 | 4191 => Repr::Oid,
        18 => Repr::Char,
        700 => Repr::Float4,
        701 => Repr::Float8,
        // text, varchar, bpchar, name, json, xml, unknown, cstring, void, aclitem, pg_node_tree, jsonpath, refcursor
        25 | 1043 | 1042 | 19 | 114 | 142 | 705 | 2275 | 2278 | 1033 | 194 | 4072 | 1790 => {
            Repr::Text
        }
        // bytea, numeric, jsonb, record and arrays of it, anyarray (of catalogs, NULL there), bit, varbit, inet, cidr, macaddr, macaddr8, int2vector, oidvector
        17 | 1700 | 3802 | 2249 | 2287 | 2277 | 1560 | 1562 | 869 | 650 | 829 | 774 | 22 | 30 => {
            Repr::Bytes
        }
        // point, lseg, path, box, polygon, line, circle; tid, txid_snapshot, pg_snapshot, pg_lsn
        600..=604 | 628 | 718 | 27 | 2970 | 5038 | 3220 => Repr::Bytes,
        oids::CITEXT => Repr::Text,
        oids::HSTORE => Repr::Bytes,
        // tsvector, tsquery
        3614 | 3615 => Repr::Bytes,
        2950 | 1186 => Repr::Fixed(16),
        1266 => Repr::Fixed(12),
        _ => return None,
    })
}

/// The Arrow type of a representation.
pub fn arrow_type(repr: Repr) -> DataType {
    match repr {
        Repr::Bool => DataType::Boolean,
        Repr::Int2 => DataType::Int16,
        Repr::Int4 => DataType::Int32,
        Repr::Int8 => DataType::Int64,
        Repr::Oid => DataType::UInt32,
        Repr::Char => DataType::UInt8,
        Repr::Float4 => DataType::Float32,
        Repr::Float8 => DataType::Float64,
        Repr::Text => DataType::Utf8,
        Repr::Bytes => DataType::Binary,
        Repr::Fixed(width) => DataType::FixedSizeBinary(width),
    }
}
