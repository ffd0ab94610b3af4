//! What is a jsonb value with parts added, replaced or taken out?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Result, worked};

use super::access::keys;
use super::at_path::{Change, at_path, refused};
use super::form::{Encoder, Node, node};
use super::read::{Event, Reader};
use super::write;
use crate::array::Array;
use crate::misc::rows::{boolean, bytes, called, int4, strict, text};
use crate::{Cx, Datum, Entry, Repr};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("jsonb_concat(jsonb,jsonb)", |types| {
        strict(types, |args, _| concat(bytes(&args[0]), bytes(&args[1])).map(Datum::bytes))
    }),
    ("jsonb_delete(jsonb,text)", |types| {
        strict(types, |args, _| without(bytes(&args[0]), &[text(&args[1])]).map(Datum::bytes))
    }),
    ("jsonb_delete(jsonb,_text)", |types| {
        strict(types, |args, _| {
            one_dimension(&args[1])?;
            let held: Vec<Datum<'_>> = keys(&args[1]).collect();
            let keys: Vec<&str> = held.iter().map(text).collect();
            without(bytes(&args[0]), &keys).map(Datum::bytes)
        })
    }),
    ("jsonb_delete(jsonb,int4)", |types| {
        strict(types, |args, _| without_element(bytes(&args[0]), int4(&args[1])).map(Datum::bytes))
    }),
    ("jsonb_delete_path(jsonb,_text)", |types| {
        strict(types, |args, cx| {
            one_dimension(&args[1])?;
            let value = bytes(&args[0]);
            if is_scalar(value) {
                return Err(refused("cannot delete path in scalar"));
            }
            at_path(value, &args[1], &[], Change::Delete, cx)
        })
    }),
    ("jsonb_set(jsonb,_text,jsonb,bool)", |types| strict(types, |args, cx| set(args, cx))),
    ("jsonb_insert(jsonb,_text,jsonb,bool)", |types| {
        strict(types, |args, cx| {
            one_dimension(&args[1])?;
            if is_scalar(bytes(&args[0])) {
                return Err(refused("cannot set path in scalar"));
            }
            let change = if boolean(&args[3]) { Change::After } else { Change::Before };
            at_path(bytes(&args[0]), &args[1], bytes(&args[2]), change, cx)
        })
    }),
    ("jsonb_set_lax(jsonb,_text,jsonb,bool,text)", |types| {
        called(types, |args, cx| set_lax(args, cx))
    }),
    ("jsonb_strip_nulls(jsonb)", |types| {
        strict(types, |args, _| {
            let mut out = Encoder::new();
            strip(bytes(&args[0]), &mut out)?;
            Ok(Datum::bytes(out.finish()))
        })
    }),
    ("json_strip_nulls(json)", |types| {
        strict(types, |args, cx| strip_text(text(&args[0]), cx).map(Datum::text))
    }),
    ("jsonb_pretty(jsonb)", |types| {
        strict(types, |args, cx| write::pretty(bytes(&args[0]), cx).map(Datum::text))
    }),
];

fn is_scalar(value: &[u8]) -> bool {
    !matches!(node(value), Node::Array(_) | Node::Object(_))
}

fn one_dimension(path: &Datum<'_>) -> Result<()> {
    match Array::load(bytes(path), Repr::Text).ndims() {
        0 | 1 => Ok(()),
        _ => Err(Error::new("2202E", "wrong number of array subscripts")),
    }
}

/// Two objects become one, of equal keys the second's counts; else arrays, what is none being an array of one.
fn concat(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    let mut out = Encoder::new();
    if let (Node::Object(left), Node::Object(right)) = (node(a), node(b)) {
        out.begin_object();
        for (key, value) in left.iter().chain(right.iter()) {
            out.key(key)?;
            out.raw(value)?;
        }
    } else {
        out.begin_array();
        for value in [a, b] {
            match node(value) {
                Node::Array(items) => items.iter().try_for_each(|item| out.raw(item))?,
                _ => out.raw(value)?,
            }
        }
    }
    out.end()?;
    Ok(out.finish())
}

