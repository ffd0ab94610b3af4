//! How are json and jsonb values made of others?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Oid, Result};

use super::encode::{key_text, put_json, put_jsonb};
use super::form::Encoder;
use super::write;
use crate::array::Array;
use crate::misc::growth::Growth;
use crate::misc::rows::{boolean, bytes, called, strict, text};
use crate::{Cx, Datum, Entry, Kernel, Repr, Types};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("to_json(anyelement)", whole),
    ("array_to_json(anyarray)", whole),
    ("array_to_json(anyarray,bool)", whole),
    ("row_to_json(record)", whole),
    ("row_to_json(record,bool)", whole),
    ("to_jsonb(anyelement)", |types| {
        let oid = types.args[0].oid;
        strict(types, move |args, cx| {
            let mut out = Encoder::new();
            put_jsonb(cx, oid, &args[0], &mut out)?;
            Ok(Datum::bytes(out.finish()))
        })
    }),
    ("json_build_array()", json_array),
    ("json_build_array(any)", json_array),
    ("json_build_object()", json_object),
    ("json_build_object(any)", json_object),
    ("jsonb_build_array()", jsonb_array),
    ("jsonb_build_array(any)", jsonb_array),
    ("jsonb_build_object()", jsonb_object),
    ("jsonb_build_object(any)", jsonb_object),
    ("json_object(_text)", |types| strict(types, of_texts)),
    ("json_object(_text,_text)", |types| strict(types, of_texts)),
    ("jsonb_object(_text)", |types| strict(types, |args, _| of_texts_b(args))),
    ("jsonb_object(_text,_text)", |types| strict(types, |args, _| of_texts_b(args))),
];

fn oids(types: &Types) -> Vec<Oid> {
    types.args.iter().map(|arg| arg.oid).collect()
}

/// A value, with broken lines if a second argument says so.
fn whole(types: &Types) -> Box<dyn Kernel> {
    let oid = types.args[0].oid;
    strict(types, move |args, cx| {
        let mut out = String::new();
        put_json(cx, oid, &args[0], args.get(1).is_some_and(boolean), &mut out)?;
        Ok(Datum::text(out))
    })
}

fn json_array(types: &Types) -> Box<dyn Kernel> {
    let oids = oids(types);
    called(types, move |args, cx| {
        let mut out = String::from("[");
        for (at, (oid, value)) in oids.iter().zip(args).enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            put_json(cx, *oid, value, false, &mut out)?;
        }
        out.push(']');
        Ok(Datum::text(out))
    })
}

fn jsonb_array(types: &Types) -> Box<dyn Kernel> {
    let oids = oids(types);
    called(types, move |args, cx| {
        let mut out = Encoder::new();
        out.begin_array();
        for (oid, value) in oids.iter().zip(args) {
            put_jsonb(cx, *oid, value, &mut out)?;
        }
        out.end()?;
        Ok(Datum::bytes(out.finish()))
    })
}

fn even(count: usize, name: &str) -> Result<()> {
    if count.is_multiple_of(2) {
        return Ok(());
    }
    let hint = format!("The arguments of {name}() must consist of alternating keys and values.");
    Err(Error::new("22023", "argument list must have even number of elements").hint(hint))
}

fn json_object(types: &Types) -> Box<dyn Kernel> {
    let oids = oids(types);
    called(types, move |args, cx| {
        even(args.len(), "json_build_object")?;
        let mut out = String::from("{");
        for (at, pair) in args.chunks_exact(2).enumerate() {
            if pair[0].is_null() {
                let message = format!("argument {} cannot be null", at * 2 + 1);
                return Err(Error::new("22023", message).hint("Object keys should be text."));
            }
            out.push_str(if at > 0 { ", " } else { "" });
            write::quote(&key_text(cx, oids[at * 2], &pair[0])?, &mut out)?;
            out.push_str(" : ");
            put_json(cx, oids[at * 2 + 1], &pair[1], false, &mut out)?;
        }
        out.push('}');
        Ok(Datum::text(out))
    })
}

fn jsonb_object(types: &Types) -> Box<dyn Kernel> {
    let oids = oids(types);
    called(types, move |args, cx| {
        even(args.len(), "jsonb_build_object")?;
        let mut out = Encoder::new();
        out.begin_object();
        for (at, pair) in args.chunks_exact(2).enumerate() {
            if pair[0].is_null() {
                let message = format!("argument {}: key must not be null", at * 2 + 1);
                return Err(Error::new("22023", message));
            }
            out.key(&key_text(cx, oids[at * 2], &pair[0])?)?;
            put_jsonb(cx, oids[at * 2 + 1], &pair[1], &mut out)?;
        }
        out.end()?;
        Ok(Datum::bytes(out.finish()))
    })
}

fn wrong_subscripts() -> Error {
    Error::new("2202E", "wrong number of array subscripts")
}

/// Keys and values of one array, in turn or as rows of two, or of two arrays.
fn pairs<'a>(args: &'a [Datum<'_>]) -> Result<Vec<(Datum<'a>, Datum<'a>)>> {
    let first = Array::load(bytes(&args[0]), Repr::Text);
    let Some(second) = args.get(1) else {
        match (first.ndims(), first.ndims().checked_sub(1).map(|at| first.dim(at).length)) {
            (0, _) => {}
            (1, Some(length)) if length % 2 != 0 => {
                return Err(Error::new("2202E", "array must have even number of elements"));
            }
            (2, Some(length)) if length != 2 => {
                return Err(Error::new("2202E", "array must have two columns"));
            }
            (1 | 2, _) => {}
            _ => return Err(wrong_subscripts()),
        }
        let key = |at: usize| (first.get(at * 2), first.get(at * 2 + 1));
        return Ok((0..first.len() / 2).map(key).collect());
    };
    let second = Array::load(bytes(second), Repr::Text);
    if first.ndims() > 1 || first.ndims() != second.ndims() {
        return Err(wrong_subscripts());
    }
    if first.len() != second.len() {
        return Err(Error::new("2202E", "mismatched array dimensions"));
    }
    Ok(first.iter().zip(second.iter()).collect())
}

fn no_null_key() -> Error {
    Error::new("22004", "null value not allowed for object key")
}

fn of_texts(args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Datum<'static>> {
    let mut out = String::from("{");
    let mut growth = Growth::new();
    for (at, (key, value)) in pairs(args)?.iter().enumerate() {
        if key.is_null() {
            return Err(no_null_key());
        }
        growth
            .value(cx, out.len().saturating_add((key.size() + value.size()).saturating_mul(6)))?;
        out.push_str(if at > 0 { ", " } else { "" });
        write::quote(text(key), &mut out)?;
        out.push_str(" : ");
        match value {
            Datum::Null => out.push_str("null"),
            value => write::quote(text(value), &mut out)?,
        }
    }
    out.push('}');
    Ok(Datum::text(out))
}

fn of_texts_b(args: &[Datum<'_>]) -> Result<Datum<'static>> {
    let mut out = Encoder::new();
    out.begin_object();
    for (key, value) in pairs(args)? {
        if key.is_null() {
            return Err(no_null_key());
        }
        out.key(text(&key))?;
        match value {
            Datum::Null => out.null()?,
            value => out.text(text(&value))?,
        }
    }
    out.end()?;
    Ok(Datum::bytes(out.finish()))
}
