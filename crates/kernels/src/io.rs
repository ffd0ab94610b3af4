//! How do texts and binary messages become values of a type, and values become them?
//!
//! One entry per type: the module of the type has its form. A type without values here is `0A000`.

use std::fmt::Write as _;

use onlap_pg::catalog::oids;
use onlap_pg::value::{bits, bytea, chars, datetime, float, int, interval, numeric, timetz, uuid};
use onlap_pg::{Error, Result, TypeRef, value};

use crate::{Cx, Datum, Repr, repr};

/// A type of which there are no values.
fn unserved(cx: &Cx<'_>, oid: u32, what: &str) -> Error {
    let shown = cx.catalog.shown(oid);
    Error::unserved(format!("{what} of type {shown} is not supported"))
}

/// A text that a value of a type is read from; the modifier is applied as an explicit cast of a literal does.
///
/// # Errors
/// The type's input function's; of a domain those of its conditions.
pub fn input(cx: &mut Cx<'_>, ty: TypeRef, text: &str) -> Result<Datum<'static>> {
    let value = read(cx, ty, text)?;
    cx.keep_to(ty.oid, &value)?;
    Ok(value)
}

/// The same of what a domain is over.
fn read(cx: &mut Cx<'_>, ty: TypeRef, text: &str) -> Result<Datum<'static>> {
    let settings = cx.settings;
    let (oid, modifier) = cx.catalog.base(ty.oid, ty.modifier);
    Ok(match oid {
        16 => Datum::Bool(value::boolean::parse(text)?),
        21 => Datum::Int2(int::parse_int2(text)?),
        23 => Datum::Int4(int::parse_int4(text)?),
        20 => Datum::Int8(int::parse_int8(text)?),
        26 => Datum::Oid(int::parse_oid(text)?),
        28 | 29 => Datum::Oid(int::parse_prefix(text) as u32),
        18 => Datum::Char(chars::parse_char(text)),
        700 => Datum::Float4(float::parse4(text)?),
        701 => Datum::Float8(float::parse8(text)?),
        1700 => {
            let mut bytes = Vec::new();
            numeric::Numeric::parse_with(text, modifier)?.store(&mut bytes);
            Datum::bytes(bytes)
        }
        790 => Datum::Int8(value::money::parse(text)?),
        // Its numbers have no sign.
        5069 => Datum::Int8(int::parse_prefix(text) as i64),
        25 | 705 | 2275 | 1790 | oids::CITEXT => Datum::text(text),
        1043 => Datum::text(chars::to_varchar(text, modifier, chars::Cast::Assignment)?),
        1042 => Datum::text(chars::to_bpchar(text, modifier, chars::Cast::Assignment)?),
        19 => Datum::text(chars::to_name(text)),
        17 => Datum::bytes(bytea::parse(text)?),
        1560 => Datum::bytes(bits::parse(text, modifier, bits::Kind::Fixed)?),
        1562 => Datum::bytes(bits::parse(text, modifier, bits::Kind::Varying)?),
        2950 => Datum::bytes(uuid::parse(text)?),
        1082 => Datum::Int4(datetime::parse_date(text, settings)?),
        1083 => Datum::Int8(crate::time::with_precision(
            datetime::parse_time(text, settings)?,
            modifier,
        )),
        1114 => Datum::Int8(crate::time::with_precision(
            datetime::parse_timestamp(text, settings)?,
            modifier,
        )),
        1184 => Datum::Int8(crate::time::with_precision(
            datetime::parse_timestamptz(text, settings)?,
            modifier,
        )),
        1186 => Datum::bytes(interval::Interval::parse_with(text, modifier, settings)?.send()),
        1266 => {
            let value = timetz::TimeTz::parse(text, settings)?;
            let time = crate::time::with_precision(value.time, modifier);
            Datum::bytes(timetz::TimeTz { time, ..value }.send())
        }
        _ => match crate::misc::io::input(cx, (oid, modifier), text)? {
            Some(value) => value,
            None => return Err(unserved(cx, oid, "input")),
        },
    })
}

/// Writes a value that is not NULL as its type's output function does.
///
/// # Errors
/// `54000`: the text would be too long; `0A000`.
///
/// # Panics
/// The value is not of the type's representation.
pub fn output(cx: &mut Cx<'_>, oid: u32, value: &Datum<'_>, out: &mut String) -> Result<()> {
    let settings = cx.settings;
    let oid = cx.catalog.base_type(oid);
    let wrote = match (oid, value) {
        (16, Datum::Bool(v)) => out.write_str(value::boolean::print(*v)),
        (21, Datum::Int2(v)) => write!(out, "{v}"),
        (23, Datum::Int4(v)) => write!(out, "{v}"),
        (20, Datum::Int8(v)) => write!(out, "{v}"),
        (26 | 28 | 29, Datum::Oid(v)) => write!(out, "{v}"),
        (18, Datum::Char(v)) => out.write_str(&chars::print_char(*v)),
        (700, Datum::Float4(v)) => out.write_str(&float::print4(*v, settings.extra_float_digits)),
        (701, Datum::Float8(v)) => out.write_str(&float::print8(*v, settings.extra_float_digits)),
        (1700, Datum::Bytes(v)) => write!(out, "{}", numeric::Numeric::load(v)),
        (790, Datum::Int8(v)) => out.write_str(&value::money::print(*v)),
        (5069, Datum::Int8(v)) => write!(out, "{}", *v as u64),
        (17, Datum::Bytes(v)) => out.write_str(&bytea::print(v, settings)?),
        (1560 | 1562, Datum::Bytes(v)) => out.write_str(&bits::Bits::load(v).print()?),
        (2950, Datum::Bytes(v)) => {
            let bytes = v.as_ref().try_into().expect("a uuid has 16 bytes");
            out.write_str(&uuid::print(&bytes))
        }
        (1082, Datum::Int4(v)) => out.write_str(&datetime::print_date(*v, settings)),
        (1083, Datum::Int8(v)) => out.write_str(&datetime::print_time(*v)),
        (1114, Datum::Int8(v)) => out.write_str(&datetime::print_timestamp(*v, settings)),
        (1184, Datum::Int8(v)) => out.write_str(&datetime::print_timestamptz(*v, settings)),
        (1266, Datum::Bytes(v)) => {
            let bytes = v.as_ref().try_into().expect("a timetz has 12 bytes");
            out.write_str(&timetz::TimeTz::load(bytes).print())
        }
        (1186, Datum::Bytes(v)) => {
            let interval = interval::Interval::recv(v).expect("an interval has 16 bytes");
            out.write_str(&interval.print(settings))
        }
        (142, Datum::Text(v)) => {
            value::xml::print(v, out);
            Ok(())
        }
        (_, Datum::Text(v)) if repr(cx.catalog, oid) == Some(Repr::Text) => out.write_str(v),
        _ if crate::misc::io::output(cx, oid, value, out)? => Ok(()),
        _ => return Err(unserved(cx, oid, "output")),
    };
    wrote.expect("a String takes all");
    Ok(())
}

/// A value in the binary form of its type.
///
/// # Errors
/// The type's receive function's; of a domain those of its conditions.
pub fn recv(cx: &mut Cx<'_>, ty: TypeRef, bytes: &[u8]) -> Result<Datum<'static>> {
    let value = receive(cx, ty, bytes)?;
    cx.keep_to(ty.oid, &value)?;
    Ok(value)
}

/// The same of what a domain is over.
fn receive(cx: &mut Cx<'_>, ty: TypeRef, bytes: &[u8]) -> Result<Datum<'static>> {
    let (oid, modifier) = cx.catalog.base(ty.oid, ty.modifier);
    Ok(match oid {
        16 => match bytes {
            [byte] => Datum::Bool(*byte != 0),
            _ => return Err(no_byte(bytes)),
        },
        21 => Datum::Int2(int::recv_int2(bytes)?),
        23 => Datum::Int4(int::recv_int4(bytes)?),
        20 | 5069 => Datum::Int8(int::recv_int8(bytes)?),
        26 | 28 | 29 => Datum::Oid(int::recv_int4(bytes)? as u32),
        18 => match bytes {
            [byte] => Datum::Char(*byte),
            _ => return Err(no_byte(bytes)),
        },
        700 => Datum::Float4(float::recv4(bytes)?),
        701 => Datum::Float8(float::recv8(bytes)?),
        1700 => {
            let mut stored = Vec::new();
            numeric::Numeric::recv(bytes, modifier)?.store(&mut stored);
            Datum::bytes(stored)
        }
        790 => Datum::Int8(value::money::recv(bytes)?),
        17 => Datum::bytes(bytes),
        1560 => Datum::bytes(bits::recv(bytes, modifier, bits::Kind::Fixed)?),
        1562 => Datum::bytes(bits::recv(bytes, modifier, bits::Kind::Varying)?),
        2950 => Datum::bytes(uuid::recv(bytes)?),
        1082 => Datum::Int4(datetime::recv_date(bytes)?),
        1083 => Datum::Int8(crate::time::with_precision(datetime::recv_time(bytes)?, modifier)),
        1114 | 1184 => {
            Datum::Int8(crate::time::with_precision(datetime::recv_timestamp(bytes)?, modifier))
        }
        1186 => Datum::bytes(interval::Interval::recv(bytes)?.with_modifier(modifier)?.send()),
        1266 => {
            let value = timetz::TimeTz::recv(bytes)?;
            let time = crate::time::with_precision(value.time, modifier);
            Datum::bytes(timetz::TimeTz { time, ..value }.send())
        }
        _ if repr(cx.catalog, oid) == Some(Repr::Oid) => Datum::Oid(int::recv_int4(bytes)? as u32),
        // jsonpath has a version before its text, xml says in which encoding it is.
        _ if !matches!(oid, 4072 | 142) && repr(cx.catalog, oid) == Some(Repr::Text) => {
            return read(cx, ty, value::utf8::text(bytes)?);
        }
        _ => match crate::misc::io::recv(cx, (oid, modifier), bytes)? {
            Some(value) => value,
            None => return Err(unserved(cx, oid, "binary input")),
        },
    })
}

/// What was sent for a single byte and is none.
fn no_byte(bytes: &[u8]) -> Error {
    match bytes {
        [] => Error::new("08P01", "no data left in message"),
        _ => value::left_over(),
    }
}

/// Writes a value that is not NULL in the binary form of its type.
///
/// # Errors
/// `0A000`.
///
/// # Panics
/// The value is not of the type's representation.
pub fn send(cx: &mut Cx<'_>, oid: u32, value: &Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
    let oid = cx.catalog.base_type(oid);
    match (oid, value) {
        (16, Datum::Bool(v)) => out.push(u8::from(*v)),
        (21, Datum::Int2(v)) => out.extend(v.to_be_bytes()),
        (23 | 1082, Datum::Int4(v)) => out.extend(v.to_be_bytes()),
        (20 | 790 | 1083 | 1114 | 1184 | 5069, Datum::Int8(v)) => out.extend(v.to_be_bytes()),
        (_, Datum::Oid(v)) => out.extend(v.to_be_bytes()),
        (18, Datum::Char(v)) => out.push(*v),
        (700, Datum::Float4(v)) => out.extend(v.to_be_bytes()),
        (701, Datum::Float8(v)) => out.extend(v.to_be_bytes()),
        (1700, Datum::Bytes(v)) => out.extend(numeric::Numeric::load(v).send()),
        (17 | 1560 | 1562 | 2950 | 1186 | 1266, Datum::Bytes(v)) => out.extend_from_slice(v),
        _ if crate::misc::io::send(cx, oid, value, out)? => {}
        (_, Datum::Text(v)) => out.extend_from_slice(v.as_bytes()),
        _ => return Err(unserved(cx, oid, "binary output")),
    }
    Ok(())
}
