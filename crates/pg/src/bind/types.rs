//! Which type does a name mean, and what do its modifiers say?

use super::{At, Binder};
use crate::ast::{self, Expr as Raw, Literal, TypeName};
use crate::catalog::oids;
use crate::{Error, Oid, Result, TypeRef};

/// The longest char(n) and varchar(n).
const MAX_CHARS: i32 = 10_485_760;
/// The longest bit(n).
const MAX_BITS: i32 = MAX_CHARS * 8;
/// An interval of all fields.
const ALL_FIELDS: i32 = 0x7fff;
/// An interval of any precision.
const FULL_PRECISION: i32 = 0xffff;

impl Binder<'_> {
    /// The type that a name means.
    pub(super) fn type_of(&self, name: &TypeName) -> Result<TypeRef> {
        let place = Some(name.place);
        let found = match &name.name[..] {
            [name] => self.catalog.type_named(name),
            [schema, name] if &**schema == "pg_catalog" => {
                self.catalog.type_named(name).filter(|t| t.oid < 10_000)
            }
            // Of a schema of the database, which the schema knows.
            _ => None,
        };
        let found = match found {
            Some(found) => Some(found),
            None => {
                let row = self.schema.row_type(&name.name).at(place)?;
                row.and_then(|oid| self.catalog.get_type(oid))
            }
        };
        let Some(found) = found else {
            let shown = name.name.join(".");
            let array = if name.bounds.is_empty() { "" } else { "[]" };
            let text = format!("type \"{shown}{array}\" does not exist");
            return Err(Error::new("42704", text)).at(place);
        };
        let modifier = self.modifier(found.oid, name).at(place)?;
        if name.set {
            let text = format!("type {}.SETOF is not supported here", found.name);
            return Err(Error::new("42601", text)).at(place);
        }
        if name.bounds.is_empty() {
            return Ok(TypeRef { oid: found.oid, modifier });
        }
        match self.catalog.array_of(found.oid) {
            Some(array) => Ok(TypeRef { oid: array, modifier }),
            None => {
                let text = format!("type \"{}[]\" does not exist", name.name.join("."));
                Err(Error::new("42704", text)).at(place)
            }
        }
    }

    fn modifier(&self, oid: Oid, name: &TypeName) -> Result<i32> {
        if name.modifiers.is_empty() {
            return Ok(-1);
        }
        let known = [1042, 1043, 1560, 1562, 1700, 1083, 1266, 1114, 1184, oids::INTERVAL];
        if !known.contains(&oid) {
            let shown = self.catalog.shown(oid);
            let text = format!("type modifier is not allowed for type \"{}\"", shown);
            return Err(Error::new("42601", text));
        }
        let mut values = Vec::new();
        for id in &name.modifiers {
            values.push(self.modifier_value(*id)?);
        }
        modifier_of(oid, &values)
    }

    fn modifier_value(&self, id: ast::ExprId) -> Result<i32> {
        let text = match self.tree.expr(id) {
            Raw::Literal(Literal::Int(value)) => return Ok(*value),
            Raw::Literal(Literal::Number(text) | Literal::Text(text)) => text,
            Raw::Column(path) if path.len() == 1 => &path[0],
            _ => {
                let text = "type modifiers must be simple constants or identifiers";
                return Err(Error::new("42601", text)).at(self.tree.place(id));
            }
        };
        crate::value::int::parse_int4(text)
    }

    /// A type with its modifier, as format_type writes it.
    pub(super) fn shown_type(&self, ty: TypeRef) -> String {
        self.catalog.shown_with(ty)
    }
}

fn refuse<T>(text: String) -> Result<T> {
    Err(Error::new("22023", text))
}

/// The modifier of a type by what was written in parentheses, as the types' own functions work it out.
fn modifier_of(oid: Oid, values: &[i32]) -> Result<i32> {
    match (oid, values) {
        (1042 | 1043, [length]) => {
            let name = if oid == 1042 { "char" } else { "varchar" };
            sized(name, *length, MAX_CHARS).map(|length| length + 4)
        }
        (1560 | 1562, [length]) => {
            let name = if oid == 1560 { "bit" } else { "varbit" };
            sized(name, *length, MAX_BITS)
        }
        (1700, [precision, rest @ ..]) if rest.len() < 2 => {
            let scale = rest.first().copied().unwrap_or(0);
            if !(1..=1000).contains(precision) {
                let text = format!("NUMERIC precision {precision} must be between 1 and 1000");
                return refuse(text);
            }
            if !(-1000..=1000).contains(&scale) {
                let text = format!("NUMERIC scale {scale} must be between -1000 and 1000");
                return refuse(text);
            }
            Ok((precision << 16 | scale & 0x7ff) + 4)
        }
        (1700, _) => refuse("invalid NUMERIC type modifier".into()),
        (1083 | 1266 | 1114 | 1184, [precision]) => {
            let (name, zone) = match oid {
                1083 => ("TIME", ""),
                1266 => ("TIME", " WITH TIME ZONE"),
                1114 => ("TIMESTAMP", ""),
                _ => ("TIMESTAMP", " WITH TIME ZONE"),
            };
            if *precision < 0 {
                return refuse(format!("{name}({precision}){zone} precision must not be negative"));
            }
            Ok((*precision).min(6))
        }
        (oids::INTERVAL, [ALL_FIELDS]) => Ok(-1),
        (oids::INTERVAL, [fields]) => Ok((fields & ALL_FIELDS) << 16 | FULL_PRECISION),
        (oids::INTERVAL, [fields, precision]) => {
            if *precision < 0 {
                return refuse(format!("INTERVAL({precision}) precision must not be negative"));
            }
            Ok((fields & ALL_FIELDS) << 16 | (*precision).min(6))
        }
        _ => refuse("invalid type modifier".into()),
    }
}

fn sized(name: &str, length: i32, most: i32) -> Result<i32> {
    if length < 1 {
        return refuse(format!("length for type {name} must be at least 1"));
    }
    if length > most {
        return refuse(format!("length for type {name} cannot exceed {most}"));
    }
    Ok(length)
}
