//! What are types called?

use onlap::DataType;

use super::{PgType, oid};

/// Base types: OID, OID of arrays of them, internal name, SQL name.
const TYPES: &[(u32, u32, &str, &str)] = &[
    (oid::BOOL, 1000, "bool", "boolean"),
    (oid::BYTEA, 1001, "bytea", "bytea"),
    (oid::CHAR, 1002, "char", "\"char\""),
    (oid::NAME, 1003, "name", "name"),
    (oid::INT8, 1016, "int8", "bigint"),
    (oid::INT2, 1005, "int2", "smallint"),
    (oid::INT2VECTOR, 1006, "int2vector", "int2vector"),
    (oid::INT4, 1007, "int4", "integer"),
    (oid::REGPROC, 1008, "regproc", "regproc"),
    (oid::TEXT, 1009, "text", "text"),
    (oid::OID, 1028, "oid", "oid"),
    (oid::JSON, 199, "json", "json"),
    (oid::FLOAT4, 1021, "float4", "real"),
    (oid::FLOAT8, 1022, "float8", "double precision"),
    (oid::UNKNOWN, 0, "unknown", "unknown"),
    (oid::BPCHAR, 1014, "bpchar", "character"),
    (oid::VARCHAR, 1015, "varchar", "character varying"),
    (oid::DATE, 1182, "date", "date"),
    (oid::TIME, 1183, "time", "time without time zone"),
    (oid::TIMESTAMP, 1115, "timestamp", "timestamp without time zone"),
    (oid::TIMESTAMPTZ, 1185, "timestamptz", "timestamp with time zone"),
    (oid::INTERVAL, 1187, "interval", "interval"),
    (oid::NUMERIC, 1231, "numeric", "numeric"),
    (oid::REGCLASS, 2210, "regclass", "regclass"),
    (oid::REGTYPE, 2211, "regtype", "regtype"),
    (oid::RECORD, 2287, "record", "record"),
    (oid::UUID, 2951, "uuid", "uuid"),
    (oid::JSONB, 3807, "jsonb", "jsonb"),
    (27, 1010, "tid", "tid"),
    (28, 1011, "xid", "xid"),
    (29, 1012, "cid", "cid"),
    (30, 1013, "oidvector", "oidvector"),
    (194, 0, "pg_node_tree", "pg_node_tree"),
    (869, 1041, "inet", "inet"),
    (oid::ACLITEM, 1034, "aclitem", "aclitem"),
    (2202, 2207, "regprocedure", "regprocedure"),
    (2203, 2208, "regoper", "regoper"),
    (2204, 2209, "regoperator", "regoperator"),
    (2275, 1263, "cstring", "cstring"),
    (2277, 0, "anyarray", "anyarray"),
    (2278, 0, "void", "void"),
    (3220, 3221, "pg_lsn", "pg_lsn"),
    (3361, 0, "pg_ndistinct", "pg_ndistinct"),
    (3402, 0, "pg_dependencies", "pg_dependencies"),
    (5017, 0, "pg_mcv_list", "pg_mcv_list"),
    (oid::REGNAMESPACE, 4090, "regnamespace", "regnamespace"),
    (oid::REGROLE, 4097, "regrole", "regrole"),
    (5069, 271, "xid8", "xid8"),
];

/// All base types: OID, OID of arrays of them (0 for none), internal name, SQL name.
pub fn all() -> &'static [(u32, u32, &'static str, &'static str)] {
    TYPES
}

/// The OID of arrays of a type; text's where there is none.
pub fn array_of(element: u32) -> u32 {
    TYPES.iter().find(|t| t.0 == element && t.1 != 0).map_or(1009, |t| t.1)
}

/// The OID of an array type's elements.
pub fn element_of(array: u32) -> Option<u32> {
    TYPES.iter().find(|t| t.1 == array && array != 0).map(|t| t.0)
}

/// The OID of a type by any of its names, of arrays too.
pub fn by_name(name: &str) -> Option<u32> {
    let lower = name.trim().to_ascii_lowercase();
    let lower = lower.strip_prefix("pg_catalog.").unwrap_or(&lower);
    if let Some(element) = lower.strip_suffix("[]").or_else(|| lower.strip_prefix('_')) {
        return by_name(element).map(array_of);
    }
    let alias = match lower {
        "int" => "int4",
        "decimal" => "numeric",
        "string" => "text",
        "timestamptz" => "timestamptz",
        other => other,
    };
    TYPES.iter().find(|t| t.2 == alias || t.3 == alias).map(|t| t.0)
}

/// The name of a type as format_type() gives it.
pub fn format_type(ty: PgType) -> String {
    if let Some(element) = element_of(ty.oid) {
        return format!("{}[]", format_type(PgType { oid: element, modifier: ty.modifier }));
    }
    let name = TYPES.iter().find(|t| t.0 == ty.oid).map_or("???", |t| t.3);
    match (ty.oid, ty.modifier) {
        (oid::VARCHAR | oid::BPCHAR, n) if n > 4 => format!("{name}({})", n - 4),
        (oid::BPCHAR, _) => "bpchar".into(),
        (oid::NUMERIC, n) if n >= 4 => {
            format!("{name}({},{})", (n - 4) >> 16, (n - 4) & 0xffff)
        }
        _ => name.into(),
    }
}

/// The SQL name of an engine type, with its length or precision.
pub fn of_engine(ty: DataType) -> String {
    format_type(PgType::of_engine(ty))
}
