//! Which rows do json and jsonb values make?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Result};

use super::form::{Node, node};
use super::{path, walk, write};
use crate::misc::rows::text;
use crate::series::{Rows, Series, SeriesEntry};
use crate::{Cx, Datum};

/// Functions that give sets.
pub(super) const SERIES: &[SeriesEntry] = &[
    ("jsonb_array_elements(jsonb)", |_| {
        Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| elements(args, false))
    }),
    ("jsonb_array_elements_text(jsonb)", |_| {
        Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| elements(args, true))
    }),
    ("jsonb_each(jsonb)", |_| Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| each(args, false))),
    ("jsonb_each_text(jsonb)", |_| Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| each(args, true))),
    ("jsonb_object_keys(jsonb)", |_| {
        Box::new(|args: &[Datum<'_>], _: &mut Cx<'_>| object_keys(args))
    }),
    ("jsonb_path_query(jsonb,jsonpath,jsonb,bool)", |_| of(path::rows)),
    ("jsonb_path_query_tz(jsonb,jsonpath,jsonb,bool)", |_| of(path::rows_zoned)),
    ("json_array_elements(json)", |_| of(|args, cx| elements_text(args, false, cx))),
    ("json_array_elements_text(json)", |_| of(|args, cx| elements_text(args, true, cx))),
    ("json_each(json)", |_| of(|args, cx| each_text(args, false, cx))),
    ("json_each_text(json)", |_| of(|args, cx| each_text(args, true, cx))),
    ("json_object_keys(json)", |_| {
        of(|args, cx| {
            let whole = text(&args[0]);
            match walk::kind(whole) {
                b'{' => {}
                b'[' => return Err(refused("cannot call json_object_keys on an array")),
                _ => return Err(refused("cannot call json_object_keys on a scalar")),
            }
            let parts = walk::parts(whole, true, cx)?;
            let key = |key: Option<std::borrow::Cow<'_, str>>| key.unwrap_or_default().into_owned();
            Ok(parts.into_iter().map(|part| vec![Datum::text(key(part.0))]).collect())
        })
    }),
];

/// Rows of values.
type Made = Vec<Vec<Datum<'static>>>;

/// A series that is made at once; NULL makes none.
fn of(
    f: impl Fn(&[Datum<'_>], &mut Cx<'_>) -> Result<Made> + Send + Sync + 'static,
) -> Box<dyn Series> {
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        if args.iter().any(Datum::is_null) {
            return Ok(Box::new(std::iter::empty()));
        }
        Ok(Box::new(f(args, cx)?.into_iter().map(Ok)))
    })
}

fn refused(message: &str) -> Error {
    Error::new("22023", message)
}

fn value(raw: &[u8], as_text: bool) -> Result<Datum<'static>> {
    if !as_text {
        return Ok(Datum::bytes(raw));
    }
    Ok(write::as_text(raw)?.map_or(Datum::Null, Datum::text))
}

/// The rows of what a value has inside, one after the other: the value is kept, rows are made as they are asked for.
fn rows(
    held: &[u8],
    length: usize,
    row: impl Fn(&[u8], usize) -> Result<Vec<Datum<'static>>> + Send + 'static,
) -> Rows {
    let held = held.to_vec();
    Box::new((0..length).map(move |at| row(&held, at)))
}

fn elements(args: &[Datum<'_>], as_text: bool) -> Result<Rows> {
    let Datum::Bytes(whole) = &args[0] else { return Ok(Box::new(std::iter::empty())) };
    let items = match node(whole) {
        Node::Array(items) => items,
        Node::Object(_) => return Err(refused("cannot extract elements from an object")),
        _ => return Err(refused("cannot extract elements from a scalar")),
    };
    Ok(rows(whole, items.len(), move |held, at| {
        let Node::Array(items) = node(held) else { unreachable!("it is an array") };
        let item = items.raw(at).expect("it is one of the elements");
        Ok(vec![value(item, as_text)?])
    }))
}

fn each(args: &[Datum<'_>], as_text: bool) -> Result<Rows> {
    let Datum::Bytes(whole) = &args[0] else { return Ok(Box::new(std::iter::empty())) };
    let name = if as_text { "jsonb_each_text" } else { "jsonb_each" };
    let Node::Object(pairs) = node(whole) else {
        return Err(refused(&format!("cannot call {name} on a non-object")));
    };
    Ok(rows(whole, pairs.len(), move |held, at| {
        let Node::Object(pairs) = node(held) else { unreachable!("it is an object") };
        let (key, raw) = pairs.pair(at);
        Ok(vec![Datum::text(key), value(raw, as_text)?])
    }))
}

fn object_keys(args: &[Datum<'_>]) -> Result<Rows> {
    let Datum::Bytes(whole) = &args[0] else { return Ok(Box::new(std::iter::empty())) };
    let pairs = match node(whole) {
        Node::Object(pairs) => pairs,
        Node::Array(_) => return Err(refused("cannot call jsonb_object_keys on an array")),
        _ => return Err(refused("cannot call jsonb_object_keys on a scalar")),
    };
    Ok(rows(whole, pairs.len(), |held, at| {
        let Node::Object(pairs) = node(held) else { unreachable!("it is an object") };
        Ok(vec![Datum::text(pairs.pair(at).0)])
    }))
}

fn part(part: walk::Part<'_>, as_text: bool) -> Datum<'static> {
    match part.meaning {
        _ if !as_text => Datum::text(part.text),
        None => Datum::Null,
        Some(meaning) => Datum::text(meaning.into_owned()),
    }
}

fn elements_text(args: &[Datum<'_>], as_text: bool, cx: &mut Cx<'_>) -> Result<Made> {
    let whole = text(&args[0]);
    let name = if as_text { "json_array_elements_text" } else { "json_array_elements" };
    match walk::kind(whole) {
        b'[' => {}
        b'{' => return Err(refused(&format!("cannot call {name} on a non-array"))),
        _ => return Err(refused(&format!("cannot call {name} on a scalar"))),
    }
    let parts = walk::parts(whole, as_text, cx)?;
    Ok(parts.into_iter().map(|found| vec![part(found.1, as_text)]).collect())
}

fn each_text(args: &[Datum<'_>], as_text: bool, cx: &mut Cx<'_>) -> Result<Made> {
    let whole = text(&args[0]);
    match walk::kind(whole) {
        b'{' => {}
        b'[' => return Err(refused("cannot deconstruct an array as an object")),
        _ => return Err(refused("cannot deconstruct a scalar")),
    }
    let parts = walk::parts(whole, true, cx)?;
    let row = |(key, found): (Option<std::borrow::Cow<'_, str>>, walk::Part<'_>)| {
        vec![Datum::text(key.unwrap_or_default().into_owned()), part(found, as_text)]
    };
    Ok(parts.into_iter().map(row).collect())
}
