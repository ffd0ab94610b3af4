//! Which jsonb values are equal, which comes first, which has another inside, and which numbers are they?
//!
//! Thread safety: pure functions.

use std::cmp::Ordering;

use onlap_base::stop::STRIDE;
use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result, worked};

use super::form::{Items, Node, node};
use super::order;
use crate::misc::rows::{bytes, strict};
use crate::{Datum, Entry, Kernel, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("jsonb_eq(jsonb,jsonb)", |types| compared(types, Ordering::is_eq)),
    ("jsonb_ne(jsonb,jsonb)", |types| compared(types, Ordering::is_ne)),
    ("jsonb_lt(jsonb,jsonb)", |types| compared(types, Ordering::is_lt)),
    ("jsonb_le(jsonb,jsonb)", |types| compared(types, Ordering::is_le)),
    ("jsonb_gt(jsonb,jsonb)", |types| compared(types, Ordering::is_gt)),
    ("jsonb_ge(jsonb,jsonb)", |types| compared(types, Ordering::is_ge)),
    ("jsonb_contains(jsonb,jsonb)", |types| {
        strict(types, |args, _| contains(bytes(&args[0]), bytes(&args[1])).map(Datum::Bool))
    }),
    ("jsonb_contained(jsonb,jsonb)", |types| {
        strict(types, |args, _| contains(bytes(&args[1]), bytes(&args[0])).map(Datum::Bool))
    }),
    ("bool(jsonb)", |types| {
        strict(types, |args, _| match node(bytes(&args[0])) {
            Node::Bool(value) => Ok(Datum::Bool(value)),
            other => Err(no_cast(&other, "boolean")),
        })
    }),
    ("numeric(jsonb)", |types| {
        number(types, "numeric", |value| {
            let mut out = Vec::new();
            value.store(&mut out);
            Ok(Datum::bytes(out))
        })
    }),
    ("int2(jsonb)", |types| number(types, "smallint", |v| v.to_int2().map(Datum::Int2))),
    ("int4(jsonb)", |types| number(types, "integer", |v| v.to_int4().map(Datum::Int4))),
    ("int8(jsonb)", |types| number(types, "bigint", |v| v.to_int8().map(Datum::Int8))),
    ("float4(jsonb)", |types| number(types, "real", |v| v.to_float4().map(Datum::Float4))),
    ("float8(jsonb)", |types| {
        number(types, "double precision", |v| v.to_float8().map(Datum::Float8))
    }),
];

fn compared(types: &Types, test: fn(Ordering) -> bool) -> Box<dyn Kernel> {
    strict(types, move |args, _| {
        compare(bytes(&args[0]), bytes(&args[1])).map(|order| Datum::Bool(test(order)))
    })
}

/// PostgreSQL's order of two values.
///
/// # Errors
/// `57014`.
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Result<Ordering> {
    if is_alike(a, b)? {
        return Ok(Ordering::Equal);
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    order::key_asking(a, &mut left)?;
    order::key_asking(b, &mut right)?;
    Ok(left.cmp(&right))
}

/// Whether the bytes are the same.
fn is_alike(a: &[u8], b: &[u8]) -> Result<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.chunks(STRIDE).zip(b.chunks(STRIDE)) {
        worked(a.len())?;
        if a != b {
            return Ok(false);
        }
    }
    Ok(true)
}

fn no_cast(value: &Node<'_>, to: &str) -> Error {
    let what = match value {
        Node::Null => "null",
        Node::Bool(_) => "boolean",
        Node::Number(_) => "numeric",
        Node::Text(_) => "string",
        Node::Array(_) => "array",
        Node::Object(_) => "object",
    };
    Error::new("22023", format!("cannot cast jsonb {what} to type {to}"))
}

fn number(
    types: &Types,
    to: &'static str,
    f: fn(Numeric) -> Result<Datum<'static>>,
) -> Box<dyn Kernel> {
    strict(types, move |args, _| match node(bytes(&args[0])) {
        Node::Number(number) => f(Numeric::load(number)),
        other => Err(no_cast(&other, to)),
    })
}

/// Whether two scalars are equal.
fn same(a: &Node<'_>, b: &Node<'_>) -> bool {
    match (a, b) {
        (Node::Null, Node::Null) => true,
        (Node::Bool(a), Node::Bool(b)) => a == b,
        (Node::Text(a), Node::Text(b)) => a == b,
        (Node::Number(a), Node::Number(b)) => a == b || Numeric::load(a) == Numeric::load(b),
        _ => false,
    }
}

/// `whole @> part`: a scalar is in an array that has it, too, at the top.
fn contains(whole: &[u8], part: &[u8]) -> Result<bool> {
    match (node(whole), node(part)) {
        (Node::Array(items), scalar) if !matches!(scalar, Node::Array(_) | Node::Object(_)) => {
            has(&items, part)
        }
        _ => inside(whole, part),
    }
}

/// Whether one of the elements of an array has a value inside.
fn has(items: &Items<'_>, wanted: &[u8]) -> Result<bool> {
    for held in items.iter() {
        worked(8)?;
        if inside(held, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Of two arrays this takes the product of their lengths.
fn inside(whole: &[u8], part: &[u8]) -> Result<bool> {
    match (node(whole), node(part)) {
        (Node::Object(whole), Node::Object(part)) => {
            if whole.len() < part.len() {
                return Ok(false);
            }
            for (key, value) in part.iter() {
                worked(key.len() + 8)?;
                match whole.raw(key) {
                    Some(held) if inside(held, value)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Node::Array(whole), Node::Array(part)) => {
            for wanted in part.iter() {
                if !has(&whole, wanted)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (a, b) => Ok(same(&a, &b)),
    }
}