/// Without keys of an object, or without strings of an array.
fn without(value: &[u8], keys: &[&str]) -> Result<Vec<u8>> {
    let mut out = Encoder::new();
    match node(value) {
        Node::Object(pairs) => {
            out.begin_object();
            for (key, value) in pairs.iter() {
                worked(keys.len())?;
                if !keys.contains(&key) {
                    out.key(key)?;
                    out.raw(value)?;
                }
            }
        }
        Node::Array(items) => {
            out.begin_array();
            let gone = |item: &[u8]| matches!(node(item), Node::Text(text) if keys.contains(&text));
            for item in items.iter() {
                worked(keys.len())?;
                if !gone(item) {
                    out.raw(item)?;
                }
            }
        }
        _ => return Err(refused("cannot delete from scalar")),
    }
    out.end()?;
    Ok(out.finish())
}

fn without_element(value: &[u8], index: i32) -> Result<Vec<u8>> {
    let items = match node(value) {
        Node::Array(items) => items,
        Node::Object(_) => return Err(refused("cannot delete from object using integer index")),
        _ => return Err(refused("cannot delete from scalar")),
    };
    let index = i64::from(index) + if index < 0 { items.len() as i64 } else { 0 };
    let mut out = Encoder::new();
    out.begin_array();
    for (at, item) in items.iter().enumerate() {
        if at as i64 != index {
            out.raw(item)?;
        }
    }
    out.end()?;
    Ok(out.finish())
}

fn set(args: &[Datum<'_>], cx: &Cx<'_>) -> Result<Datum<'static>> {
    one_dimension(&args[1])?;
    if is_scalar(bytes(&args[0])) {
        return Err(refused("cannot set path in scalar"));
    }
    let change = if boolean(&args[3]) { Change::Create } else { Change::Replace };
    at_path(bytes(&args[0]), &args[1], bytes(&args[2]), change, cx)
}

fn set_lax(args: &[Datum<'_>], cx: &Cx<'_>) -> Result<Datum<'static>> {
    if args[0].is_null() || args[1].is_null() || args[3].is_null() {
        return Ok(Datum::Null);
    }
    let wrong = || {
        refused(
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
        )
    };
    if args[4].is_null() {
        return Err(wrong());
    }
    if !args[2].is_null() {
        return set(args, cx);
    }
    match text(&args[4]) {
        "raise_exception" => Err(Error::new("22004", "JSON value must not be null")
            .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .hint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.")),
        "use_json_null" => {
            let mut null = Encoder::new();
            null.null()?;
            let value = Datum::bytes(null.finish());
            set(&[args[0].clone(), args[1].clone(), value, args[3].clone()], cx)
        }
        "delete_key" => {
            one_dimension(&args[1])?;
            if is_scalar(bytes(&args[0])) {
                return Err(refused("cannot delete path in scalar"));
            }
            at_path(bytes(&args[0]), &args[1], &[], Change::Delete, cx)
        }
        "return_target" => Ok(args[0].clone().into_owned()),
        _ => Err(wrong()),
    }
}

/// Without pairs whose value is null.
fn strip(value: &[u8], out: &mut Encoder) -> Result<()> {
    match node(value) {
        Node::Object(pairs) => {
            out.begin_object();
            for (key, value) in pairs.iter() {
                if !matches!(node(value), Node::Null) {
                    out.key(key)?;
                    strip(value, out)?;
                }
            }
            out.end()
        }
        Node::Array(items) => {
            out.begin_array();
            items.iter().try_for_each(|item| strip(item, out))?;
            out.end()
        }
        _ => out.raw(value),
    }
}

/// Likewise of a text, without white space.
fn strip_text(whole: &str, cx: &mut Cx<'_>) -> Result<String> {
    cx.room(whole.len())?;
    let mut reader = Reader::new(whole, true);
    let mut out = String::with_capacity(whole.len());
    let mut key = None;
    while let Some(event) = reader.next()? {
        if matches!(event, Event::EndArray | Event::EndObject) {
            out.push(if event == Event::EndArray { ']' } else { '}' });
            continue;
        }
        if let Event::Key(name) = event {
            key = Some(name);
            continue;
        }
        let name = key.take();
        if name.is_some() && event == Event::Null {
            continue;
        }
        if !matches!(out.as_bytes().last(), None | Some(b'[' | b'{')) {
            out.push(',');
        }
        if let Some(name) = name {
            write::quote(&name, &mut out)?;
            out.push(':');
        }
        match event {
            Event::BeginArray => out.push('['),
            Event::BeginObject => out.push('{'),
            Event::Text(value) => write::quote(&value, &mut out)?,
            _ => out.push_str(&whole[reader.start()..reader.end()]),
        }
    }
    Ok(out)
}
