//! Which type does a column declaration name?

use onlap::DataType;
use onlap_pg::ast::{Expr, ExprId, Literal, TypeName};

use crate::error::{Result, SqlError, state};
use crate::source::Source;
use crate::types::{PgType, names};

/// Characters of a type with a length, at most.
const MOST_CHARACTERS: i32 = 10_485_760;

/// A column's type, and whether it is a serial one.
///
/// # Errors
/// A type that Onlap does not store.
pub fn column_type(source: Source<'_>, ty: &TypeName) -> Result<(DataType, bool)> {
    let shown = shown(ty);
    let missing = || {
        let text = format!("type \"{shown}\" does not exist");
        source.at(SqlError::new(state::NO_OBJECT, text), ty.place)
    };
    let name = match &ty.name[..] {
        [name] => &**name,
        [schema, name] if &**schema == "pg_catalog" => &**name,
        _ => return Err(missing()),
    };
    if !ty.bounds.is_empty() || ty.set {
        return Err(unsupported(&shown));
    }
    let plain = |ty| Ok((ty, false));
    match name {
        "serial" | "serial4" => return Ok((DataType::Int4, true)),
        "bigserial" | "serial8" => return Ok((DataType::Int8, true)),
        "smallserial" | "serial2" => return Ok((DataType::Int2, true)),
        "numeric" | "decimal" => return numeric(source, &ty.modifiers).map(|ty| (ty, false)),
        "varchar" => {
            let length = length(source, ty, "varchar")?;
            return plain(length.map_or(DataType::Text, DataType::Varchar));
        }
        "bpchar" => {
            if let Some(length) = length(source, ty, "char")? {
                return plain(DataType::Char(length));
            }
        }
        "money" | "xml" | "inet" | "cidr" | "macaddr" | "point" | "tsvector" | "interval" => {
            return Err(unsupported(&shown));
        }
        _ => {}
    }
    match names::by_name(name) {
        Some(oid) => match PgType::new(oid).engine() {
            Some(ty) => plain(ty),
            None => Err(unsupported(&shown)),
        },
        None if crate::query::catalog().types().any(|known| known.name == name) => {
            Err(unsupported(&shown))
        }
        None => Err(missing()),
    }
}

/// A type's name as it is told to clients.
pub fn shown(ty: &TypeName) -> String {
    let parts: Vec<&str> = match &ty.name[..] {
        [schema, name] if &**schema == "pg_catalog" => vec![name],
        parts => parts.iter().map(|part| &**part).collect(),
    };
    let mut text = parts.join(".");
    ty.bounds.iter().for_each(|_| text.push_str("[]"));
    text
}

/// What stands in parentheses, as a number.
fn modifier(source: Source<'_>, id: ExprId) -> Option<i32> {
    match source.tree.expr(id) {
        Expr::Literal(Literal::Int(n)) => Some(*n),
        Expr::Literal(Literal::Text(text)) => text.parse().ok(),
        _ => None,
    }
}

/// The length of a type of characters; `None` where none was said.
fn length(source: Source<'_>, ty: &TypeName, shown: &str) -> Result<Option<u32>> {
    let bad = |text: String| source.at(SqlError::new(state::BAD_PARAMETER, text), ty.place);
    let id = match &ty.modifiers[..] {
        [] => return Ok(None),
        [id] => *id,
        _ => return Err(bad("invalid type modifier".into())),
    };
    match modifier(source, id) {
        Some(MOST_CHARACTERS..) => {
            Err(bad(format!("length for type {shown} cannot exceed {MOST_CHARACTERS}")))
        }
        Some(n @ 1..) => Ok(u32::try_from(n).ok()),
        Some(_) => Err(bad(format!("length for type {shown} must be at least 1"))),
        None => Err(bad("type modifiers must be simple constants or identifiers".into())),
    }
}

fn numeric(source: Source<'_>, modifiers: &[ExprId]) -> Result<DataType> {
    let all: Vec<i32> = modifiers.iter().filter_map(|id| modifier(source, *id)).collect();
    let (p, s) = match &all[..] {
        [] if modifiers.is_empty() => return Ok(DataType::Numeric(None)),
        [p] => (*p, 0),
        [p, s] => (*p, *s),
        _ => {
            let text = "invalid NUMERIC type modifier";
            return Err(SqlError::new(state::BAD_PARAMETER, text));
        }
    };
    match (u8::try_from(p), u8::try_from(s)) {
        (Ok(p @ 1..=38), Ok(s)) if s <= p => Ok(DataType::Numeric(Some((p, s)))),
        _ => Err(SqlError::new(
            state::BAD_PARAMETER,
            format!("NUMERIC({p},{s}) must have a precision between 1 and 38 and a scale in it"),
        )),
    }
}

fn unsupported(name: &str) -> SqlError {
    SqlError::unsupported(format!("type {name}"))
        .hint("Store it as text, numeric, timestamptz or json.")
}
